"""Not saying the same thing twice: near-duplicates collapse, evidence folds under what covers it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ranked document as folding sees it."""

    id: int
    words: frozenset[str]
    covers: frozenset[int]


def fold(ranked: Sequence[Candidate], limit: int, same: float) -> dict[int, tuple[int, ...]]:
    """Keep the best `limit`, best first, each with the ids of the lower hits that it stands for."""
    kept: list[Candidate] = []
    under: dict[int, list[int]] = {}
    for candidate in ranked:
        home = home_of(candidate, kept, same)
        if home is not None:
            under[home].append(candidate.id)
        elif len(kept) < limit:
            kept.append(candidate)
            under[candidate.id] = []
    return {identity: tuple(ids) for identity, ids in under.items()}


def home_of(candidate: Candidate, kept: Sequence[Candidate], same: float) -> int | None:
    """Find a higher hit that already says this: a synthesis that covers it, or a near-duplicate.

    Evidence that outranks its own synthesis, in spite of the penalty, has something particular to say and stays.
    """
    for each in kept:
        if each.id in candidate.covers or overlap(each.words, candidate.words) >= same:
            return each.id
    return None


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Compare two word sets: 1 for equal, 0 for disjoint."""
    return len(one & other) / len(one | other) if one and other else 0.0
