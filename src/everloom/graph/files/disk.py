"""One directory of files: reading, walking, and changing it one safe step at a time.

Every path is relative and stays inside, whatever links say. Knows nothing of memories. A step is whole or not done;
what makes several steps one operation is `operations/executor.py`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from everloom.errors import NotFound, Rejected, StoreError
from everloom.graph.kinds import MEMORIES, VAULT
from everloom.graph.results import Problem
from everloom.store.files import fsync_directory

HIDDEN = ".everloom"
LARGEST = 5_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file as a directory lists it."""

    path: str
    mtime_ns: int
    size: int


class Disk:
    """The directory of one graph."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def place(self, path: str) -> Path:
        """Turn a relative path into a real one; refuse one that leaves the directory, by itself or by a link."""
        pure = PurePosixPath(path)
        is_foreign = os.name == "nt" and any(char in path for char in "\\:")
        if not path or pure.is_absolute() or ".." in pure.parts or "\x00" in path or is_foreign:
            raise Rejected(f"the path {path!r} leaves the graph's directory", hint="use a path inside it")
        where = self.root / pure
        if not Path(os.path.realpath(where)).is_relative_to(self.root):
            raise Rejected(f"{path} is a link that leaves the graph's directory", hint="replace it by a file")
        return where

    def read(self, path: str) -> bytes | None:
        """Read a file; None when there is none."""
        found = self.look(path)
        return None if found is None else found[1]

    def look(self, path: str) -> tuple[Entry, bytes] | None:
        """Read a file and what the directory says of it; its times first, so that a change meanwhile is seen later."""
        try:
            with self.place(path).open("rb") as handle:
                found = os.fstat(handle.fileno())
                if found.st_size > LARGEST:
                    raise Rejected(f"{path} is larger than {LARGEST:,} bytes", hint="split it")
                return Entry(path, found.st_mtime_ns, found.st_size), handle.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error

    def exists(self, path: str) -> bool:
        """Say whether anything has this name, a dangling link included."""
        return os.path.lexists(self.place(path))

    def walk(self) -> Iterator[Entry | Problem]:
        """List every memory and edge file; what leads out of the directory is a problem, not a file."""
        for top in (MEMORIES, VAULT):
            if (self.root / top).is_dir():
                yield from self._walk(top)

    def _walk(self, folder: str) -> Iterator[Entry | Problem]:
        with os.scandir(self.root / folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = f"{folder}/{entry.name}"
                if entry.name.startswith(".") or not is_text(path):
                    continue
                if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(self.root):
                    yield Problem(path, None, "this is a link that leaves the directory")
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._walk(path)
                elif entry.name.endswith(".md") and not entry.is_dir():
                    with suppress(FileNotFoundError):
                        found = entry.stat()
                        yield Entry(path, found.st_mtime_ns, found.st_size)

    def stage(self, key: str, name: str, data: bytes, *, durable: bool = True) -> None:
        """Write a file that has no place yet, under the operation's key."""
        folder = self.root / HIDDEN / key
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as handle:
            handle.write(data)
            handle.flush()
            if durable:
                os.fsync(handle.fileno())

    def is_staged(self, key: str, name: str) -> bool:
        """Say whether a staged file still waits for its place."""
        return (self.root / HIDDEN / key / name).exists()

    def put(self, key: str, name: str, path: str) -> None:
        """Give a staged file its place, in one step that nobody sees half done."""
        where = self.place(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        (self.root / HIDDEN / key / name).replace(where)
        fsync_directory(where.parent)

    def drop(self, path: str) -> None:
        """Remove a file."""
        where = self.place(path)
        with suppress(FileNotFoundError):
            where.unlink()
            fsync_directory(where.parent)

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file, in one write."""
        where = self.place(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        with where.open("ab", buffering=0) as handle:
            handle.write(data)
            os.fsync(handle.fileno())

    def clear(self, key: str) -> None:
        """Forget what an operation staged."""
        shutil.rmtree(self.root / HIDDEN / key, ignore_errors=True)

    def staged_keys(self) -> list[str]:
        """List the operations that left something staged."""
        hidden = self.root / HIDDEN
        return [each.name for each in hidden.iterdir() if each.is_dir()] if hidden.is_dir() else []

    def prepare(self) -> None:
        """Make the directory and its hidden corner, which git does not see."""
        try:
            hidden = self.root / HIDDEN
            hidden.mkdir(parents=True, exist_ok=True)
            if not (hidden / ".gitignore").exists():
                (hidden / ".gitignore").write_text("*\n")
        except OSError as error:
            hint = "name a directory that this user can write to"
            raise StoreError(f"cannot make {self.root}: {error.strerror}", hint=hint) from error

    def must_exist(self) -> None:
        """Refuse to go on when the directory is gone: a missing disk is not a deletion of everything."""
        if not self.root.is_dir():
            raise NotFound(f"the graph's directory {self.root} is not there", hint="mount it, or name another one")


def machine_micros() -> int:
    """Say the time by which files are stamped: the machine's, whatever clock a graph lives by."""
    return time.time_ns() // 1000


def digest(data: bytes | None) -> str | None:
    """Hash a file's bytes; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def is_text(name: str) -> bool:
    """Say whether a file's name can be kept as text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
