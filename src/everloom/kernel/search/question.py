"""Reading a question: what it asks about, which documents it names, whose words it asks for. Pure.

A question is mostly about its topic, but some of its words are about the asking ("can you remind me what I said
about …"). Those are in no text that answers it, so neither the word search nor the vectors see them. A document is
known by its labels, and by the speaker whose name it opens with ("Maya: I moved to Porto.").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from everloom.kernel.search.fusion import Claims, Column
from everloom.kernel.search.languages import ADDRESSED, FIRST_PERSON, INTERROGATIVES, REQUESTS
from everloom.kernel.search.when import Span
from everloom.kernel.texts import analyse, language_of

# How a question ends, in the scripts that mark one.
QUESTION_MARKS = frozenset("?？؟")
# A name in the middle of a sentence. The first word of a sentence is written with a capital whatever it is.
_CAPITAL = re.compile(r"(?<=[^.?!:\n] )[^\W\d_][\w'’-]*")
# Talk about the talk, beside the frames of requests that `languages` knows.
_ASKING = r"""
    \b(?:walk\ me\ through|list|explain|describe|summari[sz]e|outline)\b(?=.*\b(?:i|my|our)\b)
    | \b(?:in\ which\ |that\ |which\ )?i(?:'ve|\ have)?\ (?:brought\ up|mentioned|said|told\ you|discussed)\b
    | \bdid\ i\ (?:ever\ )?(?:mention|say|tell\ you|bring\ up)\b
    | \b(?:throughout|across|in|during|from|over)\ (?:all\ )?(?:our|my|the)\ (?:\w+\ )?
        (?:conversations?|chats?|sessions?|discussions?)\b
    | \bmention\ only(?:\ and\ only)?\b | \bonly\ and\ only\b
    | \b(?:\d+|two|three|four|five|six|seven|eight|nine|ten)\ items?\b
    | \bin\ order\b | \bthe\ order\ in\ which\b | \bdifferent\ aspects\ of\b
"""
# Asked for advice or for something to be done, beside the frames of requests: an imperative, a plan, a way to do it.
_ADVICE = r"""
    ^\W*(?:help|suggest|recommend|write|draft|plan|make|create)\b | \b(?:should|good|best|popular)\b
    | \bi(?:['’]m|\ am)\ (?:\w+\ )?
        (?:planning|looking|thinking|trying|about|going|working|considering|creating|building)\b
    | \bi\ (?:want|need|would\ like)\ to\b | \bi['’]d\ like\ to\b | ^\W*if\ i\b | \bwhen\ i(?:['’]m|\ am)\b
    | \bhow\ (?:(?:do|can|could|would|might)\ (?:i|we|you|one)|to)\b | \bwhat\ (?:(?:can|could)\ i|do\ i\ need)\b
"""
# A question about what was is no request, however it is put.
_ABOUT_PAST = r"""
    \b(?:did|was|were|had)\b | \bhave\ (?:i|we|you)\b | \b(?:i|we)(?:['’]ve|\ have)\b | \bremind\ me\b
    | \border\ in\ which\b | \bhow\ many\b
    | \bi\ (?:mentioned|said|told|brought|made|used|chose|decided|planned|got|went)\b
"""
_SAID_BY_YOU = r"""
    \byou\ (?:\w+\ )?
        (?:said|suggested|recommended|told|gave|mentioned|proposed|advised|explained|listed|provided|described)\b
    | \bdid\ you\ (?:\w+\ )?
        (?:say|suggest|recommend|tell|give|mention|propose|advise|explain|list|provide|describe)\b
    | \byour\ (?:\w+\ )?(?:advice|suggestions?|recommendations?|answers?|explanations?|list|response|repl(?:y|ies))\b
"""


class Side(StrEnum):
    """The two sides of a conversation with an assistant."""

    PERSON = "person"
    ASSISTANT = "assistant"


_OPENING = re.compile(r"\W{0,3}([^\W\d_][\w .'’-]{0,30}?):\s")
_SIDES = {
    **dict.fromkeys(("user", "human", "person", "me"), Side.PERSON),
    **dict.fromkeys(("assistant", "agent", "ai", "bot", "model"), Side.ASSISTANT),
}
# What a document that only mentions a name in its text has of one that is known by it.
_MENTIONED = 0.5

# Labels as JSON, and how the text begins.
Known = tuple[str, str]


class Asked(NamedTuple):
    """A question as it was read.

    `terms` are its distinct words, `names` those among them that are written like a name; `topic` is what it is about,
    for the embedder. `side` is whose words answer it in a conversation with an
    assistant.
    """

    terms: tuple[str, ...]
    now: int
    spans: tuple[Span, ...] = ()
    topic: str = ""
    names: frozenset[str] = frozenset()
    side: Side = Side.PERSON
    is_request: bool = False

    def topic_without(self, words: AbstractSet[str]) -> str:
        """The topic without some of its words; all of it if nothing would be left.

        A name under which documents are known says which of them are meant, not what they say: the vector of a
        sentence that somebody said does not hold who said it.
        """
        if not words:
            return self.topic
        kept = " ".join(token for token in self.topic.split() if words.isdisjoint(analyse(token)))
        return kept if any(map(str.isalnum, kept)) else self.topic


def is_question(text: str) -> bool:
    """Return whether a text asks something; a topic or a statement only brings other things to mind."""
    return text.rstrip()[-1:] in QUESTION_MARKS or bool(INTERROGATIVES.search(text) or REQUESTS.search(text))


def ask(question: str, now: int, spans: tuple[Span, ...] = ()) -> Asked:
    """Read a question. What is left when the words of asking are taken out is its topic, if anything is left."""
    bare = REQUESTS.sub(" ", question)
    topic = " ".join(_pattern(_ASKING).sub(" ", bare).split())
    words = analyse(topic)
    if not words:
        topic, words = question, analyse(question)
    terms = tuple(dict.fromkeys(words))
    names = frozenset(word for name in _CAPITAL.findall(question) if name[0].isupper() for word in analyse(name))
    side, asks = _side(question, bare), _asks(question, bare)
    return Asked(terms, now, spans, topic, names.intersection(terms), side, asks)


def _side(question: str, bare: str) -> Side:
    """Find whose words are asked for: the person's, unless the question is about what the assistant said."""
    if _pattern(_SAID_BY_YOU).search(question):
        return Side.ASSISTANT
    return Side.ASSISTANT if ADDRESSED.search(bare) and not FIRST_PERSON.search(bare) else Side.PERSON


def _asks(question: str, bare: str) -> bool:
    """Return whether something is asked for: to be done, to be advised, or how to do it now."""
    if _pattern(_ABOUT_PAST).search(question):
        return False
    # Whether a question in another language is about what was cannot be told: only a frame of asking tells a request.
    if language_of(question) not in {"", "en"}:
        return bare != question
    return bare != question or bool(_pattern(_ADVICE).search(question))


def names_in(known: Iterable[Known], terms: AbstractSet[str]) -> frozenset[frozenset[str]]:
    """Find the names that a question mentions: every word of the name is among its terms."""
    return frozenset(words for each in set(known) for words in _names_of(each) if words <= terms)


def named_in(known: Sequence[Known], names: AbstractSet[frozenset[str]], terms: Sequence[str], holds: Claims) -> Column:
    """Mark the documents that are known by one of the names, and half those that mention it in their text."""
    bears = {each: not names.isdisjoint(_names_of(each)) for each in set(known)}
    says = np.zeros(len(known), np.bool_)
    for name in names:
        says |= holds[:, [terms.index(word) for word in name]].all(axis=1)
    return np.where([bears[each] for each in known], 1.0, np.where(says, _MENTIONED, 0.0))


def unnamed(known: Sequence[Known], names: AbstractSet[frozenset[str]], terms: Sequence[str], holds: Claims) -> Column:
    """Return which share of the names each document neither is known by nor mentions."""
    missing = np.zeros(len(known))
    for name in names:
        bears = {each: name in _names_of(each) for each in set(known)}
        says = holds[:, [terms.index(word) for word in name]].all(axis=1)
        missing += ~(says | np.array([bears[each] for each in known], np.bool_))
    return missing / max(1, len(names))


def said_by(known: Sequence[Known], side: Side) -> Column:
    """Mark what one side of a conversation with an assistant said; where only one of them is known, nothing.

    Notes that are filed under "user" are no conversation, and no better than those about others.
    """
    sides = {each: _side_of(each) for each in set(known)}
    if not {*Side} <= {*sides.values()}:
        return np.zeros(len(known))
    return np.array([sides[each] is side for each in known], np.float64)


def is_said_by(known: Known, side: Side) -> bool:
    """Return whether one side said this."""
    return _side_of(known) is side


# Documents of one subject share their labels, and the same ones come up in every search.
@lru_cache(maxsize=20_000)
def _names_of(known: Known) -> Sequence[frozenset[str]]:
    """Split each name into words; a name without words is left out."""
    return tuple(words for name in _spoken_names(known) if (words := frozenset(analyse(name))))


@lru_cache(maxsize=20_000)
def _side_of(known: Known) -> Side | None:
    sides = {_SIDES.get(name.casefold()) for name in _spoken_names(known)} - {None}
    return sides.pop() if len(sides) == 1 else None


def _spoken_names(known: Known) -> list[str]:
    labels, opening = known
    speaker = _OPENING.match(opening)
    return [*json.loads(labels), *([speaker[1]] if speaker else [])]


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # Compiled when first needed: most commands ask nothing.
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)
