"""A store that is spread over a Citus cluster keeps its contract, whichever node a program talks to.

`EVERLOOM_TEST_CITUS` names the cluster: addresses of one database on several nodes, separated by blanks, the
coordinator's first. The database belongs to these tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from everloom.clock import SystemClock
from everloom.errors import StoreBusy, StoreError, StoreReplaced
from everloom.kernel.journal import append_event
from everloom.kernel.work.lease import Leases
from everloom.loom import Loom
from everloom.store import migrations, open_store
from everloom.store.postgresql.migrating import distribute
from everloom.store.transfer import restore
from tests.store.ground import NOW, Child, note, open_at
from tests.store.nursery import newest
from tests.store.test_migration import ADDITION, NEXT, with_step
from tests.store.test_units import assert_each_saw_the_one_before

NODES = os.environ.get("EVERLOOM_TEST_CITUS", "").split()
needs_cluster = pytest.mark.skipif(not NODES, reason="EVERLOOM_TEST_CITUS names no Citus cluster")

HOLD = """
import sys
from everloom.clock import SystemClock
from tests.store.ground import open_at
with open_at(sys.argv[1], SystemClock()) as loom, loom.store.write(int(sys.argv[2])) as unit:
    unit.ids(1)
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def looms() -> Iterator[list[Loom]]:
    """The distributed store, open on every node."""
    open_store(NODES[0], SystemClock()).close()
    distribute(NODES[0], SystemClock())
    opened: list[AbstractContextManager[Loom]] = [open_at(url, SystemClock()) for url in NODES]
    looms = [each.__enter__() for each in opened]
    names = [each.name for each in looms[0].workspaces.list()]
    for name in names:
        looms[0].workspaces.remove(name)
    yield looms
    for each in opened:
        each.__exit__(None, None, None)


def test_a_server_without_the_extension_is_not_distributed(postgres_url: str) -> None:
    with pytest.raises(StoreError, match="Citus") as refusal:
        distribute(postgres_url, SystemClock())
    assert "CREATE EXTENSION citus" in str(refusal.value.hint)
    with open_at(postgres_url) as loom:
        assert loom.workspace("james").add([note("James sails.")])


@needs_cluster
def test_what_was_written_before_is_there_and_doing_it_again_changes_nothing(looms: list[Loom]) -> None:
    looms[0].workspace("james").add([note("James sails.")])
    assert distribute(NODES[0], SystemClock()).tables == ()
    for loom in looms:
        assert [hit.text for hit in loom.workspace("james").search("sails")] == ["James sails."]


@needs_cluster
def test_every_node_remembers_searches_and_forgets(looms: list[Loom]) -> None:
    for number, loom in enumerate(looms):
        place = loom.workspace(f"place {number}", session="s")
        seen = place.semantic.remember(["James"], "James has 17 boats.")
        (scene,) = place.add([note("The harbour was foggy.")])
        for other in looms:
            elsewhere = other.workspace(f"place {number}")
            assert elsewhere.search("boats")[0].id == seen.id
            assert elsewhere.search("fog")[0].id == scene
        assert place.forget([scene], confirm=place.forget([scene]).confirm).is_done
        for other in looms:
            assert scene not in {hit.id for hit in other.workspace(f"place {number}").search("fog")}
        assert place.episodic.run_patrol() is not None
        loom.store.maintain(place.info.id)
    assert looms[-1].store.health(deep=True).problems == ()


@needs_cluster
def test_ids_grow_in_commit_order_whichever_nodes_the_writers_talk_to(looms: list[Loom]) -> None:
    place = looms[0].workspace("james").info.id

    def write(turn: int) -> None:
        with looms[turn % len(looms)].store.write(place) as unit:
            append_event(unit, "seen", {"newest": newest(unit)}, NOW, None)

    with ThreadPoolExecutor(2 * len(looms)) as pool:
        list(pool.map(write, range(60)))
    assert_each_saw_the_one_before(looms[0].store, place, 60)


@needs_cluster
def test_two_nodes_never_grant_the_same_lock(looms: list[Loom]) -> None:
    place = looms[0].workspace("james").info.id
    for holder in looms:
        with holder.store.write(place) as unit:
            unit.ids(1)
            for other in looms:
                with pytest.raises(StoreBusy), other.store.write(place, patience=0.3):
                    pass
    leases = [Leases(loom.store, SystemClock(), str(number)) for number, loom in enumerate(looms)]
    assert [each.take(place, "embed") is not None for each in leases] == [True, *(False for _ in leases[1:])]


@needs_cluster
def test_a_killed_writer_blocks_nobody_on_any_node(looms: list[Loom]) -> None:
    place = looms[0].workspace("james")
    for url in NODES:
        with Child(HOLD, url, str(place.info.id)) as child:
            assert child.line() == "held"
        for loom in looms:
            assert loom.workspace("james").add([note("James sails on.")])


@needs_cluster
def test_sql_that_forgets_its_filter_sees_one_workspace_only_on_every_node(looms: list[Loom]) -> None:
    places = {name: looms[0].workspace(name).info.id for name in ("james", "audrey")}
    for name in places:
        looms[0].workspace(name).add([note(f"{name} keeps bees.")])
    for url in NODES:
        for place in places.values():
            with psycopg.connect(url) as connection:
                connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
                connection.execute(f"SET LOCAL everloom.workspace = '{place}'".encode())
                assert connection.execute("SELECT DISTINCT workspace_id FROM document").fetchall() == [(place,)]


@needs_cluster
def test_a_table_that_a_migration_adds_is_distributed_and_guarded_too(
    looms: list[Loom], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = looms[0].workspace("james").info.id
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "steps", with_step(ADDITION))
        migrations.tables.cache_clear()
        open_store(NODES[0], SystemClock()).close()
    migrations.tables.cache_clear()
    try:
        for url in NODES:
            with psycopg.connect(url) as connection:
                connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
                connection.execute(f"SET LOCAL everloom.workspace = '{place}'".encode())
                assert connection.execute("SELECT workspace_id, bearing FROM compass").fetchall() == [(place, 270)]
        with pytest.raises(StoreReplaced), looms[1].store.read(place) as unit:
            unit.all("kernel.item_counts")
    finally:
        with psycopg.connect(NODES[0], autocommit=True) as connection:
            connection.execute("DROP TABLE compass")
            connection.execute("DELETE FROM migration WHERE number = %s", (NEXT,))
            connection.execute("UPDATE store_identity SET oldest_program = %s", (NEXT - 1,))


@needs_cluster
def test_a_backup_comes_back_and_ids_go_on(looms: list[Loom], tmp_path: Path) -> None:
    place = looms[-1].workspace("james")
    place.add([note("James sails.")])
    looms[-1].store.backup(tmp_path / "copy.db")
    known = max(place.add([note(f"Written after the backup, {at}.") for at in range(20)]))
    for loom in looms:
        loom.store.close()
    restore(tmp_path / "copy.db", NODES[0], SystemClock(), force=True, wait=30)
    distribute(NODES[0], SystemClock())
    for url in NODES:
        with open_at(url, SystemClock()) as loom:
            james = loom.workspace("james")
            assert "James sails." in {hit.text for hit in james.search("sails")}
            assert james.add([note(f"Written after the restore at {url}.")])[0] > known
