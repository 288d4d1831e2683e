"""The engines of the tests are real, unprivileged and crash as they should."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import psutil
import psycopg
import pytest

from everloom.loom import open_loom
from everloom.settings import Settings
from tests import engines
from tests.engines import Engines, EngineUnavailable, PostgresServer


def ask(url: str, statement: str) -> object:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


@pytest.mark.promise("engines.server-without-root")
def test_the_server_does_not_run_as_root(postgres_server: PostgresServer) -> None:
    assert psutil.Process(postgres_server.pid).uids().effective != 0


@pytest.mark.promise("engines.vectors")
def test_a_new_database_has_a_recent_pgvector(postgres_url: str) -> None:
    version = str(ask(postgres_url, "SELECT extversion FROM pg_extension WHERE extname = 'vector'"))
    assert tuple(map(int, version.split(".")[:2])) >= (0, 8)
    assert ask(postgres_url, "SELECT '[1,2]'::halfvec <-> '[1,4]'::halfvec") == 2.0


@pytest.mark.promise("engines.plain-role")
def test_tests_connect_as_a_role_that_row_level_security_binds(postgres_url: str) -> None:
    assert ask(postgres_url, "SELECT current_user") == "loom"
    assert ask(postgres_url, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user") is False


@pytest.mark.promise("engines.plain-role")
def test_row_level_security_hides_rows_even_from_the_owner_of_a_table(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url, autocommit=True)) as connection:
        connection.execute("CREATE TABLE kept (workspace int)")
        connection.execute("INSERT INTO kept VALUES (1), (2)")
        connection.execute("ALTER TABLE kept ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON kept USING (workspace = 1)")
        assert connection.execute("SELECT workspace FROM kept").fetchall() == [(1,)]


@pytest.mark.promise("engines.fresh-database")
@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_gets_an_empty_database(postgres_url: str, turn: int) -> None:
    ask(postgres_url, "CREATE TABLE left_behind (id int)")


@pytest.mark.promise("engines.fresh-database")
@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_gets_a_store_that_was_never_used(store_url: str, turn: int) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        assert loom.workspaces.list() == []
        assert loom.store.health().problems == ()
        loom.workspace("left behind")


@pytest.mark.promise("engines.fresh-database")
def test_a_lent_database_is_dropped_even_while_somebody_is_connected(postgres_server: PostgresServer) -> None:
    with postgres_server.database() as url:
        forgotten = psycopg.connect(url, autocommit=True)
    with pytest.raises(psycopg.OperationalError):
        forgotten.execute("SELECT 1")
    forgotten.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


@pytest.mark.promise("engines.both")
def test_a_store_url_names_each_engine(store_url: str, request: pytest.FixtureRequest) -> None:
    engine, _, _ = store_url.partition("://")
    assert f"[{engine}]" in request.node.name


@pytest.mark.promise("engines.both")
def test_stores_are_lent_side_by_side_and_taken_back(
    lend_store_url: Callable[[], AbstractContextManager[str]], tmp_path: Path
) -> None:
    with lend_store_url() as first, lend_store_url() as second:
        assert first != second
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("engines.restart")
def test_what_was_committed_survives_a_restart_and_a_crash(private_postgres: PostgresServer) -> None:
    with private_postgres.database() as url:
        ask(url, "CREATE TABLE kept AS SELECT 1 AS id")
        private_postgres.restart()
        ask(url, "INSERT INTO kept VALUES (2)")
        private_postgres.restart("immediate")
        ask(url, "INSERT INTO kept VALUES (3)")
        private_postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        private_postgres.start()
        assert ask(url, "SELECT array_agg(id ORDER BY id) FROM kept") == [1, 2, 3]


@pytest.mark.promise("engines.sweep")
def test_the_next_run_sweeps_away_what_a_killed_run_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.engines._public_directory", lambda: tmp_path)
    killed = Engines.open()
    living = Engines.open()
    assert killed.home.exists()
    assert killed._held is not None
    killed._held.close()
    living.close()
    Engines.open().close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("engines.named-failure")
def test_a_server_that_cannot_start_says_why_to_everyone_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with closing(Engines.open()) as run:
        for _ in range(2):
            with pytest.raises(EngineUnavailable, match="not installed"):
                run.server()


@pytest.mark.promise("engines.server-without-root")
def test_programs_that_the_server_s_account_cannot_reach_are_copied(
    monkeypatch: pytest.MonkeyPatch, postgres_server: PostgresServer
) -> None:
    monkeypatch.setattr(engines, "_reachable", lambda _: False)
    with closing(Engines.open()) as run:
        programs = engines._programs(run.home)
        monkeypatch.undo()
        assert programs.is_relative_to(run.home)
        assert engines._reachable(programs)
