"""Times in a question: "last May", "two weeks ago", "on 3 June 2024", "the week before the wedding".

Pure: the caller gives the current time in the right zone. A phrase that is not understood is not an error; its words
are searched like any others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from everloom.clock import to_micros
from everloom.kernel.search.fusion import Column

Moments = npt.NDArray[np.int64]

_MONTHS = (
    "january february march april may june july august september october november december".split()
)  # fmt: skip
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "a few": 3, "few": 3}
_COUNTS |= {"four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
# "In May" may mean this many years, the current one included.
_YEARS_MEANT = 8
_DAY = timedelta(days=1)

_MONTH = "|".join([*_MONTHS, *(month[:3] for month in _MONTHS), "sept"])
_COUNT = "|".join([r"\d{1,3}", *sorted(_COUNTS, key=len, reverse=True)])
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th)?"
# A quick test that most questions fail: everything below is slower.
_HINT = re.compile(
    rf"\b(?:{_MONTH}|{'|'.join(_DAYS)}|{'|'.join(_SEASONS)}|today|tonight|yesterday|ago|weekend|"
    rf"(?:last|past|this|previous|before|after) |{_YEAR}\b|\d{{4}}-\d\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A period of time in microseconds; its end is exclusive."""

    begin: int
    end: int

    def credit(self, moments: Moments) -> Column:
        """Rate how well each moment fits: 1 inside, decreasing after the end, 0 before the beginning."""
        # Texts about a time are often written after it, about a weekend on Monday, for example. The credit fades over a
        # quarter of the span, but over no less than a day and a half and no more than ten days.
        tail = min(max((self.end - self.begin) / 4, 1.5 * 86_400e6), 10 * 86_400e6)
        late = np.maximum(0, moments - self.end)
        return np.where(moments < self.begin, 0.0, np.exp(-late / tail))


@dataclass(frozen=True, slots=True)
class Anchor:
    """A period defined by an event: a length of time before or after whatever the phrase describes."""

    phrase: str
    before: bool
    length: timedelta

    def span(self, at: int) -> Span:
        """Return the period for an event at a given moment."""
        far = round(self.length.total_seconds() * 1e6)
        return Span(at - far, at) if self.before else Span(at, at + far)


def credit(spans: Sequence[Span], moments: Moments) -> Column:
    """Rate how well each moment fits the best of the spans."""
    best: Column = np.max([span.credit(moments) for span in spans], axis=0)
    return best


def mentions_time(question: str) -> bool:
    """Return whether a question may mention a time."""
    return _HINT.search(question) is not None


def spans_in(question: str, now: datetime) -> tuple[Span, ...]:
    """Parse the times that a question mentions, relative to `now` in its zone."""
    return timed(question, now)[0]


def timed(question: str, now: datetime) -> tuple[tuple[Span, ...], str]:
    """Parse the times that a question mentions; return them and the question to search for.

    Relative times such as "last week" are removed from it, because texts of that week do not use these words; the words
    of a date stay.
    """
    text = " ".join(question.casefold().replace(",", " ").split())
    for pattern, read in _READERS:
        found = [span for match in pattern.finditer(text) for span in read(match, now) if span.begin < span.end]
        if found:
            return tuple(found), pattern.sub(" ", text) if read in _FROM_NOW else question
    return (), question


def anchor_in(question: str) -> Anchor | None:
    """Parse a time defined by an event, such as "the week before the wedding"."""
    match = _ANCHOR.search(" ".join(question.split()))
    if match is None:
        return None
    count = _count(match["count"]) if match["count"] else 1
    return Anchor(
        match["event"].strip(), match["side"].casefold() == "before", count * _UNITS[match["unit"].casefold()]
    )


# Rounded up, so that "the past month" and "the year before" leave out no day.
_UNITS = {"day": _DAY, "weekend": 3 * _DAY, "week": 7 * _DAY, "month": 31 * _DAY, "year": 366 * _DAY}
_ANCHOR = re.compile(
    rf"\b(?:the )?(?:(?P<count>{_COUNT}) )?(?P<unit>day|week|weekend|month|year)s? (?P<side>before|after) "
    r"(?P<event>(?:the|my|our|his|her|their|\w+'s) [^?.!]{3,60}|[A-Z][^?.!]{2,60})",
    re.IGNORECASE,
)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word.casefold()]


