"""The last exchange can be taken back; the log still shows it."""

from __future__ import annotations

import pytest

from everloom.errors import Conflict
from everloom.mind.conversation.conversation import TURN
from tests.mind.worlds import World, elsewhere
from tests.scripted.speech import says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


@pytest.mark.promise("mind.undo")
def test_the_last_exchange_is_taken_out_of_array_and_search_and_stays_in_the_log(world: World) -> None:
    world.exchange("We sail on Sunday, at noon.")
    before = world.conversation.turns()
    world.server.script(uses(("look_up", {"what": "mast"})), says("The mast is made of spruce."))
    taken = world.exchange("What is the mast made of?")
    assert world.found("spruce mast")[0] == taken.id
    withdrawn = world.conversation.undo_last()
    assert withdrawn is not None
    assert (withdrawn.id, withdrawn.withdrawn_at, withdrawn.heard) == (taken.id, world.clock.now(), taken.heard)
    assert world.conversation.turns() == before
    assert taken.id not in world.found("spruce mast")
    assert [each.state for each in world.conversation.log()] == ["withdrawn", "withdrawn", "unsent", "answered"]
    assert [each.text for each in world.conversation.outbox("terminal")] == ["All is well."]
    assert world.conversation.waiting() == [], "it is not answered again"
    states = {row["id"]: row["facts_state"] for row in world.rows("exchange")}
    assert states[taken.id] == "skipped"
    world.exchange("And the hull, then?")
    assert "mast" not in str(world.server.talks[-1])
    world.assert_valid()


def test_undoing_goes_back_as_far_as_there_is_something(world: World) -> None:
    assert world.conversation.undo_last() is None
    first = world.exchange("thanks")
    spoken = world.conversation.speak("Good morning to you!", cause="heartbeat", channel="web")
    assert [getattr(world.conversation.undo_last(), "id", None) for _ in range(3)] == [spoken.id, first.id, None]
    assert world.conversation.turns() == ()
    assert world.conversation.outbox("web") == []


def test_nothing_is_undone_in_the_middle_of_a_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everloom.mind.conversation.conversation._SHORT_PATIENCE", 0.0)
    world.exchange("We sail on Sunday, at noon.")
    with elsewhere(world.setup).leases.held(world.setup.op.workspace.id, TURN), pytest.raises(Conflict):
        world.conversation.undo_last()


def test_what_was_folded_cannot_be_taken_back(world: World) -> None:
    world.server.chars_per_token = 0.5
    world.again(compact_at=1_000)
    world.exchange("We sail on Sunday. " * 300)
    (folded,) = world.conversation.compact()
    assert folded.way == "server"
    with pytest.raises(Conflict, match="part of a summary"):
        world.conversation.undo_last()
    world.assert_valid()
