"""What a consolidation has to do, and in which order: sessions, subjects, intersections, orientation. Pure.

Both drivers, the agent and the model, follow this plan. It offers every pair with its size; whether a pair is trivial
is for whoever reads it to judge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.semantic.consolidation.work import (
    IntersectionNeed,
    NeglectedSubject,
    Pending,
    SessionNeed,
    StaleUnderstanding,
    SubjectNeed,
)
from everloom.semantic.parts import BriefUnderstanding

# A subject that this many passes did not get to is neglected.
NEGLECTED_GENERATIONS = 3


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
class Plan:
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

    @property
    def orientation_is_due(self) -> bool:
        """Say whether anything changed that the orientation may have to tell."""
        return self.pending_count > 0


def make_plan(
    sessions: Iterable[SessionNeed], subjects: Iterable[WaitingSubject], pairs: Iterable[WaitingPair], generation: int
) -> Plan:
    """Decide what to do in which order. Touches nothing."""
    waiting = sorted(subjects, key=lambda each: (-subject_value(each), each.name))
    needs = [intersection_need(pair) for pair in pairs]
    return Plan(
        sessions=tuple(sorted(sessions, key=lambda each: each.started_at)),
        missing=tuple(subject_need(each, generation) for each in waiting if each.understanding is None),
        stale=tuple(
            stale_understanding(each, each.understanding, each.last_updated, generation)
            for each in waiting
            if each.understanding is not None and each.last_updated is not None
        ),
        intersections=tuple(sorted(needs, key=lambda each: (-each.value, each.subject_a, each.subject_b))),
        neglected=tuple(neglected(waiting, generation)),
        generation=generation,
    )


def subject_value(subject: WaitingSubject) -> float:
    """Estimate what consolidating a subject is worth: what is new, how much there is, and what was said of it."""
    weight = subject.fresh + 0.5 * math.log2(1 + subject.observation_count)
    linked = len(subject.linked_observation_ids)
    return round(weight + linked + 2.0 * subject.questionable + 0.5 * min(subject.useful, 6), 3)


def pair_value(pair: WaitingPair) -> float:
    """Estimate what synthesising an intersection is worth; one shared remark is worth little."""
    return round(pair.fresh * (1.0 if pair.size > 2 else 0.5) + 0.5 * math.log2(1 + pair.size), 3)


def waited(subject: WaitingSubject, generation: int) -> int:
    """Count the passes that did not get to a subject."""
    return max(0, generation - subject.oldest_generation)


def subject_need(subject: WaitingSubject, generation: int) -> SubjectNeed:
    """Ask for an understanding that does not exist yet."""
    return SubjectNeed(
        name=subject.name,
        observation_count=subject.observation_count,
        generation=subject.newest_generation,
        new_observation_count=subject.fresh,
        generations_waiting=waited(subject, generation),
        value=subject_value(subject),
    )


def stale_understanding(
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
        generations_waiting=waited(subject, generation),
        value=subject_value(subject),
    )


def intersection_need(pair: WaitingPair) -> IntersectionNeed:
    """Offer a pair."""
    return IntersectionNeed(
        subject_a=pair.subject_a,
        subject_b=pair.subject_b,
        intersection_size=pair.size,
        new_generation_count=pair.fresh,
        existing_understanding=pair.understanding,
        value=pair_value(pair),
    )


def neglected(waiting: Sequence[WaitingSubject], generation: int) -> list[NeglectedSubject]:
    """Pick the subjects that several passes did not get to, the longest waiting first."""
    found = [
        NeglectedSubject(
            name=each.name, observation_count=each.observation_count, generations_waiting=waited(each, generation)
        )
        for each in waiting
        if waited(each, generation) >= NEGLECTED_GENERATIONS
    ]
    return sorted(found, key=lambda each: (-each.generations_waiting, -each.observation_count, each.name))


def pending_items(plan: Plan) -> list[Pending]:
    """Write a plan as one list, the most valuable first; at equal value subjects come before pairs."""
    items = [
        *(
            Pending(
                item_type="subject",
                subject_names=(each.name,),
                understanding_id=None,
                generation=each.generation,
                priority=each.value,
            )
            for each in plan.missing
        ),
        *(
            Pending(
                item_type="stale_understanding",
                subject_names=each.subject_names,
                understanding_id=each.id,
                generation=each.generation,
                priority=each.value,
            )
            for each in plan.stale
        ),
        *(
            Pending(
                item_type="intersection",
                subject_names=(each.subject_a, each.subject_b),
                understanding_id=None if each.existing_understanding is None else each.existing_understanding.id,
                generation=plan.generation,
                priority=each.value,
            )
            for each in plan.intersections
        ),
    ]
    return sorted(items, key=lambda each: -each.priority)
