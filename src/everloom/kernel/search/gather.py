"""Collecting candidates by words and by vectors, with everything that scoring needs to know about them.

Reads the store inside one unit of work; decides only how far to look. A text's neighbours in its session are read
here, when a question is asked: nothing of them is stored with it, so that what is erased is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

from everloom.kernel.journal import access_from
from everloom.kernel.lifecycle import Access
from everloom.kernel.search.fusion import Corpus, rarest
from everloom.kernel.search.index import WISH
from everloom.kernel.search.question import Asked, Known, names_in
from everloom.kernel.search.recipe import Recipe
from everloom.kernel.search.when import Span
from everloom.store import Reach, Row, Unit, VectorHit
from everloom.store.contract import Probe

# A text that is longer than so many times what `Recipe.short` calls short does not need its neighbours.
_LONG = 4

# Points the question at this workspace's vectors, without the names that are already recognised in it.
Aim = Callable[[AbstractSet[str]], Probe | None]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of a search; `is_all` means that a wider search would find no more.

    `rows` begins with the candidates; what follows from `count` on was only read as their context. `before`
    tells which document one follows in its session, `asking` which of these hold a question, and how they end.
    """

    rows: Sequence[Row]
    count: int
    corpus: Corpus
    names: AbstractSet[frozenset[str]]
    probe: Probe | None
    nearness: Mapping[int, VectorHit]
    before: Mapping[int, int]
    asking: Mapping[int, str]
    accesses: Mapping[int, Access]
    covers: Mapping[int, frozenset[int]]
    is_all: bool
    # Candidates that have faded so far that they rank below others that answer about as well.
    archived: AbstractSet[int] = frozenset()

    @property
    def candidates(self) -> Sequence[Row]:
        """The rows that may answer."""
        return self.rows[: self.count]


def known_by(row: Row) -> Known:
    """The names that a row's document is known by."""
    return row["labels"], row["opening"]


def gather(unit: Unit, asked: Asked, aim: Aim, reach: Reach, depth: int, recipe: Recipe) -> Gathered:
    """Find at least `depth` candidates by words and as many by vectors, if there are that many.

    A question about one time is also asked within it: what was then may be far down the list of all times. One that
    asks for something also looks at what the person always wants.
    """
    corpus = _count(unit, asked.terms)
    by_words, by_vectors = max(recipe.word_candidates, depth), max(recipe.vector_candidates, depth)
    # A recipe that gives words no weight does not look for them: reading postings is most of a search.
    chosen = rarest(asked.terms, corpus, recipe.postings) if recipe.words or recipe.context else ()
    weights = {term: corpus.rarity(term) for term in chosen}
    commoner = {term: corpus.rarity(term) for term in asked.terms if corpus.holding.get(term) and term not in weights}
    found = _by_words(unit, weights, commoner, by_words, reach, recipe.sharing) if weights else []
    is_all = len(found) < by_words
    then = _within(reach, asked.spans[0]) if len(asked.spans) == 1 else None
    if then and weights:
        found = [*dict.fromkeys([*found, *unit.word_candidates(weights, depth, then)])]
    if asked.is_request and recipe.wishes:
        found = [*dict.fromkeys([*found, *unit.word_candidates({WISH: 1.0}, recipe.wish_candidates, reach)])]
    rows = _in_order(found, unit.all("words.scored_of", ids=found))
    names = names_in(map(known_by, rows), frozenset(asked.terms)) if recipe.names else frozenset()
    probe = aim(frozenset(word for name in names for word in name))
    near = unit.nearest(probe, by_vectors, reach) if probe else []
    is_all = is_all and len(near) < by_vectors
    if then and probe:
        near = [*near, *unit.nearest(probe, depth, then)]
    nearness = {hit.item_id: hit for hit in near}
    if probe:
        nearness |= unit.similarities(probe, [item for item in found if item not in nearness])
    known = set(found)
    more = [item for item in dict.fromkeys(hit.item_id for hit in near) if item not in known]
    rows += _in_order(more, unit.all("words.scored_of", ids=more))
    gathered = Gathered(rows, len(rows), corpus, names, probe, nearness, {}, {}, {}, {}, is_all)
    # The best by either measure: reading what is beside every candidate would cost more than finding them.
    best = {*found[: recipe.seeds], *(hit.item_id for hit in near[: recipe.seeds])}
    return _described(unit, _with_context(unit, gathered, best, reach, recipe, may_answer=True), reach)


def _by_words(
    unit: Unit, weights: Mapping[str, float], commoner: Mapping[str, float], limit: int, reach: Reach, most: int
) -> list[int]:
    """Find documents by the rarest words; the commoner ones, if there are any, choose among those that share these."""
    if not commoner or most <= limit:
        return unit.word_candidates(weights, limit, reach)
    # In a large memory, hundreds share a rare name: which of them is meant, the words beside it say.
    sharing = unit.word_candidates(weights, most, reach)
    if len(sharing) <= limit:
        return sharing
    every = {**weights, **commoner}
    sums = {
        row["item_id"]: sum(map(every.__getitem__, every.keys() & f"{row['words']} {row['context_words']}".split()))
        for row in unit.all("words.of_documents", ids=sharing)
    }
    return sorted(sharing, key=lambda item: -sums.get(item, 0.0))[:limit]


