"""The operations on memories: store, update, delete, pin. Each is one plan, carried out whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from everloom.errors import EverloomError, Rejected
from everloom.graph.files.changeset import Bench
from everloom.graph.files.names import free_name, slug
from everloom.graph.files.parser import touched
from everloom.graph.files.plan import Plan
from everloom.graph.kinds import KINDS, VAULT, checked_share, checked_type
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.links import Link
from everloom.graph.operations.relations import join, new_edge, without
from everloom.graph.operations.tags import checked_tags
from everloom.graph.results import AutoEdge, Changed, Deleted, Memory, NewMemory, Revision, Stored
from everloom.kernel.texts import checked

LONGEST_TITLE = 1_000
LISTS = ("steps", "preconditions", "postconditions")


class Memories:
    """Operations on the memories of one graph."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def store(self, new: NewMemory, links: Sequence[Link] = ()) -> Stored:
        """Write a new memory and the relations that were chosen for it."""
        memory = made(new, self._desk.now)
        desk = self._desk
        with desk.turn():
            bench = desk.bench()
            folder = KINDS[memory.type].directory
            name = free_name(slug(memory.title), memory.id, lambda each: bench.is_taken(f"{folder}/{each}"))
            memory = replace(memory, path=f"{folder}/{name}")
            bench.add(memory)
            edges, trouble = self._link(bench, memory, links)
            plan = Plan("store", f"store: {memory.title}", bench.changes(), {"id": memory.id, "path": memory.path})
            notices = desk.carrier.carry(plan)
        item = desk.row(memory.id)["id"]
        return Stored(
            id=memory.id,
            item=item,
            path=memory.path,
            auto_edges=tuple(edges),
            auto_edge_error=trouble,
            notices=notices,
        )

    def _link(self, bench: Bench, memory: Memory, links: Sequence[Link]) -> tuple[list[AutoEdge], str | None]:
        """Draw the chosen relations; one that cannot be drawn is told and never fails the store."""
        drawn: list[AutoEdge] = []
        trouble: str | None = None
        for link in links:
            try:
                other = bench.memory(self._desk.row(link.other.id)["path"])
            except EverloomError as error:
                trouble = error.message
                continue
            one, two = (memory, other) if link.outgoing else (other, memory)
            edge = new_edge(bench, one, link.type, two, link.strength, self._desk.now)
            bench.add(edge)
            join(bench, edge, one.path, two.path, None)
            drawn.append(
                AutoEdge(
                    edge_id=edge.id,
                    from_id=one.id,
                    to_id=two.id,
                    type=edge.type,
                    strength=edge.strength,
                    title=other.title,
                )
            )
        return drawn, trouble

    def update(self, identity: str | int, revision: Revision) -> Changed:
        """Change a memory; its edges learn of a new title, and another type moves its file."""
        changes = checked_revision(revision)
        if not changes:
            raise Rejected("nothing to change", hint="name at least one field")
        desk = self._desk
        with desk.turn():
            row = desk.row(identity)
            bench = desk.bench()
            old = bench.memory(row["path"])
            changes = {name: value for name, value in changes.items() if getattr(old, name) != value}
            if not changes:
                return Changed(id=old.id, path=old.path)
            new = bench.change(old.path, lambda memory: touched(memory, desk.now, **changes))
            if new.title != old.title:
                self._retitle(bench, old.id, new.title)
            if new.type != old.type and not old.path.startswith(f"{VAULT}/"):
                new = self._moved(bench, new, KINDS[new.type].directory)
            detail = {"id": new.id, "path": new.path, "changed": sorted(changes)}
            notices = desk.carrier.carry(Plan("update", f"update: {new.title}", bench.changes(), detail))
        return Changed(id=new.id, path=new.path, changed=tuple(sorted(changes)), notices=notices)

    def _retitle(self, bench: Bench, identity: str, title: str) -> None:
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("graph.edge_of", graph=ground.graph, uuid=identity)
        for row in rows:
            side = "from_title" if row["from_uuid"] == identity else "to_title"
            bench.change_edge(row["path"], lambda edge, side=side: replace(edge, **{side: title}))  # type: ignore[misc]

    def _moved(self, bench: Bench, memory: Memory, folder: str) -> Memory:
        name = memory.path.rsplit("/", 1)[-1]
        if bench.is_taken(f"{folder}/{name}"):
            name = free_name(slug(memory.title), memory.id, lambda each: bench.is_taken(f"{folder}/{each}"))
        bench.move(memory.path, f"{folder}/{name}")
        return replace(memory, path=f"{folder}/{name}")

    def pin(self, identity: str | int, *, pinned: bool) -> Changed:
        """Move a memory into the vault, or out of it."""
        desk = self._desk
        with desk.turn():
            row = desk.row(identity)
            bench = desk.bench()
            memory = bench.memory(row["path"])
            folder = VAULT if pinned else KINDS[memory.type].directory
            if memory.path.startswith(f"{VAULT}/") == pinned:
                return Changed(id=memory.id, path=memory.path)
            moved = self._moved(bench, memory, folder)
            verb = "pin" if pinned else "unpin"
            detail = {"id": memory.id, "path": moved.path}
            notices = desk.carrier.carry(Plan(verb, f"{verb}: {memory.title}", bench.changes(), detail))
        return Changed(id=memory.id, path=moved.path, changed=("path",), notices=notices)

    def delete(self, identity: str | int) -> Deleted:
        """Remove a memory with its edges and the other sides of its relations."""
        desk = self._desk
        with desk.turn():
            row = desk.row(identity)
            bench = desk.bench()
            edges, others = desk.attached(row["uuid"])
            bench.remove(row["path"])
            for edge in edges:
                bench.remove(edge["path"])
            changed = [other for other in others if other["uuid"] != row["uuid"]]
            for other in changed:
                bench.change(other["path"], lambda memory: without(memory, [row["uuid"]]))
            detail = {"id": row["uuid"], "path": row["path"]}
            notices = desk.carrier.carry(Plan("delete", f"delete: {row['title']}", bench.changes(), detail))
        return Deleted(
            id=row["uuid"],
            path=row["path"],
            edges=tuple(edge["uuid"] for edge in edges),
            other_sides=tuple(other["uuid"] for other in changed),
            notices=notices,
        )


