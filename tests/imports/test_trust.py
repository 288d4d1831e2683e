from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, Forbidden, NotFound, Rejected
from everloom.imports import list_imports, take_in, undo_import
from everloom.imports.reading.injected import spoken_part
from everloom.imports.reading.lines import LONGEST_LINE
from everloom.loom import Workspace, open_loom
from everloom.models.text import quoted
from everloom.settings import Settings
from tests.imports.exports import chatgpt_conversation, write_json, write_server_memory, write_zip
from tests.imports.memory import facts, turns
from tests.imports.transcripts import BEGIN, CLAUDE_TURNS, SESSION, claude_line, claude_transcript, write_lines

KEY = "sk-ant-api03-" + "Qx7" * 30


@pytest.mark.promise("import.undo")
def test_an_import_is_taken_back_by_forgetting_and_stays_away_unless_it_is_allowed_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "melanoma" / f"{SESSION}.jsonl", claude_transcript())
    server = write_server_memory(tmp_path / "memory.jsonl")
    kept = workspace.semantic.remember(["Ada Byron"], "Ada Byron keeps bees")
    first, second = take_in(workspace, file), take_in(workspace, server)
    assert [(each.id, each.items) for each in list_imports(workspace)] == [(second.id, 4), (first.id, 5)]
    assert (first.id is not None, second.id is not None) == (True, True)
    preview = undo_import(workspace, first.id or 0)
    assert (preview.count, preview.is_done, len(preview.items)) == (5, False, 5)
    with pytest.raises(Conflict):
        undo_import(workspace, first.id or 0, confirm="another")
    assert len(turns(workspace)) == 5
    done = undo_import(workspace, first.id or 0, confirm=preview.confirm)
    assert (done.count, done.is_done, turns(workspace)) == (5, True, [])
    away = take_in(workspace, file)
    assert (away.taken, away.skipped[0].count) == (0, 5)
    assert "forgotten" in away.skipped[0].reason
    # What was there before an import is not its own.
    undo_import(workspace, second.id or 0, confirm=undo_import(workspace, second.id or 0).confirm, allow_again=True)
    assert facts(workspace) == {"Ada Byron keeps bees": {"Ada Byron"}}
    assert workspace.show(kept.id).text == "Ada Byron keeps bees"
    assert take_in(workspace, server).taken == 4
    with pytest.raises(NotFound):
        undo_import(workspace, 10**9)


@pytest.mark.promise("import.forgetting")
def test_a_session_and_an_import_are_forgotten_like_anything_else(workspace: Workspace, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "kingfisher" / f"{SESSION}.jsonl", claude_transcript())
    report = take_in(workspace, file)
    shown, reason = workspace.show(report.id or 0), workspace.why(workspace.search("Falmouth")[0].id)
    assert (shown.detail["label"], shown.detail["items"]) == (str(file), 5)
    assert [(each.kind, each.text) for each in reason.because] == [("import", str(file))]
    preview = workspace.forget(from_session=SESSION)
    # The label of the session is forgotten with what was said in it.
    assert {each.kind for each in preview.items} == {"session", "turn"}
    # The same by the id of the import, which leaves the session.
    assert workspace.forget([report.id or 0]).count == preview.count - 1 == 5
    workspace.forget(from_session=SESSION, confirm=preview.confirm)
    assert turns(workspace) == []
    again = take_in(workspace, file, again=True)
    assert (again.taken, again.known) == (0, 0)
    # The name of a place that tells what was forgotten is forgotten, too.
    note = tmp_path / "wolpertinger.md"
    note.write_text("The wolpertinger has antlers.")
    item = take_in(workspace, note)
    hit = workspace.search("wolpertinger")[0]
    workspace.forget([hit.id], confirm=workspace.forget([hit.id]).confirm)
    assert [each.place for each in list_imports(workspace) if each.id == item.id] == [""]


