"""A PostgreSQL database as a store: who may write when, and how a lost connection is replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psycopg
from psycopg.rows import DictRow

from everloom.clock import Clock
from everloom.errors import StoreBusy
from everloom.store.address import redact
from everloom.store.contract import StoreHealth
from everloom.store.pool import Pool
from everloom.store.postgresql.faults import is_lost, translate_error
from everloom.store.postgresql.opening import Connection, connect_for_units, prepare, version_of
from everloom.store.postgresql.unit import PostgresUnit

_CONNECTIONS = 16
# Up to so many vectors of a perspective, sorting them exactly is fast enough and loses nothing.
_LARGE = 20_000
PATIENCE_SECONDS = 30.0
# The upper half of the advisory lock of a workspace; the lower half is its id.
_WRITER_LOCK = 0x6D696E64 << 32

# An approximate index goes on looking until the page is full, whatever a filter takes away.
_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL everloom.workspace = '{workspace}'; "
    "SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = 100"
)
_WRITE = (
    "BEGIN; SET LOCAL everloom.workspace = '{workspace}'; SET LOCAL lock_timeout = '30s'; "
    "SELECT pg_advisory_xact_lock({lock})"
)


class PostgresStore:
    """One PostgreSQL database, shared by any number of threads, processes and machines."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(self, url: str, clock: Clock) -> None:
        self.address = redact(url)
        self._url = url
        prepare(url, self.address, clock)
        self._pool = Pool(self._connect, Connection.close, size=_CONNECTIONS, patience=PATIENCE_SECONDS)

    def _connect(self) -> Connection:
        return connect_for_units(self._url, self.address)

    @contextmanager
    def read(self, workspace: int) -> Iterator[PostgresUnit]:
        """Begin a unit that sees the database as it is at this moment."""
        with self._unit(workspace, _READ.format(workspace=int(workspace))) as unit:
            yield unit

    @contextmanager
    def write(self, workspace: int) -> Iterator[PostgresUnit]:
        """Begin a unit that writes; one at a time in a workspace, over all machines."""
        begin = _WRITE.format(workspace=int(workspace), lock=_WRITER_LOCK | int(workspace))
        with self._unit(workspace, begin) as unit:
            yield unit

    # The advisory lock of a workspace is taken first in a writing unit and let go by the commit itself, so its writers
    # take turns over all machines, ids grow in commit order, and a connection that dies holds nobody up.
    @contextmanager
    def _unit(self, workspace: int, begin: str) -> Iterator[PostgresUnit]:
        connection = self._begin(begin)
        try:
            yield PostgresUnit(connection, workspace)
            connection.execute("COMMIT")
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self._end(connection)

    def _begin(self, begin: str) -> Connection:
        """Begin on a living connection: one that died while idle is replaced, for as long as patience lasts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            connection = None
            try:
                connection = self._pool.take()
                connection.execute(begin.encode(), prepare=False)
                return connection
            except (psycopg.Error, StoreBusy) as error:
                again = isinstance(error, StoreBusy) or is_lost(error)
                if connection is not None:
                    self._end(connection)
                if not again or time.monotonic() > deadline:
                    raise (error if isinstance(error, StoreBusy) else translate_error(error, self.address)) from error
                time.sleep(0.1)

    def _end(self, connection: Connection) -> None:
        """Give a connection back clean, or throw it away."""
        try:
            if not connection.broken and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._pool.discard(connection)
        else:
            self._pool.give_back(connection)

    def health(self) -> StoreHealth:
        """Ask the server for its version, its size, and whether the guards of the workspaces are in force."""
        connection = self._begin("BEGIN READ ONLY")
        try:
            version = version_of(connection)
            size = connection.execute("SELECT pg_database_size(current_database()) AS size").fetchone()
            role = connection.execute(
                "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self._end(connection)
        problems = []
        if role and (role["rolsuper"] or role["rolbypassrls"]):
            problems.append(
                "the role is a superuser, so row-level security does not apply: connect as an ordinary role"
            )
        server = connection.info.server_version
        return StoreHealth(
            "postgresql", f"{server // 10_000}.{server % 10_000}", version, size["size"] if size else 0, tuple(problems)
        )

    def maintain(self, workspace: int) -> list[str]:
        """Index perspectives that have grown large, and let the planner know what the tables hold."""
        with self.read(workspace) as unit:
            large = [row for row in unit.all("vectors.counts") if row["count"] >= _LARGE]
        done = [self._index(row["model_id"], row["perspective_id"], row["dim"]) for row in large]
        self._administer("ANALYZE document, embedding, posting, term")
        return [*(name for name in done if name), "statistics"]

    def _index(self, model: int, perspective: int, dim: int) -> str | None:
        """Make the partial index of one perspective unless it is there; writers go on meanwhile."""
        name = f"embedding_near_{model}_{perspective}"
        found = self._administer(f"SELECT to_regclass('{name}') IS NOT NULL AS found")
        if found and found["found"]:
            return None
        self._administer(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON embedding USING hnsw "
            f"((vector::halfvec({dim})) halfvec_ip_ops) WHERE model_id = {model} AND perspective_id = {perspective}"
        )
        return name

    def _administer(self, statement: str) -> DictRow | None:
        """Run one statement of upkeep by itself, outside any unit of work."""
        connection = self._pool.take()
        try:
            cursor = connection.execute(statement.encode(), prepare=False)
            return cursor.fetchone() if cursor.description else None
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self._end(connection)

    def backup(self, target: Path) -> None:
        """Write every workspace into a SQLite file, which either engine can restore."""
        from everloom.store.transfer import copy_to_file  # noqa: PLC0415  loads the other engine

        copy_to_file(self, target)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
