"""Workers on one store share the work: whichever of them dies, every task is done, and none is done twice."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from everloom.kernel.work.tasks import Work
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom
from tests.kernel.crew import (
    assert_each_was_done_once,
    at_home,
    crew,
    is_all_done,
    kill_in_a_patrol,
    settle,
    told,
    wait_for_a_patrol,
)
from tests.kernel.test_tasks import Chore
from tests.patience import PATIENCE, wait_until

pytestmark = pytest.mark.xdist_group("crash")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home for this test and the processes that it starts."""
    at_home(monkeypatch, tmp_path)
    return tmp_path


def share(url: str, count: int, kills: int) -> None:
    """Let two workers share the work; kill one in the middle of a task and start another, so many times.

    The one that survives begins when the first victim is at work: else it might have done everything by then.
    """
    settle(url, count)
    # What they write is read all the time: a full pipe would hold a worker up.
    with crew() as start, ThreadPoolExecutor() as reading:
        victim = start(url, "worker", "--every", "0.2")
        wait_for_a_patrol(url)
        survivor = start(url, "worker", "--every", "0.2")
        survived = reading.submit(survivor.communicate)
        for number in range(kills):
            if number:
                victim = start(url, "worker", "--every", "0.2")
            written = reading.submit(victim.communicate)
            place = kill_in_a_patrol(victim, url)
            _, log = written.result(PATIENCE)
            assert told(log)[place, "patrol"] == 0
        wait_until(lambda: is_all_done(url, count), "all the work to be done", process=survivor)
        survivor.send_signal(signal.SIGTERM)
        out, log = survived.result(PATIENCE)
    assert survivor.returncode == 0, log
    assert json.loads(out)["result"]["failed"] == 0, log
    assert max(told(log).values()) == 1
    assert_each_was_done_once(url, count)


@pytest.mark.promise("tasks.shared")
def test_two_workers_share_fifty_workspaces_and_one_is_killed(home: Path, store_url: str) -> None:
    assert home.is_dir()
    share(store_url, 50, kills=1)


@pytest.mark.long
@pytest.mark.promise("tasks.shared")
def test_worker_after_worker_is_killed_and_each_task_is_done_once(home: Path, store_url: str) -> None:
    assert home.is_dir()
    share(store_url, 1_000, kills=4)


@pytest.mark.promise("tasks.once")
def test_what_another_worker_did_since_the_look_is_not_done_again(loom: Loom) -> None:
    james = loom.workspace("james")
    first, second = (Work(loom.store, loom.clock, holder) for holder in ("first", "second"))
    chore = Chore(deed=lambda _place, _lease: setattr(chore, "waiting", 0))
    first.add(chore)

    class Late(Chore):
        def due(self, workspace: WorkspaceInfo) -> int:
            looked = chore.waiting
            first.run_due([workspace])
            return looked

    late = Late()
    second.add(late)
    assert second.run_due([james.info]) == []
    assert (chore.runs, late.runs) == (["james"], [])
    (job,) = second.jobs(james.info)
    assert (job.holder, job.held_until, job.last_report) == (None, None, {"done": 0, "swept": True})
