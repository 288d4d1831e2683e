"""The rules of the graph, each on both engines: relations, decay, recall, auto-edges, episodes."""

from __future__ import annotations

import shutil
from datetime import timedelta
from itertools import pairwise

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, NotFound, ProviderBusy, Rejected
from everloom.graph import Graph
from everloom.graph.operations.suggestions import choose_links
from everloom.graph.results import MemoryBrief
from everloom.loom import Loom, Workspace
from tests.graph.ground import NOW, assert_agreement, assert_two_sided, files_say, keep, text_of, write


@pytest.mark.promise("graph.2-relate")
def test_relate_writes_the_edge_and_both_sides_and_the_same_again_changes_it(loom: Loom, graph: Graph) -> None:
    one, other = keep(graph, "Keepalive", "solution"), keep(graph, "Drops", "problem")
    first = graph.relate(one.id, other.id, "SOLVES", strength=0.8, context='idle: "quiet" \\ lines')
    assert first.created
    assert first.edge.path == f"graph/edges/keepalive--SOLVES--drops-{first.edge.id[:6]}.md"
    for stored, direction, target in ((one, "outgoing", other.id), (other, "incoming", one.id)):
        (side,) = graph.get(stored.id).relations
        assert (side.target, side.type, side.direction, side.strength) == (target, "SOLVES", direction, 0.8)
        assert (side.context, side.edge_id) == ('idle: "quiet" \\ lines', first.edge.id)
    again = graph.relate(one.id, other.id, "SOLVES", strength=0.9)
    assert not again.created
    assert again.edge.id == first.edge.id
    assert [side.strength for side in graph.get(other.id).relations] == [0.9]
    assert graph.get(other.id).relations[0].context == 'idle: "quiet" \\ lines'
    assert len(graph.edge_search()) == 1
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.2-relate")
def test_a_missing_target_is_an_error_and_writes_nothing(loom: Loom, graph: Graph) -> None:
    one = keep(graph, "Keepalive", "solution")
    before = text_of(graph, one.path)
    for target in ("00000000-0000-0000-0000-000000000000", "nowhere"):
        with pytest.raises(NotFound):
            graph.relate(one.id, target, "SOLVES")
    with pytest.raises(Rejected):
        graph.relate(one.id, one.id, "SOLVES")
    with pytest.raises(Rejected):
        graph.relate(one.id, one.id, "LIKES")  # type: ignore[arg-type]
    assert text_of(graph, one.path) == before
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.2-delete")
def test_delete_removes_the_file_its_edges_and_the_other_sides(loom: Loom, graph: Graph) -> None:
    hub, one, other = (keep(graph, title) for title in ("Hub", "One", "Other"))
    graph.relate(hub.id, one.id, "CAUSES")
    graph.relate(other.id, hub.id, "REQUIRES")
    kept = graph.relate(one.id, other.id, "FOLLOWS")
    deleted = graph.delete(hub.id)
    assert len(deleted.edges) == 2
    assert set(deleted.other_sides) == {one.id, other.id}
    assert not (graph.directory / hub.path).exists()
    assert [edge.id for edge in graph.edge_search()] == [kept.edge.id]
    assert [side.target for side in graph.get(one.id).relations] == [other.id]
    with pytest.raises(NotFound):
        graph.get(hub.id)
    assert graph.recall("hub").memories == () or hub.id not in {each.id for each in graph.recall("hub").memories}
    assert_agreement(loom, graph)
    assert_two_sided(graph)


@pytest.mark.promise("graph.2-reindex-repairs")
def test_reindex_completes_one_sided_relations_and_says_so(loom: Loom, graph: Graph) -> None:
    one, other = keep(graph, "One"), keep(graph, "Other")
    edge = graph.relate(one.id, other.id, "CAUSES").edge
    whole = text_of(graph, other.path)
    file = graph.directory / other.path
    file.write_text(whole[: whole.index("relations:")] + whole[whole.index("---", 4) :])
    report = graph.reindex()
    assert report.repaired == (f"{other.path}: incoming CAUSES {one.id}",)
    assert graph.get(other.id).relations[0].edge_id == edge.id
    assert_two_sided(graph)
    assert_agreement(loom, graph)
    assert graph.reindex().repaired == ()


