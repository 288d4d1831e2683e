"""The search itself: gather candidates, score them, fold repetitions, and explain each hit.

Reads the store and calls the embedder; the ranking is decided in `score` and `diversity`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np

from everloom.clock import Clock, from_micros, to_micros, zone_named
from everloom.kernel.embedding import Embedding, perspective_name
from everloom.kernel.search.answers import FLOOR
from everloom.kernel.search.bias import applied, at
from everloom.kernel.search.diversity import Candidate, fold
from everloom.kernel.search.fusion import Claims, Usual
from everloom.kernel.search.gather import Gathered, gather, gather_among, grouped
from everloom.kernel.search.hits import EVERYTHING, Findings, Hit, Scope
from everloom.kernel.search.question import Asked, ask
from everloom.kernel.search.recipe import DEFAULT, Recipe
from everloom.kernel.search.sample import Samples
from everloom.kernel.search.score import Background, Scores, scored
from everloom.kernel.search.when import Span, anchor_in, mentions_time, timed
from everloom.kernel.texts import checked, checked_limit, spellings
from everloom.kernel.trust.origin import worth_saying
from everloom.store import Row, Store, Unit, VectorHit
from everloom.store.contract import Probe

_LONGEST_CUE = 20_000
_MOST_HITS = 1_000
# Candidates that rank below this many pages are not compared for folding: every one is compared with the whole page.
_FOLDING_DEPTH = 4
# By so much a search looks deeper if a filter left too few candidates: a few rounds reach the whole workspace.
_WIDENING = 4

# Returns those of the given items that may appear in the result.
_Where = Callable[[Unit, Sequence[int]], AbstractSet[int]]
# Returns which of the given candidates are archived at a time; what that means is for a faculty to know.
FindArchived = Callable[[Unit, Sequence[Row], datetime], AbstractSet[int]]


def _nothing_archived(_unit: Unit, _candidates: Sequence[Row], _at: datetime) -> AbstractSet[int]:
    return frozenset()


class RankedDocument(NamedTuple):
    """A candidate on the result page: its row, its index in the scores, and the ids folded under it."""

    row: Row
    place: int
    also: tuple[int, ...]


class Ranking(NamedTuple):
    """The candidates of a search, their scores, and the result page."""

    gathered: Gathered
    scores: Scores
    kept: Sequence[RankedDocument]

    def kinds(self, leaving_out: AbstractSet[int]) -> dict[str, int]:
        """Count by kind the results and the candidates that share a word with the question, most frequent first."""
        kept = {each.row["item_id"] for each in self.kept}
        touched: Claims = np.logical_or.reduce(self.scores.holds, axis=1)
        counts = Counter(
            row["kind"]
            for row, is_touched in zip(self.gathered.candidates, touched, strict=True)
            if (is_touched or row["item_id"] in kept) and row["item_id"] not in leaving_out
        )
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


class Finder:
    """Searches the workspaces of a store."""

    def __init__(
        self, store: Store, embedding: Embedding, clock: Clock, find_archived: FindArchived = _nothing_archived
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._clock = clock
        self._find_archived = find_archived
        self._samples = Samples()

    def search(  # noqa: PLR0913  what may be answered is said by name, and most callers say nothing
        self,
        workspace: int,
        cue: str,
        *,
        limit: int = 10,
        within: Scope = EVERYTHING,
        recipe: Recipe = DEFAULT,
        leaving_out: AbstractSet[int] = frozenset(),
        among: Sequence[int] | None = None,
        where: _Where | None = None,
    ) -> Findings:
        """Return the documents that match `cue`, strongest first, looking past excluded ones until the page is full.

        `among` ranks exactly these documents, which a search over everything might not reach. `where` is called inside
        the unit of work with candidate ids, and returns those that may appear in the result.
        """
        checked_limit(limit, _MOST_HITS)
        question = checked(cue, "the question", _LONGEST_CUE)
        # Whoever asks as of an earlier time means "last week" as seen from then.
        now = within.as_of or self._clock.now()
        # Before the unit of work begins: a model may take seconds, and an open snapshot holds up the engine's cleaning.
        vectors = self._embedding.probe(question, workspace) if recipe.vectors else None
        depth = limit + len(leaving_out)
        with self._store.read(workspace) as unit:
            asked = self._understood(unit, question, now, within, recipe)
            whole = self._embedding.aimed(unit, vectors)
            aim = partial(self._aimed_without, unit, asked, question, whole)
            noise = None if vectors is None else Usual(*self._embedding.noise(unit, vectors.model, question))
            while True:
                if among is not None:
                    gathered = gather_among(unit, asked, aim, within.reach, among, recipe)
                else:
                    gathered = gather(unit, asked, aim, within.reach, depth, recipe)
                gathered = replace(gathered, archived=self._find_archived(unit, gathered.candidates, now))
                barred = leaving_out | _refused(unit, gathered, where)
                background = self._background(unit, gathered, whole, noise)
                ranking = _ranked(gathered, asked, background, limit, recipe, barred)
                if len(ranking.kept) == limit or gathered.is_all:
                    break
                # Starting from the recipe's own minimum: a smaller depth would gather the same candidates again.
                depth = max(depth, recipe.word_candidates) * _WIDENING
            hits = _described(unit, ranking, question, background.whole if background else {})
        degraded = "no embedder could answer: found by words alone" if recipe.vectors and vectors is None else None
        return Findings(hits, whole is not None, degraded, ranking.kinds(barred))

    def _understood(self, unit: Unit, question: str, now: datetime, within: Scope, recipe: Recipe) -> Asked:
        spans: tuple[Span, ...] = ()
        if recipe.time and mentions_time(question):
            spans, question = self._spans(unit, question, now, within, recipe)
        return ask(question, to_micros(now), spans)

    def _aimed_without(
        self, unit: Unit, asked: Asked, question: str, whole: Probe | None, names: AbstractSet[str]
    ) -> Probe | None:
        """Point the question's topic, without the names of documents, at the vectors; the question where that is slow.

        A fast embedder takes a tenth of a millisecond and no network, so it may be asked inside the unit of work.
        """
        topic = asked.topic_without(names)
        if whole is None or topic == question or not self._embedding.chain.traits.is_fast:
            return whole
        return self._embedding.aimed(unit, self._embedding.probe(topic)) or whole

    def _background(
        self, unit: Unit, gathered: Gathered, whole: Probe | None, noise: Usual | None
    ) -> Background | None:
        """Measure what is usual for this question's cosines; whether a text answers is judged by the whole question."""
        if gathered.probe is None or whole is None or noise is None:
            return None
        here = self._samples.usual(unit, gathered.probe, gathered.corpus.documents, noise)
        if whole is gathered.probe:
            return Background(here, noise, gathered.nearness)
        return Background(here, noise, unit.similarities(whole, [row["item_id"] for row in gathered.rows]))

    def _spans(
        self, unit: Unit, question: str, now: datetime, within: Scope, recipe: Recipe
    ) -> tuple[tuple[Span, ...], str]:
        row = unit.one("kernel.workspace_zone")
        spans, rest = timed(question, now.astimezone(zone_named(row["time_zone"])) if row else now)
        anchor = None if spans else anchor_in(question)
        if anchor is None:
            return spans, rest
        # The event is searched for by its words alone, because embedding it would cost a second call of the model.
        event = ask(anchor.phrase, to_micros(now))
        found = _ranked(gather(unit, event, lambda _: None, within.reach, 1, recipe), event, None, 1, recipe).kept
        return tuple(anchor.span(each.row["happened_at"]) for each in found), question


