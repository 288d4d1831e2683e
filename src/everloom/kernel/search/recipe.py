"""The parameters of the ranking, in one frozen value, and how they were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bias:
    """How far each circumstance may change a score. Every factor is near one, and named in the explanation."""

    synthesis: float = 1.15
    covered: float = 0.55
    recency: float = 0.25
    recency_days: float = 14.0
    unreinforced: float = 0.15
    unreinforced_days: float = 180.0
    useful: float = 0.15
    questionable: float = 0.7
    pinned: float = 1.1
    # How much of a penalty the best provenance removes.
    softening: float = 0.5
    strong_tiers: frozenset[str] = frozenset({"large", "strong", "high", "opus", "fable", "mythos"})
    weak_tiers: frozenset[str] = frozenset({"small", "weak", "low", "haiku", "mini", "nano"})


@dataclass(frozen=True, slots=True)
class Recipe:
    """Weights of the signals and sizes of the candidate lists.

    Chosen by reasoning and checked on three LoCoMo conversations (505 questions): `everloom bench retrieval --ablate`
    turns off each signal in turn. Results change little around these values, so round numbers were preferred.
    """

    words: float = 1.0
    context: float = 0.9
    # Up to this many words, a text needs its full context; the context of a longer text counts proportionally less.
    short: float = 10.0
    vectors: float = 0.7
    # Credits, not z-scores: a question mentions a document's name or time, or it does not.
    names: float = 2.0
    time: float = 2.0
    word_candidates: int = 60
    vector_candidates: int = 25
    # The rarest words select the candidates, up to this many postings in all; commoner words only help to rank them.
    postings: int = 4_000
    # Word sets that overlap by this much say the same thing.
    same: float = 0.85
    bias: Bias = field(default_factory=Bias)


DEFAULT = Recipe()
