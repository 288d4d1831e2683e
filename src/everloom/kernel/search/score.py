"""Scoring all candidates of a question at once: every signal and every factor.

Turns rows into columns; the formulas are in `fusion`, `answers` and `bias`. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from everloom.clock import AHEAD, MICROSECOND, to_micros
from everloom.kernel.lifecycle import Access
from everloom.kernel.search.answers import Evidence, bearing, telling_shares
from everloom.kernel.search.bias import Circumstances, UseCounts, factors, ordered, strength
from everloom.kernel.search.fusion import (
    SPREAD,
    Claims,
    Column,
    Field,
    Usual,
    lacking,
    read_field,
    relevance,
    telling,
    usual_words,
)
from everloom.kernel.search.gather import Gathered, known_by
from everloom.kernel.search.hits import SUBJECTS
from everloom.kernel.search.index import PLAN, WISH, Standing
from everloom.kernel.search.judging import judge
from everloom.kernel.search.question import QUESTION_MARKS, Asked, Side, is_said_by, named_in, said_by, unnamed
from everloom.kernel.search.recipe import Bias, Recipe
from everloom.kernel.search.when import Moments, credit
from everloom.store import Row, VectorHit
from everloom.store.contract import FOREVER

_MICROS_A_DAY = 86_400_000_000
_UNUSED = Access()
_NEVER = -FOREVER
_AHEAD = AHEAD // MICROSECOND
# The spread of a mean over a few neighbours' cosines, as a share of that of one; measured on two kinds of conversation.
_CALMER = 0.7
# A text with so many neighbours: what is around it holds a term if any of them does.
_AROUND = 4
# A text that holds so many words of a question, and all that it has, is no accident.
_MANY = 4
# The share of a text's words that make it a repetition of the question: whose text it is may stand before it.
_VERBATIM = 0.7
# How likely a document that leads is the answer, and the distance of its signals to those of the next.
_LEADS, _STEP = 0.95, 0.5

# The places of the rows beside each candidate: the one that it follows, the one before that, and the two after it.
# Where there is none, the place behind the last row.
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Background:
    """What a question's cosines are measured by.

    `here` is what is usual in this memory for its topic, `noise` what the embedder gives for texts that a question has
    nothing to do with; `whole` are the cosines of the question as it was asked, names and all.
    """

    here: Usual
    noise: Usual
    whole: Mapping[int, VectorHit]


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of every candidate and its components, in the order of the rows.

    `order` lists the row indices, best first; `answers` judges each text by the `evidence` that is known before it is
    read, `known` whether it bears on the question at all. `holds` marks the terms of the question that each text
    contains, `near` those that its labels or the texts around it contain, `is_dated` the texts that are not from the
    future.
    """

    terms: Sequence[str]
    order: Sequence[int]
    score: Column
    answers: Column
    known: Column
    evidence: Mapping[str, Column]
    relevance: Column
    signals: Mapping[str, Column]
    bias: Mapping[str, Column]
    holds: Claims
    near: Claims
    is_dated: Claims


@dataclass(frozen=True, slots=True)
class _Read:
    """The rows as columns: the words and cosines of all, and what is stored and stands around the candidates."""

    every: Field
    own: Field
    stored: Field
    around: Field
    cosines: Column | None
    around_cosine: Column | None
    lacks: Column
    beside: Places


