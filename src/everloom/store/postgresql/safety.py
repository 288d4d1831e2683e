"""What keeps the content of a PostgreSQL store safe before a step that stops others and cannot be undone.

A small store is copied into a schema next to ours, by itself. A large one is not: that would stop everybody for
minutes and double the database. There, a person names a backup, which is compared with the store, or says that there
is another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from everloom.errors import Conflict, SchemaMismatch, StoreError
from everloom.store.migrations import MigrationStep
from everloom.store.postgresql.opening import Connection, version_of
from everloom.store.transfer import DERIVED

# Copied within seconds, and nobody misses the space.
COPIED_BYTES = 256 * 1024 * 1024

_SIZE = (
    "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint AS size FROM pg_class AS c "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
)
_COPY = """
DO $$
DECLARE name TEXT;
BEGIN
    CREATE SCHEMA {schema};
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        EXECUTE format('CREATE TABLE {schema}.%I AS TABLE %I', name, name);
    END LOOP;
END $$
"""
_TABLES = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
# Of these also the newest: a row that was deleted and one that was added would leave the number as it was.
_GROWING = frozenset({"item", "event"})


@dataclass(frozen=True, slots=True)
class Safety:
    """What a person says about the safety of a store: the file of a backup, or that none is wanted."""

    backup: Path | None = None
    is_waived: bool = False


def size_of(connection: Connection) -> int:
    """Sum up what the tables of the store and their indexes occupy."""
    row = connection.execute(_SIZE).fetchone()
    return int(row["size"]) if row else 0


def holds_anything(connection: Connection) -> bool:
    """Return whether the store holds a workspace."""
    return connection.execute("SELECT 1 FROM workspace LIMIT 1").fetchone() is not None


def refuse_unsafe(connection: Connection, address: str, todo: Sequence[MigrationStep], safety: Safety) -> None:
    """Refuse to change a store that is too large to be copied, unless a person has seen to its safety."""
    if safety.backup or safety.is_waived or not holds_anything(connection):
        return
    if (size := size_of(connection)) > COPIED_BYTES:
        steps = ", ".join(str(step) for step in todo if step.kind == "replace")
        raise SchemaMismatch(
            f"{address} needs steps that stop everybody and cannot be undone ({steps}), and with "
            f"{size / 2**20:,.0f} MB it is too large to be copied first",
            hint="back it up, then run `everloom migrate --backup FILE` or `everloom migrate --without-backup`",
        )


def secure(connection: Connection, address: str, safety: Safety, schema: str) -> None:
    """Copy the store into a schema, or compare it with its backup; in a transaction in which nobody else works."""
    if safety.backup:
        if lacking := list(_lacking(connection, safety.backup)):
            raise Conflict(
                f"{safety.backup} is no complete backup of {address}: {'; '.join(lacking[:3])}",
                hint="stop the servers and back it up again with the everloom that wrote it; nothing was changed",
            )
    elif not safety.is_waived and holds_anything(connection):
        connection.execute(_COPY.format(schema=schema).encode())


def _lacking(connection: Connection, backup: Path) -> Iterator[str]:
    """Say what a backup lacks of the store."""
    from everloom.store.sqlite.checking import structure_problems  # noqa: PLC0415  the other engine
    from everloom.store.sqlite.opening import read_version  # noqa: PLC0415

    if not backup.is_file():
        raise StoreError(f"there is no backup at {backup}", hint="give a file that `everloom backup` wrote")
    here, there = version_of(connection), read_version(backup)
    if here != there:
        yield f"it has schema {there}, the store has {here}"
        return
    with closing(sqlite3.connect(f"{backup.absolute().as_uri()}?mode=ro", uri=True)) as copy:
        copy.row_factory = sqlite3.Row
        yield from structure_problems(copy)
        names = {row["name"] for row in connection.execute(_TABLES).fetchall()} - DERIVED
        for (name,) in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
            if name in names:
                newest = "MAX(id)" if name in _GROWING else "0"
                count = f"SELECT COUNT(*) AS count, COALESCE({newest}, 0) AS newest FROM {name}"  # noqa: S608
                own, copied = connection.execute(count.encode()).fetchone(), dict(copy.execute(count).fetchone())
                if own != copied:
                    has = own["count"] if own else 0
                    yield f"{name} has {has} rows in the store and {copied['count']} in the backup"
