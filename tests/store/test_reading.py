"""Units that read: begun with their first statements, ended with their last, and no longer open than that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from everloom.clock import ManualClock, SystemClock
from everloom.errors import NotFound, StoreError, StoreReplaced
from everloom.kernel.journal import register
from everloom.kernel.search import DEFAULT, score
from everloom.kernel.search import find as finding
from everloom.kernel.workspaces import Workspaces
from everloom.loom import Loom, Workspace
from everloom.store import Ids, Store, open_store
from everloom.store.contract import StoreLimits
from everloom.store.postgresql.opening import connect_for_units
from tests.store.ground import NOW, as_superuser, asking, note, open_at, remove, rows_of
from tests.store.trips import Trips, counted

# What the verbs cost in a warm process, with their beginning, their end and what they leave behind.
MOST_TRIPS = {
    "search": 4,
    "search for a time": 4,
    "search what is known": 4,
    "recall": 7,
    "recall a subject": 10,
    "bring_to_mind": 7,
    "orient": 10,
    "open a workspace": 1,
}
OPEN = """SELECT COUNT(*) AS count FROM pg_stat_activity
WHERE datname = current_database() AND state LIKE 'idle in transaction%'"""
END_ALL = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = 'loom'"""


@pytest.fixture
def place(store: Store, clock: ManualClock) -> int:
    """The id of a workspace in the store."""
    return Workspaces(store, clock, "UTC").open("james").id


@pytest.fixture
def far(postgres_url: str) -> Iterator[tuple[Loom, Trips]]:
    """A loom behind a line on which round trips are counted."""
    with counted(postgres_url) as (address, trips), open_at(address) as loom:
        yield loom, trips