def gather_among(unit: Unit, asked: Asked, aim: Aim, reach: Reach, among: Sequence[int], recipe: Recipe) -> Gathered:
    """Take a chosen set of documents as the candidates; those that match the question in no way are left out."""
    every = unit.all("words.scored_of", ids=list(among))
    names = names_in(map(known_by, every), frozenset(asked.terms)) if recipe.names else frozenset()
    probe = aim(frozenset(word for name in names for word in name))
    nearness = unit.similarities(probe, among) if probe else {}
    rows = [
        row
        for row in every
        if row["item_id"] in nearness
        or {*row["words"].split(), *row["context_words"].split()}.intersection(asked.terms)
    ]
    gathered = Gathered(rows, len(rows), _count(unit, asked.terms), names, probe, nearness, {}, {}, {}, {}, True)
    near = sorted(nearness, key=lambda item: -nearness[item].similarity)
    return _described(
        unit, _with_context(unit, gathered, {*near[: 2 * recipe.seeds]}, reach, recipe, may_answer=False), reach
    )


def _described(unit: Unit, gathered: Gathered, reach: Reach) -> Gathered:
    """Read what scoring needs about every candidate besides its words."""
    ids = [row["item_id"] for row in gathered.candidates]
    covers = ((row["item_id"], row["cover_id"]) for row in unit.all("words.cover_of", ids=ids, as_of=reach.as_of))
    accesses = {row["item_id"]: access_from(row) for row in unit.all("kernel.access_of", ids=ids)}
    return replace(gathered, accesses=accesses, covers=grouped(covers))


def _with_context(
    unit: Unit, gathered: Gathered, best: AbstractSet[int], reach: Reach, recipe: Recipe, *, may_answer: bool
) -> Gathered:
    """Read the neighbours of the best short texts in their sessions; where they may answer, they become candidates."""
    rows = list(gathered.rows)
    lacking = [
        row["item_id"]
        for row in rows
        if row["item_id"] in best and row["session_id"] is not None and row["words"].count(" ") < _LONG * recipe.short
    ]
    if not lacking or not recipe.beside or not (recipe.context or recipe.around):
        return gathered
    before = _followed(unit.all("words.beside", ids=lacking, as_of=reach.as_of))
    linked = [*{**before, **dict.fromkeys(before.values())}]
    known = {row["item_id"] for row in rows}
    fresh = [item for item in linked if item not in known]
    nearness = dict(gathered.nearness)
    if gathered.probe:
        nearness |= unit.similarities(gathered.probe, fresh)
    more = _in_order(fresh, unit.all("words.scored_of", ids=fresh))
    answering = [row for row in more if may_answer and _reaches(reach, row)]
    resting = [row for row in more if not (may_answer and _reaches(reach, row))] if len(answering) < len(more) else []
    return replace(
        gathered,
        rows=[*rows, *answering, *resting],
        count=len(rows) + len(answering),
        nearness=nearness,
        before=before,
        asking={row["item_id"]: row["ending"] for row in unit.all("words.asking", ids=linked)},
    )


def _followed(chains: Iterable[Row]) -> dict[int, int]:
    """Learn from short chains of one session, each in order, which document each one follows."""
    before: dict[int, int] = {}
    for row in chains:
        chain = [row["before_2"], row["before_1"], row["item_id"], row["after_1"], row["after_2"]]
        before |= {later: earlier for earlier, later in pairwise(item for item in chain if item is not None)}
    return before


def _reaches(reach: Reach, row: Row) -> bool:
    """Return whether a neighbour, which is of a candidate's kind and present like it, is of the time that is asked."""
    return bool(reach.happened_from <= row["happened_at"] <= reach.happened_until)


def _in_order(ids: Sequence[int], rows: Iterable[Row]) -> list[Row]:
    found = {row["item_id"]: row for row in rows}
    return [found[item] for item in ids if item in found]


def _within(reach: Reach, span: Span) -> Reach | None:
    """Narrow a reach to a span; None when they do not overlap."""
    begin, end = max(reach.happened_from, span.begin), min(reach.happened_until, span.end)
    return replace(reach, happened_from=begin, happened_until=end) if begin < end else None


def _count(unit: Unit, terms: Sequence[str]) -> Corpus:
    """Read the word statistics of these terms."""
    tally = unit.one("words.tally_get")
    if tally is None:
        return Corpus(0, 0, 0, {})
    return Corpus(tally["documents"], tally["words"], tally["context_words"], unit.count_holding(terms))


def grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Group the second members of pairs by the first."""
    groups: dict[int, set[int]] = {}
    for one, other in pairs:
        groups.setdefault(one, set()).add(other)
    return {one: frozenset(others) for one, others in groups.items()}
