"""The results of consolidation: what it has to do, and what it did.

Values only; `plan.py` decides their order, `report.py` reads them from the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from everloom.kernel.answer.encode import SAID
from everloom.semantic.parts import BriefUnderstanding, SoulHint
from everloom.semantic.results import SubjectPair

PendingType = Literal["subject", "stale_understanding", "intersection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNeed:
    """A subject with observations and no understanding yet."""

    name: str
    observation_count: int
    generation: int
    new_observation_count: int
    # The number of passes that did not get to it.
    generations_waiting: int
    # The estimated value of consolidating it, comparable within one report; `plan` has the formula.
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleUnderstanding:
    """A subject's understanding that has not seen every observation."""

    id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    summary: str
    generation: int
    version: int
    last_updated: datetime
    new_observation_count: int
    # To be read first: somebody linked them to exactly this understanding.
    linked_observation_ids: tuple[int, ...]
    generations_waiting: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IntersectionNeed:
    """Two subjects whose intersection changed since it was last synthesised or reviewed.

    `new_generation_count` counts the observations that no understanding has seen yet, whatever their generation.
    """

    subject_a: str
    subject_b: str
    intersection_size: int
    new_generation_count: int
    existing_understanding: BriefUnderstanding | None = field(metadata=SAID)
    value: float

    @property
    def understanding_id(self) -> int | None:
        """The id of the existing understanding, if there is one."""
        return None if self.existing_understanding is None else self.existing_understanding.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNeed:
    """A session with observations that its note does not cover."""

    session_id: str
    started_at: datetime
    latest_activity: datetime
    observation_count: int
    existing_understanding: BriefUnderstanding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkedObservation:
    """An observation that no understanding cites yet, and that nobody dismissed."""

    id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionableItem:
    """An item that was marked as questionable and has not been reviewed since."""

    id: int
    kind: Literal["understanding", "observation"]
    reason: str | None = field(metadata=SAID)
    flagged_at: datetime
    subject_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeglectedSubject:
    """A subject that several passes did not get to."""

    name: str
    observation_count: int
    generations_waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """The result of `get_consolidation_report`, most valuable first in every list.

    `left_off` counts the entries of all lists that the limit or the budget of the answer cut off.
    """

    current_generation: int
    consolidation_open: bool
    # To be passed back as `seen_through_id`, so that nothing is missed that is written after the report was read.
    as_of_id: int
    pending_count: int
    sessions_needing_description: tuple[SessionNeed, ...]
    subjects_needing_understanding: tuple[SubjectNeed, ...] = field(metadata=SAID)
    stale_understandings: tuple[StaleUnderstanding, ...] = field(metadata=SAID)
    intersections_needing_synthesis: tuple[IntersectionNeed, ...] = field(metadata=SAID)
    semantically_dense_intersections: tuple[SubjectPair, ...] = field(metadata=SAID)
    unlinked_observations: tuple[UnlinkedObservation, ...] = field(metadata=SAID)
    questionable_items: tuple[QuestionableItem, ...] = field(metadata=SAID)
    neglected_subjects: tuple[NeglectedSubject, ...]
    soul_hints: tuple[SoulHint, ...]
    left_off: int = 0
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """One piece of work, as `get_pending_consolidation` lists it."""

    item_type: PendingType
    subject_names: tuple[str, ...]
    understanding_id: int | None
    generation: int
    priority: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunConsolidation:
    """The result of `begin_consolidation`: pass `generation` to `finish_consolidation`."""

    generation: int
    as_of_id: int
    begun_at: datetime
    report: ConsolidationReport


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedConsolidation:
    """The result of `finish_consolidation`."""

    generation: int
    summary: str
    last_consolidated_at: datetime
    reviewed_subject_names: tuple[str, ...]
    reviewed_intersections: tuple[tuple[str, str], ...]
    pending_consolidation_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorklistSubject:
    """A subject that waits, as the work list shows it; what is new is counted up to a bound."""

    name: str
    observation_count: int
    new_observation_count: int
    generations_waiting: int
    existing_understanding: BriefUnderstanding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorklistPair:
    """A pair of subjects that waits, as the work list shows it."""

    subject_a: str
    subject_b: str
    intersection_size: int
    existing_understanding: BriefUnderstanding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorklistCounts:
    """How much waits, each counted up to `most`."""

    subjects: int
    intersections: int
    unlinked_observations: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worklist:
    """The result of `get_worklist`: the first of what waits, at a cost that does not grow with the memory."""

    current_generation: int
    consolidation_open: bool
    last_consolidated_at: datetime | None
    counts: WorklistCounts
    subjects: tuple[WorklistSubject, ...]
    intersections: tuple[WorklistPair, ...]
    sessions: tuple[SessionNeed, ...]
    unlinked_observations: tuple[UnlinkedObservation, ...]
    questionable_items: tuple[QuestionableItem, ...]
    soul_hints: tuple[SoulHint, ...]
    # To be passed back for what follows; None where nothing does.
    subject_cursor: str | None = None
    intersection_cursor: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedUnchanged:
    """The result of `mark_reviewed`."""

    subject_names: tuple[str, ...]
    seen_through_id: int
    dismissed: tuple[int, ...] = ()
