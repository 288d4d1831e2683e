"""The background work of a server: what it costs where there are many workspaces, and that it finds what waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from everloom.clock import ManualClock
from everloom.kernel.tokens import Tokens
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import CallClues, Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.store.ground import NOW, note, open_at
from tests.store.trips import counted

# Nobody answers for this model, so whatever is written with it waits for vectors.
UNEMBEDDED = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "embed": {"models": ["ollama:nobody"]}})
# More than are asked in one look, and so many looks that each had its turn.
PLACES, LOOKS = 25, 3


def unembedded(url: str) -> Loom:
    """Open a loom whose texts have to wait."""
    return open_loom(url, settings=UNEMBEDDED, clock=ManualClock(NOW))


@contextmanager
def following(url: str, count: int) -> Iterator[tuple[LazyLoom, list[Workspace]]]:
    """Follow some workspaces, each of which has had its first turn."""
    with closing(LazyLoom(lambda: open_at(url))) as opening:
        places = [opening.take().workspace(f"place {number}") for number in range(count)]
        for place in places:
            opening.follow(place.info)
        for _ in range(LOOKS):
            opening.look_after()
        yield opening, places


def waiting(loom: Loom, place: Workspace) -> int:
    """Count the texts of a workspace without vectors."""
    (task,) = [each for each in loom.work.tasks if each.name == "embed"]
    return task.due(place.info)


@pytest.mark.promise("web.followed")
def test_texts_that_wait_are_embedded_by_the_next_look_among_however_many_workspaces(store_url: str) -> None:
    with (
        following(store_url, PLACES) as (opening, places),
        unembedded(store_url) as other,
    ):
        # Its turn to be asked comes only later.
        late = places[20]
        other.workspace(late.name).add([note("the ferry leaves at noon")])
        assert waiting(opening.take(), late) == 1
        opening.look_after()
        assert waiting(opening.take(), late) == 0


@pytest.mark.promise("web.followed")
def test_what_no_mark_tells_is_found_in_turn(store_url: str) -> None:
    with unembedded(store_url) as other:
        other.workspace("place 20").add([note("the ferry leaves at noon")])
        with other.store.write(other.workspace("place 20").info.id) as unit:
            unit.run("kernel.due_claim", task="embed", claim=1)
            assert unit.run("kernel.due_drop", task="embed", claim=1) == 1
    with following(store_url, PLACES) as (opening, places):
        assert waiting(opening.take(), places[20]) == 0


@pytest.mark.promise("web.followed")
def test_an_idle_look_costs_the_same_however_many_workspaces_there_are(postgres_url: str) -> None:
    costs = []
    for count in (PLACES, 2 * PLACES):
        with counted(postgres_url) as (address, trips), following(address, count) as (opening, _):
            for _ in range(LOOKS):
                opening.look_after()
            trips.reset()
            opening.look_after()
            costs.append(trips.count)
    assert costs[0] == costs[1] > 0


@pytest.mark.promise("web.followed")
def test_a_token_and_its_workspace_are_read_in_one_round_trip(postgres_url: str) -> None:
    with (
        counted(postgres_url) as (address, trips),
        closing(LazyLoom(lambda: open_at(address))) as opening,
    ):
        loom = opening.take()
        tokens = Tokens(loom.store, loom.clock)
        issued = tokens.create("laptop", loom.workspace("james").info)
        entrance = Entrance(opening, Process(None, "default"))
        trips.reset()
        place = entrance.enter("recall", CallClues(token=tokens.verify(issued.secret)), writes=True)
        assert (place.name, trips.count) == ("james", 1)
        # What has changed in between is seen by the next call.
        loom.change_workspace("james", new_name="jim", time_zone="Europe/Berlin")
        place = entrance.enter("recall", CallClues(token=tokens.verify(issued.secret)), writes=True)
        assert (place.name, place.info.time_zone) == ("jim", "Europe/Berlin")
        tokens.revoke("laptop")
        assert tokens.verify(issued.secret) is None
