from __future__ import annotations

import json
from pathlib import Path

import pytest

from everloom.imports import take_in
from everloom.imports.detect import format_of
from everloom.loom import Workspace
from tests.imports.exports import (
    BASIC_NOTE,
    CHATGPT_TURNS,
    CLAUDE_AI_TURNS,
    LOCOMO_TURNS,
    MEM0_FACTS,
    SERVER_FACTS,
    chatgpt_conversation,
    claude_ai_conversation,
    locomo_samples,
    mem0_results,
    write_json,
    write_server_memory,
    write_vault,
    write_zip,
)
from tests.imports.memory import documents, facts, turns


@pytest.mark.promise("import.formats")
def test_each_format_of_a_conversation_is_recognised_and_read(workspace: Workspace, tmp_path: Path) -> None:
    chatgpt = write_zip(
        tmp_path / "chatgpt.zip",
        **{"user.json": {}, "chat.html": b"<html>", "conversations-000.json": [chatgpt_conversation(), "odd"]},
    )
    claude = write_zip(tmp_path / "claude.zip", **{"users.json": [], "conversations.json": [claude_ai_conversation()]})
    locomo = write_json(tmp_path / "locomo10.json", locomo_samples())
    found = {path: take_in(workspace, path) for path in (chatgpt, claude, locomo)}
    assert [each.format for each in found.values()] == ["chatgpt", "claude-ai", "locomo"]
    expected = [
        *((text, "chatgpt:c1") for text in CHATGPT_TURNS),
        *((text, "claude-ai:k1") for text in CLAUDE_AI_TURNS),
        *((text, "locomo:s1:1") for text in LOCOMO_TURNS),
    ]
    assert turns(workspace) == expected
    skipped = {path: {each.reason: each.count for each in report.skipped} for path, report in found.items()}
    assert skipped[chatgpt]["messages of a branch that was given up"] == 1
    assert skipped[chatgpt]["an element that is no conversation"] == 1
    assert skipped[chatgpt]["files that were attached to a message"] == 1
    assert skipped[claude]["messages of a branch that was given up"] == 1
    assert skipped[claude]["files that were attached to a message"] == 1
    # The same export under another name, unpacked and with one message more, brings only that message.
    grown = chatgpt_conversation()
    grown["mapping"]["n"] = {
        "id": "n",
        "parent": "v",
        "message": {
            **grown["mapping"]["a"]["message"],
            "id": "n",
            "content": {"content_type": "text", "parts": ["Yes."]},
        },
    }
    later = tmp_path / "later"
    later.mkdir()
    write_json(later / "conversations.json", [{**grown, "current_node": "n"}])
    again = take_in(workspace, later)
    assert (again.format, again.taken, again.known) == ("chatgpt", 1, 3)
    assert turns(workspace)[-1] == ("ChatGPT: Yes.", "chatgpt:c1")
    # A title is found by its words, and a date by its label.
    assert workspace.search("ropework")[0].session_id == workspace.search("splice a rope")[0].session_id


@pytest.mark.promise("import.formats")
def test_facts_of_other_memories_become_observations_about_their_subjects(workspace: Workspace, tmp_path: Path) -> None:
    server = take_in(workspace, write_server_memory(tmp_path / "memory.jsonl"))
    mem0 = take_in(workspace, write_json(tmp_path / "mem0.json", mem0_results()))
    assert (server.format, server.taken, mem0.format, mem0.taken) == ("server-memory", 5, "mem0", 2)
    assert facts(workspace) == {**SERVER_FACTS, **MEM0_FACTS}
    assert {each.reason for each in server.skipped} == {"an entity or a relation without names"}
    assert take_in(workspace, tmp_path / "memory.jsonl", again=True).known == 5
    # What is known already is not this import's own, and stays when it is taken back.
    workspace.semantic.remember(["ada"], "Prefers rain to snow")
    changed = mem0_results()
    changed["results"] = [{"id": "m3", "memory": "Prefers rain to snow", "user_id": "ada"}]
    report = take_in(workspace, write_json(tmp_path / "more.json", changed), kind="mem0")
    assert (report.taken, report.known) == (0, 2)
    observation = workspace.search("who speaks Cornish?")[0]
    assert (observation.kind, observation.origin) == ("observation", "import:server-memory")


