"""Pruning facts: the same said twice and what was so for a moment are set aside, and nothing that anybody needs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Conflict, NotFound, Rejected
from everloom.mind.learning import pruning
from everloom.mind.learning.pruner import MOST_A_NIGHT, Pruner
from everloom.mind.ports import FactCard, FactChange
from everloom.mind.verbs import Mind
from tests.episodic.ground import Killed, killed_after
from tests.forking import Popen
from tests.mind.thinking import worker
from tests.mind.worlds import NOW, World

TIRED = "James is tired today."
BOAT, BOAT_AGAIN = "James has a blue boat.", "James has the blue boat"


def learn(world: World, *texts: str, said_by: Any = "person") -> list[int]:
    """Learn facts from an exchange, as the background task does."""
    exchange = world.exchange("I tell you some things about me, and you learn them.").id
    changes = [FactChange(text, ("James",), None, said_by) for text in texts]
    learnt = world.setup.facts.learn(changes, exchange=exchange, also=lambda *_: None)
    return [each for each in learnt if each is not None]


def current(world: World) -> dict[int, str]:
    return {each.id: each.text for each in Mind(world.setup).list_facts(limit=1_000).facts}


def card(number: int, text: str, **more: Any) -> FactCard:
    return FactCard(id=number, text=text, subjects="1", learnt_at=NOW - timedelta(days=400), **more)


# Deciding


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("James has a blue boat.", "James has the blue boat"),
        ("The boat is blue.", "the boat is blue"),
        ("James doesn't drink coffee.", "James does not drink coffee!"),
        ("James can't swim.", "James cannot swim."),
        ("James likes “Dune”.", 'James likes "Dune".'),
    ],
)
def test_the_same_words_say_the_same(one: str, other: str) -> None:
    assert pruning.say_the_same(card(1, one), card(2, other))


@pytest.mark.promise("mind.pruning-is-careful")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("James has 2 children.", "James has 3 children."),
        ("James takes .5 mg daily.", "James takes 5 mg daily."),
        ("The board is 5' long.", 'The board is 5" long.'),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("James drinks coffee.", "James does not drink coffee."),
        ("James drinks coffee.", "James doesn't drink coffee."),
        ("James lives in Paris.", "James lived in Paris."),
        ("James lives in Paris.", "James lives in Lyon."),
        ("Audrey is taller than James.", "James is taller than Audrey."),
        ("James moved from Paris to Lyon.", "James moved to Paris from Lyon."),
        ("James has few friends.", "James has a few friends."),
        ("James writes C.", "James writes C++."),
        ("James likes Rose.", "James likes rose."),
        ("James takes vitamin A.", "James takes vitamin."),
        ("James is here.", "James is here?"),
    ],
)
def test_another_number_name_order_or_not_is_another_fact(one: str, other: str) -> None:
    assert not pruning.say_the_same(card(1, one), card(2, other))
    assert pruning.repeated([card(1, one), card(2, other)], NOW) == []


@pytest.mark.promise("mind.pruning-is-careful")
def test_only_a_bare_state_of_a_moment_is_passing() -> None:
    names = ["James", "Lisbon"]
    passing = [
        TIRED,
        "James feels a bit sleepy right now.",
        "It is raining in Lisbon today.",
        "James was very hungry and tired this evening.",
        "James ist heute sehr müde.",
        "James está cansado hoy.",
    ]
    lasting = [
        "James is tired.",
        "James is always tired.",
        "James is not tired today.",
        "James is tired today because his father died.",
        "James got married today.",
        "James's daughter was born today.",
        "James is sick today.",
        "James quit smoking today.",
        "James is busy at Airbus now.",
        "Audrey is tired today.",
        "",
    ]
    assert [text for text in passing if not pruning.is_passing(text, names)] == []
    assert [text for text in passing if not pruning.mentions_passing(text)] == []
    assert [text for text in lasting if pruning.is_passing(text, names)] == []


@pytest.mark.promise("mind.pruning-is-careful")
def test_the_one_that_stays_is_the_persons_the_most_used_or_the_newest() -> None:
    def gone(*cards: FactCard) -> list[tuple[int, int | None]]:
        return [(each.id, each.into) for each in pruning.repeated(cards, NOW)]

    plain = card(1, BOAT), card(2, BOAT_AGAIN)
    assert gone(*plain) == [(1, 2)]
    assert gone(replace(plain[0], uses=3), plain[1]) == [(2, 1)]
    assert gone(replace(plain[0], is_learnt=False), replace(plain[1], uses=3)) == []
    assert gone(replace(plain[0], is_learnt=False), plain[1]) == [(2, 1)]
    assert gone(replace(plain[0], uses=1), replace(plain[1], uses=3)) == []
    assert gone(replace(plain[0], is_kept=True), replace(plain[1], is_kept=True)) == []
    # What a person said does not give way to what the agent concluded, not even one that is used more.
    assert gone(replace(plain[0], said_by_person=True), replace(plain[1], uses=1)) == []
    assert gone(replace(plain[0], said_by_person=True), plain[1]) == [(2, 1)]
    assert gone(plain[0], replace(plain[1], subjects="1,2")) == []
    assert gone(replace(plain[0], learnt_at=NOW), replace(plain[1], learnt_at=NOW)) == []


# Doing


@pytest.mark.promise("mind.pruning")
def test_a_night_sets_repeated_and_faded_facts_aside_once_and_a_person_takes_them_back(world: World) -> None:
    mind, run = Mind(world.setup), worker(world.loom, world.setup)
    boat, tired, bees = learn(world, BOAT, TIRED, "James keeps bees.")
    world.later(days=100)
    (again,) = learn(world, BOAT_AGAIN)
    world.later(days=100)
    before = {
        table: world.rows(table)
        for table in ("observation", "document", "embedding", "subject", "source", "observation_subject")
    }

    planned = mind.prune_facts(dry_run=True)
    assert [(each.id, each.into) for each in planned.facts] == [(boat, again), (tired, None)]
    assert (planned.is_done, list(current(world))) == (False, [again, bees, tired, boat])

    assert run("pruning")["pruning"].state == "done"
    assert list(current(world)) == [again, bees]
    assert {fact.id for fact in world.setup.facts.nearest("James", 20)} == {again, bees}
    assert run("pruning") == {}
    assert mind.prune_facts().facts == ()
    assert world.loom.workspace(world.setup.op.workspace.name).show(tired).retired_at is not None

    listed = mind.list_facts(pruned=True)
    assert listed.facts == ()
    assert [(each.id, each.why) for each in listed.pruned] == [
        (tired, "told how things were at one moment, and was not used in 180 days"),
        (boat, f"says the same as {again}"),
    ]
    assert [each.id for each in mind.list_facts(pruned=True, before=tired).pruned] == [boat]
    with pytest.raises(Rejected, match="only facts that hold"):
        mind.list_facts(query="boat", pruned=True)
    assert mind.show_fact(boat).superseded_by == again

    restored = mind.restore_fact(boat, idempotency_key="k")
    assert mind.restore_fact(boat, idempotency_key="k") == restored
    assert mind.restore_fact(tired).text == TIRED
    assert mind.list_facts(pruned=True).pruned == ()
    for table, rows in before.items():
        now = world.rows(table)
        assert sorted(map(_lasting, now)) == sorted(map(_lasting, rows)), table
    assert [each.text for each in world.setup.facts.nearest("Is James tired?", 1)] == [TIRED]
    # Whoever wanted them back keeps them.
    world.later(days=400)
    assert [each.id for each in mind.prune_facts(dry_run=True).facts] == [again]
    with pytest.raises(Conflict, match="it holds"):
        mind.restore_fact(boat)
    with pytest.raises(NotFound, match="there is no fact"):
        mind.restore_fact(4_711)


def _lasting(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Read what a row says, without counters of its changes and vectors, which are computed again."""
    return sorted((name, str(value)) for name, value in row.items() if name not in ("revision", "vector", "checksum"))


