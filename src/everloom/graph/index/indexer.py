"""Bringing files that were looked at into the index: decided first, from what is there; then done in one transaction.

The file decides, always. A file that cannot be read leaves the memory as it was last known; a file that is gone takes
its memory out, and the row stays for the day it comes back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from everloom.clock import to_micros
from everloom.graph.files.disk import Disk, machine_micros
from everloom.graph.files.reader import Seen, is_edge
from everloom.graph.index.decay import document_from, revive, settle
from everloom.graph.kinds import VAULT
from everloom.graph.results import Edge, Memory, Problem, Relation
from everloom.kernel.journal import pin, register
from everloom.kernel.search import Document, Index, Prepared, Standing
from everloom.store import Row, Unit
from everloom.store.contract import Value


@dataclass(slots=True)
class Entries:
    """What a batch of files means for the index."""

    new: list[tuple[Seen, Memory]] = field(default_factory=list)
    changed: list[tuple[Seen, Memory, Row]] = field(default_factory=list)
    new_edges: list[tuple[Seen, Edge]] = field(default_factory=list)
    changed_edges: list[tuple[Seen, Edge, Row]] = field(default_factory=list)
    broken: list[tuple[Seen, Problem, int | None]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    gone_memories: set[int] = field(default_factory=set)
    gone_edges: set[int] = field(default_factory=set)
    rewritten: dict[int, Prepared] = field(default_factory=dict)
    published: Prepared | None = None

    @property
    def removed(self) -> int:
        """Count what left the index."""
        return len(self.gone_memories) + len(self.gone_edges)


@dataclass(frozen=True, slots=True)
class Known:
    """What the index holds about a batch of files: memories and edges by uuid, files by path."""

    memories: Mapping[str, Row]
    edges: Mapping[str, Row]
    files: Mapping[str, Row]
    former: Mapping[int, Row]


def known_of(unit: Unit, graph: int, seen: Sequence[Seen]) -> Known:
    """Read what the index holds about files."""
    memories = [each.content.id for each in seen if isinstance(each.content, Memory)]
    edges = [each.content.id for each in seen if isinstance(each.content, Edge)]
    files = {row["path"]: row for row in unit.all("graph.file_of", graph=graph, paths=[each.path for each in seen])}
    items = [row["item_id"] for row in files.values() if row["item_id"] is not None]
    return Known(
        {row["uuid"]: row for row in unit.all("graph.memory_by_uuid", graph=graph, uuids=memories)},
        {row["uuid"]: row for row in unit.all("graph.edge_by_uuid", graph=graph, uuids=edges)},
        files,
        {row["id"]: row for row in unit.all("graph.memory_of", ids=items)},
    )


def decide(seen: Sequence[Seen], known: Known, disk: Disk) -> Entries:
    """Decide what becomes of each file."""
    entries = Entries(gone=[each.path for each in seen if each.content is None])
    leaving = set(entries.gone) | {each.path for each in seen if isinstance(each.content, Problem)}
    claimed: dict[str, str] = {}
    for each in seen:
        match each.content:
            case Memory() | Edge() as content:
                row = (known.memories if isinstance(content, Memory) else known.edges).get(content.id)
                owner = claimed.get(content.id) or owner_of(row, content, leaving, disk)
                if owner is not None:
                    entries.broken.append((each, Problem(each.path, None, f"it has the same id as {owner}"), None))
                    continue
                claimed[content.id] = each.path
                file_one(entries, each, content, row)
            case Problem() as problem:
                former = known.files.get(each.path)
                entries.broken.append((each, problem, None if former is None else former["item_id"]))
    depart(entries, seen, known)
    return entries


def owner_of(row: Row | None, content: Memory | Edge, leaving: set[str], disk: Disk) -> str | None:
    """Find the other file that has this id, if it is still there."""
    if row is None or (isinstance(content, Memory) and row["gone_at"] is not None):
        return None
    other: str = row["path"]
    return None if other == content.path or other in leaving or not disk.exists(other) else other


def file_one(entries: Entries, seen: Seen, content: Memory | Edge, row: Row | None) -> None:
    """Put one readable file on its list."""
    if isinstance(content, Memory):
        if row is None:
            entries.new.append((seen, content))
        else:
            entries.changed.append((seen, content, row))
    elif row is None:
        entries.new_edges.append((seen, content))
    else:
        entries.changed_edges.append((seen, content, row))


def depart(entries: Entries, seen: Sequence[Seen], known: Known) -> None:
    """Find what lost its file: files that are gone, or that now hold something else."""
    staying = {row["id"] for _, _, row in entries.changed} | {row["id"] for _, _, row in entries.changed_edges}
    for each in seen:
        former = known.files.get(each.path)
        if former is None or former["item_id"] is None or former["item_id"] in staying:
            continue
        if isinstance(each.content, Problem):
            continue
        item = former["item_id"]
        if is_edge(each.path):
            entries.gone_edges.add(item)
        elif item in known.former and known.former[item]["path"] == each.path:
            entries.gone_memories.add(item)


def prepare(entries: Entries, index: Index, documents: Mapping[int, Row], session: int | None) -> None:
    """Make the documents ready, before any transaction."""
    returning = [(seen, memory) for seen, memory, row in entries.changed if row["id"] not in documents]
    fresh = [document_of(memory, session) for _, memory in [*entries.new, *returning]]
    entries.published = index.prepare(fresh) if fresh else None
    for _, memory, row in entries.changed:
        held = documents.get(row["id"])
        if held is not None:
            document = document_of(memory, held["session_id"])
            if document != document_from(held):
                entries.rewritten[row["id"]] = index.prepare([document])


def enter(unit: Unit, graph: int, entries: Entries, index: Index, now: datetime) -> None:
    """Carry out what was decided, inside a transaction."""
    leave(unit, graph, entries, index, now)
    items = enter_memories(unit, graph, entries, index, now)
    items |= enter_edges(unit, graph, entries, now)
    rows = [file_row(graph, seen, items[seen.path], None) for seen in readable(entries)]
    rows += [file_row(graph, seen, item, problem) for seen, problem, item in entries.broken]
    unit.many("graph.file_put", rows)
    touched = [items[seen.path] for seen in readable(entries) if not is_edge(seen.path)]
    settle(unit, index, unit.all("graph.memory_of", ids=touched), now)


def leave(unit: Unit, graph: int, entries: Entries, index: Index, now: datetime) -> None:
    """Take out of the index what lost its file."""
    if entries.gone_memories:
        gone = sorted(entries.gone_memories)
        index.remove(unit, gone)
        unit.run("graph.relation_drop", ids=gone)
        unit.run("graph.memory_gone", ids=gone, at=to_micros(now))
    unit.run("graph.file_drop", graph=graph, paths=entries.gone)
    if entries.gone_edges:
        unit.run("graph.edge_drop", ids=sorted(entries.gone_edges))


def enter_memories(unit: Unit, graph: int, entries: Entries, index: Index, now: datetime) -> dict[str, int]:
    """Write the rows, relations and documents of memories; the answer is the item of each path."""
    fresh = list(register(unit, ["memory"] * len(entries.new), now))
    items = {seen.path: item for (seen, _), item in zip(entries.new, fresh, strict=True)}
    unit.many(
        "graph.memory_add",
        [
            {"id": items[seen.path], "graph": graph, "uuid": memory.id, **columns(memory)}
            for seen, memory in entries.new
        ],
    )
    rewritten = entries.rewritten
    stale = [row["id"] for _, _, row in entries.changed if row["archived"] and row["id"] in rewritten]
    revive(unit, index, stale, now)
    for seen, memory, row in entries.changed:
        items[seen.path] = row["id"]
        unit.run("graph.memory_change", id=row["id"], **columns(memory))
        if row["id"] in rewritten:
            index.revise(unit, row["id"], rewritten[row["id"]], now)
    held = {row["item_id"] for row in unit.all("words.document_of", ids=[row["id"] for *_, row in entries.changed])}
    returning = [row["id"] for _, _, row in entries.changed if row["id"] not in held]
    if entries.published is not None:
        index.publish(unit, [*fresh, *returning], entries.published, now)
    whole = [*entries.new, *((seen, memory) for seen, memory, _ in entries.changed)]
    relate(unit, [(items[seen.path], memory) for seen, memory in whole])
    hold(unit, entries, items, now)
    return items


def hold(unit: Unit, entries: Entries, items: Mapping[str, int], now: datetime) -> None:
    """Pin what lies in the vault, and let go what was taken out of it."""
    for seen, _ in entries.new:
        if in_vault(seen.path):
            pin(unit, items[seen.path], pinned=True, at=now)
    for seen, _, row in entries.changed:
        if in_vault(seen.path) != bool(row["in_vault"]):
            pin(unit, items[seen.path], pinned=in_vault(seen.path), at=now)


def in_vault(path: str) -> bool:
    """Say whether a file lies where nothing fades."""
    return path.startswith(f"{VAULT}/")


def relate(unit: Unit, memories: Sequence[tuple[int, Memory]]) -> None:
    """Write the relations that memories name."""
    unit.run("graph.relation_drop", ids=[item for item, _ in memories])
    unit.many(
        "graph.relation_add",
        [
            {"memory": item, "position": position, **relation_columns(relation)}
            for item, memory in memories
            for position, relation in enumerate(memory.relations)
        ],
    )


def enter_edges(unit: Unit, graph: int, entries: Entries, now: datetime) -> dict[str, int]:
    """Write the rows of edges; the answer is the item of each path."""
    fresh = register(unit, ["edge"] * len(entries.new_edges), now)
    items = {seen.path: item for (seen, _), item in zip(entries.new_edges, fresh, strict=True)}
    unit.many(
        "graph.edge_add",
        [
            {"id": items[seen.path], "graph": graph, "uuid": edge.id, **edge_columns(edge)}
            for seen, edge in entries.new_edges
        ],
    )
    for seen, edge, row in entries.changed_edges:
        items[seen.path] = row["id"]
        unit.run("graph.edge_change", id=row["id"], **edge_columns(edge))
    return items


def readable(entries: Entries) -> Iterable[Seen]:
    """List the files that were understood."""
    lists: list[Sequence[Any]] = [entries.new, entries.changed, entries.new_edges, entries.changed_edges]
    return [row[0] for each in lists for row in each]


def file_row(graph: int, seen: Seen, item: int | None, problem: Problem | None) -> dict[str, Value]:
    """Write what was seen of a file."""
    return {
        "graph": graph,
        "path": seen.path,
        "mtime_ns": 0 if seen.entry is None else seen.entry.mtime_ns,
        "size": 0 if seen.entry is None else seen.entry.size,
        "hash": seen.hash,
        "checked_at": machine_micros(),
        "item": item,
        "problem": None if problem is None else problem.reason,
        "line": None if problem is None else problem.line,
    }


def columns(memory: Memory) -> dict[str, Value]:
    """Write a memory as the values of its row."""
    return {
        "type": memory.type,
        "title": memory.title,
        "tags": json.dumps(memory.tags, ensure_ascii=False),
        "importance": memory.importance,
        "confidence": memory.confidence,
        "created": to_micros(memory.created),
        "updated": to_micros(memory.updated),
        "path": memory.path,
        "in_vault": int(in_vault(memory.path)),
    }


def relation_columns(relation: Relation) -> dict[str, Value]:
    """Write one side of a relation as the values of its row."""
    return {
        "target": relation.target,
        "type": relation.type,
        "direction": relation.direction,
        "strength": relation.strength,
        "context": relation.context,
        "edge": relation.edge_id,
    }


def edge_columns(edge: Edge) -> dict[str, Value]:
    """Write an edge as the values of its row."""
    return {
        "type": edge.type,
        "from": edge.from_id,
        "from_title": edge.from_title,
        "to": edge.to_id,
        "to_title": edge.to_title,
        "strength": edge.strength,
        "description": edge.description,
        "created": to_micros(edge.created),
        "updated": to_micros(edge.updated),
        "path": edge.path,
    }


def document_of(memory: Memory, session: int | None) -> Document:
    """Write what search sees of a memory."""
    parts = [memory.content, *numbered(memory.steps), *memory.preconditions, *memory.postconditions]
    return Document(
        kind="memory",
        title=memory.title,
        text="\n".join(part for part in parts if part),
        labels=memory.tags,
        happened_at=memory.created,
        standing=Standing.SYNTHESIS if memory.type == "insight" else Standing.EVIDENCE,
        confidence=memory.confidence,
        session_id=session,
    )


def numbered(steps: Sequence[str]) -> list[str]:
    """Write steps in their order."""
    return [f"{place}. {step}" for place, step in enumerate(steps, 1)]
