"""One writer at a time in a directory, over threads and processes; a writer that dies lets go.

The operating system holds the lock, so there is no stale one to find.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mindloom.errors import StoreBusy, StoreError

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.01

if os.name == "nt":
    import msvcrt

    def _try(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
else:
    import fcntl

    def _try(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(file: Path, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the lock of a file for a block; wait for whoever has it."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"cannot open {file}: {error.strerror}", hint="check its permissions") from error
    try:
        deadline = time.monotonic() + patience
        while not _taken(handle):
            if time.monotonic() > deadline:
                raise StoreBusy(f"somebody else is writing in {file.parent.parent}", hint="try again in a moment")
            time.sleep(PAUSE_SECONDS)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        _try(handle)
    except OSError:
        return False
    return True
