"""Reads back what an import left in a workspace."""

from __future__ import annotations

from everloom.loom import Workspace
from everloom.store import Row


def documents(workspace: Workspace, kind: str) -> list[Row]:
    """The documents of a kind, in the order in which they were stored."""
    with workspace.op.read() as unit:
        ids = [row["id"] for row in unit.all("forgetting.of_period", begin=-(2**62), end=2**62, limit=5_000)]
        rows = [row for row in unit.all("words.document_of", ids=ids) if row["kind"] == kind]
    return sorted(rows, key=lambda row: row["item_id"])


def turns(workspace: Workspace) -> list[tuple[str, str]]:
    """The turns of a workspace, each with the label of its session."""
    rows = documents(workspace, "turn")
    with workspace.op.read() as unit:
        found = unit.all("kernel.session_labels", ids=[row["session_id"] for row in rows])
    labels = {row["id"]: row["label"] for row in found}
    return [(row["text"], labels[row["session_id"]]) for row in rows]


def facts(workspace: Workspace) -> dict[str, set[str]]:
    """The observations of a workspace, each with its subjects."""
    found = {}
    for row in documents(workspace, "observation"):
        with workspace.op.read() as unit:
            tags = unit.all("semantic.observation_tags", ids=[row["item_id"]])
        found[row["text"]] = {tag["name"] for tag in tags}
    return found
