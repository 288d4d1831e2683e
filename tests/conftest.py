"""Fixtures of every test: the engines, a store and a loom on each, and how Hypothesis behaves.

`store_url` runs a test once per engine. Without a PostgreSQL server its tests are skipped, or fail when the environment
says EVERLOOM_TEST_REQUIRE_POSTGRES=1. A Citus cluster is a third engine where EVERLOOM_TEST_CITUS names one, as
`tests.citus` tells. How long tests wait is said in `tests.patience`.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NoReturn
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from everloom.clock import ManualClock, SystemClock
from everloom.loom import Loom, Workspace
from everloom.store import Store, open_store
from everloom.store.postgresql.migrating import distribute
from tests.citus import NODES, PREFIX, CitusCluster
from tests.engines import Engines, EngineUnavailable, PostgresServer
from tests.patience import FACTOR
from tests.store.ground import NOW, open_at
from tests.tally import Tally

REQUIRE = "EVERLOOM_TEST_REQUIRE_POSTGRES"
ENGINES = pytest.StashKey[Engines]()
SERVER_FIXTURES = {"made_database", "postgres_server", "postgres_url", "private_postgres"}
# The template of a database that holds a store, made once a run.
MADE = "everloom_made"
# What the run's engines call the template of the cluster.
SPREAD = "template-spread"
Lend = Callable[[], AbstractContextManager[str]]

# AI clients keep their files where these say. A test must neither find nor change those of whoever runs it.
for _name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME"):
    os.environ.pop(_name, None)

# Some images forbid Python to keep its bytecode. Then every program that a test starts would compile the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No server of a test has a certificate that the world trusts, and loading all of the world's would take an HTTP client
# longer than most of its requests.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull

# Times vary on shared machines, so no deadline.
_common: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", **_common)
settings.register_profile("ci", derandomize=True, database=None, print_blob=True, **_common)
settings.register_profile("long", max_examples=2_000, **_common)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to count what a run proves."""
    parser.addoption("--tally", action="store_true", help="count tests, promises, kills and examples of Hypothesis")


# First, for pytest chooses the place of temporary files in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Open the run's engines, or join those of the process that started this worker."""
    if config.getoption("tally"):
        config.pluginmanager.register(Tally(config))
    # A shell's background jobs ignore Ctrl-C, and so would every program that the tests interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    shared = getattr(config, "workerinput", None)
    config.stash[ENGINES] = engines = Engines(Path(shared["engines"])) if shared else Engines.open()
    # In memory a commit takes a tenth of the time. A killed process loses nothing there, and no test cuts the power.
    if not shared and config.option.basetemp is None:
        config.option.basetemp = engines.temporary_files()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the run's engines are."""
    node.workerinput["engines"] = str(node.config.stash[ENGINES].home)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the run's engines once every worker is done."""
    if ENGINES in config.stash and not hasattr(config, "workerinput"):
        if config.stash[ENGINES].is_made(SPREAD):
            cluster_of(config).remove()
        config.stash[ENGINES].close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the server, so that `-m 'not postgresql'` leaves it out; scale the time each test may take."""
    allowed = float(config.getoption("timeout") or config.getini("timeout"))
    for item in items:
        own = item.get_closest_marker("timeout")
        seconds = own.args[0] if own else allowed
        item.add_marker(pytest.mark.timeout(seconds * FACTOR), append=False)
        if isinstance(item, pytest.Function) and SERVER_FIXTURES.intersection(item.fixturenames):
            item.add_marker(pytest.mark.postgresql)
        if _shares_with_its_module(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        alone = item.get_closest_marker("one_node")
        if alone and item.get_closest_marker("citus"):
            item.add_marker(pytest.mark.skip(reason=f"a cluster cannot show this: {alone.args[0]}"))


def _shares_with_its_module(item: pytest.Item) -> bool:
    """Tell whether one worker should run the whole module, for the others would make the same things again."""
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(each[-1].scope == "module" for each in fixtures.values())


def pytest_collection_finish() -> None:
    """Keep the garbage collector from what lives as long as the run: thousands of tests, and all modules."""
    gc.freeze()


def _unavailable(error: EngineUnavailable) -> NoReturn:
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"PostgreSQL is required ({REQUIRE}=1) but cannot start: {error}", pytrace=False)
    pytest.skip(f"PostgreSQL cannot start: {error}")


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """The server that all workers share; a test must neither stop nor crash it."""
    try:
        server = pytestconfig.stash[ENGINES].server().keep_connected()
    except EngineUnavailable as error:
        _unavailable(error)
    assert server.administration is not None
    with closing(server.administration):
        yield server


@pytest.fixture
def private_postgres(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """A server for this test alone, to be stopped, restarted and killed."""
    try:
        server = pytestconfig.stash[ENGINES].private_server()
    except EngineUnavailable as error:
        _unavailable(error)
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A new, empty database with pgvector, reached as a role that is no superuser."""
    with postgres_server.database() as url:
        yield url


