"""From signals to one relevance: BM25 over the candidates, and z-scores added by weight. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Short texts want little correction for their length: what is said in more words is not said less.
K1 = 0.9
B = 0.4
# The best candidates stand several deviations out: without it they would all be near one, and factors alone decide.
SPREAD = 1.5
# Values that differ by less than this share of their mean are nearly alike, and the one that differs is not far out.
ALIKE = 0.2


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a workspace's word index counted."""

    documents: int
    words: int
    context_words: int
    holding: Mapping[str, int]

    def rarity(self, term: str) -> float:
        """Weigh a term by how few documents hold it."""
        holding = min(self.holding.get(term, 0), self.documents)
        return math.log1p((self.documents - holding + 0.5) / (holding + 0.5))


def rarest(terms: Sequence[str], corpus: Corpus, postings: int) -> list[str]:
    """Choose the terms that find candidates: rarest first, at least one, until they have enough postings."""
    known = sorted({term for term in terms if corpus.holding.get(term)}, key=lambda term: corpus.holding[term])
    chosen: list[str] = []
    spent = 0
    for term in known:
        spent += corpus.holding[term]
        if chosen and spent > postings:
            break
        chosen.append(term)
    return chosen


def bm25(words: Sequence[str], mean_length: float, weights: Mapping[str, float]) -> float:
    """Score one field of one document by the terms it holds, each weighed by its rarity."""
    if not words:
        return 0.0
    norm = K1 * (1 - B + B * len(words) / mean_length)
    score = 0.0
    for term, weight in weights.items():
        if count := words.count(term):
            score += weight * count * (K1 + 1) / (count + norm)
    return score


def z_scores(values: Sequence[float]) -> list[float]:
    """Measure each value in standard deviations from the mean; equal values are all zero."""
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread < 1e-9:
        return [0.0] * len(values)
    return [(value - mean) / max(spread, ALIKE * abs(mean)) for value in values]


def weighed(signals: Mapping[str, Sequence[float]], weights: Mapping[str, float]) -> dict[str, list[float]]:
    """Weigh every signal of every candidate; the sum of a candidate's terms is its fused score."""
    return {name: [weights[name] * z for z in z_scores(values)] for name, values in signals.items()}


def centred(given: Sequence[float], weight: float) -> list[float]:
    """Weigh credits against their mean, whole: what all candidates have tells none of them apart."""
    mean = math.fsum(given) / len(given) if given else 0.0
    return [weight * (each - mean) for each in given]


def relevance(terms: Iterable[float]) -> float:
    """Squash a fused score into (0, 1), so that factors can multiply it and order is kept."""
    return 1.0 / (1.0 + math.exp(-math.fsum(terms) / SPREAD))
