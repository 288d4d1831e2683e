"""The operations on memories: store, get, update, pin, delete and merge. Each is done completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from everloom.clock import to_micros
from everloom.errors import EverloomError, Rejected
from everloom.graph.files.changeset import Changeset, FilePlan
from everloom.graph.files.disk import free_name, title_slug
from everloom.graph.files.fields import checked_tags
from everloom.graph.files.frontmatter import UnreadableFile
from everloom.graph.files.parser import in_graph, in_vault
from everloom.graph.index.catalog import OpenGraph, attached_to, with_state
from everloom.graph.index.decay import prepare_revival, update_archive
from everloom.graph.index.executor import Also, execute, nothing_else, sole_writer
from everloom.graph.index.scan import scan
from everloom.graph.kinds import LISTS, VAULT, checked_share, checked_type, directory_of
from everloom.graph.operations.edges import join, new_edge, redirect
from everloom.graph.operations.suggestions import ChosenLink, links_for
from everloom.graph.operations.versions import (
    check_version,
    seen_fields,
    version_after,
    version_of,
    version_planned,
    with_version,
)
from everloom.graph.pages.episodes import Episode, diary_entry
from everloom.graph.results import AutoEdge, Changed, DeletedMemory, Edge, Memory, MergedMemory, Stored
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.journal import count_access
from everloom.kernel.journal import pin as set_pin
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked, checked_list
from everloom.kernel.trust.origin import AGENT, Origin
from everloom.kernel.trust.review import HELD, hold
from everloom.store import Row

_LONGEST_TITLE = 1_000
# A procedure that a person can follow; the front matter as a whole is limited as well.
_MOST_LINES = 200
_OFTEN = 2**30
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class MemoryFields:
    """The fields of a memory as a caller gives them; None for those not given."""

    type: str | None = None
    title: str | None = None
    content: str | None = None
    tags: Sequence[str] | str | None = None
    importance: float | None = None
    confidence: float | None = None
    steps: Sequence[str] | None = None
    preconditions: Sequence[str] | None = None
    postconditions: Sequence[str] | None = None


def store(graph: OpenGraph, fields: MemoryFields, connect: bool | None = None) -> Stored:
    """Store a new memory, and relate it to similar ones; one whose origin is held is kept for review."""
    memory = replace(new_memory(fields, graph.op.now), origin=_origin_in_file(graph.op.origin))
    given = {"graph": graph.name, "connect": connect, **asdict(fields)}
    waiting = hold(graph.op, "graph.store", given, f"{memory.title}\n{memory.content}", graph.once.key)
    if waiting is not None:
        return Stored(id="", item=waiting, path="", held=HELD)
    links: list[ChosenLink] = []
    trouble = None
    wants_edges = graph.options.auto_edges if connect is None else connect
    if wants_edges:
        try:
            # Before the write lock is taken, because an embedding model may be slow. A failure never fails the store.
            links = links_for(graph, memory)
        except EverloomError as error:
            trouble = error.message
    return store_linked(graph, memory, links, trouble)


def _origin_in_file(origin: Origin) -> str | None:
    """Return what a file says of its origin: the index can be lost, and must not be rebuilt with more trust."""
    return str(origin) if origin.kind.rank > AGENT.kind.rank else None


def store_linked(graph: OpenGraph, memory: Memory, links: Sequence[ChosenLink], trouble: str | None = None) -> Stored:
    """Write a new memory with its chosen relations; a relation that cannot be created never fails the store."""
    with graph.op.read() as unit:
        refuse_forgotten(unit, [memory.content])
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, Stored)) is not None:
            return known
        files = graph.changeset()
        memory = replace(memory, path=_free_path(files, memory, files.real(directory_of(memory.type))))
        files.put(memory)
        edges = []
        for link in links:
            try:
                edges.append(_draw(graph, files, memory, link))
            except EverloomError as error:
                trouble = error.message
        try:
            changes = files.changes()
        except Rejected as error:
            # The memory at the other end may be full of relations already; then this one is stored without.
            alone = graph.changeset()
            alone.put(memory)
            changes, edges, trouble = alone.changes(), [], error.message
        detail = {"id": memory.id, "path": memory.path}
        answer = Stored(
            id=memory.id,
            item=0,
            path=memory.path,
            version=version_planned(graph, memory, changes),
            auto_edges=tuple(edges),
            auto_edge_error=trouble,
        )
        receipt = graph.once.receipt(answer)
        notices = execute(graph, FilePlan("store", f"store: {memory.title}", changes, detail, receipt=receipt))
        version = version_after(graph, memory)
    return replace(answer, item=graph.row(memory.id)["id"], version=version, notices=notices)


def _draw(graph: OpenGraph, files: Changeset, memory: Memory, link: ChosenLink) -> AutoEdge:
    """Create a relation that was chosen for a new memory."""
    other = files.read(graph.row(link.other.id)["path"], Memory)
    one, two = (memory, other) if link.outgoing else (other, memory)
    edge = new_edge(files, one, link.type, two, link.strength, graph.op.now)
    join(files, edge, (one.path, two.path))
    ends = {"from_id": one.id, "to_id": two.id}
    return AutoEdge(edge_id=edge.id, **ends, type=edge.type, strength=edge.strength, title=other.title)


def get(graph: OpenGraph, identity: str) -> Memory:
    """Read a memory from its file, and count the access."""
    row = graph.row(identity)
    try:
        memory = graph.changeset().read(row["path"], Memory)
    except UnreadableFile:
        if graph.op.is_read_only:
            raise
        # The file may have been moved or repaired since the last scan.
        scan(graph)
        row = graph.row(identity)
        memory = graph.changeset().read(row["path"], Memory)
    op, item = graph.op, row["id"]
    # Prepared as if the access below were counted already: reading an archived memory makes it active again.
    ready = prepare_revival(graph, [row], {row["uuid"]: ((row["count"] or 0) + 1, to_micros(op.now))})

    def count(transaction: Transaction) -> None:
        count_access(transaction.unit, [item], transaction.at)
        update_archive(transaction.unit, op.index, [item], transaction.at, ready)

    op.leave("graph.get", count)
    with op.read() as unit:
        found = with_state(unit, memory, item, op.now)
    return with_version(graph, found)


def update(
    graph: OpenGraph, identity: str, fields: MemoryFields, expected: str | None = None, also: Also = nothing_else
) -> Changed:
    """Change a memory that the caller has seen; a new title is copied to its edges, and a new type moves its file."""
    changes = _checked(fields)
    if not changes:
        raise Rejected("nothing to change was given", hint="give at least one field")

    def revised(old: Memory) -> dict[str, Any]:
        wanted = {name: value for name, value in changes.items() if getattr(old, name) != value}
        check_version(graph, old, wanted, expected)
        return wanted

    return _revise(graph, identity, revised, replaces=True, also=also)


def append(graph: OpenGraph, identity: str, fields: MemoryFields) -> Changed:
    """Add to a memory whatever it says by now: text to its end, and tags, steps and conditions that it lacks."""
    given = _checked(fields)
    if not given:
        raise Rejected("nothing to add was given", hint="give a text, tags or steps")

    def extended(old: Memory) -> dict[str, Any]:
        added: dict[str, Any] = {
            name: (*getattr(old, name), *(each for each in given[name] if each not in getattr(old, name)))
            for name in ("tags", *LISTS)
            if name in given
        }
        if "content" in given:
            added["content"] = f"{old.content}\n{given['content']}".strip()
        whole = {name: _CHECKS[name](value) for name, value in added.items()}
        return {name: value for name, value in whole.items() if getattr(old, name) != value}

    return _revise(graph, identity, extended, replaces=False)


def _revise(
    graph: OpenGraph,
    identity: str,
    revise: Callable[[Memory], dict[str, Any]],
    *,
    replaces: bool,
    also: Also = nothing_else,
) -> Changed:
    """Change the fields of a memory that `revise` returns; it is given the memory as it is on the disk."""
    with sole_writer(graph):
        if (answered := graph.once.answered(graph.op, Changed)) is not None:
            return answered
        files = graph.changeset()
        old = files.read(graph.row(identity)["path"], Memory)
        changes = revise(old)
        if not changes:
            return graph.once.settle(graph.op, Changed(id=old.id, path=old.path, version=version_of(old)))
        known = seen_fields(graph, old, changes)
        new = _touched(old, graph.op.now, **changes)
        files.put(new)
        if new.title != old.title:
            for row in attached_to(graph, old.id)[0]:
                title: dict[str, Any] = {"from_title" if row["from_uuid"] == old.id else "to_title": new.title}
                files.put(replace(files.read(row["path"], Edge), **title))
        # In the vault, memories of all types share one folder; a person's own folders are no business of ours.
        if new.type != old.type and in_graph(old.path):
            new = _move(files, new, directory_of(new.type))
        detail = {"id": new.id, "path": new.path, "changed": sorted(changes)}
        written = files.changes()
        answer = Changed(
            id=new.id, path=new.path, version=version_planned(graph, new, written), changed=tuple(sorted(changes))
        )
        plan = FilePlan("update", f"update: {new.title}", written, detail, receipt=graph.once.receipt(answer))
        notices = execute(graph, plan, also)
        version = version_after(graph, new, changes if replaces else known)
    return replace(answer, version=version, notices=notices)


def pin(graph: OpenGraph, identity: str, *, pinned: bool) -> Changed:
    """Move a memory into the vault, or out of it; a note in a person's own folder is pinned where it is."""
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, Changed)) is not None:
            return known
        files = graph.changeset()
        row = graph.row(identity)
        memory = files.read(row["path"], Memory)
        answer = Changed(id=memory.id, path=memory.path, version=version_of(memory))
        if not in_graph(memory.path) and not in_vault(memory.path):
            return _pin_in_place(graph, row, answer, pinned=pinned)
        if in_vault(memory.path) == pinned:
            return graph.once.settle(graph.op, answer)
        moved = _move(files, memory, VAULT if pinned else directory_of(memory.type))
        verb = "pin" if pinned else "unpin"
        detail = {"id": memory.id, "path": moved.path}
        answer = replace(answer, path=moved.path, changed=("path",))
        receipt = graph.once.receipt(answer)
        notices = execute(graph, FilePlan(verb, f"{verb}: {memory.title}", files.changes(), detail, receipt=receipt))
    return replace(answer, notices=notices)