def _refused(unit: Unit, gathered: Gathered, where: _Where | None) -> AbstractSet[int]:
    """Return the candidates that the filter excludes."""
    ids = [row["item_id"] for row in gathered.candidates]
    return frozenset() if where is None else set(ids) - where(unit, ids)


def _ranked(
    gathered: Gathered,
    asked: Asked,
    background: Background | None,
    limit: int,
    recipe: Recipe,
    leaving_out: AbstractSet[int] = frozenset(),
) -> Ranking:
    """Rank the candidates and fold them into a page."""
    scores, rows, covers = scored(gathered, asked, background, recipe), gathered.rows, gathered.covers
    terms = frozenset(scores.terms)
    best = [place for place in scores.order if rows[place]["item_id"] not in leaving_out][: limit * _FOLDING_DEPTH]
    nothing: frozenset[int] = frozenset()
    top = {rows[place]["item_id"]: place for place in best}
    candidates = [
        Candidate(item, words := frozenset(rows[place]["words"].split()), words & terms, covers.get(item, nothing))
        for item, place in top.items()
    ]
    folded = fold(candidates, limit, recipe.same)
    return Ranking(
        gathered, scores, [RankedDocument(rows[top[item]], top[item], also) for item, also in folded.items()]
    )


def _described(unit: Unit, ranking: Ranking, question: str, nearness: Mapping[int, VectorHit]) -> tuple[Hit, ...]:
    """Build hits from the result page, with their sources; matched words are spelled as in the question.

    `nearness` are the cosines of the whole question, which thresholds are about; the ranking may leave names out.
    """
    gathered, scores = ranking.gathered, ranking.scores
    spelled = spellings(question)
    words = [spelled.get(term, term) for term in scores.terms]
    ids = [each.row["item_id"] for each in ranking.kept]
    rows = {row["item_id"]: row for row in unit.all("words.document_of", ids=ids)}
    sources = grouped((row["item_id"], row["source_id"]) for row in unit.all("kernel.source_of", ids=ids))
    hits = []
    for item, (_, place, also) in zip(ids, ranking.kept, strict=True):
        row, near = rows[item], nearness.get(item)
        origin, trust = worth_saying(row["origin"], row["trust"])
        hit = Hit(
            id=item,
            kind=row["kind"],
            title=row["title"],
            text=row["text"],
            labels=tuple(json.loads(row["labels"])),
            score=float(scores.score[place]),
            answers=float(scores.answers[place]),
            fits=bool(scores.answers[place] >= FLOOR),
            relevance=float(scores.relevance[place]),
            signals=dict(at(scores.signals, place)),
            bias=applied(scores.bias, place),
            similarity=None if near is None else near.similarity,
            matched_perspective=None if near is None else perspective_name(unit, near.perspective_id),
            matched_words=_distinct(words, scores.holds[place]),
            words_around=_distinct(words, scores.near[place]),
            is_covered=item in gathered.covers,
            is_archived=item in gathered.archived,
            also=also,
            sources=tuple(sorted(sources.get(item, ()))),
            session_id=row["session_id"],
            happened_at=from_micros(row["happened_at"]),
            created_at=from_micros(row["created_at"]),
            origin=origin,
            trust=trust,
        )
        hits.append(hit)
    return tuple(hits)


def _distinct(words: Sequence[str], chosen: Claims) -> tuple[str, ...]:
    """Return the chosen words without repetition: two terms may have the same spelling."""
    return tuple(dict.fromkeys(compress(words, chosen)))
