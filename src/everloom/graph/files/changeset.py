"""What an operation does to files: gathered in a changeset, written down as a plan, a value that outlives a crash.

Every file is read fresh, so what an operation changes is what is there and not what the index remembers. Refuses to
touch the disk: `index/executor.py` carries a plan out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from everloom.graph.files.disk import Disk, digest
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile
from everloom.graph.files.parser import open_file
from everloom.graph.files.render import render_file, revise_file
from everloom.graph.results import Edge, Memory

ContentT = TypeVar("ContentT", bound=Memory | Edge)


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


FileChange = Put | Drop | Append
_KINDS: Mapping[str, Callable[..., FileChange]] = {"put": Put, "drop": Drop, "append": Append}


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One operation: what it is called, its changes in order, and what the journal and git will say of it.

    It is the intent that the store keeps while files change: everything that another process needs to end it, but for
    the new bytes, which are staged on the disk. `states` are accesses to restore, by uuid: how often, and when last in
    microseconds.
    """

    operation: str
    message: str
    changes: tuple[FileChange, ...]
    detail: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    is_committed: bool = True

    @property
    def paths(self) -> list[str]:
        """List the files that it touches."""
        return list(dict.fromkeys(change.path for change in self.changes))

    def as_json(self) -> str:
        """Write it for the store; the bytes of puts are staged on disk, by their position."""
        rows = [_row(change) for change in self.changes]
        whole = {"operation": self.operation, "message": self.message, "changes": rows, "detail": dict(self.detail)}
        return json.dumps({**whole, "states": dict(self.states), "commit": self.is_committed}, ensure_ascii=False)


def _row(change: FileChange) -> list[Any]:
    """Write one change as a list that JSON can hold: its kind, and all but its bytes."""
    values = [getattr(change, each.name) for each in fields(change) if each.name != "data"]
    return [type(change).__name__.lower(), *values]


def plan_from(text: str) -> FilePlan:
    """Read a plan back."""
    data = json.loads(text)
    changes = tuple(_KINDS[kind](*values) for kind, *values in data["changes"])
    states = {uuid: (count, at) for uuid, (count, at) in data["states"].items()}
    return FilePlan(data["operation"], data["message"], changes, data["detail"], states, data["commit"])


@dataclass(slots=True)
class _Draft:
    """A file that is being changed: its bytes on the disk, what it said, and what it is to say (None: remove it)."""

    before: bytes | None
    file: MarkdownFile | None
    said: Memory | Edge | None
    says: Memory | Edge | None

    def data(self) -> bytes:
        """Write what the file is to say; what did not change keeps its bytes."""
        if self.says is None:
            return b""
        if self.file is None or self.said is None:
            return render_file(self.says)
        return revise_file(self.file, self.said, self.says)


class Changeset:
    """The files of one operation, changed in memory first."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._drafts: dict[str, _Draft] = {}

    def read(self, path: str, kind: type[ContentT]) -> ContentT:
        """Read a memory or an edge as this operation leaves it."""
        if path not in self._drafts:
            data, file, content = open_file(self._disk, path)
            self._drafts[path] = _Draft(data, file, content, content)
        says = self._drafts[path].says
        if not isinstance(says, kind):
            raise UnreadableFile(f"{path} is not {'an edge' if kind is Edge else 'a memory'} any more")
        return says

    def put(self, content: Memory | Edge) -> None:
        """Let a file say this; one that was not read before is new, and its path must be free."""
        self._drafts.setdefault(content.path, _Draft(None, None, None, None)).says = content

    def move(self, memory: Memory, target: str) -> Memory:
        """Move a memory to another place, with its bytes."""
        draft, moved = self._drafts[memory.path], replace(memory, path=target)
        said = None if draft.said is None else replace(draft.said, path=target)
        self._drafts[target] = _Draft(None, draft.file, said, moved)
        draft.says = None
        return moved

    def remove(self, path: str) -> None:
        """Remove a file, whatever it says."""
        if path in self._drafts and self._drafts[path].before is None:
            del self._drafts[path]
            return
        data = self._disk.read(path)
        if data is not None:
            self._drafts[path] = _Draft(data, None, None, None)

    def is_taken(self, path: str) -> bool:
        """Say whether a path is used, on the disk or by this operation."""
        return path in self._drafts or self._disk.exists(path)

    def changes(self) -> tuple[FileChange, ...]:
        """List what must be done. New contents come first and removals last: a move never has no file at all."""
        puts: list[FileChange] = []
        drops: list[FileChange] = []
        for path, draft in self._drafts.items():
            if draft.says is None:
                if draft.before is not None:
                    drops.append(Drop.of(path, draft.before))
            elif (data := draft.data()) != draft.before:
                puts.append(Put.of(path, draft.before, data))
        return (*puts, *drops)
