"""Computes when the agent may speak first: heartbeats, nightly passes, recurring messages, reasons for silence. Pure.

Days and hours are those of the given time zone, and a change of its clocks neither repeats nor skips anything. Refuses
to know notes and models: what to say is decided elsewhere.
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
# The contract's half hour: after so long a pause a conversation is over, and the agent may speak first again.
_SILENCE = timedelta(minutes=30)
_ACTIVE = 4
_MOST_UNANSWERED = 3
_MOST_UNANSWERED_ON_WEEKENDS = 2


@dataclass(frozen=True, slots=True)
class Awareness:
    """The state of the conversation; the pauses are None if nobody has spoken yet."""

    local: datetime
    unanswered: int
    since_own: timedelta | None
    since_any: timedelta | None
    # How many messages were exchanged since the last pause.
    lively: int

    @property
    def is_weekend(self) -> bool:
        """Check whether it is Saturday or Sunday in the workspace's time zone."""
        return self.local.weekday() >= _SATURDAY

    @property
    def is_active(self) -> bool:
        """Check whether a conversation is in progress."""
        return self.since_any is not None and self.since_any < _SILENCE and self.lively > _ACTIVE

    def describe(self) -> str:
        """Describe the state for a model."""
        own, any_ = (
            "never" if span is None else f"{span // timedelta(minutes=1)} minutes ago"
            for span in (self.since_own, self.since_any)
        )
        return (
            f"It is {self.local:%Y-%m-%d %H:%M, %A}. Your last message: {own}. Last message of either: {any_}. "
            f"Messages of yours without an answer: {self.unanswered}."
        )


def read_awareness(said: Sequence[SpokenLine], now: datetime, zone: ZoneInfo) -> Awareness:
    """Compute the state of the conversation from its messages, oldest first."""
    own = next((each.at for each in reversed(said) if each.speaker == "agent"), None)
    return Awareness(
        local=now.astimezone(zone),
        # What nobody got, nobody could answer.
        unanswered=sum(each.is_heard for each in takewhile(lambda each: each.speaker == "agent", reversed(said))),
        since_own=None if own is None else now - own,
        since_any=now - said[-1].at if said else None,
        lively=_count_lively(said),
    )


def _count_lively(said: Sequence[SpokenLine]) -> int:
    """Count the messages since the last pause."""
    count = 0
    later: datetime | None = None
    for each in reversed(said):
        if later is not None and later - each.at >= _SILENCE:
            break
        count, later = count + 1, each.at
    return count


def is_quiet(hour: int, quiet_from: int, quiet_until: int) -> bool:
    """Check whether an hour is quiet; the span may cross midnight, and is empty if both ends are equal."""
    if quiet_from <= quiet_until:
        return quiet_from <= hour < quiet_until
    return hour >= quiet_from or hour < quiet_until


def reason_to_be_silent(aware: Awareness, quiet_from: int, quiet_until: int) -> str | None:
    """Return the first reason why the agent must not speak first now; None if it may."""
    # The order is the contract's, and the first reason that applies is the one that is recorded.
    unanswered = f"{aware.unanswered} messages are unanswered"
    rests = is_quiet(aware.local.hour, quiet_from, quiet_until)
    rules = {
        unanswered: aware.unanswered >= _MOST_UNANSWERED,
        "spoke less than 30 minutes ago": aware.since_own is not None and aware.since_own < _SILENCE,
        f"it is the weekend and {unanswered}": aware.is_weekend and aware.unanswered >= _MOST_UNANSWERED_ON_WEEKENDS,
        f"quiet hours ({quiet_from}:00 to {quiet_until}:00)": rests,
        "a conversation is in progress": aware.is_active,
    }
    return next((reason for reason, holds in rules.items() if holds), None)


def first_moment(at: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Parse when a message is due; a time without a date means its next occurrence."""
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
    """Return the intended time of day, even if the clocks skip it on that day."""
    if found := _TIME_OF_DAY.fullmatch(at.strip()):
        return time(int(found[1]), int(found[2]))
    meant = datetime.fromisoformat(at.strip())
    return meant.time() if meant.tzinfo is None else local.time()


def on_or_after(now: datetime, wall: time, every: str, zone: ZoneInfo, start: datetime | None = None) -> datetime:
    """Find the next moment after `now` at this time of day, in steps of the interval from `start`.

    The local time of day stays the same across changes of the clocks. A time that is skipped on a day is replaced by
    the moment at which it would have been.
    """
    day = (start or now).astimezone(zone).date()
    while True:
        moment = datetime.combine(day, wall, tzinfo=zone).astimezone(UTC)
        if moment > now and not (every == "weekdays" and day.weekday() >= _SATURDAY):
            return moment
        day += timedelta(days=_DAYS[every])


def next_moment(due_at: datetime, every: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Find when a recurring message is due again; missed occurrences are skipped."""
    rhythm, _, wall = every.partition(" ")
    hour, minute = wall.split(":")
    return on_or_after(max(now, due_at), time(int(hour), int(minute)), rhythm, zone, start=due_at)


def slot_before(now: datetime, hours: float, workspace: int) -> datetime | None:
    """Find the latest past slot for a heartbeat; None if heartbeats are off.

    Slots are counted in absolute time, so that no change of the clocks repeats or skips one. Each is shifted by an
    amount that depends on its number, so that heartbeats do not come like clockwork.
    """
    if hours <= 0:
        return None
    # Counted from 1970, so that every process computes the same slots without any shared state.
    period = timedelta(hours=hours)
    number = (now - EPOCH) // period
    starts = (EPOCH + each * period + _jitter(workspace, each, period) for each in (number, number - 1))
    return next(start for start in starts if start <= now)


def slot_after(now: datetime, hours: float, workspace: int) -> datetime | None:
    """Find the next slot for a heartbeat; None if heartbeats are off."""
    if hours <= 0:
        return None
    period = timedelta(hours=hours)
    number = (now - EPOCH) // period
    starts = (EPOCH + each * period + _jitter(workspace, each, period) for each in (number, number + 1))
    return next(start for start in starts if start > now)


def _jitter(workspace: int, number: int, period: timedelta) -> timedelta:
    """Compute the shift of a slot: up to 25 minutes or a quarter of the period, always the same for one slot."""
    digest = hashlib.sha256(f"{workspace}:{number}".encode()).digest()
    return min(_LONGEST_JITTER, period / 4) * (int.from_bytes(digest[:4]) / 2**32)


@dataclass(frozen=True, slots=True)
class Night:
    """One nightly pass: its local date, and the moment from which it is due."""

    day: date
    moment: datetime

    @property
    def key(self) -> str:
        """Return the key under which the pass is recorded as done."""
        return f"self-awareness {self.day.isoformat()}"


def night_before(now: datetime, hour: int, zone: ZoneInfo) -> Night:
    """Find the latest pass whose hour has come in the workspace's time zone."""
    today = now.astimezone(zone).date()
    days = (today, today - timedelta(days=1))
    nights = (Night(day, datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)) for day in days)
    return next(night for night in nights if night.moment <= now)


def night_after(now: datetime, hour: int, zone: ZoneInfo) -> Night:
    """Find the next pass whose hour has not come yet."""
    today = now.astimezone(zone).date()
    days = (today, today + timedelta(days=1))
    nights = (Night(day, datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)) for day in days)
    return next(night for night in nights if night.moment > now)
