"""What the verbs answer: the contract's shapes as frozen values, field by field. `parts.py` has what they are made of.

Values only. Times are aware and in UTC; a session is named by its client's label.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.semantic import parts
from everloom.semantic.arguments import UnderstandingKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """An observation that was kept, or that was known already."""

    id: int
    content: str
    subject_names: tuple[str, ...]
    subjects_created: tuple[str, ...]
    # The text was known: its old id is told, and only new subjects and links were added.
    duplicate: bool
    similar_subjects: tuple[parts.SimilarSubject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Added):
    """What `remember` answers."""

    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedObservations:
    """What `delete_observations` answers."""

    deleted: tuple[int, ...]
    rejected: tuple[parts.RejectedId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What became of a lesson: what is kept now, and what it took the place of."""

    added: Added | None
    superseded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One piece of evidence, whole."""

    id: int
    content: str
    subject_names: tuple[str, ...]
    kind: str | None
    confidence: float | None
    generation: int
    observed_at: datetime
    created_at: datetime
    session_id: str | None
    model_tier: str | None
    # When it ceased to hold, and what holds instead; it stays as evidence of what was once so.
    superseded_at: datetime | None = None
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """One synthesis, whole: what it says, what it rests on, and what was linked to it since."""

    id: int
    kind: UnderstandingKind
    subject_names: tuple[str, ...]
    content: str
    summary: str
    generation: int
    version: int
    # How far its writer had read. What has a larger id is new to it, however old the events are.
    seen_through_id: int
    superseded_by: int | None
    reason: str | None
    created_at: datetime
    updated_at: datetime
    session_id: str | None
    model_tier: str | None
    # What it rests on, inherited from what it supersedes; and what was linked since, which nobody has read into it yet.
    source_observation_ids: tuple[int, ...]
    linked_observations: tuple[parts.BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedUnderstanding:
    """What `create_understanding` answers."""

    id: int
    subject_names: tuple[str, ...]
    kind: UnderstandingKind
    created_at: datetime
    version: int
    superseded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedUnderstanding:
    """What `update_understanding` answers."""

    old_understanding_id: int
    new_understanding_id: int
    subject_names: tuple[str, ...]
    version: int
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralUnderstanding:
    """What `set_structural_understanding` answers."""

    subject_name: str
    understanding_id: int
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSubject:
    """One subject that was made."""

    id: int
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One subject, as `get_subjects` shows it."""

    id: int
    name: str
    summary: str | None
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    single_subject_understanding: parts.BriefUnderstanding | None
    structural_understanding: parts.StructuralPointer | None
    observation_count: int
    last_observation_at: datetime | None
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticHit:
    """What `search` and `query_observations` find."""

    id: int
    kind: parts.Source
    subject_names: tuple[str, ...]
    summary: str | None
    matched_content: str
    # The point of view whose vector came nearest; None when it was found by words.
    matched_perspective: str | None
    score: float
    generation: int
    understanding_kind: UnderstandingKind | None
    observation_kind: str | None
    observed_at: datetime
    created_at: datetime
    session_id: str | None
    model_tier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtToMind:
    """What `bring_to_mind` answers."""

    compaction_note: str
    # Worth keeping: given back with the next call, it says that the client still knows what it was shown.
    heartbeat_token: int
    compaction_detected: bool
    compaction_reason: parts.CompactionReason | None
    results: tuple[parts.Brought, ...]
    degraded: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRecall:
    """What `recall` answers to a question."""

    best_answer: parts.BestAnswer | None
    supporting: tuple[parts.Supporting, ...]
    provenance: parts.Provenance | None
    degraded: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecall:
    """What `recall` answers to a subject's name."""

    subject: parts.SubjectHead
    single_subject_understanding: parts.SubjectUnderstanding | None
    structural_understanding: parts.StructuralNote | None
    recent_observations: tuple[parts.BriefObservation, ...]
    workspace_activity: parts.WorkspaceActivity = None


Recall = QuestionRecall | SubjectRecall


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReset:
    """What `reset_seen` answers."""

    cleared: int
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """What `open_around` answers."""

    subject: parts.SubjectHead
    neighbors: tuple[parts.SubjectNeighbor, ...]
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection:
    """What `open_intersection` answers; `intersection_size` counts what is left off the list, too."""

    subject_a: parts.BriefSubject
    subject_b: parts.BriefSubject
    relationship_understanding: parts.RelationshipUnderstanding | None
    other_understandings: tuple[parts.OtherUnderstanding, ...]
    observations: tuple[parts.BriefObservation, ...]
    intersection_size: int
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPair:
    """Two subjects that may be one, or that share more than was written down."""

    subject_a: str
    subject_b: str
    similarity_score: float
    intersection_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSubjects:
    """What `merge_subjects` answers."""

    primary: str
    duplicate: str
    merged: bool
    observations_moved: int
    understandings_moved: int
    single_subject_understanding_id: int | None
    structural_understanding_id: int
    aliases: tuple[str, ...]
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """What `mark_useful` and `mark_questionable` answer."""

    id: int
    kind: parts.Source
    signal_id: int
    signal_type: Literal["useful", "questionable"]
    reason: str | None
    flagged_at: datetime
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A conversation on the time axis."""

    session_id: str
    started_at: datetime
    latest_activity: datetime
    summary: str | None
    observation_count: int
    model_tier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStory:
    """What `what_happened` answers."""

    session: SessionSummary
    content: str | None
    observations: tuple[parts.SessionObservation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSession:
    """What `describe_session` answers."""

    session_id: str
    understanding_id: int
    summary: str
    version: int
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Orientation:
    """What `orient` answers: who you are, how you work, where you are."""

    soul: parts.CriticalDocument
    protocol: parts.CriticalDocument
    orientation: parts.OrientationDocument
    # Subjects and intersections with something new; nothing is lost while they wait, but recall is poorer.
    pending_consolidation_count: int
    recent_activity: parts.RecentActivity | None
    current_time: str
    this_session: SessionSummary | None
    recent_sessions: tuple[SessionSummary, ...]
    # What is not as it should be, for whoever can mend it.
    notices: tuple[str, ...] = ()
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticStats:
    """What `get_stats` answers."""

    subject_count: int
    observation_count: int
    understanding_count: int
    # The share of documents that the preferred model has embedded; None while there are none.
    embedding_coverage: float | None
    current_generation: int
    consolidation_open: bool
    last_consolidated_at: datetime | None
    workspace: str
    description: str
