"""Bringing files into the index: decided first, from what is there; then written in one transaction.

The file decides, always. A file that cannot be read leaves the memory as it was last known; a file that is gone takes
its memory out, and the row stays for the day it comes back, with its accesses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from everloom.clock import to_micros
from everloom.graph.files.disk import Disk, machine_micros
from everloom.graph.files.parser import ParsedFile, in_vault, is_edge, read_file
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import NO_STATES, States, is_archived, restored_access, update_archive
from everloom.graph.results import Edge, FileProblem, Followed, Memory, Relation
from everloom.kernel.journal import pin, register
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document, Prepared, Standing
from everloom.store import Row, Unit
from everloom.store.contract import Value

# So many files are read and indexed at a time; others may write in between.
BATCH = 1_000


@dataclass(slots=True)
class IndexChanges:
    """What a batch of files means for the index."""

    files: Sequence[ParsedFile]
    new: list[tuple[ParsedFile, Memory]] = field(default_factory=list)
    changed: list[tuple[ParsedFile, Memory, Row]] = field(default_factory=list)
    new_edges: list[tuple[ParsedFile, Edge]] = field(default_factory=list)
    changed_edges: list[tuple[ParsedFile, Edge, Row]] = field(default_factory=list)
    broken: list[tuple[ParsedFile, FileProblem, int | None]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    gone_memories: set[int] = field(default_factory=set)
    gone_edges: set[int] = field(default_factory=set)
    # Changed memories that were taken out of the index before, and come back with a document of their own.
    returning: list[int] = field(default_factory=list)
    rewritten: dict[int, Prepared] = field(default_factory=dict)
    reviving: set[int] = field(default_factory=set)
    published: Prepared | None = None

    def report(self) -> Followed:
        """Say what following the files changed."""
        unreadable = tuple(each.content for each in self.files if isinstance(each.content, FileProblem))
        duplicates = tuple(problem for each, problem, _ in self.broken if not isinstance(each.content, FileProblem))
        return Followed(
            read=sum(each.content is not None for each in self.files),
            added=len(self.new) + len(self.new_edges),
            changed=len(self.changed) + len(self.changed_edges),
            removed=len(self.gone_memories) + len(self.gone_edges),
            problems=unreadable + duplicates,
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What the index holds about a batch of files: memories and edges by uuid, files by path."""

    memories: Mapping[str, Row]
    edges: Mapping[str, Row]
    files: Mapping[str, Row]
    former: Mapping[int, Row]


def prepare_changes(
    graph: OpenGraph, paths: Sequence[str], session_id: int | None = None, states: States = NO_STATES
) -> IndexChanges:
    """Read files, decide what they mean, and make the documents ready. Call it outside a transaction.

    `states` are accesses that the same transaction will restore: they decide, too, what comes back from the archive.
    """
    index, now = graph.op.index, graph.op.now
    files = [read_file(graph.disk, path) for path in dict.fromkeys(paths)]
    with graph.op.read() as unit:
        changes = _decide(files, _known_of(unit, graph.id, files), graph.disk)
        held = index.documents(unit, [row["id"] for *_, row in changes.changed])
    changes.returning = [row["id"] for *_, row in changes.changed if row["id"] not in held]
    fresh = [*changes.new, *((file, memory) for file, memory, row in changes.changed if row["id"] not in held)]
    if fresh:
        changes.published = index.prepare([_document_of(memory, session_id) for _, memory in fresh])
    for _, memory, row in changes.changed:
        item, old = row["id"], held.get(row["id"])
        if old is None:
            continue
        document = _document_of(memory, old.session_id)
        if row["archived"] and not is_archived(_future_row(memory, row), now, restored_access(row, states)):
            changes.reviving.add(item)
        if document != old or item in changes.reviving:
            changes.rewritten[item] = index.prepare([document])
    return changes


def follow_files(graph: OpenGraph, paths: Sequence[str], session_id: int | None = None) -> Followed:
    """Bring what files say into the index, in one transaction."""
    changes = prepare_changes(graph, paths, session_id)
    with graph.op.write("graph.follow") as transaction:
        touched = write_changes(graph, transaction, changes)
        update_archive(transaction.unit, graph.op.index, touched, transaction.at)
    return changes.report()


