"""The patrol as a task: what is due, who may run it, and going on where a killed one stopped.

Each step runs in its own transaction, guarded by the lease, which also records that it is done: nothing is aged twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.entries.notes import NotesUpdated, pending
from everloom.episodic.ground import Ground, Place
from everloom.episodic.patrol.ageing import age, flag_dying, revive
from everloom.episodic.patrol.consolidate import consolidate
from everloom.episodic.patrol.feel import feel
from everloom.episodic.patrol.gathering import gather
from everloom.episodic.patrol.intake import take_in
from everloom.episodic.patrol.reflect import reflect
from everloom.episodic.patrol.split import split
from everloom.episodic.patrol.steps import Bout, PatrolReport, Step, report_from
from everloom.episodic.scenes.clusters import roots_of
from everloom.errors import Rejected
from everloom.kernel.journal import append_event, register
from everloom.kernel.tasks import Lease, Progress, Report, Work
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

TASK = "patrol"

Reason = Literal["asked", "pending", "schedule"]

PATROL_SECONDS = 3600.0

PatrolState = Literal["done", "already_running", "failed", "unfinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patrolled:
    """What `trigger_patrol` answers: how it went, and the report as far as it came."""

    status: PatrolState
    scenes_created: int = 0
    report: PatrolReport | None = None
    error: str | None = None


# In this order; ❶ to ❼ are the contract's.
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

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what a patrol would do: the steps left of an open one, or the notes that wait if it is time for one."""
        with self._ground.store.read(workspace.id) as unit:
            is_open = unit.one("episodic.patrol_open")
            if is_open is not None:
                return max(1, len(STEPS) - len(unit.all("episodic.step_of", ids=[is_open["id"]])))
            return 0 if self._why_now(unit) is None else max(1, pending(unit))

    def _why_now(self, unit: Unit) -> Reason | None:
        """Decide whether a patrol is to begin by itself."""
        waiting = pending(unit)
        if waiting >= self._ground.policy.patrol_at:
            return "pending"
        if not self._ground.policy.patrol_hours:
            return None
        last = unit.all("episodic.patrol_recent", limit=1)
        # Before the first patrol, time is counted from the first note.
        first = unit.all("episodic.note_waiting", before=FOREVER, limit=1)
        since = last[0]["began_at"] if last else first[0]["created_at"] if first else None
        pause = timedelta(hours=self._ground.policy.patrol_hours)
        if since is None or self._ground.clock.now() - from_micros(since) < pause:
            return None
        alive = any(row["status"] != "dead" for row in unit.all("episodic.census"))
        return "schedule" if waiting or alive else None

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Begin a patrol or go on with an open one, step by step, until it is through or time is up."""
        bout, done = self._begun(workspace, lease)
        ran = 0
        for name in [each for each in STEPS if each not in done]:
            if ran and not lease.has_time():
                return Report(ran, {"patrol": bout.id, "is_through": False})
            self._run_step(bout, name)
            ran += 1
            progress(1)
        return Report(ran, {"patrol": bout.id, "is_through": True})

    def _begun(self, workspace: WorkspaceInfo, lease: Lease) -> tuple[Bout, set[str]]:
        """Find the open patrol and what is done of it, or begin one: its id is the mark up to which notes count."""
        now = self._ground.clock.now()
        with self._ground.store.write(workspace.id) as unit:
            lease.guard(unit)
            row = unit.one("episodic.patrol_open")
            if row is None:
                roots_of(unit, now)
                reason = self._why_now(unit) or "asked"
                (fresh,) = register(unit, TASK, now)
                unit.run("episodic.patrol_add", id=fresh, reason=reason, at=to_micros(now))
                (row,) = unit.all("episodic.patrol_open")
            done = {step["step"] for step in unit.all("episodic.step_of", ids=[row["id"]])}
        thinker = self._ground.thinker(workspace)
        began = from_micros(row["began_at"])
        return Bout(self._ground, workspace, lease, row["id"], row["number"], began, thinker), done

    def _run_step(self, bout: Bout, name: str) -> None:
        """Read and ask, then change everything in one transaction that also says the step is done."""
        names = list(STEPS)
        began = time.perf_counter()
        carry = STEPS[name](bout)
        with self._ground.store.write(bout.info.id) as unit:
            bout.lease.guard(unit)
            done = carry(unit)
            now = self._ground.clock.now()
            unit.run(
                "episodic.step_add",
                patrol=bout.id,
                step=name,
                position=names.index(name),
                at=to_micros(now),
                milliseconds=round((time.perf_counter() - began) * 1000),
                report=done.as_text(),
            )
            if name == names[-1]:
                unit.run("episodic.patrol_end", id=bout.id, at=to_micros(now))
                append_event(unit, "patrol", {"id": bout.id, "number": bout.number}, now, None)


def run_patrol(
    place: Place, work: Work, *, is_asked: bool, progress: Callable[[int], None] = lambda _: None
) -> Patrolled:
    """Run a patrol now, or go on with one that was interrupted; one that somebody asks for does not rest."""
    (task,) = (each for each in work.tasks if each.name == TASK)
    if is_asked:
        work.retry_now(place.info, TASK)
    outcome = work.run_one(place.info, task, PATROL_SECONDS, progress)
    report = next(iter(patrol_report(place, 1)), None)
    if outcome.state == "busy":
        return Patrolled(status="already_running", report=report)
    if outcome.state in ("failed", "resting"):
        error = outcome.error or "it failed lately and rests: trigger_patrol tries again at once"
        return Patrolled(status="failed", report=report, error=error)
    is_through = report is not None and report.ended_at is not None
    created = 0 if report is None else report.count("taken_in")
    return Patrolled(status="done" if is_through else "unfinished", scenes_created=created, report=report)


def patrol_if_many_wait(place: Place, work: Work, kept: NotesUpdated) -> NotesUpdated:
    """Begin a patrol when enough scenes wait, or leave it to the worker."""
    policy = place.ground.policy
    if kept.pending_scenes < policy.patrol_at:
        return kept
    if not policy.starts_here:
        return replace(kept, patrol="left to the worker")
    patrolled = run_patrol(place, work, is_asked=False)
    with place.read() as unit:
        return replace(kept, patrol=patrolled.status, pending_scenes=pending(unit))


def patrol_report(place: Place, limit: int) -> tuple[PatrolReport, ...]:
    """Read the newest patrols with their steps."""
    if not 1 <= limit <= 1000:
        raise Rejected(f"cannot show {limit} patrols", hint="ask for 1 to 1000")
    with place.read() as unit:
        return reports(unit, unit.all("episodic.patrol_recent", limit=limit))


def census(place: Place) -> dict[str, int]:
    """Count scenes by how they are: active, dying, faded, absorbed; and clusters, and notes that wait."""
    with place.read() as unit:
        counts = {(row["death"] or row["status"]): row["count"] for row in unit.all("episodic.census")}
        states = {state: counts.get(state, 0) for state in ("active", "dying", "faded", "absorbed")}
        return {**states, "clusters": len(unit.all("episodic.cluster_counts")), "pending": pending(unit)}


def reports(unit: Unit, rows: Iterable[Row]) -> tuple[PatrolReport, ...]:
    """Read patrols with their steps."""
    found = list(rows)
    steps = unit.all("episodic.step_of", ids=[row["id"] for row in found])
    return tuple(report_from(row, steps) for row in found)
