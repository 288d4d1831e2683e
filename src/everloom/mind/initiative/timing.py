"""When the agent speaks first: heartbeats, nights, recurring messages, and whether the moment forbids it. Pure.

Days and hours are those of the zone that is given, and no change of its clocks doubles or drops anything. Knows neither
notes nor models: whether there is something to say is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import Literal
from zoneinfo import ZoneInfo

from everloom.clock import EPOCH, read_instant
from everloom.errors import Rejected
from everloom.mind.learning import SpokenLine

Rhythm = Literal["daily", "weekdays", "weekly"]

_FURTHEST = timedelta(days=5 * 366)
_TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAYS = {"daily": 1, "weekdays": 1, "weekly": 7}
_SATURDAY = 5
_LONGEST_JITTER = timedelta(minutes=25)
# From here on a pause ends a conversation; before it, the agent has just spoken.
_SILENCE = timedelta(minutes=30)
_ACTIVE = 4
_MOST_UNANSWERED = 3
_MOST_UNANSWERED_ON_WEEKENDS = 2


@dataclass(frozen=True, slots=True)
class Awareness:
    """How the conversation stands: pauses are None when nobody has spoken yet."""

    local: datetime
    unanswered: int
    since_own: timedelta | None
    since_any: timedelta | None
    # How many messages were exchanged since the last pause.
    lively: int

    @property
    def is_weekend(self) -> bool:
        """Say whether it is Saturday or Sunday where the person is."""
        return self.local.weekday() >= _SATURDAY

    @property
    def is_active(self) -> bool:
        """Say whether a conversation goes on."""
        return self.since_any is not None and self.since_any < _SILENCE and self.lively > _ACTIVE

    def describe(self) -> str:
        """Write it for a model."""
        own, any_ = (
            "never" if span is None else f"{span // timedelta(minutes=1)} minutes ago"
            for span in (self.since_own, self.since_any)
        )
        return (
            f"It is {self.local:%Y-%m-%d %H:%M, %A}. Your last message: {own}. Last message of either: {any_}. "
            f"Messages of yours without an answer: {self.unanswered}."
        )


def read_awareness(said: Sequence[SpokenLine], now: datetime, zone: ZoneInfo) -> Awareness:
    """Read how the conversation stands from its messages, oldest first."""
    own = next((each.at for each in reversed(said) if each.speaker == "agent"), None)
    return Awareness(
        local=now.astimezone(zone),
        unanswered=sum(1 for _ in takewhile(lambda each: each.speaker == "agent", reversed(said))),
        since_own=None if own is None else now - own,
        since_any=now - said[-1].at if said else None,
        lively=_count_lively(said),
    )


def _count_lively(said: Sequence[SpokenLine]) -> int:
    """Count the newest messages between which there was no pause."""
    count = 0
    later: datetime | None = None
    for each in reversed(said):
        if later is not None and later - each.at >= _SILENCE:
            break
        count, later = count + 1, each.at
    return count


def is_quiet(hour: int, quiet_from: int, quiet_until: int) -> bool:
    """Say whether an hour is one of rest; the span may go over midnight, and is empty when both ends are equal."""
    if quiet_from <= quiet_until:
        return quiet_from <= hour < quiet_until
    return hour >= quiet_from or hour < quiet_until


def reason_to_be_silent(aware: Awareness, quiet_from: int, quiet_until: int) -> str | None:
    """Say why the agent must not speak first now, by the first rule that holds; None when it may."""
    unanswered = f"{aware.unanswered} messages are unanswered"
    rests = is_quiet(aware.local.hour, quiet_from, quiet_until)
    rules = {
        unanswered: aware.unanswered >= _MOST_UNANSWERED,
        "spoke less than 30 minutes ago": aware.since_own is not None and aware.since_own < _SILENCE,
        f"it is the weekend and {unanswered}": aware.is_weekend and aware.unanswered >= _MOST_UNANSWERED_ON_WEEKENDS,
        f"quiet hours ({quiet_from}:00 to {quiet_until}:00)": rests,
        "a conversation is going on": aware.is_active,
    }
    return next((reason for reason, holds in rules.items() if holds), None)


def first_moment(at: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Read when a message is due; a bare time of day is the next such time."""
    if found := _TIME_OF_DAY.fullmatch(at.strip()):
        return on_or_after(now, time(int(found[1]), int(found[2])), "daily", zone)
    moment = read_instant(at, zone)
    if moment <= now:
        raise Rejected(
            f"{at} is in the past: it is {now.astimezone(zone):%Y-%m-%d %H:%M}", hint="give a time in the future"
        )
    if moment - now > _FURTHEST:
        raise Rejected(f"{at} is more than five years away", hint="give a nearer time")
    return moment


def time_of_day(at: str, local: datetime) -> time:
    """Read which time of day was meant, also where that day does not have it."""
    if found := _TIME_OF_DAY.fullmatch(at.strip()):
        return time(int(found[1]), int(found[2]))
    meant = datetime.fromisoformat(at.strip())
    return meant.time() if meant.tzinfo is None else local.time()


def on_or_after(now: datetime, wall: time, every: str, zone: ZoneInfo, start: datetime | None = None) -> datetime:
    """Find the next moment after `now` with this time of day, in steps of the rhythm from `start`.

    The time of day is what stays: on a day whose clocks are moved it is as many hours from midnight as they say, and a
    time that a day does not have is the moment at which it would have been.
    """
    day = (start or now).astimezone(zone).date()
    while True:
        moment = datetime.combine(day, wall, tzinfo=zone).astimezone(UTC)
        if moment > now and not (every == "weekdays" and day.weekday() >= _SATURDAY):
            return moment
        day += timedelta(days=_DAYS[every])


def next_moment(due_at: datetime, every: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Find when a recurring message is due again; what was missed meanwhile is not made up for."""
    rhythm, _, wall = every.partition(" ")
    hour, minute = wall.split(":")
    return on_or_after(max(now, due_at), time(int(hour), int(minute)), rhythm, zone, start=due_at)


def slot_before(now: datetime, hours: float, workspace: int) -> datetime | None:
    """Find the latest moment for a heartbeat that has passed; None when there are none.

    Slots follow each other in absolute time, so that no change of the clocks doubles or drops one; each is moved by a
    while that follows from its number, so that heartbeats do not come like clockwork.
    """
    if hours <= 0:
        return None
    # Counted from 1970 in absolute time, so that every process finds the same slots without asking the others.
    period = timedelta(hours=hours)
    number = (now - EPOCH) // period
    starts = (EPOCH + each * period + _jitter(workspace, each, period) for each in (number, number - 1))
    return next(start for start in starts if start <= now)


def _jitter(workspace: int, number: int, period: timedelta) -> timedelta:
    """Move a slot by up to 25 minutes, or a quarter of the period where that is less; the same slot always alike."""
    digest = hashlib.sha256(f"{workspace}:{number}".encode()).digest()
    return min(_LONGEST_JITTER, period / 4) * (int.from_bytes(digest[:4]) / 2**32)


@dataclass(frozen=True, slots=True)
class Night:
    """One nightly pass: the local date it belongs to, and the moment from which it is due."""

    day: date
    moment: datetime

    @property
    def key(self) -> str:
        """Name the pass, so that it is done once."""
        return f"self-awareness {self.day.isoformat()}"


def night_before(now: datetime, hour: int, zone: ZoneInfo) -> Night:
    """Find the latest pass whose hour has come where the workspace is."""
    today = now.astimezone(zone).date()
    days = (today, today - timedelta(days=1))
    nights = (Night(day, datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)) for day in days)
    return next(night for night in nights if night.moment <= now)
