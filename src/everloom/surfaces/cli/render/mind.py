"""How the answers of the mind look to a person."""

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
from everloom.surfaces.cli.render.parts import Part, Renderer, render_with
from everloom.surfaces.cli.runtime.output import Table, shortened


def render(value: Any, zone: ZoneInfo) -> list[Part]:
    """Write an answer of the mind."""
    return render_with(_RENDERERS, value, zone)


def _found(value: FoundInArchive, _zone: ZoneInfo) -> Iterator[Part]:
    yield value.found


def _log(value: ConversationLog, zone: ZoneInfo) -> Iterator[Part]:
    rows = [
        (
            each.id,
            f"{each.at.astimezone(zone):%Y-%m-%d %H:%M}",
            f"{'>' if each.direction == 'in' else '<'} {each.channel}",
            each.state,
            each.text,
        )
        for each in value.messages
    ]
    yield Table(rows, ("id", "at", "channel", "state", "text"))


def _array(value: ArrayView, _zone: ZoneInfo) -> Iterator[Part]:
    if not value.turns:
        yield "nothing has been said yet"
    yield from (f"{turn['role']}: {_block(block)}" for turn in value.turns for block in turn["blocks"])


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
    rows = [
        (
            each.id,
            shown(each.at, zone),
            each.way,
            each.model,
            each.tokens_before,
            each.tokens_after,
            None if each.dollars is None else f"${each.dollars:.4f}",
        )
        for each in value.compactions
    ]
    yield Table(rows, ("id", "at", "way", "model", "before", "after", "dollars"))


def _heartbeats(value: HeartbeatList, zone: ZoneInfo) -> Iterator[Part]:
    rows = [(shown(each.at, zone), each.outcome, each.reason) for each in value.heartbeats]
    yield Table(rows, ("at", "outcome", "reason"))


def _history(value: NoteHistory, zone: ZoneInfo) -> Iterator[Part]:
    rows = [(each.number, shown(each.at, zone), each.author, each.body) for each in value.versions]
    yield Table(rows, ("version", "at", "by", "text"))


def _written(value: NoteWritten, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.name} is at version {value.version}"


def _cancelled(value: Cancelled, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.id} will not be sent"


def _scheduled(value: Scheduled, zone: ZoneInfo) -> Iterator[Part]:
    every = f" {value.every}" if value.every else ""
    yield f"{value.id}: {shown(value.due_at, zone)}{every} on {value.channel}: {shortened(value.text)}"


_RENDERERS: dict[type, Renderer] = {
    ArrayView: _array,
    Cancelled: _cancelled,
    CompactionList: _compactions,
    ConversationLog: _log,
    FoundInArchive: _found,
    HeartbeatList: _heartbeats,
    NoteHistory: _history,
    NoteWritten: _written,
    Scheduled: _scheduled,
}
