"""How the answers of the memory graph are told to people. Programs get the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.surfaces.cli.runtime.output import Table, fields_of, shortened

if TYPE_CHECKING:
    from everloom.graph import results

Part = str | Table


def told(value: Any, zone: ZoneInfo) -> list[Part]:
    """Tell an answer, and then what else is worth telling."""
    if isinstance(value, tuple):
        parts = [part for each in value for part in told(each, zone)] or ["none"]
    else:
        parts = list(TELLERS.get(type(value).__name__, facts)(value, zone))
    return [*parts, *(f"Note: {notice}" for notice in getattr(value, "notices", ()))]


def facts(value: Any, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell the fields of an answer."""
    fields = value if isinstance(value, dict) else fields_of(value)
    rows = [(name.replace("_", " "), plain(each)) for name, each in fields.items() if name != "notices"]
    yield Table([row for row in rows if row[1] not in (None, "", ())])


def plain(value: Any) -> object:
    """Write a field on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return value


def brief(value: results.MemoryBrief, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell one memory of a list."""
    score = "" if value.score is None else f"  {value.score:.2f}"
    tags = f"  [{', '.join(value.tags)}]" if value.tags else ""
    yield f"{value.id[:8]}{score}  {value.type}  {value.title}{tags}  ({value.status} {value.decay_score:.2f})"
    if value.preview:
        yield f"    {shortened(value.preview, 200)}"


def recalled(value: results.Recalled, zone: ZoneInfo) -> Iterator[Part]:
    """Tell what came back."""
    for each in value.memories:
        yield from brief(each, zone)
    if not value.memories:
        yield "nothing found"
    if value.degraded:
        yield f"Note: {value.degraded}"


def memory(value: results.Memory, zone: ZoneInfo) -> Iterator[Part]:
    """Tell one memory whole."""
    yield f"{value.title}\n"
    yield Table(
        [
            ("id", value.id),
            ("type", value.type),
            ("tags", value.tags),
            ("importance", value.importance),
            ("state", f"{value.status} {value.decay_score:.2f}, read {value.access_count} times"),
            ("updated", shown(value.updated, zone)),
            ("file", value.path),
        ]
    )
    for name in ("preconditions", "steps", "postconditions"):
        yield from (f"{name[:-1]}: {each}" for each in getattr(value, name))
    for side in value.relations:
        arrow = "→" if side.direction == "outgoing" else "←"
        yield f"{arrow} {side.type} {side.target}" + (f": {side.context}" if side.context else "")
    yield f"\n{value.content}"


def edge(value: results.Edge, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell one edge."""
    yield f"{value.id[:8]}  {value.from_title} → {value.type} → {value.to_title}  ({value.strength:.2f})"
    if value.description:
        yield f"    {shortened(value.description)}"


def drawn(value: results.DrawnEdge, zone: ZoneInfo) -> Iterator[Part]:
    """Tell a relation that was drawn or changed."""
    yield "drawn" if value.created else "changed"
    yield from edge(value.edge, zone)


def neighbor(value: results.RelatedMemory, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell a memory that a relation leads to."""
    arrow = "→" if value.direction == "outgoing" else "←"
    yield f"{value.hops}  {arrow} {value.type}  {value.memory.id[:8]}  {value.memory.type}  {value.memory.title}"


def page(value: results.Page, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell a page as it is."""
    yield value.text


def tag(value: results.TagCount, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell a tag."""
    yield f"{value.count:>5}  {value.tag}"


def stored(value: results.Stored, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell where a memory is, and what it was joined to."""
    yield f"{value.id}  {value.path}"
    yield from (f"    {each.type} {each.strength:.2f}  {each.title}" for each in value.auto_edges)
    if value.auto_edge_error:
        yield f"Note: no relations were drawn: {value.auto_edge_error}"


def reflected(value: results.Reflected, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what a reflection found."""
    yield f"{value.looked_at} memories, {value.clusters} groups"
    for each in value.insights:
        yield f"{'insight' if each.id else 'proposal'}: {each.title}\n    {shortened(each.content)}"
    yield from (f"tags for {name[:8]}: {', '.join(each)}" for name, each in value.tag_suggestions.items())
    yield from (f"relation? {one[:8]} – {other[:8]} ({alike:.2f})" for one, other, alike in value.edge_suggestions)


def problem(value: results.FileProblem, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what is wrong with a file."""
    yield f"{value.path}{'' if value.line is None else f':{value.line}'}: {value.reason}"


def with_problems(value: Any, zone: ZoneInfo) -> Iterator[Part]:
    """Tell counts, then each file that cannot be used."""
    known = fields_of(value)
    troubles = known.pop("problems", ()) or known.pop("skipped", ())
    followed = known.pop("followed", None)
    yield from facts(known, zone)
    for each in (*troubles, *(followed.problems if followed else ())):
        yield from problem(each, zone)


TELLERS: dict[str, Callable[[Any, ZoneInfo], Iterator[Part]]] = {
    "MemoryBrief": brief,
    "DrawnEdge": drawn,
    "Edge": edge,
    "Imported": with_problems,
    "Memory": memory,
    "RelatedMemory": neighbor,
    "Page": page,
    "Recalled": recalled,
    "Reflected": reflected,
    "Reindexed": with_problems,
    "GraphStats": with_problems,
    "Stored": stored,
    "TagCount": tag,
}
