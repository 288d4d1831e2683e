"""How far a text bears on a question, judged by that text and that question alone. Pure.

Nothing here depends on the other candidates: what stands highest of a bad lot is still no answer. The weights come
from a logistic regression over conversations of two kinds that were asked their own questions and those of others;
`everloom bench retrieval` reports how well they separate the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from everloom.kernel.search.fusion import Claims, Column, Corpus, Usual

# A word in every document still says a little.
_COMMON = 0.1
# An answer about somebody else is no answer: a name counts as much as so many other words.
_NAME = 4.0
# Up to the first mean cosine of unrelated texts an embedder separates well, from the second on it says nothing: in
# scripts that it hardly knows, all is near.
_CLEAR, _BLIND = 0.1, 0.6
# What the words around a text are worth for one that holds none of the question's itself.
_HEARSAY = 0.5


@dataclass(frozen=True, slots=True)
class Judgement:
    """What each kind of evidence is worth, in log-odds."""

    cosine: float
    around: float
    share: float
    share_around: float
    none: float


# With vectors that separate, and where no vector says anything. A long text holds many words of any question by chance,
# so where cosines can tell, they decide, and words help.
_BY_BOTH = Judgement(cosine=0.6, around=0.5, share=2.4, share_around=1.8, none=-4.2)
_BY_WORDS = Judgement(cosine=0.0, around=0.0, share=4.0, share_around=4.0, none=-4.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for each candidate, in columns.

    `holds` marks the terms in its text and labels, `near` those that the texts around it add. `cosine` and `around`
    are None without vectors; a text of many words says by itself what it is about, and `lacks` little.
    """

    holds: Claims
    near: Claims
    cosine: Column | None
    around: Column | None
    lacks: Column


def telling_shares(terms: Sequence[str], names: AbstractSet[str], corpus: Corpus) -> Column:
    """Weigh each term of a question by its rarity, and a name more; the weights add up to one."""
    rarest = math.log1p((corpus.documents + 0.5) / 0.5)
    known = [max(_COMMON, corpus.rarity(term) / rarest) * (_NAME if term in names else 1.0) for term in terms]
    weights = np.array(known, np.float64)
    return weights / max(float(weights.sum()), 1e-9)


def bearing(evidence: Evidence, weights: Column, noise: Usual) -> Column:
    """Judge every candidate by itself, in log-odds."""
    share, share_around = evidence.holds @ weights, (evidence.holds | evidence.near) @ weights
    share_around = np.where(share > 0, share_around, _HEARSAY * share_around)
    odds = _odds(_BY_WORDS, share, share_around)
    if evidence.cosine is not None and evidence.around is not None:
        sight = clearness(noise)
        cosines = _BY_BOTH.cosine * noise.z(evidence.cosine)
        cosines = cosines + _BY_BOTH.around * evidence.lacks * noise.z(evidence.around)
        odds = sight * (_odds(_BY_BOTH, share, share_around) + cosines) + (1.0 - sight) * odds
    return odds


def _odds(known: Judgement, share: Column, share_around: Column) -> Column:
    """Say what the words alone are worth."""
    return known.none + known.share * share + known.share_around * share_around


def clearness(noise: Usual) -> float:
    """Return how far the cosines of an embedder can be trusted in this script, from 0 to 1."""
    return min(1.0, max(0.0, (_BLIND - noise.mean) / (_BLIND - _CLEAR)))