@pytest.mark.promise("import.formats")
def test_notes_become_passages_and_what_is_edited_out_of_them_no_longer_holds(
    workspace: Workspace, tmp_path: Path
) -> None:
    vault, basic = write_vault(tmp_path / "vault"), tmp_path / "basic"
    basic.mkdir()
    (basic / "coffee.md").write_text(BASIC_NOTE, encoding="utf-8")
    first, second = take_in(workspace, vault), take_in(workspace, basic)
    assert (first.format, first.taken, second.format, second.taken) == ("obsidian", 2, "basic-memory", 3)
    notes = {row["text"]: row for row in documents(workspace, "note")}
    assert set(notes) == {
        "Saw a kingfisher at the weir.",
        "# Bees\n\nThe hive swarmed.",
        "# Coffee Brewing\n\nMornings begin with a kettle, as my grandmother taught us.\n\n- [ ] buy filters",
    }
    assert json.loads(notes["# Bees\n\nThe hive swarmed."]["labels"]) == ["apiary"]
    assert facts(workspace) == {
        "Coffee Brewing: Pour over gives more clarity than a press #brewing": {"Coffee Brewing"},
        "Coffee Brewing requires Proper Grinding.": {"Coffee Brewing", "Proper Grinding"},
    }
    assert workspace.search("kingfisher")[0].happened_at.isoformat() == "2025-02-03T12:00:00+00:00"
    bees = vault / "Bees.md"
    bees.write_text("# Bees\n\nThe hive is quiet again.\n", encoding="utf-8")
    edited = take_in(workspace, vault)
    assert (edited.taken, edited.retired, edited.unchanged) == (1, 1, 1)
    assert "swarmed" not in " ".join(hit.text for hit in workspace.search("did the hive swarm?"))
    bees.write_text("# Bees\n\nThe hive swarmed.\n", encoding="utf-8")
    back = take_in(workspace, vault)
    assert (back.taken, back.retired) == (1, 1)
    assert "swarmed" in workspace.search("did the hive swarm?")[0].text


@pytest.mark.promise("import.names-what-is-left-out")
@pytest.mark.parametrize(
    "line",
    [
        "[12.03.24, 09:{:02}:10] Ann: See you at the harbour.",
        "12/03/2024, 09:{:02} - Ann: See you at the harbour.",
        "3/12/24, 9:{:02}\u202fPM - Ann Lee: See you at the harbour.",
        "\u200e[2024-03-12, 9:{:02}:10 p.m.] +49 151 1234: See you at the harbour.",
        "12/3/24 9:{:02} p.\u00a0m. - Ana: Nos vemos en el puerto.\nLlevo la cuerda.\nY el pan.",
        "12/03/2024 à 09:{:02} - Anne : Rendez-vous au port.",
        "2024/3/12 下午9:{:02} - 安: 港口见。",
        "١٢/٣/٢٠٢٤، ٩:{:02} ص - ليلى: نلتقي في الميناء.",
    ],
)
def test_an_exported_chat_is_not_taken_for_a_note(line: str, workspace: Workspace, tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text("\n".join([*map(line.format, range(8)), "and bring the rope", *map(line.format, range(8, 12))]))
    report = take_in(workspace, chat)
    assert (report.taken, [each.count for each in report.skipped]) == (0, [1])
    assert "exported chat" in report.skipped[0].reason
    short = tmp_path / "short.txt"
    short.write_text("\n".join(map(line.format, range(3))))
    assert take_in(workspace, short).taken == 0
    log = tmp_path / "log.txt"
    log.write_text("12.03.24, 09:15: we left the harbour.\n\nThe wind came from the west.\n")
    assert take_in(workspace, log).taken == 1
    diary = tmp_path / "diary.txt"
    diary.write_text("2024-03-12 09:15 Harbour: we left.\n" * 9)
    assert take_in(workspace, diary).taken == 1


def test_a_folder_of_texts_is_read_as_notes(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "plain.txt").write_bytes("\ufeffA heron stood in the ford.".encode())
    (folder / "wide.txt").write_bytes("Ein Käuzchen rief.".encode("utf-16"))
    (folder / "odd.txt").write_bytes(b"caf\xe9")
    (folder / "binary.txt").write_bytes(b"\x00\x01")
    (folder / "deep" / "long.md").write_text("# One\n\n" + "a word " * 2_000 + "\n\n# Two\n\nThe end.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_text("Nobody named this file.")
    (folder / "soft\u00adhyphen.md").write_text("A file with a name that deceives.")
    (folder / "broken.md").write_text("---\ntitle: [\n---\nStill a text.\n")
    assert format_of(folder, None).name == "notes"
    report = take_in(workspace, folder)
    skipped = {each.reason: each.count for each in report.skipped}
    assert skipped["text in a broken encoding"] == 2
    assert skipped["a link to another place"] == 1
    texts = [row["text"] for row in documents(workspace, "note")]
    assert max(map(len, texts)) <= 6_000
    assert {
        "A heron stood in the ford.",
        "Ein Käuzchen rief.",
        "A file with a name that deceives.",
        "# Two\n\nThe end.",
    } <= set(texts)
    assert not any("Nobody" in text for text in texts)
    assert any("Still a text." in text for text in texts)
