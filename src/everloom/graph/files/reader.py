"""Looking at one file: what it is, what it says, or on which line it goes wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from everloom.errors import EverloomError
from everloom.graph.files.disk import Disk, Entry, digest
from everloom.graph.files.frontmatter import Sheet, Unreadable, cut
from everloom.graph.files.names import CONFLICT
from everloom.graph.files.parser import read_edge, read_memory
from everloom.graph.kinds import EDGES, MEMORIES, VAULT
from everloom.graph.results import Edge, Memory, Problem


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was just looked at: `content` is None when it is gone."""

    path: str
    entry: Entry | None
    hash: str
    content: Memory | Edge | Problem | None


def look(disk: Disk, path: str) -> Seen:
    """Read a file and understand it."""
    try:
        found = disk.look(path)
    except EverloomError as error:
        return Seen(path, Entry(path, 0, 0), "", Problem(path, None, error.message))
    if found is None:
        return Seen(path, None, "", None)
    entry, data = found
    return Seen(path, entry, digest(data) or "", understood(path, data, entry))


def understood(path: str, data: bytes, entry: Entry) -> Memory | Edge | Problem:
    """Read what a file says."""
    if CONFLICT in PurePosixPath(path).name:
        return Problem(path, None, "two changes met: compare this copy with the file beside it, then remove it")
    modified = datetime.fromtimestamp(entry.mtime_ns // 1_000_000_000, UTC)
    try:
        sheet = cut(data)
        return read_edge(sheet, path, modified) if is_edge(path) else read_memory(sheet, path, modified)
    except Unreadable as error:
        return Problem(path, error.line, error.reason)


def is_edge(path: str) -> bool:
    """Say whether a path is that of an edge."""
    return path.startswith(f"{EDGES}/")


def is_followed(path: str) -> bool:
    """Say whether a file belongs into the index."""
    return path.endswith(".md") and path.startswith((f"{MEMORIES}/", f"{VAULT}/"))


def problems_in(seen: Iterable[Seen]) -> tuple[Problem, ...]:
    """List what could not be understood."""
    return tuple(each.content for each in seen if isinstance(each.content, Problem))


def opened(disk: Disk, path: str) -> tuple[bytes, Sheet, datetime]:
    """Read a file that is about to be changed; refuse one that is not as it should be."""
    found = disk.look(path)
    if found is None:
        raise Unreadable(f"{path} is not there any more")
    entry, data = found
    try:
        return data, cut(data), datetime.fromtimestamp(entry.mtime_ns // 1_000_000_000, UTC)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error.reason}", error.line) from None


def open_memory(disk: Disk, path: str) -> tuple[bytes, Sheet, Memory]:
    """Read a memory from its file, for a change."""
    data, sheet, modified = opened(disk, path)
    try:
        return data, sheet, read_memory(sheet, path, modified)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error.reason}", error.line) from None


def open_edge(disk: Disk, path: str) -> tuple[bytes, Sheet, Edge]:
    """Read an edge from its file, for a change."""
    data, sheet, modified = opened(disk, path)
    try:
        return data, sheet, read_edge(sheet, path, modified)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error.reason}", error.line) from None