def test_the_frequent_verbs_take_few_round_trips(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    workspace = loom.workspace("james", session="monday")
    mind = workspace.semantic
    for count in range(12):
        mind.remember(["Ann", "sailing"], f"Ann saw boat number {count} in the harbour.")
    verbs: dict[str, Callable[[], object]] = {
        "search": lambda: workspace.search("Whom did Ann see in the harbour?"),
        "search for a time": lambda: workspace.search("Whom did Ann see last week?"),
        "search what is known": lambda: mind.search("Whom did Ann see in the harbour?"),
        "recall": lambda: mind.recall("Whom did Ann see in the harbour?"),
        "recall a subject": lambda: mind.recall("Ann"),
        "bring_to_mind": lambda: mind.bring_to_mind("Ann and the harbour"),
        "orient": mind.orient,
        "open a workspace": lambda: loom.workspace("james"),
    }
    taken = {}
    for name, call in verbs.items():
        call()
        trips.reset()
        assert call()
        taken[name] = trips.count
    assert all(0 < taken[name] <= most for name, most in MOST_TRIPS.items()), taken


def test_a_unit_that_asks_once_is_one_round_trip(far: tuple[Loom, Trips]) -> None:
    loom, trips = far
    place = loom.workspace("james").info.id
    trips.reset()
    with loom.store.read(place) as unit:
        unit.last("kernel.item_counts")
    assert trips.count == 1
    with loom.store.read(place):
        pass
    assert trips.count == 1


def test_a_question_can_be_asked_about_what_the_one_before_it_finds(store: Store, place: int) -> None:
    with store.write(place) as unit:
        first, second, third = register(unit, ["note", "scene", "note"], NOW)
    with store.read(place) as unit:
        kinds = unit.ask("kernel.item_kinds", ids=[first, second])
        again = unit.ask("kernel.item_kinds", ids=kinds.ids("id") | Ids((third,)))
        nobody = unit.ask("kernel.item_kinds", ids=[])
        still = unit.ask("kernel.item_kinds", ids=nobody.ids("id"))
        unit.end()
        assert {row["id"] for row in kinds.get()} == {first, second}
        assert {row["id"] for row in again.get()} == {first, second, third}
        assert still.get() == nobody.get() == []
        assert kinds.ids("id") - Ids((first,)) == Ids((second,))


def test_what_was_asked_does_not_see_what_is_sent_later(store: Store, place: int) -> None:
    with store.write(place) as unit:
        (item,) = unit.ids(1)
        before = unit.ask("kernel.item_kinds", ids=[item])
        unit.send("kernel.item_add", id=item, kind="note", at=0)
        assert before.get() == []
        assert len(unit.ask("kernel.item_kinds", ids=[item]).get()) == 1


def test_a_unit_that_has_ended_takes_no_statement(store: Store, place: int) -> None:
    with store.read(place) as unit:
        unit.end()
        with pytest.raises(RuntimeError, match="has ended"):
            unit.all("kernel.item_counts")


def test_an_answer_that_nobody_waited_for_is_not_taken_for_none(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place = loom.workspace("james").info.id
        with loom.store.read(place) as unit:
            never = unit.ask("kernel.item_counts")
        with pytest.raises(RuntimeError, match="has ended"):
            never.get()


def test_a_unit_that_reads_refuses_what_is_sent(postgres_url: str) -> None:
    def write(store: Store, place: int) -> None:
        with store.read(place) as unit:
            unit.send("kernel.item_add", id=1, kind="note", at=0)

    with open_at(postgres_url) as loom, pytest.raises(StoreError, match="read-only"):
        write(loom.store, loom.workspace("james").info.id)


def test_a_unit_that_writes_goes_on_after_its_last_answer(store: Store, place: int) -> None:
    with store.write(place) as unit:
        assert unit.last("kernel.item_counts") == []
        register(unit, "note", NOW)
    with store.read(place) as unit:
        assert len(unit.last("kernel.item_counts")) == 1


@pytest.mark.promise("store.survives-a-restart-of-the-server")
def test_a_connection_that_died_while_idle_is_replaced_before_the_first_answer(postgres_url: str) -> None:
    with open_at(postgres_url) as loom, asking(postgres_url) as ask:
        workspace = loom.workspace("james")
        (item,) = workspace.add([note("The keel is painted.")])
        assert [hit.id for hit in workspace.search("keel")] == [item]
        ask(END_ALL)
        assert [hit.id for hit in workspace.search("keel")] == [item]
        ask(END_ALL)
        with loom.store.read(workspace.info.id) as unit:
            found = unit.ask("kernel.item_kinds", ids=[item])
            unit.end()
            assert len(found.get()) == 1


def test_a_store_that_was_replaced_is_named_before_what_is_missing_in_it(postgres_url: str) -> None:
    with open_at(postgres_url) as loom, asking(postgres_url) as ask:
        place = loom.workspace("james").info.id
        ask("UPDATE store_identity SET incarnation = 'another' RETURNING incarnation")
        with psycopg.connect(as_superuser(postgres_url), autocommit=True) as connection:
            connection.execute("ALTER TABLE item RENAME TO things")
        with pytest.raises(StoreReplaced), loom.store.read(place) as unit:
            unit.all("kernel.item_counts")


def test_a_value_that_cannot_be_sent_costs_no_connection(postgres_url: str) -> None:
    store = open_store(postgres_url, SystemClock(), StoreLimits(connections=1, lock_seconds=0.2))
    try:
        for _ in range(3):
            with pytest.raises(Exception, match="surrogates not allowed"), store.read(1) as unit:
                unit.all("kernel.session_by_label", label="\ud800")
        with store.read(1) as unit:
            assert unit.all("kernel.item_counts") == []
    finally:
        store.close()


def test_no_transaction_is_open_while_candidates_are_scored(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    still_open: list[int] = []
    with open_at(postgres_url) as loom, asking(postgres_url) as ask:
        scored = score.scored

        def watched(*given: Any) -> Any:
            still_open.append(ask(OPEN)[0]["count"])
            return scored(*given)

        monkeypatch.setattr(finding, "scored", watched)
        workspace = loom.workspace("james")
        workspace.add([note(f"Boat number {count} lies in the harbour.") for count in range(5)])
        assert workspace.search("boat in the harbour")
    assert still_open == [0]


def test_what_is_deleted_while_it_is_ranked_is_not_shown(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, gone = workspace.add([note("A red boat lies in the harbour."), note("The green boat has left the harbour.")])
    scored = score.scored

    def meanwhile(*given: Any) -> Any:
        remove(workspace, gone)
        return scored(*given)

    assert {hit.id for hit in workspace.search("boat in the harbour")} == {kept, gone}
    monkeypatch.setattr(finding, "scored", meanwhile)
    assert [hit.id for hit in workspace.search("boat in the harbour")] == [kept]


def test_a_time_zone_that_another_process_changes_holds_for_the_next_question(
    store_url: str, clock: ManualClock
) -> None:
    with open_at(store_url, clock) as loom, open_at(store_url, clock) as other:
        workspace = loom.workspace("james")
        # In Greenwich it was yesterday; on Kiritimati, fourteen hours ahead, it is today.
        evening = datetime(2026, 11, 14, 20, tzinfo=UTC)
        workspace.add([note("The mast was repaired.", happened_at=evening), note("A crane.", happened_at=NOW)])

        def is_from(when: str) -> bool:
            hit = next(hit for hit in workspace.search(f"What was repaired {when}?") if "mast" in hit.text)
            return hit.signals["time"] == DEFAULT.time

        assert (is_from("yesterday"), is_from("today")) == (True, False)
        other.workspaces.change("james", time_zone="Pacific/Kiritimati")
        assert (is_from("today"), is_from("yesterday")) == (True, False)
        loom.workspaces.change("james", time_zone="UTC")
        assert is_from("yesterday")


def test_a_workspace_that_another_process_removes_is_not_found(store_url: str, clock: ManualClock) -> None:
    with open_at(store_url, clock) as loom, open_at(store_url, clock) as other:
        loom.workspace("james").add([note("The keel is painted.")])
        assert loom.workspaces.get("james").name == "james"
        other.workspaces.remove("james")
        with pytest.raises(NotFound):
            loom.workspaces.get("james")


def test_the_uses_of_one_answer_are_counted_each_once(workspace: Workspace, store_url: str, clock: ManualClock) -> None:
    mind = workspace.semantic
    for count in range(4):
        mind.remember(["Ann"], f"Ann saw boat number {count} in the harbour.")
    clock.advance(timedelta(days=1))
    shown = {each.id for each in mind.bring_to_mind("Ann in the harbour").results}
    assert shown
    rows = rows_of(store_url, "SELECT item_id, count FROM access WHERE count > 0")
    assert {row["item_id"]: row["count"] for row in rows} == dict.fromkeys(shown, 1)


def test_what_is_asked_together_is_sent_together(postgres_url: str) -> None:
    state = b"SELECT state FROM pg_stat_activity WHERE pid = %s"
    with (
        closing(connect_for_units(postgres_url, "here", StoreLimits())) as connection,
        closing(psycopg.connect(postgres_url, autocommit=True)) as beside,
    ):
        with connection.batch():
            found = [connection.execute("SELECT %s::bigint AS number", (number,)) for number in range(20)]
            # A server that had heard of the first would be busy with it until it has heard of the last.
            for _ in range(20):
                assert beside.execute(state, (connection.info.backend_pid,)).fetchone() == ("idle",)
        assert [cursor.fetchall() for cursor in found] == [[{"number": number}] for number in range(20)]


def test_one_question_alone_is_asked_without_beginning_and_end_and_stays_in_its_workspace(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        mine, other = loom.workspace("mine"), loom.workspace("other")
        mine.add([note("the ferry leaves at noon")])
        counts = {}
        for place in (mine, other):
            with loom.store.read(place.info.id) as unit:
                counts[place.name] = len(unit.last("kernel.due_all"))
        assert counts["mine"] > 0 == counts["other"]
