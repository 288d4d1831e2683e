"""Replacing a PostgreSQL store by a new one that was built in a schema next to it, in a single transaction.

The tables change places: the old ones move into a schema that keeps them, the new ones into that of the store. Other
programs' tables in the same schema stay where they are. Refuses to know what the new store holds.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Self

import psycopg

from everloom.clock import Clock, to_micros
from everloom.errors import Conflict, StoreError
from everloom.store.address import redact
from everloom.store.engine import holds_workspaces, in_use
from everloom.store.migrations import missing_steps, tables
from everloom.store.postgresql.distributing import need_coordinator, others_at
from everloom.store.postgresql.faults import translate_error
from everloom.store.postgresql.opening import connect_to_replace, version_of
from everloom.store.postgresql.store import PostgresStore
from everloom.store.statements import statements

_PAUSE_SECONDS = 0.1
# Next to the lock of migrations: one restore at a time.
_RESTORE_LOCK = 0x6D696E65
# How long to wait even if nobody asked for it: a process that has just ended is listed for a moment longer.
_SHORTEST_WAIT = 2.0

_OTHERS = "SELECT count(*) AS count FROM {others} AND application_name ~ '^everloom(/|$)'"
_LEFT = "SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'everloom\\_restoring\\_%'"
# Indexes, policies and constraints follow their table.
_MOVE = """
DO $$
DECLARE name TEXT;
BEGIN
    FOR name IN
        SELECT tablename FROM pg_tables WHERE schemaname = '{origin}' AND tablename = ANY('{{{tables}}}')
    LOOP
        EXECUTE format('ALTER TABLE %I.%I SET SCHEMA %I', '{origin}', name, '{target}');
    END LOOP;
    -- A store from before every workspace counted for itself.
    FOR name IN
        SELECT sequencename FROM pg_sequences
        WHERE schemaname = '{origin}' AND sequencename IN ('item_counter', 'revision_counter')
    LOOP
        EXECUTE format('ALTER SEQUENCE %I.%I SET SCHEMA %I', '{origin}', name, '{target}');
    END LOOP;
END $$
"""
# Above the ids of both, whatever workspace gave them. The guards would hide every row from a transaction that is in no
# workspace.
_COUNT_ON = """
DO $$
DECLARE given BIGINT;
BEGIN
    IF to_regclass('"{former}".item_counter') IS NOT NULL THEN
        SELECT last_value INTO given FROM "{former}".item_counter;
    ELSE
        ALTER TABLE "{former}".workspace_counter NO FORCE ROW LEVEL SECURITY;
        SELECT GREATEST(
            (SELECT max(item) FROM "{former}".workspace_counter WHERE workspace_id <> 0),
            (SELECT max(ids_above) FROM "{former}".store_identity)) INTO given;
        ALTER TABLE "{former}".workspace_counter FORCE ROW LEVEL SECURITY;
    END IF;
    ALTER TABLE "{home}".workspace_counter NO FORCE ROW LEVEL SECURITY;
    UPDATE "{home}".workspace_counter SET item = given WHERE workspace_id <> 0 AND item < given;
    UPDATE "{home}".store_identity SET ids_above = given WHERE ids_above < given;
    ALTER TABLE "{home}".workspace_counter FORCE ROW LEVEL SECURITY;
