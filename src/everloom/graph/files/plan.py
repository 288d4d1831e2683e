"""What an operation will do to files, as a value: puts, drops and appends, with the state that each expects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from everloom.graph.files.disk import digest


@dataclass(frozen=True, slots=True)
class Put:
    """Write a file whole; `before` is the hash of what is there now, None for nothing."""

    path: str
    before: str | None
    after: str
    data: bytes | None = None

    @staticmethod
    def of(path: str, before: bytes | None, data: bytes) -> Put:
        """Plan to write a file whose present bytes are known."""
        return Put(path, digest(before), digest(data) or "", data)


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a file that has this hash."""

    path: str
    before: str

    @staticmethod
    def of(path: str, before: bytes) -> Drop:
        """Plan to remove a file whose present bytes are known."""
        return Drop(path, digest(before) or "")


@dataclass(frozen=True, slots=True)
class Append:
    """Add a text to a file that has this size; whatever others added meanwhile stays before it."""

    path: str
    size: int
    text: str


Change = Put | Drop | Append


@dataclass(frozen=True, slots=True)
class Plan:
    """One operation: what it is called, its changes in order, and what the journal and git will say of it.

    `states` are accesses to restore, by uuid: how often, and when last (microseconds).
    """

    operation: str
    message: str
    changes: tuple[Change, ...]
    detail: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    is_committed: bool = True

    @property
    def paths(self) -> list[str]:
        """List the files that it touches."""
        return list(dict.fromkeys(change.path for change in self.changes))

    def as_json(self) -> str:
        """Write it for the store; the bytes of puts are staged on disk, by their position."""
        rows = [row_of(change) for change in self.changes]
        whole = {"operation": self.operation, "message": self.message, "changes": rows, "detail": dict(self.detail)}
        return json.dumps({**whole, "states": dict(self.states), "commit": self.is_committed}, ensure_ascii=False)


def row_of(change: Change) -> list[Any]:
    """Write one change as a list that JSON can hold."""
    match change:
        case Put():
            return ["put", change.path, change.before, change.after]
        case Drop():
            return ["drop", change.path, change.before]
        case Append():
            return ["append", change.path, change.size, change.text]


def change_from(row: list[Any]) -> Change:
    """Read one change back."""
    kind, path, *values = row
    match kind:
        case "put":
            return Put(path, *values)
        case "drop":
            return Drop(path, *values)
        case _:
            return Append(path, *values)


def plan_from(text: str) -> Plan:
    """Read a plan back."""
    data = json.loads(text)
    changes = tuple(change_from(row) for row in data["changes"])
    states = {uuid: (count, at) for uuid, (count, at) in data["states"].items()}
    return Plan(data["operation"], data["message"], changes, data["detail"], states, data["commit"])
