"""An old database is backed up and migrated once, whole or not at all."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import cast

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, EverloomError, SchemaMismatch, StoreError
from everloom.store import migrations, open_store
from everloom.store.checksums import CONTENT
from everloom.store.migrations import MigrationStep, steps
from everloom.store.migrations.additions import additions
from everloom.store.postgresql import safety
from everloom.store.postgresql.migrating import migrate
from everloom.store.postgresql.safety import Safety
from everloom.store.statements import Engine
from tests.conftest import Lend
from tests.engines import PostgresServer
from tests.store.ground import assert_agreement, is_sqlite, note, open_at, rows_of
from tests.store.nursery import Nursery

KNOWN = {engine: steps(engine) for engine in ("sqlite", "postgresql")}
NOW_AT = KNOWN["sqlite"][-1].number
NEXT = NOW_AT + 1
ADDITION = """
CREATE TABLE compass (
    workspace_id BIGINT NOT NULL REFERENCES workspace (id),
    bearing BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, bearing)
);
INSERT INTO compass SELECT id, 270 FROM workspace;
"""
FAILURE = ADDITION + "INSERT INTO nowhere VALUES (1);\n"
# Leaves a row whose workspace does not exist.
DANGLING = ADDITION + "INSERT INTO compass VALUES (987654, 1);\n"


# The migration that gave every workspace its own counter.
COUNTERS = next(step.number for step in KNOWN["postgresql"] if step.name == "counters")
OLD_WORKSPACE = """
INSERT INTO workspace (id, name, name_key, description, time_zone, created_at)
VALUES (%(id)s, %(name)s, %(name)s, '', 'UTC', %(id)s)"""


def with_step(sql: str) -> Callable[[Engine], tuple[MigrationStep, ...]]:
    """Pretend that this program knows one migration more."""
    return lambda engine: (*KNOWN[engine], MigrationStep(NEXT, "compass", partial(migrations.translate, sql, engine)))


@pytest.fixture
def old(store_url: str) -> str:
    """A store of the version before, with something in it."""
    with open_at(store_url) as loom:
        loom.workspace("james").add([note("North by northwest.")])
    return store_url


def has_compass(url: str) -> bool:
    question = "sqlite_schema WHERE name" if is_sqlite(url) else "pg_tables WHERE tablename"
    return bool(rows_of(url, f"SELECT 1 AS one FROM {question} = 'compass'"))


def version(url: str) -> int:
    if is_sqlite(url):
        return int(rows_of(url, "PRAGMA user_version")[0]["user_version"])
    return int(rows_of(url, "SELECT MAX(number) AS number FROM migration")[0]["number"])


@pytest.mark.promise("store.migrates-on-open")
@pytest.mark.coordinator
def test_an_old_store_is_migrated_when_it_is_opened(
    old: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    open_store(old, clock).close()
    assert version(old) == NEXT
    assert [row["bearing"] for row in rows_of(old, "SELECT bearing FROM compass")] == [270]
    open_store(old, clock).close()
    assert version(old) == NEXT
    assert_agreement(old)


@pytest.mark.promise("store.ids-in-commit-order")
def test_ids_go_on_in_every_workspace_when_each_begins_to_count_for_itself(
    postgres_server: PostgresServer, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_server.database() as url:
        before = tuple(step for step in KNOWN["postgresql"] if step.number < COUNTERS)
        with monkeypatch.context() as older:
            older.setattr(migrations, "steps", lambda _: before)
            open_store(url, clock).close()
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("SELECT setval('item_counter', 4711), setval('revision_counter', 42)")
            for number, name in enumerate(("james", "anna"), 1):
                server.execute(OLD_WORKSPACE, {"id": number, "name": name})
        with open_at(url) as loom:
            for name in ("james", "anna", "new"):
                with loom.store.write(loom.workspace(name).info.id) as unit:
                    assert list(unit.ids(2)) == [4712, 4713]
            for each in loom.workspaces.list():
                with loom.store.read(each.id) as unit:
                    assert unit.numbers() == (4713, 0 if each.name == "new" else 42)


@pytest.mark.promise("store.row-level-security")
def test_a_table_that_a_migration_adds_is_guarded_too(
    postgres_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(postgres_url, clock).close()
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    open_store(postgres_url, clock).close()
    guarded = rows_of(postgres_url, "SELECT relforcerowsecurity AS forced FROM pg_class WHERE relname = 'compass'")
    assert guarded == [{"forced": True}]


@pytest.mark.promise("store.backs-up-before-migrating")
def test_an_old_file_is_backed_up_beside_itself_before_it_is_migrated(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    with open_at(url) as loom:
        loom.workspace("james").add([note("North by northwest.")])
    assert list(tmp_path.glob("*.bak")) == []
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    open_store(url, clock).close()
    (backup,) = tmp_path.glob("loom.db.v*.bak")
    assert version(f"sqlite://{backup}") == NOW_AT
    assert not has_compass(f"sqlite://{backup}")
    assert [row["text"] for row in rows_of(f"sqlite://{backup}", "SELECT text FROM document")] == [
        "North by northwest."
    ]
    assert_agreement(f"sqlite://{backup}")


@pytest.mark.promise("store.backs-up-before-migrating")
def test_an_old_database_is_copied_into_a_schema_beside_ours_before_it_is_migrated(
    postgres_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_at(postgres_url) as loom:
        loom.workspace("james").add([note("North by northwest.")])
    turned = ADDITION + "UPDATE document SET text = 'South.';\n"
    monkeypatch.setattr(migrations, "steps", with_step(turned))
    open_store(postgres_url, clock).close()
    (kept,) = rows_of(postgres_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'everloom_v%'")
    copied = rows_of(postgres_url, f"SELECT text FROM {kept['nspname']}.document")
    assert [row["text"] for row in copied] == ["North by northwest."]
    with open_at(postgres_url) as loom:
        assert loom.workspace("james").search("North")[0].text == "South."


@pytest.mark.promise("store.migration-is-transactional")
@pytest.mark.parametrize("sql", [FAILURE, DANGLING], ids=["failing", "dangling"])
def test_a_step_that_fails_leaves_the_old_version_intact(
    old: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "steps", with_step(sql))
        with pytest.raises(EverloomError):
            open_store(old, clock)
    assert version(old) == NOW_AT
    assert not has_compass(old)
    with open_at(old) as loom:
        assert [hit.text for hit in loom.workspace("james").search("north")] == ["North by northwest."]


@pytest.mark.promise("store.backs-up-before-migrating")
def test_without_room_for_a_backup_nothing_is_migrated(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    open_store(url, clock).close()
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    # A folder stands where the copy would be written.
    (tmp_path / f".loom.db.v{NOW_AT}-{int(clock.now().timestamp() * 1_000_000)}.bak.part").mkdir()
    with pytest.raises((StoreError, OSError)):
        open_store(url, clock)
    assert version(url) == NOW_AT


@pytest.mark.promise("store.migrates-once")
@pytest.mark.coordinator
def test_processes_that_open_an_old_store_at_once_migrate_it_once(old: str, nursery: Nursery, tmp_path: Path) -> None:
    for _ in range(4):
        nursery.start("migrate", old)
    assert nursery.reap() == [["opened", "1"]] * 4
    assert version(old) == NEXT
    assert len(rows_of(old, "SELECT * FROM compass")) == 1
    if is_sqlite(old):
        assert len(list(tmp_path.glob("*.bak"))) == 1


@pytest.mark.promise("store.migrates-once")
def test_threads_that_open_a_new_store_at_once_make_it_once(bare_url: str, clock: ManualClock) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: open_store(bare_url, clock), range(6)))
    for store in stores:
        assert store.health().problems == ()
        store.close()
    assert version(bare_url) == NOW_AT


def test_a_store_of_the_present_version_is_opened_without_a_write(tmp_path: Path, clock: ManualClock) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    open_store(url, clock).close()
    with sqlite3.connect(tmp_path / "loom.db") as other:
        other.execute("BEGIN IMMEDIATE")
        open_store(url, clock).close()
        other.rollback()
    other.close()


def copies(url: str) -> list[str]:
    return [
        row["nspname"]
        for row in rows_of(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'everloom_v%' ORDER BY nspname")
    ]


@pytest.fixture
def large(made_database: Lend, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A store with something in it that counts as too large to be copied, on PostgreSQL."""
    with made_database() as url:
        with open_at(url) as loom:
            loom.workspace("james").add([note("North by northwest.")])
        monkeypatch.setattr(safety, "COPIED_BYTES", 0)
        yield url