END $$
"""


class PostgresReplacement:
    """A new store in a schema next to the one at `url`; `store` is to be filled, then `switch` puts it in place.

    Without `force`, a store that holds workspaces is not replaced. Others may not have it open; `wait` is how many
    seconds to wait for them.
    """

    def __init__(self, url: str, clock: Clock, *, force: bool, wait: float) -> None:
        self._url = url
        self._address = redact(url)
        self._clock = clock
        self._force = force
        self._deadline = time.monotonic() + max(wait, _SHORTEST_WAIT)
        self._held = ExitStack()
        self.store: PostgresStore

    def __enter__(self) -> Self:
        try:
            self._connection = self._held.enter_context(connect_to_replace(self._url, self._address))
            self._begin()
            self.store = PostgresStore(self._url, self._clock, schema=self._new)
            self._held.callback(self.store.close)
        except psycopg.Error as error:
            self._held.close()
            raise translate_error(error, self._address) from error
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.store.close()
            self._connection.execute(f'DROP SCHEMA IF EXISTS "{self._new}" CASCADE'.encode())
        except psycopg.Error as error:
            # The restore that comes next removes it.
            raise translate_error(error, self._address) from error
        finally:
            self._held.close()

    def _begin(self) -> None:
        """Check that the store may be replaced, and create the schema for the new one."""
        taken = self._ask(f"SELECT pg_try_advisory_lock({_RESTORE_LOCK}) AS taken")
        if not taken["taken"]:
            raise Conflict(f"another restore into {self._address} is running", hint="wait until it is done")
        self._home = str(self._ask("SELECT current_schema() AS name")["name"])
        need_coordinator(self._connection, self._address)
        # Others first: a store that they are still writing to is not judged by what it holds now.
        self._wait_for_others()
        missing_steps("postgresql", version_of(self._connection), self._address)
        self._refuse_content()
        for left in self._connection.execute(_LEFT).fetchall():
            self._connection.execute(f'DROP SCHEMA "{left["name"]}" CASCADE'.encode())
        self._new = self._fresh_name("everloom_restoring")
        try:
            self._connection.execute(f'CREATE SCHEMA "{self._new}"'.encode())
        except psycopg.errors.InsufficientPrivilege as error:
            hint = "let its owner GRANT CREATE ON DATABASE to this role, or restore as the owner; nothing was changed"
            raise StoreError(f"{self._address}: this role may not create a schema", hint=hint) from error

    def _ask(self, statement: str) -> dict[str, object]:
        return self._connection.execute(statement.encode()).fetchone() or {}

    def _exists(self) -> bool:
        return version_of(self._connection) > 0

    def _refuse_content(self) -> None:
        """Refuse to replace workspaces without `force`."""
        if self._force or not self._exists():
            return
        names = [row["name"] for row in self._connection.execute("SELECT name FROM workspace ORDER BY id").fetchall()]
        if names:
            raise holds_workspaces(self._address, names)

    def _wait_for_others(self) -> None:
        """Wait until no other process has the store open; Conflict when the time is up."""
        others = _OTHERS.format(others=others_at(self._connection))
        while self._ask(others)["count"]:
            if time.monotonic() > self._deadline:
                raise in_use(self._address)
            time.sleep(_PAUSE_SECONDS)

    def switch(self) -> str | None:
        """Let old and new tables change places, in one transaction; return where the old ones are."""
        self._take_over_identity()
        self.store.close()
        try:
            former = self._fresh_name("everloom_before_restore")
            with self._connection.transaction():
                is_there = self._exists()
                if is_there:
                    self._keep_others_out()
                    self._refuse_content()
                    self._connection.execute(f'CREATE SCHEMA "{former}"'.encode())
                    self._move(self._home, former)
                self._move(self._new, self._home)
                if is_there:
                    self._go_on_counting(former)
                self._connection.execute(f'DROP SCHEMA "{self._new}" CASCADE'.encode())
        except psycopg.errors.LockNotAvailable as error:
            raise in_use(self._address) from error
        except psycopg.Error as error:
            raise translate_error(error, self._address) from error
        return f"the schema {former} of the same database" if is_there else None

    def _fresh_name(self, prefix: str) -> str:
        """Name a schema after the time, or a little later if there is one of that name."""
        micros = to_micros(self._clock.now())
        while self._ask(f"SELECT to_regnamespace('{prefix}_{micros}') AS found")["found"]:
            micros += 1
        return f"{prefix}_{micros}"

    def _take_over_identity(self) -> None:
        if not self._exists():
            return
        row = None
        if self._ask(f"SELECT to_regclass('\"{self._home}\".store_identity') AS found")["found"]:
            row = self._connection.execute(statements("postgresql")["kernel.store_identity"].encode()).fetchone()
        if row:
            with self.store.write(0) as unit:
                unit.run("kernel.identify", id=str(row["id"]))

    def _keep_others_out(self) -> None:
        """Wait until no unit of work is under way, and let none begin before the tables have changed places."""
        wait = max(self._deadline - time.monotonic(), _SHORTEST_WAIT)
        self._connection.execute(f"SET LOCAL lock_timeout = '{round(wait * 1000)}ms'".encode())
        # The first lock of every unit, so that there is no other order in which to take them.
        if self._ask(f"SELECT to_regclass('\"{self._home}\".store_identity') AS found")["found"]:
            self._connection.execute("LOCK TABLE store_identity IN ACCESS EXCLUSIVE MODE")

    def _go_on_counting(self, former: str) -> None:
        """Let ids go on above those of the old tables."""
        # Ids that were given since the backup are not given again: whoever still knows one must not meet, or forget,
        # something else under it.
        self._connection.execute(_COUNT_ON.format(home=self._home, former=former).encode())

    def _move(self, origin: str, target: str) -> None:
        names = ",".join(["migration", *tables("postgresql")])
        self._connection.execute(_MOVE.format(origin=origin, target=target, tables=names).encode())
