"""How the answers of episodic memory look to a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.episodic.entries import MemoryEntry, MemoryUpdated, NotesUpdated
from everloom.episodic.patrol import Patrolled, PatrolReport
from everloom.episodic.recall import ClusterMemory, ContextBlocks, FoundScenes, Recall, SaidMessage
from everloom.episodic.scenes import MergedNodes, Node
from everloom.surfaces.cli.render.parts import Part, Renderer, render_with
from everloom.surfaces.cli.runtime.output import Table


def render(value: Any, zone: ZoneInfo) -> list[Part]:
    """Write an answer of episodic memory."""
    return render_with(_RENDERERS, value, zone)


def _context(value: ContextBlocks, _zone: ZoneInfo) -> Iterator[Part]:
    yield from (value.system_prompt, "", value.snapshot, "", "# Recent scenes", value.recent_nodes)


def _recall(value: Recall, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.text or f"nothing: {value.reason}"


def _clusters(value: ClusterMemory, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.text or "there are no clusters yet: the first patrol creates them"


def _found(value: FoundScenes, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.text


def _said(value: SaidMessage, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"[{value.id}] {value.text}"


def _notes(value: NotesUpdated, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.message
    yield from (f"could not be read, kept as note {each.id}: {each.reason}" for each in value.rejected)
    yield from value.remarks
    state = f"; patrol: {value.patrol}" if value.patrol else ""
    yield f"{value.pending_scenes} scenes are waiting for a patrol{state}"


def _memory(value: MemoryUpdated, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.message
    if value.entries:
        yield Table([(each.key, each.title, each.content) for each in value.entries], ("key", "title", "content"))
    for name, entry in (("before", value.before), ("after", value.after)):
        if entry is not None:
            yield f"{name}: {entry.content}"


def _entry(value: MemoryEntry, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.key}: {value.content}"


def _merged(value: MergedNodes, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"scene {value.node.id} stands for {', '.join(map(str, value.absorbed_ids))}"


def _node(value: Node, _zone: ZoneInfo) -> Iterator[Part]:
    facts = [
        ("id", str(value.id)),
        ("status", f"{value.status}{f' ({value.death})' if value.death else ''}{', pinned' if value.pinned else ''}"),
        ("importance", f"{value.importance:.2f}, of which {value.strength:.2f} is left"),
        ("patrols", f"{value.session_count}, recalled {value.reactivation_count} times"),
        ("cluster", str(value.cluster_id)),
        ("themes", value.themes),
        ("actors", value.scene.actors),
        ("emotion", "" if value.emotion is None else json.dumps(value.emotion.as_dict())),
        ("absorbed into", "" if value.absorbed_into is None else str(value.absorbed_into)),
    ]
    yield value.text
    yield Table([(name, each) for name, each in facts if each not in ("", ())])


def _patrolled(value: Patrolled, zone: ZoneInfo) -> Iterator[Part]:
    if value.report:
        yield from _report(value.report, zone)


def _report(value: PatrolReport, zone: ZoneInfo) -> Iterator[Part]:
    ended = "not finished yet" if value.ended_at is None else f"ended {shown(value.ended_at, zone)}"
    yield f"patrol {value.number} ({value.reason}) began {shown(value.began_at, zone)}, {ended}"
    rows = [
        (
            each.step,
            f"{each.milliseconds} ms",
            ", ".join(f"{name} {count}" for name, count in each.counts.items()),
            each.skipped,
        )
        for each in value.steps
    ]
    yield Table(rows, ("step", "time", "did", "skipped"))
    yield from (f"{each.step}: {remark}" for each in value.steps for remark in each.remarks)


_RENDERERS: dict[type, Renderer] = {
    ClusterMemory: _clusters,
    ContextBlocks: _context,
    MemoryEntry: _entry,
    FoundScenes: _found,
    MemoryUpdated: _memory,
    MergedNodes: _merged,
    Node: _node,
    NotesUpdated: _notes,
    PatrolReport: _report,
    Patrolled: _patrolled,
    Recall: _recall,
    SaidMessage: _said,
}
