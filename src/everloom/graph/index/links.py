"""Finds where the links in texts lead, when somebody asks: by path, file name, title or alias, the nearest first.

Such a link is a relation that is only seen in the text: it is never written, it goes when the text changes, and one
that exists as a file wins over it. Refuses to know how a link is written in a text.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from everloom.clock import from_micros
from everloom.graph.files.mentions import link_target
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.kinds import DEFAULT_STRENGTH
from everloom.graph.results import Edge
from everloom.store import Row, Unit, value_from

SEEN_RELATION = "RELATED_TO"
_MARK = "text:"


@dataclass(frozen=True, slots=True)
class SeenLink:
    """A link in the text of one memory that leads to another."""

    source: Row
    target: Row
    link: str

    @property
    def id(self) -> str:
        """Return an id by which the relation can be read, as long as the text says so."""
        return f"{_MARK}{self.source['uuid']}>{self.target['uuid']}"

    @property
    def pair(self) -> frozenset[str]:
        """Return the two memories."""
        return frozenset((self.source["uuid"], self.target["uuid"]))

    def edge(self) -> Edge:
        """Describe it as an edge whose text is the link itself."""
        start, end = self.source, self.target
        return Edge(
            id=self.id,
            type=SEEN_RELATION,
            from_id=start["uuid"],
            from_title=start["title"],
            to_id=end["uuid"],
            to_title=end["title"],
            strength=DEFAULT_STRENGTH,
            created=from_micros(start["created"]),
            updated=from_micros(start["updated"]),
            description=f"[[{self.link}]]",
            path=start["path"],
            in_text=True,
        )


def is_seen_id(identity: str) -> bool:
    """Check whether an id is that of a relation which is only seen in a text."""
    return identity.startswith(_MARK)


def ends_of(identity: str) -> tuple[str, str]:
    """Return the two memories in the id of a relation that is seen in a text."""
    start, _, end = identity.removeprefix(_MARK).partition(">")
    return start, end


def links_around(graph: OpenGraph, unit: Unit, ids: Collection[int]) -> list[SeenLink]:
    """Find the links from and to some memories."""
    own = list(ids)
    names = {row["key"] for row in unit.all("graph.name_of", ids=own)}
    going = unit.all("graph.link_of", ids=own)
    coming = unit.all("graph.link_by_key", graph=graph.id, keys=sorted(names))
    keys = {row["key"] for row in going} | names
    known = unit.all("graph.name_by_key", graph=graph.id, keys=sorted(keys))
    there = set(own)
    found, _ = _resolved([*going, *(row for row in coming if row["id"] not in there)], known)
    return [each for each in found if each.source["id"] in there or each.target["id"] in there]


def links_of_graph(graph: OpenGraph, unit: Unit) -> tuple[list[SeenLink], list[Row]]:
    """Find all links of a graph, and those that lead nowhere."""
    links = unit.all("graph.link_all", graph=graph.id)
    return _resolved(links, unit.all("graph.name_all", graph=graph.id) if links else [])


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationStep:
    """A relation as one of its two memories has it: in its file, or only seen in a text."""

    memory_id: int
    target: str
    type: str
    direction: str
    strength: float | None
    context: str | None
    edge_id: str | None
    in_text: bool = False


def steps_around(graph: OpenGraph, unit: Unit, ids: Collection[int]) -> list[RelationStep]:
    """List the relations of memories: first those in their files, then those that are only seen in texts."""
    rows = unit.all("graph.relation_of", ids=list(ids))
    steps = [value_from(RelationStep, row, edge_id=row["edge_uuid"], in_text=False) for row in rows]
    there = set(ids)
    for each in links_around(graph, unit, ids):
        ends = ((each.source, each.target, "outgoing"), (each.target, each.source, "incoming"))
        steps += [
            RelationStep(
                memory_id=own["id"],
                target=other["uuid"],
                type=SEEN_RELATION,
                direction=direction,
                strength=DEFAULT_STRENGTH,
                context=f"[[{each.link}]]",
                edge_id=each.id,
                in_text=True,
            )
            for own, other, direction in ends
            if own["id"] in there
        ]
    return steps


def _resolved(links: Iterable[Row], names: Iterable[Row]) -> tuple[list[SeenLink], list[Row]]:
    """Find where links lead; of several links between two memories the first counts, and one to itself does not."""
    by_key: dict[str, list[Row]] = {}
    for name in names:
        by_key.setdefault(name["key"], []).append(name)
    found: dict[tuple[int, int], SeenLink] = {}
    lost = []
    for link in links:
        target = nearest(link["path"], link_target(link["link"]), by_key.get(link["key"], ()))
        if target is None:
            lost.append(link)
        elif target["id"] != link["id"]:
            found.setdefault((link["id"], target["id"]), SeenLink(link, target, link["link"]))
    return list(found.values()), lost


def nearest(source: str, target: str, candidates: Sequence[Row]) -> Row | None:
    """Choose among memories that have the name in a link: file before title before alias, then the nearest folder."""
    folder = source.rpartition("/")[0]
    if len(candidates) == 1 and "/" not in target:
        return candidates[0]
    inside = f"{folder}/" if folder else ""

    def distance(each: Row) -> tuple[Any, ...]:
        path = each["path"]
        return each["rank"], not path.startswith(inside), path.count("/"), len(path), path

    return min(_fitting(folder, target, candidates), key=distance, default=None)


def _fitting(folder: str, target: str, candidates: Sequence[Row]) -> Iterator[Row]:
    """Yield those whose path ends as the link says."""
    if "/" not in target:
        yield from candidates
        return
    is_relative = target.startswith(("./", "../"))
    wanted = _folded(posixpath.normpath(posixpath.join(folder, target)) if is_relative else target.strip("/"))
    for each in candidates:
        path = _folded(each["path"].removesuffix(".md"))
        is_there = path == wanted or (not is_relative and path.endswith(f"/{wanted}"))
        # A title may contain a slash.
        if is_there or (each["rank"] == 1 and _folded(each["title"]) == wanted):
            yield each


def _folded(path: str) -> str:
    return " ".join(unicodedata.normalize("NFC", path).casefold().split())
