"""Collecting candidates by words and by vectors, with everything that scoring needs to know about them.

Reads the store inside one unit of work; decides only how far to look. What depends on nothing that is still unknown is
asked together, so that a server is asked three times, whatever is found. A text's neighbours in its session are read
here, when a question is asked: nothing of them is stored with it, so that what is erased is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from everloom.kernel.journal import access_from
from everloom.kernel.lifecycle import Access
from everloom.kernel.search.fusion import Corpus, rarest
from everloom.kernel.search.index import WISH, Standing
from everloom.kernel.search.question import Asked, Known, names_in
from everloom.kernel.search.recipe import Recipe
from everloom.kernel.search.sample import VectorSample
from everloom.kernel.search.when import Span
from everloom.store import Ids, Reach, Row, StoreAnswer, Unit, VectorHit
from everloom.store.contract import Probe

# A text that is longer than so many times what `Recipe.short` calls short does not need its neighbours.
_LONG = 4
_NOBODY: frozenset[str] = frozenset()
_CHAIN = ("before_2", "before_1", "item_id", "after_1", "after_2")


class Aimed(NamedTuple):
    """A question's topic as vectors, and a sample of the workspace's to compare with."""

    probe: Probe
    sample: VectorSample


@dataclass(frozen=True, slots=True)
class Aim:
    """Points a question at this workspace's vectors: as a whole, and without names that are recognised in it."""

    whole: Probe | None
    without: Callable[[AbstractSet[str]], Aimed | None]


NO_AIM = Aim(None, lambda _: None)


@dataclass(frozen=True, slots=True)
class Archiving:
    """Which kinds can be archived, and how to ask which of some items are, at a time; a faculty knows what it means."""

    kinds: AbstractSet[str] = frozenset()
    ask: Callable[[Unit, Ids, datetime], Callable[[], AbstractSet[int]]] = lambda *_: frozenset


# Asks which of the given items may appear in the result.
Where = Callable[[Unit, Ids], Callable[[], AbstractSet[int]]]


@dataclass(frozen=True, slots=True)
class Quest:
    """A question, and how to look for what answers it; `is_last` says that nothing is asked of the unit afterwards.

    `where` asks which of some items may appear in the result; `leading` lead it, in order (None: not asked yet).
    """

    asked: Asked
    aim: Aim
    reach: Reach
    recipe: Recipe
    archive: Archiving
    now: datetime
    where: Where | None = None
    is_last: bool = False
    leading: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of a search; `is_all` means that a wider search would find no more.

    `rows` begins with the candidates; what follows from `count` on was only read as their context. `before`
    tells which document one follows in its session, `asking` which of these hold a question, and how they end.
    `nearness` are cosines of the question's topic, `whole` those of the question as it was asked.
    """

    rows: Sequence[Row]
    count: int
    corpus: Corpus
    names: AbstractSet[frozenset[str]]
    aimed: Aimed | None
    nearness: Mapping[int, VectorHit]
    whole: Mapping[int, VectorHit]
    before: Mapping[int, int]
    asking: Mapping[int, str]
    accesses: Mapping[int, Access]
    covers: Mapping[int, frozenset[int]]
    is_all: bool
    # Candidates that have faded so far that they rank below others that answer about as well; None if nobody knows yet.
    archived: AbstractSet[int] | None = frozenset()
    # Candidates that the caller does not want.
    refused: AbstractSet[int] = frozenset()

    @property
    def candidates(self) -> Sequence[Row]:
        """The rows that may answer."""
        return self.rows[: self.count]


def known_by(row: Row) -> Known:
    """The names that a row's document is known by."""
    return row["labels"], row["opening"]


class _About(NamedTuple):
    """What was asked about candidates and what is around them; more than is needed may come back."""

    rows: StoreAnswer[list[Row]]
    chains: StoreAnswer[list[Row]] | None
    asking: StoreAnswer[list[Row]] | None
    # How near they are to the question's topic, and to the question as it was asked if that is not the same.
    cosines: StoreAnswer[Sequence[dict[int, VectorHit]]] | None
    covers: StoreAnswer[list[Row]]
    accesses: StoreAnswer[list[Row]]
    archived: Callable[[], AbstractSet[int]] | None
    wanted: Callable[[], AbstractSet[int]] | None


