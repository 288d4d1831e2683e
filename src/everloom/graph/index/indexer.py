"""Updates the index from files: first decides what changed, then writes it in one transaction.

The file always wins. If a file cannot be read, its memory stays in the index as last known. If a file is gone, its
memory leaves the index, but its row stays, so that its accesses are not lost if the file returns.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from everloom.clock import to_micros
from everloom.graph.files.beside import credit_of
from everloom.graph.files.disk import Disk, machine_micros
from everloom.graph.files.parser import ParsedFile, in_vault, is_edge, no_file, read_file
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import (
    NO_STATES,
    RETIRED,
    States,
    begin_fading,
    is_archived,
    restored_access,
    update_archive,
)
from everloom.graph.index.notes import drop_mentions, file_key, identified, write_notes
from everloom.graph.results import Edge, FileProblem, Followed, Memory
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.journal import pin, register
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document, Prepared, Standing
from everloom.store import Row, Unit, columns_of
from everloom.store.contract import Value

# How many files are indexed in one transaction. Writers of a workspace take turns, so others can write in between.
BATCH = 1_000


# The fields that a row copies unchanged.
_MEMORY = ("type", "title", "importance", "confidence", "path", "created", "updated")
_EDGE = ("type", "from_id", "from_title", "to_id", "to_title", "strength", "description", "path", "created", "updated")
_RELATION = ("target", "type", "direction", "strength", "context", "edge_id")
# The statements that add and change a row.
_STATEMENTS = {
    "memory": ("graph.memory_add", "graph.memory_change"),
    "edge": ("graph.edge_add", "graph.edge_change"),
}


@dataclass(slots=True)
class IndexChanges:
    """The changes of the index for a batch of files; a new memory or edge has no row yet."""

    files: Sequence[ParsedFile]
    memories: list[tuple[Memory, Row | None]] = field(default_factory=list)
    edges: list[tuple[Edge, Row | None]] = field(default_factory=list)
    broken: dict[str, tuple[FileProblem, int | None]] = field(default_factory=dict)
    gone_memories: set[int] = field(default_factory=set)
    gone_edges: set[int] = field(default_factory=set)
    # Paths of memories without a document: new ones, and those whose file had been gone.
    fresh: list[str] = field(default_factory=list)
    published: Prepared | None = None
    # What becomes of documents that are there, and the same prepared, in this order.
    rewritten: dict[int, Document] = field(default_factory=dict)
    revised: Prepared | None = None
    reviving: set[int] = field(default_factory=set)

    @property
    def gone(self) -> list[str]:
        """List the files that no longer exist."""
        return [each.path for each in self.files if each.content is None]

    def report(self) -> Followed:
        """Count what changed."""
        rows = [row for _, row in [*self.memories, *self.edges]]
        return Followed(
            read=len(self.files) - len(self.gone),
            added=rows.count(None),
            changed=len(rows) - rows.count(None),
            removed=len(self.gone_memories) + len(self.gone_edges),
            problems=tuple(problem for problem, _ in self.broken.values()),
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """The rows of a batch of files: memories and edges by uuid, files by path, and what was in them before by id."""

    memories: Mapping[str, Row]
    edges: Mapping[str, Row]
    files: Mapping[str, Row]
    former: Mapping[int, Row]

    def row_of(self, content: Memory | Edge) -> Row | None:
        """Return the row of a memory or an edge, if it has one."""
        return (self.memories if isinstance(content, Memory) else self.edges).get(content.id)

    def is_at(self, item: int, path: str) -> bool:
        """Check whether a memory or an edge was last seen in this file; it may have been moved since."""
        return item in self.former and self.former[item]["path"] == path


def prepare_changes(
    graph: OpenGraph,
    paths: Sequence[str],
    session_id: int | None = None,
    states: States = NO_STATES,
    unread: Collection[str] = (),
) -> IndexChanges:
    """Read files, decide what changes in the index, and prepare the documents. Call it outside a transaction.

    `states` are accesses that the same transaction will restore; they also affect which memories become active again.
    `unread` are files that count as gone, whatever is on the disk.
    """
    index, now = graph.op.index, graph.op.now
    files = [
        no_file(path) if path in unread else _screened(graph, read_file(graph.disk, path))
        for path in dict.fromkeys(paths)
    ]
    with graph.op.read() as unit:
        files = _without_forgotten(unit, identified(unit, graph.id, files, graph.disk))
        known_rows = _known_of(unit, graph.id, files)
        if rivals := _outranked(files, known_rows, graph.disk):
            read = [_screened(graph, read_file(graph.disk, path)) for path in rivals]
            files = [*files, *_without_forgotten(unit, identified(unit, graph.id, read, graph.disk))]
            known_rows = _known_of(unit, graph.id, files)
        changes = _decide(files, known_rows, graph.disk)
        known = index.documents(unit, [row["id"] for _, row in changes.memories if row is not None])
    documents = []
    for memory, row in changes.memories:
        if row is None or (old := known.get(row["id"])) is None:
            changes.fresh.append(memory.path)
            documents.append(_document_of(memory, session_id))
            continue
        # As it is now, to compare: what is written anew gets the origin of whoever changed the file.
        document = replace(_document_of(memory, old.session_id), origin=memory.origin or old.origin, trust=old.trust)
        if row["archived"] == RETIRED and not is_archived(_future_row(memory, row), now, restored_access(row, states)):
            changes.reviving.add(row["id"])
        if document != old or row["id"] in changes.reviving:
            is_same = replace(document, origin=old.origin) == old
            fresh = document if is_same else replace(document, origin=memory.origin, trust=None)
            changes.rewritten[row["id"]] = fresh
    changes.published = index.prepare(documents) if documents else None
    changes.revised = index.prepare(list(changes.rewritten.values())) if changes.rewritten else None
    return changes


def _screened(graph: OpenGraph, file: ParsedFile) -> ParsedFile:
    """Take secrets out of what the store keeps of a file; the file itself stays as its writer left it."""
    # Of its hash and its path nothing has to be taken: looking for keys in them costs more than in the whole text.
    return replace(file, content=graph.op.screen.kept(file.content, file.path))


def write_changes(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> list[int]:
    """Write the changes; returns the ids of the changed memories, which may have to be archived or restored."""
    _leave(graph, transaction, changes)
    items = _write_memories(graph, transaction, changes)
    touched = list(items.values())
    items |= _write_rows(graph, transaction, "edge", changes.edges)
    there = [file for file in changes.files if file.content is not None]
    rows = [_file_row(graph.id, file, items.get(file.path), changes) for file in there]
    transaction.unit.many("graph.file_put", rows)
    return touched


def follow_files(
    graph: OpenGraph, paths: Sequence[str], session_id: int | None = None, unread: Collection[str] = ()
) -> Followed:
    """Update the index from these files in one transaction; `unread` are those that count as gone."""
    changes = prepare_changes(graph, paths, session_id, unread=unread)
    with graph.op.write("graph.follow") as transaction:
        touched = write_changes(graph, transaction, changes)
        update_archive(transaction.unit, graph.op.index, touched, transaction.at)
    return changes.report()


def _without_forgotten(unit: Unit, files: Sequence[ParsedFile]) -> list[ParsedFile]:
    """Turn files that bring back something forgotten, by a branch or a copy, into problems that are reported."""
    keys = {each.path: _key_of(each.content) for each in files if isinstance(each.content, Memory | Edge)}
    found = recognised(unit, list(keys.values()))

    def judged(file: ParsedFile) -> ParsedFile:
        tombstone = found.get(keys.get(file.path, ""))
        if tombstone is None:
            return file
        reason = (
            f"it was forgotten on {tombstone.at:%Y-%m-%d}: delete the file, or run "
            f"`everloom forget --lift {tombstone.id}`"
        )
        return replace(file, content=FileProblem(file.path, None, reason))

    return [judged(each) for each in files]


def _key_of(content: Memory | Edge) -> str:
    if isinstance(content, Edge):
        return file_key("edge", content.id)
    # Another note at the same path is another note: without an id, only the text tells that it came back, if there is
    # any; empty notes are all alike.
    text = "" if content.has_own_id else _document_of(content, None).text
    return text_key(text) if text.strip() else file_key("memory", content.id)


def _known_of(unit: Unit, graph: int, files: Sequence[ParsedFile]) -> _Known:
    memories = [each.content.id for each in files if isinstance(each.content, Memory)]
    edges = [each.content.id for each in files if isinstance(each.content, Edge)]
    known = {row["path"]: row for row in unit.all("graph.file_of", graph=graph, paths=[each.path for each in files])}
    items = [row["item_id"] for row in known.values() if row["item_id"] is not None]
    return _Known(
        {row["uuid"]: row for row in unit.all("graph.memory_by_uuid", graph=graph, uuids=memories)},
        {row["uuid"]: row for row in unit.all("graph.edge_by_uuid", graph=graph, uuids=edges)},
        known,
        {row["id"]: row for name in ("memory_of", "edge_get") for row in unit.all(f"graph.{name}", ids=items)},
    )


def _decide(files: Sequence[ParsedFile], known: _Known, disk: Disk) -> IndexChanges:
    """Decide what each file changes in the index."""
    changes = IndexChanges(files)
    owners = _owners(files, known, disk)
    for each in files:
        match each.content:
            case Memory() | Edge() as content:
                row = known.row_of(content)
                if (owner := owners[content.id]) != each.path:
                    reason = f"its id is also used by {owner}: give it another id, or delete it"
                    changes.broken[each.path] = FileProblem(each.path, None, reason), None
                    continue
                if isinstance(content, Memory):
                    changes.memories.append((content, row))
                else:
                    changes.edges.append((content, row))
            case FileProblem() as problem:
                former = known.files.get(each.path)
                changes.broken[each.path] = problem, None if former is None else former["item_id"]
    _depart(changes, known)
    return changes


def _owners(files: Sequence[ParsedFile], known: _Known, disk: Disk) -> dict[str, str]:
    """Choose the file that each id belongs to: of several, the one with most credit, then the one that had it before.

    A copied file has the id of its original. It is reported and not indexed.
    """
    leaving = _leaving(files)
    owners: dict[str, str] = {}
    for each in files:
        if not isinstance(each.content, Memory | Edge):
            continue
        identity, row = each.content.id, known.row_of(each.content)
        other = owners.get(identity) or _owner_of(row, each.content, leaving, disk)
        owners[identity] = each.path if other is None or _outranks(disk, each.path, other, identity) else other
    return owners


def _outranked(files: Sequence[ParsedFile], known: _Known, disk: Disk) -> list[str]:
    """Find files outside a batch whose ids belong to files in it; they must be decided together."""
    leaving, batch = _leaving(files), {each.path for each in files}
    found: dict[str, None] = {}
    for each in files:
        if isinstance(each.content, Memory | Edge):
            other = _owner_of(known.row_of(each.content), each.content, leaving, disk)
            if other is not None and other not in batch and _outranks(disk, each.path, other, each.content.id):
                found[other] = None
    return list(found)


def _outranks(disk: Disk, path: str, other: str, identity: str) -> bool:
    return credit_of(disk.root, path, identity) > credit_of(disk.root, other, identity)


def _leaving(files: Sequence[ParsedFile]) -> set[str]:
    return {each.path for each in files if each.content is None or isinstance(each.content, FileProblem)}


def _owner_of(row: Row | None, content: Memory | Edge, leaving: set[str], disk: Disk) -> str | None:
    """Find another existing file that has this id."""
    # The row of a memory outlives its file; such a row does not claim the id.
    if row is None or (isinstance(content, Memory) and row["gone_at"] is not None):
        return None
    other: str = row["path"]
    return None if other == content.path or other in leaving or not disk.exists(other) else other


def _depart(changes: IndexChanges, known: _Known) -> None:
    """Find memories and edges without a file: it is gone, or contains something else now."""
    # A moved file appears twice in the batch: its old path is gone, and its id is at the new path. Its memory stays.
    staying = {row["id"] for _, row in [*changes.memories, *changes.edges] if row is not None}
    for each in changes.files:
        former = known.files.get(each.path)
        item = None if former is None or isinstance(each.content, FileProblem) else former["item_id"]
        if item is None or item in staying or not known.is_at(item, each.path):
            continue
        (changes.gone_edges if is_edge(each.path) else changes.gone_memories).add(item)


def _leave(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> None:
    """Remove from the index the memories and edges that have no file."""
    unit = transaction.unit
    if changes.gone_memories:
        gone = sorted(changes.gone_memories)
        graph.op.index.remove(unit, gone)
        unit.send("graph.relation_drop", ids=gone)
        drop_mentions(unit, gone)
        unit.send("graph.memory_gone", ids=gone, at=to_micros(transaction.at))
    unit.send("graph.file_drop", graph=graph.id, paths=changes.gone)
    if changes.gone_edges:
        unit.send("graph.edge_drop", ids=sorted(changes.gone_edges))


def _write_memories(graph: OpenGraph, transaction: Transaction, changes: IndexChanges) -> dict[str, int]:
    """Write the rows, relations and documents of memories; returns the item id for each path."""
    unit, now, index = transaction.unit, transaction.at, graph.op.index
    items = _write_rows(graph, transaction, "memory", changes.memories)
    new = [(items[memory.path], max(memory.created, memory.updated)) for memory, row in changes.memories if row is None]
    begin_fading(unit, new, now)
    if changes.revised is not None:
        places = list(enumerate(changes.rewritten.items()))
        for act, is_reviving in ((index.revive, True), (index.revise_all, False)):
            chosen = [
                (place, item, text) for place, (item, text) in places if (item in changes.reviving) is is_reviving
            ]
            ready = index.complete(changes.revised, {place: text for place, _, text in chosen})
            act(unit, [item for _, item, _ in chosen], ready, now)
    # `update_archive` runs later in this transaction; it must not try to restore the same documents again.
    unit.send("graph.memory_archive", ids=sorted(changes.reviving), archived=0)
    if changes.published is not None:
        index.publish(unit, [items[path] for path in changes.fresh], changes.published, now)
    unit.send("graph.relation_drop", ids=list(items.values()))
    unit.many(
        "graph.relation_add",
        [
            {"memory": items[memory.path], "position": position, **columns_of(side, *_RELATION)}
            for memory, _ in changes.memories
            for position, side in enumerate(memory.relations)
        ],
    )
    hashes = {each.path: each.hash for each in changes.files}
    write_notes(unit, graph.id, [memory for memory, _ in changes.memories], items, hashes)
    for memory, row in changes.memories:
        is_pinned = in_vault(memory.path)
        if is_pinned != bool(row is not None and row["in_vault"]):
            pin(unit, items[memory.path], pinned=is_pinned)
    return items


def _write_rows(
    graph: OpenGraph, transaction: Transaction, kind: str, entries: Sequence[tuple[Memory | Edge, Row | None]]
) -> dict[str, int]:
    """Add or change the rows of memories or edges; returns the item id for each path."""
    unit, (add, change) = transaction.unit, _STATEMENTS[kind]
    fresh = [content for content, row in entries if row is None]
    new = list(zip(fresh, register(unit, [kind] * len(fresh), transaction.at), strict=True))
    known = [(content, row["id"]) for content, row in entries if row is not None]
    unit.many(add, [{"id": item, "graph": graph.id, "uuid": each.id, **_columns(each)} for each, item in new])
    unit.many(change, [{"id": item, **_columns(each)} for each, item in known])
    return {each.path: item for each, item in [*new, *known]}


def _file_row(graph: int, file: ParsedFile, item: int | None, changes: IndexChanges) -> dict[str, Value]:
    problem, former = changes.broken.get(file.path, (None, None))
    return {
        **asdict(file.entry),
        "graph": graph,
        "hash": file.hash,
        "checked_at": machine_micros(),
        # A broken file still belongs to the memory that it held: once it is repaired, that memory continues.
        "item": former if item is None else item,
        "problem": None if problem is None else problem.reason,
        "line": None if problem is None else problem.line,
    }


def _columns(content: Memory | Edge) -> dict[str, Any]:
    """Convert a memory or an edge to the columns of its row."""
    if isinstance(content, Edge):
        return columns_of(content, *_EDGE)
    tags = json.dumps(content.all_tags, ensure_ascii=False)
    return {**columns_of(content, *_MEMORY), "tags": tags, "in_vault": int(in_vault(content.path))}


def _future_row(memory: Memory, row: Row) -> dict[str, Any]:
    """Return a memory's row as it will be written, with its current accesses."""
    pinned = max(row["pinned"] or 0, int(in_vault(memory.path)))
    return {**_columns(memory), "pinned": pinned, **{name: row[name] for name in ("count", "last_at", "lent")}}


def _document_of(memory: Memory, session: int | None) -> Document:
    """Build the document that search indexes for a memory."""
    steps = (f"{place}. {step}" for place, step in enumerate(memory.steps, 1))
    parts = [memory.content, *steps, *memory.preconditions, *memory.postconditions, *memory.aliases]
    return Document(
        kind="memory",
        title=memory.title,
        text="\n".join(part for part in parts if part),
        labels=memory.all_tags,
        happened_at=memory.created,
        standing=Standing.SYNTHESIS if memory.type == "insight" else Standing.EVIDENCE,
        confidence=memory.confidence,
        session_id=session,
        origin=memory.origin,
    )
