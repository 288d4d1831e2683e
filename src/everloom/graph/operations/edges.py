"""The operations on relations: relate, follow, describe, take back, repair. Edge file and both memories, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from everloom.errors import Conflict, NotFound, Rejected
from everloom.graph.files.changeset import Bench
from everloom.graph.files.frontmatter import Unreadable
from everloom.graph.files.plan import Plan
from everloom.graph.index.catalog import edge_from
from everloom.graph.kinds import DEFAULT_STRENGTH, checked_relation, checked_share
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.relations import OPPOSITE, join, new_edge, with_side, without, without_side
from everloom.graph.results import Brief, Drawn, Edge, Memory, Neighbor, Relation
from everloom.kernel.texts import analyse, checked
from everloom.store import Row

MOST_HOPS = 5
MOST_NEIGHBORS = 500


class Edges:
    """Operations on the relations of one graph."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def relate(
        self,
        from_id: str | int,
        to_id: str | int,
        kind: str,
        *,
        strength: float | None = None,
        context: str | None = None,
        description: str | None = None,
    ) -> Drawn:
        """Draw a relation, or change the one that is there between the same two of the same type."""
        relation = checked_relation(kind)
        wanted = None if strength is None else checked_share(strength, "strength")
        text = context if context is None else checked(context, "the context")
        desk = self._desk
        with desk.turn():
            one, other = desk.row(from_id), desk.row(to_id)
            if one["uuid"] == other["uuid"]:
                raise Rejected("a memory cannot be related to itself", hint="name two different ones")
            bench = desk.bench()
            found = self._edge_between(one["uuid"], relation, other["uuid"])
            edge = self._drawn(bench, found, (one["path"], relation, other["path"]), wanted)
            if description is not None:
                edge = replace(edge, description=checked(description, "the description").strip())
            elif not edge.description and text:
                edge = replace(edge, description=text.strip())
            bench.add(edge) if found is None else bench.change_edge(edge.path, lambda _: edge)
            join(bench, edge, one["path"], other["path"], text)
            notices = self._carried("relate", f"relate: {edge.from_title} {relation} {edge.to_title}", bench, edge)
        return Drawn(edge=edge, created=found is None, notices=notices)

    def _drawn(self, bench: Bench, found: Row | None, ends: tuple[str, str, str], strength: float | None) -> Edge:
        start, relation, end = ends
        one, other = bench.memory(start), bench.memory(end)
        if found is None:
            known = [side for side in one.relations if (side.target, side.type) == (other.id, relation)]
            weight = (
                strength if strength is not None else next((side.strength for side in known if side.strength), None)
            )
            return new_edge(bench, one, relation, other, DEFAULT_STRENGTH if weight is None else weight, self._desk.now)
        edge = bench.edge(found["path"])
        return replace(
            edge,
            strength=edge.strength if strength is None else strength,
            from_title=one.title,
            to_title=other.title,
            updated=self._desk.now.replace(microsecond=0),
        )

    def _edge_between(self, start: str, kind: str, end: str) -> Row | None:
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("graph.edge_of", graph=ground.graph, uuid=start)
        return next(
            (row for row in rows if (row["from_uuid"], row["type"], row["to_uuid"]) == (start, kind, end)), None
        )

    def _carried(self, operation: str, message: str, bench: Bench, edge: Edge) -> tuple[str, ...]:
        detail = {"id": edge.id, "from": edge.from_id, "to": edge.to_id, "type": edge.type}
        return self._desk.carrier.carry(Plan(operation, message, bench.changes(), detail))

    def _row(self, identity: str) -> Row:
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            return self._desk.catalog.find_edge(unit, identity)

    def get(self, identity: str) -> Edge:
        """Read an edge from its file."""
        return self._desk.bench().edge(self._row(identity)["path"])

    def search(
        self, query: str = "", *, kind: str | None = None, memory: str | int | None = None, limit: int = 20
    ) -> list[Edge]:
        """Find edges by the words of their titles and description, by type, by a memory at one end."""
        relation = None if kind is None else checked_relation(kind)
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            end = None if memory is None else self._desk.catalog.find(unit, memory)["uuid"]
            rows = self._desk.catalog.edges(unit)
        edges = [
            edge_from(row)
            for row in rows
            if (relation is None or row["type"] == relation)
            and (end is None or end in (row["from_uuid"], row["to_uuid"]))
        ]
        return ranked(edges, query)[: max(1, limit)]

    def update(
        self, identity: str, *, kind: str | None = None, strength: float | None = None, description: str | None = None
    ) -> Drawn:
        """Change an edge and both memories' sides of it."""
        desk = self._desk
        with desk.turn():
            row = self._row(identity)
            bench = desk.bench()
            old = bench.edge(row["path"])
            new = self._changed(old, kind, strength, description)
            if new.type != old.type and self._edge_between(old.from_id, new.type, old.to_id) is not None:
                raise Conflict(
                    f"the two are already joined by {new.type}", hint="change that edge, and delete this one"
                )
            bench.change_edge(old.path, lambda _: new)
            for path, target, direction in self._sides(old):
                bench.change(path, lambda memory, t=target, d=direction: resided(memory, old, new, t, d))  # type: ignore[misc]
            message = f"edge-update: {new.from_title} {new.type} {new.to_title}"
            notices = self._carried("edge_update", message, bench, new)
        return Drawn(edge=new, created=False, notices=notices)

    def _changed(self, old: Edge, kind: str | None, strength: float | None, description: str | None) -> Edge:
        if kind is None and strength is None and description is None:
            raise Rejected("nothing to change", hint="give a type, a strength or a description")
        return replace(
            old,
            type=old.type if kind is None else checked_relation(kind),
            strength=old.strength if strength is None else checked_share(strength, "strength"),
            description=old.description if description is None else checked(description, "the description").strip(),
            updated=self._desk.now.replace(microsecond=0),
        )

    def _sides(self, edge: Edge) -> list[tuple[str, str, str]]:
        """Find the files of both ends that are there: path, target, direction."""
        sides = []
        for own, other, direction in ((edge.from_id, edge.to_id, "outgoing"), (edge.to_id, edge.from_id, "incoming")):
            try:
                sides.append((self._desk.row(own)["path"], other, direction))
            except NotFound:
                continue
        return sides

    def delete(self, identity: str) -> Edge:
        """Take a relation back: its file and both sides."""
        desk = self._desk
        with desk.turn():
            row = self._row(identity)
            bench = desk.bench()
            edge = edge_from(row)
            bench.remove(edge.path)
            for path, target, direction in self._sides(edge):
                bench.change(
                    path,
                    lambda memory, t=target, d=direction: without_side(  # type: ignore[misc]
                        without(memory, (), edge_id=edge.id), t, edge.type, d
                    ),
                )
            self._carried("edge_delete", f"edge-delete: {edge.from_title} {edge.type} {edge.to_title}", bench, edge)
        return edge

    def related(self, identity: str | int, *, hops: int = 1, kinds: Sequence[str] = ()) -> list[Neighbor]:
        """Follow relations from a memory, nearest first; archived memories are passed over."""
        if not 1 <= hops <= MOST_HOPS:
            raise Rejected(f"cannot follow {hops} hops", hint=f"ask for 1 to {MOST_HOPS}")
        wanted = {checked_relation(kind) for kind in kinds}
        desk, now = self._desk, self._desk.now
        with desk.ground.store.read(desk.ground.workspace) as unit:
            start = desk.catalog.find(unit, identity)
            met, border = {start["uuid"]}, [start]
            found: list[Neighbor] = []
            for distance in range(1, hops + 1):
                steps = unit.all("graph.relation_of", ids=[row["id"] for row in border])
                fresh = {
                    step["target"]: step
                    for step in reversed(steps)
                    if step["target"] not in met and (not wanted or step["type"] in wanted)
                }
                rows = unit.all("graph.memory_by_uuid", graph=desk.ground.graph, uuids=list(fresh))
                whole = unit.all("graph.memory_of", ids=[row["id"] for row in rows])
                names = {row["id"]: row["uuid"] for row in border}
                border = [row for row in whole if row["uuid"] in fresh]
                met.update(fresh)
                briefs = desk.catalog.briefs(unit, border, now)
                found += [neighbor(brief, distance, fresh[brief.id], names) for brief in briefs]
        return [each for each in found if each.memory.status != "archived"][:MOST_NEIGHBORS]

    def repair(self) -> tuple[list[str], list[str]]:
        """Complete relations that have one side only; the answer is what was mended, and what leads nowhere."""
        desk = self._desk
        with desk.turn():
            with desk.ground.store.read(desk.ground.workspace) as unit:
                sides = unit.all("graph.relation_all", graph=desk.ground.graph)
                edges = [edge_from(row) for row in desk.catalog.edges(unit)]
                paths = {row["uuid"]: row["path"] for row in desk.catalog.rows(unit)}
            missing, dangling = incomplete(sides, edges, set(paths))
            bench = desk.bench()
            repaired = []
            for owner, side in missing:
                try:
                    bench.change(paths[owner], lambda memory, side=side: with_side(memory, side))  # type: ignore[misc]
                    repaired.append(f"{paths[owner]}: {side.direction} {side.type} {side.target}")
                except Unreadable as error:
                    dangling.append(error.message)
            changes = bench.changes()
            if changes:
                desk.carrier.carry(
                    Plan("reindex", "reindex: complete one-sided relations", changes, {"repaired": repaired})
                )
        return repaired, dangling


