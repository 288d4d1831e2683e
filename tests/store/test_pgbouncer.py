"""Behind a real PgBouncer, in each of its modes; where it is not installed, these are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

from everloom.clock import SystemClock
from everloom.errors import StoreError
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.store import open_store
from everloom.store.contract import StoreLimits
from everloom.store.postgresql.store import PostgresStore
from tests.engines import ROLE, PostgresServer, server_account
from tests.patience import wait_until

# Where Debian puts it, which is in nobody's PATH but the administrator's.
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")

WORKERS = 6


@pytest.fixture
def behind(postgres_server: PostgresServer) -> Iterator[Callable[..., str]]:
    """Start poolers in front of the server, and give the address of a store behind each."""
    started: list[subprocess.Popen[bytes]] = []
    with postgres_server.database() as direct:
        name = direct.partition("@/")[2].partition("?")[0]

        def start(mode: str) -> str:
            # Beside the server: a directory that its account reaches.
            home = postgres_server.home.parent / f"pgbouncer-{uuid4().hex[:8]}"
            process, url = pooler(postgres_server, home, name, mode)
            started.append(process)
            return url

        try:
            yield start
        finally:
            for process in started:
                process.terminate()
                process.wait()


def pooler(server: PostgresServer, home: Path, name: str, mode: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start one pooler with fewer connections than clients, so that transactions of one client are on several."""
    assert PROGRAM is not None
    home.mkdir(mode=0o700)
    config = home / "pgbouncer.ini"
    size = 2 if mode != "session" else 20
    config.write_text(f"""[databases]
{name} = host={server.home} dbname={name} user={ROLE}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {home}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 100
logfile = {home}/log
ignore_startup_parameters = extra_float_digits
""")
    known = server_account()
    identity = {} if known is None else {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": []}
    if known is not None:
        for place in (home, config):
            os.chown(place, known.pw_uid, known.pw_gid)
    process = subprocess.Popen([PROGRAM, str(config)], stderr=subprocess.DEVNULL, **identity)  # type: ignore[call-overload]
    url = f"postgresql://{ROLE}@/{name}?host={quote(str(home), safe='')}&port=6432"

    def answers() -> bool:
        with suppress(psycopg.OperationalError), closing(psycopg.connect(url, autocommit=True)) as connection:
            return connection.execute("SELECT 1", prepare=False).fetchone() == (1,)
        return False

    wait_until(answers, "PgBouncer to answer", process=process)
    return process, url


def settings(*, prepared: bool) -> Settings:
    return Settings.model_validate({"store": {"prepared_statements": prepared}, "workspace": {"time_zone": "UTC"}})


@pytest.mark.promise("store.pooled")
@pytest.mark.parametrize(("mode", "prepared"), [("session", True), ("session", False), ("transaction", False)])
def test_several_writers_and_readers_share_few_connections(
    behind: Callable[..., str], mode: str, prepared: bool, tmp_path: Path
) -> None:
    with open_loom(behind(mode), settings=settings(prepared=prepared)) as loom:

        def talk(number: int) -> list[int]:
            place = loom.workspace(f"place {number % 2}").semantic
            found = []
            for turn in range(8):
                found.append(place.remember([f"James {number}"], f"James has sailed {number} times {turn}.").id)
                assert place.search(f"sailed {number}")
            return found

        with ThreadPoolExecutor(WORKERS) as threads:
            ids = [*threads.map(talk, range(WORKERS))]
        for number, each in enumerate(ids):
            assert each == sorted(each)
            known = loom.workspace(f"place {number % 2}").semantic
            assert [known.show(item).id for item in each] == each
        # One transaction for all workspaces, whichever connection it is on.
        loom.store.backup(tmp_path / "copy.db")
    with open_loom(tmp_path / "copy.db", settings=settings(prepared=prepared)) as copy:
        assert len(copy.workspaces.list()) >= 2


@contextmanager
def opened(url: str, *, prepared: bool) -> Iterator[None]:
    store = open_store(url, SystemClock(), StoreLimits(prepared_statements=prepared))
    try:
        yield
    finally:
        store.close()


@pytest.mark.promise("store.pooled")
def test_a_mode_without_transactions_is_refused_with_what_to_do(behind: Callable[..., str]) -> None:
    with pytest.raises(StoreError, match="pooler") as caught, opened(behind("statement"), prepared=False):
        pass
    assert "pool_mode" in str(caught.value.hint)
    assert "transaction" in str(caught.value.hint)


@pytest.mark.promise("store.pooled")
def test_upkeep_with_more_memory_leaves_no_setting_on_connections_that_others_share(behind: Callable[..., str]) -> None:
    url, memory = behind("transaction"), b"SHOW maintenance_work_mem"
    with closing(PostgresStore(url, SystemClock(), StoreLimits(prepared_statements=False))) as store:
        store._administer("SELECT 1", megabytes=1_999)
        # A transaction that stays open keeps its connection, so that the other has the second one.
        with closing(psycopg.connect(url, autocommit=True)) as one, closing(psycopg.connect(url)) as other:
            found = {each.execute(memory, prepare=False).fetchone() for each in (other, one)}
    assert found.isdisjoint({("1999MB",)})