@pytest.mark.promise("import.injected")
def test_memory_that_was_injected_is_never_taken_in_again(workspace: Workspace, tmp_path: Path) -> None:
    workspace.semantic.remember(["Ada"], "Ada sails the Marigold.")
    block = quoted("Ada sails the Marigold.\nShe likes plums.", "found")
    cases = {
        f"{block}\nWho pays?": "Who pays?",
        f"Before. {quoted('x', 'memory')} After.": "Before.  After.",
        block.removesuffix(">"): "",
        "<memory>\nAda likes plums.\n</memory>Go on.": "Go on.",
        "<system-reminder>SessionStart: soul</system-reminder>": "",
        "<memory-recall>\nWhat your long-term memory holds\n</memory-recall>\nGood morning.": "Good morning.",
        "What does <memory> mean in this file?": "What does <memory> mean in this file?",
        "I wrote <memory-1> myself, and a < b.": "I wrote <memory-1> myself, and a < b.",
    }
    assert {text: spoken_part(text) for text in cases} == cases
    lines = [claude_line(number, "user", text) for number, text in enumerate(cases)]
    result = [{"type": "tool_result", "tool_use_id": "t", "content": json.dumps({"recall": "Ada sails the Marigold."})}]
    file = write_lines(tmp_path / "t.jsonl", [*lines, claude_line(90, "user", result)])
    take_in(workspace, file)
    assert {text for text, _ in turns(workspace)} == {f"User: {left}" for left in cases.values() if left}


@pytest.mark.promise("import.secrets")
@pytest.mark.parametrize("done", ["redact", "refuse", "warn"])
def test_secrets_in_a_transcript_are_treated_as_the_settings_say(done: str, tmp_path: Path, clock: ManualClock) -> None:
    lines = [claude_line(1, "user", f"My key is {KEY}, keep it."), claude_line(2, "user", "And it works.")]
    file = write_lines(tmp_path / "t.jsonl", lines)
    settings = Settings.model_validate({"review": {"secrets": done}})
    with open_loom(tmp_path / "loom.db", settings=settings, clock=clock) as loom:
        place = loom.workspace("james")
        report = take_in(place, file)
        texts = [text for text, _ in turns(place)]
    assert report.secrets == 1
    assert len(texts) == (1 if done == "refuse" else 2)
    assert any(KEY in text for text in texts) == (done == "warn")


@pytest.mark.promise("import.held")
def test_imports_wait_for_review_where_the_settings_say_so(tmp_path: Path, clock: ManualClock) -> None:
    file = write_lines(tmp_path / "t.jsonl", claude_transcript())
    server = write_server_memory(tmp_path / "memory.jsonl")
    settings = Settings.model_validate({"review": {"hold": ["import"]}})
    with open_loom(tmp_path / "loom.db", settings=settings, clock=clock) as loom:
        place = loom.workspace("james")
        reports = take_in(place, file), take_in(place, server)
        assert [(each.taken, each.held) for each in reports] == [(0, 5), (0, 5)]
        assert take_in(place, file, again=True).known == 5
        assert (turns(place), facts(place)) == ([], {})
        held = place.review.list_held(max_tokens=100_000)
        place.review.approve([each.id for each in held.held])
        assert sorted(turns(place)) == sorted((text, SESSION) for text in CLAUDE_TURNS)
        assert len(facts(place)) == 5
        # What was approved is known as the import's own, and goes with it.
        assert take_in(place, file, again=True).known == 5
        for each in list_imports(place):
            undo_import(place, each.id, confirm=undo_import(place, each.id).confirm)
        assert (turns(place), facts(place)) == ([], {})


