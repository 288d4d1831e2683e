"""Opening a PostgreSQL database: connections, the vector extension, migrations, row-level security.

A database that is up to date is opened without writing or locking anything, so that a replica can be read. Every wait
has an end: the server's own limits where it can keep them, and a limit on its silence where it cannot, because a frozen
server keeps none.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from everloom.clock import Clock
from everloom.errors import StoreError
from everloom.store.contract import StoreLimits, Value
from everloom.store.migrations import latest_version, needed_steps
from everloom.store.postgresql.asking import WholeNumbers, WholeNumbersWriter
from everloom.store.postgresql.distributing import is_distributed
from everloom.store.postgresql.faults import explain_refusal, translate_error
from everloom.store.statements import statements

_OLDEST_SERVER = 150_000
# The first version with iterative scans: without them, a filtered search over an approximate index comes back too
# short.
_OLDEST_PGVECTOR = (0, 8)
# The name under which the server lists connections that replace a store; all others are called everloom/VERSION.
REPLACING = "everloom-restore"

# A migration may take long, and so may waiting for the process that runs it.
MIGRATION_SECONDS = 3_600
# How much longer than a statement may take, a server may be silent: it should be the one to end it.
GRACE_SECONDS = 2.0
# More than the common verbs take; the plan of a small statement takes some tens of kilobytes on the server.
_MOST_PREPARED = 300
# A connection over the network that carries nothing for so long is tested, and given up after a few unanswered tests.
_KEEPALIVE: dict[str, Any] = {"keepalives_idle": 30, "keepalives_interval": 5, "keepalives_count": 3}

_LIMITS = StoreLimits()

_T = TypeVar("_T")


class Connection(psycopg.Connection[DictRow]):
    """A connection that gives up on a server that stays silent, whatever the reason."""

    silence: float = MIGRATION_SECONDS

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Send what is executed in the block together at its end, and wait for all of it once.

        A pipeline of the driver sends each statement by itself, and looks for answers each time.
        """
        with self.lock:
            self._check_connection_ok()
            batch = self._pipeline = _QuietPipeline(self)
        try:
            with batch:
                yield
        finally:
            with self.lock:
                self._pipeline = None

    def wait(self, gen: Generator[Any, Any, _T], *how: Any, **more: Any) -> _T:
        """Wait for the server; close the connection if it is silent for too long."""
        try:
            wanted = next(gen)
        except StopIteration as end:
            # There was nothing to wait for.
            result: _T = end.value
            return result
        try:
            return super().wait(_attended(gen, wanted, self.silence), *how, **more)
        except _Silent:
            # Closed, because an answer that comes late would be taken for that to another question.
            self.pgconn.finish()
            message = f"the server did not answer for {self.silence:g} seconds"
            raise psycopg.OperationalError(message) from None


class _QuietPipeline(psycopg.Pipeline):
    """A pipeline that says nothing before it is complete."""

    _is_complete = False

    def _communicate_gen(self) -> Generator[Any, Any, None]:
        if self._is_complete:
            # Handed over before any of it is sent: it leaves in one piece, which wakes the server once, and a refusal
            # that arrives early is not mistaken for what it does to the statements that would have followed it.
            while self.command_queue:
                self.command_queue.popleft()()
            yield from super()._communicate_gen()

    def _exit_gen(self) -> Generator[Any, Any, None]:
        self._is_complete = True
        yield from super()._exit_gen()


class _Silent(Exception):
    """The server has been silent for too long."""


def _attended(gen: Generator[Any, Any, _T], wanted: Any, silence: float) -> Generator[Any, Any, _T]:
    """Pass everything through between the socket and psycopg, unless nothing comes for too long."""
    deadline = time.monotonic() + silence
    try:
        while True:
            ready = yield wanted
            if ready:
                deadline = time.monotonic() + silence
            elif time.monotonic() > deadline:
                raise _Silent
            wanted = gen.send(ready)
    except StopIteration as end:
        result: _T = end.value
        return result


VERSIONS = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)"

