"""Renders the results of the mind for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.mind.conversation.reaching import NOBODY, tell_route
from everloom.mind.hands.actions import Action
from everloom.mind.hands.results import ActionList, HandList, HandTool
from everloom.mind.initiative.schedule import Scheduled
from everloom.mind.knowing import FactList
from everloom.mind.results import (
    ArrayView,
    Cancelled,
    CompactionList,
    ConversationLog,
    FoundInArchive,
    HeartbeatList,
    NoteHistory,
    NoteWritten,
    PrunedFacts,
)
from everloom.mind.senses.wording import shown_in_log
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.runtime.output import Table, shortened

if TYPE_CHECKING:
    from everloom.mind import StreamMessage


def _log(value: ConversationLog, zone: ZoneInfo) -> Iterator[Part]:
    rows = []
    for each in value.messages:
        at, arrow = f"{each.at.astimezone(zone):%Y-%m-%d %H:%M}", ">" if each.direction == "in" else "<"
        said = "\n".join(filter(None, [each.text, *(f"[{shown_in_log(one)}]" for one in each.attachments)]))
        rows.append((each.id, at, f"{arrow} {_where(each)}", _state(each), said))
    yield Table(rows, ("id", "at", "channel", "state", "text"))


def _where(message: StreamMessage) -> str:
    """Say on which channel a message came or went, and who says it, if that is known."""
    if message.kind == "event":
        return f"{message.channel}, event{f' from {message.sender}' if message.sender else ''}"
    return f"{message.channel}, {message.sender}" if message.sender else message.channel


def _state(message: StreamMessage) -> str:
    """Say what became of a message and, of what the agent said first, where it went and why."""
    if message.route is None:
        return message.state
    told = tell_route(message.route)
    is_waiting = message.state == "unsent" and told.endswith(NOBODY)
    return told if is_waiting else f"{message.state} ({told.replace(NOBODY, 'waited for somebody')})"


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
        case "media":
            return f"[shows {block['name']}] {block['media_type']}"
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
    yield f"{value.id}: {shown(value.due_at, zone)}{every}: {shortened(value.text)}"


def _action(value: Action, _zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.id}: {value.name} is {value.state}"
    if value.result:
        yield value.result


def _actions(value: ActionList, zone: ZoneInfo) -> Iterator[Part]:
    rows = [(each.id, shown(each.asked_at, zone), each.state, each.name) for each in value.actions]
    yield Table(rows, ("id", "asked", "state", "what"))
    yield from (each.to_decide for each in value.actions if each.to_decide)


def _hands(value: HandList, zone: ZoneInfo) -> Iterator[Part]:
    if not value.servers:
        yield "mind.mcp names no server"
    for server in value.servers:
        last = f"told its tools {shown(server.listed_at, zone)}" if server.listed_at else "has not told its tools yet"
        yield f"{server.name}: {server.reached_by}: {last}"
        if server.last_error:
            yield f"  last error: {server.last_error}"
        if server.tools:
            rows = [(each.name, _how(each), each.description) for each in server.tools]
            yield Table(rows, ("tool", "state", "description"))


def _how(tool: HandTool) -> str:
    return tool.state if tool.state != "offered" else "asks first" if tool.asks else "runs unasked"


def _facts(value: FactList, zone: ZoneInfo) -> Iterator[Part]:
    if value.pruned:
        gone = [(each.id, shown(each.at, zone) if each.at else "", each.text, each.why) for each in value.pruned]
        yield Table(gone, ("id", "set aside", "fact", "why"))
    elif value.facts:
        rows = [(each.id, shown(each.learnt_at, zone), each.text) for each in value.facts]
        yield Table(rows, ("id", "learnt", "fact"))
    else:
        yield "no facts"
    if value.note:
        yield f"Note: {value.note}"


def _pruned(value: PrunedFacts, _zone: ZoneInfo) -> Iterator[Part]:
    if not value.facts:
        yield "no fact has to be set aside" if not value.waiting else "nothing more is set aside tonight"
    else:
        yield Table([(each.id, shortened(each.text), each.why) for each in value.facts], ("id", "fact", "why"))
        count = f"{len(value.facts)} fact{'s' if len(value.facts) > 1 else ''}"
        yield f"{count} set aside; `everloom facts restore ID` undoes one" if value.is_done else f"{count} would be"
    if value.waiting:
        yield f"{value.waiting} more wait for the next nights"


RENDERERS: dict[type, Renderer] = {
    Action: _action,
    ActionList: _actions,
    ArrayView: _array,
    Cancelled: lambda it, _: [f"{it.id} will not be sent"],
    CompactionList: _compactions,
    ConversationLog: _log,
    FactList: _facts,
    FoundInArchive: lambda it, _: [it.found],
    HandList: _hands,
    HandTool: lambda it, _: [f"{it.name}: {_how(it)}"],
    HeartbeatList: _heartbeats,
    NoteHistory: _history,
    PrunedFacts: _pruned,
    NoteWritten: lambda it, _: [f"{it.name} is at version {it.version}"],
    Scheduled: _scheduled,
}
