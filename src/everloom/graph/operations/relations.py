"""How relations change the files on a bench: both sides and the edge file, always together. Pure but for the bench."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from everloom.graph.files.changeset import Bench
from everloom.graph.files.names import edge_stem, free_name
from everloom.graph.files.parser import is_same_side
from everloom.graph.kinds import EDGES
from everloom.graph.results import Edge, Memory, Relation

OPPOSITE = {"outgoing": "incoming", "incoming": "outgoing"}


def new_edge(bench: Bench, one: Memory, kind: str, other: Memory, strength: float, now: datetime) -> Edge:
    """Make an edge that has no file yet, with a free name."""
    identity = str(uuid4())
    stem = edge_stem(one.title, kind, other.title)
    name = free_name(stem, identity, lambda each: bench.is_taken(f"{EDGES}/{each}"))
    moment = now.replace(microsecond=0)
    return Edge(
        id=identity,
        type=kind,
        from_id=one.id,
        from_title=one.title,
        to_id=other.id,
        to_title=other.title,
        strength=strength,
        created=moment,
        updated=moment,
        path=f"{EDGES}/{name}",
    )


def join(bench: Bench, edge: Edge, from_path: str, to_path: str, context: str | None) -> None:
    """Write an edge into both memories."""
    outgoing = Relation(
        target=edge.to_id,
        type=edge.type,
        direction="outgoing",
        strength=edge.strength,
        context=context,
        edge_id=edge.id,
    )
    bench.change(from_path, lambda memory: with_side(memory, outgoing))
    incoming = replace(outgoing, target=edge.from_id, direction="incoming")
    bench.change(to_path, lambda memory: with_side(memory, incoming))


def with_side(memory: Memory, side: Relation) -> Memory:
    """Add one side of a relation, or put it in the place of the one that is there."""
    rest = list(memory.relations)
    for place, known in enumerate(rest):
        if is_same_side(known, side):
            rest[place] = replace(side, context=side.context if side.context is not None else known.context)
            return replace(memory, relations=tuple(rest))
    return replace(memory, relations=(*rest, side))


def without(memory: Memory, leaving: Iterable[str], *, edge_id: str | None = None) -> Memory:
    """Take out the sides that lead to some memories, or those of one edge."""
    gone = set(leaving)
    kept = [
        side for side in memory.relations if side.target not in gone and (edge_id is None or side.edge_id != edge_id)
    ]
    return replace(memory, relations=tuple(kept))


def without_side(memory: Memory, target: str, kind: str, direction: str) -> Memory:
    """Take out one side of one relation."""
    kept = [side for side in memory.relations if (side.target, side.type, side.direction) != (target, kind, direction)]
    return replace(memory, relations=tuple(kept))


def redirected(memory: Memory, old: str, new: str) -> Memory:
    """Let the sides that lead to one memory lead to another; where both are there, the one that was stays."""
    native = {(side.target, side.type, side.direction) for side in memory.relations if side.target != old}
    kept: list[Relation] = []
    for side in memory.relations:
        moved = replace(side, target=new) if side.target == old else side
        is_double = side.target == old and (moved.target, moved.type, moved.direction) in native
        if moved.target != memory.id and not is_double:
            kept.append(moved)
    return replace(memory, relations=tuple(kept))
