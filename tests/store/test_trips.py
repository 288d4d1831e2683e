"""What is sent waits for company: statements share round trips, in order, and a unit stays whole or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.clock import ManualClock, to_micros
from everloom.errors import Conflict
from everloom.kernel.journal import register
from everloom.kernel.workspaces import Workspaces
from everloom.store import Store, look_up, open_store
from tests.store.ground import NOW
from tests.store.trips import Trips, counted

AT = to_micros(NOW)


@pytest.fixture
def place(store: Store, clock: ManualClock) -> int:
    """The id of a workspace in the store."""
    return Workspaces(store, clock, "UTC").open("james").id


@pytest.fixture
def far(postgres_url: str, clock: ManualClock) -> Iterator[tuple[Store, Trips]]:
    """A store behind a line on which round trips are counted."""
    with counted(postgres_url) as (address, trips):
        store = open_store(address, clock)
        yield store, trips
        store.close()


def test_what_is_sent_runs_before_what_is_asked_next(store: Store, place: int) -> None:
    with store.write(place) as unit:
        (note,) = unit.ids(1)
        unit.send("kernel.item_add", id=note, kind="note", at=AT)
        found = unit.one("kernel.item_get", id=note)
        assert found is not None
        assert found["kind"] == "note"


def test_what_is_sent_last_is_kept_as_well(store: Store, place: int) -> None:
    with store.write(place) as unit:
        (note,) = unit.ids(1)
        unit.send("kernel.item_add", id=note, kind="note", at=AT)
    with store.read(place) as unit:
        assert unit.one("kernel.item_get", id=note) is not None


def test_what_is_refused_late_undoes_the_whole_unit(store: Store, place: int) -> None:
    def add_twice() -> None:
        with store.write(place) as unit:
            (note,) = register(unit, "note", NOW)
            unit.send("kernel.item_add", id=note, kind="note", at=AT)

    with pytest.raises(Conflict, match="refused a row"):
        add_twice()
    with store.read(place) as unit:
        assert unit.all("kernel.item_counts") == []


def test_the_reason_of_a_refusal_is_told_however_late_the_rest_is_answered(
    far: tuple[Store, Trips], clock: ManualClock
) -> None:
    """The server refuses the first statement while the rest, which it then does not run, is still on its way."""
    store, trips = far
    place = Workspaces(store, clock, "UTC").open("james").id

    def add_twice() -> None:
        with store.write(place) as unit:
            (note,) = register(unit, "note", NOW)
            (long,) = unit.ids(1)
            unit.send("kernel.item_add", id=note, kind="note", at=AT)
            unit.send("kernel.item_add", id=long, kind="n" * 50_000_000, at=AT)
            trips.delays = [0.2, 0.2]

    with pytest.raises(Conflict, match="refused a row"):
        add_twice()
    with store.read(place) as unit:
        assert unit.all("kernel.item_counts") == []


def test_several_lookups_are_answered_in_their_order(store: Store, place: int) -> None:
    with store.write(place) as unit:
        first, second = register(unit, ["note", "scene"], NOW)
        answers = unit.together(look_up("kernel.item_get", id=second), look_up("kernel.item_get", id=first))
        assert [row["kind"] for rows in answers for row in rows] == ["scene", "note"]
        assert unit.together() == []


def test_what_is_sent_costs_no_round_trip_of_its_own(far: tuple[Store, Trips], clock: ManualClock) -> None:
    store, trips = far
    place = Workspaces(store, clock, "UTC").open("james").id

    def cost(count: int) -> int:
        trips.reset()
        with store.write(place) as unit:
            for fresh in unit.ids(count):
                unit.send("kernel.item_add", id=fresh, kind="note", at=AT)
        return trips.count

    # The first writer of a workspace also makes its lock.
    cost(1)
    assert cost(1) == cost(30) == 2


def test_several_lookups_are_one_round_trip(far: tuple[Store, Trips], clock: ManualClock) -> None:
    store, trips = far
    place = Workspaces(store, clock, "UTC").open("james").id
    with store.read(place) as unit:
        trips.reset()
        unit.together(*(look_up("kernel.item_get", id=each) for each in range(20)))
        assert trips.count == 1
