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


def fold(ranked: Sequence[Candidate], limit: int, same: float) -> dict[int, tuple[int, ...]]:
    """Return the best `limit` documents, best first, each with the ids of the lower ones folded under it."""
    kept: list[Candidate] = []
    under: dict[int, list[int]] = {}
    for candidate in ranked:
        home = _home_of(candidate, kept, same)
        if home is not None:
            under[home].append(candidate.id)
        elif len(kept) < limit:
            kept.append(candidate)
            under[candidate.id] = []
    return {identity: tuple(ids) for identity, ids in under.items()}


def _home_of(candidate: Candidate, kept: Sequence[Candidate], same: float) -> int | None:
    """Find a higher hit that already says the same: a synthesis that covers it, or a near-duplicate.

    Evidence stays if it holds a word of the question that the other lacks: then it says what was asked for, and the
    other does not.
    """
    size = len(candidate.words)
    least, most = same * size, size / same if same else math.inf
    for each in kept:
        if not candidate.asked <= each.asked:
            continue
        if each.id in candidate.covers:
            return each.id
        # A cheap test first: sets of very different sizes cannot overlap by that much.
        if least <= len(each.words) <= most and say_the_same(each.words, candidate.words, same):
            return each.id
    return None


def say_the_same(one: frozenset[str], other: frozenset[str], same: float) -> bool:
    """Return whether two word sets overlap by at least `same`, where 1 is equal and 0 is disjoint."""
    shared = len(one & other)
    return shared > 0 and shared >= same * (len(one) + len(other) - shared)
