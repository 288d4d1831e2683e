"""The directory of notes on disk: listing, reading and replacing files one safe step at a time.

Nothing leaves the directory, by name or by link; hidden files are not seen. Knows nothing of versions.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from everloom.errors import EverloomError, Rejected, StoreError
from everloom.kernel.texts import storable
from everloom.mind.notes.names import DEEPEST, note_name
from everloom.store.files import fsync_directory, locked, write_whole

LARGEST = 1_000_000
_CORNER = ".everloom"
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a directory says of a file; while it is the same, so is the file."""

    mtime_ns: int
    size: int
    inode: int

    @property
    def at(self) -> datetime:
        """Say when the file was last written, by the machine's clock."""
        return datetime.fromtimestamp(self.mtime_ns / 1_000_000_000, UTC)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text, and what the directory said of it before it was read."""

    body: str
    stamp: FileStamp


class NoteFiles:
    """The directory of one workspace's notes."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    @property
    def is_there(self) -> bool:
        """Say whether the directory exists."""
        return self.root.is_dir()

    def prepare(self) -> None:
        """Make the directory and its hidden corner."""
        try:
            self.root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            (self.root / _CORNER).mkdir(mode=_PRIVATE, exist_ok=True)
        except OSError as error:
            hint = "name a directory that this user can write to"
            raise StoreError(f"cannot make {self.root}: {error.strerror}", hint=hint) from error

    def locked(self) -> AbstractContextManager[None]:
        """Hold the directory for a block: one writer at a time."""
        return locked(self.root / _CORNER / "lock")

    def tidy(self) -> None:
        """Take away what a writer that died left unfinished; call it only while the directory is held."""
        for partial in self.root.rglob(".*.partial"):
            with suppress(OSError):
                partial.unlink()

    def place(self, name: str) -> Path:
        """Turn a note's name into a path; refuse one that any link is on the way to."""
        where = self.root / name
        if os.path.realpath(where) != str(where):
            raise Rejected(f"{name} is a link, or lies behind one", hint="put a file there instead")
        return where

    def look(self, name: str) -> FileText | None:
        """Read a note's file; None when there is none."""
        try:
            handle = os.open(self.place(name), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Rejected(f"cannot read {name}: {error.strerror}", hint="check its permissions") from error
        with os.fdopen(handle, "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Rejected(f"{name} is not a file", hint="put a file there instead")
            if status.st_size > LARGEST:
                raise Rejected(f"{name} is larger than {LARGEST:,} bytes", hint="split it")
            return FileText(_text_of(opened.read(), name), _stamp_of(status))

    def stamps(self) -> tuple[dict[str, FileStamp], list[str]]:
        """List every note's file with its stamp, and what lies there but cannot be a note."""
        found: dict[str, FileStamp] = {}
        problems: list[str] = []
        for path, entry in self._walk("", DEEPEST):
            try:
                name = note_name(path)
                if entry.is_symlink() or name != path:
                    raise Rejected(f"{path!r} is a link" if entry.is_symlink() else f"{path!r} should be called {name}")
                found[path] = _stamp_of(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue
            except EverloomError as error:
                problems.append(str(error))
        return found, problems

    def _walk(self, folder: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            entries = sorted(os.scandir(self.root / folder), key=lambda each: each.name)
        except FileNotFoundError:
            return
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.name.startswith("."):
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield path, entry
            elif depth > 1:
                yield from self._walk(f"{path}/", depth - 1)

    def put(self, name: str, body: str) -> None:
        """Write a note's file whole; an empty body takes the file away."""
        where = self.place(name)
        if not body:
            with suppress(FileNotFoundError):
                where.unlink()
                fsync_directory(where.parent)
            return
        try:
            where.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        except OSError as error:
            hint = "a file is where a folder should be, or it may not be written"
            raise StoreError(f"cannot make a folder for {name}: {error.strerror}", hint=hint) from error
        write_whole(where, body.encode())


def _stamp_of(status: os.stat_result) -> FileStamp:
    """Keep what tells one state of a file from another."""
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


def _text_of(data: bytes, name: str) -> str:
    """Read a file's bytes as text that can be kept."""
    try:
        return storable(data.decode(), name)
    except UnicodeDecodeError as error:
        raise Rejected(f"{name} is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from error


def digest(body: str) -> str:
    """Hash a note's text; no text, like no file, is the empty hash."""
    return hashlib.sha256(body.encode()).hexdigest() if body else ""
