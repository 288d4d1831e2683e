"""Opening a SQLite file: creation, backup and migration, and refusing other programs' files.

A file that is up to date is opened without writing anything, so that it can be read where it cannot be written: on a
full disk, without the right to write, behind a writer that hangs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from everloom.clock import Clock, to_micros
from everloom.errors import NotFound, StoreError, file_error
from everloom.store.checksums import CONTENT, seal_row, sealed_rows, unsealed_rows
from everloom.store.files import create_private, fsync_directory, make_private, sync_file
from everloom.store.migrations import (
    FIRST_RECORDED,
    MigrationStep,
    batch_of,
    missing_steps,
    oldest_for,
    open_fills,
)
from everloom.store.sqlite.connecting import Stamp, connect, stamp_of
from everloom.store.sqlite.faults import ADVICE, FAULTS, is_busy, is_refused_by_disk, translate_error
from everloom.store.sqlite.presence import FileMark, Presence, mark_of
from everloom.store.statements import statements

# "mind" in ASCII: distinguishes our files from other programs' SQLite files.
_APPLICATION_ID = 0x6D696E64
# The smallest page of a database.
_SMALLEST = 512
# The first version with STRICT tables.
OLDEST = (3, 37, 0)
_OPEN_SECONDS = 30.0
# The rows that the planner is told to expect in an index, and in a partial one, which holds only what is due.
_MANY_ROWS = 1_000_000
_FEW_ROWS = 1_000
# Rows whose checksums are computed at a time.
_PAGE = 1_000


class ForeignFile(StoreError):
    """The file is a database of another program."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a store was when it was opened: which file, which life of it, and the lock that says it is in use."""

    file: FileMark | None
    incarnation: str
    presence: Presence
    # Set if the file can be read only as it lies.
    still: Stamp | None


