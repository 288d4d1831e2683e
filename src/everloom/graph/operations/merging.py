"""Folding one memory into another, with its relations and its accesses. One plan, carried out whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.graph.files.changeset import Bench
from everloom.graph.files.parser import touched
from everloom.graph.files.plan import Plan
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.memories import LISTS
from everloom.graph.operations.relations import redirected
from everloom.graph.pages.episodes import Episode
from everloom.graph.results import Memory, Merged
from everloom.store import Row


class Merging:
    """Merges the memories of one graph."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def merge(self, keep: str | int, duplicate: str | int) -> Merged:
        """Fold one memory into another: text, tags, relations, accesses; the diary tells of it."""
        desk = self._desk
        with desk.turn():
            kept, leaving = desk.row(keep), desk.row(duplicate)
            if kept["uuid"] == leaving["uuid"]:
                raise Rejected("a memory cannot be merged with itself", hint="name two different ones")
            bench = desk.bench()
            old = bench.memory(leaving["path"])
            merged = bench.change(kept["path"], lambda memory: folded(memory, old, desk.now))
            moved = self._rewoven(bench, merged, old)
            bench.remove(leaving["path"])
            episode = Episode(
                title=f"Merged {old.title} into {merged.title}",
                type="merge",
                tags=merged.tags,
                summary=f"{old.id} was folded into {merged.id}",
                memory_path=merged.path,
            )
            changes = (*bench.changes(), desk.entry(episode))
            detail = {"id": merged.id, "merged": old.id}
            plan = Plan("merge", f"merge: {merged.title}", changes, detail, self._joint_state(kept, leaving))
            notices = desk.carrier.carry(plan)
        return Merged(id=merged.id, merged=old.id, path=merged.path, relations_moved=moved, notices=notices)

    def _rewoven(self, bench: Bench, kept: Memory, leaving: Memory) -> int:
        """Let the relations and edges of one memory belong to another."""
        edges, others = self._desk.attached(leaving.id)
        for other in others:
            if other["uuid"] not in (kept.id, leaving.id):
                bench.change(other["path"], lambda memory: redirected(memory, leaving.id, kept.id))
        known = {edge_key(row["from_uuid"], row["type"], row["to_uuid"]) for row in self._desk.attached(kept.id)[0]}
        for row in edges:
            ends = [kept.id if end == leaving.id else end for end in (row["from_uuid"], row["to_uuid"])]
            key = edge_key(ends[0], row["type"], ends[1])
            if ends[0] == ends[1] or key in known:
                bench.remove(row["path"])
                continue
            known.add(key)
            titles = {
                name: kept.title
                for name, end in (("from_title", row["from_uuid"]), ("to_title", row["to_uuid"]))
                if end == leaving.id
            }
            bench.change_edge(
                row["path"],
                lambda edge, ends=ends, titles=titles: replace(edge, from_id=ends[0], to_id=ends[1], **titles),  # type: ignore[misc]
            )
        return sum(other["uuid"] != kept.id for other in others)

    def _joint_state(self, kept: Row, leaving: Row) -> dict[str, tuple[int, int]]:
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("kernel.access_of", ids=[kept["id"], leaving["id"]])
        count = sum(row["count"] for row in rows)
        last = max((row["last_at"] for row in rows if row["count"]), default=to_micros(self._desk.now))
        return {kept["uuid"]: (count, last)} if count else {}


def edge_key(start: str, kind: str, end: str) -> tuple[str, str, str]:
    """Say what makes two edges the same."""
    return start, kind, end


def folded(kept: Memory, leaving: Memory, now: datetime) -> Memory:
    """Add to a memory what another says more."""
    content = kept.content
    if leaving.content and leaving.content not in content:
        content = f"{content}\n\n{leaving.content}".strip()
    moved = redirected(replace(leaving, id=kept.id), kept.id, kept.id)
    whole = redirected(kept, leaving.id, kept.id)
    known = {(side.target, side.type, side.direction) for side in whole.relations}
    more = [side for side in moved.relations if (side.target, side.type, side.direction) not in known]
    lists = {name: tuple(dict.fromkeys([*getattr(kept, name), *getattr(leaving, name)])) for name in LISTS}
    return touched(
        kept,
        now,
        content=content,
        tags=tuple(dict.fromkeys([*kept.tags, *leaving.tags])),
        importance=max(kept.importance, leaving.importance),
        confidence=max(kept.confidence, leaving.confidence),
        created=min(kept.created, leaving.created),
        relations=(*whole.relations, *more),
        **lists,
    )
