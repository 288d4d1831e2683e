"""The corpus of hostile values, by type: what breaks a parser, a store, a clock or a search, each with a short name.

A heavy text has the largest accepted length, and is one pattern repeated. Has no list of verbs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from everloom.kernel.verbs import LONGEST_TEXT

_LIST_SIZES = (0, 1, 500, 10_000)
# A text is read in the same way alone and in a list, so that a list of texts need not be tried with each.
_ALONE = 10


@dataclass(frozen=True, slots=True)
class Hostile:
    """One value of the corpus.

    Unless the run is long, of the values that are `one_of` several, a parameter gets that share of them.
    """

    name: str
    value: Any
    one_of: int = 1


# Repeated by the test that measures time, and in texts of the largest length.
PATTERNS: Mapping[str, str] = {
    "a PEM header": "-----BEGIN PRIVATE KEY-----",
    "a PEM key": "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
    "brackets": "[",
    "parentheses": "(((",
    "double quotes": '"',
    "quotes": "'\" ",
    "backquotes": "`",
    "fences": "```\n",
    "emphasis": "*_",
    "headings": "# a\n",
    "list items": "- [ ] a\n",
    "nested items": "  - a\n    ",
    "table cells": "|a",
    "a b": "a b ",
    "one letter": "a",
    "long words": "abcdefghij" * 30 + " ",
    "words": "the boat of James sails home. ",
    "names": "James and Audrey ",
    "dates": "2026-11-15 ",
    "days": "yesterday, last Monday, 3 May, ",
    "addresses": "https://example.org/a?b=c ",
    "slashes": "://",
    "mail": "a@b.cc ",
    "at signs": "@a",
    "links": "[[",
    "closed links": "[[a]] ",
    "Markdown links": "[a](b",
    "pictures": "![](",
    "entities": "&#x202e;",
    "ampersands": "&",
    "tags": "<a ",
    "hash tags": "#a ",
    "digits": "4",
    "cards": "4111 1111 1111 1111 ",
    "numbers": "4041 4177 4322 ",
    "passwords": "password: ",
    "tokens": "ghp_a",
    "equals signs": "key=",
    "lines": "\n",
    "carriage returns": "\r\n",
    "spaces": " ",
    "dashes": "---\n",
    "front matter": "---\na: b\n---\n",
    "YAML aliases": "&a [*a, ",
    "JSON": '{"a":',
    "backslashes": "\\",
    "stops": "a. ",
    "commas": "a,",
    "colons": "a: b: ",
    "wildcards": "%_*?",
    "zero-width": "a\u200b",
    "combining": "e\u0301",
    "Chinese": "张伟的手机",
    "Arabic": "هاتف ",
    "emoji": "👩‍👩‍👧",
    "folding": "İß",
    "speakers": "James: hello\n",
    "percent": "%41",
    "base64": "QUJD",
    "hex": "deadbeef",
}

# Each of these is one value; several properties share a value where none of them is refused.
TEXTS: Mapping[str, str] = {
    "nothing": "",
    "blank": " \t\n",
    "one letter": "a",
    "one sign": ".",
    "two dots": "..",
    "a path": "../../etc/passwd",
    "a path from the root": "/dev/null",
    "a Windows device": "C:\\con.md",
    "a hidden file": ".git/config",
    "a note's file": "SOUL.md",
    "an option": "--help",
    "NUL": "a\0b",
    "half a pair": "a\ud800",
    "the other half": "\udfffa",
    "unseen": "\u202eab\u200bc\u2066\u2028\u0085\ufeffd",
    "only unseen": "\u200b\u2060",
    "control": "\x1b[31ma\x7f\x08",
    "far away": "\U0010ffff\ue000",
    "combining": "e" + "\u0301" * 200,
    "folds to more": "İSTANBULﬁß",
    "folds to a name": "ＪＡＭＥＳ ",
    "a name in small letters": "james",
    "Cyrillic alike": "Jаmes",
    "emoji": "👩‍👩‍👧‍👦🇩🇪",
    "Chinese": "张伟的手机是什么？",
    "Arabic": "ما هو هاتف علي؟",
    "SQL": "'; DROP TABLE item; --",
    "a word query": '" OR NEAR(* AND -',
    "wildcards": "%_*?[a-z]\\",
    "formats": "%s {0} {a.b} $a",
    "links": "[[James]] [[ ]] ![[a]] [a](javascript:b)",
    "markup": "<script>&#x202e;&#0;</script>",
    "a fence": "```\n---\nid: 1\n---\n> a",
    "front matter": "---\nid: [1\na: !!python/object:b\n---\n",
    "null": "null",
    "true": "true",
    "a number": "-1e999",
    "too large a number": "9" * 40,
    "zero": "0",
    "JSON": '{"a": [1, null]}',
    "deep JSON": "[" * 5_000,
    "a list in JSON": '["James", null, 1]',
    "a closed set": "banana",
    "a kind": "observation",
    "the last day": "9999-12-31",
    "the last second": "9999-12-31T23:59:59-14:00",
    "the first day": "0001-01-01T00:00+14:00",
    "no day": "2026-02-30",
    "a missing hour": "2026-03-29T02:30",
    "wide digits": "２０２６-１１-１５",
    "a month": "9999-12",
    "a sentence about days": "The contract ran from 0001-01-01 until 9999-12-31, about 99999999999 days ago.",
    "long": "a" * 2_001,
    "many words": "boat " * 400,
    "many lines": "\n" * 2_000,
}

NUMBERS: Mapping[str, Any] = {
    "zero": 0,
    "one": 1,
    "minus one": -1,
    "two": 2,
    "1,000": 1_000,
    "32 bits": 2**31,
    "53 bits": 2**53 + 1,
    "the largest": 2**63 - 1,
    "the smallest": -(2**63),
    "64 bits": 2**63,
    "100 digits": 10**100,
    "5,000 digits": 10**5_000,
    "no such id": 987_654_321,
}

FRACTIONS: Mapping[str, Any] = {
    "zero": 0.0,
    "minus zero": -0.0,
    "a half": 0.5,
    "one": 1,
    "more than one": 1.0000001,
    "minus one": -1.0,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "minus infinite": float("-inf"),
    "tiny": 5e-324,
    "huge": 1.7e308,
    "a whole number": 10**400,
}

_BERLIN, _EAST = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=14))
# The ends of the calendar in the zones furthest east and west, and where a zone's hours are missing or come twice.
DATES: Mapping[str, Any] = {
    **{
        f"the {name} second in {zone}": end.replace(tzinfo=zone)
        for (name, end), zone in product(
            (("first", datetime.min), ("last", datetime.max)),  # noqa: DTZ901  the zone follows
            (
                UTC,
                _BERLIN,
                timezone(timedelta(hours=14)),
                timezone(timedelta(hours=-14)),
                ZoneInfo("Pacific/Kiritimati"),
            ),
        )
    },
    "the second day": datetime(1, 1, 2, tzinfo=UTC),
    "the last day but one": datetime(9999, 12, 30, tzinfo=UTC),
    "a missing hour": datetime(2026, 3, 29, 2, 30, tzinfo=_BERLIN),
    "an hour that comes twice": datetime(2026, 10, 25, 2, 30, tzinfo=_BERLIN, fold=1),
    "half an hour": datetime(2026, 4, 5, 1, 45, tzinfo=ZoneInfo("Australia/Lord_Howe"), fold=1),
    "a missing day": datetime(2011, 12, 30, 12, tzinfo=ZoneInfo("Pacific/Apia")),
    "seconds of an offset": datetime(1883, 11, 18, 12, 3, 57, tzinfo=ZoneInfo("America/New_York")),
    "microseconds of an offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=1))),
    "before the epoch": datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    "after 32 bits": datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    "next century": datetime(2126, 2, 28, tzinfo=UTC),
    "no zone": datetime(2026, 11, 15),  # noqa: DTZ001  this is what is hostile about it
}


class _Stranger:
    """An object of a program that no verb knows."""


# Of no type that a verb declares, or of another one than it declares.
WRONG: Mapping[str, Any] = {
    "None": None,
    "a truth": True,
    "a whole number": 7,
    "a fraction": 0.5,
    "a text": "text",
    "bytes": b"\xff",
    "a list": ["James"],
    "nested lists": [[[["James"]]]],
    "a mapping": {"name": "James"},
    "a mapping of numbers": {1: {2: [3]}},
    "a time": datetime(2026, 11, 15, tzinfo=UTC),
    "an object": _Stranger(),
}


# By the class that a declaration names.
PLAIN: Mapping[type, Mapping[str, Any]] = {
    str: TEXTS,
    int: NUMBERS,
    float: FRACTIONS,
    datetime: DATES,
    bool: {"true": True, "false": False},
}


def light(values: Mapping[str, Any]) -> Iterator[Hostile]:
    """List named values."""
    return (Hostile(name, value) for name, value in values.items())


def heavy_texts(longest: int = LONGEST_TEXT) -> Iterator[Hostile]:
    """List each pattern repeated up to the largest length, and one character more."""
    yield Hostile("one character too many", "a" * (longest + 1))
    for name, pattern in PATTERNS.items():
        yield Hostile(f"{name}, {longest:,} characters", repeated(pattern, longest), len(PATTERNS))


def repeated(pattern: str, length: int) -> str:
    """Repeat a pattern up to a length."""
    return (pattern * (length // len(pattern) + 1))[:length]


def lists_of(entries: Sequence[Hostile], usual: Any) -> Iterator[Hostile]:
    """List lists of hostile entries: each alone, all of them, one of them twice, and many usual ones."""
    for each in entries:
        yield Hostile(f"[{each.name}]", [each.value], each.one_of * _ALONE)
    yield Hostile("twice the same", [usual, usual])
    yield Hostile("a tuple", (usual,))
    yield Hostile("all of them", [each.value for each in entries if each.one_of == 1])
    for size in _LIST_SIZES:
        yield Hostile(f"{size:,} entries", [usual] * size)


def mappings_of(usual: Mapping[str, Any], values: Sequence[Hostile]) -> Iterator[Hostile]:
    """List mappings: empty, large, deep, with hostile names, and a usual one with each hostile value in each place."""
    yield Hostile("an empty mapping", {})
    yield Hostile("10,000 keys", dict.fromkeys(map(str, range(10_000)), 0))
    yield Hostile("a deep mapping", {**usual, "a": nested(200)})
    yield Hostile("a very deep mapping", {**usual, "a": nested(20_000)})
    for name, text in TEXTS.items():
        yield Hostile(f"the key: {name}", {**usual, text: "a"}, _ALONE)
    for key, each in product(usual, values):
        yield Hostile(f"{key}: {each.name}", {**usual, key: each.value}, each.one_of * len(usual))


def nested(depth: int) -> Any:
    """Nest lists."""
    value: Any = "a"
    for _ in range(depth):
        value = [value]
    return value


def variants(sample: Any, values: Sequence[Hostile], share: int = 1) -> Iterator[Hostile]:
    """List copies of JSON with one place changed: each value somewhere, and in each place a value at least."""
    places = list(_places(sample))
    for number, (place, each) in enumerate(product(places, values)):
        if number % share == 0:
            yield Hostile(f"{'.'.join(map(str, place))}: {each.name}", _changed(sample, place, each.value))


_JSON_TYPES = (str, int, float, list, dict, type(None))


def json_values() -> list[Hostile]:
    """List what JSON can hold in a place where something else is expected."""
    plain = {
        **WRONG,
        **TEXTS,
        "the largest": NUMBERS["the largest"],
        "100 digits": NUMBERS["100 digits"],
        "deep": nested(100),
    }
    other = {name: FRACTIONS[name] for name in ("not a number", "infinite", "huge", "minus one")}
    kept = {**plain, **other, "a negative time": -(10**18), "a far time": 10**15}
    return [
        Hostile(name, value)
        for name, value in kept.items()
        if isinstance(value, str | int | float | list | dict | None)
    ]


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*above, key))


def _changed(value: Any, place: tuple[Any, ...], to: Any) -> Any:
    if not place:
        return to
    copy = value.copy()
    copy[place[0]] = _changed(value[place[0]], place[1:], to)
    return copy