def prepare(path: Path, clock: Clock, *, is_read_only: bool = False) -> Opened:
    """Create the file, or back it up and migrate it, or refuse it if it is not ours."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise StoreError(
            f"this Python comes with SQLite {sqlite3.sqlite_version}, which is too old",
            hint="use a Python with SQLite 3.37 or newer",
        )
    if is_read_only:
        _must_exist(path)
    else:
        _create(path)
    # In this order, so that another program's file is refused before anything is written: turning the log on changes
    # the file, and so does a migration.
    _refuse_other_files(path)
    # From here on nobody replaces the file: a connection to a file that lost its name would share the log of the next.
    presence = Presence(path, may_create=not is_read_only)
    try:
        mark = mark_of(path)
        return Opened(mark, *_bring_up_to_date(path, clock, presence, is_read_only=is_read_only))
    except StoreError as error:
        (presence.retract if isinstance(error, ForeignFile) else presence.close)()
        raise


def _bring_up_to_date(
    path: Path, clock: Clock, presence: Presence, *, is_read_only: bool
) -> tuple[str, Presence, Stamp | None]:
    """Open the file for the first time, and migrate it if it is old; returns which life of it this is."""
    connection, still = first_connection(path, may_write=not is_read_only)
    try:
        todo = missing_steps("sqlite", version_of(connection, path), str(path), oldest_of(connection))
        if todo and (is_read_only or still):
            raise StoreError(
                f"{path} needs a migration and cannot be written",
                hint="let somebody who may write run `everloom migrate` once",
            )
        if todo:
            _migrate(connection, path, clock)
        return incarnation_of(connection), presence, still
    except FAULTS as error:
        raise translate_error(error, str(path)) from error
    finally:
        connection.close()


def incarnation_of(connection: sqlite3.Connection) -> str:
    """Read which life of the store this is; nothing for one that has no identity."""
    try:
        row = connection.execute(statements("sqlite")["kernel.incarnation"]).fetchone()
    except sqlite3.OperationalError:
        return ""
    return "" if row is None else str(row[0])


def oldest_of(connection: sqlite3.Connection) -> int | None:
    """Read which step a program must know to use the store; None for a store that does not say so."""
    try:
        row = connection.execute(statements("sqlite")["kernel.oldest_program"]).fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else int(row[0])


def life_of(connection: sqlite3.Connection, workspace: int) -> sqlite3.Row | None:
    """Read which life of the store this is, and how a workspace stands; None for one that has no identity."""
    try:
        found: sqlite3.Row | None = connection.execute(
            statements("sqlite")["kernel.life"], {"workspace": workspace}
        ).fetchone()
    except sqlite3.OperationalError:
        # One of an older schema, which was put in place of the one that was opened.
        return None
    return found


def _must_exist(path: Path) -> None:
    if not path.exists():
        hint = "create it without --read-only, for example with `everloom init`"
        raise NotFound(f"there is no store at {path}", hint=hint)


def _create(path: Path) -> None:
    """Create folder and file if they are missing, for their owner only; SQLite gives its log the rights of the file."""
    try:
        make_private(path.parent)
    except StoreError as error:
        raise StoreError(f"cannot create the folder {path.parent}: {error.message}", hint=error.hint) from error
    if not path.parent.is_dir():
        raise StoreError(f"cannot create the folder {path.parent}: it is a file", hint="choose another location")
    with suppress(OSError):
        # What prevents it is told by SQLite when the file is opened.
        if create_private(path):
            fsync_directory(path.parent)


def _refuse_other_files(path: Path) -> None:
    """Refuse a file that is not a database: SQLite would treat a very short one as an empty database."""
    # By its size alone, for reading it here would end all locks that this process has on it: the system drops them with
    # the first handle that is closed.
    with suppress(OSError):
        if path.is_file() and 0 < path.stat().st_size < _SMALLEST:
            fault, hint = ADVICE["SQLITE_NOTADB"]
            raise StoreError(f"{path}: {fault}", hint=hint)


def first_connection(path: Path, *, may_write: bool) -> tuple[sqlite3.Connection, Stamp | None]:
    """Open the file in write-ahead mode; several processes may do so at the same time.

    Where the files next to it cannot be created, it is opened as it lies, and its stamp is returned.
    """
    deadline = time.monotonic() + _OPEN_SECONDS
    while True:
        connection = None
        try:
            connection = connect(path)
            version_of(connection, path)  # turning the log on would change another program's file
            # Asked first: turning it on needs a right and a lock that reading does not.
            if may_write and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return connection, None
        except (*FAULTS, StoreError) as error:
            if connection is not None:
                connection.close()
            if isinstance(error, StoreError):
                raise
            if is_refused_by_disk(error) and path.is_file() and path.stat().st_size:
                return _connect_still(path, error)
            # SQLite does not wait by itself if two connections turn the log on at the same time.
            if not is_busy(error) or time.monotonic() > deadline:
                raise translate_error(error, str(path)) from error
            time.sleep(0.02)


def _connect_still(path: Path, refusal: sqlite3.Error | UnicodeDecodeError) -> tuple[sqlite3.Connection, Stamp]:
    """Open a file as it lies; only possible while everything that was written is in the file itself."""
    still = stamp_of(path)
    if still is None:
        raise StoreError(
            f"{path}: its last changes are in {path.name}-wal, which cannot be read here",
            hint="make room on the disk or the folder writable, or let somebody who may write open it once",
        ) from refusal
    connection = connect(path, is_still=True)
    try:
        version_of(connection, path)
    except FAULTS as error:
        connection.close()
        raise translate_error(refusal, str(path)) from error
    return connection, still


def read_version(path: Path) -> int:
    """Read the schema version of a file without changing it."""
    return read_versions(path)[0]


def read_versions(path: Path) -> tuple[int, int | None]:
    """Read the schema version of a file, and which step a program must know to use it, without changing it."""
    # Not a plain connection, which might recover the log of a process that was killed, and so change the file.
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return version_of(connection, path), oldest_of(connection)
    except FAULTS as error:
        if not is_refused_by_disk(error):
            raise translate_error(error, str(path)) from error
        connection, _ = _connect_still(path, error)
        with closing(connection):
            return version_of(connection, path), oldest_of(connection)


def identity_at(path: Path) -> str | None:
    """Read the identity of the store in a file without changing it; "" if it is none, None if it cannot be read now."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute(statements("sqlite")["kernel.store_identity"]).fetchone()
    except sqlite3.OperationalError as error:
        return "" if "no such table" in str(error) else None
    except FAULTS:
        return ""
    return "" if row is None else str(row[0])


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Read the schema version; 0 for an empty file; refuse another program's database."""
    if connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise ForeignFile(f"{path} is another program's database", hint="choose another file; nothing was changed")
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrate(connection: sqlite3.Connection, path: Path, clock: Clock) -> None:
    """Run the missing migrations in one transaction; a second process finds them done."""
    # With foreign keys on, rebuilding a table would delete its children.
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again, now under the write lock: another process may have migrated since the first time.
        version = version_of(connection, path)
        todo = missing_steps("sqlite", version, str(path), oldest_of(connection))
        # The copy is written from a connection of its own, which sees the file as it was before this transaction.
        if todo and version:
            _keep_copy(path, version, clock)
        for step in todo:
            _run_step(connection, step, has_rows=bool(version))
        if todo:
            _seal(connection)
            _teach_planner(connection)
            _say_who_may(connection, todo)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _say_who_may(connection: sqlite3.Connection, done: Sequence[MigrationStep]) -> None:
    """Record which programs may use the file from now on."""
    if done[-1].number >= FIRST_RECORDED:
        oldest = oldest_for("sqlite", done[-1].number)
        connection.execute(statements("sqlite")["kernel.oldest_program_set"], {"oldest": oldest})
    if any(step.kind == "replace" for step in done):
        # Processes that opened the file before find another one at their next unit, and write nothing by old rules.
        connection.execute(statements("sqlite")["kernel.reincarnate"], {"incarnation": uuid4().hex})