def scored(
    gathered: Gathered, asked: Asked, background: Background | None, recipe: Recipe, learned: judge.Learned
) -> Scores:
    """Score every candidate; ties go to the newer."""
    asked = asked._replace(terms=telling(asked.terms, gathered.corpus))
    read = _read(gathered, asked.terms, recipe)
    holds, near = read.own.counts > 0, (read.stored.counts + read.around.counts) > 0
    shares = telling_shares(asked.terms, _named(gathered, asked), gathered.corpus)
    signals = _measured(gathered, asked, read, background, recipe) | _credited(gathered, asked, holds, recipe)
    signals["share"] = recipe.share * ((holds | near) @ shares)
    strengths = sum(signals.values(), np.zeros(gathered.count))
    cosine, beside = _cosines(gathered, background.whole, read.beside) if background else (None, None)
    own = None if cosine is None else cosine[: gathered.count]
    evidence = Evidence(holds | (read.stored.counts > 0), near, own, beside, read.lacks)
    odds = bearing(evidence, shares, background.noise if background else Usual(0.0, 0.0))
    names = unnamed([known_by(row) for row in gathered.candidates], gathered.names, asked.terms, holds)
    pieces = judge.evidence(strengths / SPREAD, odds, names, read.own.lengths, gathered.corpus.documents)
    likely = judge.likely(judge.weighed(learned.answers, pieces))
    bias = factors(_circumstances(gathered, asked, recipe.bias), recipe.bias)
    ids = np.fromiter((row["item_id"] for row in gathered.candidates), np.int64, gathered.count)
    order, moved = ordered(strengths, likely, ids, bias, recipe.bias)
    return Scores(
        terms=asked.terms,
        order=order,
        score=relevance(moved),
        answers=likely,
        known=judge.likely(judge.weighed(learned.known, pieces)),
        evidence=pieces,
        relevance=relevance(strengths),
        signals=signals,
        bias=bias,
        holds=holds,
        near=near & ~holds,
        is_dated=_dated(gathered.candidates, asked.now) != _NEVER,
    )


def _named(gathered: Gathered, asked: Asked) -> frozenset[str]:
    """The terms that name somebody or something: written like a name, or the name of a document."""
    return asked.names.union(*gathered.names)


def _read(gathered: Gathered, terms: Sequence[str], recipe: Recipe) -> _Read:
    """Read rows into columns, and add up what is around each candidate."""
    rows, count = gathered.rows, gathered.count
    every = read_field([row["words"] for row in rows], terms)
    stored = read_field([row["context_words"] for row in gathered.candidates], terms)
    beside = _beside(gathered)
    around = Field(_summed(every.counts, beside), _summed(every.lengths, beside))
    cosines, around_cosine = _cosines(gathered, gathered.nearness, beside)
    own = Field(every.counts[:count], every.lengths[:count])
    return _Read(every, own, stored, around, cosines, around_cosine, lacking(own.lengths, recipe.short), beside)


def _beside(gathered: Gathered) -> Places:
    """Find what is beside each candidate, from what follows what."""
    nowhere = len(gathered.rows)
    places = {row["item_id"]: place for place, row in enumerate(gathered.rows)} if gathered.before else {}
    before, after = np.full(nowhere + 1, nowhere, np.intp), np.full(nowhere + 1, nowhere, np.intp)
    for later, earlier in gathered.before.items():
        if later in places and earlier in places:
            before[places[later]], after[places[earlier]] = places[earlier], places[later]
    once = before[: gathered.count], after[: gathered.count]
    return np.stack([once[0], before[once[0]], once[1], after[once[1]]], axis=1)


def _summed(values: Column, beside: Places) -> Column:
    """Add up the values of the rows that are beside each candidate."""
    total: Column = np.concatenate([values, np.zeros_like(values[:1])])[beside].sum(axis=1)
    return total


def _cosines(gathered: Gathered, near: Mapping[int, VectorHit], beside: Places) -> tuple[Column | None, Column | None]:
    """The cosine of each row, and for each candidate the mean of those around it; its own where nothing is."""
    if not near:
        return None, None
    # A document that waits for its vector is neither near nor far.
    middle = math.fsum(hit.similarity for hit in near.values()) / len(near)
    known = [hit.similarity if (hit := near.get(row["item_id"])) else middle for row in gathered.rows]
    every = np.array(known, np.float64)
    count = (beside < len(every)).sum(axis=1)
    return every, np.where(count > 0, _summed(every, beside) / np.maximum(count, 1), every[: gathered.count])


