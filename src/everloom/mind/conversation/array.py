"""The array: what the model sees of the conversation, turn by turn, from the last compaction on.

Nothing is ever taken out of the store; what a compaction left behind stays there. Refuses to ask a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.mind.conversation.blocks import read, rendered, without_thoughts, written
from everloom.models.talk import Turn
from everloom.store import Unit


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn in its place; a compaction belongs to no exchange."""

    position: int
    exchange_id: int | None
    turn: Turn
    at: datetime


def entries_of(unit: Unit) -> tuple[Entry, ...]:
    """Read the entries from the last compaction on."""
    start = unit.one("mind.compaction_last")
    rows = unit.all("mind.entry_from", position=0 if start is None else start["position"])
    return tuple(
        Entry(row["position"], row["exchange_id"], Turn(row["role"], read(row["blocks"])), from_micros(row["at"]))
        for row in rows
    )


def as_turns(entries: Iterable[Entry]) -> tuple[Turn, ...]:
    """Write entries as a model takes them."""
    return rendered(entry.turn for entry in entries)


def append(unit: Unit, turns: Sequence[Turn], exchange: int | None, at: datetime) -> list[int]:
    """Put turns at the end, without their reasoning; the answer is the position of each."""
    row = unit.one("mind.entry_last")
    first = 1 if row is None else row["position"] + 1
    kept = [without_thoughts(turn) for turn in turns]
    unit.many(
        "mind.entry_add",
        (
            {
                "position": first + place,
                "exchange": exchange,
                "role": turn.role,
                "blocks": written(turn.blocks),
                "at": to_micros(at),
            }
            for place, turn in enumerate(kept)
        ),
    )
    return [first + place for place in range(len(kept))]


def append_again(unit: Unit, entries: Sequence[Entry]) -> None:
    """Put entries at the end once more, as they were: what follows a compaction word for word."""
    for entry in entries:
        append(unit, [entry.turn], entry.exchange_id, entry.at)
