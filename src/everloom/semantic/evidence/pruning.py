"""Setting evidence aside that is worth no place among what holds now, and taking it back.

An observation that is set aside is superseded like one that no longer holds, and keeps everything; its document names
the event that says why. Unlike a correction it tells its subjects nothing new, because nothing has become untrue.
Refuses to know which observations those are: the caller decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound
from everloom.kernel.journal import append_event, count_access
from everloom.kernel.operation import Operation, Transaction
from everloom.semantic.evidence.records import observations_of
from everloom.semantic.results import Observation
from everloom.semantic.state import state_for_writing
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

# The name of the events by which statements recognise what was set aside.
_PRUNED = "prune_facts"
_RESTORED = "restore_fact"
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class SetAside:
    """An observation that was set aside: when, why, and which one says the same, if one does."""

    observation: Observation
    at: datetime
    why: str
    into: int | None


def prunable(unit: Unit, kind: str, most: int) -> list[Row]:
    """Read the current observations of a kind, oldest first, with what decides whether they may be set aside."""
    found: list[Row] = []
    while len(found) < most:
        after = found[-1]["id"] if found else 0
        rows = unit.all("semantic.observation_prunable", kind=kind, after=after, limit=min(_PAGE, most - len(found)))
        found += rows
        if len(rows) < _PAGE:
            break
    return found


def set_aside(
    op: Operation,
    kind: str,
    item: int,
    into: int | None,
    why: str,
    is_still: Callable[[Unit, Sequence[Row]], bool],
) -> bool:
    """Set one observation aside, if `is_still` agrees under the lock with how it and its equal are now."""
    with op.write(_PRUNED) as tx:
        unit = tx.unit
        state_for_writing(unit)
        wanted = [each for each in (item, into) if each is not None]
        rows = [row for each in wanted for row in _current(unit, kind, each)]
        if len(rows) < len(wanted) or not is_still(unit, rows):
            return False
        unit.send("semantic.observation_supersede", id=item, at=to_micros(tx.at))
        if into is not None:
            # Without a source: the one that stays does not rest on the other, and outlives its forgetting.
            unit.send("semantic.observation_superseded_by", id=item, by=into)
        event = tx.event(fact=item, into=into, why=why)
        tx.op.index.retire(unit, [item], event, tx.at)
        return True


def _current(unit: Unit, kind: str, item: int) -> list[Row]:
    rows = unit.all("semantic.observation_prunable", kind=kind, after=item - 1, limit=1)
    return [row for row in rows if row["id"] == item]


def set_aside_before(unit: Unit, kind: str, before: int, limit: int) -> list[SetAside]:
    """List the observations of a kind that were set aside, newest first."""
    rows = unit.all("semantic.observation_pruned", kind=kind, before=before, limit=limit)
    known = observations_of(unit, [row["id"] for row in rows])
    return [
        SetAside(
            known[row["id"]],
            from_micros(row["superseded_at"]),
            str(json.loads(row["detail"]).get("why", "")),
            row["superseded_by"],
        )
        for row in rows
    ]


def count_set_aside(unit: Unit, kind: str, since: datetime) -> int:
    """Count the observations of a kind that were set aside since a moment."""
    row = unit.one("semantic.observation_pruned_since", kind=kind, since=to_micros(since))
    return 0 if row is None else int(row["count"])


def take_back(op: Operation, kind: str, item: int, key: str | None) -> int:
    """Let an observation that was set aside hold again, exactly as it was; under a key that happens once."""
    # Prepared before the transaction: no lock is held while a text is embedded.
    with op.read() as unit:
        documents = op.index.documents(unit, [item])
    prepared = op.index.prepare(documents.values())

    def act(tx: Transaction) -> int:
        unit = tx.unit
        state_for_writing(unit)
        rows = unit.all("semantic.observation_pruned", kind=kind, before=min(item, FOREVER) + 1, limit=1)
        if not rows or rows[0]["id"] != item:
            raise _not_set_aside(unit, kind, item)
        (stored,) = unit.all("semantic.observation_hash", id=item)
        # Superseding put an id behind it, which an import into another store may have replaced elsewhere but not here.
        original = str(stored["content_hash"]).partition(":")[0]
        for row in unit.all("semantic.observation_by_hash", hashes=[original]):
            raise Conflict(f"{row['id']} has the same words and holds", hint=f"nothing is missing: read {row['id']}")
        unit.send("semantic.observation_take_back", id=item, hash=original)
        tx.op.index.revive(unit, [item], prepared, tx.at)
        # Somebody wanted it: it counts as used, so that it is not set aside again.
        count_access(unit, [item], tx.at)
        append_event(unit, _RESTORED, {"fact": item}, tx.at, tx.session_id)
        return item

    return op.write_once(_RESTORED, key, {"id": item}, int, act)


def _not_set_aside(unit: Unit, kind: str, item: int) -> Conflict | NotFound:
    known = observations_of(unit, [item]).get(item)
    if known is None or known.kind != kind:
        return NotFound(f"there is no {kind} {item}", hint="`everloom facts list --pruned` shows the ids")
    if known.superseded_at is None:
        return Conflict(f"{kind} {item} was not set aside: it holds", hint="nothing has to be restored")
    by = known.superseded_by
    hint = "tell it again, if it is true" if by is None else f"{by} replaced it: edit that one"
    return Conflict(f"{kind} {item} was not set aside: it no longer holds", hint=hint)
