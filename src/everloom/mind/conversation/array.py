"""Exchanges, and the array: what the model sees of the conversation, turn by turn, from the last compaction on.

An exchange is one turn that was answered, or one time the agent spoke first. Nothing is ever taken out of the store;
what a compaction left behind stays there. Refuses to ask a model, and to know how an answer comes about.
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

# The store counts money in millionths of a dollar: whole numbers add up exactly on both engines.
MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What came in (`heard`), what went out (`reply`), and what it took; `cause` is message, heartbeat or schedule."""

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
    """One turn in its place; a compaction belongs to no exchange."""

    position: int
    exchange_id: int | None
    turn: Turn
    at: datetime


def keep_exchange(unit: Unit, exchange: Exchange) -> Exchange:
    """Write a new exchange, whose facts wait to be learnt; the answer is what was kept."""
    (fresh,) = register(unit, "exchange", exchange.ended_at)
    micro_dollars = None if exchange.dollars is None else round(exchange.dollars * MICRO)
    usage = exchange.usage
    unit.run(
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
    """Read exchanges from their rows, each with its messages."""
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
    # What a compaction left behind stays in the table, before this position.
    start = unit.one("mind.compaction_last")
    rows = unit.all("mind.entry_from", position=0 if start is None else start["position"])
    return tuple(
        ArrayEntry(
            row["position"], row["exchange_id"], Turn(row["role"], decode_blocks(row["blocks"])), from_micros(row["at"])
        )
        for row in rows
    )


def as_turns(entries: Iterable[ArrayEntry]) -> tuple[Turn, ...]:
    """Write entries as a model takes them."""
    return render_turns(entry.turn for entry in entries)


def append_turns(unit: Unit, turns: Sequence[Turn], exchange: int | None, at: datetime) -> list[int]:
    """Put turns at the end, without their reasoning; the answer is the position of each."""
    row = unit.one("mind.entry_last")
    first = 1 if row is None else row["position"] + 1
    # Reasoning never reaches the disk: this is the only way in.
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
