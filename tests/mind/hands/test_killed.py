"""Whoever is killed between any two steps of approving, doing and telling: what acts is done once, or left alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from everloom.clock import SystemClock
from everloom.mind.verbs import Mind
from tests.mind.hands.killed import CODE, crew_at
from tests.mind.hands.sea import Boat, Crew, harbour
from tests.mind.worlds import open_place
from tests.scripted.claude import ClaudeServer
from tests.store.ground import Child


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """A process that forks those who are killed."""
    made = Child(CODE)
    assert made.line() == "ready"
    yield made
    made.__exit__()


def kill_at(child: Child, url: str, folder: Path, boat_url: str, action: int, step: int) -> bool:
    """Let a process approve and do an action, and kill it before a step; False if it had no such step."""
    child.tell(f"{url} {folder} {boat_url} {action} {step}")
    said = child.line()
    assert said == "killed" or (folder / f"survived {action}").exists(), said
    return said == "killed"


@pytest.mark.promise("mind.hands-once")
def test_an_approved_tool_is_used_once_or_unknown_whenever_its_process_is_killed(
    child: Child, store_url: str, claude: ClaudeServer, tmp_path: Path
) -> None:
    boat = Boat(tmp_path / "log")
    with harbour(boat) as boat_url, open_place(store_url, SystemClock()) as loom:
        folder = tmp_path / "crew"
        crew = crew_at(loom, claude, folder, boat_url, SystemClock())
        states = []
        for step in count(1):
            crew.asks_for("boat__sail", {"where": f"island {step}."})
            action = crew.action().id
            was_killed = kill_at(child, store_url, folder, boat_url, action, step)
            states.append(see_to(crew, boat, action, f"sail island {step}."))
            if not was_killed:
                break
        # Before it is approved, begun, used and ended; and at last it survives.
        assert states == ["done", "done", "unknown", "unknown", "done"]
        crew.setup.servers.close()


def see_to(crew: Crew, boat: Boat, action: int, line: str) -> str:
    """Let the person and a worker go on after a kill; returns what became of the action."""
    crew.again()
    # The channel delivers again what was not confirmed; a message that was stored is not stored twice.
    crew.says(f"/approve {action}", key=f"approve {action}")
    crew.work()
    crew.work()
    found = crew.action()
    assert found.id == action
    assert len(boat.lines(line)) == 1 if found.state == "done" else len(boat.lines(line)) <= 1
    told = [text for text in crew.told() if f"Action {action} " in text]
    assert len(told) == 1
    assert ("nobody knows" in told[0]) is (found.state == "unknown")
    assert len([each for each in crew.mind.conversation.waiting() if f"Action {action} " in each.text]) == 1
    return found.state


@pytest.mark.promise("mind.hands-once")
def test_an_approved_note_is_written_once_whenever_its_process_is_killed(
    child: Child, store_url: str, claude: ClaudeServer, tmp_path: Path
) -> None:
    with open_place(store_url, SystemClock()) as loom:
        folder = tmp_path / "crew"
        crew = crew_at(loom, claude, folder, "http://127.0.0.1:1/mcp", SystemClock())
        crew.again(mcp={})
        Mind(crew.setup, "person").notes.write("USER.md", "Audrey sails.", author="person", replace=True)
        for step in count(1):
            crew.asks_for("append_note", {"name": "USER.md", "text": f"Line {step}."})
            action = crew.action().id
            was_killed = kill_at(child, store_url, folder, "http://127.0.0.1:1/mcp", action, step)
            crew.again()
            crew.says(f"/approve {action}", key=f"approve {action}")
            crew.work()
            assert crew.action().state == "done"
            assert (crew.mind.notes.read("USER.md") or "").count(f"Line {step}.") == 1
            if not was_killed:
                break
        assert step > 4
        written = crew.mind.notes.history("USER.md")
        assert len([each for each in written if each.author == "agent"]) in (step, step + 1)