# Rows of a workspace are visible only to transactions that have named it. FORCE applies this to the tables' owner, too,
# which is the role that everloom usually connects as. Statements name their workspace, too, and PostgreSQL compares the
# two once per statement instead of once per row. A subquery would be refused by Citus.
_GUARD = """
DO $$
DECLARE name TEXT;
BEGIN
    FOR name IN
        SELECT c.table_name FROM information_schema.columns AS c
        JOIN information_schema.tables AS t USING (table_schema, table_name)
        WHERE c.table_schema = current_schema() AND c.column_name = 'workspace_id' AND t.table_type = 'BASE TABLE'
            {which}
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('DROP POLICY IF EXISTS one_workspace ON %I', name);
        EXECUTE format('CREATE POLICY one_workspace ON %I USING '
            || '(workspace_id = current_setting(''everloom.workspace'', true)::bigint)', name);
        -- A worker's look is a unit of the store itself: it may read the marks of all workspaces, and nothing else.
        IF name = 'due' THEN
            DROP POLICY IF EXISTS every_mark ON due;
            CREATE POLICY every_mark ON due FOR SELECT USING (current_setting('everloom.workspace', true) = '0');
        END IF;
    END LOOP;
END $$
"""
GUARD = _GUARD.format(which="")
# Guarding a table locks it, so those that have their guard are left alone.
GUARD_NEW = _GUARD.format(
    which="AND NOT (SELECT p.relforcerowsecurity FROM pg_class AS p "
    "WHERE p.relname = c.table_name AND p.relnamespace = current_schema()::regnamespace)"
)


def connect(
    url: str, address: str, limits: StoreLimits = _LIMITS, schema: str | None = None, name: str | None = None
) -> Connection:
    """Open a connection without implicit transactions; with `schema`, to a store next to the usual one."""
    _check_address(url, address)
    try:
        connection = Connection.connect(
            url,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=max(2, round(limits.connect_seconds)),
            # Whoever migrates sees how old the programs are that have the store open.
            application_name=name or f"everloom/{latest_version('postgresql')}",
            # Unanswered data, too: a network that was cut acknowledges nothing.
            tcp_user_timeout=round((limits.statement_seconds + GRACE_SECONDS) * 1000),
            **_KEEPALIVE,
        )
    except psycopg.OperationalError as error:
        raise explain_refusal(error, address) from error
    if schema:
        # Before the others: types of extensions are still found there.
        path = "SELECT set_config('search_path', quote_ident(%s) || ', ' || current_setting('search_path'), false)"
        connection.execute(path, (schema,))
    return connection