@pytest.mark.promise("mind.pruning-is-careful")
def test_what_is_recent_used_pinned_or_written_by_a_person_is_never_set_aside(world: World) -> None:
    mind, place = Mind(world.setup), world.loom.workspace(world.setup.op.workspace.name)
    texts = [f"{name} is tired today." for name in ("James", "The person", "James, he", "James, the person")]
    found, judged, edited, answer = texts
    learn(world, found, judged, "James is sleepy today.")
    written = place.semantic.remember(["James"], "James is hungry today.", kind="fact").id
    by_hand = mind.edit_fact(learn(world, "James is thirsty today.")[0], edited).id
    exchange = world.exchange("How am I feeling, do you think?").id
    answered = place.correct(exchange, answer).id
    world.later(days=200)
    recent = learn(world, "James is very sleepy today.")[0]
    ids = {text: item for item, text in current(world).items()}
    place.semantic.mark_useful(ids[judged])
    place.pin(ids["James is sleepy today."])
    # Of all of these, only one has nothing that protects it; as soon as it answers a question, it has.
    assert [each.id for each in mind.prune_facts(dry_run=True).facts] == [ids[found]]
    assert found in mind.search_memory("Who is tired today, James?", "facts").found
    held = current(world)
    assert {ids[found], ids[judged], written, by_hand, answered, recent} <= held.keys()
    for _ in range(2):
        assert mind.prune_facts().facts == ()
    assert current(world) == held
    # Switched off, no night does anything.
    quiet = replace(world.setup, policy=replace(world.setup.policy, prune_facts=False))
    assert worker(world.loom, quiet)("pruning") == {}


