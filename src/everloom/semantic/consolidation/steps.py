"""The plan as the steps of a driver, in order: sessions, subjects, intersections, orientation last. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from everloom.semantic.consolidation.plan import Plan

StepKind = Literal["session", "subject", "intersection", "orientation"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to think about; `names` are a session's label, one subject or two, or nothing."""

    kind: StepKind
    names: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name it for people."""
        return " × ".join(self.names) or self.kind


ORIENTATION = Step("orientation")


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """List everything that waits but the orientation, the most valuable subjects and pairs first."""
    subjects = [(each.value, each.name) for each in plan.missing]
    subjects += [(each.value, each.subject_names[0]) for each in plan.stale]
    return (
        *(Step("session", (each.session_id,)) for each in plan.sessions),
        *(Step("subject", (name,)) for _, name in sorted(subjects, key=lambda pair: (-pair[0], pair[1]))),
        *(Step("intersection", (each.subject_a, each.subject_b)) for each in plan.intersections),
    )
