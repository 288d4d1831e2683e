"""How memories fade and stay in reach: the table, the archive, used recalls, and memories without a record."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.errors import Forbidden
from everloom.graph import Graph
from everloom.graph.index.decay import RETIRED
from everloom.graph.kinds import KINDS
from everloom.graph.results import TagCount
from everloom.kernel.lifecycle import Vigour, lent_days, strength_after_days, vigour
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Index, Prepared
from everloom.loom import Loom, Workspace
from tests.graph.ground import NOW, assert_agreement, keep, memory_text, text_of, write


@pytest.mark.promise("graph.5-decay")
def test_the_decay_table_at_its_boundaries(graph: Graph, clock: ManualClock) -> None:
    weights = {"procedure": 1.4, "decision": 1.3, "insight": 1.25, "solution": 1.2, "code_pattern": 1.1}
    weights |= {"configuration": 1.1, "fix": 1.0, "workflow": 1.0, "problem": 0.9, "error": 0.8, "general": 0.8}
    assert {name: kind.weight for name, kind in KINDS.items()} == weights
    assert strength_after_days(0.8, 0, 0, 1.2) == pytest.approx(0.48)
    assert strength_after_days(0.8, 30, 5, 1.2) == pytest.approx(0.8 * math.exp(-0.9) * math.log2(6) * 1.2)
    bounds = {0.5: Vigour.ACTIVE, 0.2: Vigour.FADING, 0.05: Vigour.DORMANT, 0.0499999: Vigour.ARCHIVED}
    assert {bound: vigour(bound) for bound in bounds} == bounds
    stored = keep(graph, "Fixed it", "solution", importance=0.8)
    assert graph.recent()[0].decay_score == pytest.approx(0.48)
    clock.advance(timedelta(days=10))
    assert graph.recent()[0].decay_score == pytest.approx(0.48 * math.exp(-0.3))
    assert graph.get(stored.id).decay_score == pytest.approx(0.8 * 1.2)
    clock.advance(timedelta(days=10))
    assert graph.recent()[0].decay_score == pytest.approx(0.96 * math.exp(-0.3))


@pytest.mark.promise("graph.5-decay")
def test_get_counts_as_access_and_recall_does_not(graph: Graph) -> None:
    stored = keep(graph, "Tide tables")
    for _ in range(3):
        graph.recall("tide tables")
        graph.search(query="tide")
    assert graph.get(stored.id).access_count == 1
    assert graph.get(stored.id).access_count == 2


def strength(graph: Graph, title: str) -> float:
    """Read a memory's strength without using it."""
    return next(each.decay_score for each in graph.search(limit=100).memories if each.title == title)


@pytest.mark.promise("graph.5-recall-lends")
def test_a_recall_that_is_used_lends_three_days_and_thirty_in_all(graph: Graph, clock: ManualClock) -> None:
    assert [lent_days(days, lent) for days, lent in ((10, 0), (2, 0), (40, 29), (40, 30), (1, 5))] == [3, 2, 30, 30, 5]
    keep(graph, "Tide tables", "fix", importance=0.8)
    keep(graph, "Sourdough needs a warm night", "fix", importance=0.8)
    clock.advance(timedelta(days=20))
    faded = 0.4 * math.exp(-0.03 * 20)
    # Listing, looking and asking for something else are no use; nor is what a question only comes near to.
    graph.search(query="tide tables")
    graph.recent()
    graph.recall("Who is the prime minister of Japan?")
    assert strength(graph, "Tide tables") == pytest.approx(faded)
    graph.recall("tide tables")
    assert strength(graph, "Tide tables") == pytest.approx(0.4 * math.exp(-0.03 * 17))
    assert strength(graph, "Sourdough needs a warm night") == pytest.approx(faded)
    for _ in range(60):
        clock.advance(timedelta(days=2))
        graph.recall("tide tables")
    # 140 days have passed, and no number of recalls makes it more than thirty fewer.
    assert strength(graph, "Tide tables") == pytest.approx(0.4 * math.exp(-0.03 * 110))
    (found,) = graph.recall("tide tables").memories
    assert found.status == "archived"
    read = graph.get(found.id)
    assert read.access_count == 1
    assert read.decay_score == pytest.approx(0.8)
    clock.advance(timedelta(days=10))
    graph.recall("tide tables")
    assert strength(graph, "Tide tables") == pytest.approx(0.8 * math.exp(-0.03 * 7))


@pytest.mark.promise("graph.5-read-only")
def test_who_may_only_read_counts_nothing(loom: Loom, graph: Graph, clock: ManualClock) -> None:
    stored = keep(graph, "Tide tables", "fix", importance=0.8)
    clock.advance(timedelta(days=10))
    guest = loom.workspace(refusal=Forbidden("only reads")).graph
    for _ in range(3):
        assert guest.recall("tide tables").memories
        assert guest.search(query="tide tables").memories
        assert guest.get(stored.id).access_count == 0
    assert strength(graph, "Tide tables") == pytest.approx(0.4 * math.exp(-0.3))
    with loom.store.read(loom.workspace().info.id) as unit:
        assert unit.all("kernel.access_of", ids=[stored.item]) == []


