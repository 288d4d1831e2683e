"""Fusing signals into one relevance: BM25 over the candidates, then a weighted sum of z-scores. Pure.

A signal is a column, with one number for each candidate; whole columns are computed at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

# Below the usual 1.2 and 0.75, because memories are short: a statement in more words is not a weaker one.
_K1 = 0.9
_B = 0.4
# The best candidates are several deviations above the mean. Undivided, they would all be squashed to nearly one, and
# the factors alone would decide their order.
SPREAD = 1.5
# The least deviation to divide by, as a share of the mean: among nearly equal values, a small difference must not
# become a large z-score.
_ALIKE = 0.2
# A question may be a text of many pages, but the table of terms by candidates must stay small.
MOST_TERMS = 500

Column = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The word statistics of a workspace."""

    documents: int
    words: int
    context_words: int
    holding: Mapping[str, int]

    def rarity(self, term: str) -> float:
        """Weight a term by how few documents contain it."""
        # A count above the total would give the word a negative weight.
        holding = min(self.holding.get(term, 0), self.documents)
        return math.log1p((self.documents - holding + 0.5) / (holding + 0.5))


def rarest(terms: Sequence[str], corpus: Corpus, postings: int) -> list[str]:
    """Choose the terms to search for: at least one, rarest first, until their postings add up to the limit."""
    known = sorted({term for term in terms if corpus.holding.get(term)}, key=lambda term: corpus.holding[term])
    chosen: list[str] = []
    spent = 0
    for term in known:
        spent += corpus.holding[term]
        if chosen and spent > postings:
            break
        chosen.append(term)
    return chosen


def telling(terms: tuple[str, ...], corpus: Corpus) -> tuple[str, ...]:
    """Choose the terms to score: all of a question's, or the rarest known ones of a very long question."""
    if len(terms) <= MOST_TERMS:
        return terms
    return tuple(sorted(terms, key=lambda term: corpus.holding.get(term) or math.inf)[:MOST_TERMS])


@dataclass(frozen=True, slots=True)
class Field:
    """One text field of all candidates: how often each contains each term, and its length in words."""

    counts: Column
    lengths: Column

    def bm25(self, mean_length: float, weights: Column) -> Column:
        """Score every candidate by the terms it contains, each weighted by its rarity."""
        norm = _K1 * (1 - _B + _B * self.lengths / mean_length)
        return (self.counts * (_K1 + 1) / (self.counts + norm[:, None])) @ weights


def read_field(texts: Sequence[str], terms: Sequence[str]) -> Field:
    """Count the terms in texts whose words are separated by spaces."""
    words = [*map(str.split, texts)]
    lengths = np.fromiter(map(len, words), np.intp, len(words))
    places = {term: place for place, term in enumerate(terms)}
    width = len(terms) + 1
    # All other words are counted in one extra column, which is cut off.
    found = np.fromiter(map(places.get, chain.from_iterable(words), repeat(len(terms))), np.intp, lengths.sum())
    cells = np.repeat(np.arange(len(words)) * width, lengths) + found
    counts = np.bincount(cells, minlength=len(words) * width).reshape(len(words), width)[:, :-1]
    return Field(counts.astype(np.float64), lengths.astype(np.float64))


def z_scores(values: Column) -> Column:
    """Measure each value in standard deviations from the mean; equal values are all zero."""
    if not values.size:
        return values
    mean = float(values.sum()) / values.size
    apart = values - mean
    spread = math.sqrt(float(apart @ apart) / values.size)
    # Equal values differ by rounding; dividing by that would make a ranking of noise.
    if spread < 1e-9 * max(1.0, abs(mean)):
        return np.zeros_like(values)
    scores: Column = apart / max(spread, _ALIKE * abs(mean))
    return scores


def weighed(signals: Mapping[str, Column], weights: Mapping[str, float]) -> dict[str, Column]:
    """Turn every signal into weighted z-scores; a candidate's sum over them is its fused score."""
    return {name: weights[name] * z_scores(values) for name, values in signals.items()}


def centred(given: Column, weight: float) -> Column:
    """Subtract the mean from a signal and weight it: a credit that all candidates have separates none of them."""
    return weight * (given - float(given.sum()) / max(1, given.size))


def lacking(lengths: Column, short: float) -> Column:
    """Return how much each text needs its context: a short one fully, a longer one proportionally less."""
    return short / np.maximum(lengths, max(short, 1.0))


def relevance(terms: Iterable[Column]) -> Column:
    """Squash fused scores into (0, 1), so that factors can multiply them without changing a sign."""
    return 1.0 / (1.0 + np.exp(-sum(terms, np.float64(0.0)) / SPREAD))
