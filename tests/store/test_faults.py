"""What cannot be opened, read or written is refused with a reason and advice, and nothing is lost by it."""

from __future__ import annotations

import hashlib
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.errors import EverloomError, SchemaMismatch, StoreBusy, StoreError
from everloom.loom import Workspace
from everloom.store import open_store
from everloom.store.sqlite.store import SqliteStore
from tests.engines import PostgresServer
from tests.patience import wait_until
from tests.store.ground import Child, as_superuser, assert_agreement, is_sqlite, note, open_at, rows_of

PAGE = 4096
PUBLIC = Path("/tmp")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A loom of a few hundred notes, closed."""
    place = tmp_path / "loom.db"
    with open_at(f"sqlite://{place}") as loom:
        loom.workspace("james").add([note(f"Wave number {number} came in.") for number in range(300)])
    return place


def refusal(url: str | Path, clock: ManualClock) -> StoreError:
    """Open what cannot be opened, and hear why; whatever is said must come with advice."""
    with pytest.raises(StoreError) as caught:
        open_store(f"sqlite://{url}" if isinstance(url, Path) else url, clock).close()
    assert caught.value.hint
    return caught.value


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.promise("faults.newer-schema")
def test_a_store_of_a_newer_version_is_refused_and_left_alone(store_url: str, clock: ManualClock) -> None:
    open_store(store_url, clock).close()
    if is_sqlite(store_url):
        with closing(sqlite3.connect(store_url.removeprefix("sqlite://"))) as plain:
            plain.executescript("PRAGMA user_version = 999; UPDATE store_identity SET oldest_program = 999")
    else:
        with psycopg.connect(store_url, autocommit=True) as connection:
            connection.execute("INSERT INTO migration VALUES (999, 'later', 0)")
            connection.execute("UPDATE store_identity SET oldest_program = 999")
    error = refusal(store_url, clock)
    assert isinstance(error, SchemaMismatch)
    assert "newer" in error.message
    assert "upgrade" in str(error.hint)


@pytest.mark.promise("faults.corrupt-file")
@pytest.mark.parametrize("size", [1, 100, 5_000, 100_000])
def test_random_bytes_are_not_a_database(tmp_path: Path, clock: ManualClock, size: int) -> None:
    file = tmp_path / "loom.db"
    file.write_bytes(random.Random(size).randbytes(size))
    before = fingerprint(file)
    assert "not an everloom database" in refusal(file, clock).message
    assert fingerprint(file) == before


@pytest.mark.promise("faults.corrupt-file")
def test_a_truncated_file_is_reported_as_damaged(path: Path, clock: ManualClock) -> None:
    os.truncate(path, path.stat().st_size // 2 // PAGE * PAGE)
    assert_damage_is_named(path, clock)


@pytest.mark.promise("faults.corrupt-file")
@pytest.mark.parametrize("page", [2, 5, 9, 14])
def test_an_overwritten_page_is_reported_as_damaged(path: Path, clock: ManualClock, page: int) -> None:
    with path.open("rb+") as file:
        file.seek((page - 1) * PAGE)
        file.write(random.Random(page).randbytes(PAGE))
    assert_damage_is_named(path, clock)


def assert_damage_is_named(path: Path, clock: ManualClock) -> None:
    """Use the file in every way: damage is met at the latest when the whole of it is checked, and always named."""
    with pytest.raises(EverloomError) as caught:
        use_everything(path, clock)
    assert isinstance(caught.value, StoreError)
    assert re.search("damaged|not an everloom database|malformed|disk image|Tree|page", str(caught.value))
    assert caught.value.hint


def use_everything(path: Path, clock: ManualClock) -> None:
    with open_at(f"sqlite://{path}", clock) as loom:
        place = loom.workspace("james")
        place.search("wave number")
        place.add([note("After the damage.")])
        problems = loom.store.health().problems
        if problems:
            raise StoreError(problems[0], hint="told by health")


@pytest.mark.promise("faults.foreign-file")
def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path, clock: ManualClock) -> None:
    file = tmp_path / "browser.sqlite"
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("CREATE TABLE bookmarks (url TEXT)")
        plain.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
        plain.commit()
    before = fingerprint(file)
    assert "another program" in refusal(file, clock).message
    assert fingerprint(file) == before
    assert [each.name for each in tmp_path.iterdir()] == ["browser.sqlite"]


@pytest.mark.promise("faults.unreachable-place")
def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    assert "cannot be opened" in refusal(tmp_path, clock).message


@pytest.mark.promise("faults.unreachable-place")
def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "occupied").write_text("a file")
    assert "cannot create the folder" in refusal(tmp_path / "occupied" / "loom.db", clock).message


# Imports everything while it still may, then becomes somebody who may not write; root may write anywhere.
UNPRIVILEGED = """
import os, sys
import everloom.store.sqlite
from everloom.errors import StoreError
from everloom.store.migrations import steps
from everloom.store.statements import statements
from tests.store.ground import note, open_at
steps("sqlite"), statements("sqlite")
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    with open_at(sys.argv[1]) as loom:
        loom.workspace("james").add([note("It should not get here.")])
    print("written")
