"""Marks: which tasks should look at which workspaces by now, found by one query over all of them.

A mark is written in the transaction that may give a task something to do (`store/marks.py` lists which), so an idle
look costs the same however many workspaces there are. The task's own query stays the truth: a mark without work is
removed, and an audit, at least once a day in each workspace, writes the marks that are missing and counts them. Refuses
to know what any task does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from everloom.clock import Clock, from_micros, to_micros
from everloom.errors import EverloomError, StoreBusy
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Outcome, Progress, Report, Task, Work
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.store import Store, value_from
from everloom.store.marks import AUDIT, LATER

# What one look takes on at most; a worker that found so much looks again at once.
MOST = 500
# How often a worker looks for workspaces that were never audited, or by other settings.
_SWEEP_SECONDS = 3600.0
_AUDIT_EVERY = timedelta(days=1)
# When a task looks again that was due and got nothing done: what it waits for takes longer than a look.
_IN_VAIN = timedelta(seconds=30)
# Nobody waits for a mark to be looked after: a workspace that is being written to has its turn at the next look.
_PATIENCE = 1.0

Turn = tuple[WorkspaceInfo, str]


def next_look(task: Task, workspace: WorkspaceInfo) -> datetime | None:
    """Return when a task that has nothing to do now should look again; None if something will mark it."""
    foresee: Callable[[WorkspaceInfo], datetime | None] | None = getattr(task, "next_due", None)
    return None if foresee is None else foresee(workspace)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A mark that is being looked after; void as soon as somebody marks the task again."""

    store: Store
    workspace: int
    task: str
    number: int

    def settle(self, at: datetime | None) -> None:
        """Move the mark to a later moment, or remove it; nothing happens if the task was marked meanwhile."""
        which: dict[str, Any] = {"task": self.task, "claim": self.number}
        # A mark that comes back after a power failure, or stays because others write, costs one look.
        with suppress(StoreBusy), self.store.write(self.workspace, patience=_PATIENCE, is_durable=False) as unit:
            if at is None:
                unit.run("kernel.due_drop", **which)
            else:
                unit.run("kernel.due_settle", at=to_micros(at), **which)


def _claim(store: Store, workspace: int, task: str) -> _Claim:
    number = secrets.randbits(62) + 1
    with store.write(workspace, patience=_PATIENCE, is_durable=False) as unit:
        unit.run("kernel.due_claim", task=task, claim=number)
    return _Claim(store, workspace, task, number)


class MarkedWork:
    """The background work of every workspace, found by its marks."""

    most = MOST

    def __init__(self, work: Work, store: Store, clock: Clock, basis: str) -> None:
        self._work = work
        self._store = store
        self._clock = clock
        self._basis = basis
        self._sweep_at = 0.0
        self._has_swept = False

    def look(self, tasks: Sequence[str]) -> list[Turn]:
        """List what should be looked at now: workspaces by how long they wait, the tasks of each in their order."""
        now = to_micros(self._clock.now())
        with self._store.read(NOWHERE) as unit:
            rows = unit.all("kernel.due_look", tasks=tasks, now=now, limit=MOST)
        found = [(value_from(WorkspaceInfo, row), str(row["task"])) for row in rows]
        if AUDIT in tasks:
            found += [(place, AUDIT) for place in self._unaudited()]
        order = {name: number for number, name in enumerate(tasks)}
        places = {place.id: number for number, (place, _) in reversed([*enumerate(found)])}
        return sorted(dict.fromkeys(found), key=lambda turn: (places[turn[0].id], order[turn[1]]))

    def _unaudited(self) -> list[WorkspaceInfo]:
        """List workspaces that were never audited, once in a while; at first also those of other settings."""
        if time.monotonic() < self._sweep_at:
            return []
        # Two workers that disagree about the settings must not undo each other's audits for ever.
        every = int(self._has_swept)
        with self._store.read(NOWHERE) as unit:
            rows = unit.all("kernel.due_unaudited", basis=self._basis, every_basis=every, limit=MOST)
        # If there may be more, the next look goes on.
        if len(rows) < MOST:
            self._sweep_at, self._has_swept = time.monotonic() + _SWEEP_SECONDS, True
        found = [value_from(WorkspaceInfo, row) for row in rows]
        for place in found:
            # One that was removed or moves away in this moment is none of ours.
            with suppress(EverloomError), self._store.write(place.id, patience=_PATIENCE, is_durable=False) as unit:
                unit.run("kernel.due_mark", task=AUDIT, at=to_micros(self._clock.now()))
        return found

    def run_due(
        self,
        workspaces: Iterable[WorkspaceInfo],
        *,
        seconds: float,
        tasks: Sequence[str],
        progress: Callable[[str, str, int, int], None] = lambda *_: None,
    ) -> list[Outcome]:
        """Run these tasks as far as they are due; the mark of one that has nothing to do goes, or waits."""
        wanted = [task for task in self._work.tasks if task.name in tasks]
        return [
            outcome for place in workspaces for task in wanted for outcome in self._run(place, task, seconds, progress)
        ]

    def _run(
        self, place: WorkspaceInfo, task: Task, seconds: float, progress: Callable[[str, str, int, int], None]
    ) -> list[Outcome]:
        # Before the task asks its query: whatever is written after that shows in the mark.
        try:
            claim = _claim(self._store, place.id, task.name)
        except StoreBusy:
            return []
        outcomes = self._work.run_due([place], seconds=seconds, tasks=[task.name], progress=progress)
        if not outcomes:
            claim.settle(next_look(task, place))
        elif outcomes[0].state in ("failed", "resting") and (rest := self._work.rests_until(place, task.name)):
            claim.settle(rest)
        elif (report := outcomes[0].report) is not None and not report.done:
            claim.settle(self._clock.now() + _IN_VAIN)
        return outcomes


