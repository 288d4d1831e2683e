from __future__ import annotations

from pathlib import Path

from everloom.imports import take_in
from everloom.loom import Workspace
from tests.imports.memory import turns
from tests.imports.transcripts import at, write_lines

HEAD = {"sessionId": "08eba820-0c52", "projectHash": "3c09", "startTime": at(0), "lastUpdated": at(0), "kind": "main"}
RECALLED = "<hook_context>&lt;memory-recall&gt;\n&gt; Ada likes plums.\n&lt;/memory-recall&gt;</hook_context>\n\n"


def test_a_chat_of_gemini_is_taken_in_without_what_was_put_into_it_and_read_on_when_it_grows(
    workspace: Workspace, tmp_path: Path
) -> None:
    lines = [
        HEAD,
        {
            "$set": {
                "messages": [{"id": "c0", "type": "user", "timestamp": at(0), "content": [{"text": "Never said."}]}]
            }
        },
        {
            "id": "g0",
            "type": "user",
            "timestamp": at(0),
            "content": [{"text": "<session_context>\nLinux\n</session_context>"}],
        },
        {"id": "g1", "type": "user", "timestamp": at(1), "content": [{"text": f"{RECALLED}Ada's brother is Edmund."}]},
        {"id": "g2", "type": "gemini", "timestamp": at(2), "content": "Noted.", "thoughts": [{"text": "Hm."}]},
        {"id": "g3", "type": "info", "timestamp": at(2), "content": "A note of the client."},
    ]
    chat = write_lines(tmp_path / "chats" / "session-2026-03-02T09-00-08eba820.jsonl", lines)
    done = take_in(workspace, chat)
    assert (done.format, done.taken) == ("gemini", 2)
    write_lines(chat, [*lines, {"id": "g4", "type": "user", "timestamp": at(3), "content": [{"text": "Thank you."}]}])
    assert take_in(workspace, tmp_path / "chats").taken == 1
    expected = ["User: Ada's brother is Edmund.", "Gemini: Noted.", "User: Thank you."]
    assert turns(workspace) == [(text, HEAD["sessionId"]) for text in expected]
