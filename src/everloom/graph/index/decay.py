"""The strength of memories: those that have decayed are archived, those that are used again become active.

The formula is the kernel's; for a memory that was never read, time counts from its creation. Strength is computed on
demand, so results never depend on the last decay run; a run only updates which documents search covers by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from everloom.clock import to_micros
from everloom.graph.kinds import KINDS
from everloom.graph.results import Decayed
from everloom.kernel.lifecycle import VAULT_STRENGTH, Vigour, strength_after_days, vigour
from everloom.kernel.search import Index, Prepared
from everloom.store import Row, Unit

if TYPE_CHECKING:
    from everloom.graph.index.catalog import OpenGraph

_MICROS_A_DAY = 86_400_000_000
# An archived document is retired as of the end of time: a search of the present does not cover it, and a search as of
# any earlier moment does. That is how `archived=True` finds it without a second index.
_END = datetime(9999, 1, 1, tzinfo=UTC)

# Accesses to restore, by uuid: the count, and the time of the last one in microseconds.
States = Mapping[str, tuple[int, int]]
NO_STATES: States = {}


# Documents of archived memories that may become active, prepared before the transaction that decides. Preparing one may
# call an embedding model, and a transaction must not wait for that.
Revivable = Mapping[int, Prepared]
_NOTHING_READY: Revivable = {}


def strength_of(row: Row, now: datetime, access: tuple[int, int] | None = None) -> float:
    """Compute the strength of a memory from its row, or with other accesses than the row has."""
    if row["in_vault"] or row["pinned"]:
        return VAULT_STRENGTH
    count, last_at = access or (row["count"] or 0, row["last_at"])
    days = max(0, _micros(now) - (last_at if count else row["created"])) / _MICROS_A_DAY
    return strength_after_days(row["importance"], days, count, KINDS[row["type"]].weight)


# A recall weighs thousands of memories with the same `now`, so the conversion is cached.
_micros = lru_cache(maxsize=4)(to_micros)


def is_archived(row: Row, now: datetime, access: tuple[int, int] | None = None) -> bool:
    """Check whether a memory has decayed so far that it is left out unless asked for."""
    return vigour(strength_of(row, now, access)) is Vigour.ARCHIVED


def restored_access(row: Row, states: States) -> tuple[int, int] | None:
    """Return a memory's access count and last access as they will be after `states`; None if it is not in them."""
    if (state := states.get(row["uuid"])) is None:
        return None
    count, at = state
    return max(count, row["count"] or 0), max(at, row["last_at"]) if row["count"] else at


def prepare_revival(graph: OpenGraph, rows: Iterable[Row], states: States = NO_STATES) -> Revivable:
    """Prepare the documents of memories that will be active again. Call it outside a transaction."""
    now, index = graph.op.now, graph.op.index
    archived = [row for row in rows if row["archived"]]
    ids = [row["id"] for row in archived if not is_archived(row, now, restored_access(row, states))]
    if not ids:
        return _NOTHING_READY
    with graph.op.read() as unit:
        documents = index.documents(unit, ids)
    return {item: index.prepare([document]) for item, document in documents.items()}


def update_archive(
    unit: Unit, index: Index, ids: Sequence[int], now: datetime, ready: Revivable = _NOTHING_READY
) -> tuple[int, int]:
    """Archive memories that have decayed, and restore archived ones that have not; returns how many of each.

    A memory that was archived after `ready` was prepared is restored by the next decay run.
    """
    rows = unit.all("graph.memory_of", ids=list(ids))
    crossed = [row for row in rows if is_archived(row, now) != bool(row["archived"])]
    decayed = [row["id"] for row in crossed if not row["archived"]]
    if decayed:
        index.retire(unit, decayed, None, _END)
        unit.run("graph.memory_archive", ids=decayed, archived=1)
    revived = [row["id"] for row in crossed if row["archived"] and row["id"] in ready]
    for item in revived:
        index.revive(unit, [item], ready[item], now)
    unit.run("graph.memory_archive", ids=revived, archived=0)
    return len(decayed), len(revived)


def decay(graph: OpenGraph) -> Decayed:
    """Archive the memories that have decayed, and restore those that are used again."""
    op, now = graph.op, graph.op.now
    with op.read() as unit:
        rows = unit.all("graph.memory_strengths", graph=graph.id)
    weighed = [(row, vigour(strength_of(row, now))) for row in rows]
    counts = Counter(each.value for _, each in weighed)
    crossing = [row for row, each in weighed if (each is Vigour.ARCHIVED) != bool(row["archived"])]
    ready = prepare_revival(graph, crossing)
    with op.write("graph.decay") as transaction:
        unit = transaction.unit
        archived, revived = update_archive(unit, op.index, [row["id"] for row in crossing], now, ready)
        unit.run("graph.graph_decayed", id=graph.id, at=to_micros(now))
        if archived or revived:
            transaction.event(graph=graph.id, archived=archived, revived=revived)
    return Decayed(counts={each.value: counts[each.value] for each in Vigour}, archived=archived, revived=revived)
