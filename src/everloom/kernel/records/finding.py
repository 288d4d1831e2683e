"""Searching the records of a program by meaning: the one search, bounded to a namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from everloom.clock import to_micros
from everloom.kernel.records.paths import bounds
from everloom.kernel.records.records import ProgramRecord, Records, record_from
from everloom.kernel.search import ALONE, Hit, Recipe
from everloom.store import Ids, Row, Unit

# Up to so many are ranked one by one. A search of everything would look for them among what others keep.
FEW = 500
_MOST_HITS = 1_000
_LONGEST_CUE = 20_000
Allowed = Callable[[ProgramRecord], bool]


def find_records(
    records: Records, prefix: Sequence[str], cue: str, limit: int, allowed: Allowed, recipe: Recipe = ALONE
) -> list[tuple[ProgramRecord, Hit]]:
    """Find records below a path that have a document, best match first; each is found by itself, also among equals."""
    now, path = to_micros(records.op.now), bounds(prefix)

    def admitted(rows: Iterable[Row]) -> dict[int, ProgramRecord]:
        mine = (row for row in rows if row["space"] == records.space and path["low"] <= row["namespace"] < path["high"])
        return {row["item_id"]: found for row in mine if allowed(found := record_from(row))}

    def where(unit: Unit, ids: Ids) -> Callable[[], AbstractSet[int]]:
        rows = unit.ask("records.record_of_items", ids=ids, now=now)
        return lambda: admitted(rows.get()).keys()

    with records.op.read() as unit:
        rows = unit.all("records.record_items", space=records.space, **path, now=now, limit=FEW + 1)
        ids = [row["item_id"] for row in rows]
        few = [*admitted(unit.last("records.record_of_items", ids=ids, now=now))] if len(ids) <= FEW else None
    if few == []:
        return []
    how = {"among": few} if few is not None else {"where": where}
    found = records.op.search(cue[:_LONGEST_CUE], limit=min(limit, _MOST_HITS), recipe=recipe, **how)
    # What says the same as a hit is folded under it; here each one is a record of its own.
    told = {item: hit for hit in reversed(found.hits) for item in (*hit.also, hit.id)}
    order = [item for hit in found.hits for item in (hit.id, *hit.also)]
    with records.op.read() as unit:
        known = admitted(unit.last("records.record_of_items", ids=order, now=now))
    return [(known[item], told[item]) for item in dict.fromkeys(order) if item in known][:limit]