def _pin_in_place(graph: OpenGraph, row: Row, answer: Changed, *, pinned: bool) -> Changed:
    """Pin a note without moving its file: other notes and pictures are linked by where they are."""
    if bool(row["pinned"]) == pinned:
        return graph.once.settle(graph.op, answer)
    # Prepared as if it were read very often: what is pinned is active.
    ready = prepare_revival(graph, [row], {row["uuid"]: (_OFTEN, to_micros(graph.op.now))}) if pinned else {}
    with graph.op.write(f"graph.{'pin' if pinned else 'unpin'}") as transaction:
        set_pin(transaction.unit, row["id"], pinned=pinned)
        update_archive(transaction.unit, graph.op.index, [row["id"]], transaction.at, ready)
        transaction.event(graph=graph.id, id=row["uuid"], path=row["path"])
    return graph.once.settle(graph.op, replace(answer, changed=("pinned",)))


def delete(graph: OpenGraph, identity: str) -> DeletedMemory:
    """Delete a memory, its edges, and the relations to it in other memories."""
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, DeletedMemory)) is not None:
            return known
        row = graph.row(identity)
        files = graph.changeset()
        edges, others = attached_to(graph, row["uuid"])
        files.remove(row["path"])
        for edge in edges:
            files.remove(edge["path"])
        changed = [other for other in others if other["uuid"] != row["uuid"]]
        for other in changed:
            memory = files.read(other["path"], Memory)
            sides = tuple(side for side in memory.relations if side.target != row["uuid"])
            files.put(replace(memory, relations=sides))
        detail = {"id": row["uuid"], "path": row["path"]}
        answer = DeletedMemory(
            id=row["uuid"],
            path=row["path"],
            edges=tuple(edge["uuid"] for edge in edges),
            other_sides=tuple(other["uuid"] for other in changed),
        )
        receipt = graph.once.receipt(answer)
        plan = FilePlan("delete", f"delete: {row['title']}", files.changes(), detail, receipt=receipt)
        notices = execute(graph, plan)
    return replace(answer, notices=notices)


