"""The schema is one readable file, the same as all migrations together, and led by the workspace everywhere."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom
from everloom.store import open_store
from everloom.store.address import sqlite_path
from everloom.store.migrations import steps, tables, translate
from everloom.store.postgresql.opening import GUARD, VERSIONS
from everloom.store.statements import statements
from everloom.store.transfer import restore
from tests.store.ground import NOW, is_sqlite, note, open_at, rows_of

COLUMNS = """
SELECT table_name, ordinal_position, column_name, udt_name, is_nullable, column_default
FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"""
CONSTRAINTS = """
SELECT conrelid::regclass::text AS owner, contype::text, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n' ORDER BY 1, 2, 3"""
INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1"
KEYS = """
SELECT c.conrelid::regclass::text AS owner, c.contype::text AS kind, c.confrelid::regclass::text AS target,
    (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k (number, place)
     JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.number) AS columns
FROM pg_constraint AS c WHERE c.connamespace = 'public'::regnamespace AND c.contype IN ('p', 'u', 'f')
    AND EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.conrelid AND a.attname = 'workspace_id')"""
GUARDED = """
SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS guarded,
    EXISTS (SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid) AS has_policy
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'workspace_id'
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1"""


def readable_schema() -> str:
    return (resources.files("everloom.store") / "schema.sql").read_text(encoding="utf-8")


def structure(url: str) -> list[dict[str, Any]]:
    if is_sqlite(url):
        # Statistics are what the planner was told, not structure.
        ours = "WHERE name NOT LIKE 'sqlite_stat%'"
        found = rows_of(url, f"SELECT type, name, tbl_name, sql FROM sqlite_schema {ours} ORDER BY type, name")
        return [{**row, "sql": re.sub(r"\s+", " ", re.sub(r"--.*", "", row["sql"] or ""))} for row in found]
    return [row for query in (COLUMNS, CONSTRAINTS, INDEXES, SEQUENCES, GUARDED) for row in rows_of(url, query)]


def build_from_file(url: str) -> None:
    if is_sqlite(url):
        with closing(sqlite3.connect(sqlite_path(url))) as connection:
            connection.executescript(translate(readable_schema(), "sqlite"))
        return
    with psycopg.connect(url, autocommit=True) as connection:
        for text in (VERSIONS, translate(readable_schema(), "postgresql"), GUARD):
            connection.execute(text.encode())


@pytest.mark.promise("store.schema-is-migrations")
def test_the_readable_schema_is_what_the_migrations_make(
    lend_bare_url: Callable[[], AbstractContextManager[str]], clock: ManualClock
) -> None:
    with lend_bare_url() as migrated, lend_bare_url() as written:
        open_store(migrated, clock).close()
        build_from_file(written)
        assert len(structure(migrated)) > 20
        assert structure(written) == structure(migrated)


def test_migrations_are_numbered_without_gaps() -> None:
    for engine in ("sqlite", "postgresql"):
        assert [step.number for step in steps(engine)] == list(range(1, len(steps(engine)) + 1))


def test_every_plain_table_of_sqlite_is_strict(tmp_path: Any, clock: ManualClock) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    open_store(url, clock).close()
    loose = [row["name"] for row in rows_of(url, "PRAGMA table_list") if not row["strict"]]
    assert [name for name in loose if not re.match(r"words|sqlite_", name)] == []


@pytest.mark.promise("store.workspace-leads")
def test_the_workspace_leads_every_key_of_every_table_that_has_it(postgres_url: str, clock: ManualClock) -> None:
    open_store(postgres_url, clock).close()
    keys = rows_of(postgres_url, KEYS)
    assert len(keys) > 30
    # Models are the same for all workspaces: a reference table, copied to every shard.
    late = [key for key in keys if key["columns"][0] != "workspace_id" and key["target"] != "model"]
    assert late == []


@pytest.mark.promise("store.workspace-leads")
def test_the_workspace_leads_every_index_of_every_table_that_has_it(postgres_url: str, clock: ManualClock) -> None:
    open_store(postgres_url, clock).close()
    bound = {row["name"] for row in rows_of(postgres_url, GUARDED)}
    indexes = [row for row in rows_of(postgres_url, INDEXES) if row["tablename"] in bound]
    late = [row["indexname"] for row in indexes if "(workspace_id" not in row["indexdef"]]
    # What a worker's look asks of all workspaces: on shards, each answers for its own.
    assert late == ["due_by_time"]


@pytest.mark.promise("store.row-level-security")
def test_every_table_of_a_workspace_is_guarded_also_against_its_owner(postgres_url: str, clock: ManualClock) -> None:
    open_store(postgres_url, clock).close()
    found = rows_of(postgres_url, GUARDED)
    assert len(found) > 15
    assert [row["name"] for row in found if not (row["guarded"] and row["has_policy"])] == []


