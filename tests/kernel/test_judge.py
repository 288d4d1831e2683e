"""Which text answers, and what a memory does not know: by what a question asks for, and not by whom it is about."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from everloom.checks.training import groups_of, read_stories, train
from everloom.errors import Rejected
from everloom.kernel.search.judging import judge
from everloom.kernel.search.question import ask
from everloom.loom import Workspace
from everloom.semantic.results import QuestionRecall
from tests.store.ground import SETTINGS, note

LIFE = {
    "Rosalind": ["Rosalind keeps bees behind the chapel.", "Rosalind and Piet married in June 2011."],
    "Piet": [
        "Piet repairs church organs all over Flanders.",
        "Piet turned 44 in March.",
        "Piet's van failed its inspection.",
    ],
    "Odile": ["Odile, their daughter, plays the oboe.", "Odile is allergic to wasp stings."],
}


@pytest.fixture
def life(workspace: Workspace) -> Workspace:
    """A family that is known well, but for most of what can be asked."""
    for name, texts in LIFE.items():
        for text in texts:
            workspace.semantic.remember([name], text)
    return workspace


def answer(life: Workspace, question: str) -> str | None:
    found = life.semantic.recall(question)
    assert isinstance(found, QuestionRecall)
    return found.best_answer.content if found.best_answer else None


@pytest.mark.promise("trust.9a-evidence-for-what-is-asked")
@pytest.mark.parametrize(
    "question",
    [
        "How tall is Rosalind?",
        "What is Piet's surname?",
        "how old is Odile",
        "What does Piet earn?",
        "How many hives does Rosalind own?",
        "What is Odile's phone number?",
        "When is Rosalind's birthday?",
    ],
)
def test_what_nobody_told_of_people_who_are_known_is_not_known(life: Workspace, question: str) -> None:
    assert answer(life, question) is None


@pytest.mark.promise("trust.9a-evidence-for-what-is-asked")
@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How old is Piet?", "44"),
        ("When did Rosalind and Piet marry?", "2011"),
        ("Which instrument does Odile play?", "oboe"),
        ("What is Odile allergic to?", "wasp"),
    ],
)
def test_what_was_told_is_known(life: Workspace, question: str, part: str) -> None:
    assert part in (answer(life, question) or "")


@pytest.mark.promise("trust.9a-best-is-best")
def test_no_hit_stands_above_one_that_answers_better(life: Workspace) -> None:
    for question in ("Who repairs organs?", "bees", "What happened to the van?", "oboe or organ"):
        likely = [hit.answers for hit in life.find(question).hits]
        assert all(above > below - 0.1001 for place, above in enumerate(likely) for below in likely[place:])


def test_a_topic_brings_to_mind_what_no_question_is_answered_by(life: Workspace) -> None:
    results = life.semantic.bring_to_mind("marriage", include_seen=True).results
    assert "married" in (results[0].content or "")


def test_what_came_to_mind_at_a_topic_is_not_brought_again(life: Workspace) -> None:
    session = life.loom.workspace(life.name, session="evening").semantic
    first = session.bring_to_mind("instruments")
    assert first.results
    again = session.bring_to_mind("instruments", last_token=first.heartbeat_token)
    assert not {each.id for each in again.results} & {each.id for each in first.results}


def test_what_leads_leads_among_what_fits_alone(life: Workspace) -> None:
    # Asked by names that stand in no text: by its words, the understanding has nothing to do with the question.
    life.add([note(f"On day {day} it rained until noon.") for day in range(320)])
    made = life.semantic.create_understanding(["Rosalind", "Odile"], "They share one umbrella.", "An umbrella")
    life.semantic.add_alias("Rosalind", "Quince")
    life.semantic.add_alias("Odile", "Minnow")
    question = "How do Minnow and Quince get along?"
    assert life.find(question).hits[0].id == made.id
    assert life.find(question, fits_only=True).hits[0].id == made.id


def test_a_question_about_facts_is_no_request() -> None:
    assert not ask("How do bees and hornets differ?", 0).is_request
    assert ask("How do I keep bees?", 0).is_request


def test_the_larger_a_memory_the_more_it_takes_to_be_known() -> None:
    answers, bearing, known = np.array([0.5, 0.1, 0.1]), np.array([-1.0, -1.0, 2.0]), np.array([0.3, 0.9, 0.9])
    assert judge.fitting(answers, bearing, known, 10).tolist() == [True, False, True]
    assert judge.fitting(answers, bearing, known, 10_000).tolist() == [False, False, True]


def story(number: int) -> dict[str, object]:
    """Write a little story in which questions share words with their answers, and a foreign one shares none."""
    crafts = ("weaves baskets", "tunes pianos", "paints signs", "grafts pears", "binds atlases", "carves spoons")
    towns = ("Delft", "Jena", "Faro", "Turku", "Izola", "Namur")
    memories = [
        {"id": f"c{n}", "subjects": [f"Zora{number}{n}"], "text": f"Zora{number}{n} {crafts[n]} at home in {towns[n]}."}
        for n in range(6)
    ]
    asked = [
        {"question": f"Who {crafts[n]} in {towns[n]}?", "answer": [f"c{n}"], "category": "answerable"} for n in range(6)
    ]
    unknown = {"question": f"How old is Zora{number}1?", "answer": [], "category": "unknown"}
    return {"id": f"s{number}", "language": "en", "memories": memories, "questions": [*asked, unknown]}


def test_weights_are_learned_from_stories_and_have_the_signs_that_they_must_have(tmp_path: Path) -> None:
    file = tmp_path / "stories.json"
    file.write_text(json.dumps({"stories": [story(n) for n in range(3)]}))
    told: list[int] = []
    row = train(groups_of(read_stories(file))[:5], SETTINGS, told.append)
    assert sum(told) == 5
    assert row["answers"]["strength"] > 0
    assert all(row["answers"].get(name, 0) <= 0 for name in ("unnamed", "untold", "uncounted", "documents"))
    assert row["known"].get("bearing", 0) >= 0
    unknown = story(4) | {"questions": [{"question": "Who?", "answer": ["nobody"], "category": "answerable"}]}
    file.write_text(json.dumps({"stories": [unknown]}))
    with pytest.raises(Rejected, match="no memory called nobody"):
        read_stories(file)
    file.write_text("{}")
    with pytest.raises(Rejected, match="holds no stories"):
        read_stories(file)
