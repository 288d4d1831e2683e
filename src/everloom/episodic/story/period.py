"""Which days a story is about, how it calls them, and into which periods its pictures cut them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from everloom.errors import Rejected

Grain = Literal["day", "week", "month", "year"]

_DAY = timedelta(days=1)
# Up to so many days a period is a day, a week or a month: about as many as fit beside each other.
_LONGEST: tuple[tuple[int, Grain], ...] = ((62, "day"), (400, "week"), (366 * 8, "month"))
_MOST_YEARS = 100
_MONTH = re.compile(r"(\d{4})-(\d{1,2})")


@dataclass(frozen=True, slots=True)
class StoryRequest:
    """What was asked for: a month, a year, or the first and the last day; nothing is the last twelve months."""

    month: str | None = None
    year: int | None = None
    begins: date | None = None
    ends: date | None = None


@dataclass(frozen=True, slots=True)
class StoryRange:
    """The days of a story, both ends included, and what they are called."""

    begins: date
    ends: date
    title: str

    @property
    def days(self) -> int:
        """How many days there are."""
        return (self.ends - self.begins).days + 1

    @property
    def grain(self) -> Grain:
        """How long a period of its pictures is."""
        return next((grain for longest, grain in _LONGEST if self.days <= longest), "year")

    def named(self, day: date) -> str:
        """Write a day, with its year where the range has several."""
        return f"{day.day} {day:%B}" if self.begins.year == self.ends.year else f"{day.day} {day:%B} {day.year:04}"

    def periods(self) -> Iterator[date]:
        """List the days on which periods begin; the first and the last may be cut short."""
        here = begin_of(self.begins, self.grain)
        while here <= self.ends:
            yield here
            if (following := _after(here, self.grain)) is None:
                return
            here = following


def begin_of(day: date, grain: Grain) -> date:
    """Find the day on which the period of a day begins; weeks begin on Monday."""
    match grain:
        case "year":
            return day.replace(month=1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    return day


def _after(day: date, grain: Grain) -> date | None:
    """Find the beginning of the next period; None where the calendar ends."""
    # From any day of a period, so many days on lies in the next one.
    step = {"day": 1, "week": 7, "month": 32, "year": 367}[grain]
    if (date.max - day).days < step:
        return None
    return begin_of(day + timedelta(days=step), grain)


def range_of(asked: StoryRequest, today: date) -> StoryRange:
    """Decide which days a request means."""
    ways = [asked.month is not None, asked.year is not None, asked.begins is not None or asked.ends is not None]
    if sum(ways) > 1:
        raise Rejected("this asks for several ranges at once", hint="give a month, a year, or from and to")
    if asked.month is not None:
        return _month(asked.month)
    if asked.year is not None:
        begins = _first_of(asked.year, 1, str(asked.year))
        return StoryRange(begins, date(asked.year, 12, 31), f"{asked.year:04}")
    ends = asked.ends or max(today, asked.begins or today)
    begins = asked.begins or _year_before(ends)
    if begins > ends:
        raise Rejected(f"the range ends before it begins: {begins} to {ends}", hint="give the earlier day first")
    if ends.year - begins.year > _MOST_YEARS:
        raise Rejected(f"a story spans at most {_MOST_YEARS} years", hint="ask for a shorter range")
    return StoryRange(begins, ends, _title(begins, ends))


def _year_before(day: date) -> date:
    """Find the day with which twelve months begin that end on a day."""
    if day.year == date.min.year:
        return date.min
    # The day after the same day a year before; after a leap day, the first of March.
    month, number = (2, 28) if (day.month, day.day) == (2, 29) else (day.month, day.day)
    return date(day.year - 1, month, number) + _DAY


def _month(text: str) -> StoryRange:
    shape = _MONTH.fullmatch(text.strip())
    if shape is None:
        raise Rejected(f"{text!r} is not a month", hint="write a month as 2026-05")
    begins = _first_of(int(shape[1]), int(shape[2]), text)
    following = _after(begins, "month")
    ends = date.max if following is None else following - _DAY
    return StoryRange(begins, ends, f"{begins:%B} {begins.year:04}")


def _first_of(year: int, month: int, given: str) -> date:
    try:
        return date(year, month, 1)
    except (OverflowError, ValueError) as error:
        raise Rejected(f"{given!r} is not in the calendar", hint="write a month as 2026-05, a year as 2026") from error


def _title(begins: date, ends: date) -> str:
    last = f"{ends.day} {ends:%B} {ends.year:04}"
    if begins == ends:
        return last
    if begins.year != ends.year:
        return f"{begins.day} {begins:%B} {begins.year:04} to {last}"
    return f"{begins.day} {begins:%B} to {last}" if begins.month != ends.month else f"{begins.day} to {last}"
