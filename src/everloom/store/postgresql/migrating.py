"""Migrating a PostgreSQL database: steps that only add while others work, all others while nobody does.

A lock that is not free at once is given up and tried again later, so that nobody queues behind a migration for longer
than a moment. Everything can be interrupted anywhere and goes on the next time. Refuses to know what a step is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import uuid4

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors

from everloom.clock import Clock, to_micros
from everloom.store.address import redact
from everloom.store.checksums import CONTENT, seal_row, sealed_rows, unsealed_rows
from everloom.store.contract import StoreLimits
from everloom.store.migrations import (
    FIRST_RECORDED,
    MigrationStep,
    batch_of,
    missing_steps,
    needed_steps,
    oldest_for,
    open_fills,
)
from everloom.store.migrations.additions import Addition, additions
from everloom.store.postgresql.distributing import (
    Distributed,
    change_in_sequence,
    count_nodes,
    distribute_tables,
    is_distributed,
    need_citus,
    need_coordinator,
    others_at,
    undistributed,
)
from everloom.store.postgresql.faults import translate_error
from everloom.store.postgresql.opening import (
    GUARD,
    GUARD_NEW,
    MIGRATION_SECONDS,
    VERSIONS,
    Connection,
    connect,
    need_vectors,
    oldest_of,
    prepare,
    to_neutral,
    version_of,
)
from everloom.store.postgresql.safety import Safety, holds_anything, refuse_unsafe, secure, size_of
from everloom.store.statements import statements

# "mind" in ASCII: a number that other programs in the same database are unlikely to lock.
_LOCK = 0x6D696E64
# Rows at a time: of checksums, and of a transaction that completes rows.
_PAGE = 1_000
# How long others may have to queue behind a lock that is not free.
_LOCK_MILLISECONDS = 200
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0
_LOCK_SECONDS = 30.0

_OLDER = """
SELECT count(*) AS count FROM {others}
    AND CASE WHEN application_name ~ '^everloom/[0-9]+$' THEN substr(application_name, 10)::bigint < %s END
"""
_INDEX = """
SELECT i.indisvalid AS is_valid, EXISTS (
    SELECT 1 FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid
) AS is_being_built FROM pg_index AS i WHERE i.indexrelid = to_regclass(%s)
"""
# Shows every row to a transaction that is in no workspace, until the guards are there again.
_UNGUARD = """
DO $$
DECLARE name TEXT;
BEGIN
    FOR name IN
        SELECT tablename FROM pg_policies WHERE schemaname = current_schema() AND policyname = 'one_workspace'
    LOOP
        EXECUTE format('DROP POLICY one_workspace ON %I', name);
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I DISABLE ROW LEVEL SECURITY', name);
    END LOOP;