@pytest.mark.promise("import.hostile-files")
def test_hostile_and_broken_files_are_named_and_nothing_is_half_taken(workspace: Workspace, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with ZipFile(bomb, "w", 8) as archive, archive.open("conversations.json", "w") as member:
        for _ in range(70):
            member.write(b" " * 1024 * 1024)
    with pytest.raises(Rejected, match="far more"):
        take_in(workspace, bomb, kind="chatgpt")
    tricks = write_zip(tmp_path / "tricks.zip", **{"../../conversations.json": [chatgpt_conversation()]})
    assert "leads out of it" in take_in(workspace, tricks, kind="chatgpt").skipped[0].reason
    damaged = tmp_path / "damaged.zip"
    whole = write_zip(tmp_path / "whole.zip", **{"conversations.json": [chatgpt_conversation()]}).read_bytes()
    damaged.write_bytes(whole[:200] + b"\x00" * 20 + whole[220:])
    with pytest.raises(Rejected, match="damaged"):
        take_in(workspace, damaged, kind="chatgpt")
    damaged.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Rejected, match="damaged"):
        take_in(workspace, damaged, kind="chatgpt")
    assert turns(workspace) == []
    # A file that breaks off: what is complete is taken in, and the rest once it is there.
    several = json.dumps([chatgpt_conversation(f"c{number}") for number in range(3)])
    cut = tmp_path / "conversations.json"
    cut.write_text(several[: len(several) * 2 // 3 + 40])
    report = take_in(workspace, cut)
    assert (report.is_whole, report.sessions, report.taken) == (False, 2, 6)
    assert any("cut off" in each.reason for each in report.skipped)
    cut.write_text(several)
    assert (take_in(workspace, cut).taken, take_in(workspace, cut).unchanged) == (3, 1)
    odd = write_json(tmp_path / "odd.json", [chatgpt_conversation("odd", "A lone \ud800 surrogate.")])
    assert {each.reason: each.count for each in take_in(workspace, odd).skipped}["text in a broken encoding"] == 1
    latin = tmp_path / "latin.json"
    latin.write_bytes(json.dumps([chatgpt_conversation("l", "Caf@")]).encode().replace(b"@", b"\xe9"))
    assert take_in(workspace, latin).taken == 2
    long = tmp_path / "long.jsonl"
    long.write_text(json.dumps(claude_line(1, "user", "Before.")) + "\n")
    with long.open("a") as end:
        end.write(
            '{"type": "user", "x": "' + "x" * LONGEST_LINE + '"}\n' + json.dumps(claude_line(2, "user", "After."))
        )
    report = take_in(workspace, long)
    assert (report.taken, [each.count for each in report.skipped]) == (2, [1])
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    with pytest.raises(Rejected):
        take_in(workspace, deep)


def test_a_dry_run_and_a_read_only_workspace_write_nothing(workspace: Workspace, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", claude_transcript())
    before = workspace.events(limit=100)
    assert take_in(workspace, file, dry_run=True).taken == 5
    assert workspace.events(limit=100) == before
    closed = workspace.loom.workspace("james", refusal=Forbidden("only reading is allowed"))
    with pytest.raises(Forbidden, match="only reading"):
        take_in(closed, file)
    assert take_in(closed, file, dry_run=True).taken == 5


def test_only_what_is_new_enough_is_taken_in_and_the_rest_later(workspace: Workspace, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "t.jsonl", claude_transcript())
    late = take_in(workspace, file, since=BEGIN.replace(minute=5))
    assert (late.taken, {each.reason: each.count for each in late.skipped}["from before the date that was given"]) == (
        3,
        2,
    )
    assert (take_in(workspace, file).taken, len(turns(workspace))) == (2, 5)


def test_records_that_cannot_be_stored_keep_no_others_away(workspace: Workspace, tmp_path: Path) -> None:
    lines = [
        claude_line(1, "user", "Long before anybody spoke.", timestamp="0001-01-01T00:00:00Z"),
        claude_line(2, "user", "In no time.", timestamp=float("nan")),
        claude_line(3, "user", "In a nameless session.", sessionId="\u200b"),
        claude_line(4, "user", "With a null: \x00"),
        claude_line(5, "user", ["odd", {"type": "text", "text": None}, {"type": "text", "text": "In pieces."}]),
        claude_line(6, "user", "Twice."),
        claude_line(6, "user", "Twice."),
        {"type": "user", "sessionId": SESSION, "message": "text", "uuid": {}, "timestamp": []},
        claude_line(7, "user", "word " * 60_000),
    ]
    report = take_in(workspace, write_lines(tmp_path / "t.jsonl", lines), kind="claude-code")
    found = [text for text, _ in turns(workspace)]
    assert found[:2] == ["User: In pieces.", "User: Twice."]
    assert max(map(len, found)) < 6_100
    assert sum(map(len, found)) == pytest.approx(200_000, rel=0.02)
    reasons = {each.reason: each.count for each in report.skipped}
    assert reasons["a time that cannot be true"] == 1
    assert reasons["a message without a time or an id"] == 1
    assert reasons["a name that cannot be stored"] == 1
    assert reasons["text in a broken encoding"] == 1
    assert take_in(workspace, tmp_path / "t.jsonl", again=True).taken == 0