def merge(graph: OpenGraph, keep: str, duplicate: str) -> MergedMemory:
    """Merge one memory into another: text, tags, relations and accesses; the diary records it."""
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, MergedMemory)) is not None:
            return known
        kept, leaving = graph.row(keep), graph.row(duplicate)
        if kept["uuid"] == leaving["uuid"]:
            raise Rejected("a memory cannot be merged with itself", hint="name two different memories")
        files = graph.changeset()
        old = files.read(leaving["path"], Memory)
        merged = _fold(files.read(kept["path"], Memory), old, graph.op.now)
        files.put(merged)
        moved = _reattach(graph, files, merged, old)
        files.remove(leaving["path"])
        episode = Episode(
            title=f"Merged {old.title} into {merged.title}",
            type="merge",
            tags=merged.tags,
            summary=f"{old.id} was merged into {merged.id}",
            memory_path=merged.path,
        )
        # The diary entry is part of the same plan, because REFLECTION.md counts merges by these entries.
        changes = (*files.changes(), diary_entry(graph, episode))
        states = _joint_state(kept, leaving)
        detail = {"id": merged.id, "merged": old.id}
        answer = MergedMemory(id=merged.id, merged=old.id, path=merged.path, relations_moved=moved)
        receipt = graph.once.receipt(answer)
        plan = FilePlan("merge", f"merge: {merged.title}", changes, detail, states, receipt=receipt)
        notices = execute(graph, plan)
    return replace(answer, notices=notices)