def gather(unit: Unit, quest: Quest, corpus: Corpus, depth: int) -> Gathered:
    """Find at least `depth` candidates by words and as many by vectors, if there are that many.

    A question about one time is also asked within it: what was then may be far down the list of all times. One that
    asks for something also looks at what the person always wants.
    """
    asked, reach, recipe = quest.asked, quest.reach, quest.recipe
    then = _within(reach, asked.spans[0]) if len(asked.spans) == 1 else None
    leading = _ask_leading(unit, quest)
    found, rows, is_all = _by_words(unit, quest, corpus, depth, then)
    lead = [row for row in leading() if row["item_id"] not in {*found}]
    found, rows = [*found, *(row["item_id"] for row in lead)], [*rows, *lead]
    names = names_in(map(known_by, rows), frozenset(asked.terms)) if recipe.names else frozenset()
    aimed = quest.aim.without(_NOBODY.union(*names))
    probe = aimed.probe if aimed else None
    by_vectors, near = max(recipe.vector_candidates, depth), []
    if probe:
        near = [unit.nearest(probe, by_vectors, reach)]
        near += [unit.nearest(probe, depth, then)] if then else []
    first = Ids(tuple(found))
    close, seeds = Ids(), Ids(_lacking(rows, {*found[: recipe.seeds]}, recipe))
    for each in near:
        close, seeds = close | each.ids(), seeds | each.ids(first=recipe.seeds)
    about = _ask_about(unit, quest, probe, (first, close, seeds), rows)
    if quest.is_last:
        unit.end()
    hits = [hit for each in near for hit in each.get()]
    is_all = is_all and (not near or len(near[0].get()) < by_vectors)
    nearness = {hit.item_id: hit for hit in hits}
    nearness |= _chosen(about.cosines, 0, [item for item in found if item not in nearness])
    known = set(found)
    more = [item for item in _each_once(hits) if item not in known]
    rows += _in_order(more, about.rows.get())
    gathered = Gathered(rows, len(rows), corpus, names, aimed, nearness, {}, {}, {}, {}, {}, is_all)
    # The best by either measure: reading what is beside every candidate would cost more than finding them.
    best = {*found[: recipe.seeds], *(hit.item_id for hit in hits[: recipe.seeds])}
    return _described(_with_context(gathered, about, best, quest, may_answer=True), about, quest)


def _ask_leading(unit: Unit, quest: Quest) -> Callable[[], list[Row]]:
    """Ask for the rows of what leads, but for what has been retired or is outside the scope."""
    if not quest.leading:
        return list
    within = unit.ask("words.within", ids=Ids(tuple(quest.leading)), **quest.reach.params)
    return unit.ask("words.scored_of", ids=within.ids("id")).get


def _by_words(
    unit: Unit, quest: Quest, corpus: Corpus, depth: int, then: Reach | None
) -> tuple[list[int], list[Row], bool]:
    """Find candidates by their words, best first, with their rows; true if there are no more."""
    asked, reach, recipe = quest.asked, quest.reach, quest.recipe
    most = max(recipe.word_candidates, depth)
    # A recipe that gives words no weight does not look for them: reading postings is most of a search.
    chosen = rarest(asked.terms, corpus, recipe.postings) if recipe.words or recipe.context else ()
    weights = {term: corpus.rarity(term) for term in chosen}
    commoner = {term: corpus.rarity(term) for term in asked.terms if corpus.holding.get(term) and term not in weights}
    widest = max(most, recipe.sharing) if commoner else most
    looks = [unit.word_candidates(weights, widest, reach)] if weights else []
    if then and weights:
        looks.append(unit.word_candidates(weights, depth, then))
    if asked.is_request and recipe.wishes:
        looks.append(unit.word_candidates({WISH: 1.0}, recipe.wish_candidates, reach))
    if not looks:
        return [], [], True
    first, *further = looks
    best = None
    if weights and widest > most:
        best = _narrowed(unit, first.get(), most, {**weights, **commoner})
    every = first.ids() if best is None else Ids(tuple(best))
    for each in further:
        every |= each.ids()
    rows = unit.ask("words.scored_of", ids=every)
    best = first.get() if best is None else best
    found = [*dict.fromkeys([*best, *(item for each in further for item in each.get())])]
    is_all = not weights or len(best) < most
    return found, _in_order(found, rows.get()), is_all