@pytest.mark.promise("mind.pruning")
def test_a_night_does_only_so_much_and_a_kill_between_any_two_statements_loses_nothing(world: World) -> None:
    mind = Mind(world.setup)
    count = MOST_A_NIGHT + 5
    old = learn(world, *(f"James has a boat number {number}." for number in range(count)))
    new = learn(world, *(f"James has the boat number {number}." for number in range(count)))
    world.later(days=60)
    night = world.clock.now()
    kills = 0
    for statements in range(6, 2_000, 37):
        try:
            with killed_after(statements):
                Pruner(world.setup, night).run()
            break
        except Killed:
            kills += 1
            held = current(world)
            # Each number is told once or twice, and what is set aside is exactly what is not current.
            assert set(new) <= held.keys()
            assert {each.id for each in mind.list_facts(pruned=True, limit=100).pruned} == set(old) - held.keys()
    assert kills > 2
    assert len(current(world)) == 2 * count - MOST_A_NIGHT
    assert not Pruner(world.setup, night).is_due()
    assert Pruner(world.setup, night).prune().facts == ()
    world.later(days=1)
    assert len(mind.prune_facts().facts) == 5
    assert current(world).keys() == set(new)


# Prunes at a given time, and goes on after each fact as soon as it is told to.
PRUNES = """
import sys
from datetime import datetime
from pathlib import Path
from everloom.clock import ManualClock
from everloom.mind.learning.pruner import Pruner
from tests.mind.worlds import open_place, setup_of
url, at, notes = sys.argv[1:]
def may_go_on():
    print("next", flush=True)
    return bool(sys.stdin.readline())
with open_place(url, ManualClock(datetime.fromisoformat(at))) as loom:
    setup = setup_of(loom, Path(notes), None)
    Pruner(setup, setup.op.now).run(may_go_on)
"""


@pytest.mark.promise("mind.pruning")
def test_a_pass_that_is_killed_goes_on_where_it_stopped(world: World, tmp_path: Path) -> None:
    old = learn(world, *(f"James has a boat number {number}." for number in range(6)))
    new = learn(world, *(f"James has the boat number {number}." for number in range(6)))
    world.later(days=60)
    command = [sys.executable, "-c", PRUNES, world.url, world.clock.now().isoformat(), str(tmp_path)]
    with Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "next\n"
            process.stdin.write("\n")
            process.stdin.flush()
        # The third is on its way: it is set aside or it is not.
        process.kill()
    held = current(world)
    assert 2 <= len(old) - len(held.keys() & set(old)) <= 3
    assert set(new) <= held.keys()
    pruner = Pruner(world.setup, world.clock.now())
    assert pruner.is_due()
    assert {each.id for each in pruner.run().facts} == held.keys() & set(old)
    assert current(world).keys() == set(new)
    assert not pruner.is_due()


@pytest.mark.promise("mind.pruning")
def test_what_was_answered_before_is_answered_after(world: World) -> None:
    gold = {
        "Where does James live?": ("James lives in Lyon.", "lyon"),
        "Which boat does James have?": ("James has a blue boat.", "blue"),
        "How many children does James have?": ("James has 3 children.", "3"),
        "What is James allergic to?": ("James is allergic to walnuts.", "walnuts"),
        "Does James drink coffee?": ("James does not drink coffee.", "not"),
        "When was James's daughter born?": ("James's daughter was born today, on 3 May.", "3 may"),
    }
    learn(world, *(text for text, _ in gold.values()))
    learn(world, *(text.replace(" a ", " the ").rstrip(".") + "!" for text, _ in gold.values()))
    learn(world, TIRED, "James is hungry right now.", "James had 2 children before.", "James lived in Paris.")
    world.later(days=300)

    def answered() -> dict[str, bool]:
        facts = {question: world.setup.facts.nearest(question, 3) for question in gold}
        return {
            question: any(word in fact.text.casefold() for fact in facts[question])
            for question, (_, word) in gold.items()
        }

    before = answered()
    assert all(before.values())
    done = Mind(world.setup).prune_facts()
    assert len(done.facts) == len(gold) + 2
    assert answered() == before


@pytest.mark.promise("mind.pruning")
def test_forgetting_erases_what_was_set_aside_too(world: World) -> None:
    mind = Mind(world.setup)
    boat, sleepy = learn(world, BOAT, "James is sleepy today.")
    (again,) = learn(world, BOAT_AGAIN)
    world.later(days=200)
    assert len(mind.prune_facts().facts) == 2
    preview = mind.forget_fact(again)
    assert {each.id for each in preview.items} == {again, boat}
    assert mind.forget_fact(again, confirm=preview.confirm).is_done
    assert mind.forget_fact(sleepy, confirm=mind.forget_fact(sleepy).confirm).is_done
    assert mind.list_facts(pruned=True).pruned == ()
    left = " ".join(str(row) for table in ("document", "event", "observation") for row in world.rows(table))
    assert "blue" not in left
    assert "sleep" not in left
    with pytest.raises(NotFound):
        mind.restore_fact(boat)