@pytest.mark.promise("graph.2-reindex-repairs")
def test_the_index_can_be_made_from_the_files_alone(loom: Loom, graph: Graph) -> None:
    one, other = keep(graph, "One", tags=("a", "b")), keep(graph, "Other", "decision", importance=0.9)
    graph.relate(one.id, other.id, "CAUSES", strength=0.7)
    copy = graph.directory.with_name("copy")
    shutil.copytree(graph.directory, copy)
    afresh = loom.workspace("another").graphs.create("copy", copy)
    assert {each.id for each in afresh.recent()} == {one.id, other.id}
    assert afresh.get(other.id).relations == graph.get(other.id).relations
    assert afresh.stats().by_type == graph.stats().by_type


@pytest.mark.promise("graph.2-edge-names")
def test_the_file_of_an_edge_follows_its_type(loom: Loom, graph: Graph) -> None:
    one, two = keep(graph, "Keepalive", "solution"), keep(graph, "Drops", "problem")
    drawn = graph.relate(one.id, two.id, "SOLVES", description="It keeps idle lines open.")
    write(
        graph, drawn.edge.path, text_of(graph, drawn.edge.path).replace("---\n", "---\nmood: calm  # mine\n", 1), age=50
    )
    graph.follow()
    changed = graph.edge_update(drawn.edge.id, type="REQUIRES").edge
    assert changed.path == drawn.edge.path.replace("SOLVES", "REQUIRES")
    assert not (graph.directory / drawn.edge.path).exists()
    assert "mood: calm  # mine" in text_of(graph, changed.path)
    assert graph.edge_get(drawn.edge.id).type == "REQUIRES"
    # A type that was changed by hand is followed by reindexing; a name that a person chose stays.
    write(graph, changed.path, text_of(graph, changed.path).replace("REQUIRES", "FOLLOWS"), age=40)
    graph.follow()
    assert f"renamed to {drawn.edge.path.replace('SOLVES', 'FOLLOWS')}" in " ".join(graph.reindex().repaired)
    (graph.directory / drawn.edge.path.replace("SOLVES", "FOLLOWS")).rename(graph.directory / "graph/edges/mine.md")
    graph.follow()
    graph.edge_get(drawn.edge.id)
    assert graph.edge_update(drawn.edge.id, type="CAUSES").edge.path == "graph/edges/mine.md"
    assert graph.reindex().followed.problems == ()
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.2-edges")
def test_an_edge_is_described_found_changed_and_taken_back(loom: Loom, graph: Graph) -> None:
    one, other = keep(graph, "Tide tables", "workflow"), keep(graph, "Harbour chart")
    edge = graph.relate(one.id, other.id, "REQUIRES", description="Without the chart the tables are blind.").edge
    assert graph.edge_get(edge.id[:8]).description == "Without the chart the tables are blind."
    assert [each.id for each in graph.edge_search(query="blind tables")] == [edge.id]
    assert graph.edge_search(query="volcano") == []
    assert graph.edge_search(type="SOLVES") == []
    assert [each.id for each in graph.edge_search(memory_id=other.id)] == [edge.id]
    graph.edge_update(edge.id, type="BUILDS_ON", strength=0.3)
    assert [(side.type, side.strength) for side in graph.get(other.id).relations] == [("BUILDS_ON", 0.3)]
    assert_two_sided(graph)
    graph.edge_delete(edge.id)
    assert graph.get(one.id).relations == graph.get(other.id).relations == ()
    assert not (graph.directory / edge.path).exists()
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.2-edges")
def test_relations_are_followed_for_some_hops(graph: Graph) -> None:
    chain = [keep(graph, title) for title in ("A", "B", "C", "D")]
    for start, end in pairwise(chain):
        graph.relate(start.id, end.id, "FOLLOWS")
    found = graph.related(chain[0].id, hops=2)
    assert [(each.memory.title, each.hops, each.direction) for each in found] == [
        ("B", 1, "outgoing"),
        ("C", 2, "outgoing"),
    ]
    assert [each.memory.title for each in graph.related(chain[1].id)] in (["A", "C"], ["C", "A"])
    assert graph.related(chain[0].id, hops=3, types=["SOLVES"]) == []
    with pytest.raises(Rejected):
        graph.related(chain[0].id, hops=9)


