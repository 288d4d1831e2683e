"""The search itself: gather candidates, score them, fold repetitions, and explain each hit.

Reads the store and calls the embedder; the ranking is decided in `score` and `diversity`, while no transaction is open.
What is shown of the hits is read afterwards, in a unit of its own: what was deleted in between is not shown.
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

from everloom.clock import LATEST, Clock, clamped, from_micros, is_ahead, to_micros, zone_named
from everloom.kernel.embedding import Cue, Embedding, script_in
from everloom.kernel.search.bias import applied, at
from everloom.kernel.search.fusion import Candidate, Claims, Column, Corpus, Usual, fold
from everloom.kernel.search.gather import (
    NO_AIM,
    Aim,
    Aimed,
    Archiving,
    Gathered,
    Quest,
    Where,
    ask_counts,
    gather,
    gather_among,
    grouped,
)
from everloom.kernel.search.hits import EVERYTHING, NOTHING_FITS, SUBJECTS, Findings, Hit, Leading, Scope
from everloom.kernel.search.judging import judge
from everloom.kernel.search.question import Asked, ask
from everloom.kernel.search.recipe import DEFAULT, Recipe
from everloom.kernel.search.sample import Samples
from everloom.kernel.search.score import Background, Scores, lifted, scored
from everloom.kernel.search.when import anchor_in, mentions_time, timed
from everloom.kernel.texts import checked, checked_limit, spellings
from everloom.kernel.trust.origin import worth_saying
from everloom.store import Ids, Row, Store, Unit, VectorHit
from everloom.store.contract import Probe

_LONGEST_CUE = 20_000
_MOST_HITS = 1_000
# Candidates that rank below this many pages are not compared for folding: every one is compared with the whole page.
_FOLDING_DEPTH = 4
# So many hits are read and judged by their texts, however few are asked for.
_JUDGED = 20
# By so much a search looks deeper if a filter left too few candidates: a few rounds reach the whole workspace.
_WIDENING = 4
_NO_ARCHIVE = Archiving()
_NOTHING_LEADS = Leading()
_NO_LIFT = np.zeros(0)
# Workspaces whose time zones are kept.
_MOST_ZONES = 10_000

# Asks for more about the given items, which are shown.
_Reading = Callable[[Unit, Sequence[int]], object]


class _Shown(NamedTuple):
    """What hits are shown with: the question, the names of its perspectives, what was learned about answers, and what
    else is asked about the hits.
    """

    question: str
    angles: Mapping[int, str]
    learned: judge.Learned
    noise: Usual | None
    reading: _Reading | None


class _Posed(NamedTuple):
    """A question in one workspace: as it was understood, as vectors, and how their perspectives are called.

    `learned` is what was learned about answers in its script, found with the embedder in use.
    """

    quest: Quest
    corpus: Corpus
    noise: Usual | None
    angles: Mapping[int, str]
    learned: judge.Learned


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

    def unfit(self, learned: judge.Learned) -> frozenset[int]:
        """List the candidates that do not answer, whatever their texts turn out to tell."""
        fits = _may_fit(self, learned)
        return frozenset(row["item_id"] for row, each in zip(self.gathered.candidates, fits, strict=True) if not each)

    @property
    def known(self) -> float:
        """How likely it is that the memory holds an answer."""
        return float(self.scores.known.max(initial=0.0))

    def kinds(self, shown: AbstractSet[int], leaving_out: AbstractSet[int]) -> dict[str, int]:
        """Count by kind the results and the candidates that share a word with the question, most frequent first."""
        touched: Claims = np.logical_or.reduce(self.scores.holds, axis=1)
        counts = Counter(
            row["kind"]
            for row, is_touched in zip(self.gathered.candidates, touched, strict=True)
            if (is_touched or row["item_id"] in shown) and row["item_id"] not in leaving_out
        )
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


class Finder:
    """Searches the workspaces of a store."""

    def __init__(
        self,
        store: Store,
        embedding: Embedding,
        clock: Clock,
        archive: Archiving = _NO_ARCHIVE,
        leading: Leading = _NOTHING_LEADS,
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._clock = clock
        self._archive = archive
        self._leading = leading
        self._samples = Samples()
        # The time zones of workspaces as they were last seen; each search checks its own.
        self._zones: dict[int, str] = {}

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
        where: Where | None = None,
        reading: _Reading | None = None,
        fits_only: bool = False,
    ) -> Findings:
        """Return the documents that match `cue`, strongest first, looking past excluded ones until the page is full.

        `among` ranks exactly these documents, which a search over everything might not reach. `where` is called inside
        the unit of work to ask which candidates may appear in the result. `reading` is called inside
        the one that reads what is shown of the hits, to ask for more about them in the same round trip. With
        `fits_only`, the page is filled from those of all candidates that answer, and may stay empty.
        """
        checked_limit(limit, _MOST_HITS)
        question = checked(cue, "the question", _LONGEST_CUE)
        # As of an earlier time, "last week" is seen from then, and a later time is in the future.
        now = min(within.as_of or LATEST, self._clock.now())
        # Before the unit of work begins: a model may take seconds, and an open snapshot holds up the engine's cleaning.
        vectors = self._embedding.probe(question, workspace) if recipe.vectors else None
        depth, most = limit + len(leaving_out), max(limit, _JUDGED)
        unasked = Asked((), to_micros(now))
        scope = Quest(unasked, NO_AIM, within.reach, recipe, self._archive, now, where, is_last=True)
        while True:
            # Each round asks everything anew: one that looks deeper sees one state of the workspace, too.
            with self._store.read(workspace) as unit:
                posed = self._posed(unit, question, scope, vectors)
                scope = replace(scope, leading=posed.quest.leading)
                if among is not None:
                    gathered = gather_among(unit, posed.quest, posed.corpus, among)
                else:
                    gathered = gather(unit, posed.quest, posed.corpus, depth)
            barred = leaving_out | gathered.refused
            gathered = self._with_archived(workspace, gathered, now)
            background = _background(gathered, posed)
            ranking = _ranked(gathered, posed, background, most, barred)
            is_full = len(ranking.kept) >= limit
            if fits_only:
                unfit = ranking.unfit(posed.learned)
                ranking = _folded(gathered, ranking.scores, most, recipe, barred | unfit)
                # What lies deeper fits less often: where most do not fit already, it is not worth looking at.
                is_full &= len(ranking.kept) >= limit or 2 * len(unfit) > gathered.count
            if is_full or gathered.is_all:
                break
            # Starting from the recipe's own minimum: a smaller depth would gather the same candidates again.
            depth = max(depth, recipe.word_candidates) * _WIDENING
        shown = _Shown(question, posed.angles, posed.learned, posed.noise, reading)
        hits = _best_first(self._described(workspace, ranking, shown), recipe.bias.margin)
        degraded = "no embedder could answer: found by words alone" if recipe.vectors and vectors is None else None
        if fits_only:
            hits = tuple(hit for hit in hits if hit.fits)
        by_vectors = posed.quest.aim.whole is not None
        note = NOTHING_FITS if fits_only and not hits else None
        kinds = ranking.kinds({hit.id for hit in hits[:limit]}, barred)
        return Findings(hits[:limit], by_vectors, degraded, kinds, ranking.known, note)

    def _posed(self, unit: Unit, question: str, scope: Quest, vectors: Cue | None) -> _Posed:
        """Understand a question in its workspace, and count its words there."""
        noise = None if vectors is None else self._embedding.ask_noise(unit, vectors.model, question)
        leading = self._ask_leading(unit, question, scope)
        asked, counts = self._understood(unit, question, scope)
        whole = self._embedding.aimed(unit, vectors)
        corpus = counts()
        without = partial(self._aimed_without, unit, asked, (question, whole), corpus.documents)
        return _Posed(
            replace(scope, asked=asked, aim=Aim(whole, without), leading=leading()),
            corpus,
            None if noise is None else Usual(*noise()),
            self._embedding.angles(unit, vectors) if whole else {},
            judge.learned_for("" if vectors is None else vectors.model, script_in(question)),
        )

    def _ask_leading(self, unit: Unit, question: str, scope: Quest) -> Callable[[], Sequence[int]]:
        """Ask what leads, once for every round; of an earlier time that is not known."""
        kinds, reach, known = self._leading.kinds, scope.reach, scope.leading
        if known is not None:
            return lambda: known
        may_lead = reach.is_present and kinds and (reach.kinds is None or not kinds.isdisjoint(reach.kinds))
        return self._leading.ask(unit, question) if may_lead else tuple

    def _understood(self, unit: Unit, question: str, scope: Quest) -> tuple[Asked, Callable[[], Corpus]]:
        """Read a question, with the times that it mentions, and ask for the counts of its words."""
        now, micros = scope.now, scope.asked.now
        if not scope.recipe.time or not mentions_time(question):
            asked = ask(question, micros)
            return asked, ask_counts(unit, asked.terms)
        found, zone = unit.ask("kernel.workspace_zone"), self._zones.get(unit.workspace, "UTC")
        # Asked as if the workspace still had the time zone that was last seen, which the same round trip tells.
        asked = self._timed(unit, question, now, zone, scope)
        counts = ask_counts(unit, asked.terms)
        current = next((row["time_zone"] for row in found.get()), zone)
        if zone != current:
            if len(self._zones) >= _MOST_ZONES:
                self._zones.clear()
            self._zones[unit.workspace] = current
            asked = self._timed(unit, question, now, current, scope)
            counts = ask_counts(unit, asked.terms)
        return asked, counts

    def _timed(self, unit: Unit, question: str, now: datetime, zone: str, scope: Quest) -> Asked:
        spans, rest = timed(question, clamped(now).astimezone(zone_named(zone)))
        anchor = None if spans else anchor_in(question)
        if anchor is None:
            return ask(rest, scope.asked.now, spans)
        # The event is searched for by its words alone, because embedding it would cost a second call of the model.
        event = ask(anchor.phrase, scope.asked.now)
        quest = replace(scope, asked=event, archive=_NO_ARCHIVE, where=None, is_last=False)
        corpus = ask_counts(unit, event.terms)()
        posed = _Posed(quest, corpus, None, {}, judge.learned_for("", script_in(anchor.phrase)))
        found = _ranked(gather(unit, quest, corpus, 1), posed, None, 1).kept
        events = [at for each in found if not is_ahead(from_micros(at := each.row["happened_at"]), now)]
        return ask(question, scope.asked.now, tuple(map(anchor.span, events)))

    def _aimed_without(
        self, unit: Unit, asked: Asked, whole: tuple[str, Probe | None], documents: int, names: AbstractSet[str]
    ) -> Aimed | None:
        """Point the question's topic, without the names of documents, at the vectors; the question where that is slow.

        A fast embedder takes a tenth of a millisecond and no network, so it may be asked inside the unit of work.
        """
        question, probe = whole
        if probe is None:
            return None
        topic = asked.topic_without(names)
        if topic != question and self._embedding.chain.traits.is_fast:
            probe = self._embedding.aimed(unit, self._embedding.probe(topic)) or probe
        return Aimed(probe, self._samples.of(unit, probe, documents))

    def _with_archived(self, workspace: int, gathered: Gathered, now: datetime) -> Gathered:
        """Find out which candidates are archived, if the words alone have not told that any may be."""
        if gathered.archived is not None:
            return gathered
        with self._store.read(workspace) as unit:
            archived = self._archive.ask(unit, Ids(tuple(row["item_id"] for row in gathered.candidates)), now)
            unit.end()
            return replace(gathered, archived=archived())

    def _described(self, workspace: int, ranking: Ranking, shown: _Shown) -> tuple[Hit, ...]:
        """Read what is shown of the result page, leaving out what was deleted in the meantime."""
        ids = [each.row["item_id"] for each in ranking.kept]
        if not ids:
            return ()
        with self._store.read(workspace) as unit:
            asked, resting = unit.ask("words.document_of", ids=ids), unit.ask("kernel.source_of", ids=ids)
            if shown.reading is not None:
                shown.reading(unit, [*dict.fromkeys([*ids, *(item for each in ranking.kept for item in each.also)])])
            unit.end()
        rows = {row["item_id"]: row for row in asked.get()}
        sources = grouped((row["item_id"], row["source_id"]) for row in resting.get())
        return _hits(ranking, _Page(shown, rows, sources))


class _Page(NamedTuple):
    """A result page as it is read from the store."""

    shown: _Shown
    rows: Mapping[int, Row]
    sources: Mapping[int, frozenset[int]]


def _background(gathered: Gathered, posed: _Posed) -> Background | None:
    """Measure what is usual for this question's cosines; whether a text answers is judged by the whole question."""
    if gathered.aimed is None or posed.noise is None:
        return None
    here = gathered.aimed.sample.usual(gathered.aimed.probe, posed.noise)
    return Background(here, posed.noise, gathered.whole)


