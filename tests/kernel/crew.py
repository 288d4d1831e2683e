"""Many workspaces with work that waits, real workers at it, and the proof that each task was done exactly once.

Every task leaves a trace that can be counted: a patrol has a number and ages its scenes, a page of a graph is an event,
a vector belongs to a document.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from everloom.episodic.patrol.task import STEPS
from everloom.loom import open_loom
from everloom.settings import Settings
from tests.forking import Popen
from tests.patience import PATIENCE, wait_until
from tests.store.ground import ROOT, Ask, asking, assert_agreement, note

SCENES = 2
DOCUMENTS = 2
# Few workspaces have a graph: each is a directory of files.
GRAPHS = 3
DONE = re.compile(r" (being\d+) (\S+) done (\d+) items")


def settle(url: str, count: int, *, first: int = 0, graphs: int = GRAPHS) -> None:
    """Make workspaces in which scene notes wait for a patrol, texts for vectors, and some graphs for their day."""
    chosen = {"embed": {"models": ["ollama:nobody"]}, "episodic": {"patrol": "worker", "patrol_at": SCENES}}
    with open_loom(url, settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}, **chosen})) as loom:
        for number in range(first, first + count):
            place = loom.workspace(f"being{number:02}")
            told = [{"action": f"James sailed to island {number}.{part}"} for part in range(SCENES)]
            place.episodic.update_notes(scenes=told)
            place.add([note(f"Island {number} has {part} harbours.") for part in range(DOCUMENTS)])
            if number < graphs:
                place.graph.store(type="fix", title="Tides", content="It turns at noon.")


@contextmanager
def crew() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes that do not outlive the test, however it ends."""
    with ExitStack() as stack:

        def started(url: str, *arguments: str) -> subprocess.Popen[str]:
            process = stack.enter_context(start(url, *arguments))
            stack.callback(process.kill)
            return process

        yield started


def start(url: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a command as a process of its own, with settings that make those workspaces due."""
    ours = {"EVERLOOM_STORE_URL": url, "EVERLOOM_EPISODIC_PATROL_AT": str(SCENES), "OPENBLAS_NUM_THREADS": "1"}
    return Popen(
        [sys.executable, "-m", "everloom", *arguments, "--json"],
        env={**os.environ, **ours, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_in_a_patrol(process: subprocess.Popen[str], url: str) -> str:
    """Kill a process while it holds the lease of a patrol that is half done; the answer is in which workspace.

    It is stopped for every look, so that what is seen is still so when it is killed. It has to have ended another
    patrol before.
    """
    with asking(url) as ask:

        def caught() -> str | None:
            os.kill(process.pid, signal.SIGSTOP)
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), "it was through before it could be killed"
            if ask(ENDED) and (found := ask(HALF_DONE, f"%:{process.pid}:%")):
                os.kill(process.pid, signal.SIGKILL)
                return str(found[0]["name"])
            os.kill(process.pid, signal.SIGCONT)
            return None

        # A patrol takes few milliseconds: between two looks, the process may run for a part of one.
        place = wait_until(caught, "a patrol that is half done", step=0.0005)
    assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    return place


ENDED = "SELECT id FROM patrol WHERE ended_at IS NOT NULL"
HALF_DONE = """
SELECT w.name FROM lease AS l
JOIN workspace AS w ON w.id = l.workspace_id
JOIN patrol AS p ON p.workspace_id = l.workspace_id AND p.ended_at IS NULL
JOIN patrol_step AS s ON s.workspace_id = p.workspace_id AND s.patrol_id = p.id
WHERE l.task = 'patrol' AND l.holder LIKE ? AND l.held_until > 0"""


def wait_for_a_patrol(url: str) -> None:
    """Wait until somebody came to the end of a patrol."""
    with asking(url) as ask:
        wait_until(lambda: ask(ENDED), "the end of a patrol", step=0.003)


def is_all_done(url: str, count: int) -> bool:
    """Say whether nothing waits any more."""
    with asking(url) as ask:
        ended = ask("SELECT COUNT(*) AS n FROM patrol WHERE ended_at IS NOT NULL")[0]["n"]
        bare = ask("SELECT COUNT(*) AS n FROM document WHERE embedded_by <= 0")[0]["n"]
        mirrored = ask("SELECT COUNT(*) AS n FROM graph WHERE mirrored_at IS NOT NULL")[0]["n"]
        held = ask("SELECT COUNT(*) AS n FROM lease WHERE held_until > 0")[0]["n"]
    return (ended, bare, mirrored, held) == (count, 0, GRAPHS, 0)


def assert_each_was_done_once(url: str, count: int) -> None:
    """Prove by what the tasks left behind that none was left out and none was done twice."""
    with asking(url) as ask:
        assert_patrols_were_done_once(ask, count)
        events = Counter(row["operation"] for row in ask("SELECT operation FROM event"))
        assert (events["graph.core"], events["graph.reflection"]) == (GRAPHS, GRAPHS)
        live = ask("SELECT workspace_id, item_id FROM embedding WHERE live = 1")
        vectors = Counter((row["workspace_id"], row["item_id"]) for row in live)
        present = ask("SELECT workspace_id, item_id FROM document WHERE retired_at IS NULL")
        texts = {(row["workspace_id"], row["item_id"]) for row in present}
        assert vectors.keys() == texts
        assert set(vectors.values()) == {1}
    assert_agreement(url)


def assert_patrols_were_done_once(ask: Ask, count: int) -> None:
    """Prove that so many workspaces had one patrol each, and every step of it once."""
    assert [row["number"] for row in ask("SELECT number FROM patrol")] == [1] * count
    steps = Counter((row["workspace_id"], row["step"]) for row in ask("SELECT workspace_id, step FROM patrol_step"))
    assert len(steps) == count * len(STEPS)
    assert set(steps.values()) == {1}
    scenes = ask("SELECT session_count, reactivation_count FROM scene_life")
    assert len(scenes) == count * SCENES
    assert len({tuple(row.values()) for row in scenes}) == 1, "some scenes were aged more often than others"
    assert ask("SELECT id FROM note WHERE patrol_id IS NULL") == []
    assert len(ask("SELECT id FROM event WHERE operation = 'patrol'")) == count


def told(log: str) -> Counter[tuple[str, str]]:
    """Count in a worker's log how often it did something of a task."""
    return Counter((place, task) for place, task, items in DONE.findall(log) if int(items))


def at_home(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep this process and those it starts away from the home of whoever runs the tests."""
    for name in [each for each in os.environ if each.startswith("EVERLOOM_STORE") or each.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    for name, place in {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data"}.items():
        monkeypatch.setenv(name, str(folder / place))
