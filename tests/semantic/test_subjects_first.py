"""A question about subjects as a whole leads with what is understood of exactly these; any other question does not."""

from __future__ import annotations

from itertools import combinations

import pytest

from everloom.loom import Loom, Workspace
from everloom.semantic import Semantic
from everloom.semantic.results import QuestionRecall
from tests.semantic.naming import PEOPLE, NamedPeople

LETTERS = "ABC"
LANGUAGES = pytest.mark.parametrize("language", PEOPLE)


def stored(workspace: Workspace, people: NamedPeople) -> dict[str, int]:
    """Write what is understood of each of three subjects, of each two, and of all; tell by which letters."""
    named = dict(zip(LETTERS, people.names, strict=True))
    for name in people.names:
        workspace.semantic.remember([name], f"{name} 1985.")
    for alias, name in people.aliases.items():
        workspace.semantic.add_alias(name, alias)
    sets = [letters for count in (1, 2, 3) for letters in combinations(LETTERS, count)]
    made: dict[str, int] = {}
    for letters in sets:
        names = [named[letter] for letter in letters]
        text = f"{' / '.join(names)}: 7{len(made)}1."
        made["".join(letters)] = workspace.semantic.create_understanding(names, text, text).id
    return made


def led(workspace: Workspace, question: str) -> list[int]:
    """List what leads the page of a question."""
    return [hit.id for hit in workspace.search(question) if hit.leads]


@LANGUAGES
@pytest.mark.promise("trust.subjects-first")
def test_what_is_understood_of_exactly_the_subjects_leads(loom: Loom, language: str) -> None:
    people, workspace = PEOPLE[language], loom.workspace("people")
    made, wrong = stored(workspace, people), []
    for question, asked in people.questions.items():
        pairs = [made["".join(pair)] for pair in combinations(asked, 2)] if len(asked) == 3 else []
        wanted, found = ([made[asked]] if asked else []) + pairs, led(workspace, question)
        if found[:1] != wanted[:1] or {*found} != {*wanted}:
            wrong.append((question, asked, found))
    assert not wrong, made


@LANGUAGES
@pytest.mark.promise("trust.subjects-first")
def test_every_path_leads_alike(loom: Loom, language: str) -> None:
    people, workspace = PEOPLE[language], loom.workspace("people", session="monday")
    made, mind = stored(workspace, people), workspace.semantic
    question, asked = next(each for each in people.questions.items() if len(each[1]) == 2)
    answer = mind.recall(question)
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None
    firsts = {
        "recall": answer.best_answer.id,
        "bring_to_mind": mind.bring_to_mind(question, include_seen=True).results[0].id,
        "bring_to_mind of several": mind.bring_to_mind(["7911", question], include_seen=True).results[0].id,
        "search_memory": workspace.search(question)[0].id,
        **{mode: mind.search(question, 5, mode)[0].id for mode in ("hybrid", "text", "embedding")},
    }
    assert {*firsts.values()} == {made[asked]}, firsts
    assert all(answer.best_answer.confidence >= each.answers for each in answer.supporting)
    (first, *_) = workspace.search(question)
    assert any("exactly the subjects" in reason for reason in first.explain())


def pair(mind: Semantic, text: str = "They quarrel over the fence.") -> int:
    """Write what is understood of two neighbours, and return its id."""
    return mind.create_understanding(["Oleg Petrov", "Nora Lind"], text, text).id


def first_of(mind: Semantic, question: str) -> int | None:
    """Return what leads `recall`, if anything does."""
    answer = mind.recall(question)
    assert isinstance(answer, QuestionRecall)
    return None if answer.best_answer is None else answer.best_answer.id


@pytest.mark.promise("trust.subjects-first")
def test_a_part_of_a_name_means_the_one_subject_that_has_it(loom: Loom, mind: Semantic) -> None:
    mind.remember(["Oleg Petrov"], "Oleg Petrov keeps bees.")
    mind.remember(["Nora Lind"], "Nora Lind keeps geese.")
    made, workspace = pair(mind), loom.workspace("james")
    assert first_of(mind, "Lind and Oleg") == made
    mind.remember(["Oleg Smirnov"], "Oleg Smirnov sells honey.")
    assert led(workspace, "Lind and Oleg") == [], "it may mean either"
    assert led(workspace, "Lind and Petrov") == [made]


@pytest.mark.promise("trust.subjects-first")
@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Oleg Petrov, whom everybody calls Bear, keeps bees.", "How do Bear and Nora Lind get along?"),
        ("Oleg Petrov (Bear to his friends) keeps bees.", "Nora Lind and Bear"),
        ("Oleg Petrov hält Bienen; alle nennen ihn Bär.", "Was hält Bär von Nora Lind?"),
        ("Олег, которого все зовут Медведь, держит пчёл.", "Что Nora Lind думает о Медведе?"),
    ],
)
def test_a_name_by_which_a_text_says_that_somebody_is_called_means_them(
    loom: Loom, mind: Semantic, text: str, question: str
) -> None:
    told = mind.remember(["Oleg Petrov"], text)
    mind.remember(["Nora Lind"], "Nora Lind saw a bear in the wood.")
    made, workspace = pair(mind), loom.workspace("james")
    assert led(workspace, question) == [made]
    mind.delete_observations([told.id])
    assert led(workspace, question) == [], "nothing says so any more"


@pytest.mark.promise("trust.subjects-first")
def test_only_what_is_in_force_leads(loom: Loom, mind: Semantic) -> None:
    mind.remember(["Oleg Petrov", "Nora Lind"], "Oleg Petrov and Nora Lind share a fence.")
    workspace, question = loom.workspace("james"), "Nora Lind and Oleg Petrov"
    assert led(workspace, question) == [], "nothing is understood of both"
    first = pair(mind)
    assert led(workspace, question) == [first]
    second = mind.update_understanding(first, "They made peace.", "They made peace.").new_understanding_id
    assert led(workspace, question) == [second]


@pytest.mark.promise("trust.subjects-first")
def test_what_leads_is_not_brought_to_mind_twice(mind: Semantic) -> None:
    mind.remember(["Oleg Petrov", "Nora Lind"], "Oleg Petrov and Nora Lind share a fence.")
    made, question = pair(mind), "Nora Lind and Oleg Petrov"
    brought = mind.bring_to_mind(question)
    assert [each.id for each in brought.results][:1] == [made]
    again = mind.bring_to_mind(question, last_token=brought.heartbeat_token)
    assert made not in [each.id for each in again.results]
