"""A SQLite file as a store: who may write when, and what is true of the file as a whole."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Literal

from everloom.clock import Clock
from everloom.errors import StoreBusy, StoreError
from everloom.store.contract import StoreHealth
from everloom.store.pool import Pool
from everloom.store.sqlite.faults import is_busy, translate_error
from everloom.store.sqlite.opening import PATIENCE_SECONDS, connect, copy_to, prepare
from everloom.store.sqlite.unit import SqliteUnit
from everloom.store.sqlite.vectors import VectorCache

_CONNECTIONS = 32


class SqliteStore:
    """One SQLite file, shared safely by threads and by processes."""

    engine: Literal["sqlite"] = "sqlite"

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        prepare(path, clock)
        self._pool = Pool(
            self._connect,
            sqlite3.Connection.close,
            size=_CONNECTIONS,
            patience=PATIENCE_SECONDS,
            survives_fork=False,
        )
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Make locks of this process: in a forked child nobody is there to let go of what the parent's threads held."""
        self._owner = os.getpid()
        # Threads of one process queue here in order; only processes compete for SQLite's own lock.
        self._turn = Lock()
        self._vectors = VectorCache()

    @property
    def address(self) -> str:
        """Say where the file is."""
        return str(self.path)

    def _connect(self) -> sqlite3.Connection:
        try:
            return connect(self.path)
        except sqlite3.Error as error:
            raise translate_error(error, self.address) from error

    @contextmanager
    def read(self, workspace: int) -> Iterator[SqliteUnit]:
        """Begin a unit that sees the file as it is at this moment."""
        with self._unit(workspace, "BEGIN") as unit:
            yield unit

    @contextmanager
    def write(self, workspace: int) -> Iterator[SqliteUnit]:
        """Begin a unit that writes; one at a time over all processes."""
        if self._owner != os.getpid():
            self._begin_anew()
        # First the queue of this process, then SQLite's lock: SQLite lets waiting writers starve, a thread's lock does
        # not. BEGIN IMMEDIATE takes the write lock before anything is read, so no unit has to give up half-way.
        if not self._turn.acquire(timeout=PATIENCE_SECONDS):
            raise StoreBusy(f"{self.address} is busy: another thread is writing", hint="try again in a moment")
        try:
            with self._unit(workspace, "BEGIN IMMEDIATE") as unit:
                yield unit
        finally:
            self._turn.release()

    @contextmanager
    def _unit(self, workspace: int, begin: str) -> Iterator[SqliteUnit]:
        if self._owner != os.getpid():
            self._begin_anew()
        connection = self._pool.take()
        try:
            self._begin(connection, begin)
            unit = SqliteUnit(connection, workspace, self._vectors)
            yield unit
            # Counters are written just before the commit: ids then grow in commit order.
            unit.finish()
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            if connection.in_transaction:
                connection.rollback()
            self._pool.give_back(connection)

    def _begin(self, connection: sqlite3.Connection, begin: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                connection.execute(begin)
                return
            except sqlite3.OperationalError as error:
                # SQLite's own wait is not fair; a writer that was overtaken for 30 s tries once more.
                if not is_busy(error) or time.monotonic() > deadline:
                    raise

    def health(self) -> StoreHealth:
        """Check the file's structure, its references and its word index."""
        connection = self._pool.take()
        try:
            problems = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
            problems += [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in dangling[:20]]
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        except sqlite3.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self._pool.give_back(connection)
        return StoreHealth("sqlite", sqlite3.sqlite_version, version, pages * size, tuple(problems))

    def maintain(self, workspace: int) -> list[str]:
        """Fold the word index together and let the planner know what the tables hold."""
        with self.write(workspace) as unit:
            unit.run("words.fold")
        connection = self._pool.take()
        try:
            connection.execute("PRAGMA optimize")
        except sqlite3.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self._pool.give_back(connection)
        return ["word index", "statistics"]

    def backup(self, target: Path) -> None:
        """Write a compact copy to a file that does not exist yet."""
        if target.exists():
            raise StoreError(f"{target} exists already", hint="name a new file")
        copy_to(self.path, target)

    def close(self) -> None:
        """Close every connection; the write-ahead log is folded into the file by the last one."""
        self._pool.close()
