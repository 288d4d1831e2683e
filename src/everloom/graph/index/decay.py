"""The strength of memories: from when each one fades, which of them are archived, and what a used recall lends.

The formula is the kernel's. Time counts from the last read, whether it was counted or not; without a record of one,
from when the file was written or last changed. Strength is computed on demand, so results never depend on the last
decay run; a run only notes which memories have crossed the line since the run before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from everloom.clock import to_micros
from everloom.graph.kinds import weight_of
from everloom.graph.results import Decayed
from everloom.kernel.lifecycle import VAULT_STRENGTH, Vigour, lent_days, strength_after_days, vigour
from everloom.kernel.search import Index, Prepared
from everloom.store import Ids, Row, Unit

if TYPE_CHECKING:
    from everloom.graph.index.catalog import OpenGraph

_MICROS_A_DAY = 86_400_000_000
# What the column `archived` holds. Earlier versions retired the documents of archived memories, so that no search of
# the present covered them; the next decay makes them current again.
RETIRED, ARCHIVED = 1, 2
# A memory that comes without a record of its use, from a clone or a copy, begins as if it had been read so long ago,
# unless it was changed later: most begin dormant, and none has to be looked for among the archived ones at once.
_UNKNOWN_DAYS = 30
# How many documents of an earlier version become current in one transaction.
_BATCH = 200

# Accesses to restore, by uuid: the count, and the time of the last one in microseconds.
States = Mapping[str, tuple[int, int]]
NO_STATES: States = {}


# By how much the fading of an item is put off in all, and since when.
Loan = dict[str, int]

# Documents of archived memories that may become active, prepared before the transaction that decides. Preparing one may
# call an embedding model, and a transaction must not wait for that.
Revivable = Mapping[int, Prepared]
_NOTHING_READY: Revivable = {}


def strength_of(row: Row, now: datetime, access: tuple[int, int] | None = None) -> float:
    """Compute the strength of a memory from its row, or with other accesses than the row has."""
    if row["in_vault"] or row["pinned"]:
        return VAULT_STRENGTH
    count, begin = (row["count"] or 0, read_at(row) + (row["lent"] or 0)) if access is None else access
    days = max(0, _micros(now) - begin) / _MICROS_A_DAY
    return strength_after_days(row["importance"], days, count, weight_of(row["type"]))


def read_at(row: Row) -> int:
    """Return when a memory was last read, as far as is known; whoever changed its file had it before their eyes."""
    # A pin or a verdict creates the row of its accesses, too, without a time.
    last: int = row["last_at"] or max(row["created"], row["updated"])
    return last


def loans_to(rows: Iterable[Row], now: datetime) -> list[Loan]:
    """Decide what is lent to memories that a recall has used; less than a day is not worth a write."""
    loans: list[Loan] = []
    for row in rows:
        days, lent = (_micros(now) - read_at(row)) / _MICROS_A_DAY, (row["lent"] or 0) / _MICROS_A_DAY
        if (whole := lent_days(days, lent)) - lent >= 1:
            loans.append({"item": row["id"], "lent": int(whole * _MICROS_A_DAY), "since": row["last_at"] or 0})
    return loans


def lend(unit: Unit, loans: Sequence[Loan]) -> None:
    """Put off the fading of memories, except of those that somebody has read in the meantime."""
    unit.many("graph.access_lend", loans)


def begin_fading(unit: Unit, memories: Iterable[tuple[int, datetime]], now: datetime) -> None:
    """Give memories that are new here a time from which they fade: their id, and when their file was last changed."""
    earliest = _micros(now) - _UNKNOWN_DAYS * _MICROS_A_DAY
    unit.many(
        "graph.access_begin", [{"item": item, "at": earliest} for item, at in memories if to_micros(at) < earliest]
    )


def ask_archived(unit: Unit, ids: Ids, now: datetime) -> Callable[[], frozenset[int]]:
    """Ask which candidates of a search are archived memories, by the strength that they have now."""
    rows = unit.ask("graph.memory_of", ids=ids)
    return lambda: frozenset(row["id"] for row in rows.get() if is_archived(row, now))


# A recall weighs thousands of memories with the same `now`, so the conversion is cached.
_micros = lru_cache(maxsize=4)(to_micros)


def is_archived(row: Row, now: datetime, access: tuple[int, int] | None = None) -> bool:
    """Check whether a memory has decayed so far that it ranks below others, and is left out where nobody asked."""
    return vigour(strength_of(row, now, access)) is Vigour.ARCHIVED


def restored_access(row: Row, states: States) -> tuple[int, int] | None:
    """Return a memory's access count and last access as they will be after `states`; None if it is not in them."""
    if (state := states.get(row["uuid"])) is None:
        return None
    count, at = state
    return max(count, row["count"] or 0), max(at, row["last_at"]) if row["count"] else at


