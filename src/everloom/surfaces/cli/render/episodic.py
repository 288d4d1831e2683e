"""Renders the results of episodic memory for people."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from math import hypot
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.episodic.changes import ChangedNodes
from everloom.episodic.entries import MemoryEntry, MemoryUpdated, NotesUpdated
from everloom.episodic.patrol import Patrolled, PatrolReport
from everloom.episodic.recall import ClusterMemory, ContextBlocks, FoundScenes, Recall, SaidMessage
from everloom.episodic.scenes import ClusterMap, MergedNodes, Node, SceneChange, SceneHistory, SceneList
from everloom.episodic.scenes.overview import PlacedCluster
from everloom.episodic.story import Story
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.render.plot import can_draw
from everloom.surfaces.cli.render.story import story_text
from everloom.surfaces.cli.runtime.output import Table


def _notes(value: NotesUpdated, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.message
    yield from (f"could not be read, stored as note {each.id}: {each.reason}" for each in value.rejected)
    yield from value.remarks
    job = f" as job {value.job}" if value.job else ""
    state = f"; patrol: {value.patrol.replace('_', ' ')}{job}" if value.patrol else ""
    yield f"{value.pending_scenes} scenes are waiting for a patrol{state}"


def _memory(value: MemoryUpdated, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.message
    if value.entries:
        yield Table([(each.key, each.title, each.content) for each in value.entries], ("key", "title", "content"))
    for name, entry in (("before", value.before), ("after", value.after)):
        if entry is not None:
            yield f"{name}: {entry.content}"


def _node(value: Node, _zone: ZoneInfo) -> Iterator[Part]:
    facts = [
        ("id", str(value.id)),
        ("status", f"{value.status}{f' ({value.death})' if value.death else ''}{', pinned' if value.pinned else ''}"),
        ("importance", f"{value.importance:.2f}, of which {value.strength:.2f} is left"),
        ("patrols", f"{value.session_count}, recalled {value.reactivation_count} times"),
        ("cluster", f"{value.cluster_id}{' (placed by hand)' if value.placed else ''}"),
        ("themes", value.themes),
        ("actors", value.scene.actors),
        ("emotion", "" if value.emotion is None else json.dumps(value.emotion.as_dict())),
        ("absorbed into", "" if value.absorbed_into is None else str(value.absorbed_into)),
        ("split into", ", ".join(map(str, value.split_into))),
        ("part of", "" if value.split_from is None else str(value.split_from)),
        ("version", value.version),
    ]
    yield value.text
    yield Table([(name, each) for name, each in facts if each not in ("", ())])


def _scenes(value: SceneList, zone: ZoneInfo) -> Iterator[Part]:
    if value.cluster is not None:
        yield f"{value.cluster.name}: {value.cluster.digest}" if value.cluster.digest else value.cluster.name
    if not value.nodes:
        yield "no scenes"
        return
    rows = []
    for each in value.nodes:
        day = str(each.scene.day) if each.scene.day else shown(each.created_at, zone).split()[0]
        state = ", ".join([each.status, *(["pinned"] if each.pinned else [])])
        rows.append(
            (
                str(each.id),
                day,
                state,
                f"{each.strength:.2f}",
                str(each.cluster_id),
                each.text.removeprefix(f"{day} — "),
            )
        )
    yield Table(rows, ("id", "day", "state", "strength", "cluster", "scene"))
    if value.next_before is not None:
        yield f"older ones: --before {value.next_before}"


def _map(value: ClusterMap, _zone: ZoneInfo) -> Iterator[Part]:
    if not value.clusters:
        yield "there are no clusters yet: the first patrol creates them"
        return
    rows = []
    for each in value.clusters:
        it = each.cluster
        where = None if each.x is None or each.y is None else f"{each.x:+.2f} {each.y:+.2f}"
        rows.append((str(it.id), it.name, it.nodes, it.active, it.dying, where, _nearest(each, value), it.digest))
    yield Table(rows, ("id", "cluster", "scenes", "active", "dying", "place", "nearest", "what it is about"))
    if not value.is_whole:
        yield "there are more: --limit"


def _nearest(placed: PlacedCluster, whole: ClusterMap) -> str | None:
    """Name the cluster that is most alike."""
    others = [(_apart(placed, each), each.cluster) for each in whole.clusters if each is not placed]
    known = [(apart, cluster) for apart, cluster in others if apart is not None]
    return min(known, key=lambda each: each[0])[1].name if known else None


def _apart(one: PlacedCluster, other: PlacedCluster) -> float | None:
    if one.x is None or one.y is None or other.x is None or other.y is None:
        return None
    return hypot(one.x - other.x, one.y - other.y)


def _changed(value: ChangedNodes, _zone: ZoneInfo) -> Iterator[Part]:
    yield from value.remarks
    for each in value.changes:
        yield from _fields(each)
    if value.changes:
        first = value.changes[0]
        yield f"change {first.id}; `everloom episodic undo-change {first.scene_id} {first.id}` takes it back"


def _fields(change: SceneChange) -> Iterator[str]:
    made = {"split": "a part", "merge": "merged from the others", "correct": "tells it anew"}
    if change.is_new:
        yield f"scene {change.scene_id} is new: {made.get(change.act, change.act)}"
    for each in change.fields:
        yield f"scene {change.scene_id}: {each.field}: {_value(each.before)} → {_value(each.after)}"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | str) else str(value).lower()


def _history(value: SceneHistory, zone: ZoneInfo) -> Iterator[Part]:
    if not value.changes:
        yield f"scene {value.node_id} was not changed since it was taken in"
    for each in value.changes:
        who = each.author if each.session is None else f"{each.author} in session {each.session}"
        undone = "" if each.undone_by is None else f", undone by change {each.undone_by}"
        lost = ", with words that were forgotten since" if each.is_lost else ""
        yield f"change {each.id} ({each.act}) {shown(each.at, zone)} by {who}{undone}{lost}"
        yield from (f"  {line}" for line in _fields(each))
        if each.reason:
            yield f"  because: {each.reason}"
    if value.more:
        yield f"older ones: --before {value.changes[-1].id}"


def _report(value: PatrolReport, zone: ZoneInfo) -> Iterator[Part]:
    ended = value.state if value.ended_at is None else f"ended {shown(value.ended_at, zone)}"
    if value.error is not None and value.tries_again_at is not None:
        ended = f"failed ({value.error}), tries again after {shown(value.tries_again_at, zone)}"
    yield f"patrol {value.number} ({value.reason}) began {shown(value.began_at, zone)}, {ended}"
    rows = []
    for each in value.steps:
        did = ", ".join(f"{name} {count}" for name, count in each.counts.items())
        rows.append((each.step, f"{each.milliseconds} ms", did, each.skipped))
    yield Table(rows, ("step", "time", "did", "skipped"))
    yield from (f"{each.step}: {remark}" for each in value.steps for remark in each.remarks)


def _story(value: Story, _zone: ZoneInfo) -> list[str]:
    columns = shutil.get_terminal_size((80, 24)).columns
    return story_text(value, columns, fine=can_draw(sys.stdout.encoding))


def _patrolled(value: Patrolled, zone: ZoneInfo) -> Iterator[Part]:
    if value.status == "started":
        yield f"a patrol runs as job {value.job}; `everloom jobs show {value.job}` tells how far it is"
    if value.report is not None:
        yield from _report(value.report, zone)


RENDERERS: dict[type, Renderer] = {
    ChangedNodes: _changed,
    ClusterMap: _map,
    ClusterMemory: lambda it, _: [it.text or "there are no clusters yet: the first patrol creates them"],
    ContextBlocks: lambda it, _: [it.system_prompt, "", it.snapshot, "", "# Recent scenes", it.recent_nodes],
    FoundScenes: lambda it, _: [it.text],
    MemoryEntry: lambda it, _: [f"{it.key}: {it.content}"],
    MemoryUpdated: _memory,
    MergedNodes: lambda it, _: [f"scene {it.node.id} replaces {', '.join(map(str, it.absorbed_ids))}"],
    Node: _node,
    NotesUpdated: _notes,
    PatrolReport: _report,
    Patrolled: _patrolled,
    Recall: lambda it, _: [it.text or f"nothing: {it.reason}"],
    SceneHistory: _history,
    SceneList: _scenes,
    Story: _story,
    SaidMessage: lambda it, _: [f"[{it.id}]{'' if it.fits else ' (does not fit well)'} {it.text}"],
}
