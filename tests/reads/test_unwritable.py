"""Reads never need a write: they answer where nothing can be written, and what they leave behind waits or is lost."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from everloom.clock import SystemClock
from everloom.errors import StoreBusy, StoreError
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.store.sqlite import connecting, opening
from everloom.store.sqlite.store import SqliteStore
from tests.patience import FACTOR
from tests.reads.ground import Furniture, call, furnished, verbs
from tests.store.ground import Child, as_superuser, is_sqlite, rows_of

# A read behind a writer that hangs waits for half a second at most, and only the first of them.
MOST_SECONDS = 3.0 * FACTOR


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    return home


@contextmanager
def stuck_writer(url: str) -> Iterator[None]:
    """Hold every lock that a writer can hold."""
    if is_sqlite(url):
        with closing(sqlite3.connect(url.removeprefix("sqlite://"), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    with psycopg.connect(as_superuser(url)) as server, server.transaction(force_rollback=True):
        server.execute("SELECT * FROM write_lock FOR UPDATE")
        server.execute("SELECT * FROM item FOR UPDATE")
        tables = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in tables:
            server.execute(f"LOCK TABLE {name} IN EXCLUSIVE MODE".encode())
        yield


def read_everything(loom: Loom, held: Furniture) -> None:
    """Call everything that reads, each within its time."""
    place = loom.workspace(session="before")
    ways: list[tuple[str, Callable[[], object]]] = [
        ("search", lambda: place.search("boat")),
        ("show", lambda: place.show(held.observation)),
        ("why", lambda: place.why(held.observation)),
        ("coverage", place.coverage),
        ("workspaces", loom.workspaces.list),
        ("check", loom.store.check),
        *((f"{each.name}.{verb.name}", _bound(place, each, verb, held)) for each, verb in verbs(writing=False)),
    ]
    for name, read in ways:
        began = time.monotonic()
        assert read() is not None or name == "check", name
        assert time.monotonic() - began < MOST_SECONDS, name


def _bound(place: Workspace, faculty: object, verb: object, held: Furniture) -> Callable[[], object]:
    return lambda: call(place, faculty, verb, held)  # type: ignore[arg-type]


def accesses(url: str, item: int) -> int:
    return sum(row["count"] for row in rows_of(url, "SELECT count FROM access WHERE item_id = ?", item))


@pytest.mark.promise("trust.reads-need-no-write")
def test_every_read_answers_behind_a_writer_that_hangs(store_url: str, folder: Path) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        held = furnished(loom)
    before = accesses(store_url, held.observation)
    with open_loom(store_url, settings=Settings()) as loom, stuck_writer(store_url):
        read_everything(loom, held)
        counts = loom.footprints.counts
        assert counts.waiting > 10
        assert counts.reason
        assert accesses(store_url, held.observation) == before
        # What waited is written with what comes next, or when the loom is closed.
    assert loom.footprints.counts.waiting == loom.footprints.counts.lost == 0
    assert accesses(store_url, held.observation) > before


@pytest.mark.promise("trust.reads-need-no-write")
def test_a_store_is_opened_behind_a_writer_that_hangs(store_url: str, folder: Path) -> None:
    with open_loom(store_url, settings=Settings()) as loom:
        held = furnished(loom)
    with stuck_writer(store_url):
        with open_loom(store_url, settings=Settings()) as loom:
            assert loom.workspace().search("boat")
            assert loom.workspace(session="s").semantic.bring_to_mind("the red boat").results
        assert loom.footprints.counts.lost >= 1
    assert held.observation


@pytest.mark.promise("trust.reads-need-no-write")
def test_every_read_answers_on_a_server_that_takes_no_writes(postgres_url: str, folder: Path) -> None:
    with open_loom(postgres_url, settings=Settings()) as loom:
        held = furnished(loom)
    with psycopg.connect(as_superuser(postgres_url), autocommit=True) as admin:
        name = admin.info.dbname
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
    with open_loom(postgres_url, settings=Settings()) as loom:
        read_everything(loom, held)
        with pytest.raises(StoreError, match="read-only") as caught:
            loom.workspace().semantic.remember(["James"], "This cannot be kept.")
        assert "primary" in str(caught.value.hint)


# Reads everything once without writing, while it may still load modules; then children become somebody who may not
# write, or whose disk is full, and read everything again.
UNPRIVILEGED = """
import os, pickle, resource, signal, sys
from pathlib import Path
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.cli.runtime.root import root
from tests.reads.test_unwritable import COMMANDS, read_everything

