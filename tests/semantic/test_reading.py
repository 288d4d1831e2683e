"""Consolidation misses nothing: what a session was given to read, what understandings cover, what stays reported."""

from __future__ import annotations

import pytest

from everloom.errors import NotFound, Rejected
from everloom.loom import Loom
from everloom.semantic import NewObservation, Semantic
from everloom.semantic.consolidation.results import ConsolidationReport


def waiting(mind: Semantic) -> set[tuple[str, ...]]:
    return {tuple(sorted(each.subject_names)) for each in mind.get_pending_consolidation()}


def unlinked(mind: Semantic) -> set[int]:
    return {each.id for each in mind.get_consolidation_report().unlinked_observations}


def texts(mind: Semantic, *names: str) -> list[str]:
    return [each.content for each in mind.read_unseen(names).observations]


# Rule 10


@pytest.mark.promise("semantic.covers-what-was-read")
def test_what_others_remember_during_a_pass_is_still_pending_after_it(mind: Semantic, other: Semantic) -> None:
    first = mind.remember(["Ann"], "Ann works at the harbour.")
    begun = mind.begin_consolidation()
    assert texts(mind, "Ann") == ["Ann works at the harbour."]
    news = other.remember(["Ann"], "Ann is in hospital.")
    mind.create_understanding(["Ann"], "Ann works at the harbour.", "At the harbour", source_observation_ids=[first.id])
    finished = mind.finish_consolidation(begun.generation, "Read Ann.")
    assert finished.pending_consolidation_count == 1
    assert waiting(mind) == {("Ann",)}
    report = mind.get_consolidation_report()
    assert [each.new_observation_count for each in report.stale_understandings] == [1]
    assert unlinked(mind) == {news.id}
    assert texts(mind, "Ann") == ["Ann is in hospital."]


@pytest.mark.promise("semantic.covers-what-was-read")
def test_a_pass_that_read_nothing_covers_what_existed_when_it_began(mind: Semantic, other: Semantic) -> None:
    other.remember(["Ann", "Bo"], "Ann and Bo sail.")
    mind.begin_consolidation()
    other.remember(["Ann", "Bo"], "Ann and Bo sold the boat.")
    mind.create_understanding(["Ann"], "Ann sails.", "Sails")
    mind.create_understanding(["Ann", "Bo"], "They sail.", "Sail")
    assert waiting(mind) == {("Ann",), ("Bo",), ("Ann", "Bo")}
    assert texts(mind, "Ann") == texts(mind, "Bo", "Ann") == ["Ann and Bo sold the boat."]


@pytest.mark.promise("semantic.covers-what-was-read")
def test_what_was_read_late_in_a_pass_is_covered_too(mind: Semantic, other: Semantic) -> None:
    mind.remember(["Ann"], "Ann works at the harbour.")
    mind.begin_consolidation()
    other.remember(["Ann"], "Ann is in hospital.")
    assert len(texts(mind, "Ann")) == 2
    mind.remember(["Ann"], "Ann's ward is the third.")
    written = mind.create_understanding(["Ann"], "Ann is in hospital.", "In hospital")
    assert waiting(mind) == set(), "it read one of them and wrote the others"
    other.remember(["Ann"], "Ann is well again.")
    mind.update_understanding(written.id, "Ann is in hospital still.", "In hospital")
    assert waiting(mind) == {("Ann",)}


@pytest.mark.promise("semantic.covers-what-was-read")
def test_a_page_that_was_not_read_is_not_covered(mind: Semantic, other: Semantic) -> None:
    other.add_observations([NewObservation(subject_names=("Ann",), content=f"Fact {n}.") for n in range(12)])
    mind.begin_consolidation()
    page = mind.read_unseen(["Ann"], max_tokens=200)
    assert 0 < len(page.observations) < 12
    assert page.cursor is not None
    mind.create_understanding(["Ann"], "Some facts.", "Facts")
    rest = texts(mind, "Ann")
    assert [*(each.content for each in page.observations), *rest] == [f"Fact {n}." for n in range(12)]