@pytest.mark.promise("graph.3-guarded")
@pytest.mark.parametrize("revision", [{"title": " "}, {"content": ""}, {"importance": 1.5}, {"type": "note"}, {}])
def test_nothing_empty_or_wrong_overwrites(graph: Graph, revision: dict[str, object]) -> None:
    stored = keep(graph, "Whole")
    before = text_of(graph, stored.path)
    with pytest.raises(Rejected):
        graph.update(stored.id, **revision)  # type: ignore[arg-type]
    assert text_of(graph, stored.path) == before
    for title, content in (("", "y"), ("x", "\n ")):
        with pytest.raises(Rejected):
            graph.store(type="fix", title=title, content=content)
    assert len(graph.recent()) == 1


@pytest.mark.promise("graph.answers")
def test_unrelated_questions_get_no_answers_that_look_right(graph: Graph) -> None:
    keep(graph, "Redis drops under load", "problem", content="Idle connections are cut after a minute.")
    keep(graph, "Keepalive", "solution", content="Set socket_keepalive on the Redis client.")
    keep(graph, "Websocket over polling", "decision", content="Lower latency for the dashboard.")
    keep(graph, "Backups", "procedure", content="Copy the volume every night, and test the restore on Mondays.")
    right = graph.recall("Why are idle Redis connections cut?")
    assert right.note is None
    assert right.memories[0].title == "Redis drops under load"
    assert all(each.fits for each in right.memories)
    for question in (
        "Who is the prime minister of Japan?",
        "How long do I boil an egg?",
        "the plot of Hamlet",
        "photosynthesis in cacti",
    ):
        found = graph.recall(question)
        assert len(found.memories) <= 3
        assert not any(each.fits for each in found.memories)
        assert all((each.answers or 0.0) < (right.memories[0].answers or 0.0) for each in found.memories)
        listed = graph.search(query=question)
        assert bool(listed.memories) is (listed.note is not None) is (found.note is not None)


def brief(identity: str, kind: str, similarity: float | None, tags: tuple[str, ...] = ()) -> MemoryBrief:
    return MemoryBrief(
        id=identity,
        item=1,
        type=kind,
        title=identity,
        tags=tags,
        importance=0.5,
        preview="",
        decay_score=1.0,
        status="active",
        updated=NOW,
        path="",
        similarity=similarity,
    )


@pytest.mark.promise("graph.8-auto-edges")
def test_relations_are_chosen_by_type_pair_filtered_before_they_are_counted() -> None:
    near = [
        brief("same type", "solution", 0.99),
        brief("too far", "problem", 0.2),
        brief("words only", "problem", None),
        brief("words and tag", "error", None, ("redis",)),
        brief("problem", "problem", 0.8),
        brief("decision", "decision", 0.7),
        brief("general", "general", 0.6),
    ]
    links = choose_links("solution", ("redis",), near, 0.4)
    assert [(link.other.id, link.type, link.outgoing, link.strength) for link in links] == [
        ("words and tag", "SOLVES", True, 0.5),
        ("problem", "SOLVES", True, 0.8),
        ("decision", "BUILDS_ON", True, 0.7),
    ]
    (back,) = choose_links("problem", (), [brief("cure", "fix", 0.9)], 0.4)
    assert (back.type, back.outgoing) == ("SOLVES", False)
    assert choose_links("general", (), [brief("x", "problem", 0.9)])[0].type == "RELATED_TO"