def resided(memory: Memory, old: Edge, new: Edge, target: str, direction: str) -> Memory:
    """Let a memory's side of an edge say what the edge says now."""
    known = next((side for side in memory.relations if is_side_of(side, old, target, direction)), None)
    side = Relation(
        target=target,
        type=new.type,
        direction=direction,
        strength=new.strength,
        context=None if known is None else known.context,
        edge_id=new.id,
    )
    if known is None:
        return with_side(memory, side)
    return replace(memory, relations=tuple(side if each is known else each for each in memory.relations))


def is_side_of(side: Relation, edge: Edge, target: str, direction: str) -> bool:
    """Say whether a memory's relation is its side of an edge."""
    return side.edge_id == edge.id or (side.target, side.type, side.direction) == (target, edge.type, direction)


def ranked(edges: Sequence[Edge], query: str) -> list[Edge]:
    """Order edges by how many words of a question they hold; none at all leaves one out."""
    terms = set(analyse(query))
    if not terms:
        return list(edges)
    scored = [
        (len(terms.intersection(analyse(f"{edge.from_title} {edge.type} {edge.to_title} {edge.description}"))), edge)
        for edge in edges
    ]
    return [edge for score, edge in sorted(scored, key=lambda each: -each[0]) if score]


def neighbor(brief: Brief, distance: int, step: Row, names: dict[int, str]) -> Neighbor:
    """Describe a memory that a relation led to."""
    return Neighbor(
        memory=brief,
        hops=distance,
        via=names[step["memory_id"]],
        type=step["type"],
        direction=step["direction"],
        strength=step["strength"],
        edge_id=step["edge_uuid"],
    )