@pytest.mark.promise("store.large-needs-backup")
def test_a_large_store_is_not_changed_before_somebody_has_seen_to_its_safety(
    large: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    with pytest.raises(SchemaMismatch, match="too large") as refusal:
        open_store(large, clock)
    assert "everloom migrate --backup" in str(refusal.value.hint)
    assert version(large) == NOW_AT
    assert migrate(large, clock, Safety(is_waived=True)) == ()
    assert version(large) == NEXT
    assert copies(large) == []
    open_store(large, clock).close()


@pytest.mark.promise("store.large-needs-backup")
def test_a_large_store_is_changed_only_if_its_backup_is_complete(
    large: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    early, whole = tmp_path / "early.db", tmp_path / "whole.db"
    with open_at(large) as loom:
        loom.store.backup(early)
        (item,) = loom.workspace("james").add([note("South by southeast.")])
        loom.store.backup(whole)
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    with pytest.raises(StoreError, match="no backup"):
        migrate(large, clock, Safety(tmp_path / "missing.db"))
    with pytest.raises(Conflict, match="document has 2 rows in the store and 1 in the backup"):
        migrate(large, clock, Safety(early))
    assert (version(large), has_compass(large)) == (NOW_AT, False)
    assert migrate(large, clock, Safety(whole)) == ()
    assert (version(large), copies(large)) == (NEXT, [])
    with open_at(large) as loom:
        assert [hit.id for hit in loom.workspace("james").search("south", limit=1)] == [item]


def test_a_store_without_workspaces_is_not_copied(
    postgres_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(postgres_url, clock).close()
    monkeypatch.setattr(safety, "COPIED_BYTES", 0)
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    open_store(postgres_url, clock).close()
    assert (version(postgres_url), copies(postgres_url)) == (NEXT, [])


@pytest.mark.promise("store.migrates-on-open")
def test_a_store_that_skips_releases_is_completed_before_a_step_that_needs_it(
    old: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = (
        "-- step: expand\nALTER TABLE document ADD COLUMN mood TEXT;\n",
        "-- step: fill\nUPDATE document SET mood = 'calm' WHERE workspace_id = :workspace AND mood IS NULL;\n",
        f"-- step: contract {NEXT}\nCREATE TABLE told AS SELECT mood FROM document;\n",
        ADDITION,
    )
    more = tuple(text for text in enumerate(texts, NEXT))

    def known(engine: Engine) -> tuple[MigrationStep, ...]:
        return (
            *KNOWN[engine],
            *(MigrationStep(number, "later", partial(migrations.translate, sql, engine)) for number, sql in more),
        )

    monkeypatch.setattr(migrations, "steps", known)
    open_store(old, clock).close()
    assert version(old) == NEXT + 3
    assert rows_of(old, "SELECT mood FROM told") == [{"mood": "calm"}]
    assert rows_of(old, "SELECT oldest_program FROM store_identity") == [{"oldest_program": NEXT + 3}]


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE document ADD COLUMN mood TEXT NOT NULL;",
        "ALTER TABLE document ADD COLUMN mood TEXT DEFAULT clock_timestamp();",
        "ALTER TABLE document ADD COLUMN mood BIGINT REFERENCES workspace (id);",
        "ALTER TABLE document ADD COLUMN mood BIGINT CHECK (mood > 0);",
        "ALTER TABLE document DROP COLUMN title;",
        "CREATE UNIQUE INDEX document_by_title ON document (workspace_id, title);",
        "CREATE TABLE compass (\n    workspace_id BIGINT NOT NULL REFERENCES workspace (id)\n);",
        "UPDATE document SET title = '';",
    ],
)
def test_what_older_programs_would_not_survive_is_no_expand_step(sql: str) -> None:
    with pytest.raises(ValueError, match="no expand step"):
        additions(MigrationStep(NEXT, "mood", lambda: f"-- step: expand\n{sql}\n"))


def test_every_step_is_what_it_says() -> None:
    for engine, known in KNOWN.items():
        covered = {(table, column) for table, content in CONTENT.items() for column in content.columns}
        for step in known:
            assert step.number < migrations.FIRST_RECORDED or step.sql.startswith("-- step: "), step
            if step.kind == "fill":
                statement = migrations.batch_of(cast("Engine", engine), step.number)
                assert {"workspace", "limit"} <= {*re.findall(r"\w+", statement)}
            # An older program would write a checksum that leaves the new column out.
            assert step.kind != "expand" or not covered & {(each.table, each.name) for each in additions(step)}
            assert step.kind != "contract" or step.oldest <= step.number


def test_the_columns_that_are_read_for_a_copy_are_those_of_the_table(store_url: str) -> None:
    engine: Engine = "sqlite" if is_sqlite(store_url) else "postgresql"
    for table in migrations.tables(engine):
        question = (
            f"SELECT name FROM pragma_table_info('{table}')"
            if is_sqlite(store_url)
            else f"SELECT attname AS name FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"
        )
        found = {row["name"] for row in rows_of(store_url, question)}
        assert set(migrations.columns_of_table(table, engine)) == found, table