except StoreError as error:
    print("refused", error.message, "|", error.hint)
"""


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that anybody may enter, so that nothing but the missing right to write stands in the way."""
    folder = Path(tempfile.mkdtemp(dir=PUBLIC))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.promise("faults.read-only")
@pytest.mark.parametrize("what", ["folder without a file", "folder with a file", "file"])
def test_a_place_that_cannot_be_written_is_refused(path: Path, public_folder: Path, what: str) -> None:
    copy = Path(shutil.copy(path, public_folder))
    target = public_folder / "new.db" if what == "folder without a file" else copy
    copy.chmod(0o444 if what == "file" else 0o666)
    public_folder.chmod(0o777 if what == "file" else 0o555)
    before = fingerprint(copy)
    with Child(UNPRIVILEGED, f"sqlite://{target}") as child:
        (said,) = child.finish()
    assert said.startswith("refused"), said
    assert "writable" in said
    assert fingerprint(copy) == before


LIMITED = """
import resource, sys
from everloom.errors import StoreError
from tests.store.ground import note, open_at
limit = int(sys.argv[2])
with open_at(sys.argv[1]) as loom:
    place = loom.workspace("james")
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for number in range(10_000):
        try:
            print("added", *place.add([note(f"One more wave, number {number}, and another.") for _ in range(20)]))
        except StoreError as error:
            print("refused", error.message, "|", error.hint)
            break
    print("found", len(place.search("wave")))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("added", *place.add([note("There is room again.")]))
"""


@pytest.mark.promise("faults.full-disk")
def test_a_file_that_may_not_grow_refuses_the_write_and_keeps_what_it_has(path: Path) -> None:
    with Child(LIMITED, f"sqlite://{path}", str(path.stat().st_size + 200_000)) as child:
        said = child.finish()
    assert any(
        (line.startswith("refused") and "nothing that was stored is lost" in line) or "disk" in line for line in said
    )
    acknowledged = {int(item) for line in said if line.startswith("added") for item in line.split()[1:]}
    kept = {row["item_id"] for row in rows_of(f"sqlite://{path}", "SELECT item_id FROM document")}
    assert len(acknowledged) > 1
    assert len(kept) == 300 + len(acknowledged)
    assert acknowledged <= kept
    assert_agreement(f"sqlite://{path}")


@pytest.mark.promise("faults.full-disk")
def test_a_full_disk_is_named_and_passes(path: Path, clock: ManualClock) -> None:
    with open_at(f"sqlite://{path}", clock) as loom:
        place = loom.workspace("james")
        with loom.store.read(place.info.id) as unit:
            connection: sqlite3.Connection = unit._connection  # type: ignore[attr-defined]
        connection.execute("PRAGMA max_page_count = 1")  # as many pages as there are, and no more
        with pytest.raises(StoreError, match="the disk is full") as caught:
            place.add([note("One more wave that finds no room on the shore.") for _ in range(1_000)])
        assert "nothing that was stored is lost" in str(caught.value.hint)
        assert place.search("wave")
        connection.execute("PRAGMA max_page_count = 1000000")
        place.add([note("There is room again.")])
    assert_agreement(f"sqlite://{path}")


