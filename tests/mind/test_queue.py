"""The queue: one thread answers what waits, is woken by news, survives failures, and stops without losing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Event, Thread

import pytest

from everloom.clock import SystemClock
from everloom.errors import ProviderBusy
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.queue import Queue
from tests.mind.worlds import World, conversation_in, with_clock
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import words_of
from tests.scripted.speech import Body, Step, fails, says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


@contextmanager
def running(queue: Queue) -> Iterator[Event]:
    """Run a queue in a thread of its own for a block."""
    stop = Event()
    thread = Thread(target=queue.run, args=(stop,))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        queue.wake()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the queue did not stop"


def in_real_time(world: World, **policy: float) -> Conversation:
    """Let the conversation use the machine's clock."""
    changed = replace(world.setup.policy, **policy)  # type: ignore[arg-type]
    world.setup = with_clock(replace(world.setup, policy=changed), SystemClock())
    world.conversation = conversation_in(world.setup, world.left)
    return world.conversation


@pytest.mark.promise("mind.gathers")
def test_three_quick_messages_become_one_turn_and_what_comes_during_it_the_next(world: World) -> None:
    talk, has_four = in_real_time(world, gather_seconds=1.0), Event()

    def reply(body: Body) -> Step:
        assert has_four.wait(PATIENCE), "the fourth message never came"
        return says("Yes." if "four" in words_of(body) else "Well.")

    world.server.reply = reply
    with running(queue := Queue(talk)):
        for text in ("one", "two", "three"):
            talk.receive(text, channel="telegram")
            queue.wake()
        wait_until(lambda: world.server.talks, "the model to be asked")
        talk.receive("four", channel="telegram", is_whole=True)
        has_four.set()
        queue.wake()
        wait_until(lambda: not talk.waiting(), "the message to be answered")
    assert [each.heard.split("\n\n") for each in talk.exchanges()] == [["four"], ["one", "two", "three"]]
    world.assert_valid()


def test_a_message_of_another_process_is_seen_without_being_told(world: World) -> None:
    talk = in_real_time(world)
    heard: list[Exchange] = []
    with running(Queue(talk, answered=heard.append)):
        conversation_in(world.setup, []).receive("Hello from afar.", channel="web", is_whole=True)
        wait_until(lambda: heard, "the message to be heard")
    assert heard[0].heard == "Hello from afar."


def test_a_failure_is_told_once_and_the_message_is_answered_later(world: World) -> None:
    talk = in_real_time(world)
    troubles: list[Exception] = []
    world.server.script(fails(529), fails(529), says("There you are."))
    with running(queue := Queue(talk, failed=troubles.append)):
        talk.receive("Hello there.", channel="web", is_whole=True)
        queue.wake()
        wait_until(lambda: troubles, "the failure to be told")
        talk.retry()
        queue.wake()
        wait_until(lambda: len(world.server.talks) == 2, "the second question")
        wait_until(lambda: [each.attempts for each in talk.waiting()] == [2], "the second attempt to fail")
        talk.retry()
        queue.wake()
        wait_until(lambda: not talk.waiting(), "the message to be answered")
    assert len(troubles) == 1
    assert talk.exchanges()[0].reply == "There you are."


def test_stopping_in_the_middle_of_a_turn_loses_nothing(world: World) -> None:
    talk = in_real_time(world)
    world.server.reply = lambda _: uses(("look_up", {"what": "more"}), delay=0.1)
    with running(queue := Queue(talk)):
        talk.receive("Look everything up.", channel="web", is_whole=True)
        queue.wake()
        wait_until(lambda: world.server.talks, "the model to be asked")
    assert [each.attempts for each in talk.waiting()] == [0]
    assert talk.turns() == ()
    world.server.reply = None
    assert world.again().step() is not None
    world.assert_valid()


def test_a_defect_does_not_end_the_queue(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = in_real_time(world)
    monkeypatch.setattr("everloom.mind.conversation.queue._LONG_PAUSE", 0.05)
    troubles: list[Exception] = []
    with running(queue := Queue(talk, failed=troubles.append)):
        with monkeypatch.context() as patch:
            patch.setattr("everloom.mind.conversation.conversation.document_of", lambda *_: 1 / 0)
            talk.receive("Hello there, my friend.", channel="web", is_whole=True)
            queue.wake()
            wait_until(lambda: troubles, "the failure to be told")
        talk.retry()
        wait_until(lambda: not talk.waiting(), "the message to be answered")
    assert isinstance(troubles[0], ZeroDivisionError)
    assert isinstance(talk.exchanges()[0].ended_at, datetime)


def test_a_message_that_waited_through_an_outage_is_answered_with_the_next_one(world: World) -> None:
    world.server.reply = lambda _: fails(529, retry_after="3600")
    world.say("When does the ferry leave?")
    with pytest.raises(ProviderBusy):
        world.conversation.step()
    world.clock.advance(timedelta(hours=5))
    world.server.reply = None
    world.server.script(says("At six, and good morning."))
    world.say("Good morning")
    world.clock.advance(timedelta(minutes=1))
    assert world.conversation.step() is not None
    # One reply settles both, so that the model is told that it has to answer both.
    asked = str(world.server.heard[-1].body["messages"])
    assert "When does the ferry leave?" in asked
    assert "Your one reply answers all of them" in asked
