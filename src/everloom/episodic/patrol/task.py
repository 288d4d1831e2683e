"""The patrol as a task: what is due, its steps in order, its report, and resuming a patrol that was killed.

A patrol's row is written first, and its id marks up to where notes count: later ones wait for the next patrol. Then
each step makes all its changes in one transaction, fenced by the lease, which also writes the step's own row. So a step
is either done and recorded, or never happened: a patrol that was killed anywhere continues with the first step that has
no row, and nothing ages twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Literal

from everloom.clock import from_micros, is_ahead, to_micros
from everloom.episodic.being import Being
from everloom.episodic.entries.notes import pending
from everloom.episodic.patrol.clustering import gather, split
from everloom.episodic.patrol.consolidation import consolidate
from everloom.episodic.patrol.diary import STEP as REFLECT
from everloom.episodic.patrol.diary import TASK as DIARY
from everloom.episodic.patrol.diary import reflect
from everloom.episodic.patrol.intake import take_in
from everloom.episodic.patrol.reflection import feel
from everloom.episodic.patrol.steps import (
    PatrolReport,
    PatrolRun,
    Step,
    StepReport,
    StillDue,
    age,
    flag_dying,
    record_step,
    revive,
)
from everloom.episodic.scenes.clusters import roots_of
from everloom.kernel.journal import register
from everloom.kernel.texts import checked_limit
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report, is_held
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.secrets import logger_of
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

log = logger_of(__name__)

TASK = "patrol"
# Alive, or why they are dead.
_STATES = ("active", "dying", "faded", "absorbed", "split", "undone")

# In this order; ❶ to ❼ are the contract's. `feel` comes before ❹, which clears the mark of fresh scenes; `reflect`
# comes last, because nothing depends on it.
STEPS: dict[str, Step] = {
    "take_in": take_in,
    "feel": feel,
    "age": age,
    "flag_dying": flag_dying,
    "consolidate": consolidate,
    "revive": revive,
    "split": split,
    "gather": gather,
    "reflect": reflect,
}


class Patrol:
    """The task `patrol`."""

    name = TASK

    def __init__(self, being: Callable[[WorkspaceInfo], Being]) -> None:
        self._being = being

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the remaining steps of an open patrol, or the waiting notes if it is time for a new one."""
        being = self._being(workspace)
        with being.op.read() as unit:
            unfinished = unit.one("episodic.patrol_open")
            if unfinished is not None:
                return max(1, _count_left(unit, unfinished))
            return 0 if _why_now(unit, being) is None else max(1, pending(unit))

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when a new patrol is due by its hours, even if no other note comes."""
        being = self._being(workspace)
        with being.op.read() as unit:
            return _time_of_next(unit, being)

    def count_steps(self, workspace: WorkspaceInfo) -> int:
        """Count the steps of the open patrol that are still to be done, or those of a new one."""
        with self._being(workspace).op.read() as unit:
            return _count_left(unit, unit.one("episodic.patrol_open"))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Begin a patrol or continue an open one, step by step, until it is finished or time is up."""
        run, left = _begin(self._being(workspace), lease)
        told: dict[str, Mapping[str, int]] = {}
        for ran, name in enumerate(left):
            # At least one step in each run, or a patrol that never gets enough time would never end.
            if ran and not lease.has_time():
                return Report(ran, _detail(run, told, is_through=False))
            told[name] = _run_step(run, name)
            progress(1)
        return Report(len(left), _detail(run, told, is_through=True))


def _detail(run: PatrolRun, told: Mapping[str, Mapping[str, int]], *, is_through: bool) -> dict[str, Any]:
    """Report which patrol it was, and what each step of this run did and took."""
    return {"patrol": run.id, "number": run.number, "is_through": is_through, "steps": told}


def _why_now(unit: Unit, being: Being) -> Literal["pending", "schedule"] | None:
    """Decide whether a patrol should begin by itself, and why."""
    waiting, policy = pending(unit), being.policy
    if waiting >= policy.patrol_at:
        return "pending"
    next_at = _time_of_next(unit, being)
    return "schedule" if next_at is not None and next_at <= being.op.now else None


def _time_of_next(unit: Unit, being: Being) -> datetime | None:
    """Compute when a patrol is due by its hours; None if it has none, or nothing to do."""
    if not being.policy.patrol_hours:
        return None
    last = unit.all("episodic.patrol_recent", before=FOREVER, limit=1)
    # Before the first patrol, the hours are counted from the first note.
    first = unit.all("episodic.note_waiting", before=FOREVER, limit=1)
    since = last[0]["began_at"] if last else first[0]["created_at"] if first else None
    # A memory that is all dead and waits for nothing has nothing left to age.
    if since is None or not (pending(unit) or any(row["status"] != "dead" for row in unit.all("episodic.census"))):
        return None
    began = from_micros(since)
    # A clock that was ahead when the last one began must not put off the next one for as long.
    return being.op.now if is_ahead(began, being.op.now) else began + timedelta(hours=being.policy.patrol_hours)


