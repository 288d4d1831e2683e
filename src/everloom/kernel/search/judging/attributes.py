"""Everyday attributes, such as a home, a job or a price: which of them a question asks for, and which a text tells.

Pure, apart from reading `attributes.toml`, which says how each is put in nine languages. Must not depend on a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from everloom.kernel.texts import LANGUAGES, LANGUAGES_IN_LATIN, Language, folded_tokens, is_unspaced, latin_languages

# A gap in a phrase: so many words, or so many characters in a script without spaces.
_GAP_WORDS, _GAP_CHARACTERS = 4, 10
# A text tells by its beginning what it is about; a whole chapter would tell every attribute.
_BEGINNING = 4_000
# A sentence names whom it is about in its first words.
_OPENING = re.compile(r"['\u2019]s\s+\S+\s+\S+|\S+\s+\S+|[の的]\S{1,3}")
_KIN = frozenset({"children", "family", "partner", "pet", "siblings"})
# A German compound has so many letters, and no fewer in each of its parts than the second number.
_COMPOUND, _HEAD = 9, 4
_NUMBER, _GAP = "#", ".."
_PART = re.compile(r"\.\.|#|[^\s.#]+")
_UNSPACED = ("ja", "zh")
_DAYS = "days"
_HAN_NUMBERS = frozenset("一二三四五六七八九十百千万两")
# What Arabic writes together with the word that follows.
_ARABIC_BEGINNING = re.compile(r"\A(?:[وف]?(?:[بك]?ال|لل)|[وفبل])(?=..)")
_ARABIC = re.compile("[\u0600-\u06ff]")


class _Phrase(NamedTuple):
    """A phrase as its parts, each of one attribute; `language` is empty for scripts that name their own language."""

    attribute: str
    parts: tuple[str, ...]
    language: str


# Phrases by their first part. A stem ends in "*".
_Phrases = Mapping[str, Sequence[_Phrase]]


@dataclass(frozen=True, slots=True, eq=False)
class _PhraseTable:
    """How attributes are asked for, or told: in words, in runs without spaces, and by values."""

    words: _Phrases
    runs: _Phrases
    values: Mapping[str, re.Pattern[str]]
    shortest: int
    longest: int


class _Tables(NamedTuple):
    """How attributes are asked for and told, and how texts tell those that have a value such as a price or a time.

    `whose` may only name somebody of whom another one is asked.
    """

    asking: _PhraseTable
    telling: _PhraseTable
    claiming: _PhraseTable
    valued: frozenset[str]
    whose: frozenset[str]


@lru_cache(maxsize=256)
def asked_attributes(question: str) -> frozenset[str]:
    """Return the attributes that a question asks for; most questions ask for none of them."""
    tables = _tables()
    found = frozenset(_found(question, tables.asking))
    # "How old is my dog?" asks for an age, and not whether there is a dog.
    return found - tables.whose or found


@lru_cache(maxsize=1024)
def told_attributes(text: str) -> frozenset[str]:
    """Return the attributes of which a text tells something, if only a little."""
    return frozenset(_found(text[:_BEGINNING], _tables().telling))


@lru_cache(maxsize=1024)
def valueless(text: str) -> frozenset[str]:
    """Return the attributes that a text cannot tell because it has no value for them: "the rent is paid in cash"."""
    tables = _tables()
    return tables.valued - frozenset(_found(text[:_BEGINNING], tables.claiming))


@lru_cache(maxsize=1024)
def holders(text: str, *, opening: bool = False) -> frozenset[str]:
    """Return whose attributes a text may be about, besides those of its subject: a sister's, a dog's.

    `opening`: only those with whom it begins, as in "Maya's sister lives in Rome".
    """
    if opening:
        begun = _OPENING.match(text.lstrip())
        text = begun[0] if begun else ""
    return frozenset(_found(text, _tables().telling)) & _KIN


def _found(text: str, table: _PhraseTable) -> Iterator[str]:
    tokens = folded_tokens(text)
    known = {*latin_languages(text), ""}
    for place, token in enumerate(tokens):
        if is_unspaced(token):
            yield from _in_a_run(token, table)
            continue
        for phrase in _beginning(token, table):
            if phrase.language in known and _follow(phrase.parts[1:], tokens, place + 1):
                yield phrase.attribute
    for attribute, pattern in table.values.items():
        if pattern.search(text):
            yield attribute


@lru_cache(maxsize=20_000)
def _beginning(token: str, table: _PhraseTable) -> tuple[_Phrase, ...]:
    """Return the phrases that may begin with a token; a long German one may be a compound that ends with the word."""
    found = [phrase for key in _keys(token, table) for phrase in table.words.get(key, ())]
    if len(token) >= _COMPOUND:
        ends = (token[begin:] for begin in range(_HEAD, len(token) - _HEAD))
        keys = (key for end in ends for key in _keys(end, table) if len(key) > _HEAD)
        found += [phrase for key in keys for phrase in table.words.get(key, ()) if phrase.language == "de"]
    return tuple(found)


def _keys(token: str, table: _PhraseTable) -> Iterator[str]:
    """Yield every key of the table that a token may stand under."""
    if token[0].isdigit():
        yield _NUMBER
    yield token
    for end in range(table.shortest, min(len(token), table.longest) + 1):
        yield f"{token[:end]}*"
    if _ARABIC.match(token) and (bare := _ARABIC_BEGINNING.sub("", token)) != token:
        yield from _keys(bare, table)


def _follow(parts: Sequence[str], tokens: Sequence[str], place: int) -> bool:
    """Return whether the other parts of a phrase follow."""
    if not parts:
        return True
    if parts[0] == _GAP:
        return any(_follow(parts[1:], tokens, later) for later in range(place, place + _GAP_WORDS + 1))
    return place < len(tokens) and _is(tokens[place], parts[0]) and _follow(parts[1:], tokens, place + 1)


def _is(token: str, part: str) -> bool:
    if part == _NUMBER:
        return token[0].isdigit()
    return token.startswith(part[:-1]) if part.endswith("*") else token == part


def _in_a_run(run: str, table: _PhraseTable) -> Iterator[str]:
    """Find phrases in characters without spaces between them, where a phrase may begin anywhere."""
    for place, first in enumerate(run):
        for phrase in table.runs.get(first, ()):
            if _stands_in(phrase.parts, run, place):
                yield phrase.attribute


def _stands_in(parts: Sequence[str], run: str, place: int) -> bool:
    for number, part in enumerate(parts):
        if part == _GAP:
            continue
        if number and parts[number - 1] == _GAP:
            place = run.find(part, place, place + _GAP_CHARACTERS + len(part))
            if place < 0:
                return False
        elif not (run.startswith(part, place) or (part == _NUMBER and run[place : place + 1] in _HAN_NUMBERS)):
            return False
        place += len(part)
    return True


@cache
def _tables() -> _Tables:
    """Read the tables of asking and of telling."""
    import tomllib  # noqa: PLC0415  a help page needs no pattern

    rows = tomllib.loads((files("everloom.kernel.search.judging") / "attributes.toml").read_text(encoding="utf-8"))
    days = rows.pop(_DAYS)
    asking = {name: {code: _marked(row[code], "?", "") for code in LANGUAGES} for name, row in rows.items()}
    telling = {
        name: {code: [*_marked(row[code], "=", ""), *_listed(days[code], row)] for code in LANGUAGES}
        for name, row in rows.items()
    }
    claiming = {
        name: {code: [*_marked(row[code], "="), *_listed(days[code], row)] for code in LANGUAGES}
        for name, row in rows.items()
        if row.get("needs_value")
    }
    values = {name: re.compile(row["value"], re.IGNORECASE) for name, row in rows.items() if "value" in row}
    whose = frozenset(name for name, row in rows.items() if row.get("is_whose"))
    tables = _table(asking, {}), _table(telling, values), _table(claiming, values)
    return _Tables(*tables, valued=frozenset(claiming), whose=whose)


def _listed(days: str, row: Mapping[str, object]) -> list[str]:
    return _marked(days, "") if row.get("is_dated") else []


def _marked(row: str, *marks: str) -> list[str]:
    """List the phrases of a row that have one of these marks, or none if one of them is empty."""
    phrases = map(str.strip, row.split(","))
    return [each.lstrip("?=") for each in phrases if (each[0] if each[0] in "?=" else "") in marks]


def _table(rows: Mapping[str, Mapping[Language, Sequence[str]]], values: Mapping[str, re.Pattern[str]]) -> _PhraseTable:
    """Arrange phrases by their first part."""
    words: dict[str, list[_Phrase]] = {}
    runs: dict[str, list[_Phrase]] = {}
    for name, row in rows.items():
        for code, phrases in row.items():
            for written in phrases:
                phrase = _Phrase(name, _parts(written), code if code in LANGUAGES_IN_LATIN else "")
                first = phrase.parts[0]
                if code in _UNSPACED and not first.isascii():
                    runs.setdefault(first[0], []).append(phrase)
                else:
                    words.setdefault(first, []).append(phrase)
    stems = [len(key) - 1 for key in words if key.endswith("*")]
    return _PhraseTable(words, runs, values, min(stems), max(stems))


def _parts(written: str) -> tuple[str, ...]:
    """Split a phrase into its words, numbers and gaps."""
    return tuple(
        part if part in {_GAP, _NUMBER} else word + "*" * (part.endswith("*") and word is words[-1])
        for part in _PART.findall(written)
        for words in [folded_tokens(part) or [part]]
        for word in words
    )
