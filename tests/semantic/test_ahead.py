"""What is dated in the future, by mistake or by a clock that was ahead, ranks as if it had no date."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from everloom.checks.dates import items_ahead, set_date
from everloom.clock import ManualClock
from everloom.errors import NotFound, Rejected
from everloom.loom import Loom
from everloom.semantic import Semantic
from everloom.semantic.arguments import NewObservation
from everloom.semantic.parts import BestAnswer
from everloom.semantic.results import Observation, QuestionRecall
from tests.semantic.conftest import NOW

FAR = datetime(2090, 5, 3, tzinfo=UTC)
EIGHT_YEARS = timedelta(days=8 * 365)


def best(mind: Semantic, question: str) -> BestAnswer:
    """Ask, and return the best answer."""
    answer = mind.recall(question)
    assert isinstance(answer, QuestionRecall)
    assert answer.best_answer is not None, answer
    return answer.best_answer


# Each about somebody else: a question, what is dated in the future, and what corrects it.
CORRECTIONS = {
    "Nora": ("Where does Nora live?", "Nora lives in Bergen.", "Nora lives in Turku."),
    "Ivo": ("What is Ivo's car?", "Ivo's car is a red Volvo.", "Ivo's car is a grey Skoda now."),
    "Petra": ("Petra bicycle colour", "Petra's bicycle colour is red.", "Petra's bicycle colour is grey."),
    "Jonas": ("Wo arbeitet Jonas?", "Jonas arbeitet bei Siemens.", "Jonas arbeitet jetzt bei Bosch."),
    "Lucía": ("¿Dónde vive Lucía?", "Lucía vive en Lugo.", "Lucía vive ahora en Cádiz."),
}


@pytest.mark.promise("dates.future-owns-nothing")
@pytest.mark.parametrize("has_wrong_clock", [True, False])
def test_what_is_dated_in_the_future_gives_way_to_a_later_correction(
    mind: Semantic, clock: ManualClock, has_wrong_clock: bool
) -> None:
    wrong, right = {}, {}
    clock.advance(EIGHT_YEARS if has_wrong_clock else timedelta())
    for name, (_, text, _) in CORRECTIONS.items():
        wrong[name] = mind.remember([name], text, observed_at=None if has_wrong_clock else FAR).id
    clock.advance(-EIGHT_YEARS if has_wrong_clock else timedelta())
    for name, (question, _, _) in CORRECTIONS.items():
        assert best(mind, question).id == wrong[name], "it is still found"
    # Neither the hour in which it was corrected nor what is asked a year later changes that.
    clock.advance(timedelta(hours=1))
    for name, (_, _, text) in CORRECTIONS.items():
        right[name] = mind.remember([name], text).id
    for later in (timedelta(minutes=1), timedelta(days=400)):
        clock.advance(later)
        for name, (question, _, _) in CORRECTIONS.items():
            pair, answer = (wrong[name], right[name]), mind.recall(question)
            assert isinstance(answer, QuestionRecall)
            assert answer.best_answer is not None
            assert answer.best_answer.id == right[name]
            named = {each.id for each in (*answer.best_answer.earlier, *answer.best_answer.contradicts)}
            assert wrong[name] in named | {each.id for each in answer.supporting}, "it is not hidden either"
            assert next(hit.id for hit in mind.search(question) if hit.id in pair) == right[name]


@pytest.mark.promise("dates.future-owns-nothing")
def test_a_correction_is_not_folded_under_what_is_dated_in_the_future(mind: Semantic, loom: Loom) -> None:
    text = (
        "The spare key for the boathouse at the upper lake hangs behind the green door, on the {} hook from the left, "
        "below the map of the islands and beside the rusty lantern."
    )
    wrong = mind.remember(["boathouse"], text.format("third"), observed_at=FAR).id
    right = mind.remember(["boathouse"], text.format("fifth")).id
    hits = loom.workspace("james").search("does the spare key hang on the third hook?")
    assert {wrong, right} <= {hit.id for hit in hits} | {item for hit in hits for item in hit.also}
    assert right in [hit.id for hit in hits]


@pytest.mark.promise("dates.future-owns-nothing")
def test_of_what_a_wrong_clock_dated_the_last_that_was_written_leads(mind: Semantic, clock: ManualClock) -> None:
    clock.advance(EIGHT_YEARS)
    first = mind.remember(["Nora"], "Nora lives in Bergen.").id
    clock.advance(timedelta(days=2))
    second = mind.remember(["Nora"], "Nora lives in Turku.").id
    clock.advance(-EIGHT_YEARS)
    found = best(mind, "Where does Nora live?")
    assert (found.id, [each.id for each in found.earlier]) == (second, [first])


@pytest.mark.promise("dates.plans")
def test_a_plan_is_found_by_its_date_and_a_mistake_is_not(mind: Semantic, loom: Loom) -> None:
    at = NOW + timedelta(days=20)
    plan = mind.remember(["Nora"], "Nora takes the ferry.", observed_at=at, planned=True).id
    mistake = mind.remember(["Nora"], "Nora takes the bus.", observed_at=at).id
    hits = {hit.id: hit for hit in loom.workspace("james").search("what does Nora take this month?")}
    assert hits[plan].signals["time"] > hits[mistake].signals["time"] == 0
    assert hits[plan].happened_at == hits[mistake].happened_at == at
    home = mind.remember(["Nora"], "Nora lives in Turku.").id
    hits = {hit.id: hit for hit in loom.workspace("james").search("Nora lives and takes the ferry or the bus")}
    assert ["recency" in hits[item].bias for item in (home, plan, mistake)] == [True, False, False]
    mind.remember(["Nora"], "Nora lives in Bergen.", observed_at=at, planned=True)
    assert best(mind, "Where does Nora live?").id == home, "it is not so yet"
    assert items_ahead(loom.operation(loom.workspace("james").info), 10)[0] == 1
    with pytest.raises(Rejected, match="needs a date"):
        mind.remember(["Nora"], "Nora takes the tram.", planned=True)
    given = NewObservation(subject_names=["Nora"], content="Nora flies.", observed_at=at, planned=True)
    assert mind.add_observations([given])
    assert items_ahead(loom.operation(loom.workspace("james").info), 10)[0] == 1


@pytest.mark.promise("dates.set")
def test_a_date_is_set_journalled_and_set_back(
    mind: Semantic, loom: Loom, clock: ManualClock, later: Callable[..., datetime]
) -> None:
    wrong = mind.remember(["Nora"], "Nora lives in Bergen.", observed_at=FAR).id
    later(days=1)
    right = mind.remember(["Nora"], "Nora lives in Turku.").id
    op = loom.operation(loom.workspace("james").info)
    count, (listed,) = items_ahead(op, 1)
    assert (count, listed.id, listed.text, listed.happened_at) == (1, wrong, "Nora lives in Bergen.", FAR)
    done = set_date(op, wrong, clock.now() - timedelta(days=9))
    with loom.store.read(op.workspace.id) as unit:
        event = unit.all("kernel.event_recent", before=2**62, limit=1)[0]
    assert event["operation"] == "set_date"
    assert "2090-05-03" in event["detail"]
    assert items_ahead(op, 1) == (0, ())
    found = best(mind, "Where does Nora live?")
    assert (found.id, [each.id for each in found.earlier]) == (right, [wrong])
    (nora,) = [each for each in mind.list_subjects().subjects if each.name == "Nora"]
    assert nora.last_observation_at == clock.now()
    set_date(op, wrong, done.before)
    shown = mind.show(wrong)
    assert isinstance(shown, Observation)
    assert (shown.observed_at, shown.content) == (FAR, "Nora lives in Bergen.")
    assert not loom.store.health(deep=True).problems
    with pytest.raises(NotFound, match="no date"):
        set_date(op, 10**9, NOW)


@pytest.mark.promise("dates.future-owns-nothing")
def test_correcting_a_mistaken_date_gives_the_date_of_the_correction(
    mind: Semantic, loom: Loom, clock: ManualClock
) -> None:
    wrong = mind.remember(["Nora"], "Nora lives in Bergen.", observed_at=FAR).id
    right = loom.workspace("james").correct(wrong, "Nora lives in Turku.").id
    shown = mind.show(right)
    assert isinstance(shown, Observation)
    assert shown.observed_at == clock.now()


@pytest.mark.promise("dates.future-owns-nothing")
def test_a_session_under_a_wrong_clock_is_not_the_last_for_years(
    mind: Semantic, other: Semantic, clock: ManualClock
) -> None:
    clock.advance(EIGHT_YEARS)
    other.remember(["Nora"], "Nora sails.")
    clock.advance(-EIGHT_YEARS)
    mind.remember(["Nora"], "Nora rows.")
    assert [each.session_id for each in mind.sessions(active_within_hours=24)] == ["monday"]
    assert "tuesday" in [each.session_id for each in mind.sessions()]
    assert "tuesday" not in [each.session_id for each in mind.orient().recent_sessions]
