"""What consolidation has to do and what it did: the report's shapes as frozen values.

Values only; `plan.py` decides their order, `report.py` reads them from the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.semantic.parts import BriefUnderstanding, SoulHint
from everloom.semantic.results import SubjectPair

PendingType = Literal["subject", "stale_understanding", "intersection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNeed:
    """A subject with observations that no understanding of it has seen; it has none yet."""

    name: str
    observation_count: int
    generation: int
    new_observation_count: int
    # Passes that came and went without getting to it.
    generations_waiting: int
    # What consolidating it is worth, compared with the others of the same report; `plan` says how it is estimated.
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleUnderstanding:
    """A subject's understanding that has not seen every observation."""

    id: int
    subject_names: tuple[str, ...]
    summary: str
    generation: int
    version: int
    last_updated: datetime
    new_observation_count: int
    # To be read first: somebody said that they bear on exactly this understanding.
    linked_observation_ids: tuple[int, ...]
    generations_waiting: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IntersectionNeed:
    """Two subjects whose intersection changed since it was last synthesised or reviewed.

    `new_generation_count` counts the observations that nothing has seen yet, whichever generation they are of.
    """

    subject_a: str
    subject_b: str
    intersection_size: int
    new_generation_count: int
    existing_understanding: BriefUnderstanding | None
    value: float

    @property
    def understanding_id(self) -> int | None:
        """Point at the understanding that there is."""
        return None if self.existing_understanding is None else self.existing_understanding.id


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNeed:
    """A session with observations that its note does not tell of."""

    session_id: str
    started_at: datetime
    latest_activity: datetime
    observation_count: int
    existing_understanding: BriefUnderstanding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkedObservation:
    """An observation that no understanding rests on yet."""

    id: int
    subject_names: tuple[str, ...]
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionableItem:
    """Something that was called questionable and has not been looked at since."""

    id: int
    kind: Literal["understanding", "observation"]
    reason: str | None
    flagged_at: datetime
    subject_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeglectedSubject:
    """A subject that goes on being observed and that several passes did not get to."""

    name: str
    observation_count: int
    generations_waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What `get_consolidation_report` answers, the most valuable first in every list.

    `left_off` says how many entries of each list were cut.
    """

    current_generation: int
    consolidation_open: bool
    # To be given back as `seen_through_id`: whatever is written while the report is worked through is not missed.
    as_of_id: int
    pending_count: int
    sessions_needing_description: tuple[SessionNeed, ...]
    subjects_needing_understanding: tuple[SubjectNeed, ...]
    stale_understandings: tuple[StaleUnderstanding, ...]
    intersections_needing_synthesis: tuple[IntersectionNeed, ...]
    semantically_dense_intersections: tuple[SubjectPair, ...]
    unlinked_observations: tuple[UnlinkedObservation, ...]
    questionable_items: tuple[QuestionableItem, ...]
    neglected_subjects: tuple[NeglectedSubject, ...]
    soul_hints: tuple[SoulHint, ...]
    left_off: int = 0


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
    """What `begin_consolidation` answers: pass `generation` to `finish_consolidation`."""

    generation: int
    as_of_id: int
    begun_at: datetime
    report: ConsolidationReport


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedConsolidation:
    """What `finish_consolidation` answers."""

    generation: int
    summary: str
    last_consolidated_at: datetime
    reviewed_subject_names: tuple[str, ...]
    reviewed_intersections: tuple[tuple[str, str], ...]
    pending_consolidation_count: int