def _ranked(
    gathered: Gathered,
    posed: _Posed,
    background: Background | None,
    limit: int,
    leaving_out: AbstractSet[int] = frozenset(),
) -> Ranking:
    """Rank the candidates and fold them into a page."""
    scores = scored(gathered, posed.quest.asked, background, posed.quest.recipe, posed.learned)
    places = {row["item_id"]: place for place, row in enumerate(gathered.candidates)}
    leading = [places[item] for item in posed.quest.leading or () if item in places]
    return _folded(gathered, lifted(scores, leading), limit, posed.quest.recipe, leaving_out)


def _folded(gathered: Gathered, scores: Scores, limit: int, recipe: Recipe, leaving_out: AbstractSet[int]) -> Ranking:
    """Fold ranked candidates into a page, without those that are left out."""
    rows, covers = gathered.rows, gathered.covers
    terms = frozenset(scores.terms)
    best = [place for place in scores.order if rows[place]["item_id"] not in leaving_out][: limit * _FOLDING_DEPTH]
    nothing: frozenset[int] = frozenset()
    top = {rows[place]["item_id"]: place for place in best}
    candidates = [
        Candidate(
            item,
            words := frozenset(rows[place]["words"].split()),
            words & terms,
            covers.get(item, nothing),
            is_dated=bool(scores.is_dated[place]),
        )
        for item, place in top.items()
    ]
    folded = fold(candidates, limit, recipe.same)
    return Ranking(
        gathered, scores, [RankedDocument(rows[top[item]], top[item], also) for item, also in folded.items()]
    )