@pytest.mark.promise("semantic.covers-what-was-read")
def test_without_a_pass_nothing_that_others_wrote_is_taken_for_read(
    mind: Semantic, other: Semantic, loom: Loom
) -> None:
    mind.remember(["Ann"], "Ann works at the harbour.")
    other.remember(["Ann"], "Ann is in hospital.")
    written = mind.create_understanding(["Ann"], "At the harbour.", "At the harbour")
    assert texts(mind, "Ann") == ["Ann is in hospital."]
    mind.update_understanding(written.id, "In hospital.", "In hospital")
    assert waiting(mind) == set()
    # Nobody knows what a program without a session has read.
    other.remember(["Ann"], "Ann is well again.")
    nameless = loom.workspace("james").semantic
    (active,) = nameless.get_understandings(["Ann"])
    nameless.update_understanding(active.id, "Well again.", "Well")
    assert waiting(mind) == set()


@pytest.mark.promise("semantic.covers-what-was-read")
def test_what_recall_showed_counts_as_read(mind: Semantic, other: Semantic) -> None:
    other.remember(["Ann"], "Ann is in hospital.")
    mind.recall("Ann")
    mind.create_understanding(["Ann"], "In hospital.", "In hospital")
    assert waiting(mind) == set()


# Rule 11


@pytest.mark.promise("semantic.read-unseen")
@pytest.mark.parametrize("names", [["Ann"], ["Ann", "Bo"], ["Ann", "Bo", "Cleo"]])
def test_pages_give_everything_unseen_once_and_in_order(mind: Semantic, other: Semantic, names: list[str]) -> None:
    other.add_observations(
        [NewObservation(subject_names=("Ann", "Bo", "Cleo"), content=f"Fact {n} of many.") for n in range(40)]
    )
    mind.remember(["Dora"], "Dora is another.")
    given, cursor, marks = [], None, []
    while True:
        page = mind.read_unseen(names, cursor=cursor, max_tokens=200)
        given += [each.content for each in page.observations]
        marks.append(page.seen_through_id)
        if (cursor := page.cursor) is None:
            break
    assert given == [f"Fact {n} of many." for n in range(40)]
    assert len(marks) > 3
    assert marks == sorted(marks)
    late = other.remember(names, "It came after the last page.")
    mind.create_understanding(names, "Facts.", "Facts", seen_through_id=marks[-1])
    assert [each.id for each in mind.read_unseen(names).observations] == [late.id]


@pytest.mark.promise("semantic.read-unseen")
def test_observations_that_became_new_at_once_are_given_on_several_pages(mind: Semantic, other: Semantic) -> None:
    drafts = [NewObservation(subject_names=("Anne",), content=f"Fact {n} of many.") for n in range(18)]
    other.add_observations(drafts)
    other.remember(["Ann"], "Ann sails.")
    # A merge makes all observations of the duplicate new to the other subject, at the same id.
    other.merge_subjects("Ann", "Anne")
    mind.begin_consolidation()
    page = mind.read_unseen(["Ann"], max_tokens=200)
    mind.create_understanding(["Ann"], "Ann sails.", "Sails")
    seen = {each.content for each in page.observations}
    assert {each.content for each in drafts} - seen <= set(texts(mind, "Ann"))
    given, cursor = [], None
    while True:
        page = mind.read_unseen(["Ann"], cursor=cursor, max_tokens=200)
        given += [each.content for each in page.observations]
        if (cursor := page.cursor) is None:
            break
    assert len(given) == len(set(given)) >= 17


@pytest.mark.promise("semantic.read-unseen")
def test_a_page_names_what_is_understood_and_what_to_read_first(mind: Semantic) -> None:
    mind.remember(["Ann"], "Ann sails.")
    written = mind.create_understanding(["Ann"], "Ann sails.", "A sailor")
    linked = mind.remember(["Ann"], "Ann sold the boat.", kind="fact", related_to=[written.id])
    page = mind.read_unseen(["Ann"])
    assert page.understanding is not None
    assert (page.understanding.id, page.understanding.version, page.understanding.summary) == (
        written.id,
        1,
        "A sailor",
    )
    assert page.linked_observation_ids == (linked.id,)
    (only,) = page.observations
    assert (only.id, only.kind, only.superseded_at) == (linked.id, "fact", None)


