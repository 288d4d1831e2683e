"""Reads every text of a workspace for secrets that were stored before they were recognised, or with `warn`.

Reads tables as they are, so that nothing that any faculty stores is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from everloom.kernel.operation import Operation
from everloom.secrets import spans_in
from everloom.store.migrations import workspace_tables
from everloom.wiring.review import StoredSecret

# Derived from the texts beside them: whatever is done about those is done about these.
_DERIVED = frozenset({"words", "context_words", "haystack", "content_hash", "digest", "name_key", "term"})
# What names the item of a row, in this order.
_IDS = ("id", "item_id", "note_id", "memory_id", "target_id")


def find_stored(op: Operation) -> Iterator[StoredSecret]:
    """Find secrets in the rows of a workspace."""
    with op.read() as unit:
        for table in workspace_tables(op.store.engine):
            for row in unit.rows_of(table):
                yield from _found_in(table, row)


def _found_in(table: str, row: Mapping[str, Any]) -> Iterator[StoredSecret]:
    item = next((row[name] for name in _IDS if isinstance(row.get(name), int)), None)
    for field, value in row.items():
        if isinstance(value, str) and field not in _DERIVED:
            for kind in dict.fromkeys(span.kind for span in spans_in(value)):
                yield StoredSecret(kind=kind, table=table, id=item, field=field)
