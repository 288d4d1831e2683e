"""Whole days of a mind: nothing is asked twice, nothing is fetched unasked, nothing is scripted."""

from __future__ import annotations

import json
from dataclasses import replace
from difflib import ndiff

import pytest

from everloom.mind import Exchange, Mind
from everloom.mind.ports import FactChange
from tests.mind.thinking import thinking, worker
from tests.mind.worlds import World
from tests.scripted.speech import says, uses

REPORT = "Status: four glasses of water, aspirin taken, fasting until six, a walk after work."
SECRET = "Audrey keeps the spare key under the blue stone."


def answered(world: World, mind: Mind, text: str) -> Exchange:
    """Say something to the whole mind, and have it answered."""
    mind.conversation.receive(text, channel="telegram", address="42", is_whole=True)
    exchange = mind.conversation.step()
    assert exchange is not None
    return exchange


@pytest.mark.promise("mind.not-asked-again", "mind.nothing-prefetched")
def test_a_status_is_still_there_eight_messages_and_fifteen_minutes_later(world: World) -> None:
    setup, answers = thinking(world.setup, world.server)
    mind = Mind(setup)
    answers.given["facts"] = {
        "operations": [{"operation": "ADD", "fact_id": None, "text": SECRET, "about": ["Audrey"], "reason": ""}]
    }
    world.server.script(
        uses(("update_status", {"updates": {"water": "four glasses", "fasting": "until six"}})), says("Noted.")
    )
    answered(world, mind, REPORT)
    worker(world.loom, setup)("facts")
    assert [fact.text for fact in setup.facts.nearest("the spare key", 5)] == [SECRET]
    for number in range(8):
        world.later(minutes=2)
        answered(world, mind, f"Something else, number {number}: the clock of the oven is wrong by an hour.")
    body = world.server.talks[-1]
    assert REPORT in json.dumps(body["messages"])
    assert "four glasses" in body["messages"][-1]["content"][-1]["text"]
    assert "four glasses" not in json.dumps(body["system"])
    # The archive knows more, and none of it comes unasked.
    assert all(SECRET not in json.dumps(talk) for talk in world.server.talks)
    world.later(minutes=1)
    world.server.script(uses(("search_memory", {"query": "Where is the spare key?"})), says("Under the blue stone."))
    answered(world, mind, "Where was Audrey's spare key again?")
    assert SECRET in json.dumps(world.server.talks[-1]["messages"])
    assert world.server.complaints == []


def test_measuring_the_array_makes_no_notes(world: World) -> None:
    mind = Mind(world.setup)
    world.say("Hello, is anybody there?")
    assert mind.conversation.compact() == []
    assert not world.setup.notes.exists()
    assert mind.conversation.step() is not None
    assert (world.setup.notes / "MEMORY.md").exists()


@pytest.mark.promise("mind.nothing-prefetched")
def test_a_stale_status_injects_no_script(world: World) -> None:
    mind = Mind(world.setup)
    mind.notes.update_status({"water": "four glasses"})
    fresh, prompt = mind.prompt.aside(), mind.prompt.text()
    world.later(hours=9)
    stale = mind.prompt.aside()
    assert mind.prompt.text() == prompt
    changed = [line for line in ndiff(fresh.splitlines(), stale.splitlines()) if line[0] in "+-"]
    assert len(changed) == 2
    assert all("2026-11-16" in line for line in changed)


@pytest.mark.promise("mind.facts-captured", "mind.hand-off")
def test_before_turns_fade_their_facts_and_a_hand_off_are_kept(world: World) -> None:
    setup, answers = thinking(world.setup, world.server)
    mind = Mind(setup)
    answers.given["facts"] = lambda material: {
        "operations": [{"operation": "ADD", "fact_id": None, "text": SECRET, "about": ["Audrey"], "reason": ""}]
        if "blue stone" in material
        else []
    }
    answered(world, mind, "Audrey keeps her spare key under the blue stone, by the way.")
    for number in range(6):
        answered(world, mind, f"Part {number} of a long story. " + "The boat drifted on. " * 40)
    small = Mind(replace(setup, policy=replace(setup.policy, compact_at=3_000)))
    assert small.conversation.compact()
    assert [fact.text for fact in setup.facts.nearest("the spare key", 5)] == [SECRET]
    assert "## Hand-off" in (mind.notes.read("daily/2026-11-16.md") or "")
    array = " ".join(turn.text for turn in small.conversation.turns())
    assert "blue stone, by the way" not in array
    assert any("blue stone, by the way" in each.text for each in small.conversation.log(query="blue stone"))
    assert f"{SECRET}" in small.archive.search("spare key", "facts")


def test_learning_never_touches_what_the_person_noted(world: World) -> None:
    exchange = world.exchange("Audrey keeps her spare key under the blue stone.")
    place = world.loom.workspace("james")
    own = place.semantic.remember(["Audrey"], SECRET)
    (kept,) = world.setup.facts.learn(
        [FactChange(SECRET, ("Audrey",))], exchange=exchange.id, also=lambda _tx, _facts: None
    )
    assert kept == own.id
    assert exchange.id in {each.id for each in place.why(own.id).because}
