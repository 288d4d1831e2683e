"""The one search over a chosen set, behind a filter or a cosine; and documents that are relabelled or come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from everloom.clock import ManualClock
from everloom.kernel.search import Scope
from everloom.loom import Workspace
from everloom.store import Unit
from tests.store.ground import NOW, assert_agreement, note, retire

# More notes than a first look brings, so that a filter which lets only the last ones through must widen the search.
MANY = 400


def test_a_chosen_set_is_ranked_whole_and_nothing_else_is_answered(workspace: Workspace) -> None:
    ids = workspace.add([note(f"The harbour has {count} boats and a crane.") for count in range(MANY)])
    chosen = [ids[3], ids[-1]]
    found = workspace.op.search("boats in the harbour", among=chosen, limit=10).hits
    assert {hit.id for hit in found} <= set(chosen)
    assert {item for hit in found for item in (hit.id, *hit.also)} == set(chosen)
    assert workspace.op.search("boats in the harbour", among=[], limit=10).hits == ()


@pytest.mark.promise("search.leaving-out")
def test_a_filter_is_asked_until_the_page_is_full(workspace: Workspace) -> None:
    texts = [f"Boat number {count} sails from harbour {count * 7}." for count in range(MANY)]
    ids = workspace.add([note(text) for text in texts])
    allowed = set(ids[-3:])
    asked: list[int] = []

    def where(_: Unit, candidates: Sequence[int]) -> set[int]:
        asked.extend(candidates)
        return allowed & set(candidates)

    found = workspace.op.search("boat sails harbour", where=where, limit=3).hits
    assert {item for hit in found for item in (hit.id, *hit.also)} <= allowed
    assert len(found) == 3
    assert allowed < set(asked)


def test_a_cosine_that_is_demanded_keeps_what_only_shares_words_away(workspace: Workspace) -> None:
    (near, far) = workspace.add([note("Audrey paints boats."), note("The bank by the river is closed.")])
    question = "Audrey paints boats"
    nearest = workspace.op.search(question, limit=2).hits[0]
    assert nearest.id == near
    assert nearest.similarity is not None
    assert [hit.id for hit in workspace.op.search(question, nearer_than=nearest.similarity - 0.01).hits] == [near]
    assert workspace.op.search(question, nearer_than=1.01).hits == ()
    assert workspace.op.search("bank", nearer_than=-1.0, among=[far]).hits[0].id == far


def test_a_cosine_may_be_demanded_of_the_model_that_answers_and_is_looked_for_no_further(workspace: Workspace) -> None:
    workspace.add([note(f"Boat number {count} sails from harbour {count * 7}.") for count in range(MANY)])
    asked: list[int] = []

    def where(_: Unit, candidates: Sequence[int]) -> set[int]:
        asked.extend(candidates)
        return set()

    models: list[str] = []

    def bound(_: Unit, model: str) -> float:
        models.append(model)
        return 1.01

    assert workspace.op.search("boat sails harbour", where=where, nearer_than=bound).hits == ()
    assert models == [workspace.loom.embedding.preferred]
    assert asked == []


@pytest.mark.promise("search.details")
def test_details_stay_findable_when_labels_change_and_when_a_document_comes_back(
    workspace: Workspace, store_url: str, clock: ManualClock
) -> None:
    whole = note("A day at sea.", labels=("Elba",), context="before that", details="a lighthouse")
    (item,) = workspace.add([whole])
    op = workspace.op
    with op.write("relabel") as write:
        op.index.relabel(write.unit, {item: ("Corsica",)})
    assert [hit.id for hit in workspace.search("lighthouse")] == [item]
    assert [hit.id for hit in workspace.search("Corsica")] == [item]
    with op.read() as unit:
        assert op.index.documents(unit, [item]) == {item: replace(whole, labels=("Corsica",))}
        assert op.index.texts(unit, [item, item + 1000]) == {item: "A day at sea."}
    retire(workspace, item)
    assert not workspace.search("lighthouse")
    with op.read() as unit:
        prepared = op.index.prepare(op.index.documents(unit, [item]).values())
    with op.write("revive") as write:
        op.index.revive(write.unit, [item], prepared, write.at)
    assert [hit.id for hit in workspace.search("lighthouse")] == [item]
    assert [hit.id for hit in workspace.search("a day at sea", within=Scope(as_of=NOW))] == [item]
    assert_agreement(store_url)
