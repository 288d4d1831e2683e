"""What time it is: an argument everywhere, so that tests and simulations own it.

Instants are aware datetimes in UTC inside the program and whole microseconds since 1970 in a store.
Knows nothing of workspaces; showing a time in somebody's zone takes the zone as an argument.
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
    """Anything that can say what time it is."""

    def now(self) -> datetime:
        """Say the time, aware and in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Say the machine's time in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when told."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)
        self._lock = Lock()

    def now(self) -> datetime:
        """Say the time it was last told."""
        return self._now

    def advance(self, step: timedelta) -> datetime:
        """Move on by `step` and say the new time."""
        with self._lock:
            self._now += step
            return self._now


def to_micros(instant: datetime) -> int:
    """Turn an aware instant into the number that stores keep."""
    if instant.tzinfo is None:
        raise Rejected(f"the time {instant.isoformat()} has no time zone", hint="add an offset such as +00:00")
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Turn a stored number back into an instant in UTC."""
    return EPOCH + timedelta(microseconds=micros)


def zone_named(name: str) -> ZoneInfo:
    """Find a time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Rejected(
            f"there is no time zone called {name!r}", hint="use an IANA name such as Europe/Paris"
        ) from error


def shown(instant: datetime, zone: ZoneInfo) -> str:
    """Write an instant for a person: date, time, offset and weekday in their zone."""
    return instant.astimezone(zone).strftime("%Y-%m-%d %H:%M %z, %A")


def read_instant(text: str, zone: ZoneInfo, *, end_of_day: bool = False) -> datetime:
    """Read a date or a time that a person wrote; a bare date is its first (or last) moment in their zone."""
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Rejected(f"cannot read the time {text!r}", hint="write 2026-11-15 or 2026-11-15T09:30") from error
    if end_of_day and len(text.strip()) == len("2026-11-15"):
        parsed = parsed.replace(hour=23, minute=59, second=59, microsecond=999_999)
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
    return aware.astimezone(UTC)