def _measured(
    gathered: Gathered, asked: Asked, read: _Read, background: Background | None, recipe: Recipe
) -> dict[str, Column]:
    """Compute the signals that are measured against the memory: words and vectors, a text's own and those around it."""
    corpus = gathered.corpus
    documents = max(1, corpus.documents)
    names = frozenset[str]().union(*gathered.names)
    weights = np.array(
        [corpus.rarity(term) * (recipe.named_words if term in names else 1.0) for term in asked.terms], np.float64
    )
    shares = np.array([min(1.0, corpus.holding.get(term, 0) / documents) for term in asked.terms], np.float64)
    mean, stored = max(1.0, corpus.words / documents), max(1.0, corpus.context_words / documents)
    beside = Field(read.stored.counts + read.around.counts, read.stored.lengths + read.around.lengths)
    usual = usual_words(weights, shares)
    usual_around = usual_words(weights, 1 - (1 - shares) ** (1 + _AROUND * (read.around.lengths.any())))
    words = recipe.words * usual.z(read.every.bm25(mean, weights))
    signals = {
        "words": words[: gathered.count],
        "context": recipe.context * read.lacks * usual_around.z(beside.bm25(stored + _AROUND * mean, weights)),
    }
    vectors: Column | float = 0.0
    if read.cosines is not None and read.around_cosine is not None and background is not None:
        here = background.here
        vectors = recipe.vectors * here.z(read.cosines)
        signals["vectors"] = vectors[: gathered.count]
        # Where nothing is around a text its own cosine stands there, and must not count twice.
        needs = read.lacks * (read.around.lengths > 0)
        signals["around"] = recipe.around * needs * Usual(here.mean, _CALMER * here.spread).z(read.around_cosine)
    signals = _in_favour(signals)
    lent = signals["context"] + signals.get("around", 0.0)
    return signals | _answering(gathered, read, words + vectors, lent, recipe)


def _answering(gathered: Gathered, read: _Read, evidence: Column, lent: Column, recipe: Recipe) -> dict[str, Column]:
    """Let what follows a question have a share of its evidence, and a short text that asks less than one that tells.

    "Did you sell the boat?", "Yes, in May.": the second has the answer, the first has the words. With what its
    neighbours have lent it already, no text gets more than the question has itself. A question that is asked again in
    its own words is what is looked for; and what a person asks an assistant tells about the person.
    """
    if not gathered.before:
        return {}
    asking = gathered.asking
    asked = np.array([row["item_id"] in asking for row in gathered.rows], np.bool_)
    given = np.append(np.where(asked, evidence, 0.0), 0.0)[read.beside[:, 0]]
    ends = [
        asking.get(row["item_id"]) in QUESTION_MARKS and not is_said_by(known_by(row), Side.PERSON)
        for row in gathered.candidates
    ]
    only_asks = np.array(ends, np.bool_) & ~_repeats(read.own)
    return {
        "reply": np.maximum(0.0, np.minimum(recipe.reply * read.lacks * given, given - lent)),
        "asks": np.where(only_asks, -recipe.asks * read.lacks, 0.0),
    }


def _repeats(own: Field) -> Claims:
    """Mark the texts that say what was asked and hardly anything else."""
    repeats: Claims = (own.counts > 0).all(axis=1) & (own.counts.sum(axis=1) >= _VERBATIM * own.lengths)
    return repeats


def _in_favour(signals: Mapping[str, Column]) -> dict[str, Column]:
    """Let what stands around a text speak for it, and never against it.

    Of two turns, the one is all that is around the other: the wrong one would gain by its neighbour what the right one
    loses by its own.
    """
    return {
        name: np.maximum(column, 0.0) if name in {"context", "around"} else column for name, column in signals.items()
    }


def _credited(gathered: Gathered, asked: Asked, holds: Claims, recipe: Recipe) -> dict[str, Column]:
    """Credit what the question says about the answer: by which name it is known, who said it, when it was."""
    rows, known = gathered.candidates, [known_by(row) for row in gathered.candidates]
    signals = {}
    if gathered.names:
        signals["names"] = recipe.names * named_in(known, gathered.names, asked.terms, holds)
    if recipe.who:
        signals["who"] = recipe.who * said_by(known, asked.side)
    if asked.spans:
        signals["time"] = recipe.time * credit(asked.spans, _dated(rows, asked.now, plans=True))
    if asked.is_request and recipe.wishes:
        wishes = [
            WISH in row["context_words"].split() and not is_said_by(each, Side.ASSISTANT)
            for row, each in zip(rows, known, strict=True)
        ]
        signals["wishes"] = recipe.wishes * np.array(wishes, np.float64)
    if len(asked.terms) >= _MANY and recipe.verbatim:
        signals["verbatim"] = np.where(holds.all(axis=1), recipe.verbatim, 0.0)
    return signals


