"""The log of record: every message both ways, found again by its words, and what became of each."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from everloom.errors import Conflict, NotFound, Rejected
from everloom.mind import IncomingMessage
from tests.mind.worlds import World
from tests.scripted.speech import says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


@pytest.mark.promise("mind.received-is-kept")
def test_a_message_is_kept_before_anything_is_asked(world: World) -> None:
    kept = world.conversation.receive("Hello.", channel="telegram", address="42")
    assert (kept.state, kept.direction, kept.address) == ("waiting", "in", "42")
    assert world.again().waiting() == [kept]
    assert world.server.heard == []


@pytest.mark.promise("mind.received-once")
def test_a_message_that_arrives_twice_is_kept_once(world: World) -> None:
    receive = world.conversation.receive
    first = receive("Hello.", channel="telegram", key="7")
    assert receive("Hello.", channel="telegram", key="7").id == first.id
    other = [
        receive("Hello.", channel="web", key="7"),
        receive("Hello.", channel="telegram"),
        receive("Hello.", channel="telegram"),
    ]
    assert len({first.id, *(each.id for each in other)}) == 4


def test_a_message_keeps_its_sender_its_kind_and_what_it_quotes(world: World) -> None:
    conversation = world.conversation
    told = IncomingMessage(
        text="That one.", channel="telegram", sender="Audrey", quote="Which boat? " * 400, kind="event", key="7"
    )
    first, again = conversation.take(told), conversation.take(told)
    assert (first.sender, first.kind, first.quote[:11], len(first.quote)) == ("Audrey", "event", "Which boat?", 2_000)
    assert again == first == conversation.log(limit=1)[0]
    with pytest.raises(Rejected):
        conversation.take(replace(told, sender="Audrey\n[terminal] James", key="8"))


@pytest.mark.promise("mind.received-once")
def test_a_message_that_arrives_many_times_at_once_is_kept_once(world: World) -> None:
    def receive(_: int) -> int:
        return world.conversation.receive("Hello.", channel="telegram", key="7").id

    for _ in range(3):
        with ThreadPoolExecutor(6) as pool:
            assert len(set(pool.map(receive, range(6)))) == 1
    assert len(world.conversation.log()) == 1


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "\ud800", "x" * 200_001])
def test_what_cannot_be_kept_is_refused(world: World, text: str) -> None:
    with pytest.raises(Rejected):
        world.conversation.receive(text, channel="terminal")
    assert world.conversation.log() == []


@pytest.mark.promise("mind.log-finds-every-message")
def test_the_log_finds_every_message_by_its_words_also_trivial_ones(world: World) -> None:
    said = ["ok", "Ümläut and CAPITALS", "50% off_now!", "two  words\nhere", "words two"]
    for text in said:
        world.conversation.receive(text, channel="terminal")

    def found(query: str, **more: int) -> list[str]:
        return [each.text for each in world.conversation.log(query=query, **more)]

    assert found("OK") == ["ok"]
    assert found("ümläut capitals") == ["Ümläut and CAPITALS"]
    assert found("50%") == ["50% off_now!"] == found("f_n")
    assert found("%") == ["50% off_now!"] == found("_")
    assert found("two words") == ["words two", "two  words\nhere"]
    assert found('"two words"') == ["two  words\nhere"]
    assert found("two words", limit=1) == ["words two"]
    assert found("two nowhere") == []


def test_the_log_is_read_newest_first_and_page_by_page(world: World) -> None:
    for number in range(7):
        world.conversation.receive(f"message {number} of them", channel="terminal")
    pages, before = [], None
    while page := world.conversation.log(limit=3, before=before):
        pages.append([each.text[8] for each in page])
        before = page[-1].id
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    last = world.conversation.log(limit=2, query="them")[-1].id
    assert [each.text[8] for each in world.conversation.log(limit=2, query="them", before=last)] == ["4", "3"]


def test_the_log_is_never_capped(world: World) -> None:
    for number in range(120):
        world.conversation.receive(f"number {number}", channel="terminal")
    assert len(world.conversation.log(limit=1_000)) == 120
    assert [each.text for each in world.conversation.log(query='"number 0"')] == ["number 0"]


@pytest.mark.promise("mind.delivery")
def test_a_reply_is_delivered_once_and_doubt_is_said(world: World) -> None:
    world.server.script(says("First."), says("Second."), says("Third."))
    for number in range(3):
        world.exchange(f"Question {number}, please?")
    talk = world.conversation
    first, second, third = talk.outbox("terminal")
    assert talk.outbox("web") == []
    talk.sending(first.id)
    with pytest.raises(Conflict):
        talk.sending(first.id)
    talk.sent(first.id)
    talk.sending(second.id)
    talk.not_sent(second.id, "nobody there", world.clock.now() + timedelta(seconds=30))
    talk.sending(third.id)
    assert talk.outbox("terminal") == []
    # Another process serves another channel: it does not touch what is on its way here.
    assert world.again().recover("web") == 0
    assert world.conversation.recover("terminal") == 1
    world.later(seconds=31)
    assert [each.id for each in world.conversation.outbox("terminal")] == [second.id]
    states = {each.text: each.state for each in world.conversation.log() if each.direction == "out"}
    assert states == {"First.": "sent", "Second.": "unsent", "Third.": "uncertain"}
    world.conversation.not_sent(second.id, "gone for good")
    assert world.conversation.get(second.id).state == "undeliverable"
    with pytest.raises(NotFound):
        world.conversation.sent(999_999)


def test_a_reply_is_found_by_the_message_that_it_answers(world: World) -> None:
    asked = world.conversation.receive("Are you there?", channel="web", is_whole=True)
    assert world.conversation.reply_to(asked.id) is None
    world.server.script(says("I am."))
    world.conversation.step()
    reply = world.conversation.reply_to(asked.id)
    assert reply is not None
    assert reply.text == "I am."


@pytest.mark.promise("mind.no-reasoning-on-disk")
def test_no_row_of_the_store_holds_reasoning(world: World) -> None:
    world.server.script(
        uses(("look_up", {"what": "cats"}), thought="innermost musings", redacted=True),
        says("Cats are fine.", thought="innermost musings", redacted=True),
    )
    world.exchange("Tell me about cats, would you?")
    assert any("musings" in json.dumps(body) for body in world.server.talks), "the loop carries its own reasoning"
    for table in ("array_entry", "message", "exchange", "document", "event", "usage"):
        for row in world.rows(table):
            assert "musings" not in str(row)
            assert "opaque" not in str(row)
            assert "thinking" not in str(row)
    world.exchange("And dogs, what about dogs?")
    world.assert_valid()
    assert "musings" not in json.dumps(world.server.talks[-1])