def _narrowed(unit: Unit, sharing: list[int], limit: int, weights: Mapping[str, float]) -> list[int]:
    """Choose among the documents that share the rarest words by all words: in a large memory, hundreds share a name."""
    if len(sharing) <= limit:
        return sharing
    sums = {
        row["item_id"]: sum(map(weights.__getitem__, weights.keys() & f"{row['words']} {row['context_words']}".split()))
        for row in unit.all("words.of_documents", ids=sharing)
    }
    return sorted(sharing, key=lambda item: -sums.get(item, 0.0))[:limit]


def gather_among(unit: Unit, quest: Quest, corpus: Corpus, among: Sequence[int]) -> Gathered:
    """Take a chosen set of documents as the candidates; those that match the question in no way are left out."""
    asked, recipe = quest.asked, quest.recipe
    every = unit.ask("words.scored_of", ids=list(among)).get()
    names = names_in(map(known_by, every), frozenset(asked.terms)) if recipe.names else frozenset()
    aimed = quest.aim.without(_NOBODY.union(*names))
    probe = aimed.probe if aimed else None
    near = unit.similarities(Ids(tuple(among)), probe) if probe else None
    seeds = near.ids(first=2 * recipe.seeds) if near else Ids()
    about = _ask_about(unit, quest, probe, (Ids(), Ids(tuple(among)), seeds), every)
    if quest.is_last:
        unit.end()
    nearness = near.get()[0] if near else {}
    rows = [
        row
        for row in every
        if row["item_id"] in nearness
        or {*row["words"].split(), *row["context_words"].split()}.intersection(asked.terms)
    ]
    gathered = Gathered(rows, len(rows), corpus, names, aimed, nearness, {}, {}, {}, {}, {}, True)
    best = sorted(nearness, key=lambda item: (-nearness[item].similarity, item))[: 2 * recipe.seeds]
    return _described(_with_context(gathered, about, {*best}, quest, may_answer=False), about, quest)


def _ask_about(
    unit: Unit, quest: Quest, probe: Probe | None, places: tuple[Ids, Ids, Ids], rows: Sequence[Row]
) -> _About:
    """Ask for everything that scoring needs: of those found, of those near, and of what is beside the seeds."""
    found, near, seeds = places
    recipe, as_of = quest.recipe, quest.reach.as_of
    chains = None
    if recipe.beside and (recipe.context or recipe.around) and seeds != Ids():
        chains = unit.ask("words.beside", ids=seeds, as_of=as_of, spaces=_LONG * recipe.short)
    linked = chains.ids(*_CHAIN) if chains else Ids()
    every, read = found | near | linked, Ids(tuple(row["item_id"] for row in rows))
    is_known = any(row["kind"] in quest.archive.kinds for row in rows)
    return _About(
        unit.ask("words.scored_of", ids=(near | linked) - read),
        chains,
        unit.ask("words.asking", ids=linked) if chains else None,
        _ask_nearness(unit, probe, quest.aim.whole, (every, (found | linked) - near)),
        unit.ask("words.cover_of", ids=every, as_of=as_of),
        unit.ask("kernel.access_of", ids=every),
        quest.archive.ask(unit, every, quest.now) if is_known else None,
        quest.where(unit, every) if quest.where else None,
    )


def _ask_nearness(
    unit: Unit, topic: Probe | None, whole: Probe | None, places: tuple[Ids, Ids]
) -> StoreAnswer[Sequence[dict[int, VectorHit]]] | None:
    """Ask how near documents are to a question: all of them as it was asked, and to its topic those not yet known."""
    every, unknown = places
    if topic is None or whole is None:
        return None
    return unit.similarities(unknown, topic) if topic is whole else unit.similarities(every, topic, whole)


