"""What waits for a person: writes from origins that are held, kept as they were called, until somebody decides.

Nothing of a held call is anywhere else, so nothing can find it, count it or consolidate it. Approving makes the call
then, with the ids and in the order of that moment. Refuses to know what the calls do; `wiring` makes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.answer.encode import as_data
from everloom.kernel.journal import register
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document
from everloom.store import Row, Unit
from everloom.store.contract import Value

# A person reads the beginning and decides; `show` has all of it.
PREVIEW = 2_000
# What an answer says of a write that waits.
HELD = "it does not count until a person approves it: `everloom review approve ID`"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWrite:
    """A write that waits, or waited, for a person's decision."""

    id: int
    origin: str
    # The verb that was called, such as `semantic.remember`, and its arguments.
    call: str
    text: str
    at: datetime
    session: str | None = None
    model_tier: str | None = None
    decision: str | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldList:
    """The result of `list_held`: the oldest writes that wait, and how many there are in all."""

    held: tuple[HeldWrite, ...]
    waiting: int
    note: str | None = None


def hold(op: Operation, call: str, arguments: Mapping[str, Any], text: str, key: str | None = None) -> int | None:
    """Keep a call for review if its origin is held, and return the id under which it waits; else return None.

    A call that waits already is the same one; under its idempotency key it is, too, when it has been decided about.
    """
    if not op.is_held:
        return None
    given = {name: value for name, value in arguments.items() if value is not None}
    # The origin is a column of its own.
    given.pop("origin", None)
    written = json.dumps(as_data(given), ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(f"{call} {op.origin} {written}".encode()).hexdigest()

    def act(tx: Transaction) -> int:
        known = tx.unit.one("review.held_same", digest=digest)
        if known is not None:
            return int(known["id"])
        (fresh,) = register(tx.unit, "held", tx.at)
        tx.unit.send(
            "review.held_add",
            id=fresh,
            origin=str(op.origin),
            call=call,
            arguments=written,
            digest=digest,
            text=text[:PREVIEW],
            session=op.session,
            model_tier=op.model_tier,
            at=to_micros(tx.at),
        )
        tx.event(id=fresh, call=call, origin=str(op.origin))
        return fresh

    return op.write_once("hold", key, {"digest": digest}, int, act)


def hold_documents(op: Operation, documents: Sequence[Document]) -> list[int] | None:
    """Keep documents for review if their origin is held, one by one, so that a person can decide about each."""
    if not op.is_held:
        return None
    held = (hold(op, "add", {"documents": [each]}, each.whole) for each in documents)
    return [item for item in held if item is not None]


def list_held(op: Operation, after: int, limit: int) -> HeldList:
    """List what waits, oldest first."""
    with op.read() as unit:
        rows = unit.all("review.held_waiting", after=after, limit=limit)
        return HeldList(held=tuple(_held_from(row) for row in rows), waiting=count_held(unit))


def count_held(unit: Unit) -> int:
    """Count what waits."""
    return int(unit.all("review.held_count")[0]["count"])


def need_waiting(unit: Unit, ids: Sequence[int]) -> list[HeldWrite]:
    """Read writes that must exist and wait; one that was decided is a conflict that says how."""
    found = need_held(unit, ids)
    for each in found:
        _refuse_decided(each.id, each.decision)
    return found


def need_held(unit: Unit, ids: Sequence[int]) -> list[HeldWrite]:
    """Read writes that must exist, decided or not."""
    rows = {row["id"]: row for row in unit.all("review.held_of", ids=list(ids))}
    for item in ids:
        if item not in rows:
            raise NotFound(f"nothing with the id {item} waits for review", hint="list_held lists what does")
    return [_held_from(rows[item], whole=True) for item in dict.fromkeys(ids)]


@dataclass(slots=True)
class Decision:
    """A decision about a held write, recorded once: in the transaction that carries it out, as a guard of it."""

    held_id: int
    decision: Literal["approved", "rejected"]
    by: str
    at: datetime
    reason: str | None = None
    is_done: bool = False

    def record(self, unit: Unit) -> None:
        """Record it, unless an earlier transaction of the same call has; Conflict if somebody else has decided."""
        if self.is_done:
            return
        values: dict[str, Value] = {"decision": self.decision, "by": self.by, "reason": self.reason}
        if not unit.run("review.held_decide", id=self.held_id, at=to_micros(self.at), **values):
            row = unit.all("review.held_of", ids=[self.held_id])[0]
            _refuse_decided(row["id"], row["decision"])
        self.is_done = True


def describe_held(unit: Unit, item_id: int) -> dict[str, Any]:
    """Describe one for `show`."""
    rows = unit.all("review.held_of", ids=[item_id])
    return {} if not rows else as_data(_held_from(rows[0], whole=True))


def texts_of(arguments: Mapping[str, Any], names: Iterable[str]) -> str:
    """Join the arguments that a person reads to decide."""
    return "\n".join(str(arguments[name]) for name in names if arguments.get(name))


def _refuse_decided(item: int, decision: str | None) -> None:
    if decision is not None:
        raise Conflict(f"{item} was already {decision}", hint="list_held lists what still waits")


def _held_from(row: Row, *, whole: bool = False) -> HeldWrite:
    return HeldWrite(
        id=row["id"],
        origin=row["origin"],
        call=row["call"],
        text=row["text"],
        at=from_micros(row["at"]),
        session=row["session"],
        model_tier=row["model_tier"],
        decision=row["decision"],
        decided_at=None if row["decided_at"] is None else from_micros(row["decided_at"]),
        decided_by=row["decided_by"],
        reason=row["reason"],
        arguments=json.loads(row["arguments"]) if whole else None,
    )
