"""Atomic writes and locks for files that other programs may read at the same time.

The operating system holds the lock, across threads and processes, and releases it when its owner dies, so there are no
stale locks to clean up. Knows nothing about the content of the files.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from uuid import uuid4

from everloom.errors import StoreBusy, file_error

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.01
# What a change may need on the disk beside its own bytes.
_RESERVE_BYTES = 256 * 1024

if os.name == "nt":
    import msvcrt

    def _try(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
else:
    import fcntl

    def _try(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(file: Path, patience: float | None = None) -> Iterator[None]:
    """Hold a file's lock for the duration of a block, waiting until it is free, but not for ever."""
    # The lock file is never deleted: if it were, one process could lock the old file while another locks a new one.
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise file_error(error, "open", file) from error
    try:
        deadline = time.monotonic() + (_PATIENCE_SECONDS if patience is None else patience)
        while not _taken(handle):
            if time.monotonic() > deadline:
                raise StoreBusy(f"another process is writing in {file.parent.parent}", hint="try again in a moment")
            time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        _try(handle)
    except OSError:
        return False
    return True


def write_whole(file: Path, data: bytes, *, keeps_mode: bool = False) -> None:
    """Replace a file atomically and durably; only its owner can read it, unless `keeps_mode`."""
    # In the same folder, because a rename is atomic only within a file system. The order matters: content first, then
    # the name, then the folder. After a power failure the name refers to the old content or to the new, never to an
    # empty file.
    partial = file.with_name(f".{uuid4().hex}.partial")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        if keeps_mode and file.exists():
            shutil.copymode(file, partial)
        partial.replace(file)
        fsync_directory(file.parent)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise file_error(error, "write", file, after="nothing was changed") from error


def make_private(folder: Path) -> None:
    """Create a directory and its missing parents, readable by their owner only, and make the new names durable."""
    # One level after the other: `mkdir(parents=True)` would give the parents the usual, wider mode.
    missing = [folder, *(each for each in folder.parents if not each.exists())] if not folder.exists() else []
    try:
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            fsync_directory(each.parent)
    except OSError as error:
        raise file_error(error, "create", folder) from error


def create_private(file: Path) -> bool:
    """Create an empty file that only its owner can read, unless it exists; return whether it is new."""
    if file.exists():
        return False
    # Under another name first: whoever opens the file meanwhile must not lose locks when this handle is closed, because
    # the system drops all locks of a process on a file with the first handle that is closed.
    partial = file.with_name(f".{uuid4().hex}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.link(partial, file)
    except FileExistsError:
        return False
    except OSError as error:
        if not partial.exists():
            raise
        # A file system without links.
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}:
            raise
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return True


def free_bytes(folder: Path) -> float:
    """Return how many bytes this user may still write to the file system of a folder; infinity if it does not say."""
    system = os.statvfs(folder) if hasattr(os, "statvfs") else None
    # Some network file systems report no size at all.
    if system is None or not system.f_blocks:
        return inf
    return float((system.f_bavail if os.geteuid() else system.f_bfree) * system.f_frsize)


def check_space(folder: Path, size: int) -> None:
    """Refuse a change for which there is no space, before any of it is done; one that writes nothing needs none."""
    if size and free_bytes(folder) < size + _RESERVE_BYTES:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise file_error(full, "write", folder, after="nothing was changed")


def sync_file(file: Path) -> None:
    """Make the content of a file durable."""
    # For writing, because Windows syncs no file that is open only for reading.
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def fsync_directory(folder: Path) -> None:
    """Make a directory's entries durable, where the system supports it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
