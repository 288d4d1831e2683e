"""What a consolidation has to do, and in which order: sessions, subjects, intersections, orientation. Pure.

Both drivers, the agent and the model, follow this plan. It offers every pair with its size; whether a pair is trivial
is for whoever reads it to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.semantic.consolidation.results import (
    IntersectionNeed,
    NeglectedSubject,
    Pending,
    PendingType,
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
    fresh: int
    oldest_generation: int
    newest_generation: int
    understanding: BriefUnderstanding | None = None
    last_updated: datetime | None = None
    linked_observation_ids: tuple[int, ...] = ()
    useful: int = 0
    questionable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingPair:
    """Two subjects whose intersection changed since it was last settled."""

    subject_a: str
    subject_b: str
    size: int
    fresh: int
    understanding: BriefUnderstanding | None = None


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
    sessions: Iterable[SessionNeed], subjects: Iterable[WaitingSubject], pairs: Iterable[WaitingPair], generation: int
) -> ConsolidationPlan:
    """Decide what to do in which order. Touches nothing."""
    waiting = sorted(subjects, key=lambda each: (-_subject_value(each), each.name))
    needs = [_intersection_need(pair) for pair in pairs]
    return ConsolidationPlan(
        sessions=tuple(sorted(sessions, key=lambda each: each.started_at)),
        missing=tuple(_subject_need(each, generation) for each in waiting if each.understanding is None),
        stale=tuple(
            _stale_understanding(each, each.understanding, each.last_updated, generation)
            for each in waiting
            if each.understanding is not None and each.last_updated is not None
        ),
        intersections=tuple(sorted(needs, key=lambda each: (-each.value, each.subject_a, each.subject_b))),
        neglected=tuple(_neglected(waiting, generation)),
        generation=generation,
    )


def _subject_value(subject: WaitingSubject) -> float:
    """Estimate what consolidating a subject is worth: what is new, how much there is, and what was said of it."""
    # A doubt counts like two observations and a link like one: both were said about the understanding itself. What was
    # useful often is worth keeping fresh, but six times is as often as a thousand.
    weight = subject.fresh + 0.5 * math.log2(1 + subject.observation_count)
    linked = len(subject.linked_observation_ids)
    return round(weight + linked + 2.0 * subject.questionable + 0.5 * min(subject.useful, 6), 3)


def _pair_value(pair: WaitingPair) -> float:
    """Estimate what synthesising an intersection is worth; one shared remark is worth little."""
    return round(pair.fresh * (1.0 if pair.size > 2 else 0.5) + 0.5 * math.log2(1 + pair.size), 3)


def _waited(subject: WaitingSubject, generation: int) -> int:
    """Count the passes that did not get to a subject."""
    return max(0, generation - subject.oldest_generation)


def _subject_need(subject: WaitingSubject, generation: int) -> SubjectNeed:
    """Ask for an understanding that does not exist yet."""
    return SubjectNeed(
        name=subject.name,
        observation_count=subject.observation_count,
        generation=subject.newest_generation,
        new_observation_count=subject.fresh,
        generations_waiting=_waited(subject, generation),
        value=_subject_value(subject),
    )


def _stale_understanding(
    subject: WaitingSubject, understanding: BriefUnderstanding, last_updated: datetime, generation: int
) -> StaleUnderstanding:
    """Ask for a revision."""
    return StaleUnderstanding(
        id=understanding.id,
        subject_names=(subject.name,),
        summary=understanding.summary,
        generation=understanding.generation,
        version=understanding.version,
        last_updated=last_updated,
        new_observation_count=subject.fresh,
        linked_observation_ids=subject.linked_observation_ids,
        generations_waiting=_waited(subject, generation),
        value=_subject_value(subject),
    )


def _intersection_need(pair: WaitingPair) -> IntersectionNeed:
    """Offer a pair."""
    return IntersectionNeed(
        subject_a=pair.subject_a,
        subject_b=pair.subject_b,
        intersection_size=pair.size,
        new_generation_count=pair.fresh,
        existing_understanding=pair.understanding,
        value=_pair_value(pair),
    )


def _neglected(waiting: Sequence[WaitingSubject], generation: int) -> list[NeglectedSubject]:
    """Pick the subjects that several passes did not get to, the longest waiting first."""
    found = [
        NeglectedSubject(
            name=each.name, observation_count=each.observation_count, generations_waiting=_waited(each, generation)
        )
        for each in waiting
        if _waited(each, generation) >= _NEGLECTED_GENERATIONS
    ]
    return sorted(found, key=lambda each: (-each.generations_waiting, -each.observation_count, each.name))


def pending_items(plan: ConsolidationPlan) -> list[Pending]:
    """Write a plan as one list, the most valuable first; at equal value subjects come before pairs."""
    items = [
        *(_pending("subject", (each.name,), None, each.generation, each.value) for each in plan.missing),
        *(
            _pending("stale_understanding", each.subject_names, each.id, each.generation, each.value)
            for each in plan.stale
        ),
        *(
            _pending(
                "intersection", (each.subject_a, each.subject_b), each.understanding_id, plan.generation, each.value
            )
            for each in plan.intersections
        ),
    ]
    return sorted(items, key=lambda each: -each.priority)


def _pending(
    item_type: PendingType, names: tuple[str, ...], understanding: int | None, generation: int, priority: float
) -> Pending:
    return Pending(
        item_type=item_type,
        subject_names=names,
        understanding_id=understanding,
        generation=generation,
        priority=priority,
    )


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