EACH_ENGINE = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
# Where a store is made already, it may be spread over a cluster, too.
EACH_STORE = [*EACH_ENGINE, *([pytest.param("citus", marks=pytest.mark.citus)] if NODES else [])]


def make_store(url: str) -> None:
    """Bring a store into being, with nothing in it."""
    open_store(url, SystemClock()).close()


@pytest.fixture(scope="session")
def made_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store that was made and never used, to be copied."""
    file = tmp_path_factory.mktemp("made") / "loom.db"
    make_store(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def made_database(postgres_server: PostgresServer, pytestconfig: pytest.Config) -> Lend:
    """Lends databases with a store that was made and never used: making one takes a fifth of a second."""
    pytestconfig.stash[ENGINES].template(MADE, make_store)
    return partial(postgres_server.database, like=MADE)


def cluster_of(config: pytest.Config) -> CitusCluster:
    """Name the cluster, and the template that this run has there."""
    return CitusCluster(NODES, f"{PREFIX}_{config.stash[ENGINES].home.name.rpartition('-')[2]}")


def make_distributed_store(url: str) -> None:
    """Bring a store into being and spread it over the nodes, with nothing in it."""
    make_store(url)
    distribute(url, SystemClock())


@pytest.fixture(scope="session")
def citus_cluster(pytestconfig: pytest.Config) -> CitusCluster:
    """The cluster that the environment names; its databases hold a store that was spread over it and never used."""
    if not NODES:
        pytest.skip("EVERLOOM_TEST_CITUS names no Citus cluster")
    cluster = cluster_of(pytestconfig)
    pytestconfig.stash[ENGINES].once(SPREAD, partial(cluster.make_template, make_distributed_store))
    return cluster


def lend_at_node(request: pytest.FixtureRequest) -> Lend:
    """Lend stores of the cluster, each test's at a node of its own: the same each time it runs."""
    cluster: CitusCluster = request.getfixturevalue("citus_cluster")
    is_bound = request.node.get_closest_marker("coordinator") is not None
    return partial(cluster.database, 0 if is_bound else crc32(request.node.nodeid.encode()))


@pytest.fixture(params=EACH_ENGINE)
def lend_bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Lend:
    """Lend places where no store is yet, on each engine."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.database
    return partial(lend_file, tmp_path)


@pytest.fixture
def bare_url(lend_bare_url: Lend) -> Iterator[str]:
    """The url of a place where no store is yet, on each engine."""
    with lend_bare_url() as url:
        yield url


@pytest.fixture(params=EACH_STORE)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The url of an empty store, on each engine."""
    if request.param == "sqlite":
        copy_store(request.getfixturevalue("made_file"), tmp_path)
        yield f"sqlite:///{tmp_path}/loom.db"
        return
    lend: Lend = lend_at_node(request) if request.param == "citus" else request.getfixturevalue("made_database")
    with lend() as url:
        yield url


@pytest.fixture(params=EACH_STORE)
def lend_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Lend:
    """Lend empty stores as often as a test asks, on each engine: one per example of Hypothesis, or two at once."""
    if request.param == "postgresql":
        made: Lend = request.getfixturevalue("made_database")
        return made
    if request.param == "citus":
        return lend_at_node(request)
    return partial(lend_file, tmp_path, request.getfixturevalue("made_file"))


def copy_store(file: Path, directory: Path) -> None:
    """Copy the file of a store, and make the copy another store: its files must not be those of the next test."""
    shutil.copy(file, directory)
    with closing(sqlite3.connect(directory / file.name)) as connection, connection:
        connection.execute("UPDATE store_identity SET id = ?", (token_hex(8),))


@contextmanager
def lend_file(parent: Path, like: Path | None = None) -> Iterator[str]:
    """Lend the url of a file that is not there yet, or of a copy."""
    with TemporaryDirectory(dir=parent) as directory:
        if like is not None:
            copy_store(like, Path(directory))
        yield f"sqlite:///{directory}/loom.db"


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def store(store_url: str, clock: ManualClock) -> Iterator[Store]:
    """An empty store, on each engine."""
    opened = open_store(store_url, clock)
    yield opened
    opened.close()


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    """An empty loom, on each engine."""
    with open_at(store_url, clock) as opened:
        yield opened


@pytest.fixture
def workspace(loom: Loom) -> Workspace:
    """A workspace of that loom."""
    return loom.workspace("james")
