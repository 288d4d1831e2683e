"""The one search over a chosen set, behind a filter or a cosine; and documents that are relabelled or come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from everloom.clock import ManualClock
from everloom.kernel.search import Scope
from everloom.kernel.trust.origin import OriginKind
from everloom.loom import Workspace
from everloom.store import Ids, Unit
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

    def where(unit: Unit, candidates: Ids) -> Callable[[], set[int]]:
        rows = unit.ask("kernel.item_kinds", ids=candidates)

        def wanted() -> set[int]:
            asked.extend(row["id"] for row in rows.get())
            return allowed.intersection(asked)

        return wanted

    found = workspace.op.search("boat sails harbour", where=where, limit=3).hits
    assert {item for hit in found for item in (hit.id, *hit.also)} <= allowed
    assert len(found) == 3
    assert allowed < set(asked)


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
        # What is added as it is came from elsewhere, and is remembered with that origin.
        kept = replace(whole, labels=("Corsica",), origin="import", trust=OriginKind.IMPORT.rank)
        assert op.index.documents(unit, [item]) == {item: kept}
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