def prepare_revival(graph: OpenGraph, rows: Iterable[Row], states: States = NO_STATES) -> Revivable:
    """Prepare the retired documents of memories that will be active again. Call it outside a transaction."""
    now = graph.op.now
    archived = [row for row in rows if row["archived"] == RETIRED]
    ids = [row["id"] for row in archived if not is_archived(row, now, restored_access(row, states))]
    return _prepared(graph, ids)


def _prepared(graph: OpenGraph, ids: Sequence[int]) -> Revivable:
    if not ids:
        return _NOTHING_READY
    with graph.op.read() as unit:
        documents = graph.op.index.documents(unit, ids)
    return {item: graph.op.index.prepare([document]) for item, document in documents.items()}


def update_archive(
    unit: Unit, index: Index, ids: Sequence[int], now: datetime, ready: Revivable = _NOTHING_READY
) -> tuple[int, int]:
    """Note which memories have decayed so far that they are archived, and which are so no longer; returns how many.

    A document that an earlier version retired becomes current if it is `ready`, else with the next decay run.
    """
    rows = unit.all("graph.memory_of", ids=list(ids))
    crossed = [row for row in rows if is_archived(row, now) != bool(row["archived"])]
    decayed = [row["id"] for row in crossed if not row["archived"]]
    revived = [row["id"] for row in crossed if row["archived"] == ARCHIVED or row["id"] in ready]
    for item in revived:
        if item in ready:
            index.revive(unit, [item], ready[item], now)
    unit.send("graph.memory_archive", ids=decayed, archived=ARCHIVED)
    unit.send("graph.memory_archive", ids=revived, archived=0)
    return len(decayed), len(revived)


def decay(graph: OpenGraph) -> Decayed:
    """Note which memories have decayed so far that they are archived, and which are used again."""
    op, now = graph.op, graph.op.now
    with op.read() as unit:
        rows = unit.all("graph.memory_strengths", graph=graph.id)
    weighed = [(row, vigour(strength_of(row, now))) for row in rows]
    counts = Counter(each.value for _, each in weighed)
    crossing = [row for row, each in weighed if (each is Vigour.ARCHIVED) != bool(row["archived"])]
    _make_current(graph, [row["id"] for row, each in weighed if row["archived"] == RETIRED and each is Vigour.ARCHIVED])
    ready = prepare_revival(graph, crossing)
    with op.write("graph.decay") as transaction:
        unit = transaction.unit
        archived, revived = update_archive(unit, op.index, [row["id"] for row in crossing], now, ready)
        unit.send("graph.graph_decayed", id=graph.id, at=to_micros(now))
        if archived or revived:
            transaction.event(graph=graph.id, archived=archived, revived=revived)
    return Decayed(counts={each.value: counts[each.value] for each in Vigour}, archived=archived, revived=revived)


def _make_current(graph: OpenGraph, ids: Sequence[int]) -> None:
    """Make documents current that an earlier version retired with their memories, which stay archived."""
    for start in range(0, len(ids), _BATCH):
        ready = _prepared(graph, ids[start : start + _BATCH])
        with graph.op.write("graph.decay") as transaction:
            for item, prepared in ready.items():
                graph.op.index.revive(transaction.unit, [item], prepared, transaction.at)
            transaction.unit.send("graph.memory_archive", ids=list(ready), archived=ARCHIVED)
