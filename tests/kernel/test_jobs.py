"""Long work that nobody waits for: one at a time, told to everybody, and seen as what it is when its process died."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from everloom.errors import Forbidden, NotFound, ProviderError, Rejected, StoreBusy
from everloom.kernel.work import jobs as limits
from everloom.kernel.work.jobs import JobStatus
from everloom.kernel.work.lease import Lease
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom, Workspace
from everloom.wiring.jobs import Jobs
from tests.kernel.test_tasks import Chore
from tests.patience import PATIENCE, wait_until
from tests.store.ground import Child, open_at


@pytest.fixture
def james(loom: Loom) -> Workspace:
    return loom.workspace("james", session="a talk")


class Gate:
    """Work that goes on when a test says so, and looks whether it should stop."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()

    def __call__(self, _place: WorkspaceInfo, lease: Lease) -> None:
        self.entered.set()
        wait_until(lambda: self.open.is_set() or not lease.has_time(), "the gate to open")


@contextmanager
def running(place: Workspace, name: str = "chore") -> Iterator[tuple[JobStatus, Gate]]:
    """Start a job that runs until the end of the block."""
    gate = Gate()
    place.loom.work.add(Chore(name, deed=gate))
    try:
        job = Jobs(place).start(name)
        assert gate.entered.wait(PATIENCE)
        yield job, gate
    finally:
        gate.open.set()


def ended(place: Workspace, job: int) -> JobStatus:
    def look() -> JobStatus | None:
        found = Jobs(place).status(job)
        return found if found.is_over else None

    return wait_until(look, "the job to end")


@pytest.mark.promise("jobs.long-work")
def test_long_work_answers_at_once_and_its_state_is_told_by_its_id(james: Workspace) -> None:
    with running(james) as (job, gate):
        assert job.state == "running"
        assert Jobs(james).status(job.id).state == "running"
        gate.open.set()
        found = ended(james, job.id)
    assert (found.state, found.done, found.due) == ("done", 1, 1)
    assert found.report == {"chore": {"state": "done", "done": 1, "swept": True}}
    assert [each.id for each in Jobs(james).recent()] == [job.id]
    assert [event.operation for event in james.events_after(0)] == ["start_job", "end_job"]


@pytest.mark.promise("jobs.once")
def test_the_same_work_is_joined_and_never_runs_twice(james: Workspace, store_url: str) -> None:
    with running(james) as (job, gate), open_at(store_url) as other, ThreadPoolExecutor(4) as pool:
        elsewhere = other.workspace("james")
        other.work.add(Chore(deed=lambda *_: pytest.fail("it ran twice")))
        places = [james, elsewhere] * 4
        assert {found.id for found in pool.map(lambda place: Jobs(place).start("chore"), places)} == {job.id}
        assert Jobs(elsewhere).status(job.id).state == "running"
        gate.open.set()
        assert ended(elsewhere, job.id).state == "done"
    assert len(Jobs(james).recent()) == 1
    assert Jobs(james).start("chore").id > job.id


def test_a_key_answers_with_the_first_job_also_when_it_has_ended(james: Workspace) -> None:
    first = Jobs(james).start("sleep", idempotency_key="k")
    ended(james, first.id)
    assert Jobs(james).start("sleep", idempotency_key="k").id == first.id
    assert Jobs(james).start("sleep").id != first.id


@pytest.mark.promise("jobs.stop")
def test_a_job_is_stopped_after_its_present_step_from_any_process(james: Workspace, store_url: str) -> None:
    with running(james) as (job, _), open_at(store_url) as other:
        Jobs(other.workspace("james")).stop(job.id)
        found = ended(james, job.id)
    assert found.state == "stopped"
    assert found.error is not None
    assert Jobs(james).stop(job.id) == found


@pytest.mark.promise("jobs.stop")
def test_closing_stops_jobs_in_order_and_the_next_process_sees_it(james: Workspace, store_url: str) -> None:
    with running(james) as (job, _):
        james.loom.running.close()
        with open_at(store_url) as later:
            assert Jobs(later.workspace("james")).status(job.id).state == "stopped"
        with pytest.raises(StoreBusy):
            Jobs(james).start("sleep")


_DIES = """
import sys, threading
from everloom.wiring.jobs import Jobs
from tests.kernel.test_tasks import Chore
from tests.store.ground import open_at
loom = open_at(sys.argv[1])
loom.work.add(Chore(deed=lambda *_: threading.Event().wait()))
print(Jobs(loom.workspace("james")).start("chore").id, flush=True)
sys.stdin.readline()
"""


@pytest.mark.promise("jobs.gone")
def test_a_job_whose_process_was_killed_is_gone_and_can_be_started_again(james: Workspace, store_url: str) -> None:
    with Child(_DIES, store_url) as child:
        job = int(child.line())
        assert Jobs(james).status(job).state == "running"
    found = Jobs(james).status(job)
    assert found.state == "gone"
    assert "start it again" in (found.error or "")
    james.loom.work.add(Chore())
    again = Jobs(james).start("chore")
    assert again.id != job
    assert ended(james, again.id).state == "done"
    assert Jobs(james).status(job).ended_at is not None


def test_a_failure_fails_the_job_and_stops_none_of_the_others(james: Workspace) -> None:
    def fail(_place: WorkspaceInfo, _lease: Lease) -> None:
        raise ProviderError("the model is ill")

    james.loom.work.add(Chore("first", deed=fail))
    james.loom.work.add(Chore("second"))
    found = ended(james, Jobs(james).start("sleep").id)
    assert found.state == "failed"
    assert "the model is ill" in (found.error or "")
    assert (found.report["first"]["state"], found.report["second"]["state"]) == ("failed", "done")
    # Whoever asks for it by name does not wait for its pause.
    assert ended(james, Jobs(james).start("first").id).state == "failed"
    assert "ill" in (Jobs(james).recent(limit=1)[0].error or "")


def test_work_that_another_process_does_is_no_second_run(james: Workspace) -> None:
    with running(james):
        found = ended(james, Jobs(james).start("sleep").id)
    assert found.state == "done"
    assert found.report["chore"]["state"] == "busy"


def test_what_cannot_be_started_is_refused(james: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound) as unknown:
        Jobs(james).start("laundry")
    assert "patrol" in (unknown.value.hint or "")
    with pytest.raises(Rejected):
        Jobs(james).start("consolidate")
    with pytest.raises(NotFound):
        Jobs(james).status(4711)
    reader = james.loom.workspace("james", refusal=Forbidden("only reading"))
    with pytest.raises(Forbidden):
        Jobs(reader).start("sleep")
    monkeypatch.setattr(limits, "MOST_RUNNING", 1)
    with running(james), pytest.raises(StoreBusy):
        Jobs(james).start("sleep")
    assert len(Jobs(reader).recent()) == 1


def test_every_graph_is_read_again(james: Workspace) -> None:
    james.graph.store(type="fix", title="The boom", content="Tie it down.")
    found = ended(james, Jobs(james).start("reindex").id)
    assert found.state == "done"
    assert found.report["reindex"]["graphs"]["default"]["memories"] == 1
