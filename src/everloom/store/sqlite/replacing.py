"""Replacing a SQLite store by a new one that was built next to it, in a single rename.

At every moment, and after a crash at any moment, the path leads to the old store or to the new one, complete. The old
one is kept under another name, with everything that was ever acknowledged. Refuses to know what the new store holds.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from glob import escape
from pathlib import Path
from typing import Self

from everloom.clock import Clock, to_micros
from everloom.errors import StoreError, file_error
from everloom.store.contract import Numbers
from everloom.store.engine import holds_workspaces, in_use
from everloom.store.files import create_private, fsync_directory, make_private, sync_file
from everloom.store.migrations import missing_steps
from everloom.store.sqlite.connecting import connect
from everloom.store.sqlite.faults import FAULTS, is_busy, translate_error
from everloom.store.sqlite.opening import version_of
from everloom.store.sqlite.presence import alone
from everloom.store.sqlite.store import SqliteStore
from everloom.store.statements import statements

_PAUSE_SECONDS = 0.05
_TAILS = ("-wal", "-shm")


class SqliteReplacement:
    """A new store next to the one at `path`; `store` is to be filled, then `switch` puts it in place.

    Without `force`, a store that holds workspaces is not replaced. Others may not have it open; `wait` is how many
    seconds to wait for them.
    """

    def __init__(self, path: Path, clock: Clock, *, force: bool, wait: float) -> None:
        # Where a link leads: the rename must replace the file and not the link to it.
        self._path = path.resolve()
        self._clock = clock
        self._force = force
        self._wait = wait
        self._held = ExitStack()
        self._identity: str | None = None
        self._counters = {"item": 0, "revision": 0}
        self._is_damaged = False
        self.store: SqliteStore

    def __enter__(self) -> Self:
        make_private(self._path.parent)
        try:
            self._held.enter_context(alone(self._path, self._wait))
            self._examine()
            self._clean_up()
            folder = tempfile.TemporaryDirectory(dir=self._path.parent, prefix=self._prefix)
            self._new = Path(self._held.enter_context(folder)) / "new.db"
            self.store = SqliteStore(self._new, self._clock)
            self._held.callback(self.store.close)
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def _prefix(self) -> str:
        return f".{self._path.name}.restoring-"

    def _examine(self) -> None:
        """Look at what is to be replaced: refuse what must not be, and remember what the new store takes over."""
        if not self._path.exists() or not self._path.stat().st_size:
            return
        try:
            # Only for reading: the last connection that may write would merge a damaged log, or throw it away.
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as connection:
                # Another program's database and one of a newer version are refused, whatever was asked for.
                version = version_of(connection, self._path)
                missing_steps("sqlite", version, str(self._path))
                if not version:
                    return
                names = [row[0] for row in connection.execute("SELECT name FROM workspace ORDER BY id")]
                self._identity = _identity_of(connection)
                self._counters |= dict(connection.execute(statements("sqlite")["kernel.counters_read"]).fetchall())
        except FAULTS as error:
            if is_busy(error):
                raise in_use(str(self._path)) from error
            if not self._force:
                reason = translate_error(error, str(self._path)).message
                raise StoreError(reason, hint="--force moves the file aside and restores in its place") from error
            self._is_damaged = True
            return
        if names and not self._force:
            raise holds_workspaces(str(self._path), names)

    def _clean_up(self) -> None:
        """Remove what a restore left behind that was killed."""
        for left in self._path.parent.glob(f"{escape(self._prefix)}*"):
            shutil.rmtree(left, ignore_errors=True)
        # A second name that was given just before the end: two names of one database would have two logs.
        for left in self._path.parent.glob(f"{escape(self._path.name)}.before-restore-*"):
            with suppress(OSError):
                if left.samefile(self._path):
                    left.unlink()

    def switch(self) -> str | None:
        """Put the new store in place of the old one, in one step; return where the old one is."""
        if self._identity:
            with self.store.write(0) as unit:
                unit.run("kernel.identify", id=self._identity)
                # Ids that were given since the backup are not given again: whoever still knows one must not meet, or
                # forget, something else under it.
                unit.count_on(Numbers(**self._counters))
        self.store.close()
        _merge_log(self._new)
        sync_file(self._new)
        if not self._path.exists() or not self._path.stat().st_size:
            self._put_in_place()
            return None
        if self._is_damaged:
            former = self._set_damaged_aside()
            self._put_in_place()
            return str(former)
        old = self._take_over()
        try:
            former = self._set_aside(self._path, "before-restore")
            if os.name == "nt":
                # Windows replaces no file that is open.
                old.close()
            self._put_in_place()
        finally:
            old.close()
        return str(former)

    def _take_over(self) -> sqlite3.Connection:
        """Merge the log of the old store into its file, and keep every other connection out of it."""
        deadline = time.monotonic() + self._wait
        while True:
            connection = connect(self._path)
            try:
                # Leaving write-ahead mode merges the log, and succeeds only for the last connection: it finds out about
                # connections that hold no lock of ours, too.
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                if connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete":
                    connection.execute("BEGIN EXCLUSIVE")
                    return connection
            except FAULTS as error:
                if not is_busy(error):
                    connection.close()
                    raise translate_error(error, str(self._path)) from error
            connection.close()
            if time.monotonic() > deadline:
                raise in_use(str(self._path))
            time.sleep(_PAUSE_SECONDS)

    def _set_aside(self, file: Path, why: str) -> Path:
        """Give a file a second name, or copy it where there are no links; the first name stays."""
        micros = to_micros(self._clock.now())
        while (former := self._path.with_name(f"{self._path.name}.{why}-{micros}.db")).exists():
            micros += 1
        _second_name(file, former)
        return former

    def _set_damaged_aside(self) -> Path:
        """Set a damaged file aside with its log."""
        former = self._set_aside(self._path, "damaged")
        for tail in _TAILS:
            part = self._path.with_name(f"{self._path.name}{tail}")
            if part.exists():
                _second_name(part, former.with_name(f"{former.name}{tail}"))
        fsync_directory(former.parent)
        # Before the file is replaced, or SQLite would apply the log to the new one.
        for tail in _TAILS:
            self._path.with_name(f"{self._path.name}{tail}").unlink(missing_ok=True)
        return former

    def _put_in_place(self) -> None:
        try:
            self._new.replace(self._path)
            fsync_directory(self._path.parent)
        except PermissionError as error:
            raise in_use(str(self._path)) from error


def _second_name(file: Path, name: Path) -> None:
    try:
        os.link(file, name)
    except OSError:
        try:
            create_private(name)
            shutil.copyfile(file, name)
            sync_file(name)
        except OSError as error:
            with suppress(OSError):
                name.unlink(missing_ok=True)
            raise file_error(error, "write", name, after="the store is as it was") from error
    if os.name != "nt":
        name.chmod(0o600)
    fsync_directory(name.parent)


def _merge_log(file: Path) -> None:
    """Merge the log of a closed store into its file, so that the file alone is complete."""
    with closing(connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def _identity_of(connection: sqlite3.Connection) -> str | None:
    """Read the identity of a store; None if it is too old to have one."""
    try:
        row = connection.execute(statements("sqlite")["kernel.store_identity"]).fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else str(row[0])
