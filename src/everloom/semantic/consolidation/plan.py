"""What a consolidation has to do, and in which order: sessions, subjects, intersections, orientation. Pure.

Both drivers, the agent and the model, follow this plan. It offers every pair with its size; whether a pair is trivial
is for whoever reads it to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from everloom.semantic.consolidation.results import (
    IntersectionNeed,
    NeglectedSubject,
    Pending,
    SessionNeed,
    StaleUnderstanding,
    SubjectNeed,
)
from everloom.semantic.parts import BriefUnderstanding

# A subject that this many passes did not get to is neglected.
_NEGLECTED_GENERATIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSubject:
    """A subject that was observed since it was last settled."""

    name: str
    observation_count: int
    new_observation_count: int
    oldest_generation: int
    generation: int
    understanding: BriefUnderstanding | None = None
    last_updated: datetime | None = None
    linked_observation_ids: tuple[int, ...] = ()
    useful: int = 0
    questionable: int = 0

    @property
    def value(self) -> float:
        """Estimate what consolidating it is worth: what is new, how much there is, and what was said of it."""
        # A doubt counts like two observations and a link like one: both were said about the understanding itself. What
        # was useful often is worth keeping fresh, but six times is as often as a thousand.
        weight = self.new_observation_count + 0.5 * math.log2(1 + self.observation_count)
        linked = len(self.linked_observation_ids)
        return round(weight + linked + 2.0 * self.questionable + 0.5 * min(self.useful, 6), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """Everything that waits, in the order in which to take it."""

    sessions: tuple[SessionNeed, ...]
    missing: tuple[SubjectNeed, ...]
    stale: tuple[StaleUnderstanding, ...]
    intersections: tuple[IntersectionNeed, ...]
    neglected: tuple[NeglectedSubject, ...]
    generation: int

    @property
    def pending_count(self) -> int:
        """Count what `orient` reports as pending."""
        return len(self.missing) + len(self.stale) + len(self.intersections)


def make_plan(
    sessions: Iterable[SessionNeed],
    subjects: Iterable[WaitingSubject],
    pairs: Iterable[IntersectionNeed],
    generation: int,
) -> ConsolidationPlan:
    """Decide what to do in which order. Touches nothing."""
    missing: list[SubjectNeed] = []
    stale: list[StaleUnderstanding] = []
    neglected: list[NeglectedSubject] = []
    for each in sorted(subjects, key=lambda each: (-each.value, each.name)):
        # How many passes did not get to it.
        waited = max(0, generation - each.oldest_generation)
        named: dict[str, Any] = {"name": each.name, "observation_count": each.observation_count}
        due: dict[str, Any] = {"new_observation_count": each.new_observation_count, "value": each.value}
        due["generations_waiting"] = waited
        if each.understanding is None:
            missing.append(SubjectNeed(**named, generation=each.generation, **due))
        else:
            due |= {"last_updated": each.last_updated, "linked_observation_ids": each.linked_observation_ids}
            stale.append(StaleUnderstanding(**asdict(each.understanding), subject_names=(each.name,), **due))
        if waited >= _NEGLECTED_GENERATIONS:
            neglected.append(NeglectedSubject(**named, generations_waiting=waited))
    return ConsolidationPlan(
        sessions=tuple(sorted(sessions, key=lambda each: each.started_at)),
        missing=tuple(missing),
        stale=tuple(stale),
        intersections=tuple(sorted(pairs, key=lambda each: (-each.value, each.subject_a, each.subject_b))),
        neglected=tuple(
            sorted(neglected, key=lambda each: (-each.generations_waiting, -each.observation_count, each.name))
        ),
        generation=generation,
    )


def pair_value(size: int, fresh: int) -> float:
    """Estimate what synthesising an intersection is worth; one shared remark is worth little."""
    return round(fresh * (1.0 if size > 2 else 0.5) + 0.5 * math.log2(1 + size), 3)


def pending_items(plan: ConsolidationPlan) -> list[Pending]:
    """Write a plan as one list, the most valuable first; at equal value subjects come before pairs."""
    items = [Pending("subject", (each.name,), None, each.generation, each.value) for each in plan.missing]
    items += (
        Pending("stale_understanding", text.subject_names, text.id, text.generation, text.value) for text in plan.stale
    )
    items += (
        Pending("intersection", (pair.subject_a, pair.subject_b), pair.understanding_id, plan.generation, pair.value)
        for pair in plan.intersections
    )
    return sorted(items, key=lambda each: -each.priority)


StepKind = Literal["session", "subject", "intersection", "orientation"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One thing to think about; `names` are a session's label, one subject or two, or nothing."""

    kind: StepKind
    names: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Name it for people."""
        return " × ".join(self.names) or self.kind


ORIENTATION = PlanStep("orientation")


def steps_of(plan: ConsolidationPlan) -> tuple[PlanStep, ...]:
    """List everything that waits but the orientation, the most valuable subjects and pairs first."""
    subjects = [(each.value, each.name) for each in plan.missing]
    subjects += [(each.value, each.subject_names[0]) for each in plan.stale]
    return (
        *(PlanStep("session", (each.session_id,)) for each in plan.sessions),
        *(PlanStep("subject", (name,)) for _, name in sorted(subjects, key=lambda pair: (-pair[0], pair[1]))),
        *(PlanStep("intersection", (each.subject_a, each.subject_b)) for each in plan.intersections),
    )