def _begin(being: Being, lease: Lease) -> tuple[PatrolRun, list[str]]:
    """Find the open patrol or begin one, and list its remaining steps."""
    op = being.op.under(lease)
    with op.write(TASK) as tx:
        unit = tx.unit
        # At most one patrol is open, whoever began it: a killed one is found here and continues under its old number.
        row = unit.one("episodic.patrol_open")
        if row is None:
            roots_of(unit, tx.at)
            reason = _why_now(unit, being) or "asked"
            # Ids grow in commit order: every note that exists already has a smaller one.
            (fresh,) = register(unit, TASK, tx.at)
            last = unit.all("episodic.patrol_recent", before=FOREVER, limit=1)
            number = last[0]["number"] + 1 if last else 1
            unit.send("episodic.patrol_add", id=fresh, number=number, reason=reason, at=to_micros(tx.at))
            (row,) = unit.all("episodic.patrol_open")
        done = {step["step"] for step in unit.all("episodic.step_of", ids=[row["id"]])}
    run = value_from(PatrolRun, row, being=being, op=op, thinker=being.thinker(), dropped=[])
    return run, [name for name in STEPS if name not in done]


def _run_step(run: PatrolRun, name: str) -> Mapping[str, int]:
    """Read and ask, then make all changes in one transaction that also records the step as done; return its counts."""
    names = list(STEPS)
    began = perf_counter()
    # Models and embedders are asked here, with no transaction open, because they may take minutes. Their answers are
    # checked again inside the transaction, against the state at that time.
    change = STEPS[name](run)
    with run.op.write(TASK) as tx:
        outcome, seconds = change(tx), perf_counter() - began
        if isinstance(outcome, StillDue):
            log.info("patrol %d: %s is still due: %s", run.number, name, outcome.reason)
        else:
            record_step(tx, run, name, names.index(name), outcome, seconds)
        # The end is written with the last step, so that no crash can leave a patrol open whose steps are all done.
        if name == names[-1]:
            tx.unit.send("episodic.patrol_end", id=run.id, at=to_micros(tx.at))
            tx.event(id=run.id, number=run.number)
    counts = {} if isinstance(outcome, StillDue) else outcome.counts
    return {**counts, "milliseconds": round(seconds * 1000)}


def is_open(unit: Unit) -> bool:
    """Return whether a patrol has begun and not ended, whether or not somebody is at it."""
    return unit.one("episodic.patrol_open") is not None


def _count_left(unit: Unit, patrol: Row | None) -> int:
    return len(STEPS) - (0 if patrol is None else len(unit.all("episodic.step_of", ids=[patrol["id"]])))


def patrol_report(being: Being, limit: int, before: int | None = None) -> tuple[PatrolReport, ...]:
    """Read the newest patrols with their steps, or the newest before one."""
    checked_limit(limit, 1_000, "patrols")
    with being.op.read() as unit:
        rows = unit.all("episodic.patrol_recent", before=FOREVER if before is None else before, limit=limit)
        steps = unit.all("episodic.step_of", ids=[row["id"] for row in rows])
        lease, of_diary = (unit.one("kernel.lease_get", task=task) for task in (TASK, DIARY))
    by_patrol: dict[int, list[StepReport]] = {row["id"]: [] for row in rows}
    for step in steps:
        kept = json.loads(step["report"])
        by_patrol[step["patrol_id"]].append(value_from(StepReport, step, **kept | {"remarks": tuple(kept["remarks"])}))
    for row in rows:
        told = by_patrol[row["id"]]
        if row["ended_at"] is not None and all(step.step != REFLECT for step in told):
            told.append(_page_due(row, of_diary))
    return tuple(
        value_from(PatrolReport, row, steps=tuple(by_patrol[row["id"]]), **_state_of(being, row, lease)) for row in rows
    )


def _page_due(patrol: Row, lease: Row | None) -> StepReport:
    """Tell of a page that is still due, and why the task that writes it failed."""
    failed = lease is not None and lease["last_error"]
    why = f"the page is still due: {lease['last_error']}" if lease is not None and failed else "the page is still due"
    return StepReport(step=REFLECT, milliseconds=0, at=from_micros(patrol["ended_at"]), skipped=why)


def _state_of(being: Being, patrol: Row, lease: Row | None) -> dict[str, Any]:
    """Tell whether a patrol is through, and if not, whether somebody is at it and why not."""
    told: dict[str, Any] = {"state": "done", "error": None, "tries_again_at": None}
    if patrol["ended_at"] is not None:
        return told
    if lease is not None and is_held(lease, to_micros(being.op.now)):
        return told | {"state": "running"}
    if lease is None or not lease["failures"]:
        return told | {"state": "interrupted"}
    return {"state": "failed", "error": lease["last_error"], "tries_again_at": from_micros(lease["not_before"])}


def census(being: Being) -> dict[str, int]:
    """Count scenes by state, clusters, and waiting notes."""
    with being.op.read() as unit:
        counts = {(row["death"] or row["status"]): row["count"] for row in unit.all("episodic.census")}
        states = {state: counts.get(state, 0) for state in _STATES}
        return {**states, "clusters": len(unit.all("episodic.cluster_counts")), "pending": pending(unit)}
