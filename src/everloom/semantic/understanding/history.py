"""The versions of an understanding: its words over time, without what they rest on."""

from __future__ import annotations

from everloom.kernel.operation import Operation
from everloom.semantic import arguments
from everloom.semantic.evidence.records import ancestors_of, need_items
from everloom.semantic.views import UnderstandingVersion
from everloom.store import value_from


def list_versions(
    op: Operation, understanding_id: int, limit: int, before: int | None = None
) -> tuple[UnderstandingVersion, ...]:
    """List an understanding and what it superseded, newest first; with `before`, what is older than one of them."""
    most, start = arguments.limit(limit, 200), arguments.one_id(understanding_id, "understanding_id")
    with op.read() as unit:
        need_items(unit, "understanding", [start])
        # History is a tree, and what is older than a version may be anywhere in it.
        found = ancestors_of(unit, start, most) if before is None else ancestors_of(unit, start)
        ids = sorted((each for each in found if before is None or each < before), reverse=True)[:most]
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
