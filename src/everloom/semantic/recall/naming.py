"""Which subjects a question names, and whether it asks about them as a whole: "tell me about A", "how are A and B?".

Pure. A question is an overview if nothing is left of it without the names and the words in `overviews`. Beside the word
for a relationship a little may be left, and what is left and written like a name may be one that nobody knows yet.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from everloom.kernel.search.languages import Phrases, languages_in
from everloom.kernel.texts import LANGUAGES_IN_LATIN, Language, name_key, stop_words
from everloom.semantic.recall.overviews import ABOUT, BETWEEN, IN_PARTICULAR, MEASURES, RELATIONSHIP

# A longer question asks for more than an overview.
_MOST_TOKENS, _LONGEST = 24, 200
_LONGEST_NAME, _LONGEST_UNSPACED = 5, 10
MOST_NAMED = 4
# Beside the word for a relationship, so many other words, or letters of them, may stand.
_MOST_BESIDE, _LONGEST_BESIDE = 2, 16
# Stands for a name, and for what has been read; no question has them.
_NAMED, _READ = "\ue000", "\ue001"
_SIGNS = "\u0300-\u036f\u0483-\u0487\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_UNSPACED = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30fa\u30fc-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}_{_NAMED}{_READ}])[\w{_SIGNS}])+[+#]*")
_RUN = re.compile(f"[{_UNSPACED}]")
_BREAK = re.compile(rf"[{_NAMED}{_READ},;:/&()]")
# A question of names and signs alone has any language.
_LATIN = re.compile("[A-Za-z]|^[^a-z]*$")
_SCRIPTS: Mapping[Language, re.Pattern[str]] = {
    "ru": re.compile("[\u0400-\u04ff]"),
    "ja": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ar": re.compile("[\u0620-\u064a]"),
    "hi": re.compile("[\u0900-\u0963]"),
}
_POSSESSIVE = re.compile("['’]s?(?!\\w)")
_CYRILLIC, _ARABIC = re.compile("[\u0400-\u04ff]"), re.compile("[\u0620-\u064a]")
_UNCASED = re.compile("[\u0620-\u064a\u0900-\u0963]")
# "and", "so", "by", "like" and "for", written together with the name.
_CLITICS = re.compile("(?:[وف]?[بكل]?(?=..))?")
# The endings of Russian names in their cases, and how names end that are not declined. A stem has two letters.
_DECLINED = re.compile("(?<=..)(?:ин)?(?:[аяыиеуюоё]|[оеё][йюм]|ого|его|ому|ему|ым|им|ых|их)$")
_PLAIN_ENDINGS = ("", "а", "я", "й", "ь", "ий", "ая", "ой")


class Overview(NamedTuple):
    """A question about subjects as a whole: those that were recognised, in order, and what may be names of others."""

    subjects: tuple[int, ...]
    unknown: tuple[str, ...] = ()


class _Mention(NamedTuple):
    """A place in a question that may name a subject; `is_exact` unless an ending was changed."""

    start: int
    end: int
    is_exact: bool


class _Name(NamedTuple):
    """A place in a question that names a subject."""

    start: int
    end: int
    subject: int


def name_keys(question: str) -> list[str]:
    """List the keys of all names that a question may mention; none if it is too long to be an overview."""
    return [*_mentions(question)]


def read_overview(question: str, known: Mapping[str, int]) -> Overview | None:
    """Tell about which subjects a question asks as a whole, if it does; `known` has subjects by the keys of names."""
    text = unicodedata.normalize("NFC", question)
    names = _names(_mentions(question), known)
    found = [overview for code in _languages_of(text) if (overview := _read(text, names, code)) is not None]
    # The language that explains most of the question.
    return min(found, key=lambda each: len(each.unknown), default=None)


def _languages_of(text: str) -> Iterator[Language]:
    """List the languages that a question may be in: by its scripts, and among the Latin ones by its words."""
    yield from (code for code, letters in _SCRIPTS.items() if letters.search(text))
    if _LATIN.search(text):
        yield from (code for code in languages_in(text) if code in LANGUAGES_IN_LATIN)


@lru_cache(maxsize=64)
def _mentions(question: str) -> Mapping[str, Sequence[_Mention]]:
    """Find what may be a name: every few words in a row, and every few characters of a script without spaces."""
    text = unicodedata.normalize("NFC", question)
    found: dict[str, list[_Mention]] = defaultdict(list)
    if len(text) > _LONGEST or len(tokens := [*_TOKEN.finditer(text)]) > _MOST_TOKENS:
        return found
    for start, first in enumerate(tokens):
        for last in tokens[start : start + _LONGEST_NAME]:
            begin, end = first.start(), last.end()
            for number, form in enumerate(_forms(text[begin:end])):
                found[form].append(_Mention(begin, end, number == 0))
        if _RUN.match(first[0]):
            for begin, end in _parts(*first.span()):
                found[name_key(text[begin:end])].append(_Mention(begin, end, is_exact=True))
    found.pop("", None)
    return found


def _parts(start: int, end: int) -> Iterator[tuple[int, int]]:
    """List the parts of a run of characters, but for the whole of it."""
    for begin in range(start, end):
        for stop in range(begin + 1, min(end, begin + _LONGEST_UNSPACED) + 1):
            if (begin, stop) != (start, end):
                yield begin, stop


def _forms(words: str) -> Iterable[str]:
    """List the keys under which a name may be known: first as it is written, then without what grammar adds."""
    key = name_key(words)
    if _CYRILLIC.search(key):
        parts = key.split(" ")
        plain = product(*map(_undeclined, parts)) if len(parts) <= 2 else ()
        return dict.fromkeys([key, *map(" ".join, plain)])
    if _ARABIC.search(key):
        clitics = match.end() if (match := _CLITICS.match(key)) else 0
        return [key[at:] for at in range(clitics + 1)]
    # The German genitive.
    return [key, key[:-1]] if key.endswith("s") and len(key) > 3 else [key]


def forms_of(word: str) -> frozenset[str]:
    """Return the keys under which a name may be known that is written so."""
    return frozenset(_forms(word))


def _undeclined(word: str) -> Sequence[str]:
    """List a Russian word with the endings that it may have in a dictionary."""
    stems = {word[: match.start()] for at in range(2, len(word)) if (match := _DECLINED.match(word, at))}
    plain = [stem + ending for stem in stems for ending in _PLAIN_ENDINGS]
    # Павла is Павел, and Петра is Пётр.
    plain += [f"{stem[:-1]}е{stem[-1]}" for stem in stems]
    return [word, *plain, *(each.replace("е", "ё", 1) for each in plain if "е" in each)]


def _names(mentions: Mapping[str, Sequence[_Mention]], known: Mapping[str, int]) -> list[_Name]:
    """Find the places that name a subject, the longest first; one that may mean two subjects names none."""
    meant: dict[tuple[int, int], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for key in mentions.keys() & known.keys():
        for start, end, is_exact in mentions[key]:
            meant[start, end][not is_exact].add(known[key])
    chosen = {place: exact or changed for place, (exact, changed) in meant.items()}
    names = [_Name(*place, *subjects) for place, subjects in chosen.items() if len(subjects) == 1]
    return sorted(names, key=lambda each: (each.start - each.end, each.start))


def _read(text: str, names: Sequence[_Name], code: Language) -> Overview | None:
    """Read a question as one of a language."""
    phrases = [match.span() for match in _pattern(code, ABOUT, BETWEEN).finditer(text)]
    if len(_small_words(text, [*phrases, *(each[:2] for each in names)])) > _MOST_BESIDE:
        return None
    chosen = sorted(_apart(names, phrases))
    subjects = tuple(dict.fromkeys(each.subject for each in chosen))
    marked = text
    for each in reversed(chosen):
        marked = f"{marked[: each.start]} {_NAMED} {marked[each.end :]}"
    of_several = 1 < len(subjects) <= MOST_NAMED
    for tables, least, most in (((ABOUT, BETWEEN), 2, MOST_NAMED), ((ABOUT,), 1, 1)):
        rest = _pattern(code, *tables).sub(f" {_READ} ", marked)
        parts = _BREAK.split(_POSSESSIVE.sub("", rest))
        unknown = [words for part in parts if (words := " ".join(_TOKEN.findall(part)))]
        if unknown and of_several and _is_relationship(marked, code) and not _has_capital(unknown, text):
            return Overview(subjects) if len("".join(unknown)) <= _LONGEST_BESIDE else None
        if not _may_be_names(unknown, rest, code):
            return None
        is_whole = least == 1 or not _finds(IN_PARTICULAR, code, marked)
        if is_whole and least <= len(subjects) + len(unknown) <= most:
            return Overview(subjects, tuple(unknown))
    return None


def _small_words(text: str, read: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """List the small words that stand outside of all that was read: most questions have many of them."""
    words = [each.span() for each in _TOKEN.finditer(text) if text[each.start()].islower() and len(each[0]) > 2]
    return [each for each in words if all(each[1] <= start or end <= each[0] for start, end in read)]


def _is_relationship(marked: str, code: Language) -> bool:
    """Return whether a question names a relationship, and asks for no time, place or number."""
    return _finds(RELATIONSHIP, code, marked) and not _finds(MEASURES, code, marked)


def _apart(names: Sequence[_Name], phrases: Sequence[tuple[int, int]]) -> list[_Name]:
    """Choose names that do not overlap, the longest first; a word of a longer phrase ("tell me") is no name."""
    chosen: list[_Name] = []
    for each in names:
        is_word = any(
            start <= each.start and each.end <= end and end - start > each.end - each.start for start, end in phrases
        )
        if not is_word and all(each.end <= other.start or other.end <= each.start for other in chosen):
            chosen.append(each)
    return chosen


def _has_capital(unknown: Sequence[str], text: str) -> bool:
    """Return whether what was not read holds a word with a capital, but for the first one of the question."""
    words = [word for each in unknown for word in each.split()]
    return any(word[0].isupper() and not text.lstrip().startswith(word) for word in words)


def _may_be_names(unknown: Sequence[str], rest: str, code: Language) -> bool:
    """Return whether what was not read is written like names: with capitals, or one word of a script without them."""
    words = [word for each in unknown for word in each.split()]
    if any(word.casefold() in stop_words(code) for word in words):
        return False
    if all(_UNCASED.match(word) for word in words):
        return len(words) <= 1 and _NAMED in rest
    return all(word[0].isupper() for word in words)


def _finds(table: Phrases, code: Language, text: str) -> bool:
    return _pattern(code, table).search(text) is not None


@cache
def _pattern(code: Language, *tables: Phrases) -> re.Pattern[str]:
    return re.compile("|".join(table.spelled([code]) for table in tables), re.IGNORECASE)
