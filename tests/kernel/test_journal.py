"""Who did what when: sessions, events, receipts, accesses, verdicts, and the chain of reasons."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.answer.budget import cost
from everloom.kernel.journal import RECEIPTS_KEPT, answered_before, attend, keep_receipt
from everloom.kernel.provenance import DEEPEST
from everloom.loom import Loom, Workspace
from everloom.wiring.items import Items
from tests.store.ground import NOW, insight, note, rows_of


@pytest.mark.promise("journal.sessions")
def test_a_session_is_made_once_and_seen_again(loom: Loom, clock: ManualClock, store_url: str) -> None:
    place = loom.workspace("james", session="monday", model_tier="large")
    with loom.store.write(place.info.id) as unit:
        first = attend(unit, "monday", clock.now(), "large")
    clock.advance(timedelta(hours=1))
    with loom.store.write(place.info.id) as unit:
        again = attend(unit, " monday ", clock.now())
    assert (again.id, again.started_at, again.model_tier) == (first.id, NOW, "large")
    assert again.seen_at == NOW + timedelta(hours=1)
    assert len(rows_of(store_url, "SELECT * FROM session")) == 1
    assert place.show(first.id).detail["label"] == "monday"


@pytest.mark.promise("journal.events")
def test_every_operation_leaves_an_event(loom: Loom) -> None:
    place = loom.workspace("james", session="monday")
    (item,) = place.add([note("The tide is high.")], operation="import")
    place.mark(item, "questionable", "it was ebb")
    place.pin(item)
    place.pin(item, False)
    events = place.events()
    assert [event.operation for event in events] == ["unpin", "pin", "mark_questionable", "import"]
    assert events[2].detail == {"id": item, "reason": "it was ebb"}
    assert len({event.session_id for event in events}) == 1
    assert events[0].session_id is not None
    assert [event.id for event in place.events(limit=2, before=events[1].id)] == [events[2].id, events[3].id]
    assert place.show(events[3].id).detail["operation"] == "import"


def test_added_documents_belong_to_the_session_that_adds_them(loom: Loom) -> None:
    monday, tuesday = (loom.workspace("james", session=label) for label in ("monday", "tuesday"))
    monday.add([note("The tide is high.")])
    (first,) = monday.search("tide")
    assert first.session_id == monday.events()[0].session_id
    tuesday.add([note("Fog came in.", session_id=first.session_id), note("Rain followed.")])
    (fog,), (rain,) = (tuesday.search(cue, limit=1) for cue in ("fog", "rain"))
    assert fog.session_id == first.session_id
    assert rain.session_id not in (None, first.session_id)


@pytest.mark.promise("journal.receipts")
def test_the_same_request_gets_the_same_answer_and_another_is_refused(workspace: Workspace) -> None:
    store, place = workspace.loom.store, workspace.info.id
    request: dict[str, Any] = {"text": "hello", "tags": ["a", "b"]}
    with store.write(place) as unit:
        assert answered_before(unit, "k1", "add", request) is None
        keep_receipt(unit, "k1", "add", request, {"id": 7, "text": "héllo"}, NOW)
    with store.write(place) as unit:
        assert answered_before(unit, "k1", "add", {"tags": ["a", "b"], "text": "hello"}) == {"id": 7, "text": "héllo"}
        with pytest.raises(Conflict, match="different request"):
            answered_before(unit, "k1", "add", {**request, "text": "other"})
        with pytest.raises(Conflict, match="different request"):
            answered_before(unit, "k1", "remove", request)
        assert answered_before(unit, "k2", "add", request) is None
        assert answered_before(unit, None, "add", request) is None


@pytest.mark.promise("journal.receipts")
def test_a_receipt_is_undone_with_the_write_it_is_about(workspace: Workspace) -> None:
    store, place = workspace.loom.store, workspace.info.id
    with suppress(KeyError), store.write(place) as unit:
        keep_receipt(unit, "k1", "add", {}, {"id": 1}, NOW)
        raise KeyError
    with store.read(place) as unit:
        assert answered_before(unit, "k1", "add", {}) is None


@pytest.mark.promise("journal.receipts")
def test_receipts_are_kept_for_a_month(workspace: Workspace) -> None:
    store, place = workspace.loom.store, workspace.info.id
    with store.write(place) as unit:
        keep_receipt(unit, "old", "add", {}, {"id": 1}, NOW)
        keep_receipt(unit, "young", "add", {}, {"id": 2}, NOW + RECEIPTS_KEPT)
        assert answered_before(unit, "old", "add", {}) == {"id": 1}
        keep_receipt(unit, "new", "add", {}, {"id": 3}, NOW + RECEIPTS_KEPT + timedelta(seconds=1))
        assert answered_before(unit, "old", "add", {}) is None
        assert answered_before(unit, "young", "add", {}) == {"id": 2}


@pytest.mark.promise("journal.receipts")
def test_of_two_that_use_one_key_at_once_one_writes(workspace: Workspace) -> None:
    def write(number: int) -> dict[str, Any]:
        with workspace.loom.store.write(workspace.info.id) as unit:
            if (known := answered_before(unit, "the key", "add", {})) is not None:
                return known
            keep_receipt(unit, "the key", "add", {}, {"by": number}, NOW)
            return {"by": number}

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(write, range(12)))
    assert len({answer["by"] for answer in answers}) == 1


@pytest.mark.promise("journal.access-is-atomic")
def test_no_access_is_lost_under_threads(workspace: Workspace) -> None:
    first, second = workspace.add([note("The tide is high."), note("Fog.")])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: workspace.show(first if number % 2 else second), range(80)))
    assert workspace.show(first).access.count == workspace.show(second).access.count == 40


@pytest.mark.promise("journal.access-is-atomic")
def test_an_access_is_counted_after_it_was_shown(workspace: Workspace, clock: ManualClock) -> None:
    (item,) = workspace.add([note("The tide is high.")])
    assert workspace.show(item).access.count == 0
    clock.advance(timedelta(minutes=5))
    workspace.show(item)
    shown = workspace.show(item)
    assert shown.access.count == 2
    assert shown.access.last_at == NOW + timedelta(minutes=5)


@pytest.mark.promise("journal.signals")
def test_verdicts_are_kept_with_their_reasons_and_counted(loom: Loom) -> None:
    place = loom.workspace("james", session="monday")
    (item,) = place.add([note("The tide is high.")])
    useful, doubtful = place.mark(item, "useful"), place.mark(item, "questionable", "it was ebb")
    shown = place.show(item)
    assert [(signal.id, signal.verdict, signal.reason) for signal in shown.signals] == [
        (useful, "useful", None),
        (doubtful, "questionable", "it was ebb"),
    ]
    assert (shown.access.useful, shown.access.questionable, shown.access.count) == (1, 1, 0)
    assert place.show(useful).kind == "signal"
    with pytest.raises(Rejected):
        place.mark(item, "splendid")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        place.mark(987_654, "useful")


@pytest.mark.promise("journal.why")
def test_why_follows_the_sources_down_to_where_they_began(loom: Loom) -> None:
    place = loom.workspace("james", session="monday")
    (evidence, other) = place.add([note("The tide was at nine."), note("The tide was at ten.")])
    (made,) = place.add([insight("Tides come later each day.")])
    link(place, {made: [evidence, other]})
    reason = place.why(made)
    assert [each.text for each in reason.because] == ["The tide was at nine.", "The tide was at ten."]
    assert place.show(made).sources == (evidence, other)
    assert place.search("tides later")[0].sources == (evidence, other)
    with pytest.raises(NotFound):
        place.why(987_654)


@pytest.mark.promise("journal.why")
def test_why_ends_even_where_sources_go_in_a_circle(workspace: Workspace) -> None:
    ids = workspace.add([note(f"Rumour {number}.") for number in range(3)])
    link(workspace, {ids[0]: [ids[1]], ids[1]: [ids[2]], ids[2]: [ids[0]]})
    reason = workspace.why(ids[0])
    met = []
    while reason.because:
        met.append(reason.id)
        (reason,) = reason.because
    assert [*met, reason.id] == list(ids)


@pytest.mark.promise("journal.why")
def test_why_says_where_a_long_chain_is_cut(workspace: Workspace) -> None:
    ids = workspace.add([note(f"Step {number}.") for number in range(DEEPEST + 5)])
    link(workspace, {one: [other] for one, other in pairwise(ids)})
    reason, depth = workspace.why(ids[0]), 0
    while reason.because:
        (reason,) = reason.because
        depth += 1
    assert depth == DEEPEST
    assert reason.is_cut


@pytest.mark.promise("journal.why")
def test_why_counts_the_sources_it_leaves_off_and_goes_on_after_the_last(workspace: Workspace) -> None:
    ids = workspace.add([note(f"Drop {number}.") for number in range(250)])
    (made,) = workspace.add([insight("Many drops make a sea.")])
    link(workspace, {made: list(ids)})
    first = workspace.why(made)
    assert (len(first.because), first.left_off) == (200, 50)
    rest = workspace.why(made, after=first.because[-1].id)
    assert (len(rest.because), rest.left_off) == (50, 0)
    assert [each.id for each in (*first.because, *rest.because)] == sorted(ids)
    # The same within a budget, as the API gives it: what is left off is counted, wherever it was cut.
    short = Items(workspace).why(made, max_tokens=800)
    assert cost(short) <= 800
    assert len(short.because) + short.left_off == 250


def link(place: Workspace, sources: dict[int, list[int]]) -> None:
    with place.loom.store.write(place.info.id) as unit:
        for item, rests_on in sources.items():
            unit.many("kernel.source_add", ({"item": item, "source": source} for source in rests_on))


def test_an_unknown_id_is_not_found(workspace: Workspace) -> None:
    for verb in (workspace.show, workspace.why, workspace.pin):
        with pytest.raises(NotFound) as refusal:
            verb(424_242)
        assert refusal.value.hint


@pytest.mark.promise("texts.storable")
@pytest.mark.parametrize("text", ["nul \x00 inside", "a lone \ud800 surrogate"])
@pytest.mark.parametrize("field", ["text", "title", "context"])
def test_a_document_that_cannot_be_stored_is_rejected(workspace: Workspace, text: str, field: str) -> None:
    with pytest.raises(Rejected, match="cannot be stored"):
        workspace.add([note(**{"text": "Harmless.", field: text})])
    assert workspace.events() == []
