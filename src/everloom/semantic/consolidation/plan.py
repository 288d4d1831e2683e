"""What a consolidation has to do, and in which order: sessions, subjects, intersections, orientation. Pure.

Agents and models follow the same plan. It lists every pair with its size; whether a pair is trivial is for its reader
to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
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

# After this many passes that did not get to it, a subject is neglected.
_NEGLECTED_GENERATIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSubject:
    """A subject with observations since it was last settled."""

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
        """The estimated value of consolidating it: what is new, how much there is, and the verdicts on it."""
        # A doubt counts like two observations and a link like one: both are about the understanding itself. What was
        # often useful is worth keeping fresh, but the bonus is capped so that it cannot crowd out what is new.
        weight = self.new_observation_count + 0.5 * math.log2(1 + self.observation_count)
        linked = len(self.linked_observation_ids)
        return round(weight + linked + 2.0 * self.questionable + 0.5 * min(self.useful, 6), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """Everything that is waiting, in the order to work through it."""

    sessions: tuple[SessionNeed, ...]
    missing: tuple[SubjectNeed, ...]
    stale: tuple[StaleUnderstanding, ...]
    intersections: tuple[IntersectionNeed, ...]
    neglected: tuple[NeglectedSubject, ...]
    generation: int

    @property
    def pending_count(self) -> int:
        """The number that `orient` reports as pending."""
        return len(self.missing) + len(self.stale) + len(self.intersections)


def make_plan(
    sessions: Iterable[SessionNeed],
    subjects: Iterable[WaitingSubject],
    pairs: Iterable[IntersectionNeed],
    generation: int,
) -> ConsolidationPlan:
    """Decide what to do, and in which order. Touches nothing."""
    missing: list[SubjectNeed] = []
    stale: list[StaleUnderstanding] = []
    neglected: list[NeglectedSubject] = []
    for each in sorted(subjects, key=lambda each: (-each.value, each.name)):
        # Every pass begins a generation, so the difference counts the passes that did not get to it.
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


# Most pairs share one or two observations: a hundred thousand of them have some dozens of values.
@lru_cache(maxsize=4096)
def pair_value(size: int, fresh: int) -> float:
    """Estimate the value of synthesising an intersection."""
    # One or two shared observations hardly make a relationship: what is new then counts half.
    return round(fresh * (1.0 if size > 2 else 0.5) + 0.5 * math.log2(1 + size), 3)


def pending_items(plan: ConsolidationPlan, most: int) -> list[Pending]:
    """List a plan's items, most valuable first and at most so many; at equal value, subjects come before pairs."""
    # Each list is in this order already, so that what stands behind the first ones of its list is not among them here.
    items = [Pending("subject", (each.name,), None, each.generation, each.value) for each in plan.missing[:most]]
    items += (
        Pending("stale_understanding", text.subject_names, text.id, text.generation, text.value)
        for text in plan.stale[:most]
    )
    items += (
        Pending("intersection", (pair.subject_a, pair.subject_b), pair.understanding_id, plan.generation, pair.value)
        for pair in plan.intersections[:most]
    )
    return sorted(items, key=lambda each: -each.priority)[:most]


StepKind = Literal["session", "subject", "intersection", "orientation"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a pass; `names` are a session's label, one or two subjects, or nothing."""

    kind: StepKind
    names: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The step's name for people."""
        return " × ".join(self.names) or self.kind


ORIENTATION = PlanStep("orientation")


def steps_of(plan: ConsolidationPlan) -> tuple[PlanStep, ...]:
    """List all steps but the orientation, the most valuable subjects and pairs first."""
    # Subjects before pairs, because a pair is read with the understandings of both sides.
    subjects = [(each.value, each.name) for each in plan.missing]
    subjects += [(each.value, each.subject_names[0]) for each in plan.stale]
    return (
        *(PlanStep("session", (each.session_id,)) for each in plan.sessions),
        *(PlanStep("subject", (name,)) for _, name in sorted(subjects, key=lambda pair: (-pair[0], pair[1]))),
        *(PlanStep("intersection", (each.subject_a, each.subject_b)) for each in plan.intersections),
    )
