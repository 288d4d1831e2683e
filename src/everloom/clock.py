"""The current time, and the only place where times are parsed, moved and converted between time zones.

Instants are aware datetimes in UTC inside the program and whole microseconds since 1970 in a store. The current time is
an argument everywhere, so that tests and simulations control it. All instants lie between `EARLIEST` and `LATEST`:
callers that give another one are refused, and what files and stores contain is moved to the nearer end.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from threading import Lock
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everloom.errors import Rejected

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# The times that every time zone can show: zones are less than a day away from UTC, and the calendar of Python has the
# years 1 to 9999.
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC)
_FIRST, _LAST = (EARLIEST - EPOCH) // MICROSECOND, (LATEST - EPOCH) // MICROSECOND
# A time that is further ahead of now than this is in the future. A day, because clocks differ a little, and because a
# date without a time is stored as noon or midnight of another time zone.
AHEAD = timedelta(days=1)


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
    """Convert a stored number back to an instant in UTC; one that no time zone can show becomes the nearest."""
    return EPOCH + timedelta(microseconds=min(max(micros, _FIRST), _LAST))


def clamped(instant: datetime) -> datetime:
    """Convert an aware instant to UTC; one that not every time zone can show becomes the nearest."""
    # Compared before it is converted: the conversion of the others can overflow.
    return EARLIEST if instant < EARLIEST else LATEST if instant > LATEST else instant.astimezone(UTC)


def checked_instant(instant: datetime) -> datetime:
    """Convert an aware instant to UTC; refuse one that not every time zone can show."""
    if EARLIEST <= instant <= LATEST:
        return instant.astimezone(UTC)
    hint = f"give a time from {EARLIEST.date()} to {LATEST.date()}, in UTC"
    raise Rejected(f"the time {instant.isoformat()} is out of range", hint=hint)


def moved(instant: datetime, by: timedelta) -> datetime:
    """Move an aware instant, but not beyond the range of times."""
    try:
        return clamped(instant + by)
    except OverflowError:
        return LATEST if by > timedelta() else EARLIEST


def is_ahead(instant: datetime, now: datetime) -> bool:
    """Return whether an instant is in the future: then it is the date of a plan, or a mistake."""
    return instant - now > AHEAD


def pause_of(seconds: float) -> timedelta:
    """Return the pause that a server asks for, at most a day: a longer one is a mistake, and so is NaN."""
    day = 86_400.0
    return timedelta(seconds=max(0.0, seconds) if seconds < day else day)


def midnight(day: date, zone: tzinfo) -> datetime:
    """Return when a day begins in a time zone."""
    return datetime.combine(day, time.min, zone)


def instant_in(text: str, zone: tzinfo = UTC) -> datetime:
    """Parse an ISO 8601 time that a file or a program wrote, in the given zone unless it has an offset.

    Raises ValueError if it is not one; a time that not every time zone can show becomes the nearest.
    """
    parsed = datetime.fromisoformat(text)
    return clamped(parsed if parsed.tzinfo else parsed.replace(tzinfo=zone))


def from_seconds(seconds: float) -> datetime:
    """Convert seconds since 1970 to an instant in UTC; raises ValueError if they are not a number."""
    # Not `isnan`, which refuses whole numbers that are too large for a float.
    if not seconds <= math.inf:
        raise ValueError("not a number of seconds")
    return clamped(EPOCH + timedelta(microseconds=min(max(seconds * 1_000_000, _FIRST), _LAST)))


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
    local = clamped(instant).astimezone(zone)
    return f"{local.date()} {local:%H:%M %z, %A}"


def read_instant(text: str, zone: ZoneInfo, *, end_of_day: bool = False) -> datetime:
    """Parse a date or a time that a person wrote; a bare date means its first (or last) moment in their time zone."""
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Rejected(f"cannot read the time {text!r}", hint="write 2026-11-15 or 2026-11-15T09:30") from error
    # Only a bare date is widened: 2026-11-15T00:00 means midnight, whoever asks.
    if end_of_day and len(text.strip()) == len("2026-11-15"):
        parsed = parsed.replace(hour=23, minute=59, second=59, microsecond=999_999)
    return checked_instant(parsed if parsed.tzinfo else parsed.replace(tzinfo=zone))
