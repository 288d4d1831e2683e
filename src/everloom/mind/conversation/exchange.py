"""An exchange: one turn that was answered, or one time the agent spoke first; what it said and what it took.

Writes and reads the rows. Refuses to know how an answer comes about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.kernel.journal import register
from everloom.models.usage import TokenUsage
from everloom.store import Row, Unit

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


def keep_exchange(unit: Unit, exchange: Exchange, *, facts_state: str) -> Exchange:
    """Write a new exchange; the answer is what was kept."""
    (fresh,) = register(unit, "exchange", exchange.ended_at)
    micro_dollars = None if exchange.dollars is None else round(exchange.dollars * MICRO)
    unit.run(
        "mind.exchange_add",
        id=fresh,
        cause=exchange.cause,
        began_at=to_micros(exchange.began_at),
        ended_at=to_micros(exchange.ended_at),
        model=exchange.model,
        rounds=exchange.rounds,
        input=exchange.usage.input,
        output=exchange.usage.output,
        cache_read=exchange.usage.cached_read,
        cache_write=exchange.usage.cached_written,
        micro_dollars=micro_dollars,
        context_tokens=exchange.context_tokens,
        context_window=exchange.context_window,
        facts_state=facts_state,
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
    return [_exchange_from(row, said) for row in rows]


def _exchange_from(row: Row, said: dict[tuple[int, str], list[str]]) -> Exchange:
    return Exchange(
        id=row["id"],
        cause=row["cause"],
        began_at=from_micros(row["began_at"]),
        ended_at=from_micros(row["ended_at"]),
        model=row["model"],
        usage=TokenUsage(
            row["input_tokens"], row["output_tokens"], row["cache_read_tokens"], row["cache_write_tokens"]
        ),
        dollars=None if row["micro_dollars"] is None else row["micro_dollars"] / MICRO,
        context_tokens=row["context_tokens"],
        context_window=row["context_window"],
        rounds=row["rounds"],
        heard="\n\n".join(said.get((row["id"], "in"), ())),
        reply="\n\n".join(said.get((row["id"], "out"), ())),
        withdrawn_at=None if row["withdrawn_at"] is None else from_micros(row["withdrawn_at"]),
    )
