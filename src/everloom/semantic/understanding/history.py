"""The versions of an understanding: its words over time, without what they rest on."""

from __future__ import annotations

from everloom.kernel.operation import Operation
from everloom.semantic import arguments
from everloom.semantic.evidence.records import ancestors_of, need_items
from everloom.semantic.views import UnderstandingVersion
from everloom.store import value_from


def list_versions(op: Operation, understanding_id: int, limit: int) -> tuple[UnderstandingVersion, ...]:
    """List an understanding and what it superseded, newest first."""
    most, start = arguments.limit(limit, 200), arguments.one_id(understanding_id, "understanding_id")
    with op.read() as unit:
        need_items(unit, "understanding", [start])
        ids = sorted(ancestors_of(unit, start, most), reverse=True)[:most]
        rows = unit.all("semantic.understanding_of", ids=ids)
    return tuple(
        value_from(
            UnderstandingVersion,
            row,
            summary=row["title"],
            content=row["text"],
            session_id=row["session"],
        )
        for row in sorted(rows, key=lambda row: -row["id"])
    )
