"""What was made from what: a hash of the inputs of each page, reflection and record of use that was last made.

As long as it is the same, nothing is made again: time alone changes no file, and an idle graph makes no commit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from everloom.store import Row, Unit

if TYPE_CHECKING:
    from everloom.graph.index.catalog import OpenGraph

_WRITTEN = ("uuid", "type", "title", "path", "tags", "importance", "created", "updated")
_USED = ("in_vault", "pinned", "count", "last_at", "lent")


def hash_memories(rows: Iterable[Row], *more: object, with_use: bool = True) -> str:
    """Hash everything about memories that can change a page, except the time; `more` are further inputs."""
    names = (*_WRITTEN, *_USED) if with_use else _WRITTEN
    # A memory that nobody has used has no row of accesses, or one with zeros: both mean the same.
    told = sorted([row[name] or 0 for name in names] for row in rows)
    return hashlib.sha256(json.dumps([told, more], ensure_ascii=False, default=str).encode()).hexdigest()


def is_made_from(graph: OpenGraph, what: str, inputs: str) -> bool:
    """Check whether something was last made from the same inputs."""
    with graph.op.read() as unit:
        return _made(unit, graph.id).get(what) == inputs


def note_inputs(unit: Unit, graph: int, what: str, inputs: str) -> None:
    """Record what something was made from."""
    made = {**_made(unit, graph), what: inputs}
    unit.send("graph.graph_made", id=graph, made_from=json.dumps(made, sort_keys=True))


def _made(unit: Unit, graph: int) -> dict[str, str]:
    row = unit.one("graph.graph_get", id=graph)
    made: dict[str, str] = {} if row is None else json.loads(row["made_from"])
    return made
