"""The patrol as a task: what is due, who may run it, and resuming a patrol that was killed.

A patrol's row is written first, and its id marks up to where notes count: later ones wait for the next patrol. Then
each step makes all its changes in one transaction, fenced by the lease, which also writes the step's own row. So a step
is either done and recorded, or never happened: a patrol that was killed anywhere continues with the first step that has
no row, and nothing ages twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.being import Being
from everloom.episodic.entries.notes import NotesUpdated, pending
from everloom.episodic.patrol.clustering import gather, split
from everloom.episodic.patrol.consolidation import consolidate
from everloom.episodic.patrol.intake import take_in
from everloom.episodic.patrol.reflection import feel, reflect
from everloom.episodic.patrol.steps import PatrolReport, PatrolRun, Step, StepReport, age, flag_dying, revive
from everloom.episodic.scenes.clusters import roots_of
from everloom.errors import Conflict, EverloomError
from everloom.kernel.journal import register
from everloom.kernel.texts import checked_limit
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report, Work
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Unit, value_from
from everloom.store.contract import FOREVER

_TASK = "patrol"
_PATROL_SECONDS = 3600.0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrolled:
    """The result of `trigger_patrol`: how it went, and the report so far."""

    status: Literal["done", "already_running", "failed", "unfinished"]
    scenes_created: int = 0
    report: PatrolReport | None = None
    error: str | None = None

    @property
    def refusal(self) -> EverloomError | None:
        """Why it did not finish, if it did not."""
        if self.status == "already_running":
            return Conflict("a patrol is already running", hint="`everloom episodic patrol-report` shows its progress")
        if self.status == "failed":
            return EverloomError(f"the patrol failed: {self.error}", hint="run it again: it continues where it stopped")
        return None


class Patrol:
    """The task `patrol`."""

    name = _TASK

    def __init__(self, being: Callable[[WorkspaceInfo], Being]) -> None:
        self._being = being

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the remaining steps of an open patrol, or the waiting notes if it is time for a new one."""
        being = self._being(workspace)
        with being.op.read() as unit:
            is_open = unit.one("episodic.patrol_open")
            if is_open is not None:
                return max(1, len(STEPS) - len(unit.all("episodic.step_of", ids=[is_open["id"]])))
            return 0 if _why_now(unit, being) is None else max(1, pending(unit))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Begin a patrol or continue an open one, step by step, until it is finished or time is up."""
        run, left = _begin(self._being(workspace), lease)
        for ran, name in enumerate(left):
            # At least one step in each run, or a patrol that never gets enough time would never end.
            if ran and not lease.has_time():
                return Report(ran, {"patrol": run.id, "is_through": False})
            _run_step(run, name)
            progress(1)
        return Report(len(left), {"patrol": run.id, "is_through": True})


def _why_now(unit: Unit, being: Being) -> Literal["pending", "schedule"] | None:
    """Decide whether a patrol should begin by itself, and why."""
    waiting, policy = pending(unit), being.policy
    if waiting >= policy.patrol_at:
        return "pending"
    if not policy.patrol_hours:
        return None
    last = unit.all("episodic.patrol_recent", before=FOREVER, limit=1)
    # Before the first patrol, the hours are counted from the first note.
    first = unit.all("episodic.note_waiting", before=FOREVER, limit=1)
    since = last[0]["began_at"] if last else first[0]["created_at"] if first else None
    if since is None or being.op.now - from_micros(since) < timedelta(hours=policy.patrol_hours):
        return None
    # A memory that is all dead and waits for nothing has nothing left to age.
    alive = any(row["status"] != "dead" for row in unit.all("episodic.census"))
    return "schedule" if waiting or alive else None


def _begin(being: Being, lease: Lease) -> tuple[PatrolRun, list[str]]:
    """Find the open patrol or begin one, and list its remaining steps."""
    op = being.op.under(lease)
    with op.write(_TASK) as tx:
        unit = tx.unit
        # At most one patrol is open, whoever began it: a killed one is found here and continues under its old number.
        row = unit.one("episodic.patrol_open")
        if row is None:
            roots_of(unit, tx.at)
            reason = _why_now(unit, being) or "asked"
            # Ids grow in commit order: every note that exists already has a smaller one.
            (fresh,) = register(unit, _TASK, tx.at)
            unit.run("episodic.patrol_add", id=fresh, reason=reason, at=to_micros(tx.at))
            (row,) = unit.all("episodic.patrol_open")
        done = {step["step"] for step in unit.all("episodic.step_of", ids=[row["id"]])}
    run = value_from(PatrolRun, row, being=being, op=op, thinker=being.thinker())
    return run, [name for name in STEPS if name not in done]


def _run_step(run: PatrolRun, name: str) -> None:
    """Read and ask, then make all changes in one transaction that also records the step as done."""
    names = list(STEPS)
    began = time.perf_counter()
    # Models and embedders are asked here, with no transaction open, because they may take minutes. Their answers are
    # checked again inside the transaction, against the state at that time.
    change = STEPS[name](run)
    with run.op.write(_TASK) as tx:
        outcome = change(tx)
        tx.unit.run(
            "episodic.step_add",
            patrol=run.id,
            step=name,
            position=names.index(name),
            at=to_micros(tx.at),
            milliseconds=round((time.perf_counter() - began) * 1000),
            report=outcome.as_text(),
        )
        # The end is written with the last step, so that no crash can leave a patrol open whose steps are all done.
        if name == names[-1]:
            tx.unit.run("episodic.patrol_end", id=run.id, at=to_micros(tx.at))
            tx.event(id=run.id, number=run.number)


def run_patrol(being: Being, work: Work, *, is_asked: bool, progress: Progress = lambda _: None) -> Patrolled:
    """Run a patrol now, or continue an interrupted one; on request, even if it failed recently."""
    # The task itself knows nothing of who asked for it.
    being.op.must_write()
    (task,) = (each for each in work.tasks if each.name == _TASK)
    if is_asked:
        work.retry_now(being.op.workspace, _TASK)
    outcome = work.run_one(being.op.workspace, task, _PATROL_SECONDS, progress)
    report = next(iter(patrol_report(being, 1)), None)
    if outcome.state == "busy":
        return Patrolled(status="already_running", report=report)
    if outcome.state in ("failed", "resting"):
        error = outcome.error or "it failed recently and is resting: trigger_patrol tries again at once"
        return Patrolled(status="failed", report=report, error=error)
    is_through = report is not None and report.ended_at is not None
    created = 0 if report is None else report.count("taken_in")
    return Patrolled(status="done" if is_through else "unfinished", scenes_created=created, report=report)


def patrol_if_many_wait(being: Being, work: Work, kept: NotesUpdated) -> NotesUpdated:
    """Run a patrol if enough scenes are waiting, or leave it to the worker."""
    if kept.pending_scenes < being.policy.patrol_at:
        return kept
    if not being.policy.starts_here:
        return replace(kept, patrol="left to the worker")
    patrolled = run_patrol(being, work, is_asked=False)
    with being.op.read() as unit:
        return replace(kept, patrol=patrolled.status, pending_scenes=pending(unit))


def patrol_report(being: Being, limit: int, before: int | None = None) -> tuple[PatrolReport, ...]:
    """Read the newest patrols with their steps, or the newest before one."""
    checked_limit(limit, 1_000, "patrols")
    with being.op.read() as unit:
        rows = unit.all("episodic.patrol_recent", before=FOREVER if before is None else before, limit=limit)
        steps = unit.all("episodic.step_of", ids=[row["id"] for row in rows])
    by_patrol: dict[int, list[StepReport]] = {row["id"]: [] for row in rows}
    for step in steps:
        kept = json.loads(step["report"])
        by_patrol[step["patrol_id"]].append(value_from(StepReport, step, **kept | {"remarks": tuple(kept["remarks"])}))
    return tuple(value_from(PatrolReport, row, steps=tuple(by_patrol[row["id"]])) for row in rows)


def census(being: Being) -> dict[str, int]:
    """Count scenes by state (active, dying, faded, absorbed), clusters, and waiting notes."""
    with being.op.read() as unit:
        counts = {(row["death"] or row["status"]): row["count"] for row in unit.all("episodic.census")}
        states = {state: counts.get(state, 0) for state in ("active", "dying", "faded", "absorbed")}
        return {**states, "clusters": len(unit.all("episodic.cluster_counts")), "pending": pending(unit)}
