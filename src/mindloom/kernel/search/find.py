"""The one search: gather candidates, score them all alike, weigh, fold, and answer with reasons.

Reads the store and asks the embedder; every decision is made in `fusion`, `bias` and `diversity`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple

from mindloom.clock import Clock, from_micros, to_micros, zone_named
from mindloom.errors import Rejected
from mindloom.kernel.embedding import Embedding
from mindloom.kernel.search.bias import Circumstance, factors
from mindloom.kernel.search.diversity import Candidate, fold
from mindloom.kernel.search.fusion import bm25, centred, relevance, weighed
from mindloom.kernel.search.gather import Gathered, gather, grouped
from mindloom.kernel.search.hits import EVERYTHING, Findings, Hit, Scope
from mindloom.kernel.search.index import Standing
from mindloom.kernel.search.names import named, names_in
from mindloom.kernel.search.recipe import DEFAULT, Recipe
from mindloom.kernel.search.when import Span, anchor_in, credit, mentions_time, timed
from mindloom.kernel.search.words import analyse
from mindloom.kernel.texts import checked
from mindloom.store import Row, Store, Unit

LONGEST_CUE = 20_000
MOST_HITS = 1_000
# What stands further down than this many times the page is not looked at for folding.
FOLDING_DEPTH = 4
WIDENING = 4
MICROS_A_DAY = 86_400_000_000


class Asked(NamedTuple):
    """A question as it was understood: its terms, in order and as a set, when it is asked, the times it speaks of."""

    terms: tuple[str, ...]
    words: frozenset[str]
    now: int
    spans: tuple[Span, ...]


class Scored(NamedTuple):
    """A candidate with its score and what the score is made of."""

    id: int
    words: Sequence[str]
    score: float
    relevance: float
    signals: Mapping[str, float]
    bias: Mapping[str, float]
    happened_at: int


class Finder:
    """The one search of a store."""

    def __init__(self, store: Store, embedding: Embedding, clock: Clock) -> None:
        self._store = store
        self._embedding = embedding
        self._clock = clock

    def search(
        self,
        workspace: int,
        cue: str,
        *,
        limit: int = 10,
        within: Scope = EVERYTHING,
        recipe: Recipe = DEFAULT,
        leaving_out: frozenset[int] = frozenset(),
    ) -> Findings:
        """Bring back what `cue` touches, strongest first; looks past what is left out until the page is full."""
        if not 1 <= limit <= MOST_HITS:
            raise Rejected(f"cannot answer {limit} hits", hint=f"ask for 1 to {MOST_HITS}")
        question = checked(cue, "the question", LONGEST_CUE)
        now = within.as_of or self._clock.now()
        vectors = self._embedding.probe(question, workspace) if recipe.vectors else None
        depth = limit + len(leaving_out)
        with self._store.read(workspace) as unit:
            asked = self._understood(unit, question, now, within, recipe)
            probe = self._embedding.aimed(unit, vectors)
            while True:
                gathered = gather(unit, asked.terms, probe, within.reach, depth, recipe, asked.spans)
                kept = best(gathered, asked, limit, recipe, leaving_out)
                if len(kept) == limit or gathered.is_all:
                    break
                depth = max(depth, recipe.word_candidates) * WIDENING
            hits = described(unit, kept, gathered, asked.terms)
        degraded = "no embedder could answer: found by words alone" if recipe.vectors and vectors is None else None
        answered = {hit.id for hit in hits}
        rows = (row for row in gathered.rows if row["item_id"] not in leaving_out)
        return Findings(hits, probe is not None, degraded, kinds_of(rows, answered, asked.words))

    def _understood(self, unit: Unit, question: str, now: datetime, within: Scope, recipe: Recipe) -> Asked:
        spans: tuple[Span, ...] = ()
        if recipe.time and mentions_time(question):
            spans, question = self._spans(unit, question, now, within, recipe)
        terms = tuple(dict.fromkeys(analyse(question)))
        return Asked(terms, frozenset(terms), to_micros(now), spans)

    def _spans(
        self, unit: Unit, question: str, now: datetime, within: Scope, recipe: Recipe
    ) -> tuple[tuple[Span, ...], str]:
        row = unit.one("kernel.workspace_zone")
        spans, rest = timed(question, now.astimezone(zone_named(row["time_zone"])) if row else now)
        anchor = None if spans else anchor_in(question)
        if anchor is None:
            return spans, rest
        # The event is looked for by its words alone: a time that is told by it must not need a second embedding.
        event = Asked(tuple(dict.fromkeys(analyse(anchor.phrase))), frozenset(), to_micros(now), ())
        found = best(gather(unit, event.terms, None, within.reach, 1, recipe), event, 1, recipe, frozenset())
        return tuple(anchor.span(each.happened_at) for each, _ in found), question


def kinds_of(rows: Iterable[Row], answered: AbstractSet[int], words: AbstractSet[str]) -> dict[str, int]:
    """Count by kind what was answered and what shares a word with the question, most first."""
    counts = Counter(
        row["kind"] for row in rows if row["item_id"] in answered or not words.isdisjoint(row["words"].split())
    )
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def best(
    gathered: Gathered, asked: Asked, limit: int, recipe: Recipe, leaving_out: frozenset[int]
) -> list[tuple[Scored, tuple[int, ...]]]:
    """Rank the candidates and keep the page, each with the ids of what it stands for."""
    ranked = [each for each in scored(gathered, asked, recipe) if each.id not in leaving_out]
    top = {each.id: each for each in ranked[: limit * FOLDING_DEPTH]}
    nothing: frozenset[int] = frozenset()
    candidates = [
        Candidate(item, frozenset(each.words), gathered.covers.get(item, nothing)) for item, each in top.items()
    ]
    return [(top[item], also) for item, also in fold(candidates, limit, recipe.same).items()]


def scored(gathered: Gathered, asked: Asked, recipe: Recipe) -> list[Scored]:
    """Score every candidate, strongest first; ties go to the newer."""
    weights = {"words": recipe.words, "context": recipe.context, "vectors": recipe.vectors}
    words = [row["words"].split() for row in gathered.rows]
    columns = weighed(measured(gathered, asked.terms, words), weights) | told(gathered.rows, words, asked, recipe)
    found = []
    for row, own, values in zip(gathered.rows, words, zip(*columns.values(), strict=True), strict=True):
        bias = factors(circumstance(row, gathered, asked), recipe.bias)
        signals = dict(zip(columns, values, strict=True))
        base = relevance(values)
        score = base * math.prod(bias.values())
        found.append(Scored(row["item_id"], own, score, base, signals, bias, row["happened_at"]))
    return sorted(found, key=lambda each: (-each.score, -each.id))


def told(rows: Sequence[Row], words: Sequence[Sequence[str]], asked: Asked, recipe: Recipe) -> dict[str, list[float]]:
    """Credit what the question itself tells of the answer: by which name it is known, and when it was."""
    signals = {}
    if recipe.names and (names := names_in((row["labels"] for row in rows), asked.words)):
        known = [1.0 if named(row["labels"], own, names) else 0.0 for row, own in zip(rows, words, strict=True)]
        signals["names"] = centred(known, recipe.names)
    if asked.spans:
        signals["time"] = centred([credit(asked.spans, row["happened_at"]) for row in rows], recipe.time)
    return signals


def measured(gathered: Gathered, terms: Sequence[str], words: Sequence[Sequence[str]]) -> dict[str, list[float]]:
    """Measure each candidate by its words, by the words around it, and by its nearness."""
    corpus, rows, near = gathered.corpus, gathered.rows, gathered.nearness
    weights = {term: corpus.rarity(term) for term in terms}
    mean, context_mean = (max(1.0, total / max(1, corpus.documents)) for total in (corpus.words, corpus.context_words))
    signals = {
        "words": [bm25(own, mean, weights) for own in words],
        "context": [bm25(row["context_words"].split(), context_mean, weights) for row in rows],
    }
    if near:
        # A document that waits for its vector is neither near nor far.
        middle = math.fsum(hit.similarity for hit in near.values()) / len(near)
        signals["vectors"] = [near[i].similarity if (i := row["item_id"]) in near else middle for row in rows]
    return signals


def circumstance(row: Row, gathered: Gathered, asked: Asked) -> Circumstance:
    """Collect what is known of a candidate beside its words; who asks about a time is not told that it is old."""
    item, access = row["item_id"], gathered.accesses.get(row["item_id"])
    happened = row["happened_at"]
    touched = happened if access is None or access.last_at is None else max(happened, to_micros(access.last_at))
    return Circumstance(
        is_synthesis=row["standing"] == Standing.SYNTHESIS,
        is_covered=item in gathered.covers,
        age_days=math.inf if asked.spans else max(0, asked.now - happened) / MICROS_A_DAY,
        idle_days=0.0 if asked.spans else max(0, asked.now - touched) / MICROS_A_DAY,
        confidence=row["confidence"],
        model_tier=row["model_tier"],
        access=access,
    )


def described(
    unit: Unit, kept: Sequence[tuple[Scored, tuple[int, ...]]], gathered: Gathered, terms: Sequence[str]
) -> tuple[Hit, ...]:
    """Make hits of what was kept, with where each comes from."""
    ids = [each.id for each, _ in kept]
    rows = {row["item_id"]: row for row in unit.all("words.document_of", ids=ids)}
    sources = grouped((row["item_id"], row["source_id"]) for row in unit.all("kernel.source_of", ids=ids))
    angles = {row["id"]: row["name"] for row in unit.all("vectors.perspective_all")}
    hits = []
    for each, also in kept:
        row, near = rows[each.id], gathered.nearness.get(each.id)
        hit = Hit(
            id=each.id,
            kind=row["kind"],
            title=row["title"],
            text=row["text"],
            labels=tuple(json.loads(row["labels"])),
            score=each.score,
            relevance=each.relevance,
            signals=each.signals,
            bias=each.bias,
            similarity=None if near is None else near.similarity,
            matched_perspective=None if near is None else angles.get(near.perspective_id),
            matched_words=tuple(term for term in terms if term in each.words),
            is_covered=each.id in gathered.covers,
            also=also,
            sources=tuple(sorted(sources.get(each.id, ()))),
            session_id=row["session_id"],
            happened_at=from_micros(row["happened_at"]),
            created_at=from_micros(row["created_at"]),
        )
        hits.append(hit)
    return tuple(hits)
