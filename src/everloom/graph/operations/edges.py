"""The operations on relations: create, change, follow, delete and repair them.

A relation is stored in three files: the edge with its description, and one entry (a "side") in the front matter of each
memory. All three are written together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from uuid import uuid4

from everloom.errors import Conflict, NotFound, Rejected
from everloom.graph.files.changeset import Changeset, FilePlan
from everloom.graph.files.disk import edge_stem, free_name
from everloom.graph.files.frontmatter import UnreadableFile
from everloom.graph.index.catalog import (
    OpenGraph,
    attached_to,
    describe,
    edge_from,
    find_edge,
    newest,
    relation_from,
)
from everloom.graph.index.executor import Also, execute, nothing_else, sole_writer
from everloom.graph.index.links import (
    SEEN_RELATION,
    ends_of,
    is_seen_id,
    links_around,
    links_of_graph,
    steps_around,
)
from everloom.graph.kinds import DEFAULT_STRENGTH, EDGES, RELATIONS, checked_relation, checked_share
from everloom.graph.operations.versions import check_version, saw, version_of, with_version
from everloom.graph.results import DrawnEdge, Edge, Memory, RelatedMemory, Relation
from everloom.kernel.texts import analyse, checked, indexed
from everloom.kernel.verbs import no_next_page
from everloom.store import Row, Unit

# Automatic edges connect most of a graph within a few hops; more would return nearly everything.
_MOST_HOPS = 5
_MOST_RELATED = 500
_SideKey = tuple[str, str, str]
# The two ends and, between them, the type: `keepalive--SOLVES--drops-d4e5f6.md`.
_NAME_PARTS = 3
_CHANGEABLE = ("type", "strength", "description")
_OPPOSITE = {"outgoing": "incoming", "incoming": "outgoing"}


def relate(
    graph: OpenGraph,
    ends: tuple[str, str],
    kind: str,
    *,
    strength: float | None = None,
    context: str | None = None,
    description: str | None = None,
) -> DrawnEdge:
    """Create a relation, or change the existing one of the same type between the same two memories."""
    relation = checked_relation(kind)
    wanted = None if strength is None else checked_share(strength, "strength")
    text = context if context is None else checked(context, "the context")
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, DrawnEdge)) is not None:
            return known
        one, other = (graph.row(end) for end in ends)
        if one["uuid"] == other["uuid"]:
            raise Rejected("a memory cannot be related to itself", hint="name two different memories")
        files = graph.changeset()
        found = _edge_between(graph, one["uuid"], relation, other["uuid"])
        edge = _drawn(graph, files, found, (one["path"], relation, other["path"]), wanted)
        if description is not None:
            told = checked(description, "the description").strip()
            if found is not None and told != edge.description:
                check_version(graph, edge, ["description"], None)
            edge = replace(edge, description=told)
        elif not edge.description and text:
            edge = replace(edge, description=text.strip())
        join(files, edge, (one["path"], other["path"]), text)
        answer = DrawnEdge(edge=replace(edge, version=version_of(edge)), created=found is None)
        notices = _execute(graph, "relate", files, answer)
        saw(graph, edge)
    return replace(answer, notices=notices)


def _drawn(
    graph: OpenGraph, files: Changeset, found: Row | None, ends: tuple[str, str, str], strength: float | None
) -> Edge:
    start, relation, end = ends
    one, other = files.read(start, Memory), files.read(end, Memory)
    if found is None:
        # A person may have written a relation by hand, without an edge file; its strength is kept.
        known = [side.strength for side in one.relations if (side.target, side.type) == (other.id, relation)]
        weight = strength if strength is not None else next((each for each in known if each), DEFAULT_STRENGTH)
        return new_edge(files, one, relation, other, weight, graph.op.now)
    edge = files.read(found["path"], Edge)
    weight = edge.strength if strength is None else strength
    now = graph.op.now.replace(microsecond=0)
    return replace(edge, strength=weight, from_title=one.title, to_title=other.title, updated=now)


def _edge_between(graph: OpenGraph, start: str, kind: str, end: str) -> Row | None:
    wanted = (start, kind, end)
    rows = attached_to(graph, start)[0]
    return next((row for row in rows if (row["from_uuid"], row["type"], row["to_uuid"]) == wanted), None)


def _execute(
    graph: OpenGraph, operation: str, files: Changeset, answer: DrawnEdge | Edge, also: Also = nothing_else
) -> tuple[str, ...]:
    edge = answer.edge if isinstance(answer, DrawnEdge) else answer
    message = f"{operation.replace('_', '-')}: {edge.from_title} {edge.type} {edge.to_title}"
    detail = {"id": edge.id, "from": edge.from_id, "to": edge.to_id, "type": edge.type}
    receipt = graph.once.receipt(answer)
    return execute(graph, FilePlan(operation, message, files.changes(), detail, receipt=receipt), also)


def get_edge(graph: OpenGraph, identity: str) -> Edge:
    """Read an edge from its file, or one that is only seen in a text."""
    if is_seen_id(identity):
        start, end = ends_of(identity)
        with graph.op.read() as unit:
            source = graph.find(unit, start)
            found = links_around(graph, unit, [source["id"]])
        seen = next((each for each in found if each.id == identity), None)
        if seen is None:
            raise NotFound(f"the text of {start} has no link to {end} any more", hint="`related` lists what it has")
        return seen.edge()
    return with_version(graph, graph.changeset().read(find_edge(graph, identity)["path"], Edge))


def search_edges(
    graph: OpenGraph,
    query: str,
    *,
    kind: str | None = None,
    memory: str | None = None,
    limit: int = 20,
    beyond: str | None = None,
) -> list[Edge]:
    """Find edges by words in their titles and description, by type, or by a memory at one end.

    Without words they are listed, most recently changed first, from the first or after one of the list.
    """
    if beyond is not None and query.strip():
        raise no_next_page()
    relation = None if kind is None else checked_relation(kind)
    wanted, is_seen = max(1, limit), beyond is not None and is_seen_id(beyond)
    last = None if beyond is None or is_seen else find_edge(graph, beyond)
    with graph.op.read() as unit:
        one = None if memory is None else graph.find(unit, memory)
        rows = iter(()) if is_seen else _edge_rows(graph, unit, one, last)
        edges = (edge_from(row) for row in rows if relation in (None, row["type"]))
        # Words are looked for in all of them; a list ends where it is long enough.
        listed = list(edges) if query.strip() else list(islice(edges, wanted))
    # Those in texts come after those with files, so a page that is full without them needs not look for them.
    if relation in (None, SEEN_RELATION) and (query.strip() or len(listed) < wanted):
        listed += _seen_edges(graph, one, beyond)
    chosen = _ranked(listed, query) if query.strip() else listed
    return [each if each.in_text else with_version(graph, each) for each in chosen[:wanted]]


def _edge_rows(graph: OpenGraph, unit: Unit, memory: Row | None, last: Row | None) -> Iterator[Row]:
    """Yield the edges of a graph or of one memory after one of them, those that were changed last first."""
    if memory is None:
        return newest(graph, unit, last, "edge")
    # Those of one memory are found by it, however many edges there are.
    found = unit.all("graph.edge_of", graph=graph.id, uuid=memory["uuid"])
    place = None if last is None else _place(last)
    return iter(row for row in sorted(found, key=_place, reverse=True) if place is None or _place(row) < place)


def _place(row: Row) -> tuple[int, int]:
    """Return where an edge is in a list of those that were changed last."""
    return row["updated"], row["id"]


def _seen_edges(graph: OpenGraph, memory: Row | None, beyond: str | None) -> list[Edge]:
    """List the relations that are only seen in texts: between memories that no file relates."""
    with graph.op.read() as unit:
        if memory is None:
            found, _ = links_of_graph(graph, unit)
            rows = unit.all("graph.relation_all", graph=graph.id) if found else []
            sides = [(row["uuid"], row["target"]) for row in rows]
            drawn = unit.all("graph.edge_all", graph=graph.id) if found else []
        else:
            found = links_around(graph, unit, [memory["id"]])
            rows = unit.all("graph.relation_of", ids=[memory["id"]])
            sides = [(memory["uuid"], row["target"]) for row in rows]
            drawn = unit.all("graph.edge_of", graph=graph.id, uuid=memory["uuid"])
    joined = {frozenset(ends) for ends in sides}
    joined |= {frozenset((row["from_uuid"], row["to_uuid"])) for row in drawn}
    edges = [each.edge() for each in found if each.pair not in joined]
    edges.sort(key=lambda edge: (edge.updated, edge.id), reverse=True)
    if beyond is None or not is_seen_id(beyond):
        return edges
    last = next((place for place, edge in enumerate(edges) if edge.id == beyond), len(edges))
    return edges[last + 1 :]


def _refuse_seen(identity: str) -> None:
    if is_seen_id(identity):
        hint = "change the link in the text, or relate the two memories: that relation then counts"
        raise Rejected("this relation is only seen in a text, and has no file to change", hint=hint)


@dataclass(frozen=True, slots=True)
class EdgeFields:
    """The fields of an edge that can be changed; None leaves one as it is."""

    type: str | None = None
    strength: float | None = None
    description: str | None = None


def update_edge(
    graph: OpenGraph, identity: str, fields: EdgeFields, expected: str | None = None, also: Also = nothing_else
) -> DrawnEdge:
    """Change an edge that the caller has seen, and the relation in both memories."""
    kind, strength, description = fields.type, fields.strength, fields.description
    if kind is None and strength is None and description is None:
        raise Rejected("nothing to change was given", hint="give a type, a strength or a description")
    _refuse_seen(identity)
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, DrawnEdge)) is not None:
            return known
        files = graph.changeset()
        old = files.read(find_edge(graph, identity)["path"], Edge)
        new = replace(
            old,
            type=old.type if kind is None else checked_relation(kind),
            strength=old.strength if strength is None else checked_share(strength, "strength"),
            description=old.description if description is None else checked(description, "the description").strip(),
            updated=graph.op.now.replace(microsecond=0),
        )
        check_version(graph, old, [name for name in _CHANGEABLE if getattr(new, name) != getattr(old, name)], expected)
        if new.type != old.type and _edge_between(graph, old.from_id, new.type, old.to_id) is not None:
            raise Conflict(
                f"the two memories are already related by {new.type}", hint="change that edge, and delete this one"
            )
        files.put(new)
        new = _follow_type(files, new)
        for path, side in _sides_of(graph, new):
            # The side is found by its edge's id, or by its former type if it was written by hand and has no edge id.
            memory, former = files.read(path, Memory), (side.target, old.type, side.direction)
            mine = next((each for each in memory.relations if each.edge_id == old.id or each.key == former), side)
            files.put(_with_side(memory, side, mine.key))
        answer = DrawnEdge(edge=replace(new, version=version_of(new)), created=False)
        notices = _execute(graph, "edge_update", files, answer, also)
        saw(graph, new)
    return replace(answer, notices=notices)


def _path_by_type(edge: Edge) -> str:
    """Return the path of an edge with its type in the name; a name that a person chose stays."""
    folder, _, name = edge.path.rpartition("/")
    parts = name.split("--")
    is_ours = len(parts) == _NAME_PARTS and parts[1] in RELATIONS
    return f"{folder}/{parts[0]}--{edge.type}--{parts[2]}" if is_ours else edge.path


def _follow_type(files: Changeset, edge: Edge) -> Edge:
    """Move an edge whose file is named by another type."""
    target, folder = _path_by_type(edge), edge.path.rpartition("/")[0]
    if target == edge.path:
        return edge
    if files.is_taken(target):
        stem = edge_stem(edge.from_title, edge.type, edge.to_title)
        target = f"{folder}/{free_name(stem, edge.id, lambda each: files.is_taken(f'{folder}/{each}'))}"
    return files.move(edge, target)


def delete_edge(graph: OpenGraph, identity: str) -> Edge:
    """Delete a relation: its file and both sides."""
    _refuse_seen(identity)
    with sole_writer(graph):
        if (known := graph.once.answered(graph.op, Edge)) is not None:
            return known
        files = graph.changeset()
        edge = edge_from(find_edge(graph, identity))
        files.remove(edge.path)
        for path, own in _sides_of(graph, edge):
            memory = files.read(path, Memory)
            kept = (side for side in memory.relations if side.edge_id != edge.id and side.key != own.key)
            files.put(replace(memory, relations=tuple(kept)))
        _execute(graph, "edge_delete", files, edge)
    return edge


def _sides_of(graph: OpenGraph, edge: Edge) -> list[tuple[str, Relation]]:
    """List the sides that an edge should have, each with the path of its memory; a missing memory is left out."""
    found = []
    for owner, side in _both_sides(edge):
        try:
            found.append((str(graph.row(owner)["path"]), side))
        except NotFound:
            continue
    return found


def _both_sides(edge: Edge, context: str | None = None) -> tuple[tuple[str, Relation], tuple[str, Relation]]:
    outgoing = Relation(
        target=edge.to_id,
        type=edge.type,
        direction="outgoing",
        strength=edge.strength,
        context=context,
        edge_id=edge.id,
    )
    return (edge.from_id, outgoing), (edge.to_id, replace(outgoing, target=edge.from_id, direction="incoming"))


def related(graph: OpenGraph, identity: str, *, hops: int = 1, kinds: Sequence[str] = ()) -> list[RelatedMemory]:
    """List memories that are reached by following relations, nearest first, of equal ones archived ones last."""
    if not 1 <= hops <= _MOST_HOPS:
        raise Rejected(f"cannot follow {hops} hops", hint=f"use 1 to {_MOST_HOPS}")
    wanted = {checked_relation(kind) for kind in kinds}
    with graph.op.read() as unit:
        start = graph.find(unit, identity)
        met, border = {start["uuid"]}, [start]
        found: list[RelatedMemory] = []
        for distance in range(1, hops + 1):
            steps = steps_around(graph, unit, [row["id"] for row in border])
            # Reversed, so that of two relations to the same memory, the first in its file is reported.
            fresh = {
                step.target: step
                for step in reversed(steps)
                if step.target not in met and (not wanted or step.type in wanted)
            }
            names = {row["id"]: row["uuid"] for row in border}
            rows = unit.all("graph.memory_by_uuid", graph=graph.id, uuids=list(fresh))
            border = [row for row in rows if row["gone_at"] is None]
            met.update(fresh)
            for brief in describe(graph, unit, border):
                step = fresh[brief.id]
                told = ("type", "direction", "strength", "edge_id", "in_text")
                relation = {name: getattr(step, name) for name in told}
                found.append(RelatedMemory(memory=brief, hops=distance, via=names[step.memory_id], **relation))
    return sorted(found, key=lambda each: (each.hops, each.memory.status == "archived"))[:_MOST_RELATED]


def repair(graph: OpenGraph) -> tuple[list[str], list[str]]:
    """Complete relations that have only one side, and name edges by their type; returns that and what is missing."""
    with sole_writer(graph):
        with graph.op.read() as unit:
            sides = unit.all("graph.relation_all", graph=graph.id)
            edges = [edge_from(row) for row in unit.all("graph.edge_all", graph=graph.id)]
            paths = {row["uuid"]: row["path"] for row in unit.all("graph.memory_all", graph=graph.id)}
        missing, dangling = _incomplete(sides, edges, set(paths))
        files = graph.changeset()
        repaired = []
        for owner, side in missing:
            try:
                files.put(_with_side(files.read(paths[owner], Memory), side))
                repaired.append(f"{paths[owner]}: {side.direction} {side.type} {side.target}")
            except UnreadableFile as error:
                dangling.append(error.message)
        repaired += _rename(files, edges)
        changes = files.changes()
        if changes:
            message = "reindex: complete relations"
            execute(graph, FilePlan("reindex", message, changes, {"repaired": repaired}))
    return repaired, dangling


def _rename(files: Changeset, edges: Sequence[Edge]) -> list[str]:
    """Rename the files of edges whose type was changed by hand; returns what was done."""
    renamed = []
    for edge in edges:
        if _path_by_type(edge) != edge.path:
            with suppress(UnreadableFile):
                moved = _follow_type(files, files.read(edge.path, Edge))
                renamed.append(f"{edge.path}: renamed to {moved.path} after its type")
    return renamed


def _incomplete(
    rows: Sequence[Row], edges: Sequence[Edge], there: set[str]
) -> tuple[list[tuple[str, Relation]], list[str]]:
    """Find the missing sides, and the relations whose memory does not exist."""
    known: set[tuple[str, _SideKey]] = set()
    wanted: dict[tuple[str, _SideKey], Relation] = {}
    dangling = []
    for row in rows:
        known.add((row["uuid"], (row["target"], row["type"], row["direction"])))
        if row["target"] not in there:
            dangling.append(f"{row['uuid']} {row['type']} {row['target']}: the target does not exist")
            continue
        back = replace(relation_from(row), target=row["uuid"], direction=_OPPOSITE[row["direction"]])
        wanted[row["target"], back.key] = back
    for edge in edges:
        if not {edge.from_id, edge.to_id} <= there:
            dangling.append(f"{edge.path}: a memory at one end does not exist")
            continue
        for owner, side in _both_sides(edge):
            # A side that a memory lists comes first: it may have a context, which the edge does not.
            wanted.setdefault((owner, side.key), side)
    return [(key[0], side) for key, side in wanted.items() if key not in known], dangling


def _ranked(edges: Sequence[Edge], query: str) -> list[Edge]:
    """Order edges by how many words of a query they contain; edges with none are left out."""
    terms = set(analyse(query))
    if not terms:
        return list(edges)
    scored = [
        (len(terms.intersection(indexed(f"{edge.from_title} {edge.type} {edge.to_title} {edge.description}"))), edge)
        for edge in edges
    ]
    return [edge for score, edge in sorted(scored, key=lambda each: -each[0]) if score]


def new_edge(files: Changeset, one: Memory, kind: str, other: Memory, strength: float, now: datetime) -> Edge:
    """Create an edge, with a file name that is not taken."""
    if files.real(EDGES) != EDGES:
        raise Rejected(f"{EDGES} is a link, and edges are found by that folder", hint="replace it with the folder")
    identity = str(uuid4())
    stem = edge_stem(one.title, kind, other.title)
    name = free_name(stem, identity, lambda each: files.is_taken(f"{EDGES}/{each}"))
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


def join(files: Changeset, edge: Edge, paths: tuple[str, str], context: str | None = None) -> None:
    """Add an edge and both of its sides to a changeset."""
    files.put(edge)
    for path, (_, side) in zip(paths, _both_sides(edge, context), strict=True):
        files.put(_with_side(files.read(path, Memory), side))


def redirect(memory: Memory, old: str, new: str) -> Memory:
    """Redirect relations from one memory to another; if the new one exists already, it is kept unchanged."""
    native = {side.key for side in memory.relations if side.target != old}
    kept: list[Relation] = []
    for side in memory.relations:
        moved = replace(side, target=new) if side.target == old else side
        is_double = side.target == old and moved.key in native
        if moved.target != memory.id and not is_double:
            kept.append(moved)
    return replace(memory, relations=tuple(kept))


def _with_side(memory: Memory, side: Relation, key: _SideKey | None = None) -> Memory:
    """Add a side to a memory, or replace the one with the same key, or with the key given."""
    known = next((each for each in memory.relations if each.key == (key or side.key)), None)
    if known is None:
        return replace(memory, relations=(*memory.relations, side))
    # The context is the person's reason for the relation, so a change that gives none keeps the old one.
    new = replace(side, context=known.context) if side.context is None else side
    return replace(memory, relations=tuple(new if each is known else each for each in memory.relations))