def test_a_wrong_cursor_is_rejected_and_a_skipping_one_covers_nothing(mind: Semantic, other: Semantic) -> None:
    other.add_observations([NewObservation(subject_names=("Ann",), content=f"Fact {n}.") for n in range(12)])
    for wrong in ("", "7", "x.y", "1.2.3"):
        with pytest.raises(Rejected, match="cursor"):
            mind.read_unseen(["Ann"], cursor=wrong)
    with pytest.raises(NotFound):
        mind.read_unseen(["Nobody"])
    page = other.read_unseen(["Ann"], max_tokens=200)
    mind.read_unseen(["Ann"], cursor=page.cursor)
    mind.create_understanding(["Ann"], "Facts.", "Facts")
    assert len(texts(mind, "Ann")) == 12, "it was given only the end"


@pytest.mark.promise("semantic.uncited-stays")
def test_an_uncited_observation_stays_in_the_report_until_it_is_cited_or_dismissed(mind: Semantic) -> None:
    one, two, three = (mind.remember(["Ann"], f"Ann's fact {n}.") for n in range(3))
    written = mind.create_understanding(["Ann"], "A fact.", "A fact", source_observation_ids=[one.id])
    assert waiting(mind) == set()
    assert unlinked(mind) == {two.id, three.id}
    new = mind.update_understanding(written.id, "Two.", "Two", dismissed_observation_ids=[two.id])
    assert unlinked(mind) == {three.id}
    mind.update_understanding(new.new_understanding_id, "All.", "All", source_observation_ids=[three.id])
    assert unlinked(mind) == set()


@pytest.mark.promise("semantic.uncited-stays")
def test_a_review_dismisses_what_it_read_and_nothing_else(mind: Semantic) -> None:
    mind.remember(["Ann"], "Ann sails.")
    shared = mind.remember(["Ann", "Bo"], "Ann and Bo sail.")
    begun = mind.begin_consolidation()
    late = mind.remember(["Ann"], "Ann sold the boat.")
    mind.finish_consolidation(begun.generation, "Ann needs no change.", ["Ann"])
    assert unlinked(mind) == {shared.id, late.id}, "Bo was not reviewed, and the boat came later"
    begun = mind.begin_consolidation()
    mind.finish_consolidation(begun.generation, "Done.", dismissed_observation_ids=[shared.id, late.id])
    assert unlinked(mind) == set()


# The report


@pytest.mark.promise("semantic.report-is-true")
def test_left_off_counts_what_every_list_left_off(mind: Semantic) -> None:
    mind.add_observations([NewObservation(subject_names=("Ann",), content=f"Fact {n}.") for n in range(60)])
    report = mind.begin_consolidation().report
    assert (len(report.unlinked_observations), report.left_off) == (20, 40)
    for limit in (1, 7, 60):
        report = mind.get_consolidation_report(limit=limit)
        assert _entries(report) + report.left_off == _entries(mind.get_consolidation_report(limit=10_000))


def _entries(report: ConsolidationReport) -> int:
    lists = (getattr(report, name) for name in report.__slots__ if name != "soul_hints")
    return sum(len(each) for each in lists if isinstance(each, tuple))


@pytest.mark.promise("semantic.report-is-true")
def test_after_a_pass_only_what_it_did_not_read_is_recent(mind: Semantic, other: Semantic) -> None:
    for name in ("Ann", "Bo", "Cleo"):
        mind.remember([name], f"{name} sails.")
    begun = mind.begin_consolidation()
    other.remember(["Bo"], "Bo sold the boat.")
    other.remember(["Cleo"], "Cleo bought it.")
    mind.read_unseen(["Cleo"])
    for name in ("Ann", "Bo", "Cleo"):
        mind.create_understanding([name], f"{name} sails.", "Sails")
    mind.finish_consolidation(begun.generation, "All.")
    recent = mind.orient().recent_activity
    assert recent is not None
    assert recent.subjects_with_new_understandings == ()
    assert recent.subjects_with_new_observations == ("Bo",)
    mind.create_understanding(["Ann"], "Ann is a sailor.", "A sailor")
    recent = mind.orient().recent_activity
    assert recent is not None
    assert recent.subjects_with_new_understandings == ("Ann",)
