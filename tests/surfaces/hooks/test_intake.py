"""Transcripts are taken in while nobody waits: by a detached process, one at a time, each word once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everloom import open_loom
from everloom.settings import Settings
from everloom.store.files import locked
from tests.conftest import copy_store
from tests.imports.transcripts import CLAUDE_TURNS, SESSION, claude_line, claude_transcript, said, write_lines
from tests.patience import wait_until
from tests.surfaces.hooks.ground import Machine, starting


@pytest.fixture
def machine(store_url: str, tmp_path: Path) -> Machine:
    with open_loom(store_url, settings=Settings()) as loom:
        loom.workspace("default")
    return Machine(tmp_path, store_url)


@pytest.fixture
def machine_with_a_file(made_file: Path, tmp_path: Path) -> Machine:
    copy_store(made_file, tmp_path)
    url = f"sqlite:///{tmp_path}/loom.db"
    with open_loom(url, settings=Settings()) as loom:
        loom.workspace("default")
    return Machine(tmp_path, url)


def written(machine: Machine, lines: list[dict[str, Any]]) -> Path:
    return write_lines(machine.home / ".claude" / "projects" / "boat" / f"{SESSION}.jsonl", lines)


def ending(path: Path) -> dict[str, str]:
    return starting(SESSION, transcript_path=str(path), hook_event_name="Stop")


def taken(machine: Machine, path: Path, size: int) -> dict[str, Any]:
    """Wait until so much of a transcript has been taken in by a process that nobody here started."""

    def found() -> dict[str, Any] | None:
        last = dict(machine.record.taken(str(path)))
        return last if last.get("size") == size else None

    return wait_until(found, f"{path} to be taken in", output=lambda: str(machine.record.taken(str(path))))


def texts(machine: Machine) -> list[str]:
    with open_loom(machine.url, settings=Settings()) as loom:
        found = loom.workspace("default").search("Marigold keel yard Falmouth book", limit=50)
    return sorted(hit.text for hit in found if hit.kind == "turn")


@pytest.mark.promise("hooks.transcripts-are-kept")
def test_what_was_said_is_taken_in_after_the_session_has_ended_and_only_what_is_new(machine: Machine) -> None:
    path = written(machine, claude_transcript())
    assert machine.hook("stop", ending(path)).answer == {}
    assert machine.last("claude-code", "stop")["outcome"] == "started"
    assert taken(machine, path, path.stat().st_size)["note"] == "5 new"
    assert texts(machine) == sorted(CLAUDE_TURNS)
    # Nothing new; then something new, a moment later; then the end, which does not wait.
    machine.hook("stop", ending(path))
    assert machine.last("claude-code", "stop")["note"] == "nothing new in the transcript"
    written(machine, [*claude_transcript(), claude_line(13, "assistant", said("The yard has room in May."))])
    machine.hook("stop", ending(path))
    assert machine.last("claude-code", "stop")["note"] == "taken in a moment ago; the rest follows later"
    machine.hook("session-end", ending(path))
    assert taken(machine, path, path.stat().st_size)["note"] == "1 new"
    assert texts(machine) == sorted([*CLAUDE_TURNS, "Claude: The yard has room in May."])
    (shown,) = machine.command("hook", "status")["transcripts"]
    assert (shown["client"], shown["state"], shown["note"]) == ("claude-code", "taken in", "1 new")


@pytest.mark.promise("hooks.left-over")
def test_what_a_session_left_is_taken_in_when_the_next_one_begins(machine_with_a_file: Machine) -> None:
    machine = machine_with_a_file
    path = written(machine, claude_transcript())
    # The store was away when the session ended.
    missing = machine.home / "away.db"
    (machine.home / "loom.db").rename(missing)
    machine.hook("session-end", ending(path))
    failed = taken(machine, path, path.stat().st_size)
    assert (failed["outcome"], failed["note"]) == ("failed", "there is no store yet; `everloom init` creates it")
    assert machine.command("hook", "status")["transcripts"][0]["state"] == "waiting"
    missing.rename(machine.home / "loom.db")
    # As if that had been longer ago than a minute.
    (file,) = (machine.record.directory / "taken").iterdir()
    file.write_text(file.read_text().replace(str(failed["at"]), "1.0"))
    # Where a variable names another memory, it is left alone.
    machine.hook("session-start", starting("elsewhere"), EVERLOOM_STORE_URL=f"sqlite:///{machine.home}/other.db")
    assert machine.record.taken(str(path))["at"] == 1.0
    machine.hook("session-start", starting("another"))
    wait_until(lambda: machine.record.taken(str(path)).get("outcome") == "taken in", "what was left over")
    assert texts(machine) == sorted(CLAUDE_TURNS)


@pytest.mark.promise("hooks.one-at-a-time")
def test_one_process_at_a_time_takes_in_a_transcript(machine_with_a_file: Machine) -> None:
    machine = machine_with_a_file
    path = written(machine, claude_transcript())
    with locked(machine.record.lock_of(str(path))):
        (done,) = machine.command("hook", "take-in", str(path))["transcripts"]
    assert done["outcome"] == "busy"
    (done,) = machine.command("hook", "take-in", str(path))["transcripts"]
    assert (done["outcome"], done["note"]) == ("taken in", "5 new")


def test_a_file_that_is_no_transcript_is_named_and_not_tried_again(machine_with_a_file: Machine) -> None:
    machine = machine_with_a_file
    path = machine.home / "shopping.txt"
    path.write_text("plums")
    (done,) = machine.command("hook", "take-in", str(path))["transcripts"]
    assert (done["outcome"], done["retry"]) == ("failed", False)
    assert "is no transcript that can be read; those of claude-code, codex, gemini can" in done["note"]
    machine.hook("session-end", ending(path))
    assert machine.last("claude-code", "session-end")["note"] == "nothing new in the transcript"


def test_transcripts_are_left_alone_if_somebody_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "")
    config = tmp_path / "everloom.toml"
    config.write_text("[hooks]\ntranscripts = false\n")
    path = written(machine, claude_transcript())
    for event in ("stop", "pre-compact", "session-end"):
        machine.hook(event, ending(path), "--config", str(config))
        assert machine.last("claude-code", event)["note"] == "hooks.transcripts is off"
    assert machine.record.wanted() == []
    config.write_text(f"[hooks]\nprojects = ['{tmp_path}=-']\n")
    machine.hook("session-end", {**ending(path), "cwd": str(tmp_path)}, "--config", str(config))
    assert taken(machine, path, path.stat().st_size)["outcome"] == "left out"
