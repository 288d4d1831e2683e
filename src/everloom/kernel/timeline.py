"""Looking back over time: how much happened on each day, what happened between two times, and in which sessions.

Goes by when things happened, not by when they were stored: what an import brings stands where it belongs. Counts stop
at a bound, and lists are pages, so that looking costs the same however much a workspace holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from heapq import merge
from itertools import pairwise
from zoneinfo import ZoneInfo

from everloom.clock import clamped, from_micros, midnight, to_micros
from everloom.errors import Rejected
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

# Kinds that tell what happened, or that were written down at a time. Names of subjects and keyed entries are no events.
KINDS = ("observation", "understanding", "scene", "exchange", "diary", "memory", "note", "turn")
# Every kind of document that the program itself stores; a program that adds documents may use other words.
_STORED = (*KINDS, "preference", "knowledge", "relationship", "tool", "map", "rule", "party")
_STORED_BESIDE = ("subject", "intention", "record", "episode")
# Beyond this, a day is simply full.
MOST_A_DAY = 50
# A little more than a year, so that a calendar can show whole weeks.
MOST_DAYS = 372
_MOST_ITEMS = 200
_MOST_SESSIONS = 100
# A session that began before a time may go on after it: so many of the latest are looked at.
_STILL_RUNNING = 25
_LONGEST_LINE = 400
_CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDay:
    """How much of each kind happened on a day of the workspace; a kind that is full has as many or more."""

    day: date
    counts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedDays:
    """The result of `count_days`; `most` is where counting stops, `first` and `last` are when anything happened."""

    days: tuple[CountedDay, ...]
    most: int
    first: datetime | None
    last: datetime | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastItem:
    """Something that happened, on one line."""

    id: int
    kind: str
    title: str
    text: str
    happened_at: datetime
    # Whether it has been replaced since, or has faded.
    is_past: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """A session of a client, or a sitting of the conversation."""

    id: int
    kind: str
    session_id: str
    started_at: datetime
    latest_activity: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTimes:
    """The result of `look_back`: what happened between two times, in order, and the sessions of that time."""

    items: tuple[PastItem, ...]
    # Only on the first page; latest first.
    sessions: tuple[PastSession, ...]
    # To be passed back for the next page; None after the last one.
    cursor: str | None
    note: str | None = None


def day_of(instant: datetime, zone: ZoneInfo) -> date:
    """Return the day of an instant in a zone."""
    return clamped(instant).astimezone(zone).date()


def count_days(unit: Unit, zone: ZoneInfo, begin: date, end: date) -> CountedDays:
    """Count what happened on each day from `begin` to `end`, both included."""
    if not 0 <= (end - begin).days < MOST_DAYS or begin == date.min or end == date.max:
        raise Rejected(f"{begin} to {end} cannot be counted", hint=f"ask for 1 to {MOST_DAYS} days, the earlier first")
    days = [begin + timedelta(days=number) for number in range((end - begin).days + 1)]
    edges = [to_micros(midnight(day, zone)) for day in (*days, end + timedelta(days=1))]
    known = [row for row in unit.all("timeline.bounds", kinds=json.dumps(KINDS)) if row["first"] is not None]
    # Kinds of which nothing happened in the whole time need not be asked for day by day.
    kinds = [row["kind"] for row in known if row["first"] < edges[-1] and row["last"] >= edges[0]]
    spans = json.dumps(list(pairwise(edges)))
    counts: list[dict[str, int]] = [{} for _ in days]
    if kinds:
        for row in unit.all("timeline.counts", kinds=json.dumps(kinds), spans=spans, most=MOST_A_DAY):
            if row["count"]:
                counts[row["place"]][row["kind"]] = row["count"]
    return CountedDays(
        days=tuple(CountedDay(day=day, counts=found) for day, found in zip(days, counts, strict=True)),
        most=MOST_A_DAY,
        first=from_micros(min(row["first"] for row in known)) if known else None,
        last=from_micros(max(row["last"] for row in known)) if known else None,
    )


def other_kinds(kinds: Iterable[str]) -> list[str]:
    """List the kinds of documents that the faculties do not store; other programs may."""
    return sorted({*kinds} - {*_STORED, *_STORED_BESIDE})


def check_kinds(unit: Unit, kinds: Sequence[str]) -> None:
    """Refuse kinds of which no document is stored."""
    rows = unit.all("timeline.bounds", kinds=json.dumps(kinds))
    if unknown := [row["kind"] for row in rows if row["first"] is None]:
        raise Rejected(f"there is no kind {unknown[0][:40]!r}", hint=f"use {', '.join(_STORED)}")


def look_back(
    unit: Unit, begin: datetime, end: datetime, kinds: Sequence[str] | None, cursor: str | None, limit: int
) -> PastTimes:
    """List what happened from `begin` to `end`, both included."""
    if end < begin:
        raise Rejected("the time ends before it begins", hint="give the earlier time first")
    if unknown := [kind for kind in kinds or () if kind not in KINDS]:
        raise Rejected(f"there is no kind {unknown[0]!r} to look back on", hint=f"use {', '.join(KINDS)}")
    wanted = [kind for kind in KINDS if kinds is None or kind in kinds]
    most = min(limit, _MOST_ITEMS)
    # Everything at the first moment comes after the id 0.
    at, item = (to_micros(begin), 0) if cursor is None else _place(cursor)
    pages = [
        unit.all(
            "timeline.page",
            kind=kind,
            at=max(at, to_micros(begin)),
            id=item,
            end=to_micros(end),
            limit=most + 1,
            longest=_LONGEST_LINE,
        )
        for kind in wanted
    ]
    rows = list(merge(*pages, key=lambda row: (row["happened_at"], row["id"])))
    shown = rows[:most]
    last = shown[-1] if len(rows) > most else None
    return PastTimes(
        items=tuple(_item_from(row) for row in shown),
        sessions=tuple(_sessions(unit, begin, end)) if cursor is None else (),
        cursor=None if last is None else f"{last['happened_at']}.{last['id']}",
    )


def _place(cursor: str) -> tuple[int, int]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise Rejected(f"{cursor!r} is no cursor of look_back", hint="pass back the last page's cursor as it is")
    return int(match[1]), int(match[2])


def _item_from(row: Row) -> PastItem:
    return value_from(PastItem, row, is_past=row["retired_at"] is not None)


def _sessions(unit: Unit, begin: datetime, end: datetime) -> Iterator[PastSession]:
    """List the sessions that began in a time, latest first, then the latest of those that went on into it."""
    first = to_micros(begin)
    rows = unit.all("timeline.sessions", begin=first, end=to_micros(end), limit=_MOST_SESSIONS)
    earlier = unit.all("timeline.sessions", begin=-FOREVER, end=first - 1, limit=_STILL_RUNNING)
    for row in (*rows, *(row for row in earlier if row["seen_at"] >= first)):
        yield value_from(PastSession, row, session_id=row["label"], latest_activity=from_micros(row["seen_at"]))