def _hits(ranking: Ranking, page: _Page) -> tuple[Hit, ...]:
    """Build hits from the result page, with their sources; matched words are spelled as in the question.

    The similarity is that of the whole question, which thresholds are about; the ranking may leave names out.
    """
    gathered, scores = ranking.gathered, ranking.scores
    asked, learned = judge.wanted(page.shown.question), page.shown.learned
    spelled = spellings(page.shown.question)
    words = [spelled.get(term, term) for term in scores.terms]
    hits = []
    for found, place, also in ranking.kept:
        item = found["item_id"]
        row, near = page.rows.get(item), gathered.whole.get(item)
        if row is None:
            continue
        origin, trust = worth_saying(row["origin"], row["trust"])
        told = judge.told(asked, row["text"])
        evidence = dict(at(scores.evidence, place)) | told
        leads = bool(scores.signals.get(SUBJECTS, _NO_LIFT)[place : place + 1].any())
        odds = judge.weighed(learned.answers, evidence)
        answers = float(scores.answers[place] if leads else judge.likely(odds))
        tells = not told["untold"] and not told["uncounted"]
        fits = leads or (tells and bool(_fitting(ranking, np.array([answers]), slice(place, place + 1))[0]))
        hit = Hit(
            id=item,
            kind=row["kind"],
            title=row["title"],
            text=row["text"],
            labels=tuple(json.loads(row["labels"])),
            score=float(scores.score[place]),
            answers=answers,
            fits=fits,
            relates=fits or _relates(near, page.shown.noise, scores.holds[place]),
            evidence=evidence,
            relevance=float(scores.relevance[place]),
            signals=dict(at(scores.signals, place)),
            bias=applied(scores.bias, place),
            similarity=None if near is None else near.similarity,
            matched_perspective=None if near is None else page.shown.angles.get(near.perspective_id),
            matched_words=_distinct(words, scores.holds[place]),
            words_around=_distinct(words, scores.near[place]),
            is_covered=item in gathered.covers,
            is_archived=item in (gathered.archived or ()),
            also=also,
            sources=tuple(sorted(page.sources.get(item, ()))),
            session_id=row["session_id"],
            happened_at=from_micros(row["happened_at"]),
            created_at=from_micros(row["created_at"]),
            origin=origin,
            trust=trust,
        )
        hits.append(hit)
    return tuple(hits)