@pytest.mark.promise("graph.5-archived")
def test_an_archived_memory_that_answers_is_found_below_others_and_marked(
    workspace: Workspace, graph: Graph, clock: ManualClock
) -> None:
    old = keep(graph, "Old anchor winch", "problem", tags=("winch",), content="The anchor winch is stuck.")
    clock.advance(timedelta(days=200))
    new = keep(graph, "New anchor winch", "fix", tags=("winch",), content="The anchor winch is stuck.", connect=True)
    # Nobody asked for it, so it is not related to anything by itself.
    assert new.auto_edges == ()
    both = [(new.id, "fading"), (old.id, "archived")]
    for settled in (False, True):
        found = {
            "recall": graph.recall("anchor winch").memories,
            "search": graph.search(query="anchor winch").memories,
            "filter": graph.search(tags=("winch",)).memories,
        }
        assert {path: [(each.id, each.status) for each in each] for path, each in found.items()} == dict.fromkeys(
            found, both
        )
        hits = workspace.search("anchor winch")
        assert [(hit.id, hit.is_archived) for hit in hits] == [(new.item, False), (old.item, True)]
        assert "it is archived: nobody has read it for long: × 0.50" in hits[1].explain()
        if not settled:
            decayed = graph.decay()
            assert (decayed.archived, decayed.counts["archived"]) == (1, 1)
    assert [each.id for each in graph.recent()] == [new.id]
    first = graph.search(tags=("winch",), limit=1).memories[0]
    assert [each.id for each in graph.search(tags=("winch",), beyond=first.id).memories] == [old.id]
    assert graph.search(tags=("winch",), beyond=old.id).memories == ()
    assert graph.tags() == [TagCount("winch", 1)]
    assert "Old" not in graph.core().text + graph.reflection().text
    graph.relate(new.id, old.id, "SOLVES")
    assert [(each.memory.id, each.memory.status) for each in graph.related(new.id)] == [(old.id, "archived")]
    # What only the archived one can answer is answered by it.
    keep(graph, "Bread", content="Sourdough needs a warm night.")
    assert graph.recall("why is the old anchor winch stuck?").memories[0].id in {old.id, new.id}
    graph.get(old.id)
    assert graph.get(old.id).status != "archived"
    assert graph.decay().revived == 0


@pytest.mark.promise("graph.5-archived")
def test_an_archived_memory_that_answers_better_comes_first(graph: Graph, clock: ManualClock) -> None:
    old = keep(graph, "Capstan", content="The capstan is greased with lanolin before every winter.")
    clock.advance(timedelta(days=300))
    keep(graph, "Mast", content="The mast is varnished in spring.")
    first = graph.recall("With what is the capstan greased before winter?").memories[0]
    assert (first.id, first.status, first.fits) == (old.id, "archived", True)


@pytest.mark.promise("graph.5-unknown-use")
def test_what_comes_without_a_record_of_its_use_begins_dormant_and_fades_from_there(
    loom: Loom, graph: Graph, clock: ManualClock
) -> None:
    dates = {
        "Old": "created: 2024-01-01T00:00:00+00:00\n",
        "Changed": "created: 2024-01-01T00:00:00+00:00\nupdated: 2026-11-14T09:30:00+00:00\n",
        "Young": "created: 2026-11-05T09:30:00+00:00\n",
    }
    for title, lines in dates.items():
        write(graph, f"graph/fixes/{title}.md", memory_text(title.lower(), title, "fix", lines))
    graph.follow()
    days = {"Old": 30, "Changed": 1, "Young": 10}
    for title, passed in days.items():
        assert strength(graph, title) == pytest.approx(0.3 * math.exp(-0.03 * passed)), title
    assert graph.decay().counts["archived"] == 0
    clock.advance(timedelta(days=40))
    assert graph.decay().counts == {"active": 0, "fading": 0, "dormant": 2, "archived": 1}
    # Reading the file again is not coming here again.
    write(graph, "graph/fixes/Old.md", memory_text("old", "Old", "fix", dates["Old"], "Another text."), age=50)
    graph.follow()
    assert strength(graph, "Old") == pytest.approx(0.3 * math.exp(-0.03 * 70))
    assert graph.get("old").access_count == 1
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.5-decay")
def test_the_last_access_counts_also_if_none_was_counted(
    workspace: Workspace, graph: Graph, clock: ManualClock
) -> None:
    stored = keep(graph, "Fixed it", "fix", importance=0.8)
    state = {"access_count": 0, "last_accessed": (NOW + timedelta(days=8)).isoformat(), "decay_score": 0.1}
    write(
        graph, "_state.json", f'{{"version": 1, "entries": {{"{stored.id}": {str(state).replace(chr(39), chr(34))}}}}}'
    )
    clock.advance(timedelta(days=10))
    # A pin and a verdict are no access.
    workspace.pin(stored.item)
    workspace.pin(stored.item, pinned=False)
    workspace.mark(stored.item, "questionable")
    assert strength(graph, "Fixed it") == pytest.approx(0.4 * math.exp(-0.3))
    assert graph.import_directory(graph.directory).states == 1
    assert strength(graph, "Fixed it") == pytest.approx(0.4 * math.exp(-0.06))
    graph.reindex(write_json=True)
    assert (NOW + timedelta(days=8)).isoformat() in text_of(graph, "_state.json")


