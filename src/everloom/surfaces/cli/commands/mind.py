"""`everloom mind`: the conversation as it is kept, for whoever wants to look or to mend."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from everloom.clock import shown
from everloom.surfaces.cli.runtime.command import Group, ItemId
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, shortened

if TYPE_CHECKING:
    from everloom.models.talk import Block

limit_option = click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="At most so many."
)


@click.group(cls=Group)
def mind() -> None:
    """Look at the conversation: log, array, compactions, heartbeats, what is scheduled."""


@mind.command(name="log")
@click.option("--search", "query", metavar="WORDS", help="Only messages that hold these words, however old.")
@click.option("--before", type=ItemId, metavar="ID", help="Older than this message.")
@limit_option
@click.pass_obj
def show_log(invocation: Invocation, query: str | None, before: int | None, limit: int) -> Answer:
    """Show the log of record, newest last: every message on every channel, and what became of it."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        found = place.mind.conversation.log(limit=limit, before=before, query=query)[::-1]
    rows = [
        (each.id, shown_short(each.at, place.info.zone), arrow(each.direction) + each.channel, each.state, each.text)
        for each in found
    ]
    return Answer({"messages": found}, [Table(rows, ("id", "at", "channel", "state", "text"))])


def shown_short(at: datetime, zone: ZoneInfo) -> str:
    """Write an instant in few columns."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def arrow(direction: str) -> str:
    """Show which way a message went."""
    return "> " if direction == "in" else "< "


@mind.command
@click.pass_obj
def array(invocation: Invocation) -> Answer:
    """Show what the model sees now: the turns since the last compaction, after it."""
    with invocation.open() as loom:
        turns = invocation.take(loom).mind.conversation.turns()
    result = [{"role": turn.role, "blocks": [block_of(block) for block in turn.blocks]} for turn in turns]
    lines = [f"{turn.role}: {told(block_of(block))}" for turn in turns for block in turn.blocks]
    return Answer({"turns": result}, lines or ["nothing has been said yet"])


def block_of(block: Block) -> dict[str, Any]:
    """Write a block with its kind."""
    from everloom.surfaces.cli.runtime.output import fields_of  # noqa: PLC0415

    known = {name: value for name, value in fields_of(block).items() if name != "raw"}
    return {"kind": type(block).__name__.lower(), **known}


def told(block: dict[str, Any]) -> str:
    """Tell a block on one line."""
    match block["kind"]:
        case "tooluse":
            return f"[uses {block['name']}] {shortened(json.dumps(dict(block['input']), ensure_ascii=False), 200)}"
        case "toolresult":
            return f"[result] {shortened(block['text'], 200)}"
        case "folded":
            return f"[folded] {shortened(block['text'], 500)}"
    return shortened(str(block.get("text", "")), 500)


@mind.command
@limit_option
@click.pass_obj
def compactions(invocation: Invocation, limit: int) -> Answer:
    """Show when the oldest turns were folded, and what that took."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        found = place.mind.conversation.compactions(limit)
    rows = [
        (
            each.id,
            shown(each.at, place.info.zone),
            each.way,
            each.model,
            each.tokens_before,
            each.tokens_after,
            None if each.dollars is None else f"${each.dollars:.4f}",
        )
        for each in found
    ]
    return Answer({"compactions": found}, [Table(rows, ("id", "at", "way", "model", "before", "after", "dollars"))])


@mind.command
@limit_option
@click.pass_obj
def heartbeats(invocation: Invocation, limit: int) -> Answer:
    """Show when the agent wondered whether to speak first, and why it did or did not."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        found = place.mind.pulse.recent(limit)
    rows = [(shown(each.at, place.info.zone), each.outcome, each.reason) for each in found]
    return Answer({"heartbeats": found}, [Table(rows, ("at", "outcome", "reason"))])


@mind.command
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--in", "where", default="both", type=click.Choice(["conversations", "facts", "both"]), help="Where to look."
)
@click.pass_obj
def search(invocation: Invocation, words: tuple[str, ...], where: Any) -> Answer:
    """Search past exchanges and facts, as the agent does."""
    with invocation.open() as loom:
        found = invocation.take(loom).mind.archive.search(" ".join(words), where)
    return Answer({"found": found}, [found])


@mind.group(cls=Group)
def schedule() -> None:
    """List, plan and cancel messages that the agent will send."""


@schedule.command(name="list")
@click.pass_obj
def list_scheduled(invocation: Invocation) -> Answer:
    """List the messages that wait for their time."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        found = place.mind.schedule.waiting()
    rows = [(each.id, shown(each.due_at, place.info.zone), each.every, each.channel, each.text) for each in found]
    return Answer({"scheduled": found}, [Table(rows, ("id", "due", "every", "channel", "text"))])


@schedule.command(name="add")
@click.argument("at")
@click.argument("words", nargs=-1, required=True)
@click.option("--every", default="", type=click.Choice(["", "daily", "weekdays", "weekly"]), help="Again and again.")
@click.pass_obj
def add_scheduled(invocation: Invocation, at: str, words: tuple[str, ...], every: str) -> Answer:
    """Plan a message: everloom mind schedule add 09:30 "Good morning."."""
    with invocation.open() as loom:
        place = invocation.take(loom)
        added = place.mind.schedule.add(" ".join(words), at, every)
    return Answer({"scheduled": added}, [f"{added.id}: {shown(added.due_at, place.info.zone)} on {added.channel}"])


@schedule.command(name="cancel")
@click.argument("number", type=ItemId, metavar="ID")
@click.pass_obj
def cancel_scheduled(invocation: Invocation, number: int) -> Answer:
    """Take a planned message back."""
    with invocation.open() as loom:
        invocation.take(loom).mind.schedule.cancel(number)
    return Answer({"id": number, "state": "cancelled"}, [f"{number} will not be sent"])
