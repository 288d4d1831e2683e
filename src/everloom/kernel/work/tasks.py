"""Background work as a query, not a queue: a task counts what is due, a lease lets one worker at a time do it.

Owns back-off and the loop that workers run. Refuses to know what any task does.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from everloom.clock import Clock, from_micros, to_micros
from everloom.errors import EverloomError
from everloom.kernel.work.holder import is_gone
from everloom.kernel.work.lease import Lease, Leases, never
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.secrets import logger_of, masked
from everloom.store import Row, Store

log = logger_of(__name__)

# A short overload is over after the first pause; an outage of a night costs about fifteen attempts, not a thousand.
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)

Progress = Callable[[int], None]
# Seconds, and whether somebody asks it to stop.
_Bounds = tuple[float, Callable[[], bool]]


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of a task did."""

    done: int
    detail: Mapping[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """A kind of work that follows from the state of a workspace. Both methods may be called any number of times.

    One that knows when there will be something to do has a third, `next_due(workspace)`, which returns that moment or
    None; it is asked while nothing is due.
    """

    @property
    def name(self) -> str:
        """The name of the task, which is also the name of its lease."""
        ...

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what is waiting; 0 if there is nothing to do."""
        ...

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Do the waiting work in steps, each one transaction guarded by the lease."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt ended: `done`, `failed`, `busy` (another worker has it) or `resting` (it failed recently)."""

    workspace: str
    task: str
    state: str
    report: Report | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A task in a workspace as `everloom jobs` shows it; a holder that died loses the lease at `held_until`."""

    workspace: str
    task: str
    due: int
    holder: str | None
    held_until: datetime | None
    failures: int
    resting_until: datetime | None
    last_error: str | None
    last_run_at: datetime | None
    last_report: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task that failed the last time it ran, and until when it rests."""

    task: str
    failures: int
    error: str | None
    resting_until: datetime | None


class Work:
    """All tasks of a loom; runs those that are due."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self._store = store
        self._clock = clock
        self._leases = Leases(store, clock, holder)
        self._tasks: dict[str, Task] = {}
        # How often each task ran in this process, by how it ended.
        self.ran: Counter[tuple[str, str]] = Counter()

    def add(self, task: Task) -> None:
        """Register a task."""
        self._tasks[task.name] = task

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order in which they run."""
        return tuple(self._tasks.values())

    def run_due(
        self,
        workspaces: Iterable[WorkspaceInfo],
        *,
        seconds: float = 3600.0,
        tasks: Iterable[str] | None = None,
        progress: Callable[[str, str, int, int], None] = lambda *_: None,
    ) -> list[Outcome]:
        """Run everything that is due, once; a failure is recorded and never stops the others."""
        wanted = set(self._tasks if tasks is None else tasks)
        stop_at = time.monotonic() + seconds
        outcomes = []
        for workspace in workspaces:
            for task in self._tasks.values():
                left = stop_at - time.monotonic()
                if task.name in wanted and left > 0 and (due := task.due(workspace)):
                    # Bound as defaults: a closure over the loop's variables would report the last task.
                    def step(count: int, task: Task = task, place: WorkspaceInfo = workspace, due: int = due) -> None:
                        progress(place.name, task.name, count, due)

                    lease = self._leases.take(workspace.id, task.name)
                    if lease is not None and not task.due(workspace):
                        # Another worker did it between the first check and the lease.
                        lease.drop()
                    else:
                        outcomes.append(self._counted(self._run(workspace, task, lease, step, (left, never))))
        return outcomes

    def run_one(
        self,
        workspace: WorkspaceInfo,
        task: Task,
        seconds: float,
        progress: Progress,
        stop: Callable[[], bool] = never,
    ) -> Outcome:
        """Take the lease, run the task whether or not it is due, and record how it went."""
        lease = self._leases.take(workspace.id, task.name)
        return self._counted(self._run(workspace, task, lease, progress, (seconds, stop)))

    def _counted(self, outcome: Outcome) -> Outcome:
        self.ran[outcome.task, outcome.state] += 1
        return outcome

    def _run(
        self, workspace: WorkspaceInfo, task: Task, lease: Lease | None, progress: Progress, bounds: _Bounds
    ) -> Outcome:
        if lease is None:
            # One that is free by now was not a moment ago.
            state = "resting" if self.state_of(workspace, task.name) == "resting" else "busy"
            return Outcome(workspace.name, task.name, state)
        try:
            # Also a single item of it may take longer than a lease lasts.
            with lease.kept_alive():
                report = task.run(workspace, lease.until(*bounds), progress)
        except Exception as error:
            # Whatever goes wrong in one task must not stop the others. Our own errors explain themselves; only a defect
            # needs its traceback.
            log.warning(
                "task %s in %s failed", task.name, workspace.name, exc_info=not isinstance(error, EverloomError)
            )
            # An error that is not ours may quote anything, and this one is stored and shown.
            reason = masked(str(error) or type(error).__name__)
            self._failed(workspace, task, lease, reason)
            return Outcome(workspace.name, task.name, "failed", error=reason)
        except BaseException:
            # The program is being ended. That is no failure of the task: the next worker goes on with it at once.
            lease.drop()
            raise
        lease.release({"done": report.done, **report.detail})
        return Outcome(workspace.name, task.name, "done", report)

    def state_of(self, workspace: WorkspaceInfo, task: str) -> Literal["free", "busy", "resting"]:
        """Tell whether somebody runs a task now, or it rests after a failure."""
        with self._store.read(workspace.id) as unit:
            row = unit.one("kernel.lease_get", task=task)
        now = to_micros(self._clock.now())
        if row is not None and is_held(row, now):
            return "busy"
        return "resting" if row is not None and row["not_before"] > now else "free"

    def rests_until(self, workspace: WorkspaceInfo, task: str) -> datetime | None:
        """Tell until when a task rests after a failure; None if it does not."""
        with self._store.read(workspace.id) as unit:
            row = unit.one("kernel.lease_get", task=task)
        return None if row is None else _moment(row["not_before"], to_micros(self._clock.now()))

    def _failed(self, workspace: WorkspaceInfo, task: Task, lease: Lease, error: str) -> None:
        now = self._clock.now()
        with self._store.write(workspace.id) as unit:
            row = unit.one("kernel.lease_get", task=task.name)
            failures = 0 if row is None else row["failures"]
            not_before = to_micros(now + pause_after(failures + 1))
            unit.send(
                "kernel.lease_failed",
                task=task.name,
                token=lease.token,
                error=error[:2000],
                now=to_micros(now),
                not_before=not_before,
            )

    def retry_now(self, workspace: WorkspaceInfo, task: str) -> None:
        """Allow a task that is pausing after a failure to run again immediately."""
        with self._store.write(workspace.id) as unit:
            now = to_micros(self._clock.now())
            unit.send("kernel.lease_release", task=task, now=now)
            unit.send("kernel.due_mark", task=task, at=now)

    def failed(self, workspace: WorkspaceInfo) -> list[FailedTask]:
        """List the tasks that failed the last time they ran, without counting what is due."""
        with self._store.read(workspace.id) as unit:
            rows = unit.all("kernel.lease_all")
        now = to_micros(self._clock.now())
        return [
            FailedTask(row["task"], row["failures"], row["last_error"], _moment(row["not_before"], now))
            for row in rows
            if row["failures"]
        ]

    def jobs(self, workspace: WorkspaceInfo) -> list[Job]:
        """List every task of a workspace: what is due, what is running, what failed."""
        with self._store.read(workspace.id) as unit:
            leases = {row["task"]: row for row in unit.all("kernel.lease_all")}
        now = to_micros(self._clock.now())
        return [_job_from(workspace.name, task, task.due(workspace), leases.get(task.name), now) for task in self.tasks]


def pause_after(failures: int) -> timedelta:
    """Return how long to pause: twice as long after each failure in a row, up to an hour."""
    # Ten doublings are far beyond the longest pause; many more would overflow a timedelta.
    doublings = min(max(failures - 1, 0), 10)
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE)


def is_held(row: Row, now: int) -> bool:
    """Return whether somebody has a lease, as far as can be seen from here."""
    return bool(row["held_until"] > now and not is_gone(row["holder"]))


def _moment(micros: int, now: int) -> datetime | None:
    """Read a time that is still to come."""
    return from_micros(micros) if micros > now else None


def _job_from(workspace: str, task: Task, due: int, row: Row | None, now: int) -> Job:
    """Combine a task with its lease row."""
    if row is None:
        return Job(workspace, task.name, due, None, None, 0, None, None, None, {})
    held = is_held(row, now)
    return Job(
        workspace,
        task.name,
        due,
        row["holder"] if held else None,
        from_micros(row["held_until"]) if held else None,
        row["failures"],
        _moment(row["not_before"], now),
        row["last_error"],
        None if row["last_run_at"] is None else from_micros(row["last_run_at"]),
        json.loads(row["last_report"]) if row["last_report"] else {},
    )