def _circumstances(gathered: Gathered, asked: Asked, bias: Bias) -> Circumstances:
    """Collect what is known besides the words; a question about a time does not penalise what is old."""
    rows, accesses, covers = gathered.candidates, gathered.accesses, gathered.covers
    archived = gathered.archived or frozenset()
    happened = _dated(rows, asked.now)
    used = [accesses.get(row["item_id"], _UNUSED) for row in rows] if accesses else []
    tiers = {tier: strength(tier, bias) for tier in {row["model_tier"] for row in rows}}
    if asked.spans:
        age, idle = np.full(len(rows), math.inf), np.zeros(len(rows))
    else:
        touched = [to_micros(each.last_at) if each.last_at else _NEVER for each in used]
        written = np.array([row["created_at"] for row in rows], np.int64)
        # What has no date was known when it was written, so that what corrects it is never idle for longer.
        known = np.where(happened == _NEVER, _past(written, asked.now), happened)
        age = _days(asked.now, happened)
        idle = _days(asked.now, np.maximum(known, _past(np.array(touched, np.int64), asked.now)) if used else known)
    return Circumstances(
        is_synthesis=np.array([row["standing"] == Standing.SYNTHESIS for row in rows], np.bool_),
        is_covered=np.array([row["item_id"] in covers for row in rows], np.bool_),
        is_archived=np.array([row["item_id"] in archived for row in rows], np.bool_),
        age_days=age,
        idle_days=idle,
        confidence=np.array([0.5 if (known := row["confidence"]) is None else known for row in rows], np.float64),
        tier=np.array([tiers[row["model_tier"]] for row in rows], np.float64),
        usage=usage(used) if used else None,
    )


def _dated(rows: Sequence[Row], now: int, *, plans: bool = False) -> Moments:
    """Return when each text happened: never, if that is in the future, unless a plan may count."""
    moments = np.array([row["happened_at"] for row in rows], np.int64)
    past = _past(moments, now)
    if plans and (past != moments).any():
        planned = [PLAN in row["context_words"].split() for row in rows]
        return np.where(planned, moments, past)
    return past


def _past(moments: Moments, now: int) -> Moments:
    """Replace what is in the future, which no clock that is right can have told."""
    return np.where(moments > now + _AHEAD, _NEVER, moments)


def _days(now: int, moments: Moments) -> Column:
    """Return how many days ago each moment was; a moment in the future counts as now."""
    ago: Column = np.maximum(0, now - moments) / _MICROS_A_DAY
    return ago


def usage(accesses: Sequence[Access]) -> UseCounts:
    """Turn the counts into columns."""
    return UseCounts(
        count=np.array([each.count for each in accesses], np.float64),
        useful=np.array([each.useful for each in accesses], np.float64),
        questionable=np.array([each.questionable for each in accesses], np.float64),
        pinned=np.array([each.pinned for each in accesses], np.bool_),
    )


def lifted(scores: Scores, places: Sequence[int]) -> Scores:
    """Put the candidates at these places first, in this order, as answers no less likely than any other."""
    if not places:
        return scores
    first = list(places)
    strengths = sum(scores.signals.values(), np.zeros(len(scores.score)))
    lift = np.zeros_like(strengths)
    lift[first] = strengths.max() + _STEP * np.arange(len(first), 0, -1) - strengths[first]
    score, answers = scores.score.copy(), scores.answers.copy()
    # Above every other score, each above the next, and no more than one.
    score[first] = (top := score.max()) + (1.0 - top) * np.arange(len(first), 0, -1) / (len(first) + 1)
    answers[first] = max(_LEADS, float(answers.max()))
    return replace(
        scores,
        order=[*first, *(place for place in scores.order if place not in first)],
        score=score,
        answers=answers,
        relevance=relevance(strengths + lift),
        signals={**scores.signals, SUBJECTS: lift},
    )