file, pickled = sys.argv[1:]
held = pickle.loads(bytes.fromhex(pickled))
os.environ["EVERLOOM_STORE_URL"] = f"sqlite://{file}"

def run(more=""):
    for line in COMMANDS:
        try:
            root.main(f"{line} {more}".split())
        except SystemExit as end:
            print("exit", end.code, line, more)

def lose_the_right():
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)

def full_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

def closed_file():
    os.chmod(file, 0o444)
    lose_the_right()

def closed_folder():
    os.chmod(Path(file).parent, 0o555)
    lose_the_right()

with open_loom(Path(file), settings=Settings.model_validate({"store": {"read_only": True}})) as loom:
    read_everything(loom, held)
run("--read-only")
for spoil in (full_disk, closed_file, closed_folder):
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    spoil()
    with open_loom(Path(file), settings=Settings()) as loom:
        read_everything(loom, held)
        print("read", spoil.__name__, loom.footprints.counts.waiting > 0)
        try:
            loom.workspace().semantic.remember(["James"], "This cannot be kept.")
        except Exception as error:
            print("refused", spoil.__name__, type(error).__name__, error)
    run()
    sys.stdout.flush()
    os._exit(0)
"""
COMMANDS = ("search boat", "semantic recall James", "doctor", "workspace list", "events", "migrate --check")


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that anybody may enter, so that nothing but the missing right to write stands in the way."""
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o777)
    yield place
    place.chmod(0o777)
    shutil.rmtree(place)


@pytest.mark.promise("trust.reads-need-no-write")
def test_every_read_and_command_answers_on_a_full_disk_and_without_the_right_to_write(
    public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(public_folder / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(public_folder / "config"))
    file = public_folder / "loom.db"
    with open_loom(file, settings=Settings()) as loom:
        held = furnished(loom)
    for each in (public_folder, *public_folder.rglob("*")):
        each.chmod(0o777 if each.is_dir() else 0o666)
    (public_folder / "loom.db-lock").unlink()
    before = file.read_bytes()
    with Child(UNPRIVILEGED, str(file), pickle.dumps(held).hex()) as child:
        said = child.finish()
    for how in ("full_disk", "closed_file", "closed_folder"):
        assert f"read {how} True" in said, said
        assert any(line.startswith(f"refused {how} StoreError") for line in said), said
    ended = [line for line in said if line.startswith("exit")]
    assert [line for line in ended if not line.startswith("exit 0")] == []
    assert len(ended) == 4 * len(COMMANDS)
    assert file.read_bytes() == before


def test_a_file_that_is_read_as_it_lies_is_read_anew_when_somebody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_loom(tmp_path / "loom.db", settings=Settings()) as loom:
        loom.workspace().semantic.remember(["James"], "James sails.")
    from everloom.store.sqlite import connecting

    # As on a disk that is full: whatever SQLite wants to create next to the file is refused.
    refused = [True]
    plain = connecting.connect

    def connect(path: Path, *, is_still: bool = False) -> sqlite3.Connection:
        if refused[0] and not is_still:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
            raise error
        return plain(path, is_still=is_still)

    monkeypatch.setattr(opening, "connect", connect)
    with open_loom(tmp_path / "loom.db", settings=Settings()) as reading:
        assert [hit.text for hit in reading.workspace().search("James")] == ["James sails."]
        refused[0] = False
        with open_loom(tmp_path / "loom.db", settings=Settings()) as writing:
            writing.workspace().semantic.remember(["James"], "James also dives.")
        assert {hit.text for hit in reading.workspace().search("James")} == {"James sails.", "James also dives."}
        reading.workspace().semantic.remember(["James"], "And he writes.")
        assert len(reading.workspace().search("James")) == 3


def test_what_is_written_while_it_is_read_as_it_lies_is_noticed(tmp_path: Path) -> None:

    file = tmp_path / "loom.db"
    store = SqliteStore(file, SystemClock())
    store._still = connecting.stamp_of(file)
    with pytest.raises(StoreBusy, match="while it was read"), store.read(0):
        os.utime(file)
    store.close()
