"""The record of who did what and when: items and kinds, sessions, events, accesses, verdicts, receipts.

Everything here runs inside the caller's unit of work. Refuses to know what an item contains, and what a count means for
ranking or decay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.lifecycle import Access
from everloom.kernel.texts import checked_name
from everloom.secrets import masked
from everloom.store import Lookup, Row, Unit, look_up

RECEIPTS_KEPT = timedelta(days=30)
# Stands in place of words that were forgotten.
FORGOTTEN = "forgotten"
Verdict = Literal["useful", "questionable"]

_dumped = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


@dataclass(frozen=True, slots=True)
class Session:
    """A client's label for a conversation: provenance, never a boundary."""

    id: int
    label: str
    model_tier: str | None
    started_at: datetime
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One operation that was carried out."""

    id: int
    at: datetime
    operation: str
    session_id: int | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Signal:
    """One verdict on an item."""

    id: int
    target_id: int
    verdict: Verdict
    reason: str | None
    session_id: int | None
    at: datetime


def register(unit: Unit, kind: str | Sequence[str], at: datetime) -> Sequence[int]:
    """Take a fresh id for each given kind, and register it."""
    kinds = [kind] if isinstance(kind, str) else kind
    ids = unit.ids(len(kinds))
    micros = to_micros(at)
    unit.many(
        "kernel.item_add", ({"id": fresh, "kind": each, "at": micros} for fresh, each in zip(ids, kinds, strict=True))
    )
    return ids


def kind_of(unit: Unit, item_id: int) -> str:
    """Look up the kind of an item."""
    row = unit.one("kernel.item_get", id=item_id)
    if row is None:
        raise NotFound(f"nothing in this workspace has the id {item_id}", hint="use an id that search or show printed")
    return str(row["kind"])


def attend(unit: Unit, label: str, at: datetime, model_tier: str | None = None) -> Session:
    """Record that a session is active now, creating it if it is new."""
    (rows,) = unit.together(attending(label, at, model_tier))
    return attended(unit, rows, label, at, model_tier)


def attending(label: str, at: datetime, model_tier: str | None = None) -> Lookup:
    """Record that a session is active now, together with what is read at the same time; `attended` ends it."""
    wanted = checked_name(label, "the session's id")
    return look_up("kernel.session_attend", label=wanted, at=to_micros(at), model_tier=model_tier)


def attended(unit: Unit, rows: Sequence[Row], label: str, at: datetime, model_tier: str | None) -> Session:
    """Return the session that `attending` found, creating it if it found none."""
    if rows:
        return session_from(rows[0])
    wanted, micros = checked_name(label, "the session's id"), to_micros(at)
    (fresh,) = register(unit, "session", at)
    unit.send("kernel.session_add", id=fresh, label=wanted, model_tier=model_tier, at=micros)
    return Session(fresh, wanted, model_tier, at, at)


def ask_attendance(unit: Unit, label: str, at: datetime, model_tier: str | None = None) -> Callable[[], Session]:
    """Ask for a session as `attend` would return it, without recording anything; a new one has the id 0."""
    wanted = checked_name(label, "the session's id")
    found = unit.ask("kernel.session_by_label", label=wanted)

    def read() -> Session:
        for row in found.get():
            return replace(session_from(row), model_tier=model_tier or row["model_tier"], seen_at=at)
        return Session(0, wanted, model_tier, at, at)

    return read


def session_from(row: Row) -> Session:
    """Read a session from its row."""
    times = (from_micros(row["started_at"]), from_micros(row["seen_at"]))
    return Session(row["id"], row["label"], row["model_tier"], *times)


def append_event(unit: Unit, operation: str, detail: Mapping[str, Any], at: datetime, session_id: int | None) -> int:
    """Record one operation in the audit trail."""
    (fresh,) = register(unit, "event", at)
    # Whatever the setting says about what is stored: the audit trail is read like a log.
    text = masked(_dumped(detail))
    unit.send("kernel.event_add", id=fresh, at=to_micros(at), operation=operation, session=session_id, detail=text)
    return fresh


def event_from(row: Row) -> Event:
    """Read an event from its row."""
    return Event(row["id"], from_micros(row["at"]), row["operation"], row["session_id"], read_detail(row["detail"]))


def read_detail(text: str) -> dict[str, Any]:
    """Read what an event tells; one whose bytes have changed hides no others, and says only that."""
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return {"damaged": True}
    return found


def answered_before(unit: Unit, key: str | None, operation: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer that the same request already received under this idempotency key."""
    return None if key is None else read_receipt(unit.together(receipt_of(key))[0], key, operation, request)


