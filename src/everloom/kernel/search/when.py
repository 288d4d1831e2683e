"""Times in a question: "last May", "vor zwei Wochen", "le 3 juin 2024", "the week before the wedding".

One reader of the calendars in `languages`: a form is matched, its words become numbers, and the numbers a span. Pure:
the caller gives the current time in the right zone. A phrase that is not understood is not an error; its words
are searched like any others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

import numpy as np
import numpy.typing as npt

from everloom.clock import to_micros
from everloom.kernel.search.fusion import Column
from everloom.kernel.search.languages import CALENDARS, languages_in, whole
from everloom.kernel.texts import Language, language_of

Moments = npt.NDArray[np.int64]
# What a phrase says: places in the tables of its calendar, counts, days and years.
_Told = Mapping[str, int]
_Reader = Callable[[_Told, datetime], Iterator["Span"]]

# "In May" may mean this many years, the current one included.
_YEARS_MEANT = 8
_DAY = timedelta(days=1)
# Spring begins in March.
_FIRST_SEASON = 3
_UNITS = ("day", "week", "weekend", "month", "year")
# Rounded up, so that "the past month" and "the year before" leave out no day.
_LENGTHS = dict(zip(_UNITS, (_DAY, 7 * _DAY, 3 * _DAY, 31 * _DAY, 366 * _DAY), strict=True))
# A quick test that most questions fail: everything below is slower. Of the other Latin languages it has what a question
# without any of their stop words may say.
_HINT = re.compile(
    r"\b(?:jan|feb|mar|apr|ma[iy]|jun|jul|aug|sep|oct|nov|dec|tonight|yesterday|ago|weekend)|day\b|"
    r"\b(?:spring|summer|autumn|fall|winter)|\b(?:last|past|this|previous|before|after) |\b(?:19|20)\d\d\b|\d{4}-\d\d|"
    r"\b(?:gestern|heute|letzte|vor |hier\b|derni|ayer|hoy\b|hace )|pasad[oa]\b",
    re.IGNORECASE,
)
_HINTED = ("en", "")


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
    return _HINT.search(question) is not None or language_of(question) not in _HINTED


def spans_in(question: str, now: datetime) -> tuple[Span, ...]:
    """Parse the times that a question mentions, relative to `now` in its zone."""
    return timed(question, now)[0]


def timed(question: str, now: datetime) -> tuple[tuple[Span, ...], str]:
    """Parse the times that a question mentions; return them and the question to search for.

    Relative times such as "last week" are removed from it, because texts of that week do not use these words; the words
    of a date stay.
    """
    text = " ".join(unicodedata.normalize("NFKC", question).replace(",", " ").replace("\u2019", "'").split())
    forms = [(language, _forms(language)) for language in languages_in(question)]
    for kind, read in _READERS.items():
        for language, patterns in forms:
            for pattern in patterns[kind]:
                told = (_told(language, match) for match in pattern.finditer(text))
                found = [span for each in told for span in _spans(read, each, now)]
                if found:
                    return tuple(found), pattern.sub(" ", text) if kind in _FROM_NOW else question
    return (), question


def _spans(read: _Reader, told: _Told, now: datetime) -> Iterator[Span]:
    """Read the periods of a phrase; one that the calendar cannot show is not recognised."""
    try:
        yield from (span for span in read(told, now) if span.begin < span.end)
    except (OverflowError, ValueError):
        return


def anchor_in(question: str) -> Anchor | None:
    """Parse a time defined by an event, such as "the week before the wedding"."""
    match = _anchor().search(" ".join(question.split()))
    if match is None:
        return None
    told = _told("en", match)
    length = told.get("count", 1) * _LENGTHS[_UNITS[told["unit"]]]
    return Anchor(match["event"].strip(), match["side"].casefold() == "before", length)


@cache
def _anchor() -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:the )?(?:{_group('en', 'COUNT')} )?{_group('en', 'UNIT')} (?P<side>before|after) "
        r"(?P<event>(?:the|my|our|his|her|their|\w+'s) [^?.!]{3,60}|[A-Z][^?.!]{2,60})",
        re.IGNORECASE,
    )


@cache
def _forms(language: Language) -> Mapping[str, Sequence[re.Pattern[str]]]:
    """Compile the ways in which a language tells each kind of time."""
    lines = {kind: forms.splitlines() for kind, forms in CALENDARS[language].forms.items()}
    spelled = {
        kind: [_NAMES.sub(lambda name: _group(language, name[0]), form.strip()) for form in forms]
        for kind, forms in {**lines, "iso": [r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"]}.items()
    }
    return {
        kind: [re.compile(whole(form, language), re.IGNORECASE) for form in forms] for kind, forms in spelled.items()
    }


@cache
def _words(language: Language, table: str) -> Sequence[str]:
    """Return the words of one of a calendar's tables."""
    words = unicodedata.normalize("NFKC", getattr(CALENDARS[language], table))
    return [word.replace("_", " ") for word in words.split()]


def _group(language: Language, name: str) -> str:
    """Return the regular expression for one of the names in a form."""
    if name in _NUMBERS:
        return f"(?P<{name.lower()}>{_NUMBERS[name]})"
    if name == "WHICH":
        return f"(?:{_group(language, 'LAST')}|{_group(language, 'THIS')})"
    tables = _TABLES[name]
    words = "|".join(word for table in tables for word in _words(language, table) if word != "-")
    return rf"(?P<{name.lower()}>\d{{1,3}}|{words})" if name == "COUNT" else f"(?P<{name.lower()}>{words})"


