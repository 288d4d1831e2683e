"""What was learnt can be listed, traced, changed and forgotten by the person it is about."""

from __future__ import annotations

import pytest

from everloom.errors import Conflict, NotFound, Rejected
from everloom.mind.ports import FactChange
from everloom.mind.verbs import Mind
from tests.mind.worlds import World


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


def learn(world: World, said: str, *texts: str, instead_of: int | None = None) -> list[int]:
    """Learn facts from an exchange, as the background task does."""
    exchange = world.exchange(said).id
    changes = [FactChange(text, ("James",), instead_of, "person") for text in texts]
    learnt = world.setup.facts.learn(changes, exchange=exchange, also=lambda *_: None)
    return [each for each in learnt if each is not None]


@pytest.mark.promise("mind.facts-are-yours")
def test_facts_are_listed_traced_edited_and_forgotten(world: World) -> None:
    mind = Mind(world.setup)
    bees, boat = learn(world, "I keep bees, and my boat is blue.", "James keeps bees.", "James has a blue boat.")
    assert [each.id for each in mind.list_facts().facts] == [boat, bees]
    assert [each.id for each in mind.list_facts(limit=1, before=boat).facts] == [bees]
    # What was said in the same breath may come along, behind it.
    assert mind.list_facts(query="boat").facts[0].text == "James has a blue boat."
    with pytest.raises(Rejected, match="no next page"):
        mind.list_facts(query="boat", before=5)

    source = mind.show_fact(bees)
    assert source.said[0].text == "I keep bees, and my boat is blue."
    assert (source.about, source.replaced) == (("James",), ())

    edited = mind.edit_fact(bees, "James keeps two hives of bees.", reason="he told me", idempotency_key="k")
    assert mind.edit_fact(bees, "James keeps two hives of bees.", reason="he told me", idempotency_key="k") == edited
    assert [each.text for each in mind.list_facts().facts] == [
        "James keeps two hives of bees.",
        "James has a blue boat.",
    ]
    # It was corrected, and not learnt from the conversation.
    trail = [each.operation for each in world.loom.workspace(world.setup.op.workspace).events(limit=2)]
    assert trail == ["correct", "supersede"]
    assert [each.text for each in mind.show_fact(edited.id).replaced] == ["James keeps bees."]
    old = mind.show_fact(bees)
    assert (old.superseded_by, old.superseded_at is not None) == (edited.id, True)
    with pytest.raises(Conflict, match="superseded"):
        mind.edit_fact(bees, "James keeps wasps.")

    preview = mind.forget_fact(boat)
    assert (preview.is_done, [each.id for each in mind.list_facts().facts]) == (False, [edited.id, boat])
    assert mind.forget_fact(boat, confirm=preview.confirm).is_done
    assert [each.id for each in mind.list_facts().facts] == [edited.id]
    for verb in (mind.show_fact, mind.forget_fact):
        with pytest.raises(NotFound, match="there is no fact"):
            verb(boat)
    # Only facts: whatever else has an id is changed by the verbs of its own kind.
    other = world.loom.workspace(world.setup.op.workspace.name).semantic.remember(["James"], "James rows.").id
    with pytest.raises(NotFound, match="there is no fact"):
        mind.edit_fact(other, "James sails.")
