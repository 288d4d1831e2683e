"""What a step of a patrol is, and what it reports.

A step does its reading and asking and returns how to carry out what it decided, inside one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from everloom.clock import from_micros
from everloom.episodic.ground import Ground
from everloom.kernel.tasks import Lease
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Question, ShapeT, Thinker
from everloom.store import Row, Unit

NO_MODEL = "no LLM configured"
MOST_REMARKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a step did: counts by name, what it left out and why, what it ignored or could not do."""

    counts: Mapping[str, int] = field(default_factory=dict)
    skipped: str | None = None
    remarks: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Write it for its row."""
        left = len(self.remarks) - MOST_REMARKS
        remarks = [*self.remarks[:MOST_REMARKS], *([f"… and {left} more"] if left > 0 else [])]
        whole = {"counts": dict(self.counts), "skipped": self.skipped, "remarks": remarks}
        return json.dumps(whole, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """One step as `patrol_report` shows it."""

    step: str
    counts: Mapping[str, int]
    milliseconds: int
    skipped: str | None
    remarks: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolReport:
    """One patrol: its steps so far; `ended_at` is None while it is not through."""

    id: int
    number: int
    reason: str
    began_at: datetime
    ended_at: datetime | None
    steps: tuple[StepReport, ...]

    def count(self, name: str) -> int:
        """Add up a count over the steps."""
        return sum(step.counts.get(name, 0) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Bout:
    """One patrol that is being run."""

    ground: Ground
    info: WorkspaceInfo
    lease: Lease
    id: int
    number: int
    began_at: datetime
    thinker: Thinker | None

    def ask(self, question: Question, shape: type[ShapeT]) -> ShapeT:
        """Ask the model, and hold the lease while it thinks on and on."""
        if self.thinker is None:
            raise TypeError("asked without a model")
        answer = self.thinker.answer(question, shape)
        self.hold()
        return answer

    def hold(self) -> None:
        """Hold the lease for longer, between two transactions that are far apart."""
        with self.ground.store.write(self.info.id) as unit:
            self.lease.guard(unit)


Carry = Callable[[Unit], Done]
Step = Callable[[Bout], Carry]


def report_from(row: Row, steps: list[Row]) -> PatrolReport:
    """Read a patrol from its rows."""
    return PatrolReport(
        id=row["id"],
        number=row["number"],
        reason=row["reason"],
        began_at=from_micros(row["began_at"]),
        ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
        steps=tuple(step_from(step) for step in steps if step["patrol_id"] == row["id"]),
    )


def step_from(row: Row) -> StepReport:
    """Read a step from its row."""
    told = json.loads(row["report"])
    return StepReport(
        step=row["step"],
        counts=told["counts"],
        milliseconds=row["milliseconds"],
        skipped=told["skipped"],
        remarks=tuple(told["remarks"]),
        at=from_micros(row["at"]),
    )
