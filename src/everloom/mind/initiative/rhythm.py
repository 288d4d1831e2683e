"""When things come round: heartbeats, nightly passes, messages at the same local time again. Pure.

Days and hours are those of the zone that is given, and no change of its clocks doubles or drops anything.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from everloom.clock import EPOCH, read_instant
from everloom.errors import Rejected

Rhythm = Literal["daily", "weekdays", "weekly"]

FURTHEST = timedelta(days=5 * 366)
TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
DAYS = {"daily": 1, "weekdays": 1, "weekly": 7}
SATURDAY = 5
LONGEST_JITTER = timedelta(minutes=25)


def first_moment(at: str, now: datetime, zone: ZoneInfo) -> datetime:
    """Read when a message is due; a bare time of day is the next such time."""
    if found := TIME_OF_DAY.fullmatch(at.strip()):
        return on_or_after(now, time(int(found[1]), int(found[2])), "daily", zone)
    moment = read_instant(at, zone)
    if moment <= now:
        raise Rejected(f"{at} is past: it is {now.astimezone(zone):%Y-%m-%d %H:%M}", hint="give a time to come")
    if moment - now > FURTHEST:
        raise Rejected(f"{at} is more than five years away", hint="give a nearer time")
    return moment


def time_of_day(at: str, local: datetime) -> time:
    """Read which time of day was meant, also where that day does not have it."""
    if found := TIME_OF_DAY.fullmatch(at.strip()):
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
        if moment > now and not (every == "weekdays" and day.weekday() >= SATURDAY):
            return moment
        day += timedelta(days=DAYS[every])


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
    period = timedelta(hours=hours)
    number = (now - EPOCH) // period
    start = EPOCH + number * period + jitter(workspace, number, period)
    if start > now:
        number -= 1
        start = EPOCH + number * period + jitter(workspace, number, period)
    return start


def jitter(workspace: int, number: int, period: timedelta) -> timedelta:
    """Move a slot by up to 25 minutes, or a quarter of the period where that is less; the same slot always alike."""
    digest = hashlib.sha256(f"{workspace}:{number}".encode()).digest()
    return min(LONGEST_JITTER, period / 4) * (int.from_bytes(digest[:4]) / 2**32)


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
    day = now.astimezone(zone).date()
    moment = datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)
    if moment > now:
        day -= timedelta(days=1)
        moment = datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)
    return Night(day, moment)