def _span(begin: datetime, end: datetime) -> Span:
    return Span(to_micros(begin), to_micros(end))


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _moved(month: datetime, by: int) -> datetime:
    """Move to the first day of the month that is `by` months later."""
    place = month.year * 12 + month.month - 1 + by
    return month.replace(year=place // 12, month=place % 12 + 1, day=1)


def _ago(match: re.Match[str], now: datetime) -> Iterator[Span]:
    count, unit, today = _count(match[1]), match[2], _midnight(now)
    if unit == "day":
        yield _span(today - count * _DAY, today - (count - 1) * _DAY)
    elif unit in ("week", "weekend"):
        # People do not mean it to the day: three days on either side count, too.
        yield _span(today - (count * 7 + 3) * _DAY, today - (count * 7 - 4) * _DAY)
    elif unit == "month":
        yield _span(_moved(today, -count), _moved(today, 1 - count))
    elif now.year - count > 0:
        yield _span(_moved(today.replace(month=1), -12 * count), _moved(today.replace(month=1), 12 - 12 * count))


def _past(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield _span(_midnight(now) - _count(match[1]) * _UNITS[match[2]], now + _DAY)


def _near_day(match: re.Match[str], now: datetime) -> Iterator[Span]:
    back = {"today": 0, "tonight": 0, "this morning": 0, "yesterday": 1, "last night": 1, "day before yesterday": 2}
    begin = _midnight(now) - back[match[1]] * _DAY
    yield _span(begin, begin + _DAY)


def _near(match: re.Match[str], now: datetime) -> Iterator[Span]:
    back, unit, today = 0 if match[1] == "this" else 1, match[2], _midnight(now)
    monday = today - today.weekday() * _DAY
    if unit == "week":
        yield _span(monday - 7 * back * _DAY, monday + 7 * (1 - back) * _DAY)
    elif unit == "weekend":
        # "Last weekend", said on a weekday, is the one just past; said on a weekend, it is the current one. Friday
        # counts as part of it.
        saturday = monday + 5 * _DAY - 7 * _DAY * (1 if back and today.weekday() < 5 else 0)
        yield _span(saturday - _DAY, saturday + 2 * _DAY)
    elif unit == "month":
        yield _span(_moved(today, -back), _moved(today, 1 - back))
    elif unit == "year":
        yield _span(_moved(today.replace(month=1), -12 * back), _moved(today.replace(month=1), 12 - 12 * back))
    elif unit in _DAYS:
        behind = (today.weekday() - _DAYS.index(unit)) % 7 or (7 if back else 0)
        yield _span(today - behind * _DAY, today - (behind - 1) * _DAY)
    else:
        months = 3 if unit in _SEASONS else 1
        first = _SEASONS.get(unit) or _month(unit)
        begin = _moved(today.replace(month=1), first - 1)
        while begin > now or (back and _moved(begin, months) > now):
            begin = _moved(begin, -12)
        yield _span(begin, _moved(begin, months))


def _month(word: str) -> int:
    return next(place for place, month in enumerate(_MONTHS, 1) if month.startswith(word[:3]))


def _dates(day: str | None, month: int, year: str | None, now: datetime, months: int = 1) -> Iterator[Span]:
    years = [int(year)] if year else range(now.year, now.year - _YEARS_MEANT, -1)
    for each in years:
        try:
            begin = _midnight(now).replace(year=each, month=month, day=int(day or 1))
        except ValueError:
            continue
        if year or begin <= now:
            yield _span(begin, begin + _DAY if day else _moved(begin, months))


def _iso(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(match[3], int(match[2]), match[1], now) if 1 <= int(match[2]) <= 12 else ()


def _day_month(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(match[1], _month(match[2]), match[3], now)


def _month_day(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(match[2], _month(match[1]), match[3], now)


def _in_month(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(None, _month(match[1]), match[2], now)


def _season(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(None, _SEASONS[match[1]], match[2], now, months=3)


def _year(match: re.Match[str], now: datetime) -> Iterator[Span]:
    yield from _dates(None, 1, match[1], now, months=12)


_FROM_NOW = (_near_day, _ago, _past, _near)
_LAST = "|".join(["week", "weekend", "month", "year", *_DAYS, *_MONTHS, *_SEASONS])
_OF = r"(?: of)? "
# The first pattern that matches is used, so the most exact ones come first.
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Iterator[Span]]], ...] = (
    (re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b"), _iso),
    (re.compile(rf"\b{_ORDINAL}(?: of)? ({_MONTH})\b(?:{_OF}({_YEAR})\b)?"), _day_month),
    (re.compile(rf"\b({_MONTH}) {_ORDINAL}\b(?: ({_YEAR})\b)?"), _month_day),
    (re.compile(r"\b(day before yesterday|today|tonight|this morning|yesterday|last night)\b"), _near_day),
    (re.compile(rf"\b({_COUNT}) (day|week|weekend|month|year)s? ago\b"), _ago),
    (re.compile(rf"\b(?:last|past|previous) ({_COUNT}) (day|week|month|year)s?\b"), _past),
    (re.compile(rf"\b(last|this|previous) ({_LAST})\b(?! (?:19|20)\d\d)"), _near),
    (re.compile(rf"\b({_MONTH})\b{_OF}({_YEAR})\b"), _in_month),
    (re.compile(rf"\b(?:in|during|since|early|mid|late|of) ({'|'.join(_MONTHS)})\b()"), _in_month),
    (re.compile(rf"\b({'|'.join(_SEASONS)})\b{_OF}({_YEAR})\b"), _season),
    (re.compile(rf"\b(?:in|during|of|since|by) ({_YEAR})\b"), _year),
)
