"""Jobs: work that somebody started and does not wait for, each with an id by which its state is asked for.

A job runs in a thread of the process that started it, and its row tells everybody how far it has come: also after the
client went away, in other processes, and after this one has ended. One whose holder died is `gone`. Owns the rows, the
threads and their orderly end; refuses to know what any work does, and leases keep two from doing the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from logging import INFO, WARNING
from threading import Event, Lock, Thread
from typing import Any, Literal

from everloom.clock import Clock, from_micros, to_micros
from everloom.errors import Conflict, EverloomError, Forbidden, NotFound, Rejected, StoreBusy
from everloom.kernel.journal import append_event
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.work.holder import is_gone
from everloom.kernel.work.lease import BEATS, LEASE
from everloom.secrets import logger_of, masked
from everloom.store import Row, Store
from everloom.store.contract import FOREVER

log = logger_of(__name__)

JobState = Literal["running", "done", "failed", "stopped", "gone"]
# A bound on threads: what is refused can be started again a moment later.
MOST_RUNNING = 16
KEPT = timedelta(days=30)
# What a task reports under this name may be long: it is told to whoever asks for the result.
RESULT = "result"
# How often progress is written; a client that follows looks about as often.
_BEAT_SECONDS = 0.5
# A job whose work reports nothing for long, because a model thinks, is held by this.
_HOLD_SECONDS = LEASE.total_seconds() / BEATS
# How long closing lets jobs come to their end before it asks them to stop.
_GRACE_SECONDS = 1.0
# How long closing waits for jobs to stop; a step that takes longer is done again by whoever comes next.
_CLOSE_SECONDS = 8.0
_TRIES = 5
_THEIRS = (Conflict, Forbidden, NotFound, Rejected)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job that was started: `running`, `done`, `failed`, `stopped`, or `gone` with the process that ran it.

    `done` counts items, of those that were `due` when it began; `task` is what it does now. `changed` grows with every
    change of any job of the workspace: whoever follows goes on after it.
    """

    id: int
    work: str
    state: JobState
    started_at: datetime
    changed_at: datetime
    ended_at: datetime | None
    done: int
    due: int
    changed: int
    task: str | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state != "running"


