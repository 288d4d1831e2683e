"""What the agent says first goes to where the person is reached, moves on if nobody gets it, and never comes twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from everloom.errors import Conflict
from everloom.mind import IncomingMessage, StreamMessage
from everloom.mind.conversation.reaching import NOBODY, steps_of, tell_route
from everloom.mind.initiative import Schedule
from everloom.mind.people import read_person
from tests.mind.worlds import World, conversation_in
from tests.scripted.speech import says


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own, in which the person has written on Telegram and then at a terminal."""
    room.conversation.receive("Hello.", channel="telegram", address="7", is_whole=True)
    assert room.conversation.step() is not None
    room.exchange("Hello from the terminal.")
    for channel in ("telegram", "terminal"):
        room.conversation.fetched(room.conversation.outbox(channel))
    return room


def spoken(world: World, text: str = "Look!") -> StreamMessage:
    world.conversation.speak(text, cause="heartbeat")
    return world.conversation.log(limit=1)[0]


def place(message: StreamMessage) -> tuple[str, str]:
    return message.channel, message.address


@pytest.mark.promise("mind.reaches-the-person")
def test_it_speaks_where_somebody_is_and_not_to_an_empty_room(world: World) -> None:
    conversation = world.conversation
    # Nobody is anywhere: it waits at the place used last, and says so.
    first = spoken(world)
    assert (place(first), first.state, tell_route(first.route)) == (("terminal", ""), "unsent", NOBODY)
    assert conversation.settle() == 0
    conversation.reached("telegram", ["7"], 60)
    assert conversation.settle() == 1
    moved = conversation.get(first.id)
    assert (place(moved), tell_route(moved.route)) == (
        ("telegram", "7"),
        "not on terminal (nobody was there), used last",
    )
    # The terminal opens: it was used last, and what is on its way stays there.
    conversation.reached("terminal", [""], 60)
    assert (conversation.settle(), place(spoken(world))) == (0, ("terminal", ""))
    world.later(seconds=61)
    conversation.reached("telegram", ["7"], 60)
    assert place(spoken(world)) == ("telegram", "7")
    # A terminal that is closed says so; another process cannot say it for it.
    conversation.reached("terminal", [""], 60)
    conversation.left("terminal")
    assert place(spoken(world)) == ("telegram", "7")


@pytest.mark.promise("mind.reaches-the-person")
def test_the_channel_that_a_person_prefers_comes_first_if_they_are_reached_there(world: World) -> None:
    james = read_person("James telegram=7 mail=j@x.example prefers=mail prefers=telegram")
    world.setup = replace(world.setup, person=james)
    conversation = world.conversation = conversation_in(world.setup, world.left)
    waits = conversation.place()
    assert waits is not None
    assert ((waits.channel, waits.address), waits.is_reached) == (("mail", "j@x.example"), False)
    conversation.reached("terminal", [""], 60)
    assert place(spoken(world)) == ("terminal", "")
    conversation.reached("telegram", ["7"], 60)
    told = spoken(world)
    assert (place(told), tell_route(told.route)) == (("telegram", "7"), "preferred")


@pytest.mark.promise("mind.reaches-the-person")
def test_what_could_not_be_delivered_goes_elsewhere_and_what_may_have_arrived_does_not(world: World) -> None:
    conversation = world.conversation
    conversation.reached("telegram", ["7"], 60)
    fates = {name: spoken(world, name).id for name in ("blocked", "uncertain", "sending", "sent", "again")}
    reply = conversation.log(limit=1)[0].id
    for message in fates.values():
        if message != fates["again"]:
            conversation.sending(message, "telegram")
    conversation.not_sent(fates["blocked"], "the bot was blocked")
    conversation.uncertain(fates["uncertain"], "no answer")
    conversation.sent(fates["sent"])
    conversation.reached("terminal", [""], 60)
    assert conversation.settle() == 1
    moved = conversation.get(fates["blocked"])
    assert (place(moved), moved.state, moved.attempts) == (("terminal", ""), "unsent", 0)
    assert tell_route(moved.route) == "not on telegram (the bot was blocked), used last"
    assert [each.failed for each in steps_of(moved.route)] == ["the bot was blocked", ""]
    # Once on its way on one channel it is not taken by another.
    with pytest.raises(Conflict):
        conversation.sending(moved.id, "telegram")
    states = {name: conversation.get(message) for name, message in fates.items()}
    assert {name: (each.channel, each.state) for name, each in states.items() if name != "blocked"} == {
        "uncertain": ("telegram", "uncertain"),
        "sending": ("telegram", "sending"),
        "sent": ("telegram", "sent"),
        "again": ("telegram", "unsent"),
    }
    assert reply == fates["again"]
    # Refused on every channel, it waits for one that has not been tried, and not in a circle.
    conversation.left("terminal")
    world.later(seconds=1)
    conversation.sending(moved.id, "terminal")
    conversation.not_sent(moved.id, "no")
    assert conversation.settle() == 0
    conversation.reached("page", [""], 60)
    assert (conversation.settle(), conversation.get(moved.id).channel) == (1, "page")


def test_a_reply_stays_where_the_question_came_from_and_old_news_is_not_told(world: World) -> None:
    conversation = world.conversation
    world.exchange("And this?")
    reply = conversation.log(limit=1)[0]
    old = spoken(world)
    world.later(days=8)
    conversation.reached("telegram", ["7"], 60)
    assert conversation.settle() == 0
    assert [place(conversation.get(each.id)) for each in (reply, old)] == [("terminal", "")] * 2


@pytest.mark.promise("mind.reaches-the-person")
def test_scheduled_messages_events_and_notices_go_the_same_way(world: World) -> None:
    conversation = world.conversation
    schedule = Schedule(world.setup)
    schedule.add("Time for tea.", "16:00")
    conversation.reached("telegram", ["7"], 86_400)
    world.later(hours=8)
    (due,) = schedule.due()
    schedule.deliver(due, conversation)
    conversation.take(IncomingMessage(text="The parcel is here.", channel="http", kind="event", is_whole=True))
    world.server.script(says("Your parcel has come."))
    conversation.step()
    assert conversation.tell("The budget is nearly spent.", "budget 2026-11-16")
    assert conversation.tell("The budget is nearly spent.", "budget 2026-11-16")
    told = [each for each in conversation.log(limit=4) if each.direction == "out"]
    assert [(each.text, place(each), each.kind, bool(each.route)) for each in reversed(told)] == [
        ("Time for tea.", ("telegram", "7"), "message", True),
        ("Your parcel has come.", ("telegram", "7"), "message", True),
        ("The budget is nearly spent.", ("telegram", "7"), "notice", True),
    ]


def test_who_has_never_written_cannot_be_told_anything(room: World) -> None:
    assert room.conversation.place() is None
    assert not room.conversation.tell("Hello?")
    with pytest.raises(Conflict):
        room.conversation.speak("Hello?", cause="heartbeat")
    assert room.conversation.log() == []
