"""The results of the verbs, field by field as the contract defines them. Their smaller parts are in `parts.py`.

Values only. Times are aware and in UTC; a session is identified by its client's label. The `note` of a result says what
was left off to keep within the budget of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from everloom.errors import Conflict, EverloomError, NotFound
from everloom.kernel.answer.encode import SAID
from everloom.semantic import parts
from everloom.semantic.arguments import UnderstandingKind

# A refusal tells the first reasons; the answer has them all.
_MOST_REASONS = 3
_OTHERWISE = "only the session that wrote an observation may delete it; `forget` is for everything else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """An observation that was stored, or that was stored already."""

    id: int
    content: str
    subject_names: tuple[str, ...]
    subjects_created: tuple[str, ...] = field(metadata=SAID)
    # The text was stored before: `id` is the old one, and only new subjects and links were added.
    duplicate: bool
    similar_subjects: tuple[parts.SimilarSubject, ...] = ()
    # Said of an observation that waits for review, under this id.
    held: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Added):
    """The result of `remember`."""

    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedObservations:
    """The result of `delete_observations`."""

    deleted: tuple[int, ...] = field(metadata=SAID)
    rejected: tuple[parts.RejectedId, ...] = field(metadata=SAID)
    note: str | None = None

    @property
    def refusal(self) -> EverloomError | None:
        """Why not all of them were deleted."""
        if not self.rejected:
            return None
        count = len(self.deleted) + len(self.rejected)
        why = "; ".join(f"{each.id}: {each.reason}" for each in self.rejected[:_MOST_REASONS])
        kind = NotFound if all(each.reason == "not found" for each in self.rejected) else Conflict
        return kind(f"{len(self.rejected)} of {count} were not deleted ({why})", hint=self.note or _OTHERWISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """The outcome of a lesson: the observation that was stored, and the one that was superseded."""

    added: Added | None
    superseded: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One observation, with all its fields."""

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
    # Where it comes from; null for what was stored before this was recorded. `trust` is the kind of origin that it is
    # worth as much as: that of its least trusted source.
    origin: str | None = None
    trust: str | None = None
    # When it ceased to hold, and what holds instead; it stays as evidence of what was once so.
    superseded_at: datetime | None = None
    superseded_by: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """One understanding, with its text, its sources and the observations that were linked to it since."""

    id: int
    kind: UnderstandingKind
    subject_names: tuple[str, ...] = field(metadata=SAID)
    content: str
    summary: str
    generation: int
    version: int
    # The last id that its writer had read. Anything with a larger id is new to it, however old the events are.
    seen_through_id: int
    superseded_by: int | None
    reason: str | None
    created_at: datetime
    updated_at: datetime
    session_id: str | None = field(metadata=SAID)
    model_tier: str | None = field(metadata=SAID)
    # Where it comes from; null for what was stored before this was recorded. `trust` is the kind of origin that it is
    # worth as much as: that of its least trusted source.
    origin: str | None = None
    trust: str | None = None
    # The sources include those of everything it superseded. Linked observations came later: its text does not reflect
    # them until somebody revises it.
    source_observation_ids: tuple[int, ...]
    linked_observations: tuple[parts.BriefObservation, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """The result of `read_unseen`: a page of observations, in the order in which they became known."""

    subject_names: tuple[str, ...]
    # What was understood so far; its linked observations are to be read first.
    understanding: parts.BriefUnderstanding | None
    linked_observation_ids: tuple[int, ...]
    observations: tuple[parts.UnseenObservation, ...]
    # To be passed back with the understanding: everything up to here was given.
    seen_through_id: int
    # To be passed back for the next page; None after the last one.
    cursor: str | None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedUnderstanding:
    """The result of `create_understanding`."""

    id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    kind: UnderstandingKind
    created_at: datetime
    version: int
    superseded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedUnderstanding:
    """The result of `update_understanding`."""

    old_understanding_id: int
    new_understanding_id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    version: int
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralUnderstanding:
    """The result of `set_structural_understanding`."""

    subject_name: str
    understanding_id: int
    created_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSubject:
    """One subject that was created, and existing ones that its name could be confused with."""

    id: int
    name: str
    created_at: datetime
    similar_subjects: tuple[parts.SimilarSubject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One subject, as `get_subjects` shows it."""

    id: int
    name: str
    summary: str | None = field(metadata=SAID)
    tags: tuple[str, ...] = field(metadata=SAID)
    aliases: tuple[str, ...]
    single_subject_understanding: parts.BriefUnderstanding | None = field(metadata=SAID)
    structural_understanding: parts.StructuralPointer | None = field(metadata=SAID)
    observation_count: int
    last_observation_at: datetime | None = field(metadata=SAID)
    created_at: datetime
    version: int
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticHit:
    """One hit of `search` or `query_observations`."""

    id: int
    kind: parts.Source
    subject_names: tuple[str, ...] = field(metadata=SAID)
    summary: str | None = field(metadata=SAID)
    matched_content: str
    # The perspective whose vector was nearest; None when the hit was found by its words.
    matched_perspective: str | None = field(metadata=SAID)
    score: float
    # How likely it is that it answers the query, from 0 to 1, and whether that is enough.
    answers: float
    fits: bool
    generation: int
    understanding_kind: UnderstandingKind | None
    observation_kind: str | None
    observed_at: datetime
    created_at: datetime
    session_id: str | None
    model_tier: str | None
    # Said only of what is worth less than what the agent says itself.
    origin: str | None = None
    trust: str | None = None
    # What the hit stands for, what held before it did, and what speaks against it.
    also: tuple[parts.NamedText, ...] = ()
    earlier: tuple[parts.DatedText, ...] = ()
    contradicts: tuple[parts.DatedText, ...] = ()
    # On the first hit, for all of them: that none fits, or that some were left off.
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtToMind:
    """The result of `bring_to_mind`: only what fits the topics."""

    # On a session's first call and after a compaction; saying it every time would only crowd the answer.
    compaction_note: str | None = field(metadata=SAID)
    # Passed back with the next call, it proves that the client's context still holds what it was shown.
    heartbeat_token: int
    compaction_detected: bool
    compaction_reason: parts.CompactionReason | None
    results: tuple[parts.Brought, ...] = field(metadata=SAID)
    note: str | None = None
    degraded: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRecall:
    """The result of `recall` for a question; without a best answer, nothing in this memory answers it."""

    best_answer: parts.BestAnswer | None = field(metadata=SAID)
    supporting: tuple[parts.Supporting, ...] = field(metadata=SAID)
    provenance: parts.Provenance | None = field(metadata=SAID)
    # What comes nearest where nothing answers; it was not used, and is not an answer.
    nearest: tuple[parts.Supporting, ...] = ()
    # What imported conversations and notes say, where nothing that was remembered answers.
    imported: tuple[parts.ImportedText, ...] = ()
    note: str | None = None
    # What a model says about it, where one is asked; what it denies is not an answer.
    judgement: str | None = None
    degraded: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecall:
    """The result of `recall` for a subject's name."""

    subject: parts.SubjectHead
    single_subject_understanding: parts.SubjectUnderstanding | None = field(metadata=SAID)
    structural_understanding: parts.StructuralNote | None = field(metadata=SAID)
    recent_observations: tuple[parts.BriefObservation, ...] = field(metadata=SAID)
    note: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


Recall = QuestionRecall | SubjectRecall


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenReset:
    """The result of `reset_seen`."""

    cleared: int
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighborhood:
    """The result of `open_around`."""

    subject: parts.SubjectHead
    neighbors: tuple[parts.SubjectNeighbor, ...] = field(metadata=SAID)
    note: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection:
    """The result of `open_intersection`; `intersection_size` also counts what the limit cut off."""

    subject_a: parts.BriefSubject
    subject_b: parts.BriefSubject
    relationship_understanding: parts.RelationshipUnderstanding | None = field(metadata=SAID)
    other_understandings: tuple[parts.OtherUnderstanding, ...] = field(metadata=SAID)
    observations: tuple[parts.BriefObservation, ...] = field(metadata=SAID)
    intersection_size: int
    note: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPair:
    """Two subjects that may be the same, or that share more than anybody has written about."""

    subject_a: str
    subject_b: str
    similarity_score: float
    intersection_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSubjects:
    """The result of `merge_subjects`."""

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
    """The result of `mark_useful` and `mark_questionable`."""

    id: int
    kind: parts.Source
    signal_id: int
    signal_type: Literal["useful", "questionable"]
    reason: str | None
    flagged_at: datetime
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session, as lists show it."""

    session_id: str
    started_at: datetime
    latest_activity: datetime
    summary: str | None
    observation_count: int
    model_tier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStory:
    """The result of `what_happened`."""

    session: SessionSummary
    content: str | None
    observations: tuple[parts.SessionObservation, ...]
    # What was said in it, if it was imported.
    turns: tuple[parts.SessionTurn, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """The result of `get_session_context`: where a session stands; the lists are newest first."""

    session: SessionSummary
    content: str | None
    subject_names: tuple[str, ...]
    observations: tuple[parts.SessionObservation, ...]
    understandings: tuple[parts.SessionUnderstanding, ...]
    # How many items it was shown since it last oriented itself.
    seen_count: int
    current_generation: int
    consolidation_open: bool
    note: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerspectiveEntry:
    """An angle from which texts are embedded; the instruction precedes a text. No id before the first vector."""

    id: int | None
    name: str
    instruction: str
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPerspective:
    """The result of `add_perspective`; every document waits for a vector from this angle."""

    id: int
    name: str
    instruction: str
    waiting_for_vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSession:
    """The result of `describe_session`."""

    session_id: str
    understanding_id: int
    summary: str
    version: int
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Orientation:
    """The result of `orient`: who you are, how you work, where things stand."""

    soul: parts.CriticalDocument
    protocol: parts.CriticalDocument
    orientation: parts.OrientationDocument
    # Subjects and intersections with something new. Nothing is lost while they wait, but recall has no synthesis of it.
    pending_consolidation_count: int
    recent_activity: parts.RecentActivity | None = field(metadata=SAID)
    current_time: str
    this_session: SessionSummary | None
    recent_sessions: tuple[SessionSummary, ...]
    # Problems that a person or an agent can fix.
    notices: tuple[str, ...] = ()
    note: str | None = None
    workspace_activity: parts.WorkspaceActivity = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticStats:
    """The result of `get_stats`."""

    subject_count: int
    observation_count: int
    understanding_count: int
    # The share of documents that the preferred model has embedded; None while there are no documents.
    embedding_coverage: float | None = field(metadata=SAID)
    current_generation: int
    consolidation_open: bool
    last_consolidated_at: datetime | None = field(metadata=SAID)
    workspace: str
    description: str
