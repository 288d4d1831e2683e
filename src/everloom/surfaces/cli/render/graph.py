"""Renders the results of the memory graph for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.graph import reports, results
from everloom.surfaces.cli.render.parts import Part, Renderer, render_fields
from everloom.surfaces.cli.runtime.output import Table, fields_of, shortened


def _brief(value: results.MemoryBrief, _zone: ZoneInfo) -> Iterator[Part]:
    # Not the score, which only ranks: the nearest of several wrong ones has a high one.
    score = "" if value.answers is None else f"  {value.answers:.2f}"
    tags = f"  [{', '.join(value.tags)}]" if value.tags else ""
    yield f"{value.id[:8]}{score}  {value.type}  {value.title}{tags}  ({value.status} {value.decay_score:.2f})"
    if value.preview:
        yield f"    {shortened(value.preview, 200)}"


def _recalled(value: results.Recalled, zone: ZoneInfo) -> Iterator[Part]:
    for each in value.memories:
        yield from _brief(each, zone)
    if not value.memories:
        yield "nothing found"
    for note in filter(None, (value.note, value.degraded)):
        yield f"Note: {note}"


def _memory(value: results.Memory, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.title}\n"
    yield Table(
        [
            ("id", value.id),
            ("type", value.type),
            ("tags", value.all_tags),
            *([("aliases", value.aliases)] if value.aliases else ()),
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
    yield from (f"→ [[{link}]]" for link in value.links)
    yield from (f"assumed: {each.field}: {each.reason}" for each in value.assumed)
    yield f"\n{value.content}"


def _edge(value: results.Edge, _zone: ZoneInfo) -> Iterator[Part]:
    known = value.id if value.in_text else value.id[:8]
    how = "in its text" if value.in_text else f"{value.strength:.2f}"
    yield f"{known}  {value.from_title} → {value.type} → {value.to_title}  ({how})"
    if value.description:
        yield f"    {shortened(value.description)}"


def _neighbor(value: results.RelatedMemory, _zone: ZoneInfo) -> Iterator[Part]:
    arrow = "→" if value.direction == "outgoing" else "←"
    seen = "  (in the text)" if value.in_text else ""
    memory = value.memory
    yield f"{value.hops}  {arrow} {value.type}  {memory.id[:8]}  {memory.type}  {memory.title}{seen}"


def _stored(value: results.Stored, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.id}  {value.path}"
    yield from (f"    {each.type} {each.strength:.2f}  {each.title}" for each in value.auto_edges)
    if value.auto_edge_error:
        yield f"Note: no relations were added: {value.auto_edge_error}"


def _reflected(value: results.Reflected, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.looked_at} memories, {value.clusters} groups"
    for each in value.insights:
        yield f"{'insight' if each.id else 'proposal'}: {each.title}\n    {shortened(each.content)}"
    yield from (f"tags for {name[:8]}: {', '.join(each)}" for name, each in value.tag_suggestions.items())
    yield from (f"relation? {one[:8]} – {other[:8]} ({alike:.2f})" for one, other, alike in value.edge_suggestions)


def _report(value: reports.GraphReport, zone: ZoneInfo) -> Iterator[Part]:
    known = fields_of(value)
    for name in ("assumed", "unresolved", "problems"):
        known.pop(name)
    yield from render_fields(known, zone)
    for file in value.assumed:
        yield f"{file.path}  ({file.id[:8]})"
        yield from (f"    {each.field}: {each.reason}" for each in file.assumed)
    yield from (f"{link.path}: [[{link.link}]] leads nowhere" for link in value.unresolved)
    yield from (f"{each.path}{'' if each.line is None else f':{each.line}'}: {each.reason}" for each in value.problems)


def _with_problems(value: Any, zone: ZoneInfo) -> Iterator[Part]:
    known = fields_of(value)
    troubles = known.pop("problems", ()) or known.pop("skipped", ())
    followed = known.pop("followed", None)
    yield from render_fields(known, zone)
    for each in (*troubles, *(followed.problems if followed else ())):
        yield f"{each.path}{'' if each.line is None else f':{each.line}'}: {each.reason}"


RENDERERS: dict[type, Renderer] = {
    results.MemoryBrief: _brief,
    results.DrawnEdge: lambda it, zone: ["added" if it.created else "changed", *_edge(it.edge, zone)],
    results.Edge: _edge,
    results.Imported: _with_problems,
    results.Memory: _memory,
    results.RelatedMemory: _neighbor,
    results.Page: lambda it, _: [it.text],
    results.Recalled: _recalled,
    results.Reflected: _reflected,
    results.Reindexed: _with_problems,
    reports.GraphReport: _report,
    results.GraphStats: _with_problems,
    results.Stored: _stored,
    results.TagCount: lambda it, _: [f"{it.count:>5}  {it.tag}"],
}
