"""The results of the verbs that look around: lists of subjects, regions, overlaps, versions. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from everloom.semantic.arguments import UnderstandingKind
from everloom.semantic.results import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSubject:
    """A subject, as the list of all shows it."""

    id: int
    name: str
    summary: str | None
    tags: tuple[str, ...]
    observation_count: int
    last_observation_at: datetime | None
    # Whether something was observed that its understanding has not seen.
    is_waiting: bool
    has_understanding: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectList:
    """The result of `list_subjects`: one page of subjects."""

    subjects: tuple[ListedSubject, ...]
    # To be passed back for the next page; None after the last one.
    cursor: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUnderstanding:
    """An understanding in force about the subjects of a region, as a region lists it."""

    id: int
    kind: UnderstandingKind
    subject_names: tuple[str, ...]
    summary: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionContents:
    """The result of `open_region`: a page of what is about all of some subjects and about none of others."""

    subject_names: tuple[str, ...]
    outside: tuple[str, ...]
    # Only on the first page.
    understandings: tuple[RegionUnderstanding, ...]
    observations: tuple[Observation, ...]
    # To be passed back to look further; a page may be short, even empty, where much was looked through in vain.
    cursor: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedSubject:
    """How many observations are about a subject."""

    id: int
    name: str
    observation_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPair:
    """How many observations are about two subjects."""

    subject_a: str
    subject_b: str
    observation_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOverlap:
    """The result of `measure_overlap`: the sizes of two or three subjects and of what they share."""

    subjects: tuple[CountedSubject, ...]
    pairs: tuple[CountedPair, ...]
    # What three subjects share; None for two of them.
    all_three: int | None
    # Whether that was counted; otherwise it was estimated from the newest observations.
    is_exact: bool
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderstandingVersion:
    """One version of an understanding: its words, and who wrote it when and why."""

    id: int
    kind: UnderstandingKind
    version: int
    summary: str
    content: str
    reason: str | None
    created_at: datetime
    session_id: str | None
    model_tier: str | None
    origin: str | None
    superseded_by: int | None