def _chosen(
    answer: StoreAnswer[Sequence[dict[int, VectorHit]]] | None, number: int, items: Iterable[int]
) -> dict[int, VectorHit]:
    """Take some items from an answer that may hold more, about one of its probes."""
    found = answer.get()[number] if answer else {}
    return {item: found[item] for item in items if item in found}


def _each_once(hits: Iterable[VectorHit]) -> Iterable[int]:
    """List the documents of hits, each once."""
    return dict.fromkeys(hit.item_id for hit in hits)


def _described(gathered: Gathered, about: _About, quest: Quest) -> Gathered:
    """Add what scoring needs to know about every candidate besides its words."""
    ids = {row["item_id"] for row in gathered.candidates}
    covers = ((row["item_id"], row["cover_id"]) for row in about.covers.get() if row["item_id"] in ids)
    accesses = {row["item_id"]: access_from(row) for row in about.accesses.get() if row["item_id"] in ids}
    is_needed = about.archived is None and any(row["kind"] in quest.archive.kinds for row in gathered.candidates)
    return replace(
        gathered,
        whole=_whole(gathered, about, quest),
        accesses=accesses,
        covers=grouped(covers),
        archived=about.archived() & ids if about.archived else None if is_needed else frozenset(),
        refused=ids - about.wanted() if about.wanted else frozenset(),
    )


def _whole(gathered: Gathered, about: _About, quest: Quest) -> Mapping[int, VectorHit]:
    """Tell how near the candidates are to the question as it was asked."""
    if gathered.aimed is None or gathered.aimed.probe is quest.aim.whole:
        return gathered.nearness
    return _chosen(about.cosines, 1, (row["item_id"] for row in gathered.rows))


def _lacking(rows: Iterable[Row], best: AbstractSet[int], recipe: Recipe) -> tuple[int, ...]:
    """List the best pieces of evidence that are in a session, and so short that they need their neighbours."""
    return tuple(
        row["item_id"]
        for row in rows
        if row["item_id"] in best
        and row["session_id"] is not None
        # What one pass understands, text after text, is about different things.
        and row["standing"] != Standing.SYNTHESIS
        and row["words"].count(" ") < _LONG * recipe.short
    )


def _with_context(
    gathered: Gathered, about: _About, best: AbstractSet[int], quest: Quest, *, may_answer: bool
) -> Gathered:
    """Add the neighbours of the best short texts in their sessions; where they may answer, they become candidates."""
    rows, reach = list(gathered.rows), quest.reach
    lacking = {*_lacking(rows, best, quest.recipe)}
    if not lacking or about.chains is None or about.asking is None:
        return gathered
    chains = sorted(about.chains.get(), key=lambda row: row["item_id"])
    before = _followed(row for row in chains if row["item_id"] in lacking)
    linked = {**before, **dict.fromkeys(before.values())}
    known = {row["item_id"] for row in rows}
    fresh = [item for item in linked if item not in known]
    more = _in_order(fresh, about.rows.get())
    answering = [row for row in more if may_answer and _reaches(reach, row)]
    resting = [row for row in more if not (may_answer and _reaches(reach, row))] if len(answering) < len(more) else []
    return replace(
        gathered,
        rows=[*rows, *answering, *resting],
        count=len(rows) + len(answering),
        nearness={**gathered.nearness, **_chosen(about.cosines, 0, fresh)},
        before=before,
        asking={row["item_id"]: row["ending"] for row in about.asking.get() if row["item_id"] in linked},
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


def ask_counts(unit: Unit, terms: Sequence[str]) -> Callable[[], Corpus]:
    """Ask for the word statistics of these terms."""
    tally, holding = unit.ask("words.tally_get"), unit.count_holding(terms)

    def read() -> Corpus:
        rows = tally.get()
        if not rows:
            return Corpus(0, 0, 0, {})
        return Corpus(rows[0]["documents"], rows[0]["words"], rows[0]["context_words"], holding.get())

    return read


def grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Group the second members of pairs by the first."""
    groups: dict[int, set[int]] = {}
    for one, other in pairs:
        groups.setdefault(one, set()).add(other)
    return {one: frozenset(others) for one, others in groups.items()}
