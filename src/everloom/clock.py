"""The current time, passed as an argument everywhere so that tests and simulations control it.

Instants are aware datetimes in UTC inside the program and whole microseconds since 1970 in a store.
Knows nothing about workspaces; formatting a time for a person takes the time zone as an argument.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everloom.errors import Rejected

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's time in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when `advance` is called."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)
        # Simulations advance one clock from several threads, and `+=` alone would lose a step.
        self._lock = Lock()

    def now(self) -> datetime:
        """Return the time it was last set to."""
        return self._now

    def advance(self, step: timedelta) -> datetime:
        """Move on by `step` and return the new time."""
        with self._lock:
            self._now += step
            return self._now


def to_micros(instant: datetime) -> int:
    """Convert an aware instant to the number that stores hold."""
    if instant.tzinfo is None:
        raise Rejected(f"the time {instant.isoformat()} has no time zone", hint="add an offset such as +00:00")
    # Exact, unlike `timestamp()`: a float of seconds can be a microsecond off, and a time must come back as it went in.
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Convert a stored number back to an instant in UTC."""
    return EPOCH + timedelta(microseconds=micros)


def zone_named(name: str) -> ZoneInfo:
    """Find a time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # ValueError: an empty name, or a path that leaves the database. OSError: some versions of Python open the
        # directory that a name such as Europe stands for.
        raise Rejected(
            f"there is no time zone called {name!r}", hint="use an IANA name such as Europe/Paris"
        ) from error


def shown(instant: datetime, zone: ZoneInfo) -> str:
    """Format an instant for a person: date, time, offset and weekday in their time zone."""
    return instant.astimezone(zone).strftime("%Y-%m-%d %H:%M %z, %A")


def read_instant(text: str, zone: ZoneInfo, *, end_of_day: bool = False) -> datetime:
    """Parse a date or a time that a person wrote; a bare date means its first (or last) moment in their time zone."""
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Rejected(f"cannot read the time {text!r}", hint="write 2026-11-15 or 2026-11-15T09:30") from error
    # Only a bare date is widened: 2026-11-15T00:00 means midnight, whoever asks.
    if end_of_day and len(text.strip()) == len("2026-11-15"):
        parsed = parsed.replace(hour=23, minute=59, second=59, microsecond=999_999)
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
    return aware.astimezone(UTC)
