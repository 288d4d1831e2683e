"""Starting a patrol: because somebody asks for it, because notes wait, or because one was interrupted.

It runs in the background, as a job; whoever wants to wait runs it in the own thread instead. Refuses to know what a
patrol does, and what a job is beyond its id.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from everloom.episodic.being import Being
from everloom.episodic.entries.notes import NotesUpdated, pending
from everloom.episodic.patrol.steps import PatrolReport
from everloom.episodic.patrol.task import TASK, is_open, patrol_report
from everloom.errors import Conflict, EverloomError
from everloom.kernel.work.tasks import Progress, Work
from everloom.secrets import logger_of

log = logger_of(__name__)

_PATROL_SECONDS = 3600.0
# How often a caller that waits looks whether the patrol of another process has taken its notes in.
_GLANCE_SECONDS = 0.1
LEFT = "left to the worker"


class PatrolJobs(Protocol):
    """The port to the jobs of a workspace."""

    def begin(self, work: str, *, is_asked: bool) -> int:
        """Start a job and return its id; that of the job that does the same work already, if there is one."""
        ...

    def running(self, work: str) -> int | None:
        """Return the id of the job that does this work now, in whichever process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrolled:
    """The result of `trigger_patrol`: how it went, and the report so far.

    `started` and `already_running` come with the id of the job, if a job does it.
    """

    status: Literal["started", "done", "already_running", "failed", "unfinished"]
    job: int | None = None
    scenes_created: int = 0
    report: PatrolReport | None = None
    error: str | None = None

    @property
    def refusal(self) -> EverloomError | None:
        """Why it did not finish, if it did not."""
        if self.status == "already_running":
            which = (
                "`everloom episodic patrol-report`" if self.job is None else f"`everloom jobs show {self.job} --wait`"
            )
            return Conflict("a patrol is already running", hint=f"{which} shows its progress")
        if self.status == "failed":
            return EverloomError(f"the patrol failed: {self.error}", hint="run it again: it continues where it stopped")
        return None


def start_patrol(being: Being, work: Work, jobs: PatrolJobs) -> Patrolled:
    """Start a patrol in the background, or continue an interrupted one, unless one is running."""
    being.op.must_write()
    return find_patrol(being, work, jobs) or Patrolled(status="started", job=jobs.begin(TASK, is_asked=True))


def run_patrol(being: Being, work: Work, jobs: PatrolJobs, progress: Progress = lambda _: None) -> Patrolled:
    """Run a patrol now and wait for it, or continue an interrupted one; even if it failed recently.

    A patrol that was interrupted, or that another process runs, takes in only notes that are older than itself. Another
    one follows for those that wait now.
    """
    # The task itself knows nothing of who asked for it.
    being.op.must_write()
    (task,) = (each for each in work.tasks if each.name == TASK)
    ends, newest = time.monotonic() + _PATROL_SECONDS, _newest_waiting(being)
    work.retry_now(being.op.workspace, TASK)
    created, patrols = 0, set[int]()
    while True:
        outcome = work.run_one(being.op.workspace, task, ends - time.monotonic(), progress)
        report = _latest(being)
        if outcome.state == "done" and report is not None and report.id not in patrols:
            patrols.add(report.id)
            created += report.count("taken_in")
        is_over = outcome.state not in ("busy", "done") or (report is not None and report.state == "interrupted")
        if is_over or not _waits(being, newest) or time.monotonic() >= ends:
            break
        if outcome.state == "busy":
            time.sleep(_GLANCE_SECONDS)
    if outcome.state == "busy":
        return Patrolled(status="already_running", job=jobs.running(TASK), report=report)
    if outcome.state in ("failed", "resting"):
        return Patrolled(status="failed", report=report, error=outcome.error or "it failed recently and is resting")
    is_through = report is not None and report.ended_at is not None
    return Patrolled(status="done" if is_through else "unfinished", scenes_created=created, report=report)


def patrol_if_due(being: Being, work: Work, jobs: PatrolJobs, kept: NotesUpdated) -> NotesUpdated:
    """Start a patrol in the background if enough scenes wait or one was interrupted, or leave it to the worker."""
    try:
        return _start_if_due(being, work, jobs, kept)
    except EverloomError as error:
        # The notes are stored, and must not look as if they were not. What waits is still due.
        log.warning("no patrol was started in %s: %s", being.op.workspace.name, error)
        return replace(kept, patrol=f"not started: {error.message}")


def _start_if_due(being: Being, work: Work, jobs: PatrolJobs, kept: NotesUpdated) -> NotesUpdated:
    many_wait = kept.pending_scenes >= being.policy.patrol_at
    with being.op.read() as unit:
        is_due = many_wait or is_open(unit)
    if kept.held is not None or not is_due:
        return kept
    if (running := find_patrol(being, work, jobs)) is not None:
        # Whatever waits, waits for the next one; only many that wait are worth a word.
        return replace(kept, patrol=running.status, job=running.job) if many_wait else kept
    if work.state_of(being.op.workspace, TASK) == "resting":
        return replace(kept, patrol="resting after a failure")
    if not being.policy.starts_here:
        return replace(kept, patrol=LEFT)
    return replace(kept, patrol="started", job=jobs.begin(TASK, is_asked=False))


def resume_patrol(being: Being, work: Work, jobs: PatrolJobs) -> int | None:
    """Start what an earlier process left, in the background: an interrupted patrol, or one that many scenes wait for.

    The answer is the id of the job; None if nothing is left, or it is left to others.
    """
    if being.op.refusal is not None or not being.policy.starts_here:
        return None
    with being.op.read() as unit:
        is_due = is_open(unit) or pending(unit) >= being.policy.patrol_at
    is_free = is_due and work.state_of(being.op.workspace, TASK) == "free" and jobs.running(TASK) is None
    return jobs.begin(TASK, is_asked=False) if is_free else None


def find_patrol(being: Being, work: Work, jobs: PatrolJobs) -> Patrolled | None:
    """Find the patrol that is running: as a job, or under the lease of a worker or of somebody who waits."""
    job = jobs.running(TASK)
    if job is None and work.state_of(being.op.workspace, TASK) != "busy":
        return None
    return Patrolled(status="already_running", job=job, report=_latest(being))


def _newest_waiting(being: Being) -> int:
    with being.op.read() as unit:
        (row,) = unit.all("episodic.note_pending")
    return int(row["newest"])


def _waits(being: Being, newest: int) -> bool:
    """Return whether a note still waits that was there when the call came."""
    with being.op.read() as unit:
        return bool(unit.all("episodic.note_waiting", before=newest + 1, limit=1))


def _latest(being: Being) -> PatrolReport | None:
    return next(iter(patrol_report(being, 1)), None)