def _may_fit(ranking: Ranking, learned: judge.Learned) -> Claims:
    """Mark the candidates that answer if their texts tell what is asked for, and those that lead."""
    scores = ranking.scores
    best = judge.likely(judge.weighed(learned.answers, {**scores.evidence, "told": 1.0}))
    leads: Claims = scores.signals.get(SUBJECTS, np.zeros_like(best)) > 0.0
    return leads | _fitting(ranking, best)


def _fitting(ranking: Ranking, answers: Column, places: slice = slice(None)) -> Claims:
    scores = ranking.scores
    documents = ranking.gathered.corpus.documents
    return judge.fitting(answers, scores.evidence["bearing"][places], scores.known[places], documents)


def _relates(near: VectorHit | None, noise: Usual | None, holds: Claims) -> bool:
    """Check whether a text is near enough to a topic, or holds enough of its words, to come to mind."""
    is_near = near is not None and noise is not None and near.similarity >= noise.mean + judge.NEAR * noise.spread
    return is_near or bool(holds.any() and holds.mean() >= judge.SHARED)


def _best_first(hits: Sequence[Hit], margin: float) -> tuple[Hit, ...]:
    """Put no hit above one that answers better by more than the margin; else the order stays."""
    best, lowest = max((hit.answers for hit in hits), default=0.0), 1.0
    # What is exactly asked for leads, and answers no less than what follows.
    ordered = [replace(hit, answers=best) for hit in hits if hit.leads]
    left = [hit for hit in hits if not hit.leads]
    while left:
        enough = max(hit.answers for hit in left) - margin
        first = next(place for place, hit in enumerate(left) if hit.answers >= enough)
        hit = left.pop(first)
        lowest = min(lowest, hit.score)
        ordered.append(hit if hit.score == lowest else replace(hit, score=lowest))
    return tuple(ordered)


def _distinct(words: Sequence[str], chosen: Claims) -> tuple[str, ...]:
    """Return the chosen words without repetition: two terms may have the same spelling."""
    return tuple(dict.fromkeys(compress(words, chosen)))
