"""Checking texts and names, deciding when two of them are equal, and splitting texts into words. Pure.

The word index and the questions put to it use the same words, on both engines: case-folded, without stop words, English
words stemmed; scripts without spaces become overlapping pairs of characters. A word never contains white space or a
quote, so it can never be read as query syntax.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from threading import Lock
from typing import Any, TypeVar

from everloom.errors import Rejected

T = TypeVar("T")

# A memory is a statement, not a library: larger texts have to be split by the caller.
LONGEST_TEXT = 200_000
LONGEST_NAME = 200
# PostgreSQL cannot store NUL, and a lone surrogate has no UTF-8 encoding.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_NAME_BREAKS = re.compile(r"[\s_\-]+")
# Longer tokens, such as base64, are cut: an entry of PostgreSQL's index may not exceed 2.7 kB.
LONGEST_WORD = 64

# Han, kana, Thai, Lao, Khmer, Myanmar: written without spaces between words.
_UNSPACED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff"
)
# Vowel points of Hebrew and Arabic. Most writing omits them, so they are ignored here, too.
_POINTS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
# Signs that are written on or around a letter and belong to its word: accents, and the vowels of Indian scripts.
_SIGNS = rf"\u0300-\u036f\u0483-\u0487\u0900-\u0963\u0966-\u0dff{_POINTS}"
_LETTER = rf"(?![{_UNSPACED}_])[\w{_SIGNS}]"
_TOKEN = rf"[{_UNSPACED}]+|(?:{_LETTER})+(?:['\u2019](?:{_LETTER})+)*"
_POINT = f"[{_POINTS}]"
_UNSPACED_RUN = rf"[{_UNSPACED}]"
_APOSTROPHE = re.compile("['\u2019]")
_TAILS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})
_ASCII_WORD = re.compile(r"[a-z]+\Z")

# The words of every document are stored with it: after a change to this list, to the stemmer or to the patterns above,
# questions no longer match older documents until these are indexed again. The last rows are what contractions leave
# when their ending is cut off ("don't") or when they are written without an apostrophe ("theyre").
STOP_WORDS = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here
    hers herself him himself his how i if in into is it its itself just me more most my myself no nor not now of
    off on once only or other our ours ourselves out over own same she should so some such than that the their
    theirs them themselves then there these they this those through to too under until up us very was we were
    what when where which while who whom why will with would you your yours yourself yourselves don doesn didn
    isn aren wasn weren hasn haven hadn won wouldn couldn shouldn ain ll ve re im ive id ill youre hes shes
    theyre weve""".split()
)

_stemmer_turn = Lock()


def checked(text: object, what: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text unchanged; refuse it if it is empty, too long or not storable."""
    if not isinstance(text, str):
        raise Rejected(f"{what} must be text, not {type(text).__name__}")
    if not text.strip():
        raise Rejected(f"{what} is empty", hint="give it some words")
    if len(text) > longest:
        raise Rejected(f"{what} has {len(text):,} characters", hint=f"split it: at most {longest:,} are allowed")
    return storable(text, what)


def storable(text: str, what: str) -> str:
    """Return a text unchanged, even an empty one; refuse characters that an engine cannot store."""
    if found := UNSTORABLE.search(text):
        raise Rejected(f"{what} contains the character U+{ord(found[0]):04X}, which cannot be stored", hint="remove it")
    return text


def checked_name(name: object, what: str) -> str:
    """Return a name trimmed and in composed form; refuse one that is not a single line with some letters."""
    text = checked(name, what, LONGEST_NAME)
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Rejected(f"{what} contains a control character", hint="write it on one line")
    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if not name_key(folded):
        raise Rejected(f"{what} {text!r} has no letters", hint="use at least one letter")
    return folded


def checked_limit(limit: int, most: int, what: str = "hits") -> int:
    """Return a limit on the number of results; refuse one outside 1 to `most`."""
    if not 1 <= limit <= most:
        message = f"the limit must be between 1 and {most:,}, not {limit:,}"
        raise Rejected(message, hint=f"ask for fewer {what}, or for at least one")
    return limit


def name_key(name: str) -> str:
    """Fold a name to its lookup key: case does not matter, and runs of spaces, `_` and `-` are equal."""
    # Composed again after folding, because folding a composed letter may decompose it.
    return _NAME_BREAKS.sub(" ", unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())).strip()


def checked_list(values: Iterable[T], what: str, most: int, *, least: int = 1) -> tuple[T, ...]:
    """Return a list as a tuple; refuse a wrong length, and a bare text, which is not a list of its letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise Rejected(
            f"expected a list, not {type(values).__name__}", hint="write it in brackets, even if it is a single item"
        )
    known = tuple(values)
    if not least <= len(known) <= most:
        raise Rejected(f"{what}: {len(known)} were given", hint=f"give {least} to {most}")
    return known


def checked_names(values: Iterable[str], what: str, most: int, *, least: int = 1) -> dict[str, str]:
    """Check names, and return the first spelling of each under its key."""
    found: dict[str, str] = {}
    for value in checked_list(values, f"{what}s", most, least=least):
        name = checked_name(value, what)
        found.setdefault(name_key(name), name)
    return found


def content_hash(text: str) -> str:
    """Hash a text, ignoring differences in white space and Unicode composition but not in case."""
    import hashlib  # noqa: PLC0415  loads OpenSSL

    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    return hashlib.sha256(folded.encode()).hexdigest()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled on first use: the classes of letters take 20 ms, and a help page needs no words.
    return re.compile(pattern)


def analyse(text: str) -> list[str]:
    """Split a text into its words, in order."""
    found: list[str] = []
    unspaced = _compiled(_UNSPACED_RUN)
    for token in _compiled(_TOKEN).findall(unicodedata.normalize("NFKC", text).casefold()):
        if unspaced.match(token):
            found += [token[i : i + 2] for i in range(max(1, len(token) - 1))]
        else:
            found += _read_token(token)
    return found


def spellings(text: str) -> dict[str, str]:
    """Map each word of a text to its first spelling in the text."""
    found: dict[str, str] = {}
    for token in _compiled(_TOKEN).findall(unicodedata.normalize("NFKC", text)):
        for word in analyse(token):
            found.setdefault(word, word if _compiled(_UNSPACED_RUN).match(token) else token)
    return found


@lru_cache(maxsize=100_000)
def _read_token(token: str) -> tuple[str, ...]:
    """Reduce a token to its words: a possessive or contraction loses its ending, and a stop word yields nothing."""
    head = _APOSTROPHE.split(_compiled(_POINT).sub("", token))
    kept = head[:-1] if len(head) > 1 and head[-1] in _TAILS else head
    return tuple(word for part in kept if (word := stem(part[:LONGEST_WORD])))


def stem(word: str) -> str:
    """Reduce a word to its stem, and a stop word to an empty string."""
    if word in STOP_WORDS:
        return ""
    if not _ASCII_WORD.match(word):
        return word
    # The stemmer stores the word it works on in itself, so threads must take turns.
    with _stemmer_turn:
        return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    from snowballstemmer.english_stemmer import EnglishStemmer  # noqa: PLC0415  checking a name needs no stems

    return EnglishStemmer()
