"""Removing repetition from results: near-duplicates and covered evidence fold under a higher hit. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A ranked document: its words, those of them that the question asks for, and the documents that cover it."""

    id: int
    words: frozenset[str]
    asked: frozenset[str]
    covers: frozenset[int]
    # Whether its time is known: one in the future is that of a plan or of a wrong clock.
    is_dated: bool = True


def fold(ranked: Sequence[Candidate], limit: int, same: float) -> dict[int, tuple[int, ...]]:
    """Return the best `limit` documents, best first, each with the ids of the lower ones folded under it."""
    # Sets of words as numbers, a bit for each word: most of the work is to intersect them.
    bits: dict[str, int] = {}
    kept: list[_Folded] = []
    under: dict[int, list[int]] = {}
    for each in ranked:
        candidate = _Folded(each, _packed(each.words, bits), _packed(each.asked, bits), len(each.words))
        home = _home_of(candidate, kept, same)
        if home is not None:
            under[home].append(each.id)
        elif len(kept) < limit:
            kept.append(candidate)
            under[each.id] = []
    return {identity: tuple(ids) for identity, ids in under.items()}


class _Folded(NamedTuple):
    """A candidate, its words and the words that are asked for as bits, and how many words it has."""

    candidate: Candidate
    words: int
    asked: int
    size: int


def _packed(words: frozenset[str], bits: dict[str, int]) -> int:
    """Write a set of words as a number, giving a bit to each word that has none."""
    packed = 0
    for word in words:
        packed |= bits.setdefault(word, 1 << len(bits))
    return packed


def _home_of(folded: _Folded, kept: Sequence[_Folded], same: float) -> int | None:
    """Find a higher hit that already says the same: a synthesis that covers it, or a near-duplicate.

    Evidence stays if it holds a word of the question that the other lacks: then it says what was asked for, and the
    other does not.
    """
    candidate, words, asked, size = folded
    least, most = same * size, size / same if same else math.inf
    for each, others, wanted, count in kept:
        # What corrects a statement hardly differs from it, and must not be hidden below one without a date.
        if asked & ~wanted or (candidate.is_dated and not each.is_dated):
            continue
        if each.id in candidate.covers:
            return each.id
        # A cheap test first: sets of very different sizes cannot overlap by that much.
        if not least <= count <= most:
            continue
        # The share of what both say in what either says: 1 is equal, 0 is disjoint.
        shared = (others & words).bit_count()
        if shared and shared >= same * (count + size - shared):
            return each.id
    return None
