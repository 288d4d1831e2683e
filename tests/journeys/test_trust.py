"""Stories of answers that can be trusted, on both engines: Maya moves, Maya must not eat peanuts, and the sample."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources

import pytest

from everloom.clock import ManualClock
from everloom.loom import open_loom
from everloom.sample import make_sample
from everloom.semantic import Semantic
from everloom.semantic.results import QuestionRecall
from everloom.settings import Settings

LIFE = [
    (datetime(2024, 3, 1, tzinfo=UTC), "Maya lives in Lisbon."),
    (datetime(2024, 4, 1, tzinfo=UTC), "Maya must not eat peanuts: she is allergic to them."),
    (datetime(2024, 5, 1, tzinfo=UTC), "Maya works as a violin maker in a small workshop."),
    (datetime(2025, 2, 1, tzinfo=UTC), "Maya has a brother called Tomás who sails."),
    (datetime(2025, 6, 1, tzinfo=UTC), "Maya likes tea."),
]
PORTO = (datetime(2026, 10, 3, tzinfo=UTC), "Maya moved to Porto.")


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands after everything that is told."""
    return ManualClock(datetime(2026, 11, 2, 9, 0, tzinfo=UTC))


@pytest.fixture
def mind(store_url: str, clock: ManualClock) -> Iterator[Semantic]:
    """A memory of Maya, on each engine."""
    with open_loom(store_url, settings=Settings(), clock=clock) as loom:
        opened = loom.workspace("maya", session="first").semantic
        for at, text in LIFE:
            remember(opened, at, text)
        yield opened


def remember(mind: Semantic, at: datetime, text: str) -> int:
    """Keep one observation about Maya."""
    return mind.remember(["Maya"], text, observed_at=at).id


def best(mind: Semantic, question: str) -> str | None:
    """Say what a question is answered with."""
    answer = mind.recall(question)
    assert isinstance(answer, QuestionRecall)
    return None if answer.best_answer is None else answer.best_answer.content


def earlier(mind: Semantic, question: str) -> list[tuple[str, int]]:
    """Say what the best answer names as earlier, and of which year."""
    answer = mind.recall(question)
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None
    return [(each.content, each.observed_at.year) for each in answer.best_answer.earlier]


@pytest.mark.promise("trust.5-present-state")
def test_what_is_newer_does_not_stand_above_what_answers(mind: Semantic) -> None:
    assert best(mind, "Where does Maya live?") == "Maya lives in Lisbon."
    assert mind.search("Where does Maya live?")[0].matched_content == "Maya lives in Lisbon."
    brought = mind.bring_to_mind("Where does Maya live?", include_seen=True)
    assert brought.results[0].content == "Maya lives in Lisbon."


@pytest.mark.promise("trust.5-present-state")
@pytest.mark.parametrize(
    "question", ["Where does Maya live?", "Where does Maya live now?", "Where is Maya living today?"]
)
def test_the_present_state_leads_and_names_what_was_before(mind: Semantic, question: str) -> None:
    remember(mind, *PORTO)
    assert best(mind, question) == "Maya moved to Porto."
    assert earlier(mind, question) == [("Maya lives in Lisbon.", 2024)]
    first = mind.search(question)[0]
    assert (first.matched_content, [each.content for each in first.earlier]) == (
        "Maya moved to Porto.", ["Maya lives in Lisbon."],
    )  # fmt: skip
    brought = mind.bring_to_mind(question, include_seen=True).results[0]
    assert (brought.content, [each.content for each in brought.earlier]) == (
        "Maya moved to Porto.", ["Maya lives in Lisbon."],
    )  # fmt: skip


@pytest.mark.promise("trust.5-present-state")
@pytest.mark.parametrize("question", ["Where did Maya live before?", "Where did Maya live in 2024?"])
def test_a_question_about_the_past_gets_the_past(mind: Semantic, question: str) -> None:
    remember(mind, *PORTO)
    assert best(mind, question) == "Maya lives in Lisbon."


@pytest.mark.promise("trust.5-present-state")
def test_the_order_of_telling_does_not_matter_only_the_order_of_events(mind: Semantic) -> None:
    remember(mind, *PORTO)
    remember(mind, datetime(2019, 1, 1, tzinfo=UTC), "Maya lives in Berlin.")
    assert best(mind, "Where does Maya live now?") == "Maya moved to Porto."
    assert earlier(mind, "Where does Maya live now?") == [
        ("Maya lives in Lisbon.", 2024),
        ("Maya lives in Berlin.", 2019),
    ]