def connect_to_replace(url: str, address: str) -> Connection:
    """Open a connection for replacing a store; it does not count as a user of the store."""
    connection = connect(url, address, name=REPLACING)
    try:
        with connection.transaction():
            need_vectors(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_address(url: str, address: str) -> None:
    """Refuse a URL that libpq cannot read; its own message would repeat parts of it, perhaps of the password."""
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        hint = "percent-encode special characters of names and passwords: / is %2F, @ is %40, % is %25"
        raise StoreError(f"{address} cannot be read as an address", hint=hint) from None


def connect_for_units(url: str, address: str, limits: StoreLimits, schema: str | None = None) -> Connection:
    """Open a connection that can send and receive vectors.

    Nothing is set on it for longer than a transaction: behind a pooler, the next one may be on another connection.
    """
    connection = connect(url, address, limits, schema, REPLACING if schema else None)
    connection.silence = limits.statement_seconds + GRACE_SECONDS
    # As many as a process uses in turn: to make room for one more than that costs a round trip each time.
    connection.prepared_max = _MOST_PREPARED
    if not limits.prepared_statements:
        connection.prepare_threshold = None
    try:
        register_vector(connection)
        connection.adapters.register_dumper(WholeNumbers, WholeNumbersWriter)
    except psycopg.Error as error:
        connection.close()
        raise translate_error(error, address) from error
    return connection


@dataclass(frozen=True, slots=True)
class OpenedServer:
    """What is known of a store that was opened: which life of it this is, and whether its tables are distributed."""

    incarnation: str
    is_distributed: bool


def prepare(
    url: str, address: str, clock: Clock, limits: StoreLimits, schema: str | None = None, *, is_read_only: bool = False
) -> OpenedServer:
    """Check the server and migrate the database, once even if several processes start together."""
    with connect(url, address, limits, schema, REPLACING if schema else None) as connection:
        if connection.info.server_version < _OLDEST_SERVER:
            raise StoreError(
                f"{address} runs PostgreSQL {connection.info.server_version // 10_000}, which is too old",
                hint="upgrade the server to PostgreSQL 15 or newer",
            )
        try:
            if _is_current(connection, address, limits):
                return _opened(connection)
            if is_read_only:
                hint = "run `everloom migrate` once, without --read-only"
                raise StoreError(f"{address} needs a migration", hint=hint)
            from everloom.store.postgresql.migrating import bring_up_to_date  # noqa: PLC0415  few stores need it

            bring_up_to_date(connection, address, clock, limits.lock_seconds)
            return _opened(connection)
        except psycopg.Error as error:
            raise translate_error(error, address) from error


def _opened(connection: Connection) -> OpenedServer:
    row = connection.execute(statements("postgresql")["kernel.incarnation"].encode()).fetchone()
    return OpenedServer(str(row["incarnation"]) if row else "", is_distributed(connection))


def _is_current(connection: Connection, address: str, limits: StoreLimits) -> bool:
    """Return whether there is nothing to migrate, as far as that can be seen at once. Writes nothing, locks nothing."""
    connection.silence = limits.statement_seconds + GRACE_SECONDS
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL statement_timeout = '{limits.statement_seconds * 1000:.0f}ms'".encode())
            version = version_of(connection)
            if needed_steps("postgresql", version, address, oldest_of(connection, version)):
                return False
            need_vectors(connection, address)
            return True
    except psycopg.errors.QueryCanceled:
        # Somebody is migrating right now, and holds locks. The migration lock tells when that is over.
        return False
    finally:
        connection.silence = MIGRATION_SECONDS


def oldest_of(connection: Connection, version: int) -> int | None:
    """Read which step a program must know to use a store that is newer than this one; None if it is not."""
    if version <= latest_version("postgresql"):
        return None
    row = connection.execute(statements("postgresql")["kernel.oldest_program"].encode()).fetchone()
    return int(row["oldest_program"]) if row else None


def need_vectors(connection: Connection, address: str) -> None:
    """Check that pgvector is installed and recent enough, enabling it if necessary."""
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if row is None:
        try:
            # A savepoint: after a failed statement, PostgreSQL would refuse everything else in the transaction.
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector")
        except psycopg.Error as error:
            raise StoreError(
                f"{address} lacks the pgvector extension",
                hint="install pgvector 0.8 on the server, then run CREATE EXTENSION vector as its administrator",
            ) from error
        row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = str(row["extversion"]) if row else ""
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_PGVECTOR:
        raise StoreError(
            f"{address} has pgvector {version}, which is too old",
            hint="install 0.8 or newer, then run ALTER EXTENSION vector UPDATE",
        )


def version_of(connection: Connection) -> int:
    """Read the schema version; 0 before the first migration."""
    # In our schema alone: a store in another schema of the search path is not this one.
    own = "SELECT to_regclass(quote_ident(current_schema()) || '.migration') AS found"
    if connection.execute(own).fetchone() == {"found": None}:
        return 0
    row = connection.execute("SELECT COALESCE(MAX(number), 0) AS number FROM migration").fetchone()
    return int(row["number"]) if row else 0


def brings_rows(cursor: psycopg.Cursor[DictRow]) -> bool:
    """Return whether an answer has columns, without describing them as `cursor.description` does."""
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def to_neutral(value: object) -> Value:
    """Convert a column to the form that every engine reads: a vector becomes float16 bytes."""
    return value.to_numpy().astype("<f2").tobytes() if isinstance(value, HalfVector) else cast("Value", value)