def retire(loom: Loom, graph: Graph, item: int, at: datetime) -> None:
    """Archive a memory as earlier versions did: no search of the present covers its document."""
    with graph.op.write("test") as transaction:
        loom.index.retire(transaction.unit, [item], None, datetime(9999, 1, 1, tzinfo=at.tzinfo))
        transaction.unit.run("graph.memory_archive", ids=[item], archived=RETIRED)


@pytest.mark.promise("graph.5-decay")
def test_the_vault_does_not_fade(loom: Loom, graph: Graph, clock: ManualClock) -> None:
    stored = keep(graph, "For ever", "error", importance=0.1)
    pinned = graph.pin(stored.id)
    assert pinned.path.startswith("vault/")
    clock.advance(timedelta(days=4000))
    assert graph.decay().counts["archived"] == 0
    assert graph.recall("for ever").memories[0].decay_score == 999.0
    assert graph.unpin(stored.id).path.startswith("graph/errors/")
    assert graph.recall("for ever").memories[0].status == "archived"
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.5-archived")
@pytest.mark.parametrize("way", ["get", "decay"])
def test_what_an_earlier_version_archived_is_found_again_by_all_it_tells(
    loom: Loom, workspace: Workspace, graph: Graph, clock: ManualClock, way: str
) -> None:
    stored = keep(graph, "Old capstan", "procedure", tags=("deck",), steps=("Grease it",), importance=0.3)
    op = loom.operation(workspace.info)
    with op.write("test") as transaction:
        (document,) = loom.index.documents(transaction.unit, [stored.item]).values()
        detailed = replace(document, details="It once belonged to a barque.")
        loom.index.revise(transaction.unit, stored.item, loom.index.prepare([detailed]), clock.now())
    clock.advance(timedelta(days=200))
    retire(loom, graph, stored.item, clock.now())
    assert workspace.search("barque") == ()
    if way == "get":
        graph.get(stored.id)
    else:
        decayed = graph.decay()
        assert (decayed.archived, decayed.revived, decayed.counts["archived"]) == (0, 0, 1)
    with op.read() as unit:
        assert loom.index.documents(unit, [stored.item]) == {stored.item: detailed}
    assert [hit.id for hit in workspace.search("barque")] == [stored.item]


@pytest.mark.promise("graph.5-archived")
@pytest.mark.parametrize("way", ["get", "edit", "merge", "decay"])
def test_no_vector_is_made_while_a_transaction_is_open(
    loom: Loom, graph: Graph, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    old, other = keep(graph, "Rusty capstan", "problem"), keep(graph, "Capstan again", "problem")
    for _ in range(4):
        graph.get(other.id)
    clock.advance(timedelta(days=70))
    retire(loom, graph, old.item, clock.now())
    open_writes: list[str] = []
    prepared: list[int] = []

    @contextmanager
    def noted_write(op: Operation, name: str, **how: Any) -> Iterator[Transaction]:
        with original_write(op, name, **how) as transaction:
            open_writes.append(name)
            yield transaction
            open_writes.pop()

    def noted_prepare(index: Index, documents: Iterable[Document]) -> Prepared:
        ready = tuple(documents)
        prepared.append(len(ready))
        assert open_writes == []
        return original_prepare(index, ready)

    original_write, original_prepare = Operation.write, Index.prepare
    monkeypatch.setattr(Operation, "write", noted_write)
    monkeypatch.setattr(Index, "prepare", noted_prepare)
    match way:
        case "get":
            graph.get(old.id)
        case "edit":
            fresh = clock.now().isoformat(timespec="seconds")
            text = re.sub(r"updated: .*", f"updated: {fresh}", text_of(graph, old.path))
            write(graph, old.path, text)
            graph.follow()
        case "merge":
            graph.merge(old.id, other.id)
        case _:
            # Somebody used it by way of the whole loom, which knows nothing of archives.
            loom.workspace().show(old.item)
            loom.workspace().show(old.item)
            assert graph.decay().revived == 1
    assert sum(prepared) >= 1
    assert old.item in {hit.id for hit in loom.workspace().search("rusty capstan")}
    assert_agreement(loom, graph)
