"""Which of several statements is the present state: decided from subjects, words and time, without a model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everloom.semantic.recall.present import PresentState, Statement, present_state

pytestmark = pytest.mark.promise("trust.5-present-state")


def said(*texts: str, answers: float = 0.6, subject: str = "Maya", same_day: bool = False) -> list[Statement]:
    """Make statements, the oldest first, a year apart."""
    return [
        Statement(
            id=1 + place,
            text=text,
            at=datetime(2026 if same_day else 2020 + place, 1, 1, tzinfo=UTC),
            subjects=frozenset({subject}),
            answers=answers,
            fits=True,
        )
        for place, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("Where does Maya live?", "Maya lives in Lisbon.", "Maya moved to Porto."),
        ("Where does Maya work?", "Maya works as a teacher.", "Maya quit and joined a bank."),
        ("Is Maya married?", "Maya is married to Tom.", "Maya is divorced and lives alone."),
        ("What is the wifi password?", "The wifi password is tulip42.", "The wifi password is rose77."),
        ("What does Maya drink?", "Maya drinks coffee.", "Maya drinks tea now."),
        ("How old is Maya?", "Maya is 31 years old.", "Maya is 32 years old."),
        ("Wo wohnt Maya?", "Maya wohnt in Lissabon.", "Maya ist nach Porto umgezogen."),
        ("Où habite Maya ?", "Maya habite à Lisbonne.", "Maya a déménagé à Porto."),
        ("¿Dónde vive Maya?", "Maya vive en Lisboa.", "Maya se mudó a Oporto."),
        ("Где живёт Майя?", "Майя живёт в Лиссабоне.", "Майя переехала в Порту."),
        ("マヤはどこに住んでいますか", "マヤはリスボンに住んでいる。", "マヤはポルトに引っ越した。"),
        ("玛雅住在哪里", "玛雅住在里斯本。", "玛雅搬到了波尔图。"),
        ("أين تعيش مايا؟", "مايا تعيش في لشبونة.", "مايا انتقلت إلى بورتو."),
        ("माया कहाँ रहती है?", "माया लिस्बन में रहती है।", "माया अब पोर्टो में रहती है।"),
        ("Maya的相机是什么？", "Maya的相机是Canon R5。", "Maya的相机是Nikon Z8。"),
        ("Mayaの車は何ですか", "Mayaの車はToyota Yarisです。", "Mayaの車はVolvo EX30です。"),
        ("ما هي سيارة Maya؟", "سيارة Maya هي Toyota Yaris.", "سيارة Maya هي Volvo EX30."),
        ("Maya की कार क्या है?", "Maya की कार Toyota Yaris है।", "Maya की कार Volvo EX30 है।"),
        ("รถของ Maya คืออะไร", "รถของ Maya คือ Toyota 4", "รถของ Maya คือ Volvo 30"),
        ("What is Maya's laptop?", "Maya's laptop is a ThinkPad X1.", "Maya's laptop is an old Dell 7440 from work."),
    ],
)
def test_the_newest_leads_and_names_the_earlier(question: str, before: str, after: str) -> None:
    assert present_state(question, said(before, after)) == PresentState(2, earlier=(1,))


@pytest.mark.parametrize(
    ("question", "answer", "newer"),
    [
        ("Where does Maya live?", "Maya lives in Lisbon.", "Maya likes tea."),
        ("Where does Maya live?", "Maya lives in Lisbon.", "Maya is moving the piano now."),
        ("Where does Maya live?", "Maya lives in Lisbon.", "Maya lives for her music."),
        ("Where does Maya live?", "Maya lives in Lisbon.", "Maya has a vivid memory and odd habits."),
        ("Where is Maya's violin?", "Maya's violin is in the workshop.", "Maya's violin needs new strings."),
        ("Where is Maya's violin?", "Maya's violin is in the workshop.", "Maya's violin needs new strings now."),
        ("What does Maya like?", "Maya likes tea.", "Maya likes cake."),
        ("Where does Maya work?", "Maya works as a teacher.", "Maya works on her boat on Sundays."),
    ],
)
def test_what_is_about_something_else_or_may_be_true_too_does_not_take_the_lead(
    question: str, answer: str, newer: str
) -> None:
    assert present_state(question, said(answer, newer)) is None


def test_another_subject_is_another_thing() -> None:
    maya, tom = said("Maya lives in Lisbon."), said("x", "Tom moved to Porto.", subject="Tom")[1:]
    assert present_state("Where does Maya live?", [*maya, *tom]) is None


def test_whoever_asks_for_one_of_them_by_its_words_gets_it() -> None:
    assert present_state("Maya lives in Lisbon.", said("Maya lives in Lisbon.", "Maya moved to Porto.")) is None


def test_news_leads_though_it_shares_no_word_and_does_not_fit_by_itself() -> None:
    lisbon, porto = said("Maya lives in Lisbon.", "Maya moved to Porto.")
    weak = Statement(id=2, text=porto.text, at=porto.at, subjects=porto.subjects, answers=0.05, fits=False)
    assert present_state("Where does Maya live now?", [lisbon, weak]) == PresentState(2, earlier=(1,))
    tea = Statement(id=3, text="Maya lives in a flat.", at=porto.at, subjects=porto.subjects, answers=0.1, fits=False)
    assert present_state("Where does Maya live now?", [lisbon, tea]) is None


def test_nothing_leads_where_nothing_fits() -> None:
    weak = [
        Statement(id=each.id, text=each.text, at=each.at, subjects=each.subjects, answers=0.1, fits=False)
        for each in said("Maya lives in Lisbon.", "Maya moved to Porto.")
    ]
    assert present_state("Where does Maya live?", weak) is None


def test_a_question_about_the_past_gets_the_statement_of_that_time() -> None:
    homes = said("Maya lives in Berlin.", "Maya lives in Lisbon.", "Maya moved to Porto.")
    assert present_state("Where did Maya live before?", homes) == PresentState(2, earlier=(1,))
    then = datetime(2021, 1, 1, tzinfo=UTC)
    assert present_state("Where did Maya live in 2020?", homes, then) == PresentState(1)
    assert present_state("Where does Maya live now, and not in 2020?", homes, then) == PresentState(3, earlier=(2, 1))


def test_what_time_cannot_settle_is_a_contradiction() -> None:
    keys = said("The key hangs in the kitchen.", "The key hangs in the garage.", same_day=True)
    assert present_state("Where does the key hang?", keys) == PresentState(1, contradicts=(2,))
    prices = said("The oak cost 310 euros.", "The oak cost 290 euros.")
    assert present_state("Did the oak cost much?", prices) == PresentState(1, contradicts=(2,))
    assert present_state("What does Maya like?", said("Maya likes tea.", "Maya likes cake.", same_day=True)) is None


def test_a_synthesis_that_tells_what_became_of_it_leads() -> None:
    (nora,) = said("Nora leads the work on the harvester.", subject="harvester")
    for sources in (frozenset({1}), frozenset[int]()):
        whole = Statement(
            id=9,
            text="Priya leads the harvester since day 20; Nora did before, and still helps. It was observed 33 times.",
            at=datetime(2026, 1, 1, tzinfo=UTC),
            subjects=nora.subjects,
            answers=0.6,
            fits=True,
            sources=sources,
        )
        assert present_state("Who leads the harvester?", [nora, whole]) == PresentState(9, earlier=(1,))


def test_what_agrees_with_an_earlier_statement_is_earlier_too() -> None:
    homes = said("Maya lives in Lisbon.", "Maya lives in Lisbon and likes tea.", "Maya moved to Porto.")
    assert present_state("Where does Maya live?", homes) == PresentState(3, earlier=(2, 1))


def test_a_series_is_no_contradiction() -> None:
    runs = [f"Maya ran {km} kilometres along the river." for km in range(5, 12)]
    assert present_state("Did Maya run along the river?", said(*runs)) is None
    two = said("Part 5 for the mast cost 65 euros.", "Part 7 for the mast cost 91 euros.")
    assert present_state("Did parts for the mast cost much?", two) is None


def test_what_an_understanding_rests_on_is_no_earlier_state_of_it() -> None:
    lisbon, porto = said("Maya lives in Lisbon.", "Maya moved to Porto.")
    whole = Statement(
        id=9,
        text="Maya lived in Lisbon and moved to Porto in 2021.",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        subjects=lisbon.subjects,
        answers=0.7,
        fits=True,
        sources=frozenset({1, 2}),
    )
    assert present_state("Where does Maya live?", [whole, lisbon, porto]) is None
