"""A tool acts once, however often its turn is tried: after a failure, after a kill, in another process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import SystemClock
from everloom.errors import ProviderError, Rejected, StoreBusy
from everloom.kernel.journal import RECEIPTS_KEPT
from everloom.mind.conversation.deeds import UNKNOWN
from everloom.mind.ports import AgentTool
from everloom.mind.verbs import Mind
from tests.mind.acting import CALLS, LINE, acts_in_order, mind_of, taxi
from tests.mind.runner import Runners
from tests.mind.worlds import World, conversation_in, open_place, setup_of, tool
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import fails, refuses, says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    """A process that forks acting processes."""
    made = Runners()
    yield made
    made.close()


def acting(use: Callable[[Mapping[str, Any]], str], *, keyed: bool = False) -> AgentTool:
    """Make a tool that acts, outside or under keys."""
    made = replace(tool("act", use, "what"), acts=lambda _: True)
    return replace(made, use_once=lambda given, key: use({**given, "key": key})) if keyed else made


def prepare(mind: Mind) -> None:
    """Write what the turn of `acting.py` removes."""
    mind.notes.write("old/one.md", "One.")
    mind.notes.write("old/two.md", "Two.")


def assert_done_once(mind: Mind, street: Path, taxis: tuple[int, ...] = (1,)) -> None:
    """Prove that everything the turn of `acting.py` does was done, and nothing of it twice."""
    notes = mind.notes
    assert (notes.read("shopping.md") or "").count(LINE) == 2
    assert len(notes.history("shopping.md")) == 2
    assert notes.status()["glasses"]
    assert len(notes.history("status.json")) <= 2
    assert [each.text for each in mind.schedule.waiting()] == ["Drink some water."]
    assert (notes.read("boat.md"), notes.read("ship.md")) == (None, "one\nbetween\ntwo\n")
    assert [name for name in notes.names() if name.startswith("old/")] == []
    assert len(street.read_text().splitlines() if street.exists() else []) in taxis
    with mind.setup.op.read() as unit:
        assert len([*unit.rows_of("observation")]) == 1
        assert [*unit.rows_of("deed")] == [], "nothing is kept once the turn is written"


@pytest.mark.promise("mind.effects-once")
def test_a_turn_that_fails_after_any_call_and_is_tried_by_another_process_does_nothing_twice(
    world: World, tmp_path: Path
) -> None:
    place = world.loom.workspace(world.setup.op.workspace.name)
    street = tmp_path / "street"
    prepare(mind_of(world.setup, place))
    world.say("Please see to all of it.")
    for done in range(1, len(CALLS) + 1):
        # A new mind is a new process: it knows what the store knows.
        talk = mind_of(world.setup, place, taxi(street)).conversation
        world.server.script(uses(*CALLS[:done]), fails(529))
        with pytest.raises(ProviderError):
            talk.step()
        world.later(minutes=6)
    world.server.reply = acts_in_order
    mind = mind_of(world.setup, place, taxi(street))
    assert mind.conversation.step() is not None
    assert_done_once(mind, street)
    world.assert_valid()
    told = json.dumps(world.server.talks[-1])
    assert "An earlier attempt" in told
    assert "done: call_taxi" in told


def kill_before(runners: Runners, url: str, folder: Path, steps: Iterable[int]) -> int:
    """Kill a process before each of these steps of a turn, and let another end it; the answer is the last one tried."""
    with ClaudeServer() as server, open_place(url, SystemClock()) as loom:
        server.reply = acts_in_order
        for step in steps:
            name = f"step{step}"
            own = folder / name
            own.mkdir()
            mind = mind_of(setup_of(loom, own / "notes", None, name=name), loom.workspace(name))
            prepare(mind)
            mind.conversation.receive("Please see to all of it.", channel="terminal", is_whole=True)
            runners.start("act", url, server.url, folder, name, step)
            runners.wait()
            is_over = (own / "survived").exists()
            runners.start("act", url, server.url, folder, name, 0)
            runners.wait()
            assert (own / "survived").exists(), f"killed before step {step}"
            assert mind.conversation.waiting() == []
            assert_done_once(mind, own / "street", (0, 1))
            if is_over:
                break
        assert runners.errors == []
        assert server.complaints == []
        return step


@pytest.mark.promise("mind.effects-once")
@pytest.mark.xdist_group("crash")
def test_a_process_killed_in_the_middle_of_a_turn_has_done_nothing_twice(
    runners: Runners, store_url: str, tmp_path: Path
) -> None:
    assert kill_before(runners, store_url, tmp_path, (9, 24, 50)) == 50


@pytest.mark.long
@pytest.mark.promise("mind.effects-once")
@pytest.mark.xdist_group("crash")
def test_a_process_killed_between_any_two_steps_of_a_turn_has_done_nothing_twice(
    runners: Runners, store_url: str, tmp_path: Path
) -> None:
    assert kill_before(runners, store_url, tmp_path, count(1)) > len(CALLS) * 4


@pytest.mark.promise("mind.effects-once")
def test_what_acts_outside_is_called_once_and_answers_a_second_attempt_as_it_did_the_first(world: World) -> None:
    done: list[str] = []

    def use(given: Mapping[str, Any]) -> str:
        done.append(given["what"])
        if given["what"] == "refused":
            raise Rejected("the shop is closed")
        return f"{given['what']} ordered, number {len(done)}"

    calls = [uses(("act", {"what": each})) for each in ("tea", "refused", "tea")]
    for end in (fails(529), says("Ordered.")):
        world.conversation = conversation_in(world.setup, [], [acting(use)])
        world.server.script(*calls, end)
        if end.is_fault:
            world.say("Order tea twice, and the other thing.")
            with pytest.raises(ProviderError):
                world.conversation.step()
            world.later(minutes=6)
    assert world.conversation.step() is not None
    assert done == ["tea", "refused", "tea"]
    results = json.dumps(world.server.talks[-1])
    assert [f"tea ordered, number {number}" in results for number in (1, 2, 3, 4)] == [True, False, True, False]
    assert "the shop is closed" in results
    world.assert_valid()


@pytest.mark.promise("mind.effects-once")
def test_nobody_knows_whether_something_was_done_that_was_begun_and_never_ended(world: World) -> None:
    done: list[str] = []

    def die(given: Mapping[str, Any]) -> str:
        done.append(given["what"])
        raise KeyboardInterrupt

    world.say("Order tea.")
    world.conversation = conversation_in(world.setup, [], [acting(die)])
    world.server.script(uses(("act", {"what": "tea"})))
    with pytest.raises(KeyboardInterrupt):
        world.conversation.step()
    world.conversation = conversation_in(world.setup, [], [acting(lambda _: "ordered again")])
    # Told so, it decides to do it again: that is another call.
    world.server.script(uses(("act", {"what": "tea"})), uses(("act", {"what": "tea"})), says("Ordered."))
    assert world.conversation.step() is not None
    first, second = (world.server.talks[at] for at in (-2, -1))
    assert UNKNOWN in json.dumps(first)
    assert "nobody knows whether it was done: act" in json.dumps(first)
    assert "ordered again" not in json.dumps(first)
    assert "ordered again" in json.dumps(second)
    assert done == ["tea"]
    assert world.rows("deed") == []


@pytest.mark.promise("mind.effects-once")
def test_what_was_done_is_recognised_when_messages_join_or_leave_the_turn(world: World) -> None:
    done: list[str] = []

    def use(given: Mapping[str, Any]) -> str:
        done.append(given["what"])
        return "done"

    world.conversation = conversation_in(world.setup, [], [acting(use)])
    both = [uses(("act", {"what": "milk"})), uses(("act", {"what": "bread"}))]
    world.say("Milk, please.")
    world.server.script(both[0], fails(529))
    with pytest.raises(ProviderError):
        world.conversation.step()
    # Another message joins, and the model refuses the two of them.
    world.say("And bread.")
    world.server.script(*both, refuses())
    with pytest.raises(ProviderError):
        world.conversation.step()
    # The oldest is answered alone; what was done for the other is still known when its turn comes.
    world.later(minutes=6)
    world.server.script(both[0], says("Milk."))
    first = world.conversation.step()
    assert first is not None
    assert first.heard == "Milk, please."
    world.server.script(both[1], says("Bread."))
    second = world.conversation.step()
    assert second is not None
    assert second.heard == "And bread."
    assert done == ["milk", "bread"]
    assert world.rows("deed") == []
    # The same wish in a later turn is a new one.
    world.server.script(both[0], says("Milk again."))
    world.exchange("Milk again, please.")
    assert done == ["milk", "bread", "milk"]


def test_a_refused_call_does_not_count_and_one_that_the_store_failed_is_asked_for_under_the_same_key(
    world: World,
) -> None:
    keys: list[str] = []
    failures: list[Exception] = [Rejected("no"), StoreBusy("busy")]

    def use(given: Mapping[str, Any]) -> str:
        keys.append(given["key"])
        if failures:
            raise failures.pop(0)
        return "done"

    world.conversation = conversation_in(world.setup, [], [acting(use, keyed=True)])
    world.server.script(*[uses(("act", {"what": "x"}))] * 3, fails(529))
    world.say("Do it.")
    with pytest.raises(ProviderError):
        world.conversation.step()
    assert len(set(keys)) == 2
    assert keys[1] == keys[2], "whether it was done is known to the store alone"
    world.later(minutes=6)
    world.server.script(uses(("act", {"what": "x"})), says("Done."))
    assert world.conversation.step() is not None
    assert len(keys) == 3


def test_a_deed_goes_when_its_message_is_given_up_forgotten_or_too_old(world: World) -> None:
    world.conversation = conversation_in(world.setup, [], [acting(lambda given: f"did {given['what']}")])

    def leave(what: str) -> int:
        world.say(f"Do {what}.")
        world.server.steps.clear()
        world.server.script(uses(("act", {"what": what})), fails(529))
        with pytest.raises(ProviderError):
            world.conversation.step()
        return world.conversation.waiting()[-1].id

    place = world.loom.workspace(world.setup.op.workspace.name)
    message = leave("zweibruecken")
    assert "zweibruecken" in str(world.rows("deed"))
    place.forget([message], confirm=place.forget([message]).confirm)
    assert world.rows("deed") == []
    leave("one")
    for _ in range(3):
        world.later(minutes=6)
        world.server.script(refuses())
        with pytest.raises(ProviderError):
            world.conversation.step()
    assert (world.rows("deed"), world.conversation.waiting()) == ([], [])
    leave("two")
    world.later(seconds=(RECEIPTS_KEPT + timedelta(days=1)).total_seconds())
    leave("three")
    assert ["three" in each["input"] for each in world.rows("deed")] == [True]
