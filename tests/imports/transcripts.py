"""Writes transcripts as the real clients write them: every kind of line that they have, with invented words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SESSION = "0b2c6f1e-5d0e-4d0b-9a39-1f2f3a4b5c6d"
THREAD = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"


def at(minute: int) -> str:
    return (BEGIN + timedelta(minutes=minute)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_lines(path: Path, lines: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def claude_line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of a transcript of Claude Code that holds a message."""
    return {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/boat",
        "sessionId": SESSION,
        "version": "2.1.12",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": f"u{number}",
        "timestamp": at(number),
        **more,
    }


def said(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def claude_transcript() -> list[dict[str, Any]]:
    """A short conversation, with everything around it that is not speech."""
    return [
        {"type": "queue-operation", "operation": "dequeue", "timestamp": at(0), "sessionId": SESSION},
        {"type": "file-history-snapshot", "messageId": "m0", "snapshot": {}, "isSnapshotUpdate": False},
        claude_line(1, "user", "The keel of the Marigold is cracked. What shall I do first?"),
        {
            "type": "attachment",
            "sessionId": SESSION,
            "uuid": "a1",
            "timestamp": at(1),
            "attachment": {"type": "hook_additional_context", "content": "Ada sails a boat called Marigold."},
        },
        claude_line(2, "assistant", [{"type": "thinking", "thinking": "A secret plan.", "signature": "x"}]),
        claude_line(3, "assistant", said("Haul her out of the water before you sand anything.")),
        claude_line(4, "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
        claude_line(5, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "keel.md, which nobody said"}]),
        claude_line(6, "user", said("<system-reminder>\nRead the reminder.\n</system-reminder>\nWhich yard is cheap?")),
        claude_line(7, "assistant", said("The yard in Falmouth charges forty pounds a day.")),
        claude_line(8, "user", "Caveat: local commands follow.", isMeta=True),
        claude_line(9, "user", "<command-name>/clear</command-name>\n<command-args></command-args>"),
        claude_line(10, "user", "Look for keels.", isSidechain=True),
        claude_line(11, "user", "This session is being continued …", isCompactSummary=True),
        claude_line(12, "user", "<memory-0123456789ab>\n> Ada likes plums.\n</memory-0123456789ab>\nBook it for May."),
    ]


CLAUDE_TURNS = (
    "User: The keel of the Marigold is cracked. What shall I do first?",
    "Claude: Haul her out of the water before you sand anything.",
    "User: Which yard is cheap?",
    "Claude: The yard in Falmouth charges forty pounds a day.",
    "User: Book it for May.",
)


def codex_line(number: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(number), "type": kind, "payload": payload}


def codex_message(number: int, role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_line(number, "response_item", type="message", role=role, content=[{"type": kind, "text": words}])


def codex_rollout() -> list[dict[str, Any]]:
    """A short rollout, with everything around it that is not speech."""
    return [
        codex_line(0, "session_meta", id=THREAD, timestamp=at(0), cwd="/home/ada/boat", cli_version="0.166.0"),
        codex_message(1, "developer", "<permissions instructions>Ask first.</permissions instructions>"),
        codex_message(
            1, "user", "# AGENTS.md instructions for /home/ada/boat\n\n<INSTRUCTIONS>Be brief.</INSTRUCTIONS>"
        ),
        codex_message(1, "user", "<environment_context>\n  <cwd>/home/ada/boat</cwd>\n</environment_context>"),
        codex_message(2, "user", "Write a log of the tides at Penzance."),
        codex_line(2, "event_msg", type="user_message", message="Write a log of the tides at Penzance."),
        codex_line(3, "turn_context", cwd="/home/ada/boat", model="gpt-5-codex"),
        codex_line(4, "response_item", type="reasoning", summary=[{"type": "summary_text", "text": "Tides, then."}]),
        codex_line(5, "response_item", type="function_call", name="shell", arguments="{}", call_id="c1"),
        codex_line(6, "response_item", type="function_call_output", call_id="c1", output="high water 04:12"),
        codex_message(7, "assistant", "The tide log is in tides.md, with high water in bold."),
    ]


CODEX_TURNS = (
    "User: Write a log of the tides at Penzance.",
    "Codex: The tide log is in tides.md, with high water in bold.",
)