def _told(language: Language, match: re.Match[str]) -> dict[str, int]:
    """Turn the words of a match into numbers: places in the tables of the calendar, counts, days and years."""
    told: dict[str, int] = {}
    for name, word in match.groupdict().items():
        if word is None or name.upper() not in _TABLES.keys() | _NUMBERS.keys():
            continue
        if word.isdecimal():
            told[name] = int(word)
            continue
        for table in _TABLES[name.upper()]:
            place = next((at for at, each in enumerate(_words(language, table)) if _is(each, word)), None)
            if place is not None:
                told[_MEANT.get(table, name)] = place + (table in _FROM_ONE)
                break
    if "two" in told:
        told |= {"unit": told["two"], "count": 2}
    return told


def _is(pattern: str, word: str) -> bool:
    return re.fullmatch(pattern, word, re.IGNORECASE) is not None


_TABLES = {
    "COUNT": ("counts",),
    "UNIT": ("units",),
    "TWO": ("twos",),
    "NEAR": ("near",),
    "MONTH": ("months",),
    "SEASON": ("seasons",),
    "LAST": ("last",),
    "THIS": ("this",),
    "WHAT": ("days", "months", "seasons", "units"),
}
_NUMBERS = {"DAY": r"\d{1,2}", "YEAR": r"(?:19|20)\d\d"}
_NAMES = re.compile("|".join([*_TABLES, *_NUMBERS, "WHICH"]))
# What a word of a table is told as, where the name in the form leaves it open.
_MEANT = {"days": "weekday", "months": "month", "seasons": "season", "units": "unit"}
_FROM_ONE = ("counts", "months")


def _span(begin: datetime, end: datetime) -> Span:
    return Span(to_micros(begin), to_micros(end))


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _moved(month: datetime, by: int) -> datetime:
    """Move to the first day of the month that is `by` months later."""
    place = month.year * 12 + month.month - 1 + by
    return month.replace(year=place // 12, month=place % 12 + 1, day=1)


def _ago(told: _Told, now: datetime) -> Iterator[Span]:
    count, unit, today = told.get("count", 1), _UNITS[told["unit"]], _midnight(now)
    if unit == "day":
        yield _span(today - count * _DAY, today - (count - 1) * _DAY)
    elif unit in ("week", "weekend"):
        # People do not mean it to the day: three days on either side count, too.
        yield _span(today - (count * 7 + 3) * _DAY, today - (count * 7 - 4) * _DAY)
    elif unit == "month":
        yield _span(_moved(today, -count), _moved(today, 1 - count))
    elif now.year - count > 0:
        yield _span(_moved(today.replace(month=1), -12 * count), _moved(today.replace(month=1), 12 - 12 * count))


def _past(told: _Told, now: datetime) -> Iterator[Span]:
    yield _span(_midnight(now) - told["count"] * _LENGTHS[_UNITS[told["unit"]]], now + _DAY)


def _near(told: _Told, now: datetime) -> Iterator[Span]:
    begin = _midnight(now) - told["near"] * _DAY
    yield _span(begin, begin + _DAY)


def _which(told: _Told, now: datetime) -> Iterator[Span]:
    back, today = int("last" in told), _midnight(now)
    if "unit" in told:
        yield from _whole_unit(_UNITS[told["unit"]], back, today)
    elif "weekday" in told:
        behind = (today.weekday() - told["weekday"]) % 7 or (7 if back else 0)
        yield _span(today - behind * _DAY, today - (behind - 1) * _DAY)
    else:
        months = 3 if "season" in told else 1
        first = told["month"] if "month" in told else _first_month(told["season"])
        begin = _moved(today.replace(month=1), first - 1)
        while begin > now or (back and _moved(begin, months) > now):
            begin = _moved(begin, -12)
        yield _span(begin, _moved(begin, months))


def _whole_unit(unit: str, back: int, today: datetime) -> Iterator[Span]:
    """Return the current unit, or the one before it."""
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


def _first_month(season: int) -> int:
    return _FIRST_SEASON + 3 * season


def _dates(told: _Told, now: datetime, months: int = 1) -> Iterator[Span]:
    year, day = told.get("year"), told.get("day")
    for each in [year] if year else range(now.year, now.year - _YEARS_MEANT, -1):
        try:
            begin = _midnight(now).replace(year=each, month=told["month"], day=day or 1)
        except ValueError:
            # The 29th of February is in few years.
            continue
        if year or begin <= now:
            yield _span(begin, begin + _DAY if day else _moved(begin, months))


def _then(told: _Told, now: datetime) -> Iterator[Span]:
    read = _season if "season" in told else _dates
    yield from read({**told, "year": now.year - 1}, now)


def _season(told: _Told, now: datetime) -> Iterator[Span]:
    yield from _dates({**told, "month": _first_month(told["season"])}, now, months=3)


def _year(told: _Told, now: datetime) -> Iterator[Span]:
    yield from _dates({**told, "month": 1}, now, months=12)


_FROM_NOW = ("near", "ago", "past", "then", "which")
# The first kind that a question mentions is used, so the most exact ones come first.
_READERS: Mapping[str, _Reader] = {
    "iso": _dates,
    "date": _dates,
    "near": _near,
    "ago": _ago,
    "past": _past,
    "then": _then,
    "which": _which,
    "month": _dates,
    "season": _season,
    "year": _year,
}
