"""What an answer is worth: not knowing is an answer, what is not used leaves no trace, and no evidence is hidden."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.kernel.answer.budget import cost
from everloom.loom import Loom
from everloom.models.text import estimate
from everloom.semantic import NewObservation, Semantic
from everloom.semantic.results import QuestionRecall, SubjectRecall

Later = Callable[..., datetime]

BOAT = [
    "The oak for the mast step cost 310 euros.",
    "Jonas repaired the bilge pump with a new impeller.",
    "The mainsail was patched in Brest by an old sailmaker.",
    "Varnish needs two dry days before the second coat.",
    "The anchor chain is forty metres long.",
    "The boat's engine is a diesel from 1987.",
]
STRANGE = ["Who is the prime minister of Japan?", "What is the capital of France?", "How do vaccines work?"]


@pytest.fixture
def boat(mind: Semantic) -> dict[str, int]:
    """Notes about a boat."""
    added = mind.add_observations([NewObservation(subject_names=("boat",), content=text) for text in BOAT])
    return {each.content: each.id for each in added}


def ask(mind: Semantic, question: str, **how: Any) -> QuestionRecall:
    """Recall a question."""
    answer = mind.recall(question, **how)
    assert isinstance(answer, QuestionRecall)
    return answer


def accesses(loom: Loom, mind: Semantic) -> int:
    """Count how often anything was used, and what this session was shown."""
    workspace = loom.workspace("james")
    with loom.store.read(workspace.info.id) as unit:
        ids = [hit.id for hit in loom.finder.search(workspace.info.id, "the boat", limit=50).hits]
        used = sum(int(row["count"]) for row in unit.all("kernel.access_of", ids=ids))
    return used + mind.reset_seen().cleared


@pytest.mark.promise("trust.1-not-knowing")
@pytest.mark.parametrize("question", STRANGE)
def test_where_nothing_answers_recall_says_so_and_shows_what_is_nearest(
    mind: Semantic, boat: dict[str, int], question: str
) -> None:
    answer = ask(mind, question)
    assert (answer.best_answer, answer.supporting, answer.provenance) == (None, (), None)
    assert answer.note is not None
    assert answer.note.startswith("nothing in this memory answers that")
    assert {each.id for each in answer.nearest} <= set(boat.values())
    assert all(0.0 <= each.answers < 0.5 for each in answer.nearest)


@pytest.mark.promise("trust.1-not-knowing")
def test_confidence_is_that_of_the_evidence_and_the_same_among_few_and_many(mind: Semantic) -> None:
    mind.remember(["boat"], BOAT[0])
    alone = ask(mind, "What did the oak for the mast step cost?").best_answer
    mind.add_observations([NewObservation(subject_names=("boat",), content=text) for text in BOAT[1:]])
    among = ask(mind, "What did the oak for the mast step cost?").best_answer
    assert alone is not None
    assert among is not None
    assert alone.content == among.content == BOAT[0]
    assert abs(alone.confidence - among.confidence) < 0.3
    assert among.confidence > max(each.answers for each in ask(mind, STRANGE[0]).nearest)


@pytest.mark.promise("trust.1-not-knowing")
def test_only_what_fits_comes_to_mind(mind: Semantic, boat: dict[str, int]) -> None:
    brought = mind.bring_to_mind(STRANGE[1])
    assert brought.results == ()
    assert brought.note is not None
    both = mind.bring_to_mind([STRANGE[1], "the oak for the mast step"], last_token=brought.heartbeat_token)
    assert boat[BOAT[0]] in {each.id for each in both.results}
    assert len(both.results) < len(boat)


@pytest.mark.promise("trust.1-not-knowing")
def test_search_shows_what_it_has_and_says_once_that_nothing_fits(mind: Semantic, boat: dict[str, int]) -> None:
    hits = mind.search(STRANGE[1])
    assert hits
    assert not any(hit.fits for hit in hits)
    assert "nothing fits well" in str(hits[0].note)
    assert all(hit.note is None for hit in hits[1:])
    found = mind.search("What did the oak for the mast step cost?", max_tokens=5_000)
    assert (found[0].id, found[0].fits, found[0].note) == (boat[BOAT[0]], True, None)
    asked = mind.query_observations(["boat"], STRANGE[1])
    assert "nothing fits well" in str(asked[0].note)


@pytest.mark.promise("trust.2-no-trace")
def test_what_does_not_fit_is_neither_counted_nor_marked_as_seen(
    mind: Semantic, loom: Loom, boat: dict[str, int]
) -> None:
    token = None
    for question in STRANGE:
        assert ask(mind, question).nearest
        token = mind.bring_to_mind(question, last_token=token).heartbeat_token
        mind.search(question)
    assert accesses(loom, mind) == 0
    ask(mind, "What did the oak for the mast step cost?")
    assert accesses(loom, mind) > 0


@pytest.mark.promise("trust.2-no-trace")
def test_what_the_budget_left_off_was_not_shown_and_may_come_next(mind: Semantic, boat: dict[str, int]) -> None:
    seen: list[int] = []
    token = None
    for _ in range(20):
        brought = mind.bring_to_mind("the oak for the mast step cost euros", last_token=token, max_tokens=200)
        if not brought.results:
            break
        assert len(brought.results) == 1
        seen += [each.id for each in brought.results]
        token = brought.heartbeat_token
    assert len(seen) == len(set(seen))


@pytest.mark.promise("trust.3-evidence-is-named")
@pytest.mark.parametrize("is_consolidated", [False, True])
def test_a_stored_sentence_asked_verbatim_is_the_first_hit_or_named_inside_it(
    mind: Semantic, boat: dict[str, int], later: Later, is_consolidated: bool
) -> None:
    if is_consolidated:
        later(days=1)
        text = "The boat needed oak for the mast step, a new impeller for the pump, and a patched mainsail."
        mind.create_understanding(["boat"], text, "Work on the boat", source_observation_ids=list(boat.values()))
    for sentence, item in boat.items():
        best = ask(mind, sentence).best_answer
        assert best is not None
        assert item in {best.id, *(each.id for each in best.also)}, sentence
        first = mind.search(sentence)[0]
        assert item in {first.id, *(each.id for each in first.also)}, sentence
        top = mind.bring_to_mind(sentence, include_seen=True).results[0]
        assert item in {top.id, *(each.id for each in top.also)}, sentence


@pytest.mark.promise("trust.3-evidence-is-named")
def test_a_hit_that_stands_for_others_names_them_with_their_texts(mind: Semantic) -> None:
    first = mind.remember(["pump"], "The red bilge pump needs a new impeller soon.")
    second = mind.remember(["pump"], "The red bilge pump needs a new impeller, soon!")
    (hit,) = mind.search("Does the bilge pump need an impeller?")
    assert {hit.id, *(each.id for each in hit.also)} == {first.id, second.id}
    assert next(each.content for each in hit.also) in (first.content, second.content)
    best = ask(mind, "Does the bilge pump need an impeller?").best_answer
    assert best is not None
    assert len(best.also) == 1


@pytest.mark.promise("trust.9-short-answers")
def test_an_answer_keeps_within_its_budget_and_says_what_it_left_off(mind: Semantic) -> None:
    long = "The boat log of day {} tells at length of wind, sails and waves. " + "The wind turned and we reefed. " * 60
    mind.add_observations([NewObservation(subject_names=("boat",), content=long.format(day)) for day in range(1, 12)])
    question = "What does the boat log tell of wind, sails and waves?"
    for tokens in (300, 800, 3_000):
        assert cost(ask(mind, question, max_tokens=tokens)) <= tokens
        assert sum(map(cost, mind.search(question, 50, max_tokens=tokens))) <= tokens
        assert sum(map(cost, mind.query_observations(["boat"], question, max_tokens=tokens))) <= tokens
        assert cost(mind.bring_to_mind(question, include_seen=True, max_tokens=tokens)) <= tokens
        subject = mind.recall("boat", max_tokens=tokens)
        assert isinstance(subject, SubjectRecall)
        assert cost(subject) <= tokens
        assert subject.note is not None or tokens > 800
    best = ask(mind, question).best_answer
    assert best is not None
    assert f"show {best.id}" in best.content
    assert estimate(str(mind.show(best.id).content)) > 400  # type: ignore[union-attr]
    assert cost(ask(mind, question)) <= 800
    with pytest.raises(Rejected, match="max_tokens"):
        mind.recall(question, max_tokens=5)


@pytest.mark.promise("trust.9-short-answers")
def test_what_a_session_is_told_once_is_not_repeated(mind: Semantic, boat: dict[str, int]) -> None:
    first = mind.bring_to_mind("the oak for the mast step")
    again = mind.bring_to_mind("the anchor chain", last_token=first.heartbeat_token)
    lost = mind.bring_to_mind("the anchor chain")
    assert [bool(each.compaction_note) for each in (first, again, lost)] == [True, False, True]


@pytest.mark.promise("trust.9-short-answers")
def test_session_notes_do_not_crowd_answers(mind: Semantic, boat: dict[str, int]) -> None:
    mind.describe_session("We spoke about the oak for the mast step and what it cost.", "The oak and its cost.")
    best = ask(mind, "What did the oak for the mast step cost?").best_answer
    assert best is not None
    assert best.id == boat[BOAT[0]]
    assert mind.search("oak for the mast step")[0].id == boat[BOAT[0]]
