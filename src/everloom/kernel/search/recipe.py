"""The parameters of the ranking, in one frozen value, and how they were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bias:
    """How far each circumstance may change a score. Every factor is near one, and named in the explanation."""

    synthesis: float = 1.15
    covered: float = 0.55
    # Enough to move it by the whole reach, however recent it is.
    archived: float = 0.5
    recency: float = 0.25
    recency_days: float = 14.0
    unreinforced: float = 0.15
    unreinforced_days: float = 180.0
    useful: float = 0.15
    questionable: float = 0.7
    pinned: float = 1.1
    # Candidates that are no further apart than this, by their strength and by `answers`, answer about equally well.
    reach: float = 1.0
    margin: float = 0.1
    # Factors that together come to this (as a logarithm) move a candidate by the whole reach.
    full: float = 0.4
    # How much of a penalty the best provenance removes.
    softening: float = 0.5
    strong_tiers: frozenset[str] = frozenset({"large", "strong", "high", "opus", "fable", "mythos"})
    weak_tiers: frozenset[str] = frozenset({"small", "weak", "low", "haiku", "mini", "nano"})


@dataclass(frozen=True, slots=True)
class Recipe:
    """Weights of the signals and sizes of the candidate lists.

    Chosen by reasoning and checked on two kinds of conversation, LoCoMo (short turns of two friends) and BEAM (long
    answers of an assistant): `everloom bench retrieval --ablate` turns off each signal in turn. Results change little
    around these values, so round numbers were preferred.
    """

    # Signals in deviations from what is usual in the memory: a text's own words and vector, and those around it.
    words: float = 0.5
    context: float = 0.4
    vectors: float = 0.9
    around: float = 0.65
    # Whether a text's neighbours in its session are read: what was told as a whole stands for itself.
    beside: bool = True
    # What a text has of the evidence of a question that it follows, and what a text loses that asks instead of telling.
    reply: float = 0.5
    asks: float = 2.0
    # Up to this many words, a text needs its full context; the context of a longer text counts proportionally less.
    short: float = 16.0
    # Credits: a question mentions a document's name or time, is about what this side said, or it is not.
    names: float = 5.0
    who: float = 3.5
    time: float = 5.0
    wishes: float = 5.0
    # For the share of the question's words, by rarity, that a text and what is around it hold; and for all in the text.
    share: float = 2.0
    verbatim: float = 2.0
    # What is left of the weight of a word that is a name of the documents: it says which ones, not what they say.
    named_words: float = 0.0
    word_candidates: int = 40
    vector_candidates: int = 25
    # Of the best by words and of the nearest, so many are read with their neighbours, which become candidates, too.
    seeds: int = 20
    # Standing wishes that are looked at when something is asked for.
    wish_candidates: int = 30
    # The rarest words select the candidates, up to this many postings in all; commoner words only help to rank them.
    postings: int = 4_000
    # … and to choose among so many documents that share the rarest. At 450,000 items, this finds 145 of 145 texts that
    # are asked for instead of 137; below the bound of postings it changes nothing.
    sharing: int = 1_000
    # Word sets that overlap by this much say the same thing.
    same: float = 0.85
    bias: Bias = field(default_factory=Bias)


DEFAULT = Recipe()
# For scenes and memories: whoever tells several in one session does not tell the second as an answer to the first.
ALONE = Recipe(beside=False)
# For topics and statements, which share few words with what they bring to mind: meaning leads, and nothing is lent.
ASSOCIATIVE = Recipe(words=0.25, vectors=1.8, context=0.0, around=0.0, share=1.0, wishes=0.0)