def _run_step(connection: sqlite3.Connection, step: MigrationStep, *, has_rows: bool) -> None:
    """Run one migration inside the open transaction."""
    if has_rows and step.kind in {"contract", "replace"}:
        # Older programs may have written since these rows were completed.
        for fill in open_fills("sqlite", step.number - 1):
            _fill(connection, fill)
    if step.kind == "fill":
        _fill(connection, step)
    for statement in () if step.kind == "fill" else _split_statements(step.sql):
        connection.execute(statement)
    # A store that is being made has no row that could refer to anything.
    broken = connection.execute("PRAGMA foreign_key_check").fetchone() if has_rows else None
    if broken is not None:
        raise StoreError(f"migration {step.number} ({step.name}) would leave {broken[0]} with a dangling reference")
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {step.number}")


def _fill(connection: sqlite3.Connection, step: MigrationStep) -> None:
    """Complete the rows of every workspace at once: a file is small enough, and its writers wait for each other."""
    for (workspace,) in connection.execute("SELECT id FROM workspace").fetchall():
        while connection.execute(batch_of("sqlite", step.number), {"workspace": workspace, "limit": _PAGE}).rowcount:
            pass


def _seal(connection: sqlite3.Connection) -> None:
    """Compute the checksums that rows lack: those from before there were any, and those that a migration changed."""
    for table in CONTENT:
        rows = connection.execute(unsealed_rows(table))
        while page := rows.fetchmany(_PAGE):
            connection.executemany(seal_row(table, ":{}"), sealed_rows(table, map(dict, page)))


def _teach_planner(connection: sqlite3.Connection) -> None:
    """Write index statistics before there is any data: many rows for a workspace, few for a complete key.

    Without statistics SQLite rates an index on the workspace alone as highly as one on the requested items, and reads
    the whole workspace.
    """
    connection.execute("ANALYZE sqlite_schema")
    connection.execute("DELETE FROM sqlite_stat1")
    tables = connection.execute(
        "SELECT name, sql LIKE '%WITHOUT ROWID%' AS rowless FROM sqlite_schema "
        "WHERE type = 'table' AND sql LIKE '%workspace_id%' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    ).fetchall()
    for table in tables:
        listed = connection.execute(
            'SELECT name, origin, "unique", partial FROM pragma_index_list(?)', (table["name"],)
        )
        for index in listed.fetchall():
            columns = connection.execute("SELECT COUNT(*) FROM pragma_index_info(?)", (index["name"],)).fetchone()[0]
            # SQLite lists the key of a table without rowids under the name of the table.
            name = table["name"] if table["rowless"] and index["origin"] == "pk" else index["name"]
            rows = _FEW_ROWS if index["partial"] else _MANY_ROWS
            row = (table["name"], name, _expectation(rows, columns, whole=bool(index["unique"])))
            connection.execute("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", row)


def _expectation(rows: int, columns: int, *, whole: bool) -> str:
    """Format the statistics of an index: its number of rows, then the rows for each longer prefix of its columns."""
    narrowing = [max(1, rows // 10 ** (3 * place + 1)) for place in range(columns)]
    if whole:
        narrowing[-1] = 1
    return " ".join(str(number) for number in (rows, *narrowing))


def _split_statements(sql: str) -> list[str]:
    """Split a script into its statements."""
    found, current = [], ""
    for line in sql.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def _keep_copy(path: Path, version: int, clock: Clock) -> Path:
    """Copy the database, as it was before a migration, to a file next to it."""
    target = path.with_name(f"{path.name}.v{version}-{to_micros(clock.now())}.bak")
    copy_to(path, target)
    return target


def copy_to(path: Path, target: Path) -> None:
    """Write a compact, consistent copy while others continue to work; the target appears complete or not at all."""
    partial = target.absolute().with_name(f".{target.name}.part")
    partial.unlink(missing_ok=True)
    reader, _ = first_connection(path, may_write=False)
    try:
        # Before SQLite writes to it: an empty file is accepted as the target, and keeps its rights.
        create_private(partial)
        reader.execute("VACUUM INTO ?", (str(partial),))
        # VACUUM INTO does not sync. First the content, then the name, then the folder: the name never refers to a file
        # that is not on the disk yet, and is not lost itself.
        sync_file(partial)
        partial.replace(target)
        fsync_directory(partial.parent)
    except (*FAULTS, OSError) as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise file_error(error, "write", target) from error
        raise translate_error(error, str(target)) from error
    finally:
        reader.close()


def copy_pages(source: Path, target: Path) -> None:
    """Copy a database as it is, with what its log holds, into a new private file; nothing of it is changed."""
    create_private(target)
    # Through SQLite and not as a file: that would miss the log, and would end the locks of this process on the source.
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as reading:
            version_of(reading, source)
            with closing(sqlite3.connect(target)) as writing:
                reading.backup(writing)
    except FAULTS as error:
        raise translate_error(error, str(source)) from error