@pytest.mark.promise("store.distributed")
def test_guards_and_statements_are_such_that_a_cluster_takes_them(postgres_url: str, clock: ManualClock) -> None:
    open_store(postgres_url, clock).close()
    guards = rows_of(postgres_url, "SELECT DISTINCT pg_get_expr(polqual, polrelid) AS guard FROM pg_policy")
    assert {row["guard"] for row in guards} == {
        "(workspace_id = (current_setting('everloom.workspace'::text, true))::bigint)",
        # The store itself reads the marks of all workspaces.
        "(current_setting('everloom.workspace'::text, true) = '0'::text)",
    }
    assert rows_of(postgres_url, SEQUENCES) == []
    for name, text in statements("postgresql").items():
        # Rows that come from no table of the workspace would be copied to its node, which the guards refuse.
        read = re.search(r"INSERT INTO \w+ \([^)]*\)\s*SELECT .*?FROM (\w+)", text, re.DOTALL)
        assert read is None or read[1] in tables("postgresql"), name
        assert not re.search(r"VALUES \([^;]*\(SELECT|nextval", text), name


@pytest.mark.promise("store.row-level-security")
def test_the_guard_is_asked_once_per_statement_and_not_once_per_row(postgres_url: str, two_places: Loom) -> None:
    with open_at(postgres_url) as loom, loom.store.read(loom.workspace("james").info.id) as unit:
        connection: psycopg.Connection[dict[str, Any]] = unit._connection  # type: ignore[attr-defined]
        plan = connection.execute(f"EXPLAIN SELECT * FROM document WHERE workspace_id = {unit.workspace}".encode())
        lines = [row["QUERY PLAN"].strip() for row in plan.fetchall()]
    (asked,) = [line for line in lines if "current_setting" in line]
    assert asked.startswith("One-Time Filter")


@pytest.fixture
def two_places(postgres_url: str) -> Loom:
    with open_at(postgres_url) as loom:
        for name in ("james", "audrey"):
            loom.workspace(name, session="s").add([note(f"{name} keeps bees.")])
        return loom


@pytest.mark.promise("store.row-level-security")
def test_sql_that_forgets_its_filter_sees_one_workspace_only(postgres_url: str, two_places: Loom) -> None:
    with open_at(postgres_url) as loom:
        james, audrey = (loom.workspace(name).info.id for name in ("james", "audrey"))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        assert connection.execute("SELECT * FROM document").fetchall() == []
        for place in (james, audrey):
            connection.execute(f"SET everloom.workspace = '{place}'".encode())
            for table in ("item", "document", "embedding", "event", "session", "term"):
                seen = connection.execute(f"SELECT DISTINCT workspace_id FROM {table}".encode()).fetchall()
                assert seen == [(place,)], table


@pytest.mark.promise("store.row-level-security")
def test_sql_that_forgets_its_filter_changes_one_workspace_only(postgres_url: str, two_places: Loom) -> None:
    with open_at(postgres_url) as loom:
        james, audrey = (loom.workspace(name).info.id for name in ("james", "audrey"))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"SET everloom.workspace = '{james}'".encode())
        assert connection.execute("UPDATE document SET title = 'changed'").rowcount == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO item (workspace_id, id, kind, created_at) VALUES (%s, 10000, 'note', 0)", (audrey,)
            )
    titles = {row["workspace_id"]: row["title"] for row in rows_of(postgres_url, "SELECT * FROM document")}
    assert titles == {james: "changed", audrey: ""}


def test_a_superuser_is_told_that_the_guard_does_not_bind_it(postgres_url: str, clock: ManualClock) -> None:
    plain, mighty = (open_store(url, clock) for url in (postgres_url, postgres_url.replace("loom@", "postgres@")))
    assert plain.health().problems == ()
    assert any("superuser" in problem for problem in mighty.health().problems)
    plain.close()
    mighty.close()


def test_a_healthy_store_says_so(store_url: str) -> None:
    with open_at(store_url) as loom:
        loom.workspace("james").add([note("A quiet evening.", happened_at=NOW)])
        health = loom.store.health()
    assert health.problems == ()
    assert health.schema_version == steps(health.engine)[-1].number
    assert health.bytes_used > 10_000


def test_every_store_has_an_identity_of_its_own_and_keeps_it_when_another_is_restored_into_it(
    lend_bare_url: Callable[[], AbstractContextManager[str]], tmp_path: Path
) -> None:
    with lend_bare_url() as here, lend_bare_url() as there:
        with open_at(here) as loom:
            loom.workspace("james")
            first = loom.workspaces.store_identity
            loom.store.backup(tmp_path / "backup.db")
        with open_at(there) as loom:
            second = loom.workspaces.store_identity
        assert len({first, second}) == 2
        assert all(re.fullmatch(r"[0-9a-f]{16}", each) for each in (first, second))
        restore(tmp_path / "backup.db", there, ManualClock(NOW))
        with open_at(there) as loom:
            assert loom.workspaces.store_identity == second
            assert [each.name for each in loom.workspaces.list()] == ["james"]
