"""The smaller value types that results are made of, as the contract defines them. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from everloom.kernel.answer.encode import SAID
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
    """A subject that was just created, and an existing one that may be the same thing."""

    name: str
    similar_to: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedId:
    """An id that was not deleted, and the reason."""

    id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefObservation:
    """An observation, as lists show it."""

    id: int
    content: str
    kind: str | None = field(metadata=SAID)
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenObservation:
    """An observation that an understanding has not seen; `superseded_at` is when it ceased to hold."""

    id: int
    content: str
    observed_at: datetime
    kind: str | None = None
    confidence: float | None = None
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralPointer:
    """A pointer to a subject's structural understanding."""

    id: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefUnderstanding(StructuralPointer):
    """A pointer to an understanding of any kind, with its generation and version."""

    generation: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefSubject:
    """A subject as a neighbour or as one side of an intersection."""

    name: str
    summary: str | None = field(metadata=SAID)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectHead(BriefSubject):
    """A subject with its tags, at the head of a result about it."""

    tags: tuple[str, ...] = field(default=(), metadata=SAID)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedText:
    """A text that a hit stands for, because it says the same; None where there are too many to repeat."""

    id: int
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedText:
    """A statement about the same thing that says something else, and when it was made."""

    id: int
    content: str
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """One observation or understanding that `bring_to_mind` found."""

    id: int
    source: Source
    subject_names: tuple[str, ...] = field(metadata=SAID)
    summary: str | None = field(metadata=SAID)
    content: str | None = field(metadata=SAID)
    # Comparable within one answer only: it is relative to the other candidates of the same search.
    relevance_score: float
    # How likely it is that it answers what was asked, from 0 to 1: it means the same from question to question.
    answers: float
    generation: int
    # When what it says was observed, or was last understood; and when it was stored, if that is another time.
    observed_at: datetime
    stored_at: datetime | None = None
    linked_observations: tuple[BriefObservation, ...] = ()
    # What it stands for, what held before it did, and what speaks against it.
    # Said only of what is worth less than what the agent says itself.
    origin: str | None = None
    trust: str | None = None
    also: tuple[NamedText, ...] = ()
    earlier: tuple[DatedText, ...] = ()
    contradicts: tuple[DatedText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAnswer:
    """The strongest answer to a question."""

    id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    content: str
    # How likely it is that this text answers the question, which says nothing about how sure its writer was.
    confidence: float
    kind: str | None = field(metadata=SAID)
    source: Source
    summary: str | None
    # When what it says was observed, or was last understood; the provenance has when it was stored.
    observed_at: datetime
    linked_observations: tuple[BriefObservation, ...] = ()
    # Said only of what is worth less than what the agent says itself.
    origin: str | None = None
    trust: str | None = None
    also: tuple[NamedText, ...] = ()
    earlier: tuple[DatedText, ...] = ()
    contradicts: tuple[DatedText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Supporting:
    """A weaker answer to the same question, or what is nearest to one where nothing answers it."""

    id: int
    subject_names: tuple[str, ...] = field(metadata=SAID)
    content: str
    score: float
    answers: float
    source: Source
    # When what it says was observed, or was last understood; and when it was stored, if that is another time.
    observed_at: datetime
    stored_at: datetime | None = None
    # Said only of what is worth less than what the agent says itself.
    origin: str | None = None
    trust: str | None = None
    also: tuple[NamedText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who wrote the best answer, and when."""

    session_id: str | None = field(metadata=SAID)
    model_tier: str | None = field(metadata=SAID)
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
    intersection_understanding: BriefUnderstanding | None = field(metadata=SAID)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipUnderstanding:
    """The understanding of how two subjects relate, with the chain of understandings it superseded."""

    id: int
    content: str
    summary: str
    generation: int
    version: int
    model_tier: str | None = field(metadata=SAID)
    session_id: str | None
    created_at: datetime
    source_observation_ids: tuple[int, ...]
    # The whole chain, newest first.
    supersedes: tuple[int, ...]
    linked_observations: tuple[BriefObservation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherUnderstanding(StructuralPointer):
    """Another understanding that is about both subjects."""

    kind: UnderstandingKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionObservation:
    """One observation of a session."""

    id: int
    content: str
    kind: str | None
    subject_names: tuple[str, ...]
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTurn:
    """Something that was said in a session which was imported: words of others, and no instruction."""

    id: int
    text: str
    said_at: datetime
    origin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedText:
    """A turn or a passage that was imported: words of others, and no instruction."""

    id: int
    kind: str
    text: str
    at: datetime
    answers: float
    origin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUnderstanding:
    """An understanding that a session wrote."""

    id: int
    kind: UnderstandingKind
    subject_names: tuple[str, ...]
    summary: str
    version: int
    superseded_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrientationDocument:
    """The orientation: where things stand. A client may drop it when its context is compacted."""

    id: int
    content: str
    summary: str
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalDocument(OrientationDocument):
    """The soul or the protocol, with a note that asks the client to keep it through a compaction."""

    compaction_note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentActivity:
    """The subjects that changed since the last consolidation."""

    # When the last consolidation ended; in a workspace that had none, when it was created.
    since: datetime
    subjects_with_new_observations: tuple[str, ...] = field(metadata=SAID)
    subjects_with_new_understandings: tuple[str, ...] = field(metadata=SAID)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoulHint:
    """A sign that the soul is drifting."""

    sign: Literal["rules", "tactics", "growth"]
    message: str


WorkspaceActivity = tuple[Activity, ...] | None
