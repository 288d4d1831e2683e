"""Recall and search in one graph: applies a filter and the floor to the kernel's search. Reads no file.

What answers a question is found whether it is archived or not; an archived memory ranks below others that answer about
as well. Lists that nobody asked a question for leave archived memories out or put them last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice

from everloom.errors import Rejected
from everloom.graph.files.fields import checked_tags
from everloom.graph.files.mentions import with_parents
from everloom.graph.index.catalog import OpenGraph, brief_of, describe, newest
from everloom.graph.index.decay import is_archived, lend, loans_to
from everloom.graph.kinds import KINDS, folded_type
from everloom.graph.results import MemoryBrief, Recalled
from everloom.kernel.search import ALONE, Scope
from everloom.kernel.verbs import no_next_page
from everloom.store import Ids, Row, Unit

_MOST = 200
_MEMORIES = Scope(kinds=frozenset({"memory"}))
# Of the memories that a recall shows, so many at its head count as used: further down, few are read.
_USED = 3
# When nothing fits a question, so many of the nearest memories are shown.
_NEAREST = 3
_NEAREST_ONLY = "nothing fits well; these are the nearest"


class ArchivedOnes(Enum):
    """What becomes of archived memories in a result: left out, after the others, or like them."""

    WITHOUT = "without"
    LAST = "last"
    LIKE_OTHERS = "like others"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """The conditions on memories; None and empty mean any."""

    types: Sequence[str] | None = None
    tags: Sequence[str] | str | None = None
    min_importance: float = 0.0
    archived: ArchivedOnes = ArchivedOnes.LAST


_ANY = MemoryFilter()
LIVING = MemoryFilter(archived=ArchivedOnes.WITHOUT)
# For whom archived memories are like all others.
_ON_A_PAR = replace(ALONE, bias=replace(ALONE.bias, archived=1.0))


def sieve_for(
    types: Sequence[str] | None, tags: Sequence[str] | str | None, min_importance: float, *, archived: bool
) -> MemoryFilter:
    """Build the filter that a caller means; `archived` wants archived memories like all others."""
    return MemoryFilter(types, tags, min_importance, ArchivedOnes.LIKE_OTHERS if archived else ArchivedOnes.LAST)


def recall(
    graph: OpenGraph, query: str, limit: int = 10, within: MemoryFilter = _ANY, *, fits_only: bool = False
) -> Recalled:
    """Find memories that fit a question, best match first; if none does, the nearest ones, marked as such."""
    found = find_near(graph, query, limit, within, fits_only=fits_only)
    if found.note:
        return replace(found, memories=found.memories[:_NEAREST])
    return replace(found, memories=tuple(each for each in found.memories if each.fits))


def find_near(
    graph: OpenGraph, query: str, limit: int = 10, within: MemoryFilter = _ANY, *, fits_only: bool = False
) -> Recalled:
    """Find the memories nearest to a query, best match first."""
    if not 1 <= limit <= _MOST:
        raise Rejected(f"the limit must be between 1 and {_MOST}, not {limit}", hint=f"ask for 1 to {_MOST}")
    passes, now = _sieve(graph, within), graph.op.now
    rows: dict[int, Row] = {}

    def where(unit: Unit, ids: Ids) -> Callable[[], AbstractSet[int]]:
        found = unit.ask("graph.memory_of", ids=ids)

        def wanted() -> AbstractSet[int]:
            rows.update((row["id"], row) for row in found.get() if passes(row))
            return rows.keys()

        return wanted

    recipe = _ON_A_PAR if within.archived is ArchivedOnes.LIKE_OTHERS else ALONE
    how = {"within": _MEMORIES, "where": where, "recipe": recipe, "fits_only": fits_only}
    found = graph.op.search(query, limit=limit, **how)
    memories = tuple(brief_of(rows[hit.id], hit.text, now, hit) for hit in found.hits)
    return Recalled(memories, found.degraded, _NEAREST_ONLY if memories and not found.fits else found.note)


def count_used(graph: OpenGraph, shown: Recalled) -> None:
    """Keep the first memories of a shown answer alive a little, if they fit the question; the nearest others do not."""
    used = [each.item for each in shown.memories[:_USED] if each.fits]
    if not used or graph.op.is_read_only:
        return
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_of", ids=used)
    loans = loans_to(rows, graph.op.now)
    if loans:
        graph.op.leave("graph.recall", lambda transaction: lend(transaction.unit, loans))


def search(
    graph: OpenGraph,
    query: str,
    limit: int,
    within: MemoryFilter,
    beyond: str | None = None,
    *,
    fits_only: bool = False,
) -> Recalled:
    """List memories that match a filter, most recently changed first; with a query, best match first."""
    if query.strip():
        if beyond is not None:
            raise no_next_page()
        return find_near(graph, query, limit, within, fits_only=fits_only)
    return Recalled(tuple(list_memories(graph, within, limit, beyond)))


def list_memories(
    graph: OpenGraph, within: MemoryFilter = _ANY, limit: int = 20, beyond: str | None = None
) -> list[MemoryBrief]:
    """List memories that match a filter, most recently changed first, from the first or after one of the list."""
    passes = _sieve(graph, within)
    with graph.op.read() as unit:
        last = None if beyond is None else graph.find(unit, beyond)
        found = filter(passes, _in_order(graph, unit, within, last))
        return describe(graph, unit, list(islice(found, max(1, limit))))


def _in_order(graph: OpenGraph, unit: Unit, within: MemoryFilter, last: Row | None) -> Iterator[Row]:
    """Yield memories after one, most recently changed first; archived ones after the others, if they come last."""
    if within.archived is not ArchivedOnes.LAST:
        yield from newest(graph, unit, last)
        return
    now = graph.op.now
    is_last_archived = last is not None and is_archived(last, now)
    if not is_last_archived:
        yield from (row for row in newest(graph, unit, last) if not is_archived(row, now))
    yield from (row for row in newest(graph, unit, last if is_last_archived else None) if is_archived(row, now))


def _sieve(graph: OpenGraph, within: MemoryFilter) -> Callable[[Row], bool]:
    types = known_types(graph, within.types)
    tags = {tag.casefold() for tag in checked_tags(within.tags)}
    now = graph.op.now

    # The search covers the whole workspace, so the graph is part of the condition. Whether a memory is archived is
    # computed from its current strength, because more may have decayed since the last decay run.
    def passes(row: Row) -> bool:
        if row["graph_id"] != graph.id or row["importance"] < within.min_importance:
            return False
        if types and folded_type(row["type"]) not in types:
            return False
        if not has_tags(row, tags):
            return False
        return within.archived is not ArchivedOnes.WITHOUT or not is_archived(row, now)

    return passes


def known_types(graph: OpenGraph, names: Sequence[str] | None) -> set[str]:
    """Check the types of a filter: the eleven, and those that notes of this graph have."""
    wanted = {folded_type(name) for name in names or ()}
    if wanted <= KINDS.keys():
        return wanted
    with graph.op.read() as unit:
        own = {folded_type(row["type"]): row["type"] for row in unit.all("graph.type_all", graph=graph.id)}
    for name in sorted(wanted - KINDS.keys() - own.keys()):
        known = ", ".join([*KINDS, *sorted(set(own.values()) - KINDS.keys())])
        raise Rejected(f"there is no memory type {name!r} in this graph", hint=f"use one of {known}")
    return wanted


def has_tags(row: Row, wanted: AbstractSet[str]) -> bool:
    """Check whether a memory has all of these tags; one that lies in another counts for it, as a/b does for a."""
    if not wanted:
        return True
    own = {tag.casefold() for tag in json.loads(row["tags"])}
    return wanted <= own or wanted <= {each for tag in own for each in with_parents(tag)}
