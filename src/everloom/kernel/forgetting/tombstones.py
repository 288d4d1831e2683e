"""Tombstones: what was forgotten is recognised when it comes back, without anybody being able to read it.

A digest is a hash with the workspace's own secret. Whoever has the whole database has the secret, too, and can check a
guess; a list of tombstones alone tells nothing. Refuses to decide what happens to what comes back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.forgetting.plan import Doomed
from everloom.kernel.forgetting.results import TombstoneList, TombstoneRecord
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import UNSTORABLE, content_hash
from everloom.store import Row, Unit, look_up
from everloom.store.contract import FOREVER, Value

_SECRET_BYTES = 32
# What the digests of a workspace are made with; it has none as long as nothing was forgotten.
SECRET = look_up("forgetting.secret_get")


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A forgotten item that something else was recognised as."""

    id: int
    kind: str
    at: datetime


def text_key(text: str) -> str:
    """Make the key by which a text is recognised, however its white space is written."""
    # What cannot be stored was never stored, and is refused elsewhere.
    return f"text {content_hash(UNSTORABLE.sub('', text))}"


def bury(unit: Unit, doomed: Iterable[Doomed], event_id: int, at: datetime) -> None:
    """Write the tombstones of items."""
    buried = list(doomed)
    secret = _secret(unit, create=True)
    common: dict[str, Value] = {"at": to_micros(at), "event": event_id}
    unit.many("forgetting.tombstone_add", ({**common, "item": each.id, "kind": each.kind} for each in buried))
    unit.many(
        "forgetting.digest_add",
        ({"item": each.id, "digest": _digest(secret, key)} for each in buried for key in each.keys),
    )


def recognised(unit: Unit, keys: Iterable[str], secrets: Sequence[Row] | None = None) -> Mapping[str, Tombstone]:
    """Find which of some keys belong to something forgotten.

    `secrets` are the rows of `SECRET`, if the caller has looked it up with other things.
    """
    if secrets is None:
        (secrets,) = unit.together(SECRET)
    # Most workspaces have forgotten nothing: then this costs one look at an empty table, and no key is even made.
    if not secrets:
        return {}
    secret = str(secrets[0]["secret"])
    digests = {_digest(secret, key): key for key in keys}
    if not digests:
        return {}
    rows = unit.all("forgetting.digest_known", digests=list(digests))
    return {digests[row["digest"]]: Tombstone(row["item_id"], row["kind"], from_micros(row["at"])) for row in rows}


def refuse_forgotten(unit: Unit, texts: Sequence[str], secrets: Sequence[Row] | None = None) -> None:
    """Refuse to store a text that was forgotten, until somebody lifts its tombstone; `secrets` as in `recognised`."""
    found = recognised(unit, map(text_key, texts), secrets)
    for tombstone in found.values():
        raise Conflict(
            f"this was forgotten on {tombstone.at:%Y-%m-%d} (it was {tombstone.kind} {tombstone.id})",
            hint=f"if it shall be remembered again, `everloom forget --lift {tombstone.id}` allows it; then try again",
        )


def explain_absence(unit: Unit, item_id: int) -> NotFound:
    """Explain why an id leads nowhere: nothing ever had it, or what had it was forgotten."""
    row = next(iter(unit.all("forgetting.tombstone_of", ids=[item_id])), None)
    if row is not None:
        when = f"{from_micros(row['at']):%Y-%m-%d}"
        return NotFound(f"{row['kind']} {item_id} was forgotten on {when}", hint="nothing is left of it")
    return NotFound(f"nothing in this workspace has the id {item_id}", hint="search prints the ids of what it finds")


def list_tombstones(op: Operation, limit: int, beyond: int | None = None) -> TombstoneList:
    """List the newest tombstones, or those after one of the list."""
    with op.read() as unit:
        event, item = FOREVER, FOREVER
        if beyond is not None:
            known = unit.all("forgetting.tombstone_of", ids=[beyond])
            if not known:
                raise NotFound(f"nothing with the id {beyond} was forgotten", hint="begin the list anew")
            event, item = known[0]["event_id"], beyond
        rows = unit.all("forgetting.tombstone_recent", event=event, item=item, limit=limit)
        (counted,) = unit.all("forgetting.tombstone_count")
    return TombstoneList(count=counted["count"], tombstones=tuple(_record(row) for row in rows))


def lift_tombstones(op: Operation, ids: Sequence[int], key: str | None = None) -> TombstoneList:
    """Let what was forgotten be remembered again, when somebody stores it."""

    def act(tx: Transaction) -> int:
        known = {row["item_id"] for row in tx.unit.all("forgetting.tombstone_of", ids=list(ids))}
        for item in ids:
            if item not in known:
                raise NotFound(f"nothing with the id {item} was forgotten", hint="`everloom forget --list` lists it")
        tx.unit.send("forgetting.digest_drop", ids=list(ids))
        tx.unit.send("forgetting.tombstone_lift", ids=list(ids), at=to_micros(tx.at))
        return tx.event(ids=list(ids))

    op.write_once("lift", key, {"ids": list(ids)}, int, act)
    found = list_tombstones(op, len(ids) + 10_000)
    return TombstoneList(count=len(ids), tombstones=tuple(each for each in found.tombstones if each.id in ids))


def _record(row: Row) -> TombstoneRecord:
    return TombstoneRecord(
        id=row["item_id"],
        kind=row["kind"],
        at=from_micros(row["at"]),
        session=row["session"],
        is_clean=row["scrubbed_at"] is not None,
        lifted_at=None if row["lifted_at"] is None else from_micros(row["lifted_at"]),
    )


def _secret(unit: Unit, *, create: bool = False) -> str:
    row = unit.one("forgetting.secret_get")
    if row is None and create:
        unit.send("forgetting.secret_add", secret=token_hex(_SECRET_BYTES))
        row = unit.one("forgetting.secret_get")
    return "" if row is None else str(row["secret"])


def _digest(secret: str, key: str) -> str:
    return hashlib.blake2b(key.encode(), key=bytes.fromhex(secret), digest_size=16).hexdigest()
