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


def test_what_is_nearer_than_a_cosine_is_found_nearest_first_whatever_words_it_shares(workspace: Workspace) -> None:
    texts = ["Audrey paints boats.", "Audrey paints a house.", "The bank by the river is closed."]
    (near, farther, far) = workspace.add([note(text) for text in texts])
    finder, home, question = workspace.op.finder, workspace.info.id, "Audrey paints boats"
    everything = finder.nearest(home, question, lambda *_: -1.0, limit=3).similar
    assert list(everything) == [near, farther, far]
    bound = everything[farther] - 0.01
    assert list(finder.nearest(home, question, lambda *_: bound, limit=3).similar) == [near, farther]
    assert list(finder.nearest(home, question, lambda *_: bound, limit=1).similar) == [near]
    assert finder.nearest(home, question, lambda *_: 1.01, limit=3).similar == {}
    assert list(finder.nearest(home, question, lambda *_: -1.0, limit=3, among=[far]).similar) == [far]


def test_a_cosine_is_demanded_of_the_model_that_answers_and_looked_for_no_further(workspace: Workspace) -> None:
    ids = workspace.add([note(f"Boat number {count} sails from harbour {count * 7}.") for count in range(MANY)])
    allowed = set(ids[-3:])
    asked: list[int] = []

    def where(_: Unit, candidates: Sequence[int]) -> set[int]:
        asked.extend(candidates)
        return allowed & set(candidates)

    models: list[str] = []

    def bound(_: Unit, model: str) -> float:
        models.append(model)
        return 1.01

    finder, home = workspace.op.finder, workspace.info.id
    assert finder.nearest(home, "boat sails harbour", bound, limit=3, where=where).similar == {}
    assert models == [workspace.loom.embedding.preferred]
    assert asked == []
    found = finder.nearest(home, "boat sails harbour", lambda *_: -1.0, limit=3, where=where).similar
    assert set(found) == allowed


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
