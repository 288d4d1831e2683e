"""The index of one graph in the store: reading what is there, and following files that changed.

Knows rows, not rules; what a change means is decided in `indexer.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from everloom.clock import Clock, from_micros
from everloom.errors import Conflict, NotFound
from everloom.graph.files.disk import Disk
from everloom.graph.files.reader import Seen, look, problems_in
from everloom.graph.index.decay import strength_of
from everloom.graph.index.indexer import Entries, decide, enter, known_of, prepare
from everloom.graph.results import Brief, Edge, Followed, Memory, Problem
from everloom.kernel.lifecycle import vigour
from everloom.kernel.search import Hit, Index
from everloom.store import Row, Store, Unit

PREVIEW = 200
SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class Ground:
    """What every part of a graph stands on."""

    store: Store
    index: Index
    clock: Clock
    workspace: int
    graph: int
    disk: Disk


def nothing(_: Unit) -> None:
    """Add nothing to a transaction."""


class Catalog:
    """The index of one graph."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def follow(
        self, paths: Sequence[str], session: int | None = None, also: Callable[[Unit], None] = nothing
    ) -> Followed:
        """Look at files and bring what they say into the index, in one transaction with `also`."""
        ground = self._ground
        seen = [look(ground.disk, path) for path in dict.fromkeys(paths)]
        with ground.store.read(ground.workspace) as unit:
            entries = decide(seen, known_of(unit, ground.graph, seen), ground.disk)
            ids = [row["id"] for *_, row in entries.changed]
            documents = {row["item_id"]: row for row in unit.all("words.document_of", ids=ids)}
        prepare(entries, ground.index, documents, session)
        with ground.store.write(ground.workspace) as unit:
            enter(unit, ground.graph, entries, ground.index, ground.clock.now())
            also(unit)
        return told(entries, seen)

    def find(self, unit: Unit, identity: str | int) -> Row:
        """Find a memory by its uuid, by the beginning of it, or by the id that the whole loom knows."""
        text = str(identity).strip()
        rows = unit.all("graph.memory_by_uuid", graph=self._ground.graph, uuids=[text])
        found = [row for row in rows if row["gone_at"] is None]
        if not found and text.isdecimal() and len(text) < 19:
            found = [
                row for row in unit.all("graph.memory_of", ids=[int(text)]) if row["graph_id"] == self._ground.graph
            ]
        if not found:
            uuids = self._matching(unit, "graph.memory_by_prefix", text)
            found = unit.all("graph.memory_by_uuid", graph=self._ground.graph, uuids=uuids)
        return one_of(found, f"memory {text!r}")

    def find_edge(self, unit: Unit, identity: str) -> Row:
        """Find an edge by its uuid or by the beginning of it."""
        text = identity.strip()
        uuids = [text]
        found = unit.all("graph.edge_by_uuid", graph=self._ground.graph, uuids=uuids)
        if not found:
            uuids = self._matching(unit, "graph.edge_by_prefix", text)
            found = unit.all("graph.edge_by_uuid", graph=self._ground.graph, uuids=uuids)
        return one_of(found, f"edge {text!r}")

    def _matching(self, unit: Unit, statement: str, text: str) -> list[str]:
        if len(text) < SHORTEST_PREFIX:
            return []
        rows = unit.all(statement, graph=self._ground.graph, low=text, high=text + "\U0010ffff")
        return [row["uuid"] for row in rows]

    def rows(self, unit: Unit) -> list[Row]:
        """Read every memory with its accesses, newest change first."""
        return unit.all("graph.memory_all", graph=self._ground.graph)

    def edges(self, unit: Unit) -> list[Row]:
        """Read every edge, newest change first."""
        return unit.all("graph.edge_all", graph=self._ground.graph)

    def problems(self, unit: Unit) -> tuple[Problem, ...]:
        """List the files that could not be understood."""
        rows = unit.all("graph.file_problems", graph=self._ground.graph)
        return tuple(Problem(row["path"], row["line"], row["problem"]) for row in rows)

    def briefs(self, unit: Unit, rows: Sequence[Row], now: datetime) -> list[Brief]:
        """Describe memories in a list; no file is read."""
        texts = {row["item_id"]: row["text"] for row in unit.all("words.document_of", ids=[row["id"] for row in rows])}
        return [brief_of(row, texts.get(row["id"], ""), now) for row in rows]

    def with_state(self, unit: Unit, memory: Memory, item: int, now: datetime) -> Memory:
        """Add to a memory what is kept beside its file."""
        (row,) = unit.all("graph.memory_of", ids=[item])
        count = row["count"] or 0
        strength = strength_of(row, now)
        return replace(
            memory,
            item=item,
            access_count=count,
            last_accessed=from_micros(row["last_at"]) if count else None,
            decay_score=strength,
            status=vigour(strength).value,
        )


def told(entries: Entries, seen: Sequence[Seen]) -> Followed:
    """Tell what following some files changed."""
    duplicates = tuple(problem for each, problem, _ in entries.broken if not isinstance(each.content, Problem))
    return Followed(
        read=sum(each.content is not None for each in seen),
        added=len(entries.new) + len(entries.new_edges),
        changed=len(entries.changed) + len(entries.changed_edges),
        removed=entries.removed,
        problems=problems_in(seen) + duplicates,
    )


def one_of(rows: Sequence[Row], what: str) -> Row:
    """Accept exactly one answer."""
    if not rows:
        raise NotFound(f"there is no {what} in this graph", hint="recall and search print the ids of what they find")
    if len(rows) > 1:
        raise Conflict(f"more than one id begins like {what}", hint="write more of it")
    return rows[0]


def brief_of(row: Row, text: str, now: datetime, hit: Hit | None = None) -> Brief:
    """Describe a memory from its row."""
    strength = strength_of(row, now)
    return Brief(
        id=row["uuid"],
        item=row["id"],
        type=row["type"],
        title=row["title"],
        tags=tuple(json.loads(row["tags"])),
        importance=row["importance"],
        preview=" ".join(text.split())[:PREVIEW],
        decay_score=strength,
        status=vigour(strength).value,
        updated=from_micros(row["updated"]),
        path=row["path"],
        score=None if hit is None else hit.score,
        similarity=None if hit is None else hit.similarity,
    )


def edge_from(row: Row) -> Edge:
    """Read an edge from its row."""
    return Edge(
        id=row["uuid"],
        type=row["type"],
        from_id=row["from_uuid"],
        from_title=row["from_title"],
        to_id=row["to_uuid"],
        to_title=row["to_title"],
        strength=row["strength"],
        created=from_micros(row["created"]),
        updated=from_micros(row["updated"]),
        description=row["description"],
        path=row["path"],
    )