class JobRun:
    """A running job, as its work sees it: where to report progress, and whether to stop. Use it from any thread."""

    def __init__(self, op: Operation, status: JobStatus) -> None:
        self.op = op
        self.id = status.id
        self.work = status.work
        self.due = status.due
        self.done = 0
        self.task: str | None = None
        self.stop = Event()
        # Whether its work ended before it was done, because it was to stop.
        self.is_cut = False
        self.report: Mapping[str, Any] = {}
        self.is_changed = False
        self.written_at = time.monotonic()

    def step(self, task: str, count: int) -> None:
        """Report that so many more items of a task are done."""
        self.task, self.done, self.is_changed = task, self.done + count, True


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job to be started: what it is called, how much is ahead, and what it does.

    With `joins`, whoever asks for work that is being done gets the job that does it; without, a conflict.
    """

    work: str
    due: int
    act: Callable[[JobRun], None]
    joins: bool = True


class RunningJobs:
    """The jobs of one process, and what is known about those of others."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder
        self._lock = Lock()
        self._running: dict[int, tuple[JobRun, Thread]] = {}
        self._beating: Thread | None = None
        self._closing = Event()
        self._closed = Event()

    def start(self, op: Operation, plan: JobPlan, key: str | None = None) -> JobStatus:
        """Start a job, or return the one that does the same work in this workspace already."""
        with self._lock:
            # The lock spans the transaction: closing must not miss a job that is about to begin.
            if self._closing.is_set():
                raise StoreBusy("this process is shutting down", hint="try again once it has restarted")
            if len(self._running) >= MOST_RUNNING:
                raise StoreBusy("too many jobs are running", hint="wait until one of them has ended")
            fresh: list[JobStatus] = []
            found = op.write_once(
                "start_job", key, {"work": plan.work}, JobStatus, lambda tx: self._begun(tx, plan, fresh)
            )
            for status in fresh:
                self._launch(JobRun(op, status), plan)
        return found

    def status(self, workspace: int, job: int) -> JobStatus:
        """Tell the state of a job."""
        with self._store.read(workspace) as unit:
            row = unit.one("kernel.job_get", id=job)
        if row is None:
            raise NotFound(f"there is no job {job}", hint="jobs that ended a month ago are not kept; start it again")
        return self._status(row)

    def is_here(self, job: int) -> bool:
        """Return whether a job runs in this process."""
        with self._lock:
            return job in self._running

    def result(self, workspace: int, job: int) -> Mapping[str, Any]:
        """Tell all that a job has reported, task by task."""
        self.status(workspace, job)
        with self._store.read(workspace) as unit:
            row = unit.one("kernel.job_get", id=job)
        found: dict[str, Any] = json.loads(row["report"]) if row is not None and row["report"] else {}
        return found

    def find(self, workspace: int, work: str) -> JobStatus | None:
        """Find the job that does this work now, in whichever process."""
        with self._store.read(workspace) as unit:
            rows = unit.all("kernel.job_running")
        found = (self._status(row) for row in rows if row["work"] == work)
        return next((status for status in found if not status.is_over), None)

    def recent(self, workspace: int, limit: int, before: int | None = None) -> list[JobStatus]:
        """List the newest jobs, or those before one."""
        with self._store.read(workspace) as unit:
            rows = unit.all("kernel.job_recent", limit=limit, before=FOREVER if before is None else before)
        return [self._status(row) for row in rows]

    def after(self, workspace: int, changed: int, limit: int) -> list[JobStatus]:
        """List the jobs that have changed after a change, in that order."""
        with self._store.read(workspace) as unit:
            return [self._status(row) for row in unit.all("kernel.job_after", after=changed, limit=limit)]

    def stop(self, op: Operation, job: int) -> JobStatus:
        """Ask a job to stop after its present step, whichever process runs it."""
        op.must_write()
        known = self.status(op.workspace.id, job)
        if not known.is_over:
            with op.write("stop_job") as tx:
                if tx.unit.run("kernel.job_stop", id=job):
                    tx.event(id=job, work=known.work)
            with self._lock:
                if job in self._running:
                    self._running[job][0].stop.set()
        return self.status(op.workspace.id, job)

    def close(self) -> None:
        """Stop every job of this process after its present step, and wait for that, but not for ever."""
        with self._lock:
            self._closing.set()
            running = list(self._running.values())
        # What is nearly done need not be left to others.
        end = time.monotonic() + _GRACE_SECONDS
        for _, thread in running:
            thread.join(max(0.0, end - time.monotonic()))
        for run, _ in running:
            run.stop.set()
        end = time.monotonic() + _CLOSE_SECONDS
        for run, thread in running:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                log.warning("the job %d (%s) did not stop in time", run.id, run.work)
        with self._lock:
            # Nobody can tell any more how far those are that did not stop: the store is closed next.
            self._running.clear()
            beating = self._beating
        self._closed.set()
        if beating is not None:
            beating.join(_BEAT_SECONDS * 4)

    def _begun(self, tx: Transaction, plan: JobPlan, fresh: list[JobStatus]) -> JobStatus:
        """Find the job that does this work, or write a new one; under the write lock, so that there is only one."""
        unit, now = tx.unit, to_micros(tx.at)
        for row in unit.all("kernel.job_running"):
            if self._is_gone(row, now):
                unit.send("kernel.job_gone", id=row["id"], holder=row["holder"], now=now, changed=unit.ids(1)[0])
            elif row["work"] == plan.work and plan.joins:
                return self._status(row)
            elif row["work"] == plan.work:
                hint = f"wait for the job {row['id']}, or stop it"
                raise Conflict(f"the job {row['id']} does {plan.work} already", hint=hint)
        unit.send("kernel.job_prune", before=to_micros(tx.at - KEPT))
        (job,) = unit.ids(1)
        held_until = to_micros(tx.at + LEASE)
        mine: dict[str, str | int] = {"holder": self._holder, "held_until": held_until, "now": now}
        unit.send("kernel.job_add", id=job, work=plan.work, due=plan.due, **mine)
        tx.event(id=job, work=plan.work)
        (row,) = (each for each in unit.all("kernel.job_running") if each["id"] == job)
        fresh.append(self._status(row))
        return fresh[0]

    def _launch(self, run: JobRun, plan: JobPlan) -> None:
        thread = Thread(target=self._run, args=(run, plan), name=f"job {run.id}", daemon=True)
        self._running[run.id] = run, thread
        if self._beating is None or not self._beating.is_alive():
            self._beating = Thread(target=self._beat, name="jobs", daemon=True)
            self._beating.start()
        thread.start()

    def _run(self, run: JobRun, plan: JobPlan) -> None:
        try:
            self._act(run, plan)
        finally:
            # Only now: whoever closes waits until the end is written.
            with self._lock:
                self._running.pop(run.id, None)

    def _act(self, run: JobRun, plan: JobPlan) -> None:
        state: JobState = "done"
        error: str | None = None
        try:
            plan.act(run)
            if run.is_cut:
                state, error = "stopped", "it was stopped; what is left stays due: start it again"
        except Exception as failure:
            # What the caller got wrong is told to the caller, who asks for the state of the job.
            level = INFO if isinstance(failure, _THEIRS) else WARNING
            log.log(level, "the job %d failed", run.id, exc_info=not isinstance(failure, EverloomError))
            # An error that is not ours may quote anything, and this one is stored and shown.
            state, error = "failed", masked(str(failure) or type(failure).__name__)[:2000]
        self._end(run, state, error)

    def _end(self, run: JobRun, state: JobState, error: str | None) -> None:
        """Write how a job ended; a store that is busy is asked again."""
        for attempt in range(_TRIES):
            try:
                with self._store.write(run.op.workspace.id) as unit:
                    now = self._clock.now()
                    ended = unit.run(
                        "kernel.job_ended",
                        id=run.id,
                        holder=self._holder,
                        state=state,
                        now=to_micros(now),
                        changed=unit.ids(1)[0],
                        done=run.done,
                        report=masked(json.dumps(dict(run.report), default=str)),
                        error=error,
                    )
                    if ended:
                        detail = {"id": run.id, "work": run.work, "state": state}
                        append_event(unit, "end_job", detail, now, None)
            except EverloomError as failure:
                log.warning("the end of the job %d could not be written: %s", run.id, failure)
                time.sleep(0.1 * 2**attempt)
            else:
                return

    def _beat(self) -> None:
        """Write the progress of all jobs, and hold them, until none runs any more."""
        while True:
            self._closed.wait(_BEAT_SECONDS)
            with self._lock:
                if not self._running:
                    self._beating = None
                    return
                running = [run for run, _ in self._running.values()]
            for run in running:
                self._write_progress(run)

    def _write_progress(self, run: JobRun) -> None:
        if not run.is_changed and time.monotonic() - run.written_at < _HOLD_SECONDS and not self._asked(run):
            return
        run.is_changed, run.written_at = False, time.monotonic()
        try:
            with self._store.write(run.op.workspace.id) as unit:
                now = self._clock.now()
                row = unit.one(
                    "kernel.job_moved",
                    id=run.id,
                    holder=self._holder,
                    held_until=to_micros(now + LEASE),
                    now=to_micros(now),
                    changed=unit.ids(1)[0],
                    done=run.done,
                    due=max(run.due, run.done),
                    task=run.task,
                )
        except EverloomError as error:
            run.is_changed = True
            log.warning("the progress of the job %d could not be written: %s", run.id, error)
            return
        # A job that is not ours any more has ended, or was taken for gone because this process slept too long.
        if row is None or row["stop_asked"]:
            run.stop.set()

    def _asked(self, run: JobRun) -> bool:
        """Look whether another process has asked for a job to stop."""
        if run.stop.is_set():
            return False
        try:
            with self._store.read(run.op.workspace.id) as unit:
                row = unit.one("kernel.job_get", id=run.id)
        except EverloomError:
            return False
        return row is not None and bool(row["stop_asked"])

    def _is_gone(self, row: Row, now: int) -> bool:
        return bool(row["state"] == "running" and (row["held_until"] <= now or is_gone(row["holder"])))

    def _status(self, row: Row) -> JobStatus:
        gone = row["state"] == "gone" or self._is_gone(row, to_micros(self._clock.now()))
        return JobStatus(
            id=row["id"],
            work=row["work"],
            state="gone" if gone else row["state"],
            started_at=from_micros(row["started_at"]),
            changed_at=from_micros(row["changed_at"]),
            ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
            done=row["done"],
            due=row["due"],
            changed=row["changed"],
            task=row["task"],
            report=_without_results(json.loads(row["report"])) if row["report"] else {},
            error="the process that ran it has ended; start it again" if gone else row["error"],
        )


def _without_results(report: Mapping[str, Any]) -> dict[str, Any]:
    return {
        task: {name: each for name, each in told.items() if name != RESULT} if isinstance(told, dict) else told
        for task, told in report.items()
    }
