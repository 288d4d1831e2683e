"""What answers are made of: the smaller shapes of the contract. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.semantic.arguments import UnderstandingKind

Source = Literal["understanding", "observation"]
CompactionReason = Literal["missing_token", "wrong_token", "time_gap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Something that another session wrote since this session's previous call."""

    id: int
    kind: Source
    subject_names: tuple[str, ...]
    preview: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarSubject:
    """A subject that was just made, and an existing one that it may be another name of."""

    name: str
    similar_to: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedId:
    """An id that was left alone, and why."""

    id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefObservation:
    """One piece of evidence, as lists show it."""

    id: int
    content: str
    kind: str | None
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralPointer:
    """A pointer to a subject's structural understanding."""

    id: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefUnderstanding(StructuralPointer):
    """A pointer to any understanding, and how old that is."""

    generation: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefSubject:
    """A subject as a neighbour or as one side of an intersection."""

    name: str
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectHead(BriefSubject):
    """A subject as answers about it begin."""

    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """One thing that came to mind."""

    id: int
    source: Source
    subject_names: tuple[str, ...]
    summary: str | None
    content: str | None
    # Comparable within one answer only: it is relative to the other candidates of the same search.
    relevance_score: float
    generation: int
    linked_observations: tuple[BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAnswer:
    """The strongest answer to a question; `confidence` is how well it fits, from 0 to 1."""

    id: int
    subject_names: tuple[str, ...]
    content: str
    # How well it fits the question, which says nothing about how sure its writer was.
    confidence: float
    kind: str | None
    source: Source
    summary: str | None
    linked_observations: tuple[BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Supporting:
    """A weaker answer to the same question."""

    id: int
    subject_names: tuple[str, ...]
    content: str
    score: float
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who wrote the best answer, and when."""

    session_id: str | None
    model_tier: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectUnderstanding:
    """A subject's own understanding, as `recall` shows it."""

    id: int
    content: str
    summary: str
    generation: int
    version: int
    updated_at: datetime
    linked_observations: tuple[BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralNote:
    """A subject's structural understanding, as `recall` shows it."""

    id: int
    content: str
    version: int
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectNeighbor:
    """A subject that shares something with another."""

    subject: BriefSubject
    # What both are tagged with, observations and understandings together.
    intersection_size: int
    similarity_score: float
    intersection_understanding: BriefUnderstanding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipUnderstanding:
    """What two subjects mean in relation to each other, with the chain that it came from."""

    id: int
    content: str
    summary: str
    generation: int
    version: int
    model_tier: str | None
    session_id: str | None
    created_at: datetime
    source_observation_ids: tuple[int, ...]
    # The whole chain, the latest first.
    supersedes: tuple[int, ...]
    linked_observations: tuple[BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherUnderstanding(StructuralPointer):
    """Another understanding that is about both subjects."""

    kind: UnderstandingKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionObservation:
    """What was observed in a session, in order."""

    id: int
    content: str
    kind: str | None
    subject_names: tuple[str, ...]
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrientationDocument:
    """Where things stand; it may be dropped."""

    id: int
    content: str
    summary: str
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalDocument(OrientationDocument):
    """The soul or the protocol, with the note that asks to keep it."""

    compaction_note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentActivity:
    """What changed since the last consolidation, or since the workspace began."""

    # When the last consolidation ended, or when the workspace began.
    since: datetime
    subjects_with_new_observations: tuple[str, ...]
    subjects_with_new_understandings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulHint:
    """A sign that the soul drifts."""

    sign: Literal["rules", "tactics", "growth"]
    message: str


WorkspaceActivity = tuple[Activity, ...] | None
