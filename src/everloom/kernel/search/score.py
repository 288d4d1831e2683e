"""Scoring all candidates of a question at once: every signal and every factor.

Turns rows into columns; the formulas are in `fusion` and `bias`. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from everloom.clock import to_micros
from everloom.kernel.lifecycle import Access
from everloom.kernel.search.bias import Circumstances, Claims, UseCounts, factors, strength
from everloom.kernel.search.fusion import Column, Field, centred, lacking, read_field, relevance, telling, weighed
from everloom.kernel.search.gather import Gathered
from everloom.kernel.search.index import Standing
from everloom.kernel.search.names import bearing, names_in
from everloom.kernel.search.recipe import Bias, Recipe
from everloom.kernel.search.when import Moments, Span, credit
from everloom.store import Row
from everloom.store.contract import FOREVER

_MICROS_A_DAY = 86_400_000_000
_UNUSED = Access()
_NEVER = -FOREVER
FLOOR = 0.3


class Asked(NamedTuple):
    """A parsed question: its distinct terms, when it is asked, and the times that it mentions."""

    terms: tuple[str, ...]
    now: int
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of every candidate and its components, in the order of the rows.

    `order` lists the row indices, strongest first; `holds` marks the terms of the question that each text contains,
    `near` those that its lighter field contains.
    """

    terms: Sequence[str]
    order: Sequence[int]
    score: Column
    answers: Column
    relevance: Column
    signals: Mapping[str, Column]
    bias: Mapping[str, Column]
    holds: Claims
    near: Claims


def scored(gathered: Gathered, asked: Asked, recipe: Recipe) -> Scores:
    """Score every candidate; ties go to the newer."""
    asked = asked._replace(terms=telling(asked.terms, gathered.corpus))
    rows, terms = gathered.rows, asked.terms
    own = read_field([row["words"] for row in rows], terms)
    around = read_field([row["context_words"] for row in rows], terms)
    weights = {"words": recipe.words, "context": recipe.context, "vectors": recipe.vectors}
    holds = own.counts > 0
    signals = weighed(_measured(gathered, terms, own, around), weights) | _credited(rows, holds, asked, recipe)
    # After the z-scores, because it depends on the candidate itself and not on how it compares with the others.
    signals["context"] *= lacking(own.lengths, recipe.short)
    base = relevance(signals.values())
    bias = factors(_circumstances(gathered, asked, recipe.bias), recipe.bias)
    score = base * math.prod(bias.values())
    ids = np.fromiter((row["item_id"] for row in rows), np.int64, len(rows))
    order = np.lexsort((-ids, -score)).tolist()
    return Scores(
        terms, order, score, _answers(gathered, terms, own, around), base, signals, bias, holds, around.counts > 0
    )


def _answers(gathered: Gathered, terms: Sequence[str], own: Field, around: Field) -> Column:
    """Judge each candidate by itself: the share of the question's words that it holds, and its cosine."""
    weights = np.array([gathered.corpus.rarity(term) for term in terms]) + 0.1
    share = ((own.counts + around.counts) > 0) @ weights / max(float(weights.sum()), 1e-9)
    near = gathered.nearness
    cosine = np.array([each.similarity if (each := near.get(row["item_id"])) else 0.0 for row in gathered.rows])
    likely: Column = 1.0 / (1.0 + np.exp(4.0 - 4.5 * share - 5.0 * cosine))
    return likely


def _measured(gathered: Gathered, terms: Sequence[str], own: Field, around: Field) -> dict[str, Column]:
    """Measure each candidate by its words, by the words of its context, and by its similarity."""
    corpus, rows, near = gathered.corpus, gathered.rows, gathered.nearness
    weights = np.array([corpus.rarity(term) for term in terms])
    mean, context_mean = (max(1.0, total / max(1, corpus.documents)) for total in (corpus.words, corpus.context_words))
    signals = {"words": own.bm25(mean, weights), "context": around.bm25(context_mean, weights)}
    if near:
        # A document without a vector yet gets the mean, which makes it neither near nor far.
        middle = math.fsum(hit.similarity for hit in near.values()) / len(near)
        known = {item: hit.similarity for item, hit in near.items()}
        signals["vectors"] = np.array([known.get(row["item_id"], middle) for row in rows])
    return signals


def _credited(rows: Sequence[Row], holds: Claims, asked: Asked, recipe: Recipe) -> dict[str, Column]:
    """Credit candidates that have a name or a time that the question mentions."""
    signals = {}
    labels = [row["labels"] for row in rows] if recipe.names else []
    if names := names_in(labels, frozenset(asked.terms)):
        signals["names"] = centred(bearing(labels, names, asked.terms, holds), recipe.names)
    if asked.spans:
        moments = np.array([row["happened_at"] for row in rows], np.int64)
        signals["time"] = centred(credit(asked.spans, moments), recipe.time)
    return signals


def _circumstances(gathered: Gathered, asked: Asked, bias: Bias) -> Circumstances:
    """Collect what is known apart from the words; age does not count if the question is about a time."""
    rows, accesses, covers = gathered.rows, gathered.accesses, gathered.covers
    happened = np.array([row["happened_at"] for row in rows], np.int64)
    used = [accesses.get(row["item_id"], _UNUSED) for row in rows] if accesses else []
    tiers = {tier: strength(tier, bias) for tier in {row["model_tier"] for row in rows}}
    if asked.spans:
        # Infinitely old gives no recency, and not idle gives no penalty: the credit for the time decides instead.
        age, idle = np.full(len(rows), math.inf), np.zeros(len(rows))
    else:
        touched = [to_micros(each.last_at) if each.last_at else _NEVER for each in used]
        age = _days(asked.now, happened)
        idle = _days(asked.now, np.maximum(happened, touched)) if used else age
    return Circumstances(
        is_synthesis=np.array([row["standing"] == Standing.SYNTHESIS for row in rows], np.bool_),
        is_covered=np.array([row["item_id"] in covers for row in rows], np.bool_),
        age_days=age,
        idle_days=idle,
        confidence=np.array([0.5 if (known := row["confidence"]) is None else known for row in rows], np.float64),
        tier=np.array([tiers[row["model_tier"]] for row in rows], np.float64),
        usage=usage(used) if used else None,
    )


def _days(now: int, moments: Moments) -> Column:
    """Return how many days ago each moment was; a future moment counts as now."""
    ago: Column = np.maximum(0, now - moments) / _MICROS_A_DAY
    return ago


def usage(accesses: Sequence[Access]) -> UseCounts:
    """Turn access counts into columns."""
    return UseCounts(
        count=np.array([each.count for each in accesses], np.float64),
        useful=np.array([each.useful for each in accesses], np.float64),
        questionable=np.array([each.questionable for each in accesses], np.float64),
        pinned=np.array([each.pinned for each in accesses], np.bool_),
    )