def write_changes(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> list[int]:
    """Carry out what was decided; the answer is the memories that were touched, whose archive state may differ now."""
    unit = transaction.unit
    _leave(graph, transaction, changes)
    items = _write_memories(graph, transaction, changes)
    touched = list(items.values())
    items |= _write_edges(graph, transaction, changes)
    rows = [_file_row(graph.id, file, items[file.path], None) for file in _readable(changes)]
    rows += [_file_row(graph.id, file, item, problem) for file, problem, item in changes.broken]
    unit.many("graph.file_put", rows)
    return touched


def _known_of(unit: Unit, graph: int, files: Sequence[ParsedFile]) -> _Known:
    memories = [each.content.id for each in files if isinstance(each.content, Memory)]
    edges = [each.content.id for each in files if isinstance(each.content, Edge)]
    known = {row["path"]: row for row in unit.all("graph.file_of", graph=graph, paths=[each.path for each in files])}
    items = [row["item_id"] for row in known.values() if row["item_id"] is not None]
    return _Known(
        {row["uuid"]: row for row in unit.all("graph.memory_by_uuid", graph=graph, uuids=memories)},
        {row["uuid"]: row for row in unit.all("graph.edge_by_uuid", graph=graph, uuids=edges)},
        known,
        {row["id"]: row for row in unit.all("graph.memory_of", ids=items)},
    )


def _decide(files: Sequence[ParsedFile], known: _Known, disk: Disk) -> IndexChanges:
    """Decide what becomes of each file."""
    changes = IndexChanges(files, gone=[each.path for each in files if each.content is None])
    leaving = set(changes.gone) | {each.path for each in files if isinstance(each.content, FileProblem)}
    claimed: dict[str, str] = {}
    for each in files:
        match each.content:
            case Memory() | Edge() as content:
                row = (known.memories if isinstance(content, Memory) else known.edges).get(content.id)
                owner = claimed.get(content.id) or _owner_of(row, content, leaving, disk)
                if owner is not None:
                    changes.broken.append((each, FileProblem(each.path, None, f"it has the same id as {owner}"), None))
                    continue
                claimed[content.id] = each.path
                _sort_in(changes, each, content, row)
            case FileProblem() as problem:
                former = known.files.get(each.path)
                changes.broken.append((each, problem, None if former is None else former["item_id"]))
    _depart(changes, known)
    return changes


def _owner_of(row: Row | None, content: Memory | Edge, leaving: set[str], disk: Disk) -> str | None:
    """Find the other file that has this id, if it is still there."""
    if row is None or (isinstance(content, Memory) and row["gone_at"] is not None):
        return None
    other: str = row["path"]
    return None if other == content.path or other in leaving or not disk.exists(other) else other


def _sort_in(changes: IndexChanges, file: ParsedFile, content: Memory | Edge, row: Row | None) -> None:
    """Put one readable file on its list."""
    if isinstance(content, Memory):
        if row is None:
            changes.new.append((file, content))
        else:
            changes.changed.append((file, content, row))
    elif row is None:
        changes.new_edges.append((file, content))
    else:
        changes.changed_edges.append((file, content, row))


def _depart(changes: IndexChanges, known: _Known) -> None:
    """Find what lost its file: files that are gone, or that now hold something else."""
    staying = {row["id"] for _, _, row in changes.changed} | {row["id"] for _, _, row in changes.changed_edges}
    for each in changes.files:
        former = known.files.get(each.path)
        if former is None or former["item_id"] is None or former["item_id"] in staying:
            continue
        if isinstance(each.content, FileProblem):
            continue
        item = former["item_id"]
        if is_edge(each.path):
            changes.gone_edges.add(item)
        elif item in known.former and known.former[item]["path"] == each.path:
            changes.gone_memories.add(item)


def _leave(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> None:
    """Take out of the index what lost its file."""
    unit = transaction.unit
    if changes.gone_memories:
        gone = sorted(changes.gone_memories)
        graph.op.index.remove(unit, gone)
        unit.run("graph.relation_drop", ids=gone)
        unit.run("graph.memory_gone", ids=gone, at=to_micros(transaction.at))
    unit.run("graph.file_drop", graph=graph.id, paths=changes.gone)
    if changes.gone_edges:
        unit.run("graph.edge_drop", ids=sorted(changes.gone_edges))


def _write_memories(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> dict[str, int]:
    """Write the rows, relations and documents of memories; the answer is the item of each path."""
    unit, now, index = transaction.unit, transaction.at, graph.op.index
    fresh = list(register(unit, ["memory"] * len(changes.new), now))
    items = {file.path: item for (file, _), item in zip(changes.new, fresh, strict=True)}
    unit.many(
        "graph.memory_add",
        [
            {"id": items[file.path], "graph": graph.id, "uuid": memory.id, **_columns(memory)}
            for file, memory in changes.new
        ],
    )
    for file, memory, row in changes.changed:
        item = items[file.path] = row["id"]
        unit.run("graph.memory_change", id=item, **_columns(memory))
        if item in changes.reviving:
            index.revive(unit, [item], changes.rewritten[item], now)
        elif item in changes.rewritten:
            index.revise(unit, item, changes.rewritten[item], now)
    unit.run("graph.memory_archive", ids=sorted(changes.reviving), archived=0)
    if changes.published is not None:
        index.publish(unit, [*fresh, *changes.returning], changes.published, now)
    whole = [*changes.new, *((file, memory) for file, memory, _ in changes.changed)]
    _write_relations(unit, [(items[file.path], memory) for file, memory in whole])
    was_pinned = {file.path: bool(row["in_vault"]) for file, _, row in changes.changed}
    for path, item in items.items():
        if in_vault(path) != was_pinned.get(path, False):
            pin(unit, item, pinned=in_vault(path), at=now)
    return items


def _write_relations(unit: Unit, memories: Sequence[tuple[int, Memory]]) -> None:
    unit.run("graph.relation_drop", ids=[item for item, _ in memories])
    unit.many(
        "graph.relation_add",
        [
            {"memory": item, "position": position, **_relation_columns(relation)}
            for item, memory in memories
            for position, relation in enumerate(memory.relations)
        ],
    )


def _write_edges(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> dict[str, int]:
    """Write the rows of edges; the answer is the item of each path."""
    unit = transaction.unit
    fresh = register(unit, ["edge"] * len(changes.new_edges), transaction.at)
    items = {file.path: item for (file, _), item in zip(changes.new_edges, fresh, strict=True)}
    unit.many(
        "graph.edge_add",
        [
            {"id": items[file.path], "graph": graph.id, "uuid": edge.id, **_edge_columns(edge)}
            for file, edge in changes.new_edges
        ],
    )
    for file, edge, row in changes.changed_edges:
        items[file.path] = row["id"]
        unit.run("graph.edge_change", id=row["id"], **_edge_columns(edge))
    return items


def _readable(changes: IndexChanges) -> Iterable[ParsedFile]:
    """List the files that were understood."""
    lists: list[Sequence[Any]] = [changes.new, changes.changed, changes.new_edges, changes.changed_edges]
    return [row[0] for each in lists for row in each]


def _file_row(graph: int, file: ParsedFile, item: int | None, problem: FileProblem | None) -> dict[str, Value]:
    """Write what was file of a file."""
    return {
        "graph": graph,
        "path": file.path,
        "mtime_ns": 0 if file.entry is None else file.entry.mtime_ns,
        "size": 0 if file.entry is None else file.entry.size,
        "hash": file.hash,
        "checked_at": machine_micros(),
        "item": item,
        "problem": None if problem is None else problem.reason,
        "line": None if problem is None else problem.line,
    }


def _columns(memory: Memory) -> dict[str, Value]:
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


def _future_row(memory: Memory, row: Row) -> dict[str, Any]:
    """Write a memory's row as it will be, with its present accesses."""
    future = _columns(memory)
    pinned = max(row["pinned"] or 0, int(in_vault(memory.path)))
    return {**future, "pinned": pinned, "count": row["count"], "last_at": row["last_at"]}


def _relation_columns(relation: Relation) -> dict[str, Value]:
    """Write one side of a relation as the values of its row."""
    return {
        "target": relation.target,
        "type": relation.type,
        "direction": relation.direction,
        "strength": relation.strength,
        "context": relation.context,
        "edge": relation.edge_id,
    }


def _edge_columns(edge: Edge) -> dict[str, Value]:
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


def _document_of(memory: Memory, session: int | None) -> Document:
    """Write what search sees of a memory."""
    parts = [memory.content, *_numbered(memory.steps), *memory.preconditions, *memory.postconditions]
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


def _numbered(steps: Sequence[str]) -> list[str]:
    """Write steps in their order."""
    return [f"{place}. {step}" for place, step in enumerate(steps, 1)]
