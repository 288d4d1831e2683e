"""The queue: one thread answers what waits, is woken by news, survives failures, and stops without losing anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from threading import Event, Thread

import pytest

from everloom.clock import SystemClock
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.exchange import Exchange
from everloom.mind.conversation.queue import Queue
from tests.mind.worlds import World, conversation_in
from tests.scripted.claude import words_of
from tests.scripted.speech import fails, says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


def until(is_so: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for something to become so."""
    stop_at = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < stop_at, "it never came"
        time.sleep(0.01)


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
        thread.join(10)
        assert not thread.is_alive()


def in_real_time(world: World, **policy: float) -> Conversation:
    """Let the conversation use the machine's clock."""
    changed = replace(world.ground.policy, **policy)  # type: ignore[arg-type]
    world.ground = replace(world.ground, clock=SystemClock(), policy=changed)
    world.conversation = conversation_in(world.ground, world.left)
    return world.conversation


@pytest.mark.promise("mind.gathers")
def test_three_quick_messages_become_one_turn_and_what_comes_during_it_the_next(world: World) -> None:
    talk = in_real_time(world, gather_seconds=0.3)
    world.server.reply = lambda body: says("Yes." if "four" in words_of(body) else "Well.", delay=0.3)
    with running(queue := Queue(talk)):
        for text in ("one", "two", "three"):
            talk.receive(text, channel="telegram")
            queue.wake()
        until(lambda: world.server.talks)
        talk.receive("four", channel="telegram", is_whole=True)
        queue.wake()
        until(lambda: not talk.waiting())
    assert [each.heard.split("\n\n") for each in talk.exchanges()] == [["four"], ["one", "two", "three"]]
    world.assert_valid()


def test_a_message_of_another_process_is_seen_without_being_told(world: World) -> None:
    talk = in_real_time(world)
    heard: list[Exchange] = []
    with running(Queue(talk, answered=heard.append)):
        conversation_in(world.ground, []).receive("Hello from afar.", channel="web", is_whole=True)
        until(lambda: heard)
    assert heard[0].heard == "Hello from afar."


def test_a_failure_is_told_once_and_the_message_is_answered_later(world: World) -> None:
    talk = in_real_time(world)
    troubles: list[Exception] = []
    world.server.script(fails(529), fails(529), says("There you are."))
    with running(queue := Queue(talk, failed=troubles.append)):
        talk.receive("Hello there.", channel="web", is_whole=True)
        queue.wake()
        until(lambda: troubles)
        talk.retry()
        queue.wake()
        until(lambda: len(world.server.talks) == 2)
        until(lambda: [each.attempts for each in talk.waiting()] == [2])
        talk.retry()
        queue.wake()
        until(lambda: not talk.waiting())
    assert len(troubles) == 1
    assert talk.exchanges()[0].reply == "There you are."


def test_stopping_in_the_middle_of_a_turn_loses_nothing(world: World) -> None:
    talk = in_real_time(world)
    world.server.reply = lambda _: uses(("look_up", {"what": "more"}), delay=0.1)
    with running(queue := Queue(talk)):
        talk.receive("Look everything up.", channel="web", is_whole=True)
        queue.wake()
        until(lambda: world.server.talks)
    assert [each.attempts for each in talk.waiting()] == [0]
    assert talk.turns() == ()
    world.server.reply = None
    assert world.again().step() is not None
    world.assert_valid()


def test_a_defect_does_not_end_the_queue(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = in_real_time(world)
    monkeypatch.setattr("everloom.mind.conversation.queue.LONG_PAUSE", 0.05)
    troubles: list[Exception] = []
    with running(queue := Queue(talk, failed=troubles.append)):
        with monkeypatch.context() as patch:
            patch.setattr("everloom.mind.conversation.conversation.document_of", lambda *_: 1 / 0)
            talk.receive("Hello there, my friend.", channel="web", is_whole=True)
            queue.wake()
            until(lambda: troubles)
        talk.retry()
        until(lambda: not talk.waiting())
    assert isinstance(troubles[0], ZeroDivisionError)
    assert isinstance(talk.exchanges()[0].ended_at, datetime)
