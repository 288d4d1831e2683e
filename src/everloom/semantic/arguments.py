"""Argument types and their checks, run before anything is read or written. Pure, and cheap to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar

from everloom.clock import checked_instant
from everloom.errors import Rejected
from everloom.kernel.texts import checked, checked_list

SearchMode = Literal["hybrid", "text", "embedding"]
UnderstandingKind = Literal[
    "single_subject", "relationship", "structural", "soul", "protocol", "orientation", "session"
]
# What kind of statement an observation is. Imports keep the words of other programs, which may be others.
ObservationKind = Literal["fact", "inference", "preference", "task_state", "reflection"]
WrittenKind = Literal["single_subject", "relationship", "structural", "soul", "protocol", "orientation"]

# Bounds that keep one request from holding the store for long. A synthesis of more than twenty subjects says nothing
# about any of them; five hundred observations are one page of an import.
MOST_SUBJECTS = 20
MOST_OBSERVATIONS = 500
MOST_IDS = 500
MOST_TAGS = 50
MOST_NAMES = 200
LONGEST_SUMMARY = 2_000
_LONGEST_REASON = 2_000
# Ids are signed 64-bit numbers on both engines.
_LARGEST_ID = 2**63 - 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSubject:
    """A subject to create."""

    name: str
    summary: str | None = None
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewObservation:
    """An observation to store."""

    subject_names: Sequence[str]
    content: str
    kind: ObservationKind | None = None
    confidence: float | None = None
    observed_at: datetime | None = None
    related_to: Sequence[int] = ()
    origin: str | None = None
    # Whether `observed_at` is the date of a plan; otherwise, one in the future counts as a mistake.
    planned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something to learn: a new observation, an old one that no longer holds, or a new one that replaces an old one."""

    observation: NewObservation | None = None
    instead_of: int | None = None


def one_id(value: object, what: str = "the id") -> int:
    """Check an id."""
    # A bool is an int in Python, and nobody means the item with the id 1 by `True`.
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _LARGEST_ID:
        hint = "give an id from an earlier answer"
        raise Rejected(f"{what} must be a positive whole number, not {value!r}", hint=hint)
    return value


def ids(values: Sequence[int] | None, what: str, *, least: int = 0) -> tuple[int, ...]:
    """Check ids, and drop repeated ones."""
    return tuple(
        dict.fromkeys(one_id(value, what) for value in checked_list(values or (), what, MOST_IDS, least=least))
    )


def limit(value: object, most: int = 1000) -> int:
    """Check a maximum number of results."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Rejected(
            f"the limit must be a whole number from 1 to {most:,}, not {value!r}", hint=f"ask for 1 to {most}"
        )
    return value


def share(value: object, what: str) -> float:
    """Check a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise Rejected(f"{what} must be a number from 0 to 1, not {value!r}", hint="give a number such as 0.8")
    return float(value)


def summary(text: object, what: str = "the summary") -> str:
    """Check a summary."""
    return checked(text, what, LONGEST_SUMMARY).strip()


def optional(text: object, what: str, longest: int = _LONGEST_REASON) -> str | None:
    """Check a text that may be missing."""
    return None if text is None else checked(text, what, longest).strip()


def instant(value: object, what: str) -> datetime:
    """Check a time that has a zone, and convert it to UTC."""
    if not isinstance(value, datetime):
        raise Rejected(f"{what} must be a time, not {type(value).__name__}", hint="give a datetime with a time zone")
    if value.tzinfo is None:
        raise Rejected(f"{what} {value.isoformat()} has no time zone", hint="add an offset such as +00:00")
    return checked_instant(value)


def hours(value: object) -> float:
    """Check a number of hours."""
    # The upper bound is a century; far beyond it, the subtraction from now overflows.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6:
        raise Rejected(f"cannot look back {value!r} hours", hint="give a positive number, at most a million")
    return float(value)


def version(value: object) -> int | None:
    """Check an expected version that may be missing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        hint = "give the version that you read"
        raise Rejected(f"expected_version must be a whole number, not {value!r}", hint=hint)
    return value