def incomplete(
    sides: Sequence[Row], edges: Sequence[Edge], there: set[str]
) -> tuple[list[tuple[str, Relation]], list[str]]:
    """Find the sides that are missing, and the relations that lead to nothing."""
    known = {(row["uuid"], row["target"], row["type"], row["direction"]) for row in sides}
    wanted: dict[tuple[str, str, str, str], Relation] = {}
    dangling = []
    for row in sides:
        if row["target"] not in there:
            dangling.append(f"{row['uuid']} {row['type']} {row['target']}: there is no such memory")
            continue
        back = OPPOSITE[row["direction"]]
        wanted[(row["target"], row["uuid"], row["type"], back)] = Relation(
            target=row["uuid"],
            type=row["type"],
            direction=back,
            strength=row["strength"],
            context=row["context"],
            edge_id=row["edge_uuid"],
        )
    for edge in edges:
        if not {edge.from_id, edge.to_id} <= there:
            dangling.append(f"{edge.path}: an end of it is not there")
            continue
        base = Relation(
            target=edge.to_id, type=edge.type, direction="outgoing", strength=edge.strength, edge_id=edge.id
        )
        wanted.setdefault((edge.from_id, edge.to_id, edge.type, "outgoing"), base)
        other = replace(base, target=edge.from_id, direction="incoming")
        wanted.setdefault((edge.to_id, edge.from_id, edge.type, "incoming"), other)
    return [(key[0], side) for key, side in wanted.items() if key not in known], dangling
