"""The rows of one graph in the store: finds memories and edges, and describes them without reading a file.

Refuses to decide how a changed file affects the index; `indexer.py` does that.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from everloom.clock import from_micros
from everloom.errors import Conflict, NotFound
from everloom.graph.files.changeset import Changeset
from everloom.graph.files.disk import Disk
from everloom.graph.git.repository import Git
from everloom.graph.index.decay import is_archived, strength_of
from everloom.graph.kinds import path_id
from everloom.graph.results import MEND, Edge, FileProblem, GraphOptions, GraphStats, Memory, MemoryBrief, Relation
from everloom.kernel.lifecycle import vigour
from everloom.kernel.once import UNKEYED, Once
from everloom.kernel.operation import Operation
from everloom.kernel.search import Hit
from everloom.kernel.trust.origin import Origin
from everloom.models.ask import Thinker
from everloom.store import Row, Unit, value_from

_PREVIEW = 200
_FIRST_PAGE, _LARGEST_PAGE = 100, 5_000
_LATEST = 2**63 - 1
# A shorter prefix is more likely a typing error than an id, and would match many.
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class OpenGraph:
    """One open graph: the operation it is used in, its id and name, its directory and its options."""

    op: Operation
    id: int
    name: str
    disk: Disk
    git: Git
    options: GraphOptions
    thinker: Callable[[], Thinker | None]
    # What is done with it now, if the caller may repeat it.
    once: Once = UNKEYED

    def under(self, operation: str, key: str | None, **asked: Any) -> OpenGraph:
        """Return this graph for one request that happens once under its idempotency key."""
        return replace(self, once=Once(f"graph.{operation}", key, {"graph": self.id, **asked}))

    def told_by(self, origin: Origin | str | None) -> OpenGraph:
        """Return this graph for memories that come from somewhere else."""
        return self if origin is None else replace(self, op=self.op.told_by(origin))

    def page(self, name: str) -> str:
        """Return the path of a generated page."""
        return f"{self.options.pages}/{name}" if self.options.pages else name

    def changeset(self) -> Changeset:
        """Begin to change files; a note without an id is known by the one that the index gave it."""
        return Changeset(self.disk, self._id_at)

    def _id_at(self, path: str) -> str:
        with self.op.read() as unit:
            rows = unit.all("graph.memory_at", graph=self.id, path=path)
        # Without a row the file has not been scanned yet; then its path says which id it will get.
        return str(rows[0]["uuid"]) if rows else path_id(path)

    def row(self, identity: str | int) -> Row:
        """Read a memory's row, found as by `find`."""
        with self.op.read() as unit:
            return self.find(unit, identity)

    def find(self, unit: Unit, identity: str | int) -> Row:
        """Find a memory by its uuid, a prefix of its uuid, or its item id in the store."""
        text = str(identity).strip()
        rows = unit.all("graph.memory_by_uuid", graph=self.id, uuids=[text])
        found = [row for row in rows if row["gone_at"] is None]
        # A 64-bit id has at most 19 digits. A longer number would overflow the column, and is a prefix of a uuid.
        if not found and text.isdecimal() and len(text) < 19:
            found = [row for row in unit.all("graph.memory_of", ids=[int(text)]) if row["graph_id"] == self.id]
        if not found:
            uuids = _uuids_like(self, unit, "graph.memory_by_prefix", text)
            found = unit.all("graph.memory_by_uuid", graph=self.id, uuids=uuids)
        return _only(found, f"memory {text!r}")


def newest(graph: OpenGraph, unit: Unit, beyond: Row | None = None, kind: str = "memory") -> Iterator[Row]:
    """Yield memories or edges, most recently changed first, from the first or after one; reads little more than taken.

    After one means by its place and not by its number: what is added or removed in the meantime neither repeats nor
    hides a row.
    """
    size, last = _FIRST_PAGE, beyond
    while True:
        updated, before = (_LATEST, _LATEST) if last is None else (last["updated"], last["id"])
        rows = unit.all(f"graph.{kind}_newest", graph=graph.id, updated=updated, before=before, limit=size)
        yield from rows
        if len(rows) < size:
            return
        # Whoever takes this many will probably look at most of them.
        size, last = min(4 * size, _LARGEST_PAGE), rows[-1]


def living_tags(graph: OpenGraph) -> list[list[str]]:
    """List the tags of each memory that is not archived."""
    now = graph.op.now
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_tags", graph=graph.id)
    return [json.loads(row["tags"]) for row in rows if not is_archived(row, now)]


