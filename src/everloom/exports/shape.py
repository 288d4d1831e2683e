"""What of a workspace travels: which tables and which of their columns, and why the others stay behind.

Decides, and touches nothing. A table that is not named here as left out is exported, with every column that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from everloom.store.migrations import columns_of_table, workspace_tables

FORMAT = "everloom-export"
FORMAT_VERSION = 1

# Each with the reason, which docs/export.md repeats.
LEFT_OUT: Mapping[str, str] = {
    "workspace": "in workspace.json, without its id: every store gives its own",
    "store_identity": "every store is itself",
    "counter": "every store counts for itself, above the ids that arrive",
    "workspace_counter": "every store counts for itself, above the ids that arrive",
    "write_lock": "only for writers that wait for each other",
    "model": "named beside each vector",
    "embedding": "made again from the texts, unless vectors are asked for",
    "posting": "made again from the documents",
    "term": "made again from the documents",
    "tally": "made again from the documents",
    "vector_gone": "only for processes that hold vectors in memory",
    "due": "found again by the audit of what arrives",
    "graph_intent": "what is under way in a graph is finished before it is exported",
    "token": "access to a store is given by whoever owns it",
    "party_grant": "access between workspaces of one store is given by whoever owns it",
    "hand_tool": "which tools of other programs are allowed is decided where they run",
    "hand_server": "which servers of tools are reached is decided where they run",
    "calibration": "in store/calibration.jsonl, with an export of the whole store",
    "system_prompt": "made again from the notes",
}
# With vectors, these travel too.
VECTORS = "embedding"
CALIBRATION = "calibration"

# What an import leaves behind unless it is said to be one's own export, each with the reason: rows by which a program
# acts, or counts as allowed to. Whoever wrote the folder may have written anything into them.
DECISIONS: Mapping[str, str] = {
    "action": "what an agent may do is decided where it is done",
    "held": "writes that wait for review are decided where they were made",
    "scheduled": "only a person or an agent here plans messages",
    "contact": "where a person is reached is learnt from messages that arrive here",
}
# What may still be done is left behind in any case: a copy would do it a second time.
_OPEN_ACTIONS = frozenset({"waiting", "approved", "running"})

_EVERYWHERE = frozenset({"workspace_id", "checksum"})
# What an engine or a place decides anew.
_COLUMNS: Mapping[str, frozenset[str]] = {
    "document": frozenset({"words", "context_words", "embedded_by"}),
    "cluster": frozenset({"vector", "vector_model"}),
    "graph": frozenset({"directory"}),
    "lease": frozenset({"holder", "token", "held_until"}),
    "job": frozenset({"holder", "held_until"}),
    "contact": frozenset({"holder", "reached_until"}),
    "embedding": frozenset({"model_id", "revision"}),
}
# What stands in columns that did not travel and may not be null.
STAND_INS: Mapping[str, Mapping[str, int | str | None]] = {
    "cluster": {"vector": None, "vector_model": 0},
    "lease": {"holder": None, "token": 0, "held_until": 0},
    "job": {"holder": "", "held_until": 0},
    "contact": {"holder": "", "reached_until": 0},
}
# In which columns ids are that no new row may have.
IDS: Mapping[str, tuple[str, ...]] = {
    "item": ("id",),
    "job": ("id", "changed"),
    "tombstone": ("item_id",),
    "deed": ("id",),
    "action": ("id",),
}


@cache
def exported_tables(*, vectors: bool = False) -> tuple[str, ...]:
    """List the tables of a workspace that are exported, in the order in which rows find what they refer to."""
    names = [name for name in workspace_tables("sqlite") if name not in LEFT_OUT]
    return tuple([*names, VECTORS] if vectors else names)


@cache
def exported_columns(table: str) -> dict[str, str]:
    """List the columns of a table that are exported, in order, each with its type."""
    left = _EVERYWHERE | _COLUMNS.get(table, frozenset())
    return {name: kind for name, kind in columns_of_table(table).items() if name not in left}


def reason_to_leave(table: str, row: Mapping[str, object], *, is_own: bool) -> str | None:
    """Return why an import leaves a row behind; None if it comes in."""
    if table == "action" and row.get("state") in _OPEN_ACTIONS:
        return "an action that is not finished can only be done where it was asked for"
    return None if is_own else DECISIONS.get(table)


def is_worth_keeping(table: str, row: Mapping[str, object]) -> bool:
    """Say whether a row tells anything; the lease of a task that never ran does not, nor does a blank vector.

    An action that is about to be done stays where it is: a copy would do it a second time.
    """
    if table == "action":
        return row["state"] not in {"approved", "running"}
    if table == "lease":
        return row["last_run_at"] is not None or bool(row["failures"])
    return table != VECTORS or any(cast("bytes", row["vector"]))
