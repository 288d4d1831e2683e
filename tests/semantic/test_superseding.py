"""Evidence that no longer holds is superseded and stays: the present does not show it, history does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest

from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Scope
from everloom.loom import Loom
from everloom.semantic import Lesson, NewObservation, Semantic
from everloom.semantic.consolidation.material import evidence_of, line_of
from everloom.semantic.evidence import learn
from everloom.semantic.results import Learnt, Observation

Later = Callable[..., datetime]
PARIS, LYON = "James lives in Paris.", "James lives in Lyon."


def fact(content: str, *names: str) -> NewObservation:
    return NewObservation(subject_names=names or ("James",), content=content, kind="fact")


def moved(loom: Loom, old: int, *names: str) -> int:
    """Learn that James lives in Lyon instead."""
    op = loom.workspace("james").op
    (learnt,) = learn(op, [Lesson(observation=fact(LYON, *names), instead_of=old)], [])
    assert learnt.added is not None
    return learnt.added.id


def gone(loom: Loom, old: int) -> None:
    """Learn that something no longer holds."""
    learn(loom.workspace("james").op, [Lesson(instead_of=old)], [])


@pytest.mark.promise("semantic.superseded-evidence")
def test_a_superseded_observation_leaves_the_present_and_stays_in_history(
    loom: Loom, mind: Semantic, later: Later
) -> None:
    old = mind.remember(["James"], PARIS, kind="fact").id
    before = later(days=1)
    later(days=1)
    new = moved(loom, old)
    place = loom.workspace("james")
    assert [hit.id for hit in place.search("Where does James live?")] == [new]
    assert [hit.id for hit in place.search("Where does James live?", within=Scope(as_of=before))] == [old]
    kept = mind.show(old)
    assert isinstance(kept, Observation)
    assert (kept.content, kept.superseded_by, kept.superseded_at) == (PARIS, new, loom.clock.now())
    shown = place.show(old)
    assert (shown.retired_by, shown.retired_at) == (new, loom.clock.now())
    assert old in {reason.id for reason in place.why(new).because}
    assert [each.id for each in mind.list_observations(["James"])] == [old, new]
    assert [each.id for each in mind.recall("James").recent_observations] == [new]  # type: ignore[union-attr]
    assert [hit.id for hit in mind.query_observations(["James"], "Paris or Lyon")] == [new]


@pytest.mark.promise("semantic.superseded-evidence")
def test_what_was_understood_from_it_is_stale_and_shown_what_changed(loom: Loom, mind: Semantic, later: Later) -> None:
    old = mind.remember(["James", "Paris"], PARIS, kind="fact").id
    written = [
        mind.create_understanding([name], f"{name} {number}", "where", source_observation_ids=[old])
        for number, name in enumerate(["James", "Paris"])
    ]
    mind.create_understanding(["James", "Paris"], "James lives there.", "home", source_observation_ids=[old])
    assert mind.get_pending_consolidation() == ()
    later(days=1)
    gone(loom, old)
    report = mind.get_consolidation_report()
    assert {each.id for each in report.stale_understandings} == {each.id for each in written}
    assert [(each.subject_a, each.subject_b) for each in report.intersections_needing_synthesis] == [("James", "Paris")]
    assert report.unlinked_observations == ()
    with loom.store.read(loom.workspace("james").info.id) as unit:
        row = unit.all("semantic.subject_waiting")[0]
        (fresh,) = evidence_of(
            unit, unit.all("consolidation.subject_fresh", subject=row["id"], after=row["settled_through"])
        )
    assert "no longer so since 2026-11-03" in line_of(fresh, loom.workspace("james").info.zone)
    assert mind.show(written[0].id).source_observation_ids == (old,)  # type: ignore[union-attr]


@pytest.mark.promise("semantic.superseded-evidence")
def test_what_ceased_to_hold_can_be_said_again(loom: Loom, mind: Semantic) -> None:
    first = mind.remember(["James"], PARIS, kind="fact").id
    second = moved(loom, first)
    again = mind.remember(["James"], PARIS, kind="fact")
    assert not again.duplicate
    assert again.id not in (first, second)
    assert {hit.id for hit in loom.workspace("james").search("James lives")} == {second, again.id}


def test_links_follow_to_what_holds_now(loom: Loom, mind: Semantic) -> None:
    mind.remember(["James"], "James travels a lot.")
    understanding = mind.create_understanding(["James"], "James travels.", "travels").id
    old = mind.remember(["James"], PARIS, kind="fact", related_to=[understanding]).id
    new = moved(loom, old)
    shown = mind.show(understanding)
    assert [each.id for each in shown.linked_observations] == [new]  # type: ignore[union-attr]


@pytest.mark.promise("semantic.superseded-evidence")
def test_superseding_is_all_or_nothing_and_happens_once(loom: Loom, mind: Semantic) -> None:
    op = loom.workspace("james").op
    old = mind.remember(["James"], PARIS, kind="fact").id

    def fails(_tx: Transaction, _learnt: Sequence[Learnt]) -> None:
        raise Conflict("somebody was faster")

    with pytest.raises(Conflict):
        learn(op, [Lesson(observation=fact(LYON), instead_of=old), Lesson(observation=fact("x y"))], [], fails)
    assert [each.superseded_at for each in mind.list_observations(["James"])] == [None]
    gone(loom, old)
    with pytest.raises(Conflict, match="already superseded"):
        gone(loom, old)
    with pytest.raises(NotFound):
        gone(loom, 4_000)
    with pytest.raises(NotFound):
        learn(op, [Lesson(observation=fact(LYON))], [4_000])
    subject = mind.get_subjects(["James"])[0].id
    with pytest.raises(Rejected):
        gone(loom, subject)
    with pytest.raises(Rejected):
        learn(op, [Lesson()], [])
    with pytest.raises(Rejected):
        learn(op, [Lesson(instead_of=old), Lesson(instead_of=old)], [])


def test_history_is_not_taken_back(loom: Loom, mind: Semantic) -> None:
    old = mind.remember(["James"], PARIS, kind="fact").id
    op = loom.workspace("james", session="monday").op
    (learnt,) = learn(op, [Lesson(observation=fact(LYON), instead_of=old)], [])
    assert learnt.added is not None
    taken = mind.delete_observations([old, learnt.added.id])
    assert taken.deleted == ()
    assert len(taken.rejected) == 2
