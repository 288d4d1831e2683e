"""One directory of files: safe names, reading, walking, and changing it one safe step at a time.

Every path is relative and stays inside, whatever a title, an id or a link says. Refuses to know what a file says. A
step is done whole or not at all; what makes several steps one operation is `index/executor.py`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from everloom.errors import NotFound, Rejected, StoreError
from everloom.graph.kinds import MEMORIES, VAULT
from everloom.graph.results import FileProblem
from everloom.store.files import fsync_directory

# Where an operation stages files and takes its lock; git does not see it.
HIDDEN = ".everloom"
# Marks our version of a file that somebody else changed at the same moment.
CONFLICT = ".conflict-"
_LARGEST = 5_000_000
# Short enough for any file system, also two of them with a relation between them.
_LONGEST_SLUG = 60
_LONGEST_EDGE_SLUG = 40
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class FileEntry:
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
        # A link inside the directory may point outside it, at any level.
        if not Path(os.path.realpath(where)).is_relative_to(self.root):
            raise Rejected(f"{path} is a link that leaves the graph's directory", hint="replace it with a file")
        return where

    def read(self, path: str) -> bytes | None:
        """Read a file; None when there is none."""
        found = self.look(path)
        return None if found is None else found[1]

    def look(self, path: str) -> tuple[FileEntry, bytes] | None:
        """Read a file and what the directory says of it; its times first, so that a change meanwhile is seen later."""
        try:
            with self.place(path).open("rb") as handle:
                found = os.fstat(handle.fileno())
                if found.st_size > _LARGEST:
                    raise Rejected(f"{path} is larger than {_LARGEST:,} bytes", hint="split it")
                return FileEntry(path, found.st_mtime_ns, found.st_size), handle.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error

    def exists(self, path: str) -> bool:
        """Say whether anything has this name, a dangling link included."""
        return os.path.lexists(self.place(path))

    def walk(self) -> Iterator[FileEntry | FileProblem]:
        """List every memory and edge file; what leads out of the directory is a problem, not a file."""
        for top in (MEMORIES, VAULT):
            if (self.root / top).is_dir():
                yield from self._walk(top)

    def _walk(self, folder: str) -> Iterator[FileEntry | FileProblem]:
        with os.scandir(self.root / folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = f"{folder}/{entry.name}"
                if entry.name.startswith(".") or not _is_text(path):
                    continue
                if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(self.root):
                    yield FileProblem(path, None, "this is a link that leaves the directory")
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._walk(path)
                elif entry.name.endswith(".md") and not entry.is_dir():
                    with suppress(FileNotFoundError):
                        found = entry.stat()
                        yield FileEntry(path, found.st_mtime_ns, found.st_size)

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
        # Unbuffered, in append mode: one write, behind whatever an editor added meanwhile.
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
            raise StoreError(f"cannot create {self.root}: {error.strerror}", hint=hint) from error

    def must_exist(self) -> None:
        """Refuse to go on when the directory is gone: a missing disk is not a deletion of everything."""
        if not self.root.is_dir():
            hint = "mount it, or choose another directory"
            raise NotFound(f"the graph's directory {self.root} is not there", hint=hint)


def machine_micros() -> int:
    """Say the time by which files are stamped: the machine's, whatever clock a graph lives by."""
    return time.time_ns() // 1000


def digest(data: bytes | None) -> str | None:
    """Hash a file's bytes; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _is_text(name: str) -> bool:
    """Say whether a file's name can be kept as text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def slug(text: str, longest: int = _LONGEST_SLUG) -> str:
    """Reduce a text to letters, digits and hyphens that every file system takes."""
    folded = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return _UNSAFE.sub("-", folded.lower()).strip("-")[:longest].rstrip("-") or "memory"


def _suffixes(identity: str) -> Iterator[str]:
    """Offer ever longer pieces of an id, six characters first, then counted ones."""
    letters = _UNSAFE.sub("", identity.lower()) or "0"
    # Six characters are what the contract writes; a longer suffix is for names that are taken.
    for length in (6, 8, 12, 16, 24, 32):
        yield letters[:length]
    for number in range(2, 10_000):
        yield f"{letters[:32]}-{number}"


def free_name(stem: str, identity: str, is_taken: Callable[[str], bool]) -> str:
    """Choose `stem-suffix.md` with the shortest suffix of the id that nobody has."""
    names = (f"{stem}-{suffix}.md" for suffix in _suffixes(identity))
    return next(name for name in names if not is_taken(name))


def edge_stem(from_title: str, relation: str, to_title: str) -> str:
    """Name an edge by what it joins."""
    return f"{slug(from_title, _LONGEST_EDGE_SLUG)}--{relation}--{slug(to_title, _LONGEST_EDGE_SLUG)}"


def conflict_name(path: str, mark: str) -> str:
    """Name the copy that is kept beside a file that somebody else changed."""
    return f"{path.removesuffix('.md')}{CONFLICT}{mark}.md"
