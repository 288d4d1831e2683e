"""How alive a memory is, and what follows: what decayed leaves the present, what was used again comes back.

The formula is the kernel's; a memory that was never read counts from its creation. The strength is computed when it is
asked for, so no answer waits for a decay; a decay only decides which documents are of the present.
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
# An archived document is retired at the end of time: gone from the present, and still found as of any day before.
_END = datetime(9999, 1, 1, tzinfo=UTC)

# Accesses to restore, by uuid: how often, and when last (microseconds).
States = Mapping[str, tuple[int, int]]
NO_STATES: States = {}


# Documents that may come back into the present, made ready before the transaction that decides.
Revivable = Mapping[int, Prepared]
_NOTHING_READY: Revivable = {}


def strength_of(row: Row, now: datetime, access: tuple[int, int] | None = None) -> float:
    """Weigh a memory by its row and its accesses, or as if its accesses were other ones."""
    if row["in_vault"] or row["pinned"]:
        return VAULT_STRENGTH
    count, last_at = access or (row["count"] or 0, row["last_at"])
    days = max(0, _micros(now) - (last_at if count else row["created"])) / _MICROS_A_DAY
    return strength_after_days(row["importance"], days, count, KINDS[row["type"]].weight)


# Thousands of memories are weighed at the same moment.
_micros = lru_cache(maxsize=4)(to_micros)


def is_archived(row: Row, now: datetime, access: tuple[int, int] | None = None) -> bool:
    """Say whether a memory has decayed so far that nobody sees it unasked."""
    return vigour(strength_of(row, now, access)) is Vigour.ARCHIVED


def restored_access(row: Row, states: States) -> tuple[int, int] | None:
    """Say how often and when last a memory was accessed once `states` are restored; None when they do not name it."""
    if (state := states.get(row["uuid"])) is None:
        return None
    count, at = state
    return max(count, row["count"] or 0), max(at, row["last_at"]) if row["count"] else at


def prepare_revival(graph: OpenGraph, rows: Iterable[Row], states: States = NO_STATES) -> Revivable:
    """Make ready what will be alive again. Call it outside a transaction: vectors take their time."""
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
    """Take what decayed out of the present and bring back what did not; say how many of each.

    What was archived only after `ready` was made waits for the next decay.
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
    """Weigh every memory; what decayed leaves the present, what was used again comes back."""
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