@pytest.mark.promise("graph.8-auto-edges")
def test_storing_draws_relations_in_the_same_operation(loom: Loom, graph: Graph) -> None:
    problem = keep(graph, "Redis connection drops under load", "problem", tags=("redis",))
    stored = keep(graph, "Redis connection drops fixed", "solution", connect=True, tags=("redis",))
    (edge,) = stored.auto_edges
    assert (edge.type, edge.from_id, edge.to_id) == ("SOLVES", stored.id, problem.id)
    assert 0.0 < edge.strength <= 1.0
    assert_two_sided(graph)
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.8-auto-edges")
def test_a_failure_to_draw_relations_never_fails_the_store(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = keep(graph, "Redis connection drops", "problem", tags=("redis",))
    (graph.directory / problem.path).write_bytes(b"\xff")
    stored = keep(graph, "Redis connection drops fixed", "fix", connect=True, tags=("redis",))
    assert stored.auto_edges == ()
    assert "not UTF-8" in str(stored.auto_edge_error)

    def fail(*_: object, **__: object) -> None:
        raise ProviderBusy("the embedder is down")

    monkeypatch.setattr("everloom.graph.operations.suggestions.find_near", fail)
    again = keep(graph, "Another", "fix", connect=True)
    assert again.auto_edge_error == "the embedder is down"
    assert (graph.directory / again.path).exists()


@pytest.mark.promise("graph.10-episodes")
def test_episodes_are_only_ever_added_to(graph: Graph, clock: ManualClock) -> None:
    stored = keep(graph, "Discord bot reconnection", "fix")
    noted = graph.episode(
        "Fixed the bot",
        type="fix",
        tags=("discord", "python"),
        summary="# Backoff\nworks",
        memory_id=stored.id,
    )
    path = graph.directory / noted.path
    first = path.read_bytes()
    link = f"[discord-bot-reconnection](../{stored.path})"
    assert first.decode() == (
        "# 2026-11-15\n\n## 09:30 - Fixed the bot\n- **Type:** fix\n- **Tags:** discord, python\n"
        f"- **Memory:** {link}\n- **Summary:** Backoff works\n"
    )
    path.write_bytes(first + b"\nA person's own line.\n")
    clock.advance(timedelta(minutes=45))
    graph.episode("Again")
    assert path.read_bytes() == first + b"\nA person's own line.\n" + b"\n## 10:15 - Again\n"


@pytest.mark.promise("graph.2-merge")
def test_merge_folds_one_memory_into_another(loom: Loom, graph: Graph) -> None:
    kept, twice = keep(graph, "Kept", tags=("a",), importance=0.4), keep(graph, "Twice", tags=("b",), importance=0.9)
    friend, foe = keep(graph, "Friend"), keep(graph, "Foe")
    graph.relate(twice.id, friend.id, "CAUSES", context="c")
    graph.relate(twice.id, foe.id, "REQUIRES")
    graph.relate(kept.id, foe.id, "REQUIRES")
    graph.relate(kept.id, twice.id, "RELATED_TO")
    graph.get(twice.id)
    merged = graph.merge(kept.id, twice.id)
    memory = graph.get(kept.id)
    assert (memory.tags, memory.importance, memory.access_count) == (("a", "b"), 0.9, 2)
    assert "Kept: what" in memory.content
    assert "Twice: what" in memory.content
    assert {(side.type, side.target) for side in memory.relations} == {("CAUSES", friend.id), ("REQUIRES", foe.id)}
    assert merged.merged == twice.id
    assert len(graph.edge_search()) == 2
    assert twice.id not in files_say(graph.directory)
    assert "Total merges performed: 1" in graph.reflection().text
    assert_two_sided(graph)
    assert_agreement(loom, graph)
    with pytest.raises(Rejected):
        graph.merge(kept.id, kept.id)


def test_an_id_may_be_shortened_or_be_the_looms_own(graph: Graph) -> None:
    stored = keep(graph, "One")
    assert graph.get(stored.id[:8]).id == graph.get(str(stored.item)).id == stored.id
    with pytest.raises(NotFound):
        graph.get("zzzz")
    with pytest.raises(Rejected, match="id must be text, not int"):
        graph.get(stored.item)  # type: ignore[arg-type]


def test_a_graph_is_known_by_name_and_keeps_to_itself(workspace: Workspace, graph: Graph) -> None:
    other = workspace.graphs.create("other", graph.directory.parent / "other")
    keep(graph, "Winch of the first")
    mine = keep(other, "Winch of the other")
    assert [each.id for each in other.recall("winch").memories] == [mine.id]
    assert [info.name for info in workspace.graphs.list()] == ["default", "other"]
    with pytest.raises(NotFound):
        workspace.graphs.open("third")
    with pytest.raises(Conflict):
        workspace.graphs.create("other", graph.directory)
    with pytest.raises(NotFound):
        other.get(keep(graph, "Elsewhere").id)
