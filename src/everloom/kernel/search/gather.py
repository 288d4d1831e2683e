"""Collecting candidates by words and by vectors, with everything that scoring needs to know about them.

Reads the store inside one unit of work; decides only how far to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from everloom.kernel.journal import access_from
from everloom.kernel.lifecycle import Access
from everloom.kernel.search.fusion import Corpus, rarest
from everloom.kernel.search.recipe import Recipe
from everloom.kernel.search.when import Span
from everloom.store import Reach, Row, Unit, VectorHit
from everloom.store.contract import Probe


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of a search; `is_all` means that a wider search would find no more."""

    rows: Sequence[Row]
    corpus: Corpus
    nearness: Mapping[int, VectorHit]
    accesses: Mapping[int, Access]
    covers: Mapping[int, frozenset[int]]
    is_all: bool


def gather(
    unit: Unit,
    terms: Sequence[str],
    probe: Probe | None,
    reach: Reach,
    depth: int,
    recipe: Recipe,
    spans: Sequence[Span] = (),
) -> Gathered:
    """Find at least `depth` candidates by words and as many by vectors, if there are that many.

    A question about one period is also searched within it, because its documents may rank low among all periods.
    """
    corpus = _counted(unit, terms)
    by_words, by_vectors = max(recipe.word_candidates, depth), max(recipe.vector_candidates, depth)
    # A recipe that gives words no weight does not search for them: reading postings is most of the work.
    chosen = rarest(terms, corpus, recipe.postings) if recipe.words or recipe.context else ()
    weights = {term: corpus.rarity(term) for term in chosen}
    found = unit.word_candidates(weights, by_words, reach) if weights else []
    near = unit.nearest(probe, by_vectors, reach) if probe else []
    # Decided before the search within the span, which adds candidates but does not tell how many there are in all.
    is_all = len(found) < by_words and len(near) < by_vectors
    if len(spans) == 1 and (then := _within(reach, spans[0])):
        found = [*dict.fromkeys([*found, *(unit.word_candidates(weights, depth, then) if weights else ())])]
        near = [*near, *(unit.nearest(probe, depth, then) if probe else ())]
    nearness = {hit.item_id: hit for hit in near}
    only_by_words = [item for item in found if item not in nearness]
    # Every candidate needs all its signals: one that words found is not far from the question just because the list of
    # the nearest was full.
    if probe and only_by_words:
        nearness |= unit.similarities(probe, only_by_words)
    ids = [*only_by_words, *dict.fromkeys(hit.item_id for hit in near)]
    return _described(unit, unit.all("words.scored_of", ids=ids), corpus, nearness, reach, is_all)


def gather_among(unit: Unit, terms: Sequence[str], probe: Probe | None, reach: Reach, among: Sequence[int]) -> Gathered:
    """Use given documents as the candidates, except those with neither a vector nor a word of the question."""
    nearness = unit.similarities(probe, among) if probe else {}
    rows = [
        row
        for row in unit.all("words.scored_of", ids=list(among))
        if row["item_id"] in nearness or {*row["words"].split(), *row["context_words"].split()}.intersection(terms)
    ]
    return _described(unit, rows, _counted(unit, terms), nearness, reach, True)


def _described(
    unit: Unit, rows: Sequence[Row], corpus: Corpus, nearness: Mapping[int, VectorHit], reach: Reach, is_all: bool
) -> Gathered:
    """Add what scoring needs apart from the words: accesses and covers."""
    ids = [row["item_id"] for row in rows]
    return Gathered(
        rows=rows,
        corpus=corpus,
        nearness=nearness,
        accesses={row["item_id"]: access_from(row) for row in unit.all("kernel.access_of", ids=ids)},
        covers=grouped(
            (row["item_id"], row["cover_id"]) for row in unit.all("words.cover_of", ids=ids, as_of=reach.as_of)
        ),
        is_all=is_all,
    )


def _within(reach: Reach, span: Span) -> Reach | None:
    """Narrow a reach to a span; None if they do not overlap."""
    begin, end = max(reach.happened_from, span.begin), min(reach.happened_until, span.end)
    return replace(reach, happened_from=begin, happened_until=end) if begin < end else None


def _counted(unit: Unit, terms: Sequence[str]) -> Corpus:
    """Read the word statistics for these terms."""
    tally = unit.one("words.tally_get")
    if tally is None:
        return Corpus(0, 0, 0, {})
    holding = {row["term"]: row["documents"] for row in unit.all("words.term_of", terms=list(terms))}
    return Corpus(tally["documents"], tally["words"], tally["context_words"], holding)


def grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Group the second elements of pairs by the first."""
    groups: dict[int, set[int]] = {}
    for one, other in pairs:
        groups.setdefault(one, set()).add(other)
    return {one: frozenset(others) for one, others in groups.items()}
