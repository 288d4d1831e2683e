"""Exchanges and the array: the turns that the model sees, from the last compaction on.

An exchange is one answered turn, or one message with which the agent spoke first. Nothing is ever deleted from the
store, including turns before a compaction. Refuses to call a model, and to know how a reply is produced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.kernel.journal import register
from everloom.mind.conversation.blocks import decode_blocks, encode_blocks, render_turns, without_thoughts
from everloom.models.talk import Turn
from everloom.models.usage import TokenUsage
from everloom.store import Row, Unit, columns_of, value_from

# The store counts money in millionths of a dollar, because integers add up exactly on both engines.
MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The messages received (`heard`), the reply, and its cost; `cause` is message, heartbeat or schedule."""

    id: int
    cause: str
    began_at: datetime
    ended_at: datetime
    model: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    dollars: float | None = None
    context_tokens: int = 0
    context_window: int = 0
    rounds: int = 0
    heard: str = ""
    reply: str = ""
    withdrawn_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ArrayEntry:
    """One turn and its position in the array; a compaction belongs to no exchange."""

    position: int
    exchange_id: int | None
    turn: Turn
    at: datetime


def keep_exchange(unit: Unit, exchange: Exchange) -> Exchange:
    """Store a new exchange; returns it with its id."""
    # `waiting` is the durable queue of the facts task: it is in the same transaction as the exchange itself.
    (fresh,) = register(unit, "exchange", exchange.ended_at)
    micro_dollars = None if exchange.dollars is None else round(exchange.dollars * MICRO)
    usage = exchange.usage
    unit.send(
        "mind.exchange_add",
        id=fresh,
        **columns_of(exchange, "cause", "began_at", "ended_at", "model", "rounds", "context_tokens", "context_window"),
        input=usage.input,
        output=usage.output,
        cache_read=usage.cached_read,
        cache_write=usage.cached_written,
        micro_dollars=micro_dollars,
        facts_state="waiting",
    )
    return replace(exchange, id=fresh, dollars=None if micro_dollars is None else micro_dollars / MICRO)


def exchanges_of(unit: Unit, ids: Iterable[int]) -> list[Exchange]:
    """Read exchanges by their ids, oldest first."""
    return exchanges_from(unit, unit.all("mind.exchange_of", ids=sorted(set(ids))))


def exchanges_from(unit: Unit, rows: Sequence[Row]) -> list[Exchange]:
    """Convert rows to exchanges, each with its messages."""
    said: dict[tuple[int, str], list[str]] = {}
    for row in unit.all("mind.message_of_exchange", ids=[row["id"] for row in rows]):
        said.setdefault((row["exchange_id"], row["direction"]), []).append(row["text"])
    return [
        value_from(
            Exchange,
            row,
            usage=TokenUsage(*(row[f"{name}_tokens"] for name in ("input", "output", "cache_read", "cache_write"))),
            dollars=None if row["micro_dollars"] is None else row["micro_dollars"] / MICRO,
            heard="\n\n".join(said.get((row["id"], "in"), ())),
            reply="\n\n".join(said.get((row["id"], "out"), ())),
        )
        for row in rows
    ]


def entries_of(unit: Unit) -> tuple[ArrayEntry, ...]:
    """Read the entries from the last compaction on."""
    # Older entries stay in the table, before the position of the compaction.
    start = unit.one("mind.compaction_last")
    rows = unit.all("mind.entry_from", position=0 if start is None else start["position"])
    return tuple(
        ArrayEntry(
            row["position"], row["exchange_id"], Turn(row["role"], decode_blocks(row["blocks"])), from_micros(row["at"])
        )
        for row in rows
    )


def as_turns(entries: Iterable[ArrayEntry]) -> tuple[Turn, ...]:
    """Convert entries to turns in the form that models accept."""
    return render_turns(entry.turn for entry in entries)


def append_turns(unit: Unit, turns: Sequence[Turn], exchange: int | None, at: datetime) -> list[int]:
    """Append turns without their reasoning; returns the position of each."""
    row = unit.one("mind.entry_last")
    first = 1 if row is None else row["position"] + 1
    # Reasoning must never reach the disk, and this is the only function that writes turns.
    kept = [without_thoughts(turn) for turn in turns]
    unit.many(
        "mind.entry_add",
        (
            {
                "position": first + place,
                "exchange": exchange,
                "role": turn.role,
                "blocks": encode_blocks(turn.blocks),
                "at": to_micros(at),
            }
            for place, turn in enumerate(kept)
        ),
    )
    return [first + place for place in range(len(kept))]
