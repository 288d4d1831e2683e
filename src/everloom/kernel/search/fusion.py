"""From signals to one relevance, and from ranks to a list: BM25, signals measured, repetition folded. Pure.

A signal is a column, one number a candidate. Its mean and spread are those of the memory, not of the candidates: a
score then means the same from question to question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Below the usual 1.2 and 0.75, because memories are short: a statement in more words is not a weaker one.
_K1 = 0.9
_B = 0.4
# The best candidates are many deviations above the mean; undivided, they would all be squashed to nearly one.
SPREAD = 4.0
# Equal values differ by rounding; dividing by that would make a ranking of noise.
_NO_SPREAD = 1e-9
# A question may be a text of many pages, but the table of terms by candidates must stay small.
MOST_TERMS = 500

Column = npt.NDArray[np.float64]
Claims = npt.NDArray[np.bool_]


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


class Usual(NamedTuple):
    """What a signal is in the whole memory: its mean and its spread, measured or worked out."""

    mean: float
    spread: float

    def z(self, values: Column) -> Column:
        """Measure each value in spreads from the mean; without a spread nothing stands out."""
        if self.spread < _NO_SPREAD:
            return np.zeros_like(values)
        scores: Column = (values - self.mean) / self.spread
        return scores


def usual_words(weights: Column, shares: Column) -> Usual:
    """Work out what BM25 is over all documents, from the share of them that holds each term.

    A document holds a term or not; one that does scores about the term's weight. Over candidates, which words have
    chosen, the mean would be high and the spread wide, and a good match would not stand out.
    """
    return Usual(float(weights @ shares), math.sqrt(float(weights**2 @ (shares * (1 - shares)))))


def lacking(lengths: Column, short: float) -> Column:
    """Return how much each text needs its context: a short one fully, a longer one proportionally less."""
    return short / np.maximum(lengths, max(short, 1.0))


def relevance(strengths: Column) -> Column:
    """Squash fused scores into (0, 1); the order stays."""
    return 1.0 / (1.0 + np.exp(-strengths / SPREAD))


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