@pytest.mark.promise("trust.5-present-state")
def test_where_time_does_not_tell_both_are_shown_side_by_side(mind: Semantic) -> None:
    remember(mind, PORTO[0], "Maya's front door key hangs in the kitchen.")
    remember(mind, PORTO[0], "Maya's front door key hangs in the garage.")
    answer = mind.recall("Where is Maya's front door key?")
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None
    assert answer.best_answer.earlier == ()
    shown = {answer.best_answer.content, *(each.content for each in answer.best_answer.contradicts)}
    assert {text.rsplit(" ", 1)[1] for text in shown} == {"kitchen.", "garage."}


def test_what_can_be_true_at_once_is_no_contradiction(mind: Semantic) -> None:
    remember(mind, PORTO[0], "Maya likes cake.")
    answer = mind.recall("What does Maya like?")
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None
    assert (answer.best_answer.earlier, answer.best_answer.contradicts) == ((), ())
    both = {answer.best_answer.content, *(each.content for each in answer.supporting)}
    assert {"Maya likes tea.", "Maya likes cake."} <= both


ASKED = {
    "Where does Maya live?": "Lisbon",
    "Is there anything Maya must not eat?": "peanuts",
    "What does Maya work as?": "violin",
    "What is Maya's brother called?": "Tomás",
    "Does Maya like tea?": "tea",
}


@pytest.mark.promise("trust.6-consolidation-helps")
def test_consolidation_loses_no_answer(mind: Semantic, clock: ManualClock) -> None:
    for question, word in ASKED.items():
        assert word in str(best(mind, question)), question
    begun = mind.begin_consolidation()
    clock.advance(timedelta(days=1))
    # An understanding of the kind that loses what matters: it tells much and leaves out the peanuts and the brother.
    mind.create_understanding(
        ["Maya"],
        "Maya lives in Lisbon, where she makes violins in a small workshop, and she likes tea.",
        "Maya, Lisbon",
    )
    mind.finish_consolidation(begun.generation, "Maya is understood.", ["Maya"])
    for question, word in ASKED.items():
        assert word in str(best(mind, question)), question
    for _, sentence in LIFE:
        answer = mind.recall(sentence)
        assert isinstance(answer, QuestionRecall)
        assert answer.best_answer is not None
        named = [answer.best_answer.content, *(str(each.content) for each in answer.best_answer.also)]
        assert sentence in named


@pytest.mark.promise("trust.5-present-state")
def test_news_stands_above_an_understanding_that_does_not_know_it(mind: Semantic, clock: ManualClock) -> None:
    mind.create_understanding(["Maya"], "Maya lives in Lisbon and likes tea.", "Maya, Lisbon")
    clock.advance(timedelta(days=30))
    mind.remember(["Maya"], "Maya has moved to Porto.")
    assert best(mind, "Where does Maya live now?") == "Maya has moved to Porto."
    assert "Maya lives in Lisbon and likes tea." in [text for text, _ in earlier(mind, "Where does Maya live now?")]


@pytest.mark.promise("trust.1-not-knowing")
def test_a_stranger_s_question_is_met_with_silence(mind: Semantic) -> None:
    for question in ("What is the capital of France?", "Who is the prime minister of Japan?"):
        assert best(mind, question) is None
        assert mind.bring_to_mind(question).results == ()


@pytest.mark.promise("trust.1-not-knowing", "trust.3-evidence-is-named")
def test_every_sentence_of_the_sample_is_found_and_strangers_questions_are_not_answered(store_url: str) -> None:
    settings = Settings.model_validate({"store": {"url": store_url}})
    make_sample(settings)
    toml = resources.files("everloom.sample") / "known.toml"
    data = tomllib.loads(toml.read_text(encoding="utf-8"))
    with open_loom(settings=settings) as loom:
        mind = loom.workspace("sample").semantic
        for session in data["sessions"]:
            for _, sentence, _ in session["observations"]:
                answer = mind.recall(sentence)
                assert isinstance(answer, QuestionRecall)
                found = answer.best_answer
                assert found is not None, sentence
                assert sentence in [found.content, *(str(each.content) for each in found.also)], sentence
        assert best(mind, "How much did the oak for the mast step cost?") == "The oak for the mast step cost 310 euros."
        assert best(mind, "What is the capital of France?") is None
        assert best(mind, "Who is the prime minister of Japan?") is None
