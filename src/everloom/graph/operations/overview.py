"""A part of a graph to look at: the strongest of its newest memories, or those around one, and their relations.

Reads a bounded number of rows however large the graph is, and no file. Refuses to change anything, and to count as an
access. Also reads the history of a memory's file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from everloom.errors import NotFound, Rejected
from everloom.graph.files.fields import checked_tags
from everloom.graph.index.catalog import OpenGraph, brief_of, newest
from everloom.graph.index.decay import strength_of
from everloom.graph.index.links import RelationStep, steps_around
from everloom.graph.index.recall import has_tags, known_types
from everloom.graph.kinds import folded_type
from everloom.graph.results import CommittedFile, Drawing, DrawnRelation, FileVersion
from everloom.kernel.lifecycle import vigour
from everloom.store import Row, Unit

# So many of the newest memories are looked at, of which the strongest are drawn.
_LOOKED_AT = 1_500
_MOST_DRAWN = 200
_MOST_HOPS = 4
_MOST_TAGS = 60
# The newest commits of a repository among which those of a file are sought.
_COMMITS = 2_000


@dataclass(frozen=True, slots=True)
class DrawingRequest:
    """What is to be drawn: around a memory, or of some types, tags and states."""

    around: str | None = None
    hops: int = 1
    types: Sequence[str] | None = None
    tags: Sequence[str] | str | None = None
    statuses: Sequence[str] | None = None
    limit: int = 100


def draw(graph: OpenGraph, asked: DrawingRequest) -> Drawing:
    """Choose memories, and read the relations between them."""
    if not 1 <= asked.limit <= _MOST_DRAWN or not 1 <= asked.hops <= _MOST_HOPS:
        raise Rejected("that cannot be drawn", hint=f"ask for 1 to {_MOST_DRAWN} memories and 1 to {_MOST_HOPS} hops")
    with graph.op.read() as unit:
        if asked.around is None:
            rows = list(islice(newest(graph, unit), _LOOKED_AT))
            is_whole = len(rows) < _LOOKED_AT
        else:
            rows, is_whole = _around(graph, unit, asked)
        chosen = _chosen(graph, rows, asked)
        relations = steps_around(graph, unit, [row["id"] for row in chosen])
    now = graph.op.now
    tags = Counter(tag for row in rows for tag in json.loads(row["tags"]))
    return Drawing(
        memories=tuple(brief_of(row, "", now) for row in chosen),
        relations=tuple(_between(chosen, relations)),
        looked_at=len(rows),
        is_whole=is_whole and len(chosen) == len(rows),
        types=dict(Counter(row["type"] for row in rows).most_common()),
        tags=dict(tags.most_common(_MOST_TAGS)),
        statuses=dict(Counter(vigour(strength_of(row, now)).value for row in rows).most_common()),
    )


def _around(graph: OpenGraph, unit: Unit, asked: DrawingRequest) -> tuple[list[Row], bool]:
    """Follow relations from a memory, nearest first, until there are enough."""
    start = graph.find(unit, asked.around or "")
    met, border, is_whole = {start["uuid"]: start}, [start], True
    for _ in range(asked.hops):
        steps = steps_around(graph, unit, [row["id"] for row in border])
        fresh = list(dict.fromkeys(step.target for step in steps if step.target not in met))
        room = asked.limit - len(met)
        is_whole = is_whole and len(fresh) <= room
        found = unit.all("graph.memory_by_uuid", graph=graph.id, uuids=fresh[: max(0, room)])
        border = [row for row in found if row["gone_at"] is None]
        met |= {row["uuid"]: row for row in border}
    return list(met.values()), is_whole


def _chosen(graph: OpenGraph, rows: Sequence[Row], asked: DrawingRequest) -> list[Row]:
    """Choose what fits the conditions, the strongest first; around a memory, that one is always first."""
    now = graph.op.now
    types = known_types(graph, asked.types)
    tags = {tag.casefold() for tag in checked_tags(asked.tags)}
    statuses = set(asked.statuses or ())

    def passes(row: Row) -> bool:
        return (
            (not types or folded_type(row["type"]) in types)
            and has_tags(row, tags)
            and (not statuses or vigour(strength_of(row, now)).value in statuses)
        )

    first, others = (rows[:1], rows[1:]) if asked.around is not None else ([], rows)
    ranked = sorted(filter(passes, others), key=lambda row: -strength_of(row, now))
    return [*first, *ranked][: asked.limit]


def _between(chosen: Sequence[Row], relations: Sequence[RelationStep]) -> list[DrawnRelation]:
    """List the relations whose two memories are both drawn, each once and in its own direction."""
    known = {row["id"]: row["uuid"] for row in chosen}
    there = set(known.values())
    found: dict[tuple[str, str, str], DrawnRelation] = {}
    joined: set[frozenset[str]] = set()
    # Those in files come first: what a file says wins over what is only seen in a text.
    for step in relations:
        ends = (known[step.memory_id], step.target)
        if step.target not in there or (step.in_text and frozenset(ends) in joined):
            continue
        if not step.in_text:
            joined.add(frozenset(ends))
        start, end = ends if step.direction == "outgoing" else ends[::-1]
        told = {name: getattr(step, name) for name in ("type", "strength", "context", "edge_id", "in_text")}
        found.setdefault((start, step.type, end), DrawnRelation(from_id=start, to_id=end, **told))
    return list(found.values())


def history(graph: OpenGraph, identity: str, limit: int) -> tuple[FileVersion, ...]:
    """List the commits that changed a memory's file, newest first; nothing if the directory is no repository."""
    return graph.git.history(graph.row(identity)["path"], limit, within=_COMMITS)


def version(graph: OpenGraph, identity: str, commit: str, limit: int) -> CommittedFile:
    """Read a memory's file as it was in a commit that changed it."""
    found = next((each for each in history(graph, identity, limit) if each.commit.startswith(commit)), None)
    text = None if found is None or len(commit) < 7 else graph.git.text_at(found.commit, found.path)
    if found is None or text is None:
        raise NotFound(f"this memory has no version {commit[:60]!r}", hint="history lists them")
    return CommittedFile(version=found, text=text)
