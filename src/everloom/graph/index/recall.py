"""Recall and search in one graph: applies a filter and the floor to the kernel's search. Reads no file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice

from everloom.errors import Rejected
from everloom.graph.files.parser import checked_tags
from everloom.graph.index.catalog import OpenGraph, brief_of, describe, newest
from everloom.graph.index.decay import is_archived
from everloom.graph.kinds import checked_type
from everloom.graph.results import MemoryBrief, Recalled
from everloom.kernel.search import ALONE, Scope
from everloom.kernel.verbs import no_next_page
from everloom.store import Row, Unit

_MOST = 200
# When nothing fits a question, so many of the nearest memories are shown.
_NEAREST = 3
_NOTHING_FITS = "nothing fits well; these are the nearest"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """The conditions on memories; None and empty mean any."""

    types: Sequence[str] | None = None
    tags: Sequence[str] | str | None = None
    min_importance: float = 0.0
    archived: bool = False


_ANY = MemoryFilter()


def recall(graph: OpenGraph, query: str, limit: int = 10, within: MemoryFilter = _ANY) -> Recalled:
    """Find memories that fit a question, best match first; if none does, the nearest ones, marked as such."""
    found = find_near(graph, query, limit, within)
    if found.note:
        return replace(found, memories=found.memories[:_NEAREST])
    return replace(found, memories=tuple(each for each in found.memories if each.fits))


def find_near(graph: OpenGraph, query: str, limit: int = 10, within: MemoryFilter = _ANY) -> Recalled:
    """Find the memories nearest to a query, best match first; archived ones only if the filter includes them."""
    if not 1 <= limit <= _MOST:
        raise Rejected(f"the limit must be between 1 and {_MOST}, not {limit}", hint=f"ask for 1 to {_MOST}")
    passes, now = _sieve(graph, within), graph.op.now
    rows: dict[int, Row] = {}

    def where(unit: Unit, ids: Sequence[int]) -> AbstractSet[int]:
        rows.update((row["id"], row) for row in unit.all("graph.memory_of", ids=list(ids)) if passes(row))
        return rows.keys()

    # Archived documents are retired as of the end of time, so a search as of now covers them, and a search of the
    # present does not.
    scope = Scope(kinds=frozenset({"memory"}), as_of=now if within.archived else None)
    found = graph.op.search(query, limit=limit, within=scope, where=where, recipe=ALONE)
    memories = tuple(brief_of(rows[hit.id], hit.text, now, hit) for hit in found.hits)
    return Recalled(memories, found.degraded, _NOTHING_FITS if memories and not found.fits else None)


def search(graph: OpenGraph, query: str, limit: int, within: MemoryFilter, beyond: str | None = None) -> Recalled:
    """List memories that match a filter, most recently changed first; with a query, best match first."""
    if query.strip():
        if beyond is not None:
            raise no_next_page()
        return find_near(graph, query, limit, within)
    return Recalled(tuple(list_memories(graph, within, limit, beyond)))


def list_memories(
    graph: OpenGraph, within: MemoryFilter = _ANY, limit: int = 20, beyond: str | None = None
) -> list[MemoryBrief]:
    """List memories that match a filter, most recently changed first, from the first or after one of the list."""
    passes = _sieve(graph, within)
    with graph.op.read() as unit:
        found = newest(graph, unit, None if beyond is None else graph.find(unit, beyond))
        return describe(graph, unit, list(islice(filter(passes, found), max(1, limit))))


def _sieve(graph: OpenGraph, within: MemoryFilter) -> Callable[[Row], bool]:
    types = {checked_type(name) for name in within.types or ()}
    tags = {tag.casefold() for tag in checked_tags(within.tags)}
    now = graph.op.now

    # The search covers the whole workspace, so the graph is part of the condition. Whether a memory is archived is
    # computed from its current strength, because more may have decayed since the last decay run.
    def passes(row: Row) -> bool:
        if row["graph_id"] != graph.id or row["importance"] < within.min_importance:
            return False
        if types and row["type"] not in types:
            return False
        if tags and not tags <= {tag.casefold() for tag in json.loads(row["tags"])}:
            return False
        return within.archived or not is_archived(row, now)

    return passes
