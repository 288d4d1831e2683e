"""A store that is spread over a Citus cluster keeps its contract, whichever node a program talks to.

What a store promises on every engine is in the tests of the contract, which run against the cluster, too; here is what
takes several nodes. `tests.citus` tells how a cluster is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.clock import SystemClock
from everloom.errors import Conflict, StoreBusy, StoreError, StoreReplaced
from everloom.kernel.journal import append_event
from everloom.kernel.work.lease import Leases
from everloom.loom import Loom
from everloom.store import migrations, open_store
from everloom.store.postgresql.migrating import distribute
from everloom.store.statements import statements
from everloom.store.transfer import restore
from tests.citus import CitusCluster
from tests.store.ground import NOW, Child, note, open_at
from tests.store.nursery import newest
from tests.store.test_migration import ADDITION, with_step
from tests.store.test_units import assert_each_saw_the_one_before

NAMED = "%(workspace)s"
# Values with which every statement can be planned, by the beginning of their types.
SAMPLES = {"halfvec": "[1, 2]", "": "1"}

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
def nodes(citus_cluster: CitusCluster) -> Iterator[list[str]]:
    """The addresses of one distributed store on every node, that on the coordinator first."""
    with citus_cluster.databases() as urls:
        yield urls


@pytest.fixture
def looms(nodes: list[str]) -> Iterator[list[Loom]]:
    """That store, open on every node."""
    with ExitStack() as stack:
        yield [stack.enter_context(open_at(url, SystemClock())) for url in nodes]


def test_a_server_without_the_extension_is_not_distributed(postgres_url: str) -> None:
    with pytest.raises(StoreError, match="Citus") as refusal:
        distribute(postgres_url, SystemClock())
    assert "CREATE EXTENSION citus" in str(refusal.value.hint)
    with open_at(postgres_url) as loom:
        assert loom.workspace("james").add([note("James sails.")])


@pytest.mark.citus
def test_what_is_distributed_stays_as_it_is_when_it_is_distributed_again(looms: list[Loom], nodes: list[str]) -> None:
    looms[0].workspace("james").add([note("James sails.")])
    assert distribute(nodes[0], SystemClock()).tables == ()
    for loom in looms:
        assert [hit.text for hit in loom.workspace("james").search("sails")] == ["James sails."]


@pytest.mark.citus
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


@pytest.mark.citus
def test_ids_grow_in_commit_order_whichever_nodes_the_writers_talk_to(looms: list[Loom]) -> None:
    place = looms[0].workspace("james").info.id

    def write(turn: int) -> None:
        with looms[turn % len(looms)].store.write(place) as unit:
            append_event(unit, "seen", {"newest": newest(unit)}, NOW, None)

    with ThreadPoolExecutor(2 * len(looms)) as pool:
        list(pool.map(write, range(60)))
    assert_each_saw_the_one_before(looms[0].store, place, 60)


@pytest.mark.citus
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


@pytest.mark.citus
def test_a_killed_writer_blocks_nobody_on_any_node(looms: list[Loom], nodes: list[str]) -> None:
    place = looms[0].workspace("james")
    for url in nodes:
        with Child(HOLD, url, str(place.info.id)) as child:
            assert child.line() == "held"
        for loom in looms:
            assert loom.workspace("james").add([note("James sails on.")])


@pytest.mark.citus
def test_sql_that_forgets_its_filter_sees_one_workspace_only_on_every_node(looms: list[Loom], nodes: list[str]) -> None:
    places = {name: looms[0].workspace(name).info.id for name in ("james", "audrey")}
    for name in places:
        looms[0].workspace(name).add([note(f"{name} keeps bees.")])
    for url in nodes:
        for place in places.values():
            with psycopg.connect(url) as connection:
                connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
                connection.execute(f"SET LOCAL everloom.workspace = '{place}'".encode())
                assert connection.execute("SELECT DISTINCT workspace_id FROM document").fetchall() == [(place,)]


@pytest.mark.citus
def test_a_table_that_a_migration_adds_is_distributed_and_guarded_too(
    looms: list[Loom], nodes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = looms[0].workspace("james").info.id
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "steps", with_step(ADDITION))
        migrations.tables.cache_clear()
        open_store(nodes[0], SystemClock()).close()
    migrations.tables.cache_clear()
    for url in nodes:
        with psycopg.connect(url) as connection:
            connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
            connection.execute(f"SET LOCAL everloom.workspace = '{place}'".encode())
            assert connection.execute("SELECT workspace_id, bearing FROM compass").fetchall() == [(place, 270)]
    with pytest.raises(StoreReplaced), looms[1].store.read(place) as unit:
        unit.all("kernel.item_counts")


@pytest.mark.citus
def test_a_backup_comes_back_and_ids_go_on(looms: list[Loom], nodes: list[str], tmp_path: Path) -> None:
    place = looms[-1].workspace("james")
    place.add([note("James sails.")])
    looms[-1].store.backup(tmp_path / "copy.db")
    known = max(place.add([note(f"Written after the backup, {at}.") for at in range(20)]))
    for loom in looms:
        loom.store.close()
    restore(tmp_path / "copy.db", nodes[0], SystemClock(), force=True, wait=30)
    distribute(nodes[0], SystemClock())
    for url in nodes:
        with open_at(url, SystemClock()) as loom:
            james = loom.workspace("james")
            assert "James sails." in {hit.text for hit in james.search("sails")}
            assert james.add([note(f"Written after the restore at {url}.")])[0] > known


@pytest.mark.citus
def test_what_changes_tables_names_the_coordinator_where_it_is_refused(
    looms: list[Loom], nodes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looms[0].store.backup(tmp_path / "copy.db")
    for loom in looms:
        loom.store.close()
    monkeypatch.setattr(migrations, "steps", with_step(ADDITION))
    for url in nodes[1:]:
        for attempt in (
            lambda url=url: open_store(url, SystemClock()),
            lambda url=url: distribute(url, SystemClock()),
            lambda url=url: restore(tmp_path / "copy.db", url, SystemClock(), force=True),
        ):
            with pytest.raises(StoreError, match="coordinator") as refusal:
                attempt()
            assert "coordinator's address" in str(refusal.value.hint)


@pytest.mark.citus
def test_a_restore_is_refused_while_others_have_the_store_open_at_another_node(
    looms: list[Loom], nodes: list[str], tmp_path: Path
) -> None:
    looms[1].workspace("james").add([note("James sails.")])
    looms[0].store.backup(tmp_path / "copy.db")
    for loom in (looms[0], *looms[2:]):
        loom.store.close()
    with pytest.raises(Conflict, match="open"):
        restore(tmp_path / "copy.db", nodes[0], SystemClock(), force=True)
    assert looms[1].workspace("james").add([note("James sails on.")])
    looms[1].store.close()
    restore(tmp_path / "copy.db", nodes[0], SystemClock(), force=True)


@pytest.mark.citus
def test_every_statement_about_a_workspace_is_left_to_the_one_node_that_holds_it(
    looms: list[Loom], nodes: list[str]
) -> None:
    place = looms[0].workspace("james").info.id
    # Braces are filled in by the program, with numbers of an index.
    known = {name: re.sub(r"\{\w+\}", "2", sql) for name, sql in statements("postgresql").items() if NAMED in sql}
    assert len(known) > 300
    with psycopg.connect(nodes[0], autocommit=True) as connection:
        tasks = {name: tasks_of(connection, sql, place) for name, sql in known.items()}
    assert {name: count for name, count in tasks.items() if count > 1} == {}


def tasks_of(connection: psycopg.Connection[Any], sql: str, place: int) -> int:
    """Count the shards that a statement is sent to."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", sql).replace("%%", "%")
    try:
        connection.execute(f"PREPARE asked AS {numbered}".encode())
    except psycopg.errors.UndefinedTable:
        return 0  # one of SQLite's own
    try:
        row = connection.execute("SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'asked'")
        kinds: list[str] = (row.fetchone() or ([],))[0]
        values = [str(place) if name == "workspace" else sample(kind) for name, kind in zip(names, kinds, strict=True)]
        given = ", ".join(f"'{value}'" for value in values)
        plan = connection.execute(f"EXPLAIN EXECUTE asked ({given})".encode()).fetchall()
    finally:
        connection.execute("DEALLOCATE asked")
    return max((int(count) for (line,) in plan for count in re.findall(r"Task Count: (\d+)", line)), default=0)


def sample(kind: str) -> str:
    if kind.endswith("[]"):
        return "{1, 2}"
    return next(value for beginning, value in SAMPLES.items() if kind.startswith(beginning))