def receipt_of(key: str) -> Lookup:
    """Look for the receipt of an idempotency key."""
    return look_up("kernel.receipt_get", key=checked_name(key, "the idempotency key"))


def read_receipt(rows: Sequence[Row], key: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer in the receipt that was found, if one was and it belongs to the same request."""
    if not rows:
        return None
    row = rows[0]
    if not row["request_hash"]:
        raise Conflict(
            f"what was stored with the idempotency key {key!r} was forgotten",
            hint="if it shall be stored again, use a new key",
        )
    # Returning the old answer to another request would report a write that never happened.
    if row["operation"] != operation or row["request_hash"] != fingerprint(request):
        raise used_before(key)
    try:
        answer: dict[str, Any] = json.loads(row["answer"])
    except ValueError as error:
        # That the request was answered is certain: to do it again would be worse.
        hint = "it was done; look for it in the memory, and see `everloom doctor --deep`"
        raise Conflict(f"the answer kept with the idempotency key {key!r} is damaged", hint=hint) from error
    return answer


def used_before(key: str) -> Conflict:
    """Make the error for a key that belongs to another request."""
    return Conflict(f"the idempotency key {key!r} was already used for a different request", hint="use a new key")


def keep_receipt(
    unit: Unit, key: str | None, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any], at: datetime
) -> None:
    """Store an answer under its idempotency key, in the same transaction as the write itself."""
    if key is not None:
        _add_receipt(unit, key, (operation, fingerprint(request)), answer, at)


def replace_receipt(unit: Unit, key: str, request: tuple[str, str], answer: Mapping[str, Any], at: datetime) -> bool:
    """Store an answer in place of what an earlier step of the same request has stored.

    The request is the operation and the fingerprint of what was asked. If another request has used the key by now,
    nothing is stored, and the answer is False.
    """
    row = unit.one("kernel.receipt_get", key=checked_name(key, "the idempotency key"))
    if row is not None:
        if (row["operation"], row["request_hash"]) != request:
            return False
        unit.send("forgetting.receipt_drop", key=checked_name(key, "the idempotency key"))
    _add_receipt(unit, key, request, answer, at)
    return True


def _add_receipt(unit: Unit, key: str, request: tuple[str, str], answer: Mapping[str, Any], at: datetime) -> None:
    unit.send(
        "kernel.receipt_add",
        key=checked_name(key, "the idempotency key"),
        operation=request[0],
        request_hash=request[1],
        answer=json.dumps(answer, ensure_ascii=False),
        at=to_micros(at),
    )
    # Expired in passing, so that only workspaces whose clients use keys pay for it, and no task is needed.
    unit.send("kernel.receipt_expire", before=to_micros(at - RECEIPTS_KEPT))


def fingerprint(request: Mapping[str, Any]) -> str:
    """Hash a request so that only an equal request has the same hash."""
    return hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).hexdigest()


def count_access(unit: Unit, item_ids: Iterable[int], at: datetime) -> None:
    """Count one access to each item."""
    if items := list(dict.fromkeys(item_ids)):
        unit.send("kernel.access_count", items=items, at=to_micros(at))


def pin(unit: Unit, item_id: int, pinned: bool) -> None:
    """Protect an item from fading, or stop protecting it."""
    unit.send("kernel.access_pin", item=item_id, pinned=int(pinned))


def judge(
    unit: Unit, target_id: int, verdict: Verdict, reason: str | None, at: datetime, session_id: int | None
) -> int:
    """Record the verdict that an item is useful or questionable."""
    (fresh,) = register(unit, "signal", at)
    unit.send(
        "kernel.signal_add",
        id=fresh,
        target=target_id,
        verdict=verdict,
        reason=reason,
        session=session_id,
        at=to_micros(at),
    )
    counts = {"useful": int(verdict == "useful"), "questionable": int(verdict == "questionable")}
    unit.send("kernel.access_verdict", item=target_id, **counts)
    return fresh


def access_from(row: Row) -> Access:
    """Read an item's access counts from a row."""
    # A pin or a verdict creates the row, too, without a time: only a count means that the item was used.
    last = from_micros(row["last_at"]) if row["count"] else None
    return Access(row["count"], last, bool(row["pinned"]), row["useful"], row["questionable"])


def signal_from(row: Row) -> Signal:
    """Read a signal from its row."""
    return Signal(row["id"], row["target_id"], row["verdict"], row["reason"], row["session_id"], from_micros(row["at"]))