def find_edge(graph: OpenGraph, identity: str) -> Row:
    """Find an edge by its uuid or a prefix of it."""
    text = identity.strip()
    with graph.op.read() as unit:
        found = unit.all("graph.edge_by_uuid", graph=graph.id, uuids=[text])
        if not found:
            uuids = _uuids_like(graph, unit, "graph.edge_by_prefix", text)
            found = unit.all("graph.edge_by_uuid", graph=graph.id, uuids=uuids)
    return _only(found, f"edge {text!r}")


def _uuids_like(graph: OpenGraph, unit: Unit, statement: str, text: str) -> list[str]:
    if len(text) < _SHORTEST_PREFIX:
        return []
    # A range instead of LIKE: it uses the index on both engines, and nothing in an id acts as a pattern.
    return [row["uuid"] for row in unit.all(statement, graph=graph.id, low=text, high=text + "\U0010ffff")]


def _only(rows: Sequence[Row], what: str) -> Row:
    if not rows:
        raise NotFound(f"there is no {what} in this graph", hint="recall and search print the ids of memories")
    if len(rows) > 1:
        raise Conflict(f"{what} is ambiguous: several ids begin with it", hint="give more characters of the id")
    return rows[0]


def attached_to(graph: OpenGraph, uuid: str) -> tuple[list[Row], list[Row]]:
    """Find the edges of a memory, and the memories that list a relation to it."""
    with graph.op.read() as unit:
        edges = unit.all("graph.edge_of", graph=graph.id, uuid=uuid)
        others = unit.all("graph.relation_to", graph=graph.id, uuid=uuid)
    return edges, list({row["uuid"]: row for row in others}.values())


def problems(graph: OpenGraph, unit: Unit) -> tuple[FileProblem, ...]:
    """List the files that could not be read."""
    rows = unit.all("graph.file_problems", graph=graph.id)
    return tuple(FileProblem(row["path"], row["line"], row["problem"]) for row in rows)


def stats(graph: OpenGraph) -> GraphStats:
    """Count memories, edges, relations and tags."""
    now = graph.op.now
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_tags", graph=graph.id)
        (edges,) = unit.all("graph.edge_count", graph=graph.id)
        (relations,) = unit.all("graph.relation_count", graph=graph.id)
        unreadable = problems(graph, unit)
        known = unit.one("graph.graph_get", id=graph.id)
        (notes,) = unit.all("graph.note_count", graph=graph.id)
        (links,) = unit.all("graph.link_count", graph=graph.id)
    return GraphStats(
        graph=graph.name,
        directory=str(graph.disk.root),
        memories=len(rows),
        edges=edges["count"],
        relations=relations["count"],
        by_type=dict(Counter(row["type"] for row in rows).most_common()),
        by_status=dict(Counter(vigour(strength_of(row, now)).value for row in rows)),
        tags=len({tag for row in rows for tag in json.loads(row["tags"])}),
        pinned=sum(bool(row["in_vault"] or row["pinned"]) for row in rows),
        reflections=0 if known is None else known["reflections"],
        last_reflection=from_micros(known["reflected_at"]) if known and known["reflected_at"] is not None else None,
        problems=unreadable,
        mend=MEND if unreadable else None,
        plain_notes=int(notes["plain"]),
        assumed=notes["assumed"],
        text_links=links["count"],
    )


def describe(graph: OpenGraph, unit: Unit, rows: Sequence[Row]) -> list[MemoryBrief]:
    """Describe memories for a list, each with the beginning of its text."""
    texts = graph.op.index.texts(unit, [row["id"] for row in rows])
    now = graph.op.now
    return [brief_of(row, texts.get(row["id"], ""), now) for row in rows]


def brief_of(row: Row, text: str, now: datetime, hit: Hit | None = None) -> MemoryBrief:
    """Describe a memory from its row."""
    strength = strength_of(row, now)
    return value_from(
        MemoryBrief,
        row,
        id=row["uuid"],
        item=row["id"],
        tags=tuple(json.loads(row["tags"])),
        preview=" ".join(text.split())[:_PREVIEW],
        decay_score=strength,
        status=vigour(strength).value,
        score=None if hit is None else hit.score,
        similarity=None if hit is None else hit.similarity,
        answers=None if hit is None else hit.answers,
        fits=None if hit is None else hit.fits,
    )


def with_state(unit: Unit, memory: Memory, item: int, now: datetime) -> Memory:
    """Add to a memory its state in the store: accesses and strength."""
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


def relation_from(row: Row) -> Relation:
    """Convert a row to a memory's relation."""
    return value_from(Relation, row, edge_id=row["edge_uuid"])


def edge_from(row: Row) -> Edge:
    """Convert a row to an edge."""
    ids = {"id": row["uuid"], "from_id": row["from_uuid"], "to_id": row["to_uuid"]}
    return value_from(Edge, row, **ids, version="", in_text=False)
