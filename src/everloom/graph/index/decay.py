"""How alive a memory is, and what follows: what faded leaves the present, what was used again comes back.

The formula is the kernel's; a memory that was never read counts from its creation. The strength is computed when it is
asked for, so no answer waits for a decay; a decay only settles which documents are of the present.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from everloom.clock import from_micros, to_micros
from everloom.graph.kinds import weight_of
from everloom.kernel.lifecycle import VAULT_STRENGTH, Vigour, strength_after_days, vigour
from everloom.kernel.search import Document, Index, Standing
from everloom.store import Row, Unit

MICROS_A_DAY = 86_400_000_000
# An archived document is retired at the end of time: gone from the present, and still found as of any day before.
END = datetime(9999, 1, 1, tzinfo=UTC)


def strength_of(row: Row, now: datetime) -> float:
    """Weigh a memory by its row and its accesses."""
    if row["in_vault"] or row["pinned"]:
        return VAULT_STRENGTH
    count = row["count"] or 0
    last = row["last_at"] if count else row["created"]
    days = max(0, to_micros(now) - last) / MICROS_A_DAY
    return strength_after_days(row["importance"], days, count, weight_of(row["type"]))


def is_archived(row: Row, now: datetime) -> bool:
    """Say whether a memory has faded so far that nobody sees it unasked."""
    return vigour(strength_of(row, now)) is Vigour.ARCHIVED


def settle(unit: Unit, index: Index, rows: Iterable[Row], now: datetime) -> tuple[int, int]:
    """Take what faded out of the present and bring back what did not; say how many of each."""
    faded: list[int] = []
    fresh: list[int] = []
    for row in rows:
        if is_archived(row, now) != bool(row["archived"]):
            (fresh if row["archived"] else faded).append(row["id"])
    if faded:
        index.retire(unit, faded, None, END)
        unit.run("graph.memory_archive", ids=faded, archived=1)
    revive(unit, index, fresh, now)
    return len(faded), len(fresh)


def revive(unit: Unit, index: Index, ids: Sequence[int], now: datetime) -> None:
    """Bring documents back into the present, with their words and vectors."""
    if not ids:
        return
    unit.unindex_words(ids)
    unit.run("graph.document_revive", ids=ids)
    unit.index_words(ids)
    for row in unit.all("words.document_of", ids=ids):
        index.revise(unit, row["item_id"], index.prepare([document_from(row)]), now)
    unit.run("graph.memory_archive", ids=ids, archived=0)


def document_from(row: Row) -> Document:
    """Read a document back from its row."""
    return Document(
        kind=row["kind"],
        title=row["title"],
        text=row["text"],
        context=row["context"],
        labels=tuple(json.loads(row["labels"])),
        standing=Standing(row["standing"]),
        confidence=row["confidence"],
        model_tier=row["model_tier"],
        session_id=row["session_id"],
        happened_at=from_micros(row["happened_at"]),
    )