class Audit:
    """The task `audit`: asks the query of every other task, and marks what is due and was not marked."""

    name = AUDIT

    def __init__(self, work: Work, store: Store, clock: Clock, basis: Callable[[], str]) -> None:
        self._work = work
        self._store = store
        self._clock = clock
        self._basis = basis

    def due(self, workspace: WorkspaceInfo) -> int:
        """Return 1 once its own mark says so."""
        at = self._marks(workspace).get(self.name)
        return int(at is not None and at <= self._clock.now())

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return the moment in its own mark, which it has set itself."""
        return self._marks(workspace).get(self.name)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Compare the marks with the queries, and write those that are missing.

        What is missing although nothing but the content can have changed was `forgotten` by a write.
        """
        with self._store.write(workspace.id) as unit:
            lease.guard(unit)
            is_known = any(row["basis"] == self._basis() for row in unit.all("kernel.due_all"))
            unit.run("kernel.due_mark", task=self.name, at=to_micros(self._clock.now()))
        # Under new settings nobody has marked what they give to do, and it should begin: another model, for example.
        slack = LATER if is_known else timedelta(0)
        claim = _claim(self._store, workspace.id, self.name)
        missing = {
            task.name: to_micros(at)
            for task in self._work.tasks
            if task.name != self.name and (at := self._missing(task, workspace, slack)) is not None
        }
        again = to_micros(self._clock.now() + _AUDIT_EVERY)
        with self._store.write(workspace.id) as unit:
            lease.guard(unit)
            unit.many("kernel.due_mark", [{"task": task, "at": at} for task, at in missing.items()])
            unit.run("kernel.due_audited", at=again, basis=self._basis(), claim=claim.number)
        progress(1)
        return Report(1, {"missing": list(missing), "forgotten": list(missing) if is_known else []})

    def _missing(self, task: Task, workspace: WorkspaceInfo, slack: timedelta) -> datetime | None:
        """Return when a task should look that has no mark for then, or for soon after."""
        # Read after the query: a mark is there as soon as what it stands for.
        at = self._clock.now() if task.due(workspace) else next_look(task, workspace)
        marked = self._marks(workspace).get(task.name)
        return at if at is not None and (marked is None or marked > at + slack) else None

    def _marks(self, workspace: WorkspaceInfo) -> dict[str, datetime]:
        with self._store.read(workspace.id) as unit:
            return {row["task"]: from_micros(row["at"]) for row in unit.all("kernel.due_all")}
