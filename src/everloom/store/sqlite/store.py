"""A SQLite file as a store: transactions, the order of writers, health, maintenance and backup of the file.

Refuses to know what a unit of work does (`unit.py`).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from everloom.clock import Clock
from everloom.errors import StoreBusy, StoreError
from everloom.store.contract import (
    Scrubbed,
    StoreHealth,
    StoreLimits,
    StoreLoad,
)
from everloom.store.engine import (
    Constants,
    Need,
    Pool,
    WriterQueue,
    check_state,
    refuse_write,
)
from everloom.store.marks import UnitMarks
from everloom.store.migrations import (
    missing_steps,
    refuse_older,
)
from everloom.store.sqlite.checking import file_problems, structure_problems, word_index_problems
from everloom.store.sqlite.connecting import Stamp, connect, hasten, settle, stamp_of
from everloom.store.sqlite.faults import FAULTS, is_busy, translate_error
from everloom.store.sqlite.opening import copy_to, first_connection, life_of, prepare, version_of
from everloom.store.sqlite.presence import mark_of, replaced
from everloom.store.sqlite.scrubbing import copies_beside, merge_words, rewrite, size_of
from everloom.store.sqlite.unit import NOWHERE, SqliteUnit
from everloom.store.sqlite.vectors import VectorCache
from everloom.store.verifying import complain, content_problems, derived_problems

_CONNECTIONS = 32
_BUSY = "the log, because another process was reading; the next cleaning empties it"
_LIMITS = StoreLimits()
_READ, _WRITE = "BEGIN", "BEGIN IMMEDIATE"


class SqliteStore:
    """One SQLite file, shared safely by threads and by processes."""

    engine: Literal["sqlite"] = "sqlite"

    def __init__(self, path: Path, clock: Clock, limits: StoreLimits = _LIMITS, *, is_read_only: bool = False) -> None:
        # Absolute: connections are opened later, too, and the process may change its directory.
        self.path = path.absolute()
        self.is_read_only = is_read_only
        self._clock = clock
        self._limits = limits
        self._opened = prepare(self.path, clock, is_read_only=is_read_only)
        # Where the file can be read only as it lies, without locks: whether it is still the same must be checked.
        self._still = self._opened.still
        self._pool = Pool(
            self._connect,
            sqlite3.Connection.close,
            size=_CONNECTIONS,
            patience=limits.lock_seconds,
            survives_fork=False,
        )
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Create this process's own locks: in a forked child, nobody would release those of the parent's threads."""
        self._owner = os.getpid()
        # Threads of one process queue here; only processes compete for SQLite's own lock.
        self._turn = Lock()
        self._queue = WriterQueue()
        self._vectors = VectorCache()
        self._constants: dict[Hashable, Any] = {}

    @property
    def load(self) -> StoreLoad:
        """How busy the file keeps this process."""
        return self._pool.load(self._queue)

    @property
    def address(self) -> str:
        """The path of the file."""
        return str(self.path)

    def _connect(self) -> sqlite3.Connection:
        # A new connection would be to the file that is there now, or create one.
        self._check_file()
        try:
            connection = connect(self.path, is_still=self._still is not None)
            if self.is_read_only:
                connection.execute("PRAGMA query_only = ON")
            return connection
        except FAULTS as error:
            raise translate_error(error, self.address) from error

    @contextmanager
    def read(self, workspace: int) -> Iterator[SqliteUnit]:
        """Begin a unit that sees a snapshot of the file."""
        with self._unit(workspace, _READ, self._limits.statement_seconds) as unit:
            yield unit

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[int], SqliteUnit]]:
        """Begin to read all workspaces as of one moment, in one transaction."""
        with self._unit(NOWHERE, _READ, self._limits.statement_seconds) as unit:
            yield unit.enter

    @contextmanager
    def write(
        self, workspace: int, *, patience: float | None = None, is_durable: bool = True, is_moving: bool = False
    ) -> Iterator[SqliteUnit]:
        """Begin a unit that writes; one at a time across all processes."""
        if self.is_read_only:
            raise refuse_write(self.address)
        if self._owner != os.getpid():
            self._begin_anew()
        seconds = self._limits.lock_seconds if patience is None else patience
        # First the queue of this process, then SQLite's lock, which polls and can let a waiting writer starve. BEGIN
        # IMMEDIATE takes the write lock before anything is read: a transaction that reads first and writes later fails
        # at once if another process wrote in between, whatever the timeout.
        need = Need.MOVING if is_moving else Need.WRITING
        came = time.monotonic()
        with self._sole(seconds), self._unit(workspace, _WRITE, seconds, is_durable=is_durable, need=need) as unit:
            self._queue.passed(came)
            yield unit

    @contextmanager
    def _unit(
        self, workspace: int, begin: str, patience: float, *, is_durable: bool = True, need: Need = Need.READING
    ) -> Iterator[SqliteUnit]:
        if self._owner != os.getpid():
            self._begin_anew()
        if self._still is not None:
            self._check_file()
        still = self._look_again(begin)
        connection = self._pool.take()
        try:
            hasten(connection, patience, is_durable=is_durable)
            self._begin(connection, begin, patience)
            life = self._check_life(connection, workspace)
            check_state(life, need)
            constants = Constants(self._constants)
            marks, base = UnitMarks(self._clock), (life and life["word_base"]) or 0
            unit = SqliteUnit(connection, workspace, self._vectors, constants, marks, base)
            unit.only_reads = begin == _READ
            yield unit
            unit.finish()
            connection.execute("COMMIT")
            constants.publish()
            if still is not None and stamp_of(self.path) != still:
                raise StoreBusy(f"{self.address} was written while it was read", hint="try again in a moment")
        except FAULTS as error:
            raise translate_error(error, self.address) from error
        finally:
            if connection.in_transaction:
                connection.rollback()
            settle(connection, patience, is_durable=is_durable)
            # A connection from before the file was looked at again would go on reading it as it lay then.
            (self._pool.give_back if self._still == still else self._pool.discard)(connection)

    # A file that was moved or deleted accepts writes as before, and they are lost with it. A file that was migrated or
    # restored has other rules, or other rows, than this process believes. Both cost microseconds to notice.
    def _check_file(self) -> None:
        """Refuse to go on if the path no longer leads to the file that was opened."""
        if mark_of(self.path) != self._opened.file:
            self._forget()
            raise replaced(self.path)

    def _check_life(self, connection: sqlite3.Connection, workspace: int = NOWHERE) -> sqlite3.Row | None:
        """Refuse to go on if the store was migrated or restored since this process opened it; inside a transaction."""
        life = life_of(connection, workspace)
        if (life["incarnation"] if life else "") != self._opened.incarnation:
            self._forget()
            missing_steps("sqlite", version_of(connection, self.path), self.address)
            raise replaced(self.path)
        refuse_older("sqlite", life["oldest_program"] if life else 0, self.address)
        # Again, now that a transaction holds the file: its name may have gone elsewhere while this one was waiting.
        self._check_file()
        return life

    def _forget(self) -> None:
        """Drop what was read from another file, and the connections to it."""
        self._vectors = VectorCache()
        self._constants = {}
        self._pool.close_idle()

    def _look_again(self, begin: str) -> Stamp | None:
        """Check a file that is read as it lies: somebody may have written to it, or it may be writable by now."""
        if self._still is not None and (begin != _READ or stamp_of(self.path) != self._still):
            connection, self._still = first_connection(self.path, may_write=False)
            connection.close()
            self._pool.close_idle()
        return self._still

    def _begin(self, connection: sqlite3.Connection, begin: str, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                connection.execute(begin)
                return
            except sqlite3.OperationalError as error:
                # SQLite's own wait is not fair: a writer that was overtaken for seconds tries again.
                if not is_busy(error) or time.monotonic() > deadline:
                    raise

    def check(self) -> None:
        """Check that the file can be read, and is still the one that was opened."""
        with self.read(NOWHERE) as unit:
            unit.all("kernel.store_identity")

    def health(self, *, deep: bool = False) -> StoreHealth:
        """Check the file's structure and references; with `deep`, also the checksums and everything derived."""
        self._check_file()
        connection = self._pool.take()
        try:
            self._check_life(connection)
            problems = structure_problems(connection)
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        except FAULTS as error:
            raise translate_error(error, self.address) from error
        finally:
            self._pool.give_back(connection)
        if deep:
            problems += [*content_problems(self), *derived_problems(self), *self._index_problems()]
        return StoreHealth("sqlite", sqlite3.sqlite_version, version, pages * size, tuple(problems))

    def _index_problems(self) -> list[str]:
        """Compare the word index with the words of the documents."""
        # A connection of its own: FTS5 shows what it holds through a temporary table. That is kept in memory, but a
        # connection that may only read does not create it.
        connection = connect(self.path, is_still=self._still is not None)
        try:
            connection.execute("BEGIN")
            return [*word_index_problems(connection)]
        except FAULTS as error:
            raise translate_error(error, self.address) from error
        finally:
            connection.close()

    def maintain(self, workspace: int) -> list[str]:
        """Merge segments of the word index and refresh the planner's statistics."""
        with self.write(workspace) as unit:
            unit.fold_recent()
            unit.run("words.fold")
        connection = self._pool.take()
        try:
            connection.execute("PRAGMA optimize")
        except FAULTS as error:
            raise translate_error(error, self.address) from error
        finally:
            self._pool.give_back(connection)
        return ["word index", "statistics"]

    def scrub(self, *, at_most: int | None = None) -> Scrubbed:
        """Merge the word index, rewrite the file and empty its log, so that no deleted byte is left in them.

        Readers go on meanwhile; writers wait, for about a second per hundred megabytes. The index is merged in many
        short steps, between which they get their turn.
        """
        self._check_file()
        connection = self._pool.take()
        try:
            self._check_life(connection)
            if at_most is not None and size_of(connection) > at_most:
                return Scrubbed(is_done=False)
            with self._sole():
                merge_words(connection)
            with self._sole():
                is_done = rewrite(connection)
        except FAULTS as error:
            if is_busy(error):
                return Scrubbed(is_done=False, remains=(_BUSY,))
            raise translate_error(error, self.address) from error
        finally:
            self._pool.give_back(connection)
        steps = ("word index", "file", *(("log",) if is_done else ()))
        return Scrubbed(is_done, steps, (*(() if is_done else (_BUSY,)), *copies_beside(self.path)))

    @contextmanager
    def _sole(self, seconds: float | None = None) -> Iterator[None]:
        """Take this process's turn to write."""
        if not self._turn.acquire(timeout=self._limits.lock_seconds if seconds is None else seconds):
            raise StoreBusy(f"{self.address} is busy: another thread is writing", hint="try again in a moment")
        try:
            yield
        finally:
            self._turn.release()

    def backup(self, target: Path) -> None:
        """Write a compact copy to a file that does not exist yet."""
        if target.exists():
            raise StoreError(f"{target} already exists", hint="choose a new file name")
        with self.read(NOWHERE):
            copy_to(self.path, target)
        complain(file_problems(target), target)

    def close(self) -> None:
        """Close every connection; the last one to close merges the write-ahead log into the file."""
        self._pool.close()
        self._opened.presence.close()
