"""What an answer is worth: not knowing, who speaks, what stands around, and what circumstance may not do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from everloom.kernel.search import Document, Hit
from everloom.loom import Workspace
from tests.store.ground import NOW, cover, days_ago, insight, note

SAILING = (
    "The boat needs a new mast step of oak before summer.",
    "We sailed from the harbour to the island in strong wind.",
    "The tide was low, and the keel touched the sand.",
    "The sail maker in the village mends the jib.",
    "Reefing early is better than reefing late.",
)


def texts(hits: Sequence[Hit]) -> list[str]:
    """Read what was found."""
    return [hit.text for hit in hits]


def talk(workspace: Workspace, session: str, *lines: tuple[str, str]) -> list[int]:
    """Enter what was said in one session, each line by its speaker."""
    place = workspace.loom.workspace(workspace.name, session=session)
    return [place.semantic.remember([speaker], text).id for speaker, text in lines]


@pytest.mark.promise("search.answers")
@pytest.mark.parametrize(
    "question", ["Who is the prime minister of Japan?", "What is the capital of France?", "When was Mozart born?"]
)
def test_a_question_about_something_else_is_met_with_silence(workspace: Workspace, question: str) -> None:
    workspace.add([note(text) for text in SAILING])
    found = workspace.find(question)
    assert not found.fits
    assert found.fitting == ()
    assert all(0.0 <= hit.answers < 0.5 for hit in found.hits)


@pytest.mark.promise("search.answers")
@pytest.mark.parametrize(
    ("question", "answer"),
    [("What does the mast step need?", 0), ("Where did we sail in the wind?", 1), ("Who mends the jib?", 3)],
)
def test_a_question_that_the_memory_answers_is_answered(workspace: Workspace, question: str, answer: int) -> None:
    workspace.add([note(text) for text in SAILING])
    found = workspace.find(question)
    assert found.hits[0].text == SAILING[answer]
    assert found.fitting[0] == found.hits[0]


@pytest.mark.promise("search.answers")
def test_how_well_a_text_answers_means_the_same_in_another_company(workspace: Workspace) -> None:
    workspace.add([note(text) for text in SAILING])
    before = workspace.find("Who mends the jib?").hits[0]
    workspace.add([note("The sail maker mends every jib by hand.")])
    after = next(hit for hit in workspace.find("Who mends the jib?").hits if hit.id == before.id)
    # Words are a little more common now, and there is one text more; nothing else may have changed.
    assert after.answers == pytest.approx(before.answers, abs=0.08)


@pytest.mark.promise("search.ties")
def test_what_is_newer_does_not_beat_the_answer(workspace: Workspace) -> None:
    workspace.add([note(text, happened_at=days_ago(100)) for text in SAILING])
    workspace.add([note("Maya lives in Lisbon.", labels=("Maya",), happened_at=days_ago(300))])
    workspace.add([note("Maya likes tea.", labels=("Maya",), happened_at=NOW)])
    assert texts(workspace.search("Where does Maya live?"))[:2] == ["Maya lives in Lisbon.", "Maya likes tea."]


@pytest.mark.promise("search.evidence")
def test_a_sentence_asked_verbatim_finds_itself_though_it_is_covered(workspace: Workspace) -> None:
    workspace.add([note(text) for text in SAILING])
    (oak,) = workspace.add([note("The oak for the mast step cost 310 euros.")])
    (synthesis,) = workspace.add([insight("The mast step of the boat is being renewed in oak.")])
    cover(workspace, synthesis, oak)
    first = workspace.search("The oak for the mast step cost 310 euros.")[0]
    assert oak in (first.id, *first.also)
    assert workspace.search("How many euros did the oak cost?")[0].id == oak


@pytest.mark.promise("search.speaker")
def test_a_question_in_the_first_person_asks_for_what_the_person_said(workspace: Workspace) -> None:
    talk(
        workspace,
        "s",
        ("user", "I have chosen Postgres as the database of my shop."),
        ("assistant", "For the database of a shop Postgres is a good choice; the database scales well."),
        ("user", "Thanks, that helps."),
    )
    assert workspace.search("Which database have I chosen for my shop?")[0].labels == ("user",)
    assert workspace.search("What did you say about the database of the shop?")[0].labels == ("assistant",)


@pytest.mark.promise("search.speaker")
def test_a_speaker_may_also_be_named_at_the_beginning_of_a_text(workspace: Workspace) -> None:
    workspace.add([note("user: The budget is 500 euros."), note("assistant: A budget of 500 euros is fine, a budget.")])
    assert workspace.search("What is my budget?")[0].text.startswith("user:")


@pytest.mark.promise("search.wishes")
def test_who_asks_for_something_is_reminded_of_what_they_always_want(workspace: Workspace) -> None:
    workspace.add([note(f"Chapter {number} of the handbook is about {word}.") for number, word in enumerate(WORDS)])
    workspace.add([note("Always include version numbers when I ask about libraries.")])
    assert "Always include" in texts(workspace.search("Can you recommend a package for dates?"))[0]
    assert "Always include" not in texts(workspace.search("Which chapter was about kites?"))[0]


@pytest.mark.promise("search.wishes")
@pytest.mark.parametrize(
    ("wish", "request_", "story"),
    [
        (
            "Antworte immer auf Deutsch und ohne Umschweife.",
            "Kannst du mir ein Buch empfehlen?",
            "Was habe ich gekauft?",
        ),
        ("Réponds toujours en français et sans détours.", "Peux-tu me conseiller un livre ?", "Qu'ai-je acheté ?"),
    ],
)
def test_wishes_are_known_in_other_languages(workspace: Workspace, wish: str, request_: str, story: str) -> None:
    workspace.add([note(f"Kapitel {number} handelt von {word}.") for number, word in enumerate(WORDS)])
    workspace.add([note(wish)])
    assert texts(workspace.search(request_))[0] == wish
    assert all("wishes" not in hit.signals for hit in workspace.search(story))


@pytest.mark.promise("search.context-at-question")
def test_a_short_answer_is_found_by_the_question_beside_it(workspace: Workspace) -> None:
    talk(workspace, "other", ("Maya", "Yes, the green one."), ("James", "It is raining again."))
    ids = talk(
        workspace,
        "shop",
        ("James", "Which bicycle did you buy in the end?"),
        ("Maya", "Yes, the blue one, it was cheaper."),
        ("James", "I see."),
    )
    hits = workspace.search("Which bicycle did Maya buy?")
    assert hits[0].id == ids[1]
    assert "bicycle" in hits[0].words_around


@pytest.mark.promise("search.replies")
def test_what_follows_a_question_answers_it_sooner_than_what_came_before(workspace: Workspace) -> None:
    before, asked, answer, _ = talk(
        workspace,
        "harbour",
        ("Ivo", "Good morning to you."),
        ("Ivo", "Have you sold the old boat?"),
        ("Ivo", "In May, to a fisherman."),
        ("Ivo", "Good for him."),
    )
    hits = {hit.id: hit for hit in workspace.search("Was the old boat sold?")}
    assert [*hits].index(answer) < [*hits].index(before)
    assert hits[answer].signals["reply"] > 0.0 == hits[before].signals["reply"]
    assert "it follows a question about this" in hits[answer].explain()
    # A question that is asked again in the same words still finds itself.
    assert workspace.search("Have you sold the old boat?")[0].id == asked


@pytest.mark.promise("search.replies")
@pytest.mark.parametrize("mark", ["?", "？", "؟", "? "])
def test_who_tells_comes_before_who_asks_but_a_person_may_ask_an_assistant(workspace: Workspace, mark: str) -> None:
    told, asked = talk(
        workspace, "one", ("Ann", "The oak is from Elba."), ("Ann", f"Does the oak come from Elba or Corsica{mark}")
    )
    assert [hit.id for hit in workspace.search("oak from Elba")][:2] == [told, asked]
    talk(workspace, "two", ("user", f"Would a boat of spruce be lighter{mark}"), ("assistant", "It would, by a third."))
    hits = {hit.text.strip(): hit.signals["asks"] for hit in workspace.search("a lighter boat of spruce, or of oak")}
    assert hits[f"Would a boat of spruce be lighter{mark}".strip()] == 0.0
    assert hits[f"Does the oak come from Elba or Corsica{mark}".strip()] < 0.0


def test_of_two_turns_the_one_that_holds_the_words_comes_first(workspace: Workspace) -> None:
    first, second = talk(
        workspace, "monday", ("Ann", "We sail on Sunday, at noon."), ("Ann", "The mast is made of spruce.")
    )
    assert [hit.id for hit in workspace.search("spruce mast")] == [second, first]
    assert [hit.id for hit in workspace.search("on Sunday at noon")] == [first, second]


@pytest.mark.promise("search.context-at-question")
def test_what_is_erased_leaves_no_words_behind(workspace: Workspace) -> None:
    place = workspace.loom.workspace(workspace.name, session="shop")
    asked = place.semantic.remember(["James"], "Which bicycle did you buy in the end?")
    answer = place.semantic.remember(["Maya"], "Yes, the blue one, it was cheaper.")
    assert "bicycle" in next(hit for hit in workspace.search("bicycle") if hit.id == answer.id).words_around
    place.semantic.delete_observations([asked.id])
    assert all("bicycle" not in hit.words_around for hit in workspace.search("bicycle"))


@pytest.mark.promise("search.context-at-question")
def test_neighbours_are_those_of_the_session(workspace: Workspace) -> None:
    talk(workspace, "one", ("James", "The ferry leaves at noon."))
    talk(workspace, "two", ("Maya", "Agreed."))
    assert all(hit.words_around == () for hit in workspace.search("ferry") if hit.text == "Agreed.")


@pytest.mark.promise("search.names")
def test_a_name_says_who_is_meant_and_not_what_was_said(workspace: Workspace) -> None:
    workspace.add(
        [
            Document(kind="note", text="Caroline, that is a great idea!", labels=("Melanie",), happened_at=NOW),
            Document(kind="note", text="I went to the support group.", labels=("Caroline",), happened_at=NOW),
            Document(kind="note", text="I went to the pottery class.", labels=("Melanie",), happened_at=NOW),
        ]
    )
    assert workspace.search("Which group did Caroline go to?")[0].text == "I went to the support group."


WORDS = "kites bread maps violins snow rent taxes boats".split()


@pytest.mark.promise("search.context-at-question")
def test_what_stands_around_a_text_never_speaks_against_it(workspace: Workspace) -> None:
    talk(
        workspace,
        "s",
        ("Maya", "Maya lives in Lisbon."),
        ("Maya", "Maya likes tea."),
        ("Ivo", "Ivo repaired the engine."),
    )
    hits = workspace.search("Where does Maya live?")
    assert all(hit.signals.get(name, 0.0) >= 0.0 for hit in hits for name in ("context", "around"))
