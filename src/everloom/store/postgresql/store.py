"""A PostgreSQL database as a store: connections, how transactions begin and end, the write lock, and maintenance.

A connection that died while idle is replaced unseen. Refuses to know what a unit of work does (`unit.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import psycopg
from psycopg.rows import DictRow

from everloom.clock import Clock
from everloom.errors import SchemaMismatch, StoreBusy, StoreReplaced, WorkspaceLeaving
from everloom.store.address import redact
from everloom.store.contract import (
    Numbers,
    Row,
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
    refuse_older,
)
from everloom.store.postgresql import nearness
from everloom.store.postgresql.asking import BoundStatement
from everloom.store.postgresql.beginning import (
    NOWHERE,
    Numbering,
    UnitLimits,
    begin_first,
    begin_reading,
    begin_shortly,
    begin_writing,
    first_numbers,
    spread,
)
from everloom.store.postgresql.faults import is_lost, translate_error
from everloom.store.postgresql.nearness import NearIndex, NearIndexes, lacking, megabytes_for, superfluous
from everloom.store.postgresql.opening import (
    GRACE_SECONDS,
    Connection,
    brings_rows,
    connect_for_units,
    prepare,
    version_of,
)
from everloom.store.postgresql.scrubbing import IN_USE, SPREAD, scrub
from everloom.store.postgresql.unit import LONG_SECONDS, BegunUnit, PostgresUnit, ReadingUnit
from everloom.store.verifying import content_problems, derived_problems

T = TypeVar("T")

# Never less than whoever runs the server has chosen. Not behind a pooler, where it could become the setting of a
# stranger's session: poolers make up the number by which a client knows its session.
_MEMORY = """SELECT set_config('maintenance_work_mem', %(memory)s, false)
WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(%(memory)s)
    AND pg_backend_pid() = %(session)s"""
# A statement that writes, such as a batch of an import, may take longer than one that reads.
_WRITE_SECONDS = 60.0
_LIMITS = StoreLimits()


def _look(connection: Connection) -> BegunUnit:
    """Begin to read what belongs to no workspace."""
    connection.execute("BEGIN READ ONLY")
    return BegunUnit()


class PostgresStore:
    """One PostgreSQL database, shared by any number of threads, processes and machines."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(
        self,
        url: str,
        clock: Clock,
        limits: StoreLimits = _LIMITS,
        *,
        schema: str | None = None,
        is_read_only: bool = False,
    ) -> None:
        self.address = redact(url)
        self._url = url
        self._schema = schema
        self.is_read_only = is_read_only
        self.clock = clock
        self._limits = limits
        opened = prepare(url, self.address, clock, limits, schema, is_read_only=is_read_only)
        self._incarnation, self.is_distributed = opened.incarnation, opened.is_distributed
        self._pool = Pool(self._connect, Connection.close, size=limits.connections, patience=limits.lock_seconds)
        self._queue = WriterQueue()
        self._constants: dict[Hashable, Any] = {}
        self._near = NearIndexes()

    @property
    def load(self) -> StoreLoad:
        """How busy the server keeps this process."""
        return self._pool.load(self._queue)

    def _connect(self) -> Connection:
        return connect_for_units(self._url, self.address, self._limits, self._schema)

    @contextmanager
    def read(self, workspace: int) -> Iterator[PostgresUnit]:
        """Begin a unit that sees a snapshot of the database, with its first statement."""
        constants = Constants(self._constants)
        unit = ReadingUnit(self, int(workspace), constants, self._near)
        try:
            yield unit
            unit.commit()
            constants.publish()
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            unit.leave()

    def begin_reading(
        self, workspace: int, statements: Sequence[BoundStatement]
    ) -> tuple[Connection, tuple[int, list[psycopg.Cursor[DictRow]]]]:
        """Begin a transaction that reads, and run its first statements in the same round trip."""
        return self._begin_with(self._beginning(workspace), statements)

    def ask_once(self, workspace: int, statement: BoundStatement) -> list[Row]:
        """Ask one question in a unit of its own; a transaction of one question needs nobody to begin and end it."""
        beginning = self._beginning(workspace)
        if self.is_distributed:
            statements = [statement, BoundStatement("COMMIT")]
        else:
            beginning, statements = beginning[1:], [statement]
        connection, (_, cursors) = self._begin_with(beginning, statements)
        try:
            return cast("list[Row]", cursors[0].fetchall())
        finally:
            self.end(connection)

    def _beginning(self, workspace: int) -> list[BoundStatement]:
        """Write how a unit that reads begins."""
        limits = UnitLimits(self._limits.lock_seconds, self._limits.statement_seconds)
        if self.is_distributed:
            return [BoundStatement(each) for each in spread(begin_reading(workspace, limits))]
        return [BoundStatement(*each) for each in begin_shortly(workspace, limits)]

    def _begin_with(
        self, beginning: Sequence[BoundStatement], statements: Sequence[BoundStatement]
    ) -> tuple[Connection, tuple[int, list[psycopg.Cursor[DictRow]]]]:
        def begin(connection: Connection) -> tuple[int, list[psycopg.Cursor[DictRow]]]:
            cursors: list[psycopg.Cursor[DictRow]] = []
            try:
                with connection.batch():
                    for sql, values, prepare in (*beginning, *statements):
                        cursors.append(connection.execute(sql, values, binary=True, prepare=prepare))
            except psycopg.Error:
                self._explain(cursors[: len(beginning)])
                raise
            life = self._life_in(cursors[len(beginning) - 1])
            return life["ids_above"], cursors[len(beginning) :]

        return self._begin(begin, self._limits.statement_seconds)

    def _explain(self, beginning: Sequence[psycopg.Cursor[DictRow]]) -> None:
        """Name a store that was replaced: it may lack the tables and columns of a unit's first statements."""
        if beginning and brings_rows(beginning[-1]):
            self._life_in(beginning[-1])

    def _life_in(self, cursor: psycopg.Cursor[DictRow]) -> DictRow:
        """Read how the store and the workspace stand, and refuse to read what is no longer here."""
        life = cursor.fetchone() if brings_rows(cursor) else None
        self._check_life(life)
        check_state(life, Need.READING)
        return cast("DictRow", life)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[int], PostgresUnit]]:
        """Begin to read all workspaces as of one moment, in one transaction."""
        patience = UnitLimits(self._limits.lock_seconds, LONG_SECONDS)
        # Whoever copies writes elsewhere in between, for as long as that takes.
        begin = begin_reading(NOWHERE, patience, may_rest=True)
        seconds = self._limits.statement_seconds
        with self._unit(NOWHERE, lambda connection: self._begin_reading(connection, begin), seconds) as unit:
            yield unit.enter

    @contextmanager
    def write(
        self, workspace: int, *, patience: float | None = None, is_durable: bool = True, is_moving: bool = False
    ) -> Iterator[PostgresUnit]:
        """Begin a unit that writes; one at a time in each workspace, across all machines."""
        if self.is_read_only:
            raise refuse_write(self.address)
        seconds = self._limits.lock_seconds if patience is None else patience
        longest = max(_WRITE_SECONDS, self._limits.statement_seconds, seconds)
        patient = UnitLimits(seconds, longest)
        begin = (begin_writing(workspace, patient, is_durable=is_durable), begin_first(workspace, patient))
        need = Need.MOVING if is_moving else Need.WRITING

        def start(connection: Connection) -> BegunUnit:
            return self._begin_writing(connection, workspace, begin, need)

        came = time.monotonic()
        with self._unit(workspace, start, seconds) as unit:
            self._queue.passed(came)
            unit.allow(longest)
            yield unit

    def _begin_reading(self, connection: Connection, begin: Sequence[str]) -> BegunUnit:
        (life,) = self._ask(connection, begin)
        self._check_life(life)
        check_state(life, Need.READING)
        return BegunUnit(life["ids_above"], None, self.is_distributed)

    # A writing unit takes the lock of its workspace first, and the end of the transaction releases it. Writers of a
    # workspace therefore take turns across all machines, ids grow in commit order, and a lost connection blocks nobody.
    def _begin_writing(
        self, connection: Connection, workspace: int, begin: tuple[list[str], list[str]], need: Need
    ) -> BegunUnit:
        _, lock, numbers, life = self._ask(connection, begin[0])
        self._check_life(life)
        if lock is None and (workspace == NOWHERE or life["name"] is not None):
            _, numbers, life = self._ask(connection, begin[1])
            self._check_life(life)
        check_state(life, need)
        above = life["ids_above"]
        last = first_numbers(workspace, above) if numbers is None else Numbers(numbers["item"], numbers["revision"])
        return BegunUnit(above, Numbering(workspace, last), self.is_distributed)

    @contextmanager
    def _unit(
        self, workspace: int, start: Callable[[Connection], BegunUnit], patience: float
    ) -> Iterator[PostgresUnit]:
        connection, begun = self._begin(start, patience)
        try:
            constants = Constants(self._constants)
            unit = PostgresUnit(connection, workspace, constants, begun, self._near, UnitMarks(self.clock))
            yield unit
            unit.finish()
            unit.commit()
            constants.publish()
        except psycopg.Error as error:
            # Not repeated here: if the connection broke during COMMIT, nobody knows whether it happened. The caller
            # does that, with an idempotency key.
            raise translate_error(error, self.address) from error
        finally:
            self.end(connection)

    def _begin(self, start: Callable[[Connection], T], patience: float) -> tuple[Connection, T]:
        """Begin a transaction, replacing connections that died while idle until the time limit is reached."""
        deadline = time.monotonic() + patience
        while True:
            connection = None
            try:
                connection = self._pool.take()
                connection.silence = patience + GRACE_SECONDS
                # Nothing has been written yet, so beginning again on another connection is always safe.
                return connection, start(connection)
            except WorkspaceLeaving:
                # Busy, too, but for longer than anybody should wait.
                if connection is not None:
                    self.end(connection)
                raise
            except (psycopg.Error, StoreBusy) as error:
                again = isinstance(error, StoreBusy) or is_lost(error)
                if connection is not None:
                    self.end(connection)
                if not again or time.monotonic() > deadline:
                    raise (error if isinstance(error, StoreBusy) else translate_error(error, self.address)) from error
                time.sleep(0.1)
            # Whatever it is, also a value that cannot be sent: the connection must not be lost to the others.
            except BaseException as error:
                if connection is not None:
                    self.end(connection)
                if isinstance(error, (StoreReplaced, SchemaMismatch)):
                    self._pool.close_idle()
                raise

    def _ask(self, connection: Connection, begin: Sequence[str]) -> list[Any]:
        """Run statements in one round trip, and read the first row of each that answers with rows."""
        if not self.is_distributed:
            cursor = connection.execute("; ".join(begin).encode(), prepare=False)
            found = [cursor.fetchone()] if brings_rows(cursor) else []
            while cursor.nextset():
                if brings_rows(cursor):
                    found.append(cursor.fetchone())
            return found
        # One by one: Citus repeats on other nodes the whole text that a setting was part of.
        with connection.batch():
            cursors = [connection.execute(each.encode(), prepare=False) for each in spread(begin)]
        return [cursor.fetchone() for cursor in cursors if brings_rows(cursor)]

    def _check_life(self, row: DictRow | None) -> None:
        """Refuse to go on if the store was replaced since this process opened it, or no longer suits this program."""
        if row is None or row["incarnation"] != self._incarnation:
            raise StoreReplaced(
                f"{self.address} was migrated or restored while this process had it open",
                hint="restart this process, with the newest everloom; nothing was written",
            )
        refuse_older("postgresql", row["oldest_program"], self.address)

    def end(self, connection: Connection) -> None:
        """Return a connection to the pool without an open transaction, or discard it."""
        try:
            if not connection.broken and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._pool.discard(connection)
        else:
            self._pool.give_back(connection)

    def check(self) -> None:
        """Check that the server answers, and that the store is still the one that was opened."""
        with self.read(NOWHERE) as unit:
            unit.all("kernel.store_identity")

    def health(self, *, deep: bool = False) -> StoreHealth:
        """Ask the server for its version, its size, and whether row-level security applies to this role.

        With `deep`, compare all content with its checksums, and everything derived with what it is derived from.
        """
        connection, _ = self._begin(_look, self._limits.statement_seconds)
        try:
            version = version_of(connection)
            size = connection.execute("SELECT pg_database_size(current_database()) AS size").fetchone()
            role = connection.execute(
                "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self.end(connection)
        problems = []
        if role and (role["rolsuper"] or role["rolbypassrls"]):
            problems.append(
                "the role is a superuser, so row-level security does not apply: connect as an ordinary role"
            )
        if deep:
            problems += [*content_problems(self), *derived_problems(self)]
        server = connection.info.server_version
        return StoreHealth(
            "postgresql", f"{server // 10_000}.{server % 10_000}", version, size["size"] if size else 0, tuple(problems)
        )

    def maintain(self, workspace: int) -> list[str]:
        """Index the vectors of perspectives that have grown large, and refresh the planner's statistics."""
        done = self._index_large(workspace) if self._may_index() else []
        self._administer("ANALYZE document, embedding, posting, term")
        return [*done, "statistics"]

    def _index_large(self, workspace: int) -> list[str]:
        """Create the approximate indexes that a workspace lacks, and drop those that serve nobody any more."""
        with self.read(workspace) as unit:
            counts = sorted(unit.all("vectors.counts"), key=lambda row: -row["count"])
            names = {row["name"]: row["is_empty"] for row in unit.all("vectors.indexes_all")}
        large = {
            NearIndex(workspace, row["model_id"], row["perspective_id"]): row
            for row in counts
            if row["count"] >= nearness.LARGE
        }
        for name in superfluous(names, workspace, large, [name for name, is_empty in names.items() if is_empty]):
            self._administer(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            names.pop(name)
        wanted = [each for each in large if each.name in names] + lacking(names, list(large))
        done = [self._index(each, large[each]["dim"], large[each]["count"]) for each in wanted]
        self._near.forget()
        return [name for name in done if name]

    def _index(self, index: NearIndex, dim: int, count: int) -> str | None:
        """Create the partial index of one perspective if it is missing or broken, without blocking writers."""
        found = self._administer("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", index.name)
        if found and found["indisvalid"]:
            return None
        if found and not self._is_being_built(index.name):
            # What an interrupted build leaves is never used and never finished, but every write keeps it up to date.
            self._administer(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}")
        self._administer(index.definition(dim), megabytes=megabytes_for(count, dim))
        return index.name

    def _may_index(self) -> bool:
        """Say whether this server takes changes of the schema; of a cluster, only the coordinator does."""
        if not self.is_distributed:
            return True
        found = self._administer("SELECT citus_is_coordinator() AS here")
        return found is not None and bool(found["here"])

    def _is_being_built(self, name: str) -> bool:
        """Say whether another process builds an index right now."""
        found = self._administer(
            "SELECT count(*) AS count FROM pg_stat_progress_create_index WHERE index_relid = to_regclass(%s)", name
        )
        return found is not None and found["count"] > 0

    def _administer(self, statement: str, *given: str, megabytes: int = 0) -> DictRow | None:
        """Run one maintenance statement outside any transaction, with no less memory than that."""
        # CREATE INDEX CONCURRENTLY is not allowed inside one.
        connection = self._pool.take()
        connection.silence = LONG_SECONDS
        try:
            if megabytes:
                given_memory = {"memory": f"{megabytes}MB", "session": connection.info.backend_pid}
                connection.execute(_MEMORY, given_memory, prepare=False)
            cursor = connection.execute(statement.encode(), given or None, prepare=False)
            return cursor.fetchone() if brings_rows(cursor) else None
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            if megabytes:
                # The next one gets the server's setting again.
                connection.close()
            self.end(connection)

    def scrub(self, *, at_most: int | None = None) -> Scrubbed:
        """Rewrite every table that holds texts or vectors, so that no deleted byte is left in it."""
        if self.is_distributed:
            return SPREAD
        try:
            return self._scrub(at_most)
        except StoreBusy:
            return IN_USE

    def _scrub(self, at_most: int | None) -> Scrubbed:
        connection = self._pool.take()
        try:
            connection.silence = LONG_SECONDS
            return scrub(connection, LONG_SECONDS, at_most)
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            # Not returned: the next user must not inherit the timeouts.
            connection.close()
            self.end(connection)

    def backup(self, target: Path) -> None:
        """Write every workspace into a SQLite file, which either engine can restore."""
        from everloom.store.transfer import copy_to_file  # noqa: PLC0415  loads the other engine

        copy_to_file(self, target)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
