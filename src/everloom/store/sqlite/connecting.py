"""Connections to a SQLite file: their settings, how long they wait, and how a file is read as it lies.

Where SQLite cannot create the files that it keeps next to a database (a full disk, a folder that cannot be written), it
can still read the database as it lies. It then takes no locks and notices no change, so that whoever reads in this way
has to check, before and after, that the file is the same and that nothing is waiting in its log.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# How long SQLite waits by itself. Readers wait only while a log is being recovered; writers try again until their own
# time is up.
_BUSY_SECONDS = 5.0


class Stamp(NamedTuple):
    """What a file looks like from outside; as long as it is the same, nobody has written to the file."""

    file: int
    size: int
    changed_ns: int


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file that nobody is writing; None while there is a log that was not merged into it."""
    with suppress(OSError):
        if path.with_name(f"{path.name}-wal").stat().st_size:
            return None
    found = path.stat()
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def connect(path: Path, *, is_still: bool = False) -> sqlite3.Connection:
    """Open a connection that survives power loss, without implicit transactions; `is_still` reads a file as it lies."""
    # Without isolation_level=None, Python begins a transaction only before the first write, so whatever was read before
    # may be outdated: four processes that counted in this way lost 62 % of their updates. The pool passes a connection
    # from thread to thread, but never to two at once.
    place = f"{path.absolute().as_uri()}?mode=ro&immutable=1" if is_still else path
    connection = sqlite3.connect(
        place, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS, uri=is_still
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    # NORMAL would commit faster, but may lose the last commits in a power failure. Batches cost the same in both.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def hasten(connection: sqlite3.Connection, patience: float, *, is_durable: bool) -> None:
    """Prepare a connection for a unit that must not wait, for others or for the disk."""
    if patience < _BUSY_SECONDS:
        connection.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
    # Without its own sync, a commit reaches the disk with the next one that has it. The log is read in order, so what a
    # power failure takes is always the end of it.
    if not is_durable:
        connection.execute("PRAGMA synchronous = NORMAL")


def settle(connection: sqlite3.Connection, patience: float, *, is_durable: bool) -> None:
    """Undo `hasten`."""
    if patience < _BUSY_SECONDS:
        connection.execute(f"PRAGMA busy_timeout = {round(_BUSY_SECONDS * 1000)}")
    if not is_durable:
        connection.execute("PRAGMA synchronous = FULL")
