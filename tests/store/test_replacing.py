"""A restore is a new store and one switch; whoever had the old one open notices, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.clock import ManualClock, SystemClock
from everloom.errors import Conflict, SchemaMismatch, StoreError, StoreReplaced
from everloom.store import migrations, open_store, sqlite_url, transfer
from everloom.store.address import sqlite_path
from everloom.store.sqlite.store import SqliteStore
from everloom.store.transfer import restore
from tests.store.ground import Child, as_superuser, assert_agreement, is_sqlite, note, open_at, rows_of
from tests.store.nursery import Nursery
from tests.store.test_migration import ADDITION, with_step

# What replaces tables goes through the coordinator.
pytestmark = pytest.mark.coordinator

HOLD = """
import sys
from tests.store.ground import note, open_at
with open_at(sys.argv[1]) as loom:
    print("added", *loom.workspace("james").add([note("held open")]), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup with one workspace, anna, and two notes in it."""
    with open_at(sqlite_url(tmp_path / "origin" / "other.db")) as loom:
        loom.workspace("anna").add([note("Anna rows."), note("Anna sings.")])
        loom.store.backup(tmp_path / "backup.db")
    return tmp_path / "backup.db"


@pytest.fixture
def filled(store_url: str) -> str:
    """A store that holds one note of james."""
    with open_at(store_url) as loom:
        loom.workspace("james").add([note("James sails.")])
    return store_url


def texts(url: str, schema: str = "public") -> set[str]:
    """Read every text past all filters."""
    return {row["text"] for row in rows_of(url, f"SELECT text FROM {'' if is_sqlite(url) else schema + '.'}document")}


def former_texts(url: str, former: str | None) -> set[str]:
    """Read the texts of the store that was replaced, wherever it is."""
    assert former is not None
    if is_sqlite(url):
        assert_agreement(sqlite_url(Path(former)))
        return texts(sqlite_url(Path(former)))
    return texts(url, former.split()[2])


def assert_untouched(url: str) -> None:
    assert texts(url) == {"James sails."}
    assert_agreement(url)
    if is_sqlite(url):
        names = {each.name for each in sqlite_path(url).parent.iterdir()}
        assert not [name for name in names if "restor" in name or "damaged" in name]


@pytest.mark.promise("restore.one-switch")
def test_a_restore_takes_the_place_of_the_store_and_keeps_the_old_one(
    filled: str, backup: Path, clock: ManualClock
) -> None:
    with pytest.raises(Conflict, match="james"):
        restore(backup, filled, clock)
    assert_untouched(filled)
    identity = rows_of(filled, "SELECT id FROM store_identity")
    lives = rows_of(filled, "SELECT incarnation FROM store_identity")
    report = restore(backup, filled, clock, force=True)
    assert report.workspaces == ("anna",)
    assert texts(filled) == {"Anna rows.", "Anna sings."}
    assert former_texts(filled, report.former) == {"James sails."}
    assert rows_of(filled, "SELECT id FROM store_identity") == identity
    assert rows_of(filled, "SELECT incarnation FROM store_identity") != lives
    assert_agreement(filled)
    with open_at(filled) as loom:
        ids = loom.workspace("anna").add([note("Anna rests.")])
        assert loom.workspace("anna").search("rests")[0].id == ids[0]
    again = restore(backup, filled, clock, force=True)
    assert former_texts(filled, again.former) == {"Anna rows.", "Anna sings.", "Anna rests."}
    assert former_texts(filled, report.former) == {"James sails."}


@pytest.mark.promise("restore.ids-go-on")
def test_an_id_that_was_given_before_a_restore_is_not_given_again(
    filled: str, backup: Path, clock: ManualClock
) -> None:
    with open_at(filled) as loom:
        known = max(loom.workspace("james").add([note(f"Written after the backup, {at}.") for at in range(50)]))
    restore(backup, filled, clock, force=True)
    with open_at(filled) as loom:
        assert loom.workspace("james").add([note("Written after the restore.")])[0] > known


@pytest.mark.promise("restore.ids-go-on")
def test_workspaces_that_gave_the_same_ids_stay_apart_in_a_backup_and_after_it(
    postgres_url: str, tmp_path: Path, clock: ManualClock, lend_store_url: Callable[[], AbstractContextManager[str]]
) -> None:
    with open_at(postgres_url) as loom:
        known = {name: loom.workspace(name).add([note(f"{name} sails.")]) for name in ("james", "anna")}
        loom.store.backup(tmp_path / "copy.db")
    assert known["james"] == known["anna"]
    with lend_store_url() as url:
        restore(tmp_path / "copy.db", url, clock, force=True)
        assert_agreement(url)
        with open_at(url) as loom:
            for name, ids in known.items():
                place = loom.workspace(name)
                assert [(hit.id, hit.text) for hit in place.search("sails")] == [(ids[0], f"{name} sails.")]
                assert place.add([note(f"{name} rests.")])[0] > ids[0]
            assert loom.store.health(deep=True).problems == ()
        assert_agreement(url)


@pytest.mark.promise("restore.checks-first")
@pytest.mark.parametrize("what", ["missing", "garbage", "foreign", "truncated", "newer", "empty"])
def test_a_backup_that_is_none_leaves_the_store_alone(
    filled: str, backup: Path, clock: ManualClock, what: str, tmp_path: Path
) -> None:
    if what == "missing":
        backup.unlink()
    elif what == "garbage":
        backup.write_bytes(os.urandom(20_000))
    elif what == "empty":
        backup.write_bytes(b"")
    elif what == "truncated":
        os.truncate(backup, backup.stat().st_size // 2)
    else:
        with closing(sqlite3.connect(backup)) as plain:
            plain.execute("PRAGMA application_id = 4711" if what == "foreign" else "PRAGMA user_version = 999")
    with pytest.raises(StoreError):
        restore(backup, filled, clock, force=True)
    assert_untouched(filled)


@pytest.mark.promise("restore.refused-while-in-use")
def test_a_restore_is_refused_while_others_have_the_store_open(filled: str, backup: Path, clock: ManualClock) -> None:
    with Child(HOLD, filled) as child:
        assert child.line().startswith("added")
        with pytest.raises(Conflict, match="open") as refusal:
            restore(backup, filled, clock, force=True)
        assert "--wait" in str(refusal.value.hint)
        assert texts(filled) == {"James sails.", "held open"}
        child.tell("enough")
        report = restore(backup, filled, SystemClock(), force=True, wait=60)
        child.finish()
    assert former_texts(filled, report.former) == {"James sails.", "held open"}


@pytest.mark.promise("restore.refused-while-in-use")
def test_a_store_that_is_open_without_a_connection_is_not_replaced_either(backup: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/idle.db"
    with open_at(url) as loom:
        loom.workspace("james").add([note("James sails.")])
        # As after a quiet hour: no lock of SQLite's own tells that anybody is there.
        store = loom.store
        assert isinstance(store, SqliteStore)
        store._pool.close_idle()
        with pytest.raises(Conflict, match="open"):
            restore(backup, url, SystemClock(), force=True)
        assert texts(url) == {"James sails."}


@pytest.mark.promise("restore.loses-nothing")
def test_what_was_acknowledged_during_a_restore_is_in_the_old_store_or_in_the_new(
    filled: str, backup: Path, nursery: Nursery, tmp_path: Path
) -> None:
    for _ in range(3):
        nursery.start("visit", filled, tmp_path / "enough")
    nursery.hear(6)
    report = restore(backup, filled, SystemClock(), force=True, wait=60)
    nursery.hear(6)
    (tmp_path / "enough").touch()
    said = nursery.reap()
    acknowledged = {words[1] for words in said if words[0] == "added"}
    assert len(acknowledged) > 3
    before, after = former_texts(filled, report.former), texts(filled)
    assert acknowledged <= before | after
    assert before >= {"James sails."}
    assert after >= {"Anna rows.", "Anna sings."}
    assert not before & after
    assert_agreement(filled)


@pytest.mark.promise("restore.killed")
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(
    filled: str, backup: Path, nursery: Nursery, tmp_path: Path
) -> None:
    old, new = {"James sails."}, {"Anna rows.", "Anna sings."}
    before = tmp_path / "before.db"
    with open_at(filled) as loom:
        loom.store.backup(before)
    # A first run tells how many steps there are: files made, moved and synced, statements sent to the server.
    nursery.start("restore", backup, filled, 1_000_000)
    ((_, steps),) = nursery.reap()
    restore(before, filled, SystemClock(), force=True, wait=60)
    seen: list[set[str]] = []
    for step in sorted({1, int(steps) // 3, *range(int(steps) - 5, int(steps) + 1)} - {0}):
        nursery.start("restore", backup, filled, step)
        assert nursery.reap() == []
        found = texts(filled)
        assert found in (old, new), step
        assert_agreement(filled)
        seen.append(found)
        if found == new:
            break
    assert old in seen
    report = restore(backup, filled, SystemClock(), force=True, wait=60)
    assert former_texts(filled, report.former) == seen[-1]
    if is_sqlite(filled):
        names = [each.name for each in sqlite_path(filled).parent.iterdir()]
        assert not [name for name in names if "restoring" in name]
        assert os.stat(sqlite_path(filled)).st_nlink == 1
    else:
        assert not rows_of(filled, "SELECT 1 FROM pg_namespace WHERE nspname LIKE 'everloom_restoring%'")


def test_a_damaged_store_is_set_aside_with_its_log(tmp_path: Path, backup: Path, clock: ManualClock) -> None:
    path = tmp_path / "loom.db"
    path.write_bytes(b"SQLite format 3\x00" + os.urandom(20_000))
    path.with_name("loom.db-wal").write_bytes(b"the last words")
    with pytest.raises(StoreError, match=r"damaged|malformed|not"):
        restore(backup, sqlite_url(path), clock)
    before = path.read_bytes()
    report = restore(backup, sqlite_url(path), clock, force=True)
    assert report.former is not None
    assert Path(report.former).read_bytes() == before
    assert Path(f"{report.former}-wal").read_bytes() == b"the last words"
    assert texts(sqlite_url(path)) == {"Anna rows.", "Anna sings."}


@pytest.mark.parametrize("statement", ["PRAGMA application_id = 4711", "PRAGMA user_version = 999"])
def test_a_foreign_or_newer_store_is_never_replaced(
    tmp_path: Path, backup: Path, clock: ManualClock, statement: str
) -> None:
    url = sqlite_url(tmp_path / "loom.db")
    open_store(url, clock).close()
    with closing(sqlite3.connect(tmp_path / "loom.db")) as plain:
        plain.execute(statement)
    with pytest.raises(StoreError, match=r"another program|newer"):
        restore(backup, url, clock, force=True)
    assert rows_of(url, "SELECT * FROM workspace") == []


def test_a_restore_through_a_link_replaces_the_file_behind_it(tmp_path: Path, backup: Path, clock: ManualClock) -> None:
    (tmp_path / "far").mkdir()
    with open_at(sqlite_url(tmp_path / "far" / "loom.db")) as loom:
        loom.workspace("james").add([note("James sails.")])
    (tmp_path / "link.db").symlink_to(tmp_path / "far" / "loom.db")
    restore(backup, sqlite_url(tmp_path / "link.db"), clock, force=True)
    assert (tmp_path / "link.db").is_symlink()
    assert texts(sqlite_url(tmp_path / "far" / "loom.db")) == {"Anna rows.", "Anna sings."}


def another_file(tmp_path: Path, name: str) -> Path:
    with open_at(sqlite_url(tmp_path / "elsewhere" / name)) as loom:
        loom.workspace("james").add([note("Another sea.")])
        loom.store.backup(tmp_path / f"whole {name}")
    return tmp_path / f"whole {name}"


def swap(path: Path, other: Path) -> None:
    other.replace(path)


def delete(path: Path, _other: Path) -> None:
    path.unlink()


def overwrite(path: Path, other: Path) -> None:
    # In place: the same file with another content. Its log is gone, as after a clean end.
    path.write_bytes(other.read_bytes())


@pytest.mark.promise("store.replaced-is-noticed")
@pytest.mark.parametrize("how", [swap, delete, overwrite])
def test_a_file_that_is_not_the_one_that_was_opened_is_noticed_at_the_next_unit(
    tmp_path: Path, how: Callable[[Path, Path], None]
) -> None:
    path, other = tmp_path / "loom.db", another_file(tmp_path, "other.db")
    with open_at(sqlite_url(path)) as loom:
        james = loom.workspace("james")
        james.add([note("James sails.")])
        assert james.search("sails", limit=1)
        loom.store._pool.close_idle()  # type: ignore[attr-defined]
        how(path, other)
        for attempt in (
            lambda: james.add([note("Lost?")]),
            lambda: james.search("sea"),
            loom.store.health,
            lambda: loom.store.backup(tmp_path / "late.db"),
        ):
            with pytest.raises(StoreReplaced, match="restart"):
                attempt()
        assert not loom.store._vectors._shelves  # type: ignore[attr-defined]
    if how is delete:
        assert not path.exists()
    else:
        assert texts(sqlite_url(path)) == {"Another sea."}


@pytest.mark.promise("store.replaced-is-noticed")
def test_writes_into_a_file_that_was_swapped_under_open_connections_are_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "loom.db", another_file(tmp_path, "other.db")
    with open_at(sqlite_url(path)) as loom:
        james = loom.workspace("james")
        acknowledged = james.add([note("James sails.")])
        path.rename(tmp_path / "moved.db")
        path.with_name("loom.db-wal").rename(tmp_path / "moved.db-wal")
        other.replace(path)
        with pytest.raises(StoreReplaced):
            james.add([note("Lost?")])
    kept = rows_of(sqlite_url(tmp_path / "moved.db"), "SELECT item_id FROM document")
    assert [row["item_id"] for row in kept] == [*acknowledged]
    assert texts(sqlite_url(path)) == {"Another sea."}


@pytest.mark.promise("store.replaced-is-noticed")
def test_an_old_process_writes_nothing_into_a_newer_schema(
    filled: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_at(filled) as loom:
        james = loom.workspace("james")
        james.search("sails")
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "steps", with_step(ADDITION))
            open_store(filled, clock).close()
        with pytest.raises((StoreReplaced, SchemaMismatch)) as refusal:
            james.add([note("By old rules.")])
        assert refusal.value.hint
        with pytest.raises((StoreReplaced, SchemaMismatch)):
            james.search("sails")
    assert texts(filled) == {"James sails."}


@pytest.mark.promise("store.replaced-is-noticed")
def test_a_restored_database_is_noticed_by_processes_that_were_idle(
    postgres_url: str, backup: Path, clock: ManualClock
) -> None:
    with open_at(postgres_url) as loom:
        james = loom.workspace("james")
        james.add([note("James sails.")])
        loom.store._pool.close_idle()  # type: ignore[attr-defined]
        report = restore(backup, postgres_url, clock, force=True)
        for attempt in (lambda: james.add([note("Lost?")]), lambda: james.search("sea")):
            with pytest.raises(StoreReplaced, match="restart"):
                attempt()
    assert former_texts(postgres_url, report.former) == {"James sails."}
    assert texts(postgres_url) == {"Anna rows.", "Anna sings."}


@pytest.mark.promise("restore.refused-while-in-use")
def test_a_restore_waits_for_a_transaction_and_lets_none_begin(
    postgres_url: str, backup: Path, clock: ManualClock
) -> None:
    with open_at(postgres_url) as loom:
        loom.workspace("james").add([note("James sails.")])
    # Somebody whom the server's list of connections does not name as ours.
    with psycopg.connect(as_superuser(postgres_url)) as stranger:
        stranger.execute("SELECT incarnation FROM store_identity")
        began = time.monotonic()
        with pytest.raises(Conflict, match="open"):
            restore(backup, postgres_url, clock, force=True)
        assert time.monotonic() - began < 30
    assert texts(postgres_url) == {"James sails."}
    assert restore(backup, postgres_url, clock, force=True).workspaces == ("anna",)


def test_tables_of_other_programs_stay_where_they_are(postgres_url: str, backup: Path, clock: ManualClock) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    open_store(postgres_url, clock).close()
    restore(backup, postgres_url, clock, force=True)
    assert rows_of(postgres_url, "SELECT * FROM public.bookmarks") == []
    guarded = rows_of(
        postgres_url, "SELECT relforcerowsecurity AS forced FROM pg_class WHERE oid = 'document'::regclass"
    )
    assert guarded == [{"forced": True}]


@pytest.mark.promise("store.private-files")
def test_files_of_a_store_are_their_owners_alone(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, backup: Path
) -> None:
    before = os.umask(0)
    try:
        url = sqlite_url(tmp_path / "data" / "deep" / "loom.db")
        with open_at(url) as loom:
            loom.workspace("james").add([note("James sails.")])
            loom.store.backup(tmp_path / "data" / "copy.db")
            assert (tmp_path / "data/deep/loom.db-wal").stat().st_size
            assert_private(tmp_path / "data")
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "steps", with_step(ADDITION))
            open_store(url, clock).close()
            restore(backup, url, clock, force=True)
        kinds = {each.name.split("-")[0].partition(".db.")[2] for each in (tmp_path / "data/deep").iterdir()}
        assert kinds >= {"before", f"v{migrations.steps('sqlite')[-1].number}"}
        assert_private(tmp_path / "data")
    finally:
        os.umask(before)


def assert_private(folder: Path) -> None:
    for each in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(each.stat().st_mode)
        assert mode == (0o700 if each.is_dir() else 0o600), f"{each.name}: {mode:o}"


@pytest.mark.promise("store.private-files")
def test_a_copy_from_a_database_server_is_its_owners_alone(
    postgres_url: str, tmp_path: Path, lend_bare_url: Callable[[], AbstractContextManager[str]]
) -> None:
    before = os.umask(0)
    try:
        with open_at(postgres_url) as loom:
            loom.workspace("james").add([note("James sails.")])
            loom.store.backup(tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


def test_opening_a_store_twice_in_one_process_ends_no_lock_of_it(tmp_path: Path, clock: ManualClock) -> None:
    url = sqlite_url(tmp_path / "loom.db")
    with open_at(url) as loom, loom.store.write(0) as unit:
        unit.ids(1)
        open_store(url, clock).close()
        with Child(TRY, str(tmp_path / "loom.db")) as child:
            assert child.finish() == ["locked"]


TRY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0)
try:
    connection.execute("BEGIN IMMEDIATE")
    print("free")
except sqlite3.OperationalError:
    print("locked")
"""


def test_a_store_that_was_copied_with_its_folder_is_opened(filled: str, tmp_path: Path) -> None:
    if is_sqlite(filled):
        shutil.copytree(sqlite_path(filled).parent, tmp_path / "copy")
        with open_at(sqlite_url(tmp_path / "copy" / sqlite_path(filled).name)) as loom:
            assert loom.workspace("james").search("sails")


@pytest.mark.promise("backup.one-moment")
@pytest.mark.one_node("its nodes have no moment in common; each workspace is copied as of one")
def test_a_backup_shows_all_workspaces_as_of_one_moment(
    store_url: str, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = transfer._copy_workspace
    written = 0
    with open_at(store_url, clock) as loom:

        def write() -> None:
            for name in ("first", "second"):
                loom.workspace(name).add([note(f"text {written}")])

        def copy(*given: Any) -> int:
            # Others go on writing into every workspace while each is copied, and make another one.
            nonlocal written
            written += 1
            write()
            loom.workspace("third")
            return copying(*given)

        monkeypatch.setattr(transfer, "_copy_workspace", copy)
        write()
        transfer.copy_to_file(loom.store, tmp_path / "copy.db")
    assert written == 2
    copied = rows_of(
        sqlite_url(tmp_path / "copy.db"),
        "SELECT w.name, d.text FROM workspace AS w LEFT JOIN document AS d ON d.workspace_id = w.id ORDER BY w.name",
    )
    assert [(row["name"], row["text"]) for row in copied] == [("first", "text 0"), ("second", "text 0")]
