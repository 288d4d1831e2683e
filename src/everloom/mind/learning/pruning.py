"""Decides which facts are set aside: those that another says in the same words, and passing ones that have faded. Pure.

Sure rules alone decide. Two facts say the same only if they are about the same subjects and their words are the same in
the same order, apart from articles, punctuation and contractions: another number, name, tense or "not" is another fact.
A passing fact tells a state and a moment and nothing else. Never set aside: what is recent, was used, pinned or called
useful, and what a person wrote or edited. Calls no model and stores nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from importlib import resources

from everloom.mind.ports import FactCard
from everloom.mind.results import FactPruning

# Until then a fact may belong to something that is still going on.
RECENT = timedelta(days=30)
# A fact below it was doubted when it was written.
_DOUBTED = 0.3

_EDGES = ".,;:!…\"'()[]«»“”„‘’*_`"
# Of a number only what ends a sentence goes: ".5", "5'" and "(5)" are not "5".
_ENDS = ".,;:!…"
# Of English only: in other languages the article of a thing may tell it from another.
_ARTICLES = frozenset({"a", "an", "the"})
# "A few" are some, and "few" are hardly any.
_WITH_ARTICLE = frozenset({"few", "little"})
_CONTRACTIONS = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
)


def _words_in(kind: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Read the words of a kind, and its phrases, which are separated by bars."""
    lines = (resources.files("everloom.mind.learning") / "passing.txt").read_text(encoding="utf-8").splitlines()
    said = [rest for line in lines for name, _, rest in [line.partition(" ")] if name == kind]
    pieces = [piece.strip() for line in said for piece in line.split("|")]
    if kind != "moment":
        return frozenset(word for piece in pieces for word in piece.split()), ()
    return frozenset(), tuple(sorted(pieces, key=len, reverse=True))


_VERBS, _STATES, _SOFT = (_words_in(kind)[0] for kind in ("verb", "state", "soft"))
_MOMENT = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, _words_in("moment")[1])) + r")(?!\w)")


def same_words(text: str) -> tuple[str, ...]:
    """Return the words of a fact in order, so that two facts with equal ones say the same."""
    plain = unicodedata.normalize("NFC", text).replace("’", "'")
    for pattern, full in _CONTRACTIONS:
        plain = pattern.sub(full, plain)
    words = _split(plain)
    # The first word may be large because a sentence begins; inside, "Rose" and "rose" are two things.
    folded = [words[0].casefold(), *words[1:]] if words else []
    after = [*folded[1:], ""]
    return tuple(
        word
        for word, following in zip(folded, after, strict=True)
        if word not in _ARTICLES or following in _WITH_ARTICLE or not following
    )


def mentions_passing(text: str) -> bool:
    """Check whether a fact may be a passing one: it tells a moment and a state."""
    plain = _plain(text)
    return bool(_MOMENT.search(plain)) and not _STATES.isdisjoint(_split(plain))


def is_passing(text: str, names: Iterable[str]) -> bool:
    """Check whether a fact tells how somebody was or what the weather was at one moment, and nothing else."""
    plain = _plain(text)
    for name in sorted(map(_plain, names), key=len, reverse=True):
        plain = re.sub(rf"(?<!\w){re.escape(name)}(?:'s)?(?!\w)", " ", plain)
    rest, moments = _MOMENT.subn(" ", plain)
    words = set(_split(rest))
    return bool(moments) and not words.isdisjoint(_STATES) and words <= _STATES | _VERBS | _SOFT


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("’", "'").casefold()


def _split(plain: str) -> list[str]:
    return [word for each in plain.split() if (word := _bare(each))]


def _bare(word: str) -> str:
    return word.rstrip(_ENDS) if any(map(str.isdigit, word)) else word.strip(_EDGES)


def may_be_pruned(card: FactCard, now: datetime) -> bool:
    """Check that nothing protects a fact."""
    return card.is_learnt and not card.is_kept and not card.uses and now - card.learnt_at >= RECENT


def say_the_same(one: FactCard, other: FactCard) -> bool:
    """Check that two facts about the same subjects say the same in the same words."""
    return one.subjects == other.subjects and same_words(one.text) == same_words(other.text)


def repeated(cards: Sequence[FactCard], now: datetime) -> list[FactPruning]:
    """Find the facts that another one says, too; the one that stays was written by hand, is used most, or is newest."""
    groups: dict[tuple[str, tuple[str, ...]], list[FactCard]] = {}
    for card in cards:
        if words := same_words(card.text):
            groups.setdefault((card.subjects, words), []).append(card)
    found = []
    for group in groups.values():
        stays = max(group, key=lambda each: (not each.is_learnt, each.is_kept, each.uses, each.said_by_person, each.id))
        found += [
            FactPruning(id=each.id, text=each.text, why=f"says the same as {stays.id}", into=stays.id)
            for each in group
            if each.id != stays.id and may_replace(stays, each, now)
        ]
    return sorted(found, key=lambda each: each.id)


def may_replace(stays: FactCard, goes: FactCard, now: datetime) -> bool:
    """Check that a fact may be set aside for another; what a person said does not give way to a conclusion."""
    return may_be_pruned(goes, now) and (stays.said_by_person or not stays.is_learnt or not goes.said_by_person)


def fadeable(cards: Sequence[FactCard], now: datetime, days: int) -> list[FactCard]:
    """Find the facts old and unused enough to have faded that may be passing or were doubted."""
    span = max(timedelta(days=days), RECENT)
    return [
        card
        for card in cards
        if may_be_pruned(card, now)
        and now - card.learnt_at >= span
        and (_is_doubted(card) or mentions_passing(card.text))
    ]


def faded(cards: Sequence[FactCard], names: Mapping[int, Sequence[str]], days: int) -> list[FactPruning]:
    """Decide which of the fadeable facts have faded, and why."""
    found = []
    for card in cards:
        if _is_doubted(card):
            why = "was doubted when it was learnt"
        elif is_passing(card.text, names.get(card.id, ())):
            why = "told how things were at one moment"
        else:
            continue
        found.append(FactPruning(id=card.id, text=card.text, why=f"{why}, and was not used in {days} days"))
    return found


def _is_doubted(card: FactCard) -> bool:
    return card.confidence is not None and card.confidence < _DOUBTED