@pytest.mark.promise("faults.full-disk")
def test_a_backup_without_room_leaves_no_half_of_it(path: Path, tmp_path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * PAGE, hard))
    try:
        with pytest.raises(StoreError, match="disk"):
            store.backup(tmp_path / "copy.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert sorted(each.name for each in tmp_path.iterdir() if "copy" in each.name) == []
    store.close()


def test_a_backup_is_whole_and_never_overwrites(path: Path, tmp_path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    store.backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="already exists"):
        store.backup(tmp_path / "copy.db")
    store.close()
    assert_agreement(f"sqlite://{tmp_path / 'copy.db'}")
    assert len(rows_of(f"sqlite://{tmp_path / 'copy.db'}", "SELECT * FROM document")) == 300


@contextmanager
def role(server: PostgresServer, definition: str) -> Iterator[str]:
    """Lend a role, made as the administrator of the server."""
    name = f"r_{uuid4().hex[:8]}"
    with closing(psycopg.connect(server.url("postgres", "postgres"), autocommit=True)) as connection:
        connection.execute(f"CREATE ROLE {name} {definition}".encode())
        yield name
        connection.execute(f"DROP ROLE {name}".encode())


@pytest.mark.promise("faults.wrong-password")
@pytest.mark.parametrize(("given", "reason"), [(":wrong", "password is wrong"), ("", "password is needed")])
def test_a_wrong_or_missing_password_is_named(
    private_postgres: PostgresServer, clock: ManualClock, given: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    server = private_postgres
    with server.database() as url, role(server, "LOGIN PASSWORD 'right'") as name:
        rules = server.data / "pg_hba.conf"
        rules.write_text(f"local all {name} scram-sha-256\n{rules.read_text()}")
        os.kill(server.pid, signal.SIGHUP)
        wrong = url.replace("loom@", f"{name}:wrong@")
        wait_until(lambda: "password" in str(refusal(wrong, clock)), "the server to ask for a password")
        error = refusal(url.replace("loom@", f"{name}{given}@"), clock)
        assert reason in error.message
        assert "PGPASSWORD" in str(error.hint)
        assert "wrong@" not in str(error)
        assert ":right" not in str(error)


@pytest.mark.promise("faults.missing-database")
def test_a_missing_database_is_named(postgres_server: PostgresServer, clock: ManualClock) -> None:
    error = refusal(postgres_server.url("nowhere"), clock)
    assert "does not exist" in error.message
    assert "createdb" in str(error.hint)


@pytest.mark.promise("faults.server-down")
def test_a_server_that_does_not_run_is_named(private_postgres: PostgresServer, clock: ManualClock) -> None:
    url = private_postgres.url("postgres")
    private_postgres.stop()
    error = refusal(url, clock)
    assert isinstance(error, StoreBusy)
    assert "cannot be reached" in error.message


@pytest.mark.promise("faults.missing-extension")
def test_a_database_without_pgvector_is_refused(postgres_server: PostgresServer, clock: ManualClock) -> None:
    name = f"bare_{uuid4().hex[:8]}"
    with closing(psycopg.connect(postgres_server.url("postgres", "postgres"), autocommit=True)) as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER loom".encode())
        try:
            error = refusal(postgres_server.url(name), clock)
            assert "lacks the pgvector extension" in error.message
            assert "CREATE EXTENSION vector" in str(error.hint)
            assert rows_of(postgres_server.url(name), "SELECT * FROM pg_tables WHERE schemaname = 'public'") == []
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.promise("faults.missing-rights")
def test_a_role_that_may_not_make_tables_is_told_so(postgres_server: PostgresServer, clock: ManualClock) -> None:
    with role(postgres_server, "LOGIN") as name, postgres_server.database() as url:
        error = refusal(url.replace("loom@", f"{name}@"), clock)
        assert "permission denied" in error.message
        assert "grant" in str(error.hint)
        with psycopg.connect(as_superuser(url)) as connection:
            assert connection.execute("SELECT to_regclass('document')").fetchone() == (None,)


def nap(connection: psycopg.Connection[object]) -> None:
    connection.execute("SET LOCAL statement_timeout = '5ms'")
    connection.execute("SELECT pg_sleep(2)")


def test_a_query_that_the_server_cancels_is_worth_another_try(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place: Workspace = loom.workspace("james")
        with pytest.raises(StoreBusy), loom.store.read(place.info.id) as unit:
            nap(unit._connection)  # type: ignore[attr-defined]
        assert place.search("anything") == ()
