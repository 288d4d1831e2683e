"""Facts: a model proposes, the decision is pure, semantic memory keeps; nothing is lost, doubled or erased."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.kernel.search import Scope
from everloom.mind.learning.facts import MOST_TRIES, FactLearner
from everloom.mind.learning.proposal import FactDecision, FactOperation, FactProposal, decide
from everloom.mind.ports import Fact, FactChange, MindSetup
from everloom.models.ask import Thinker
from everloom.semantic.results import Observation
from everloom.wiring.ports import ConversationFacts
from tests.episodic.ground import Killed, killed_after
from tests.mind.thinking import Answers, thinking, worker
from tests.mind.worlds import NOW, World
from tests.patience import PATIENCE

PARIS, LYON = "James lives in Paris.", "James lives in Lyon."
KNOWN = (Fact(7, PARIS, ("James",), NOW), Fact(9, "James sails.", ("James",), NOW))


def operation(kind: str, fact_id: int | None = None, text: str = "", *about: str) -> dict[str, Any]:
    return {"operation": kind, "fact_id": fact_id, "text": text, "about": list(about), "reason": ""}


def proposed(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"operations": list(operations)}


def decided(*operations: dict[str, Any]) -> FactDecision:
    return decide(FactProposal.model_validate(proposed(*operations)), KNOWN)


def reasons(decision: FactDecision) -> list[str]:
    return [each.why for each in decision.ignored]


# Deciding


def test_each_operation_becomes_a_change() -> None:
    decision = decided(
        operation("ADD", None, "Audrey is James's sister.", "Audrey", " audrey ", "", "James"),
        operation("UPDATE", 7, LYON, "James"),
        operation("DELETE", 9),
        operation("NOOP", 9),
    )
    assert decision.changes == (
        FactChange("Audrey is James's sister.", ("Audrey", "James"), None),
        FactChange(LYON, ("James",), 7),
        FactChange(None, (), 9),
    )
    assert decision.ignored == ()


@pytest.mark.promise("mind.unknown-facts")
def test_an_id_that_was_not_shown_is_a_reported_no_op() -> None:
    decision = decided(operation("UPDATE", 8, LYON), operation("DELETE", 70), operation("DELETE"))
    assert decision.changes == ()
    assert reasons(decision) == ["no fact with this id was shown"] * 3
    assert [each.fact_id for each in decision.ignored] == [8, 70, None]


@pytest.mark.promise("mind.unknown-facts")
def test_what_changes_nothing_is_a_reported_no_op() -> None:
    decision = decided(
        operation("ADD", None, "  "),
        operation("ADD", None, f" {PARIS}\n"),
        operation("ADD", None, "James likes tea."),
        operation("ADD", None, "James likes  tea."),
        operation("UPDATE", 7, PARIS),
        operation("UPDATE", 7, ""),
        operation("ADD", None, "x" * 2_000),
        operation("ADD", None, "null \x00 here"),
        operation("DELETE", 9),
        operation("UPDATE", 9, "James rows."),
    )
    assert decision.changes == (FactChange("James likes tea.", (), None), FactChange(None, (), 9))
    assert len(decision.ignored) == 8
    assert reasons(decision)[:4] == [
        "the text is empty",
        "fact 7 says the same",
        "it was already added",
        "the fact already says this",
    ]
    assert reasons(decision)[-1] == "this fact was already changed"


@given(
    st.lists(
        st.builds(
            FactOperation,
            operation=st.sampled_from(["ADD", "UPDATE", "DELETE", "NOOP"]),
            fact_id=st.none() | st.integers(-1, 12),
            text=st.text(max_size=40) | st.sampled_from([PARIS, LYON]),
            about=st.lists(st.text(max_size=10), max_size=8),
        ),
        max_size=12,
    )
)
def test_whatever_is_proposed_only_shown_facts_change_and_each_once(operations: list[FactOperation]) -> None:
    decision = decide(FactProposal(operations=operations), KNOWN)
    old = [each.instead_of for each in decision.changes if each.instead_of is not None]
    assert set(old) <= {7, 9}
    assert len(set(old)) == len(old)
    assert all(each.text is None or each.text.strip() for each in decision.changes)
    noops = sum(each.operation == "NOOP" for each in operations)
    assert len(decision.changes) + len(decision.ignored) + noops == len(operations)


# Doing


@pytest.fixture
def ready(world: World) -> tuple[World, MindSetup, Answers]:
    setup, answers = thinking(world.setup, world.server)
    return world, setup, answers


def thinker_of(setup: MindSetup) -> Thinker:
    thinker = setup.thinker()
    assert thinker is not None
    return thinker


def states(world: World) -> list[str]:
    with world.setup.op.store.read(world.setup.op.workspace.id) as unit:
        found = []
        for exchange in reversed(world.conversation.exchanges()):
            waiting = unit.all("archive.facts_waiting_of", ids=[exchange.id])
            found.append("waiting" if waiting else "settled")
    return found


def present(world: World) -> set[str]:
    return {fact.text for fact in world.setup.facts.nearest("James", 50)}


def events(world: World, operation: str) -> list[dict[str, Any]]:
    return [dict(each.detail) for each in world.loom.workspace("james").events() if each.operation == operation]


Ready = tuple[World, MindSetup, Answers]


@pytest.mark.promise("mind.facts")
def test_facts_are_added_updated_and_retired_with_their_source_and_history(ready: Ready) -> None:
    world, setup, answers = ready
    run = worker(world.loom, setup)
    answers.given["facts"] = proposed(
        operation("ADD", None, PARIS, "James", "Paris"), operation("ADD", None, "James owns a dog.", "James")
    )
    first = world.exchange("I live in Paris with my dog.")
    assert run("facts")["facts"].state == "done"
    facts = {fact.text: fact.id for fact in setup.facts.nearest("James", 20)}
    before = world.clock.now()
    world.later(days=3)
    answers.given["facts"] = proposed(
        operation("UPDATE", facts[PARIS], LYON), operation("DELETE", facts["James owns a dog."])
    )
    second = world.exchange("I moved to Lyon, and the dog has died.")
    run("facts")
    assert f"[{facts[PARIS]}] {PARIS}" in answers.of("facts")[-1]
    assert present(world) == {LYON}
    place = world.loom.workspace("james")
    (new,) = setup.facts.nearest("Lyon", 5)
    assert new.about == ("James", "Paris")
    assert {first.id, second.id} <= {each.id for each in deep(place.why(new.id))}
    old = place.semantic.show(facts[PARIS])
    assert isinstance(old, Observation)
    assert (old.kind, old.superseded_by) == ("fact", new.id)
    assert place.show(facts["James owns a dog."]).retired_by == second.id
    hits = place.search("James", within=Scope(kinds=frozenset({"observation"}), as_of=before))
    assert {hit.text for hit in hits} == {PARIS, "James owns a dog."}
    assert world.server.complaints == []


def deep(reason: Any) -> list[Any]:
    return [reason, *(each for below in reason.because for each in deep(below))]


@pytest.mark.promise("mind.facts")
def test_the_model_sees_the_twenty_nearest_facts_and_no_more(ready: Ready) -> None:
    world, setup, answers = ready
    exchange = world.exchange("Which sails does my boat have, I wonder?")
    changes = [FactChange(f"The boat has sail number {number}.", ("boat",)) for number in range(30)]
    setup.facts.learn(changes, exchange=exchange.id, also=lambda _tx, _facts: None)
    worker(world.loom, setup)("facts")
    (material,) = answers.of("facts")
    assert material.count("The boat has sail number") == 20


@pytest.mark.promise("mind.unknown-facts")
def test_unknown_ids_are_reported_and_the_rest_is_done(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["facts"] = proposed(
        operation("UPDATE", 4_711, LYON), operation("DELETE", 4_712), operation("ADD", None, "James sails.", "James")
    )
    exchange = world.exchange("I went sailing again this week.")
    outcome = worker(world.loom, setup)("facts")["facts"]
    assert outcome.report is not None
    assert outcome.report.detail == {"changed": 1, "ignored": 2, "failed": 0}
    assert present(world) == {"James sails."}
    (event,) = events(world, "facts")
    assert (event["exchange"], [each["fact"] for each in event["ignored"]]) == (exchange.id, [4_711, 4_712])


@pytest.mark.promise("mind.facts-retried")
def test_a_failed_lesson_is_retried_later(ready: Ready) -> None:
    world, setup, answers = ready
    run = worker(world.loom, setup)
    world.exchange("I live in Paris since this summer.")
    answers.given["facts"] = 529
    assert run("facts")["facts"].state == "failed"
    assert states(world) == ["waiting"]
    answers.given["facts"] = proposed(operation("ADD", None, PARIS, "James"))
    assert run("facts")["facts"].state == "resting"
    world.later(minutes=1)
    assert run("facts")["facts"].state == "done"
    assert (states(world), present(world)) == (["settled"], {PARIS})
    assert run("facts") == {}


@pytest.mark.promise("mind.facts-retried")
def test_an_exchange_that_cannot_be_read_is_given_up_and_blocks_no_other(ready: Ready) -> None:
    world, setup, answers = ready
    run = worker(world.loom, setup)
    world.exchange("This exchange is poison to the model.")
    world.exchange("I live in Paris since this summer.")

    def answer(material: str) -> Any:
        return "no shape at all" if "poison" in material else proposed(operation("ADD", None, PARIS, "James"))

    answers.given["facts"] = answer
    assert run("facts")["facts"].state == "done"
    assert (states(world), present(world)) == (["waiting", "settled"], {PARIS})
    assert run("facts") == {}
    for _ in range(MOST_TRIES - 1):
        world.later(days=1)
        run("facts")
    assert states(world) == ["settled", "settled"]
    (event,) = events(world, "facts_skipped")
    assert event["tries"] == MOST_TRIES


@pytest.mark.promise("mind.facts-retried")
def test_without_a_model_exchanges_wait(world: World) -> None:
    world.exchange("I live in Paris since this summer.")
    assert worker(world.loom, world.setup)("facts") == {}
    assert states(world) == ["waiting"]
    setup, answers = thinking(world.setup, world.server)
    answers.given["facts"] = proposed(operation("ADD", None, PARIS, "James"))
    worker(world.loom, setup)("facts")
    assert present(world) == {PARIS}


def test_what_nobody_said_is_settled_without_asking(ready: Ready) -> None:
    world, setup, answers = ready
    world.exchange("ok")
    world.conversation.speak("Good morning! The boat race is today.", cause="schedule", channel="terminal")
    worker(world.loom, setup)("facts")
    assert (states(world), answers.asked) == (["settled", "settled"], [])


@pytest.mark.promise("mind.facts-once")
def test_a_kill_between_any_two_statements_neither_loses_nor_doubles_a_fact(ready: Ready) -> None:
    world, setup, answers = ready
    exchange = world.exchange("I live in Lyon now, and I sail.")
    (old,) = setup.facts.learn([FactChange(PARIS, ("James",))], exchange=exchange.id, also=lambda _tx, _facts: None)
    # Another answer each time, as models do.
    asked = iter(range(1_000))
    answers.given["facts"] = lambda _: proposed(
        operation("UPDATE", old, f"James lives in Lyon ({next(asked)}).", "James"),
        operation("ADD", None, "James sails.", "James"),
    )
    learner = FactLearner(setup, thinker_of(setup))
    kills = 0
    for statements in range(4, 200, 9):
        try:
            with killed_after(statements):
                learner.learn(exchange.id)
            break
        except Killed:
            kills += 1
            assert present(world) == {PARIS}
            assert states(world) == ["waiting"]
    assert kills > 2
    assert len(present(world)) == 2
    assert "James sails." in present(world)
    assert states(world) == ["settled"]
    assert learner.learn(exchange.id) is None
    assert len(present(world)) == 2


@pytest.mark.promise("mind.facts-once")
def test_two_that_learn_from_one_exchange_learn_once(ready: Ready) -> None:
    world, setup, answers = ready
    exchange = world.exchange("I live in Paris since this summer.")
    together = threading.Barrier(2)
    count = iter(range(10))

    def answer(_: str) -> Any:
        return proposed(operation("ADD", None, f"James lives in Paris, {next(count)}.", "James"))

    answers.given["facts"] = answer
    facts = setup.facts

    class Together(ConversationFacts):
        """Facts that both learners have read before either writes."""

        def learn(self, *given: Any, **named: Any) -> Any:
            together.wait(PATIENCE)
            return facts.learn(*given, **named)

    both = replace(setup, facts=Together(setup.op, lambda: world.loom.workspace("james").forgetting))
    learn = FactLearner(both, thinker_of(setup)).learn_waiting
    threads = [threading.Thread(target=learn, args=([exchange.id],)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(present(world)) == 1
    assert states(world) == ["settled"]


@pytest.mark.promise("mind.facts-captured")
def test_what_is_about_to_leave_the_array_is_learnt_first(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["facts"] = lambda material: proposed(
        operation("ADD", None, PARIS if "Paris" in material else "James sails.", "James")
    )
    leaving = world.exchange("I live in Paris since this summer.")
    world.exchange("And I sail every weekend.")
    learner = FactLearner(setup, thinker_of(setup))
    assert learner.learn_waiting([leaving.id]) == 1
    assert (states(world), present(world)) == (["settled", "waiting"], {PARIS})
    assert learner.learn_waiting([leaving.id]) == 0


def test_a_withdrawn_exchange_teaches_nothing(ready: Ready) -> None:
    world, setup, answers = ready
    world.exchange("I live in Paris since this summer.")
    world.conversation.undo_last()
    assert worker(world.loom, setup)("facts") == {}
    assert answers.asked == []
