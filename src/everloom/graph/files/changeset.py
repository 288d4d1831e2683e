"""A workbench: files taken up from the disk, changed in the hand, and put down as one list of changes.

Every file is read fresh, so what an operation changes is what is there and not what the index remembers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from everloom.graph.files.disk import Disk
from everloom.graph.files.frontmatter import Sheet, Unreadable
from everloom.graph.files.parser import revised, revised_edge, written_edge, written_memory
from everloom.graph.files.plan import Change, Drop, Put
from everloom.graph.files.reader import open_edge, open_memory
from everloom.graph.results import Edge, Memory


@dataclass(slots=True)
class Held:
    """A file in the hand: as it lies on the disk, what it said, and what it is to say (None: nothing any more)."""

    before: bytes | None
    sheet: Sheet | None
    said: Memory | Edge | None
    says: Memory | Edge | None

    def data(self) -> bytes:
        """Write what the file is to say; what did not change keeps its bytes."""
        match self.says:
            case Memory() as memory:
                if self.sheet is None or not isinstance(self.said, Memory):
                    return written_memory(memory)
                return revised(self.sheet, self.said, memory).data
            case Edge() as edge:
                if self.sheet is None or not isinstance(self.said, Edge):
                    return written_edge(edge)
                return revised_edge(self.sheet, self.said, edge).data
            case None:
                return b""


class Bench:
    """The files of one operation."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._held: dict[str, Held] = {}

    def memory(self, path: str) -> Memory:
        """Take up a memory, or look at the one in the hand."""
        if path not in self._held:
            data, sheet, memory = open_memory(self._disk, path)
            self._held[path] = Held(data, sheet, memory, memory)
        return as_memory(self._held[path].says, path)

    def edge(self, path: str) -> Edge:
        """Take up an edge, or look at the one in the hand."""
        if path not in self._held:
            data, sheet, edge = open_edge(self._disk, path)
            self._held[path] = Held(data, sheet, edge, edge)
        says = self._held[path].says
        if not isinstance(says, Edge):
            raise Unreadable(f"{path} is not an edge any more")
        return says

    def change(self, path: str, change: Callable[[Memory], Memory]) -> Memory:
        """Change a memory in the hand."""
        changed = change(self.memory(path))
        self._held[path].says = changed
        return changed

    def change_edge(self, path: str, change: Callable[[Edge], Edge]) -> Edge:
        """Change an edge in the hand."""
        changed = change(self.edge(path))
        self._held[path].says = changed
        return changed

    def add(self, content: Memory | Edge) -> None:
        """Lay down a new file; its path must be free."""
        self._held[content.path] = Held(None, None, None, content)

    def move(self, path: str, target: str) -> None:
        """Lay a memory down in another place, with its bytes."""
        self.memory(path)
        held = self._held[path]
        moved = replace(as_memory(held.says, path), path=target)
        said = None if held.said is None else replace(held.said, path=target)
        self._held[target] = Held(None, held.sheet, said, moved)
        held.says = None

    def remove(self, path: str) -> None:
        """Take a file away, whatever it says."""
        if path in self._held and self._held[path].before is None:
            del self._held[path]
            return
        data = self._disk.read(path)
        if data is not None:
            self._held[path] = Held(data, None, None, None)

    def is_taken(self, path: str) -> bool:
        """Say whether a path is used, on the disk or in the hand."""
        return path in self._held or self._disk.exists(path)

    def changes(self) -> tuple[Change, ...]:
        """List what must be done: new contents first, removals last."""
        puts: list[Change] = []
        drops: list[Change] = []
        for path, held in self._held.items():
            if held.says is None:
                if held.before is not None:
                    drops.append(Drop.of(path, held.before))
            elif (data := held.data()) != held.before:
                puts.append(Put.of(path, held.before, data))
        return (*puts, *drops)


def as_memory(content: Memory | Edge | None, path: str) -> Memory:
    """Accept only a memory."""
    if not isinstance(content, Memory):
        raise Unreadable(f"{path} is not a memory any more")
    return content
