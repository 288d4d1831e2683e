"""What is so now leads, whatever the order of writing, in nine languages; what may also be so replaces nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from everloom.semantic import Semantic
from everloom.semantic.recall.present import PresentState, Statement, present_state
from everloom.semantic.results import Observation, QuestionRecall
from tests.semantic.updates import STORIES, Update

pytestmark = pytest.mark.promise("trust.5-present-state")
# Of the stories of all languages, so many may go wrong: rules without a model do not know every phrase.
MOST_WRONG = 0.1


def told(subject: str, *texts: tuple[str, str], answers: float = 0.6) -> list[Statement]:
    """Make statements as they were observed, in the order given, the last one written first."""
    found = []
    for place, (day, text) in enumerate(texts):
        at = datetime.fromisoformat(day).replace(tzinfo=UTC)
        subjects = frozenset({subject})
        found.append(Statement(id=100 - place, text=text, at=at, subjects=subjects, answers=answers, fits=True))
    return found


def is_right(story: Update, question: str, *, wanted: int) -> bool:
    """Return whether a state leads though an older one answers best, and names the older ones and nothing else."""
    statements = told(story.subject, *story.states, *story.others)
    held = present_state(question, statements)
    lead = 100 if held is None else held.lead
    named = () if held is None else held.earlier + held.contradicts
    return lead == 100 - wanted and set(named) == {100 - place for place in range(wanted)}


def test_what_is_so_now_leads_and_names_what_it_replaced() -> None:
    wrong = [each.now for each in STORIES if not is_right(each, each.now, wanted=len(each.states) - 1)]
    assert len(wrong) <= MOST_WRONG * len(STORIES), wrong


def test_a_question_about_before_gets_what_was_so_before() -> None:
    asked = [each for each in STORIES if each.before]
    wrong = [each.before for each in asked if not is_right(each, each.before, wanted=len(each.states) - 2)]
    assert len(wrong) <= MOST_WRONG * len(asked), wrong


HOMES = {
    "en": ("Maya", "Where does Maya live?", "Maya lives in Porto."),
    "de": ("Maya", "Wo wohnt Maya?", "Maya wohnt in Porto."),
    "fr": ("Maya", "Où habite Maya ?", "Maya habite à Porto."),
    "es": ("Maya", "¿Dónde vive Maya?", "Maya vive en Oporto."),
    "ru": ("Майя", "Где живёт Майя?", "Майя живёт в Порту."),
    "ja": ("マヤ", "マヤはどこに住んでいますか", "マヤはポルトに住んでいる。"),
    "zh": ("玛雅", "玛雅住在哪里", "玛雅住在波尔图。"),
    "ar": ("مايا", "أين تسكن مايا؟", "مايا تسكن في بورتو."),
    "hi": ("माया", "माया कहाँ रहती है?", "माया पोर्टो में रहती है।"),
}


@pytest.mark.parametrize(
    ("language", "note"),
    [
        ("en", "Back in 2015 Maya lived in Rome."),
        ("en", "Maya used to live in Rome."),
        ("de", "2015 wohnte Maya in Rom."),
        ("de", "Früher hat Maya in Rom gewohnt."),
        ("fr", "En 2015, Maya habitait à Rome."),
        ("fr", "Autrefois, Maya habitait à Rome."),
        ("es", "En 2015 Maya vivía en Roma."),
        ("es", "Maya antes vivía en Roma."),
        ("ru", "В 2015 году Майя жила в Риме."),
        ("ru", "Раньше Майя жила в Риме."),
        ("ja", "2015年、マヤはローマに住んでいた。"),
        ("ja", "マヤは以前ローマに住んでいた。"),
        ("zh", "2015年玛雅住在罗马。"),
        ("zh", "玛雅以前住在罗马。"),
        ("ar", "في عام 2015 كانت مايا تسكن في روما."),
        ("ar", "كانت مايا تسكن في روما."),
        ("hi", "2015 में माया रोम में रहती थी।"),
        ("hi", "माया पहले रोम में रहती थी।"),
    ],
)
def test_a_later_note_about_an_earlier_time_does_not_take_the_lead(language: str, note: str) -> None:
    subject, question, home = HOMES[language]
    statements = told(subject, ("2026-03-01", note), ("2020-01-01", home))
    assert present_state(question, statements) == PresentState(99, earlier=(100,))


@pytest.mark.parametrize(
    ("language", "plan"),
    [
        ("en", "Maya is going to move to Oslo."),
        ("de", "Maya wird nach Oslo umziehen."),
        ("fr", "Maya va déménager à Oslo."),
        ("es", "Maya quiere mudarse a Oslo."),
        ("ru", "Майя собирается переехать в Осло."),
        ("ja", "マヤはオスロに引っ越す予定だ。"),
        ("zh", "玛雅打算搬到奥斯陆。"),
        ("ar", "تنوي مايا أن تنتقل إلى أوسلو."),
        ("hi", "माया ओस्लो में रहने की योजना बना रही है।"),
    ],
)
def test_a_plan_does_not_take_the_lead(language: str, plan: str) -> None:
    subject, question, home = HOMES[language]
    held = present_state(question, told(subject, ("2026-03-01", plan), ("2020-01-01", home)))
    assert held is not None
    assert held.lead == 99


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("What does Maya like?", "Maya likes tea.", "Maya likes chess."),
        ("How many children does Maya have?", "Maya has a son called Leo.", "Maya has a daughter called Ina."),
        ("Which languages does Maya speak?", "Maya speaks Greek.", "Maya speaks Dutch."),
        ("Welche Hobbys hat Maya?", "Maya sammelt Briefmarken.", "Maya malt Bilder."),
        ("¿Qué instrumento toca Maya?", "Maya toca el piano.", "Maya toca la guitarra."),
        ("Есть ли у Майи домашние животные?", "У Майи есть собака.", "У Майи есть кошка."),
    ],
)
def test_what_may_be_so_side_by_side_replaces_nothing(question: str, one: str, other: str) -> None:
    held = present_state(question, told("Maya", ("2020-01-01", one), ("2024-01-01", other)))
    assert held is None or not held.earlier


@pytest.mark.parametrize(
    ("language", "other"),
    [
        ("en", "Maya's sister lives in Oslo."),
        ("de", "Mayas Schwester wohnt in Oslo."),
        ("fr", "La sœur de Maya habite à Oslo."),
        ("es", "La hermana de Maya vive en Oslo."),
        ("ru", "Сестра Майи живёт в Осло."),
        ("ja", "マヤの妹はオスロに住んでいる。"),
        ("zh", "玛雅的妹妹住在奥斯陆。"),
        ("ar", "أخت مايا تسكن في أوسلو."),
        ("hi", "माया की बहन ओस्लो में रहती है।"),
    ],
)
def test_what_is_so_of_somebody_else_does_not_take_the_lead(language: str, other: str) -> None:
    subject, question, home = HOMES[language]
    assert present_state(question, told(subject, ("2020-01-01", home), ("2026-03-01", other))) is None


def test_the_order_of_two_things_is_asked_of_both() -> None:
    statements = told("Maya", ("2020-01-01", "Maya lives in Rome."), ("2024-01-01", "Maya moved to Porto."))
    assert present_state("Did Maya live in Rome or in Porto first?", statements) is None


@pytest.mark.promise("trust.9d-dates-shown")
def test_every_answer_tells_when_it_was_observed_and_stored(mind: Semantic) -> None:
    day = datetime(2025, 3, 4, 12, tzinfo=UTC)
    mind.remember(["Maya"], "Maya lives in Lisbon.", observed_at=day)
    mind.remember(["Maya"], "Maya moved to Porto and lives there now.", observed_at=day.replace(year=2026))
    mind.remember(["Maya"], "Maya's sister lives with Maya in summer.")
    answer = mind.recall("Where does Maya live?")
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None
    assert answer.best_answer.observed_at == day.replace(year=2026)
    assert [each.observed_at for each in answer.best_answer.earlier] == [day]
    brought = mind.bring_to_mind("Where does Maya live?", include_seen=True).results
    shown = [mind.show(each.id) for each in brought]
    stored = {each.id: each.created_at for each in shown if isinstance(each, Observation)}
    assert brought[0].observed_at == day.replace(year=2026)
    assert brought[0].stored_at == stored[brought[0].id]
    undated = next(each for each in brought if "sister" in str(each.content))
    assert undated.stored_at is None
    assert undated.observed_at == stored[undated.id]
