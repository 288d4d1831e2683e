"""A unit of work is kept whole or not at all, sees one moment, and hands out ids in the order of commits."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress

import pytest

from everloom.clock import ManualClock, to_micros
from everloom.errors import Conflict, Rejected, StoreBusy, StoreError
from everloom.kernel.embedding import model_id
from everloom.kernel.journal import append_event, register
from everloom.kernel.workspaces import Workspaces
from everloom.loom import Loom, Workspace
from everloom.store import Store, Unit, open_store
from tests.engines import PostgresServer
from tests.store.ground import NOW, dump, is_sqlite, note, open_at, rows_of
from tests.store.nursery import Nursery, newest

AT = to_micros(NOW)


@pytest.fixture
def place(store: Store, clock: ManualClock) -> int:
    """The id of a workspace in the store."""
    return Workspaces(store, clock, "UTC").open("james").id


def kinds(store: Store, place: int) -> dict[str, int]:
    with store.read(place) as unit:
        return {row["kind"]: row["count"] for row in unit.all("kernel.item_counts")}


class Stumble(Exception):
    """Something that goes wrong in the middle."""


def write_and_raise(unit: Unit, error: type[BaseException]) -> None:
    register(unit, ["note"] * 3, NOW)
    raise error


@pytest.mark.promise("store.whole-or-nothing")
def test_what_a_unit_wrote_is_there_when_it_ends(store: Store, place: int) -> None:
    with store.write(place) as unit:
        register(unit, ["note"] * 3, NOW)
        append_event(unit, "add", {}, NOW, None)
    assert kinds(store, place) == {"event": 1, "note": 3}


@pytest.mark.promise("store.whole-or-nothing")
@pytest.mark.parametrize("error", [Stumble, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_nothing_of_a_unit_is_kept_when_anything_is_raised(
    store: Store, store_url: str, place: int, error: type[BaseException]
) -> None:
    before = dump(store_url, place)
    with pytest.raises(error), store.write(place) as unit:
        write_and_raise(unit, error)
    assert dump(store_url, place) == before


@pytest.mark.promise("store.whole-or-nothing")
def test_a_statement_that_fails_undoes_what_went_before_it(store: Store, store_url: str, place: int) -> None:
    before = dump(store_url, place)
    with pytest.raises(Conflict, match="refused a row"), store.write(place) as unit:
        unit.run("kernel.item_add", id=register(unit, "note", NOW)[0], kind="note", at=AT)
    assert dump(store_url, place) == before


@pytest.mark.promise("store.whole-or-nothing")
def test_a_row_without_its_item_is_refused(store: Store, place: int) -> None:
    with pytest.raises(Conflict), store.write(place) as unit:
        unit.run("kernel.access_count", items=[987_654], at=AT)


@pytest.mark.promise("store.whole-or-nothing")
def test_many_rows_are_kept_together_or_not_at_all(store: Store, store_url: str, place: int) -> None:
    before = dump(store_url, place)
    with pytest.raises(Conflict), store.write(place) as unit:
        unit.many(
            "kernel.item_add", ({"id": each, "kind": "note", "at": AT} for each in [*unit.ids(3), *unit.ids(1)] * 2)
        )
    assert dump(store_url, place) == before


@pytest.mark.promise("store.whole-or-nothing")
def test_after_a_failure_the_next_unit_works(store: Store, place: int) -> None:
    for _ in range(40):  # more than there are connections
        with pytest.raises(Stumble), store.write(place) as unit:
            write_and_raise(unit, Stumble)
        with pytest.raises(Stumble), store.read(place):
            raise Stumble
    with store.write(place) as unit:
        register(unit, "note", NOW)
    assert kinds(store, place) == {"note": 1}


@pytest.mark.promise("store.whole-or-nothing")
def test_an_unfinished_add_leaves_neither_words_nor_vectors(workspace: Workspace, store_url: str) -> None:
    workspace.add([note("The lighthouse keeper counts the ships.")])
    before = dump(store_url, workspace.info.id)
    index = workspace.loom.index
    prepared = index.prepare([note("The harbour master counts the gulls.")])
    with suppress(Stumble), workspace.loom.store.write(workspace.info.id) as unit:
        index.add(unit, prepared, NOW)
        raise Stumble
    assert dump(store_url, workspace.info.id) == before
    assert [hit.text for hit in workspace.search("harbour gulls")] == ["The lighthouse keeper counts the ships."]


def test_a_read_unit_cannot_write_on_postgresql(postgres_url: str, clock: ManualClock) -> None:
    store = open_store(postgres_url, clock)
    with pytest.raises(StoreError, match="read-only"), store.read(1) as unit:
        unit.ids(1)
    store.close()


@pytest.mark.promise("store.one-moment")
def test_a_reader_sees_one_moment_while_others_write(store: Store, place: int) -> None:
    with store.write(place) as unit:
        register(unit, "note", NOW)
    with store.read(place) as reader:
        seen = [row["count"] for row in reader.all("kernel.item_counts")]
        writer = threading.Thread(target=lambda: write_notes(store, place, 5))
        writer.start()
        writer.join()
        assert [row["count"] for row in reader.all("kernel.item_counts")] == seen == [1]
    assert kinds(store, place) == {"note": 6}


def write_notes(store: Store, place: int, count: int, patience: float | None = None) -> None:
    with store.write(place, patience=patience) as unit:
        register(unit, ["note"] * count, NOW)


@pytest.mark.promise("store.one-moment")
def test_nobody_sees_what_is_not_committed(store: Store, place: int) -> None:
    with store.write(place) as unit:
        register(unit, "note", NOW)
        assert [row["count"] for row in unit.all("kernel.item_counts")] == [1]
        assert kinds(store, place) == {}


@pytest.mark.promise("store.ids-in-commit-order")
def test_ids_grow_in_commit_order_under_many_threads(store: Store, store_url: str, place: int) -> None:
    def write(_: int) -> None:
        with store.write(place) as unit:
            append_event(unit, "seen", {"newest": newest(unit)}, NOW, None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(80)))
    assert_each_saw_the_one_before(store, place, 80)


def assert_each_saw_the_one_before(store: Store, place: int, count: int) -> None:
    """Each event noted the newest committed one: were ids not in commit order, an event would have seen a later id."""
    with store.read(place) as unit:
        rows = unit.all("kernel.event_recent", before=2**62, limit=10_000)
    ids = [row["id"] for row in rows]
    assert len(ids) == count
    assert [f'{{"newest": {each}}}' for each in [*ids[1:], 0]] == [row["detail"] for row in rows]


@pytest.mark.promise("store.ids-in-commit-order")
def test_ids_grow_in_commit_order_under_many_processes(loom: Loom, nursery: Nursery, store_url: str) -> None:
    place = loom.workspace("james").info.id
    for _ in range(4):
        nursery.start("chain", store_url, 20)
    assert nursery.reap() == []
    assert_each_saw_the_one_before(loom.store, place, 80)


@pytest.mark.promise("store.ids-in-commit-order")
def test_the_first_writers_of_a_workspace_take_turns_too(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    with lend_store_url() as url, open_at(url) as loom:
        for number in range(4):
            place = loom.workspaces.create(f"place {number}").id

            def write(_: int, place: int = place) -> None:
                with loom.store.write(place) as unit:
                    append_event(unit, "seen", {"newest": newest(unit)}, NOW, None)

            with ThreadPoolExecutor(6) as pool:
                list(pool.map(write, range(6)))
            assert_each_saw_the_one_before(loom.store, place, 6)


@pytest.mark.promise("store.ids-in-commit-order")
def test_a_writer_that_waits_too_long_gives_up_and_disturbs_nobody(store: Store, place: int) -> None:
    with store.write(place) as unit:
        first = register(unit, "note", NOW)[0]
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(write_notes, store, place, 1, 0.2) for _ in range(3)]
        assert [type(each.exception()) for each in waiting] == [StoreBusy] * 3
        second = register(unit, "note", NOW)[0]
    assert second == first + 1
    write_notes(store, place, 1)
    assert kinds(store, place) == {"note": 3}


def test_numbers_that_a_failed_unit_gave_are_given_to_the_next(store: Store, place: int) -> None:
    with suppress(Stumble), store.write(place) as unit:
        lost = register(unit, ["note"] * 3, NOW)
        raise Stumble
    with store.write(place) as unit:
        assert register(unit, ["note"] * 3, NOW) == lost


@pytest.mark.promise("store.ids-in-commit-order")
def test_ids_of_a_removed_workspace_are_not_given_to_one_of_the_same_name(loom: Loom) -> None:
    known = loom.workspace("james").add([note(f"Tide table {number}.") for number in range(20)])
    loom.workspaces.remove("james")
    assert loom.workspace("james").add([note("A new life.")])[0] > max(known)


@pytest.mark.promise("store.workspace-ids")
def test_workspaces_of_two_servers_never_have_the_same_id(postgres_url: str, postgres_server: PostgresServer) -> None:
    with postgres_server.database() as other, open_at(postgres_url) as here, open_at(other) as there:
        ids = [loom.workspaces.create(f"place {number}").id for loom in (here, there) for number in range(5)]
        assert len(set(ids)) == 10
        assert all(2**20 <= each < 2**53 for each in ids)
        assert [each.id for each in here.workspaces.list()] == ids[:5] == sorted(ids[:5])


@pytest.mark.promise("store.first-writers")
def test_many_workspaces_may_write_their_first_vector_at_once(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    for _ in range(4):
        with lend_store_url() as url, open_at(url) as loom:
            places = [loom.workspace(f"place {number}").info.id for number in range(6)]
            start = threading.Barrier(1 if is_sqlite(url) else 6)  # writers of one file take turns anyway

            def first(place: int, loom: Loom = loom, start: threading.Barrier = start) -> int:
                with loom.store.write(place) as unit:
                    start.wait()
                    return model_id(unit, "static:some-model", 256)

            with ThreadPoolExecutor(6) as pool:
                assert len(set(pool.map(first, places))) == 1


def test_what_a_failed_write_registered_is_not_taken_for_known(loom: Loom) -> None:
    place = loom.workspace("james").info.id
    with suppress(ZeroDivisionError), loom.store.write(place) as unit:
        lost = model_id(unit, "static:some-model", 256)
        assert model_id(unit, "static:some-model", 256) == lost
        raise ZeroDivisionError
    with loom.store.write(place) as unit:
        assert unit.one("vectors.model_get", name="static:some-model", dim=256) is None
        kept = model_id(unit, "static:some-model", 256)
    with loom.store.read(place) as unit:
        (row,) = unit.all("vectors.model_get", name="static:some-model", dim=256)
        assert row["id"] == kept == model_id(unit, "static:some-model", 256)


def test_a_closed_store_says_so(store_url: str, clock: ManualClock) -> None:
    store = open_store(store_url, clock)
    store.close()
    with pytest.raises(StoreError, match="closed"), store.read(1) as unit:
        unit.all("kernel.item_counts")


def test_a_url_of_no_engine_is_refused_without_its_password(clock: ManualClock) -> None:
    with pytest.raises(Rejected) as refusal:
        open_store("mysql://james:secret@host/db", clock)
    assert "secret" not in str(refusal.value)
    assert "postgresql://" in str(refusal.value)


def test_the_address_of_a_store_hides_its_password(postgres_url: str, clock: ManualClock) -> None:
    store = open_store(postgres_url.replace("loom@", "loom:whatever@"), clock)
    assert "whatever" not in store.address
    store.close()


def test_files_are_durable_and_shared(store: Store, store_url: str, place: int) -> None:
    if is_sqlite(store_url):
        assert rows_of(store_url, "PRAGMA journal_mode") == [{"journal_mode": "wal"}]
        with store.read(place) as unit:
            connection: sqlite3.Connection = unit._connection  # type: ignore[attr-defined]
            assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
            assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    else:
        assert rows_of(store_url, "SHOW synchronous_commit") == [{"synchronous_commit": "on"}]


def test_ids_of_any_size_and_sign_may_be_asked_for(store: Store, place: int) -> None:
    with store.write(place) as unit:
        (known,) = register(unit, "note", NOW)
        unit.run("kernel.access_count", items=[known], at=AT)
    asked = [known, 0, -known, 2**31, 2**63 - 1, -(2**63)]
    with store.read(place) as unit:
        for ids in (asked, tuple(asked), [*asked, 2**63], [10**30, known]):
            assert [row["item_id"] for row in unit.all("kernel.access_of", ids=ids)] == [known]
