"""The file changes of one operation: collected in a changeset, then written as a plan that survives a crash.

Every file is read from the disk, so that an operation changes the current text and not what the index remembers.
Refuses to write: `index/executor.py` carries out a plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from everloom.errors import Rejected
from everloom.graph.files.disk import LARGEST, Disk, digest
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile, split_file
from everloom.graph.files.parser import open_file
from everloom.graph.files.render import render_file, revise_file
from everloom.graph.results import Edge, Memory
from everloom.kernel.once import Receipt

ContentT = TypeVar("ContentT", bound=Memory | Edge)


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole file; `before` is the hash of the current file, None if there is none."""

    path: str
    before: str | None
    after: str
    data: bytes | None = None

    @staticmethod
    def of(path: str, before: bytes | None, data: bytes) -> Put:
        """Plan to write a file whose current bytes are known."""
        return Put(path, digest(before), digest(data) or "", data)


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a file that has this hash."""

    path: str
    before: str

    @staticmethod
    def of(path: str, before: bytes) -> Drop:
        """Plan to remove a file whose current bytes are known."""
        return Drop(path, digest(before) or "")


@dataclass(frozen=True, slots=True)
class Append:
    """Append a text to a file that had this size when planned; anything added since then stays before it."""

    path: str
    size: int
    text: str


FileChange = Put | Drop | Append
_KINDS: Mapping[str, Callable[..., FileChange]] = {"put": Put, "drop": Drop, "append": Append}


@dataclass(frozen=True, slots=True)
class FilePlan:
    """One operation: its name, its changes in order, and the texts for the journal and for git.

    The store holds it as an intent while files change. It contains everything that another process needs to complete
    the operation, except the new bytes, which are staged on the disk. `states` are access counts to restore, by uuid:
    the count, and the time of the last access in microseconds.
    """

    operation: str
    message: str
    changes: tuple[FileChange, ...]
    detail: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    is_committed: bool = True
    # Kept with the index: whoever repeats the request finds it, also if another process completes the plan.
    receipt: Receipt | None = None

    @property
    def paths(self) -> list[str]:
        """List the files that the plan changes, each once."""
        return list(dict.fromkeys(change.path for change in self.changes))

    def as_json(self) -> str:
        """Encode the plan for the store, without the bytes of its puts."""
        rows = [_row(change) for change in self.changes]
        whole: dict[str, Any] = {
            "operation": self.operation,
            "message": self.message,
            "changes": rows,
            "detail": dict(self.detail),
        }
        kept = {} if self.receipt is None else {"receipt": asdict(self.receipt)}
        whole |= {"states": dict(self.states), "commit": self.is_committed, **kept}
        return json.dumps(whole, ensure_ascii=False)


def _row(change: FileChange) -> list[Any]:
    """Encode one change as a list: its kind, then its fields without the bytes."""
    # By position, not by name: a staged file is found again by the position of its change in the plan, so the order
    # of changes and of their fields is part of the stored format.
    values = [getattr(change, each.name) for each in fields(change) if each.name != "data"]
    return [type(change).__name__.lower(), *values]


def plan_from(text: str) -> FilePlan:
    """Decode a plan that the store holds."""
    data = json.loads(text)
    changes = tuple(_KINDS[kind](*values) for kind, *values in data["changes"])
    states = {uuid: (count, at) for uuid, (count, at) in data["states"].items()}
    kept = data.get("receipt")
    receipt = None if kept is None else Receipt(kept["key"], tuple(kept["request"]), kept["kept"])
    return FilePlan(data["operation"], data["message"], changes, data["detail"], states, data["commit"], receipt)


@dataclass(slots=True)
class _Draft:
    """A file in a changeset: its bytes on the disk, its content as read, and its new content (None removes it)."""

    before: bytes | None
    file: MarkdownFile | None
    said: Memory | Edge | None
    says: Memory | Edge | None

    def data(self) -> bytes:
        """Return the new bytes of the file; fields that did not change keep theirs."""
        if self.says is None:
            return b""
        if self.file is None or self.said is None:
            return render_file(self.says)
        # A note without an id gets one when it is first changed, and not by being read.
        if self.before is not None and replace(self.says, id=self.said.id) == self.said:
            return self.before
        return revise_file(self.file, self.said, self.says)


class Changeset:
    """The files of one operation, changed in memory before anything is written."""

    def __init__(self, disk: Disk, id_at: Callable[[str], str] = lambda _: "") -> None:
        self._disk = disk
        self._id_at = id_at
        self._drafts: dict[str, _Draft] = {}

    def read(self, path: str, kind: type[ContentT]) -> ContentT:
        """Read a memory or an edge, with the changes that this operation has made so far."""
        if path not in self._drafts:
            data, file, content = open_file(self._disk, path)
            # The id that the index has given a note is the one that it gets.
            known = content if content.id else replace(content, id=self._id_at(path))
            self._drafts[path] = _Draft(data, file, content, known)
        says = self._drafts[path].says
        if not isinstance(says, kind):
            raise UnreadableFile(f"{path} is no longer {'an edge' if kind is Edge else 'a memory'}")
        return says

    def put(self, content: Memory | Edge) -> None:
        """Set the content of a file; a file that was not read before is new, and its path must be free."""
        self._drafts.setdefault(content.path, _Draft(None, None, None, None)).says = content

    def move(self, content: ContentT, target: str) -> ContentT:
        """Move a memory or an edge to another path."""
        # The old file goes along as the basis of the new one, so that comments and unknown fields move with it.
        draft, moved = self._drafts[content.path], replace(content, path=target)
        said = None if draft.said is None else replace(draft.said, path=target)
        self._drafts[target] = _Draft(None, draft.file, said, moved)
        draft.says = None
        return moved

    def remove(self, path: str) -> None:
        """Remove a file without parsing it, so that an unreadable one can be removed, too."""
        # A file that this operation was about to create is simply not created.
        if path in self._drafts and self._drafts[path].before is None:
            del self._drafts[path]
            return
        data = self._disk.read(path)
        if data is not None:
            self._drafts[path] = _Draft(data, None, None, None)

    def real(self, path: str) -> str:
        """Return the path that the index gives a file: that of the real one, also in a folder that is a link."""
        return self._disk.real(path)

    def is_taken(self, path: str) -> bool:
        """Check whether a path is in use, on the disk or in this operation."""
        return path in self._drafts or self._disk.exists(path)

    def changes(self) -> tuple[FileChange, ...]:
        """List the changes to make, writes before removals."""
        # A move is a write and a removal. In this order a crash between the two leaves the memory twice, not nowhere.
        puts: list[FileChange] = []
        drops: list[FileChange] = []
        for path, draft in self._drafts.items():
            if draft.says is None:
                if draft.before is not None:
                    drops.append(Drop.of(path, draft.before))
            elif (data := draft.data()) != draft.before:
                puts.append(Put.of(path, draft.before, _readable(path, data)))
        return (*puts, *drops)


def _readable(path: str, data: bytes) -> bytes:
    """Return the bytes of a file if they can be read again; nothing is written that is too large for that."""
    if len(data) > LARGEST:
        raise Rejected(f"{path} would have {len(data):,} bytes", hint=f"split it: at most {LARGEST:,} are allowed")
    try:
        split_file(data)
    except UnreadableFile as error:
        raise Rejected(f"{path} could not be read again: {error.reason}", hint="shorten or change it") from None
    return data
