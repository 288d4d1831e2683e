"""What a question tells of its answer: the name it is known by, the time it was, and what was said around it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from everloom.kernel.search import DEFAULT, Document
from everloom.loom import Workspace
from tests.store.ground import NOW, days_ago, insight, note

NAMELESS = replace(DEFAULT, names=0.0)
TIMELESS = replace(DEFAULT, time=0.0)


def said(speaker: str, text: str, days: float = 10.0) -> Document:
    return note(text, labels=(speaker,), happened_at=days_ago(days))


@pytest.mark.promise("search.names")
def test_what_the_named_person_said_comes_first(workspace: Workspace) -> None:
    workspace.add(
        [
            said("Audrey", "I signed up for a pottery class, pottery is great."),
            said("James", "The class begins on Monday."),
            said("Audrey", "Bread rose well."),
            said("James", "The harbour was empty."),
        ]
    )
    question = "Which pottery class does James take?"
    best, unnamed = workspace.search(question)[0], workspace.search(question, recipe=NAMELESS)[0]
    assert (best.labels, unnamed.labels) == (("James",), ("Audrey",))
    assert "the question mentions one of its names" in best.explain()


@pytest.mark.promise("search.names")
def test_a_name_of_several_words_counts_only_when_all_are_said(workspace: Workspace) -> None:
    workspace.add(
        [said("New Harbour", "The tide was high."), said("Old Mill", "The tide was high and low."), note("Bread rose.")]
    )
    assert workspace.search("tide at New Harbour")[0].signals["names"] > 0
    assert all(hit.signals.get("names", 0.0) <= 0 for hit in workspace.search("tide at the harbour"))


@pytest.mark.promise("search.names")
def test_a_name_that_all_bear_moves_nothing(workspace: Workspace) -> None:
    workspace.add([said("James", text) for text in ("James sails.", "James bakes bread.", "James reads of sails.")])
    hits = workspace.search("James sails")
    assert [hit.id for hit in hits] == [hit.id for hit in workspace.search("James sails", recipe=NAMELESS)]
    assert len({hit.signals["names"] for hit in hits}) == 1


@pytest.mark.promise("search.time")
def test_what_was_then_comes_first(workspace: Workspace) -> None:
    workspace.add(
        [
            note("We ate soup at the harbour.", happened_at=days_ago(1)),
            note("We ate bread at the harbour.", happened_at=days_ago(40)),
        ]
    )
    question = "what did we eat in the harbour 40 days ago?"
    best = workspace.search(question)[0]
    assert "bread" in best.text
    assert best.signals["time"] > 0
    assert not {"recency", "unreinforced"} & set(best.bias), "who asks about a time is not told that it is old"
    assert "it is from the time that the question mentions" in best.explain()
    assert "soup" in workspace.search(question, recipe=TIMELESS)[0].text
    assert "time" not in workspace.search(question, recipe=TIMELESS)[0].signals


@pytest.mark.promise("search.time")
def test_what_was_then_is_found_among_many_that_were_not(workspace: Workspace) -> None:
    then = NOW - timedelta(days=400)
    workspace.add(
        [
            note(f"We had dinner outside, soup {chr(97 + n % 26) * (n // 26 + 2)}.", happened_at=days_ago(n / 10))
            for n in range(300)
        ]
    )
    (item,) = workspace.add([note("We had dinner outside, bread for once.", happened_at=then)])
    asked = f"what was for dinner on {then:%d %B %Y}?"
    assert workspace.search(asked)[0].id == item
    assert item not in {hit.id for hit in workspace.search(asked, recipe=TIMELESS)}


@pytest.mark.promise("search.time")
def test_an_event_tells_the_time(workspace: Workspace) -> None:
    workspace.add(
        [
            note("The wedding of Audrey was wonderful.", happened_at=days_ago(200)),
            note("We bought shoes, red shoes.", happened_at=days_ago(100)),
            note("We bought shoes.", happened_at=days_ago(203)),
        ]
    )
    question = "which red shoes did we buy the week before the wedding?"
    shoes = [hit for hit in workspace.search(question) if "shoes" in hit.text]
    assert [hit.happened_at for hit in shoes if hit.signals["time"] > 0.1] == [days_ago(203)]
    assert all("time" not in hit.signals for hit in workspace.search("which red shoes before the wedding?"))


@pytest.mark.promise("search.time")
def test_a_time_is_meant_on_the_clock_of_the_workspace(workspace: Workspace) -> None:
    loom = workspace.loom
    loom.workspaces.change(workspace.name, time_zone="Pacific/Auckland")
    local = NOW.astimezone(loom.workspaces.get(workspace.name).zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    workspace.add([note("Late soup.", happened_at=midnight - timedelta(minutes=1)), note("Bread.", happened_at=NOW)])
    (soup,) = [hit for hit in workspace.search("which soup yesterday") if "soup" in hit.text]
    assert soup.signals["time"] > 0


@pytest.mark.promise("search.context-meaning")
def test_what_was_said_around_is_part_of_the_meaning_and_details_are_not(workspace: Workspace) -> None:
    around, beside, _ = workspace.add(
        [
            note("Yes, twice.", context="Did you paddle the kayak down the river?"),
            note("Yes, thrice.", details="Did you paddle the kayak down the river?"),
            note("Bread rose."),
        ]
    )
    nearness = {hit.id: hit.similarity or 0.0 for hit in workspace.search("canoe trip on a stream")}
    assert nearness[around] > nearness.get(beside, 0.0) + 0.1
    assert {around, beside} <= {hit.id for hit in workspace.search("kayak", recipe=replace(DEFAULT, vectors=0.0))}


@pytest.mark.promise("search.names")
def test_what_has_no_labels_bears_the_names_that_its_text_says(workspace: Workspace) -> None:
    _, _, page, other = workspace.add(
        [
            said("James", "The class begins on Monday."),
            said("Audrey", "The harbour was empty."),
            note("A page of the diary: James goes to a pottery class."),
            note("A page of the diary: nobody goes to a pottery class."),
        ]
    )
    hits = {hit.id: hit for hit in workspace.search("Which pottery class does James take?")}
    assert hits[page].signals["names"] > 0 == hits[other].signals["names"]


def test_a_fresh_synthesis_never_stands_behind_fresh_evidence_only_because_both_are_new(workspace: Workspace) -> None:
    (fresh,) = workspace.add([insight("James sails on Sundays.")])
    (old,) = workspace.add([insight("James bakes bread.", happened_at=days_ago(400))])
    (evidence,) = workspace.add([note("James sails on Mondays.")])
    hits = {hit.id: hit for hit in workspace.search("James sails, bakes")}
    assert hits[fresh].bias["recency"] == hits[evidence].bias["recency"] > hits[old].bias["synthesis"] > 1