def _reattach(graph: OpenGraph, files: Changeset, kept: Memory, leaving: Memory) -> int:
    """Move the relations and edges of one memory to another."""
    edges, others = attached_to(graph, leaving.id)
    for other in others:
        if other["uuid"] not in (kept.id, leaving.id):
            files.put(redirect(files.read(other["path"], Memory), leaving.id, kept.id))
    known = {(row["from_uuid"], row["type"], row["to_uuid"]) for row in attached_to(graph, kept.id)[0]}
    for row in edges:
        start, end = (kept.id if row[side] == leaving.id else row[side] for side in ("from_uuid", "to_uuid"))
        # An edge between the two would become a loop, and one that the kept memory has already would be a duplicate.
        if start == end or (start, row["type"], end) in known:
            files.remove(row["path"])
            continue
        known.add((start, row["type"], end))
        new: dict[str, Any] = {"from_id": start, "to_id": end}
        new |= {f"{side}_title": kept.title for side in ("from", "to") if row[f"{side}_uuid"] == leaving.id}
        files.put(replace(files.read(row["path"], Edge), **new))
    return sum(other["uuid"] != kept.id for other in others)


def _joint_state(*rows: Row) -> dict[str, tuple[int, int]]:
    """Add up the accesses of several memories for the first one."""
    accessed = [row for row in rows if row["count"]]
    if not accessed:
        return {}
    return {rows[0]["uuid"]: (sum(row["count"] for row in accessed), max(row["last_at"] for row in accessed))}


def _fold(kept: Memory, leaving: Memory, now: datetime) -> Memory:
    """Add to a memory what another one has in addition."""
    content = kept.content
    if leaving.content and leaving.content not in content:
        content = f"{content}\n\n{leaving.content}".strip()
    # A relation between the two would lead from the memory to itself; `redirect` drops it.
    moved = redirect(replace(leaving, id=kept.id), kept.id, kept.id)
    whole = redirect(kept, leaving.id, kept.id)
    known = {side.key for side in whole.relations}
    lists = {name: tuple(dict.fromkeys([*getattr(kept, name), *getattr(leaving, name)])) for name in ("tags", *LISTS)}
    return _touched(
        kept,
        now,
        content=content,
        importance=max(kept.importance, leaving.importance),
        confidence=max(kept.confidence, leaving.confidence),
        created=min(kept.created, leaving.created),
        relations=(*whole.relations, *(side for side in moved.relations if side.key not in known)),
        **lists,
    )


def _free_path(files: Changeset, memory: Memory, folder: str) -> str:
    name = free_name(title_slug(memory.title), memory.id, lambda each: files.is_taken(f"{folder}/{each}"))
    return f"{folder}/{name}"


def _move(files: Changeset, memory: Memory, folder: str) -> Memory:
    folder = files.real(folder)
    target = f"{folder}/{memory.path.rsplit('/', 1)[-1]}"
    if files.is_taken(target):
        target = _free_path(files, memory, folder)
    return files.move(memory, target)


def _touched(memory: Memory, now: datetime, **changes: Any) -> Memory:
    return replace(memory, **changes, updated=now.replace(microsecond=0))


def new_memory(fields: MemoryFields, now: datetime) -> Memory:
    """Check the fields of a new memory, and give it an id and times."""
    # Whole seconds, as the contract writes them: with microseconds the file would not match the memory that was stored.
    moment = now.replace(microsecond=0)
    return Memory(id=str(uuid4()), created=moment, updated=moment, **_checked(fields))


def _checked(fields: MemoryFields) -> dict[str, Any]:
    """Check the fields that were given; an empty title or content is refused."""
    given = {name: getattr(fields, name) for name in _CHECKS}
    return {name: _CHECKS[name](value) for name, value in given.items() if value is not None}


def _checked_title(title: object) -> str:
    """Check a title: one line, not empty."""
    text = "".join(char if char.isprintable() else " " for char in checked(title, "the title", _LONGEST_TITLE))
    return checked(" ".join(text.split()), "the title")


def _checked_lines(lines: Sequence[str]) -> tuple[str, ...]:
    given = checked_list(lines, "steps or conditions", _MOST_LINES, least=0)
    return tuple(checked(line, "a step or condition", _LONGEST_LINE).strip() for line in given)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "type": checked_type,
    "title": _checked_title,
    "content": lambda text: checked(text, "the content").strip(),
    "tags": checked_tags,
    "importance": lambda value: checked_share(value, "importance"),
    "confidence": lambda value: checked_share(value, "confidence"),
    **dict.fromkeys(LISTS, _checked_lines),
}
