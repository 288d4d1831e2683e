"""Who has a SQLite file open, and whether it is still the same file.

Every open store holds a lock on a small file next to the database, shared with all others; whoever replaces the
database holds it alone. The operating system releases it when a process ends, however it ends. Refuses to know what is
in the database.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from everloom.errors import StoreBusy, StoreReplaced
from everloom.store.engine import in_use

# How long opening waits for a restore to finish.
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.05

if os.name == "nt":
    # Windows refuses to replace a file that anybody has open, so there is nothing to keep.
    def _try(handle: int, *, alone: bool) -> bool:
        return handle >= 0 or alone
else:
    import fcntl

    def _try(handle: int, *, alone: bool) -> bool:
        """Take the lock if it is free; a file system that knows no locks counts as free."""
        try:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # SQLite's own locks still keep a restore from a file in use.
            return True
        return True


class FileMark(NamedTuple):
    """Which file a path leads to, whatever its name."""

    device: int
    number: int


def mark_of(path: Path) -> FileMark | None:
    """Return which file a path leads to; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return FileMark(found.st_dev, found.st_ino)


def replaced(path: Path) -> StoreReplaced:
    """Describe a file that is not the one which was opened."""
    what = "was replaced" if path.exists() else "was deleted or moved away"
    return StoreReplaced(
        f"{path} {what} while this process had it open", hint="restart this process; it wrote nothing to the old file"
    )


class Presence:
    """The lock that an open store holds; nobody replaces its file as long as it does."""

    def __init__(self, path: Path, *, may_create: bool = True) -> None:
        self._path = path
        self._handle = _open(_lock_file(path), may_create=may_create)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._handle is not None and not _try(self._handle, alone=False):
            if time.monotonic() > deadline:
                self.close()
                raise StoreBusy(f"{path} is being restored", hint="try again when that is done")
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Release the lock. A forked child that closes its copy leaves the parent's in force."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def retract(self) -> None:
        """Release the lock and remove its file, where the database turned out to be another program's."""
        self.close()
        with suppress(OSError):
            _lock_file(self._path).unlink()

    # A store that nobody closed must not keep others out for as long as the process lives.
    def __del__(self) -> None:
        self.close()


@contextmanager
def alone(path: Path, wait: float) -> Iterator[None]:
    """Keep every other store away from a file for the duration of a block; Conflict if one has it open."""
    handle = _open(_lock_file(path), may_create=True)
    try:
        deadline = time.monotonic() + wait
        while handle is not None and not _try(handle, alone=True):
            if time.monotonic() > deadline:
                raise in_use(str(path))
            time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}-lock")


def _open(file: Path, *, may_create: bool) -> int | None:
    """Open the lock file; None where it neither exists nor can be created, as in a folder that cannot be written."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY) if may_create else (os.O_RDONLY,):
        with suppress(OSError):
            return os.open(file, flags, 0o600)
    return None