END $$
"""
_RECORD = "INSERT INTO migration (number, name, at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Survey:
    """What a store needs: the steps that it lacks, those of them that can wait, and what is at stake."""

    version: int
    needed: tuple[MigrationStep, ...]
    waiting: tuple[MigrationStep, ...]
    bytes_used: int
    holds_anything: bool

    @property
    def stops_others(self) -> bool:
        """Whether a step has to be done while nobody works."""
        return any(step.kind == "replace" for step in self.needed)


def survey(url: str) -> Survey:
    """Look at a store without changing it; one that is newer than this program is refused."""
    address = redact(url)
    try:
        with connect(url, address) as connection, connection.transaction():
            version = version_of(connection)
            oldest = oldest_of(connection, version)
            needed = needed_steps("postgresql", version, address, oldest)
            missing = missing_steps("postgresql", version, address, oldest)
            is_full = bool(version) and holds_anything(connection)
            return Survey(version, needed, missing[len(needed) :], size_of(connection), is_full)
    except psycopg.Error as error:
        raise translate_error(error, address) from error


def migrate(url: str, clock: Clock, safety: Safety) -> tuple[str, ...]:
    """Run every missing step of a store; returns what waits for whom."""
    address = redact(url)
    try:
        with connect(url, address) as connection:
            return bring_up_to_date(connection, address, clock, _LOCK_SECONDS, safety=safety, is_whole=True)
    except psycopg.Error as error:
        raise translate_error(error, address) from error


def distribute(url: str, clock: Clock) -> Distributed:
    """Spread the tables of a store over the nodes of its cluster; others may not be writing meanwhile, and wait."""
    address = redact(url)
    prepare(url, address, clock, StoreLimits())
    with connect(url, address) as connection:
        try:
            need_citus(connection, address)
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS * 1000:.0f}ms'".encode())
                _keep_others_out(connection)
                if not undistributed(connection):
                    return Distributed((), count_nodes(connection))
                # A guarded table cannot be filled on another node.
                connection.execute(_UNGUARD)
                done = distribute_tables(connection)
                connection.execute(GUARD)
                # Other processes know the store as it was, and begin their transactions in another way.
                _reincarnate(connection)
                return done
        except psycopg.Error as error:
            raise translate_error(error, address) from error


def bring_up_to_date(
    connection: Connection,
    address: str,
    clock: Clock,
    patience: float,
    *,
    safety: Safety | None = None,
    is_whole: bool = False,
) -> tuple[str, ...]:
    """Run the missing steps, with `is_whole` also contract steps at the end; returns what waits for older programs."""
    which = missing_steps if is_whole else needed_steps
    while todo := which("postgresql", version := version_of(connection), address, oldest_of(connection, version)):
        need_coordinator(connection, address)
        if version == 0 or any(step.kind == "replace" for step in todo):
            run = _Offline(connection, address, clock, safety or Safety())
            run.all(todo, patience)
        elif all(step.kind == "contract" for step in todo) and (older := _older(connection, todo[0].oldest)):
            return (f"{todo[0]} waits until {older} connections of older programs are closed",)
        else:
            _Online(connection, clock).step(todo[0])
    return ()


def _older(connection: Connection, oldest: int) -> int:
    """Count the connections of programs that do not know a step."""
    row = connection.execute(_OLDER.format(others=others_at(connection)).encode(), (oldest,)).fetchone()
    return int(row["count"]) if row else 0


@dataclass(frozen=True, slots=True)
class _Offline:
    """Runs steps in one transaction in which nobody else can use the store; a failure leaves it as it was."""

    connection: Connection
    address: str
    clock: Clock
    safety: Safety

    def all(self, todo: Sequence[MigrationStep], patience: float) -> None:
        """Run everything up to the last step that stops others; of a new store, everything."""
        execute = self.connection.execute
        if version_of(self.connection):
            refuse_unsafe(self.connection, self.address, todo, self.safety)
        # The lock comes first: if many processes start at once, one migrates and the others find it done.
        with self.connection.transaction():
            execute(f"SET LOCAL lock_timeout = '{MIGRATION_SECONDS}s'".encode())
            execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            execute(f"SET LOCAL lock_timeout = '{patience * 1000:.0f}ms'".encode())
            need_vectors(self.connection, self.address)
            version = version_of(self.connection)
            missing = missing_steps("postgresql", version, self.address, oldest_of(self.connection, version))
            stopping = [step.number for step in missing if step.kind == "replace" or not version]
            if stopping:
                self._run([step for step in missing if step.number <= stopping[-1]], version)

    def _run(self, todo: Sequence[MigrationStep], version: int) -> None:
        if version:
            _keep_others_out(self.connection)
            if is_distributed(self.connection):
                change_in_sequence(self.connection)
            self.connection.execute(_UNGUARD)
            secure(self.connection, self.address, self.safety, f"everloom_v{version}_{to_micros(self.clock.now())}")
        self.connection.execute(VERSIONS)
        for step in todo:
            if version and step.kind in {"replace", "contract"}:
                _complete(self.connection, step)
            if step.kind != "fill":
                self.connection.execute(step.sql.encode())
            self.connection.execute(_RECORD, (step.number, step.name, to_micros(self.clock.now())))
        if version:
            _seal(self.connection)
        # Before the guards: a guarded table cannot be filled on another node.
        if is_distributed(self.connection):
            distribute_tables(self.connection)
        # Last, because a step may have created tables, and because the guards were lifted above.
        self.connection.execute(GUARD)
        if todo[-1].number >= FIRST_RECORDED:
            _leave_to(self.connection, todo[-1])
        _reincarnate(self.connection)


@dataclass(frozen=True, slots=True)
class _Online:
    """Runs one step while others work, in short transactions; each may be repeated."""

    connection: Connection
    clock: Clock

    def step(self, step: MigrationStep) -> None:
        """Run a step and record it."""
        if step.kind == "expand":
            added = additions(step)
            new = {each.table for each in added if each.what == "table"}
            for each in added:
                self._add(each, is_new=each.table in new)
        if step.kind == "contract":
            self._close(step)
        self._shortly(lambda: self._record(step))

    def _record(self, step: MigrationStep) -> None:
        """Record a step, together with what a contract step removes, unless another process has just done it."""
        if version_of(self.connection) < step.number:
            if step.kind == "contract":
                self.connection.execute(step.sql.encode())
            self.connection.execute(_RECORD, (step.number, step.name, to_micros(self.clock.now())))

    def _add(self, addition: Addition, *, is_new: bool) -> None:
        """Add a table, a column or an index, unless it is there."""
        if addition.what == "index" and not is_new:
            self._build(addition)
            return
        head = {"table": "CREATE TABLE ", "column": "ADD COLUMN ", "index": "CREATE INDEX "}[addition.what]
        sql = addition.sql.replace(head, f"{head}IF NOT EXISTS ", 1)

        def add() -> None:
            self.connection.execute(sql.encode())
            if addition.what == "table":
                if is_distributed(self.connection):
                    distribute_tables(self.connection)
                # In the same transaction: no row of it is ever visible to another workspace.
                self.connection.execute(GUARD_NEW)

        self._shortly(add)

    def _build(self, index: Addition) -> None:
        """Build an index without blocking writers, again if a build was interrupted."""
        deadline = time.monotonic() + MIGRATION_SECONDS
        sql = index.sql.replace("CREATE INDEX ", "CREATE INDEX CONCURRENTLY IF NOT EXISTS ", 1)
        while (
            not (found := self.connection.execute(_INDEX.encode(), (index.name,)).fetchone()) or not found["is_valid"]
        ):
            if found and found["is_being_built"]:
                time.sleep(_PAUSE_SECONDS)
            elif found:
                # What an interrupted build leaves is never used nor finished, but every write keeps it up to date.
                self._try(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}")
            else:
                self._try(sql)
            if time.monotonic() > deadline:
                raise errors.LockNotAvailable(f"the index {index.name} could not be built in time")

    def _try(self, sql: str) -> None:
        """Run a statement outside of a transaction; another process may do the same at this moment."""
        try:
            self.connection.execute(sql.encode(), prepare=False)
        except (errors.LockNotAvailable, errors.DeadlockDetected, errors.UniqueViolation, errors.DuplicateTable):
            time.sleep(_PAUSE_SECONDS)

    def _close(self, step: MigrationStep) -> None:
        """Refuse the programs from before a contract step, and complete what they wrote last."""

        def fence() -> None:
            # When this lock is granted, no unit is under way. Those that begin later read who may use the store.
            _keep_others_out(self.connection)
            _leave_to(self.connection, step)

        self._shortly(fence)
        for fill in open_fills("postgresql", step.number - 1):
            for workspace in _workspaces(self.connection):
                while self._shortly(partial(self._batch, fill, workspace)):
                    pass

    def _batch(self, fill: MigrationStep, workspace: int) -> int:
        """Complete some rows of a workspace."""
        self.connection.execute(f"SET LOCAL everloom.workspace = '{workspace}'".encode())
        return _fill(self.connection, fill, workspace)

    def _shortly(self, work: Callable[[], _T]) -> _T:
        """Do something in a transaction, again and again until every lock that it needs is free."""
        deadline, pause = time.monotonic() + MIGRATION_SECONDS, _PAUSE_SECONDS
        while True:
            try:
                with self.connection.transaction():
                    self.connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_MILLISECONDS}ms'".encode())
                    self.connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                    return work()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                if time.monotonic() > deadline:
                    raise
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)


def _leave_to(connection: Connection, step: MigrationStep) -> None:
    """Record which programs may use the store after a step."""
    oldest = {"oldest": oldest_for("postgresql", step.number)}
    connection.execute(statements("postgresql")["kernel.oldest_program_set"].encode(), oldest)


def _workspaces(connection: Connection) -> list[int]:
    return [row["id"] for row in connection.execute("SELECT id FROM workspace ORDER BY id").fetchall()]


def _complete(connection: Connection, step: MigrationStep) -> None:
    """Complete all rows that a step takes for complete, inside the open transaction."""
    for fill in open_fills("postgresql", step.number - 1):
        for workspace in _workspaces(connection):
            while _fill(connection, fill, workspace):
                pass


def _fill(connection: Connection, fill: MigrationStep, workspace: int) -> int:
    given = {"workspace": workspace, "limit": _PAGE}
    return connection.execute(batch_of("postgresql", fill.number).encode(), given).rowcount


def _seal(connection: Connection) -> None:
    """Compute the checksums that rows lack: those from before there were any, and those that a migration changed."""
    register_vector(connection)
    for table in CONTENT:
        with connection.cursor(name=f"unsealed_{table}") as rows, connection.cursor() as writing:
            rows.execute(unsealed_rows(table).encode())
            while page := rows.fetchmany(_PAGE):
                found = sealed_rows(table, ({key: to_neutral(value) for key, value in row.items()} for row in page))
                writing.executemany(seal_row(table, "%({})s").encode(), list(found))


def _reincarnate(connection: Connection) -> None:
    connection.execute(statements("postgresql")["kernel.reincarnate"].encode(), {"incarnation": uuid4().hex})


def _keep_others_out(connection: Connection) -> None:
    """Wait until no unit of work is under way, and let none begin before this transaction ends."""
    own = "SELECT to_regclass(quote_ident(current_schema()) || '.store_identity') AS found"
    if connection.execute(own).fetchone() != {"found": None}:
        connection.execute("LOCK TABLE store_identity IN ACCESS EXCLUSIVE MODE")
