"""Renders the results of the mind for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.mind.initiative.schedule import Scheduled
from everloom.mind.results import (
    ArrayView,
    Cancelled,
    CompactionList,
    ConversationLog,
    FoundInArchive,
    HeartbeatList,
    NoteHistory,
    NoteWritten,
)
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.runtime.output import Table, shortened


def _log(value: ConversationLog, zone: ZoneInfo) -> Iterator[Part]:
    rows = []
    for each in value.messages:
        at, arrow = f"{each.at.astimezone(zone):%Y-%m-%d %H:%M}", ">" if each.direction == "in" else "<"
        rows.append((each.id, at, f"{arrow} {each.channel}", each.state, each.text))
    yield Table(rows, ("id", "at", "channel", "state", "text"))


def _array(value: ArrayView, _zone: ZoneInfo) -> Iterator[Part]:
    if not value.turns:
        yield "nothing has been said yet"
    yield from (f"{turn['role']}: {_block(block)}" for turn in value.turns for block in turn["blocks"])


# Long texts are cut: the array is shown to see its shape, and `everloom mind log` has every word.
def _block(block: Mapping[str, Any]) -> str:
    match block["kind"]:
        case "tooluse":
            return f"[uses {block['name']}] {shortened(json.dumps(block['input'], ensure_ascii=False), 200)}"
        case "toolresult":
            return f"[result] {shortened(block['text'], 200)}"
        case "folded":
            return f"[folded] {shortened(block['text'], 500)}"
    return shortened(str(block.get("text", "")), 500)


def _compactions(value: CompactionList, zone: ZoneInfo) -> Iterator[Part]:
    rows = []
    for each in value.compactions:
        dollars = None if each.dollars is None else f"${each.dollars:.4f}"
        sizes = (each.tokens_before, each.tokens_after)
        rows.append((each.id, shown(each.at, zone), each.way, each.model, *sizes, dollars))
    yield Table(rows, ("id", "at", "way", "model", "before", "after", "dollars"))


def _heartbeats(value: HeartbeatList, zone: ZoneInfo) -> Iterator[Part]:
    rows = [(shown(each.at, zone), each.outcome, each.reason) for each in value.heartbeats]
    yield Table(rows, ("at", "outcome", "reason"))


def _history(value: NoteHistory, zone: ZoneInfo) -> Iterator[Part]:
    rows = [(each.number, shown(each.at, zone), each.author, each.body) for each in value.versions]
    yield Table(rows, ("version", "at", "by", "text"))


def _scheduled(value: Scheduled, zone: ZoneInfo) -> Iterator[Part]:
    every = f" {value.every}" if value.every else ""
    yield f"{value.id}: {shown(value.due_at, zone)}{every} on {value.channel}: {shortened(value.text)}"


RENDERERS: dict[type, Renderer] = {
    ArrayView: _array,
    Cancelled: lambda it, _: [f"{it.id} will not be sent"],
    CompactionList: _compactions,
    ConversationLog: _log,
    FoundInArchive: lambda it, _: [it.found],
    HeartbeatList: _heartbeats,
    NoteHistory: _history,
    NoteWritten: lambda it, _: [f"{it.name} is at version {it.version}"],
    Scheduled: _scheduled,
}
