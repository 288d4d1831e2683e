"""Counting what is used: accesses, pins, and signals that something was useful or is questionable.

Each count is one atomic statement. Refuses to know what a count means for ranking or for decay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.kernel.journal import register
from everloom.kernel.lifecycle import Access
from everloom.store import Row, Unit

Verdict = Literal["useful", "questionable"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One verdict on an item."""

    id: int
    target_id: int
    verdict: Verdict
    reason: str | None
    session_id: int | None
    at: datetime


def count_access(unit: Unit, item_ids: Iterable[int], at: datetime) -> None:
    """Count one access to each item."""
    unit.many("kernel.access_count", ({"item": item, "at": to_micros(at)} for item in dict.fromkeys(item_ids)))


def pin(unit: Unit, item_id: int, pinned: bool, at: datetime) -> None:
    """Hold an item against fading, or let it go."""
    unit.run("kernel.access_pin", item=item_id, pinned=int(pinned), at=to_micros(at))


def judge(
    unit: Unit, target_id: int, verdict: Verdict, reason: str | None, at: datetime, session_id: int | None
) -> int:
    """Record that an item was useful or is questionable."""
    (fresh,) = register(unit, "signal", at)
    unit.run(
        "kernel.signal_add",
        id=fresh,
        target=target_id,
        verdict=verdict,
        reason=reason,
        session=session_id,
        at=to_micros(at),
    )
    counts = {"useful": int(verdict == "useful"), "questionable": int(verdict == "questionable")}
    unit.run("kernel.access_verdict", item=target_id, at=to_micros(at), **counts)
    return fresh


def access_from(row: Row) -> Access:
    """Read the counts of an item from its row."""
    last = from_micros(row["last_at"]) if row["count"] else None
    return Access(row["count"], last, bool(row["pinned"]), row["useful"], row["questionable"])


def signal_from(row: Row) -> Signal:
    """Read a signal from its row."""
    return Signal(row["id"], row["target_id"], row["verdict"], row["reason"], row["session_id"], from_micros(row["at"]))
