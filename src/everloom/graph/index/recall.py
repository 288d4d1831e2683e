"""Bringing memories back: the kernel's one search, held to one graph, to the living, and to a filter. Reads no file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from everloom.errors import Rejected
from everloom.graph.index.catalog import Catalog, Ground, brief_of
from everloom.graph.index.decay import is_archived
from everloom.graph.kinds import checked_type
from everloom.graph.results import Brief, Filter, Recalled
from everloom.kernel.search import Finder, Findings, Hit, Scope
from everloom.store import Row

KINDS = frozenset({"memory"})
MOST = 200
# How many more hits are asked for when a filter may drop some, and the most that are ever looked at.
WIDENING = 4
DEEPEST = 1_000

ANY = Filter()


class Recalling:
    """The search of one graph."""

    def __init__(self, ground: Ground, catalog: Catalog, finder: Finder) -> None:
        self._ground = ground
        self._catalog = catalog
        self._finder = finder

    def recall(self, query: str, *, limit: int = 10, within: Filter = ANY) -> Recalled:
        """Bring back what a question touches, strongest first; what is archived stays away unless asked for."""
        if not 1 <= limit <= MOST:
            raise Rejected(f"cannot recall {limit} memories", hint=f"ask for 1 to {MOST}")
        fits = self._sieve(within)
        depth = limit
        while True:
            found, rows = self._found(query, depth, within)
            kept = [hit for hit in found.hits if hit.id in rows and fits(rows[hit.id])]
            if len(kept) >= limit or len(found.hits) < depth or depth >= DEEPEST:
                break
            depth = min(DEEPEST, depth * WIDENING)
        return Recalled(tuple(self._briefs(kept[:limit], rows)), found.degraded)

    def _found(self, query: str, depth: int, within: Filter) -> tuple[Findings, Mapping[int, Row]]:
        ground = self._ground
        # As of now, archived documents are there: they are retired at the end of time.
        as_of = ground.clock.now() if within.archived else None
        found = self._finder.search(ground.workspace, query, limit=depth, within=Scope(kinds=KINDS, as_of=as_of))
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("graph.memory_of", ids=[hit.id for hit in found.hits])
        return found, {row["id"]: row for row in rows}

    def _sieve(self, within: Filter) -> Callable[[Row], bool]:
        types = {checked_type(name) for name in within.types}
        tags = {tag.casefold() for tag in within.tags}
        now = self._ground.clock.now()

        def fits(row: Row) -> bool:
            if row["graph_id"] != self._ground.graph or row["importance"] < within.min_importance:
                return False
            if (types and row["type"] not in types) or (tags and not tags <= own_tags(row)):
                return False
            return within.archived or not is_archived(row, now)

        return fits

    def _briefs(self, hits: list[Hit], rows: Mapping[int, Row]) -> list[Brief]:
        now = self._ground.clock.now()
        return [brief_of(rows[hit.id], hit.text, now, hit) for hit in hits]

    def list(self, within: Filter = ANY, *, limit: int = 20) -> list[Brief]:
        """List memories that a filter lets through, newest change first."""
        fits = self._sieve(within)
        ground = self._ground
        with ground.store.read(ground.workspace) as unit:
            rows = [row for row in self._catalog.rows(unit) if fits(row)][: max(1, limit)]
            return self._catalog.briefs(unit, rows, ground.clock.now())


def own_tags(row: Row) -> set[str]:
    """Read the tags of a row for comparing."""
    return {tag.casefold() for tag in json.loads(row["tags"])}