def made(new: NewMemory, now: datetime) -> Memory:
    """Check what is to be stored and give it an id and its times."""
    moment = now.replace(microsecond=0)
    return Memory(
        id=str(uuid4()),
        type=checked_type(new.type),
        title=checked_title(new.title),
        content=checked(new.content, "the content").strip(),
        tags=checked_tags(new.tags),
        importance=checked_share(new.importance, "importance"),
        confidence=checked_share(new.confidence, "confidence"),
        steps=checked_lines(new.steps),
        preconditions=checked_lines(new.preconditions),
        postconditions=checked_lines(new.postconditions),
        created=moment,
        updated=moment,
    )


def checked_title(title: object) -> str:
    """Accept a title: one line, not empty."""
    text = "".join(char if char.isprintable() else " " for char in checked(title, "the title", LONGEST_TITLE))
    return checked(" ".join(text.split()), "the title")


def checked_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Accept steps and conditions."""
    return tuple(checked(line, "a step or condition").strip() for line in lines)


def checked_revision(revision: Revision) -> dict[str, Any]:
    """Check what is to change; an empty title or text is refused, never written."""
    checks: dict[str, Callable[[Any], Any]] = {
        "type": checked_type,
        "title": checked_title,
        "content": lambda text: checked(text, "the content").strip(),
        "tags": checked_tags,
        "importance": lambda value: checked_share(value, "importance"),
        "confidence": lambda value: checked_share(value, "confidence"),
        **dict.fromkeys(LISTS, checked_lines),
    }
    given = {name: getattr(revision, name) for name in checks}
    return {name: checks[name](value) for name, value in given.items() if value is not None}
