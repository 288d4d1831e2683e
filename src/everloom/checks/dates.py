"""Dates in the future: which items have one without being planned, and how a person sets the date of an item.

An item whose date is in the future ranks as if it had none: the clock was wrong when it was written, or an import was.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from everloom.clock import AHEAD, from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.operation import Operation
from everloom.kernel.search import PLANNED
from everloom.kernel.timeline import KINDS

# An understanding has the date at which it was written, and the next one supersedes it.
_KINDS = tuple(kind for kind in KINDS if kind != "understanding")


@dataclass(frozen=True, slots=True)
class DatedItem:
    """An item, how its text begins, and its date."""

    id: int
    kind: str
    text: str
    happened_at: datetime


@dataclass(frozen=True, slots=True)
class SetDate:
    """A date that was set, and the one that it replaced."""

    id: int
    before: datetime
    after: datetime


def items_ahead(op: Operation, limit: int) -> tuple[int, tuple[DatedItem, ...]]:
    """Count the items that are dated in the future without being planned, and list the latest of them."""
    after = to_micros(op.now + AHEAD)
    with op.read() as unit:
        count = unit.all("timeline.ahead_count", kinds=_KINDS, after=after, planned=PLANNED)[0]["count"]
        rows = unit.all("timeline.ahead", kinds=_KINDS, after=after, planned=PLANNED, limit=limit) if count else []
    return count, tuple(
        DatedItem(row["id"], row["kind"], " ".join(row["text"].split()), from_micros(row["happened_at"]))
        for row in rows
    )


def set_date(op: Operation, item: int, at: datetime) -> SetDate:
    """Set when an item happened; its text stays as it is, and the event names both dates."""
    with op.write("set_date") as tx:
        rows = tx.unit.all("words.document_of", ids=[item])
        if not rows or rows[0]["kind"] not in _KINDS:
            raise NotFound(f"item {item} has no date that can be set", hint="`everloom doctor` lists ids and dates")
        if rows[0]["kind"] == "memory":
            raise Conflict(f"the date of memory {item} is in its file", hint="change `created` there")
        done = SetDate(item, from_micros(rows[0]["happened_at"]), at)
        op.index.redate(tx.unit, item, at)
        tx.unit.send("semantic.subject_redate", observation=item)
        tx.event(id=item, before=done.before.isoformat(), after=at.isoformat())
    return done
