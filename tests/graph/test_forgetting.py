"""What is forgotten of a graph: memories and edges with their files, the pages that name them, and what comes back."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from everloom.errors import Conflict
from everloom.graph import Graph
from everloom.loom import Workspace
from tests.forking import Popen
from tests.graph.ground import git, keep, open_with, text_of, write
from tests.patience import run
from tests.store.bytes import words_in_files
from tests.store.ground import ROOT

WORDS = ("quicksilver", "blackmail")


def agreed(place: Workspace, *ids: int) -> list[int]:
    preview = place.forget(ids)
    return [each.id for each in place.forget(ids, confirm=preview.confirm).items]


def words_below(directory: Path) -> set[str]:
    """Find the words in the files of a graph, and in their names."""
    files = [each for each in directory.rglob("*") if each.is_file() and ".git" not in each.parts]
    texts = [f"{each.name} {each.read_text(errors='replace')}".lower() for each in files]
    return {word for word in WORDS if any(word in text for text in texts)}


@pytest.mark.promise("forget.words-gone")
def test_a_memory_goes_with_its_file_its_edges_and_its_place_on_the_pages(
    workspace: Workspace, graph: Graph, store_url: str
) -> None:
    secret = keep(graph, "Quicksilver blackmail", "solution", content="Pay nobody.", tags=["quicksilver"])
    other = keep(graph, "Blue paint", "solution", tags=["boat"])
    graph.relate(secret.id, other.id, "RELATED_TO", description="blackmail paints blue")
    graph.episode("About Quicksilver blackmail", memory_id=secret.id)
    graph.episode("A calm day")
    graph.get(secret.id)
    graph.core()
    graph.reflection()
    graph.reindex(write_json=True)
    assert words_below(graph.directory) == set(WORDS)
    preview = workspace.forget([secret.item])
    assert {each.kind for each in preview.items} == {"memory", "edge", "episode"}
    changes = {each.kind: each for each in preview.spared}
    assert changes["memory"].change == "stays, without its relation to it"
    assert "CORE.md" in changes["graph"].text
    agreed(workspace, secret.item)
    assert words_below(graph.directory) == set()
    assert words_in_files(store_url, WORDS) == set()
    assert graph.get(other.id).relations == ()
    (page,) = (graph.directory / "episodes").glob("*.md")
    assert "A calm day" in page.read_text()
    assert "Blue paint" in text_of(graph, "CORE.md")
    assert graph.follow().problems == ()


@pytest.mark.promise("forget.every-kind")
def test_an_entry_of_the_diary_is_found_and_forgotten(workspace: Workspace, graph: Graph, store_url: str) -> None:
    graph.episode("Quicksilver\nin the bilge (again)", summary="## Found out\nabout the blackmail.", tags=["boat"])
    graph.episode("A letter about blackmail", idempotency_key="letter")
    graph.episode("A calm day", summary="The wind was from the west.")
    spill = workspace.search("quicksilver in the bilge")[0]
    assert (spill.kind, workspace.show(spill.id).text.strip()) == ("episode", "Found out about the blackmail.")
    preview = workspace.forget(search="Quicksilver in the bilge (again)")
    assert (preview.items[0].id, preview.items[0].kind) == (spill.id, "episode")
    assert [(each.kind, each.change) for each in preview.spared] == [("graph", "are written without it")]
    letter = workspace.search("a letter about blackmail")[0].id
    agreed(workspace, spill.id, letter)
    assert words_below(graph.directory) == set()
    assert words_in_files(store_url, [*WORDS, "bilge", "letter"]) == set()
    (page,) = (graph.directory / "episodes").glob("*.md")
    assert "A calm day" in page.read_text()
    assert "from the west" in page.read_text()
    with pytest.raises(Conflict, match="was forgotten"):
        graph.episode("A letter about blackmail")


@pytest.mark.promise("forget.tombstones")
def test_a_file_that_comes_back_is_reported_and_not_indexed(workspace: Workspace, graph: Graph) -> None:
    secret = keep(graph, "Quicksilver", content="Blackmail.")
    text = text_of(graph, secret.path)
    agreed(workspace, secret.item)
    write(graph, secret.path, text)
    problems = graph.follow().problems
    assert [(each.path, each.reason[:16]) for each in problems] == [(secret.path, "it was forgotten")]
    assert list(workspace.search("Quicksilver blackmail")) == []
    workspace.forgetting.lift_tombstones([secret.item])
    assert graph.follow().problems == ()
    assert [hit.kind for hit in workspace.search("Quicksilver blackmail")] == ["memory"]


def test_an_edge_goes_alone_and_both_ends_stay(workspace: Workspace, graph: Graph, store_url: str) -> None:
    one, two = keep(graph, "Mast"), keep(graph, "Sail")
    graph.relate(one.id, two.id, "RELATED_TO", description="a quicksilver bond")
    edge = next(iter(graph.edge_search(query="quicksilver")))
    with workspace.op.read() as unit:
        (row,) = unit.all("graph.edge_by_uuid", graph=graph.opened.id, uuids=[edge.id])
    agreed(workspace, row["id"])
    assert words_below(graph.directory) == set()
    assert (graph.get(one.id).relations, graph.get(two.id).relations) == ((), ())
    assert words_in_files(store_url, WORDS) == set()


def test_the_history_of_a_repository_is_named_as_what_remains(workspace: Workspace, graph: Graph) -> None:
    git(graph.directory, "init", "-q")
    secret = keep(graph, "Quicksilver")
    preview = workspace.forget([secret.item])
    done = workspace.forget([secret.item], confirm=preview.confirm)
    assert any("git history" in each for each in done.remains)
    assert "quicksilver" not in git(graph.directory, "log", "-1", "--format=%s").lower()
    assert git(graph.directory, "status", "--porcelain", "graph") == ""


DYING = """
import os, signal, sys
from pathlib import Path
from everloom.graph.index import executor
from tests.graph.ground import open_with

url, directory, item = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
with open_with(url, directory) as loom:
    place = loom.workspace()
    token = place.forget([item]).confirm
    import everloom.graph.erasing as erasing
    erasing.complete = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    place.forget([item], confirm=token)
"""


@pytest.mark.promise("forget.crash")
def test_a_process_killed_before_it_changes_the_files_leaves_that_to_the_next(store_url: str, directory: Path) -> None:
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        secret = keep(graph, "Quicksilver blackmail", "solution")
        graph.core()
    arguments = [sys.executable, "-c", DYING, store_url, str(directory), str(secret.item)]
    done = run(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start=Popen)
    assert done.returncode == -signal.SIGKILL
    assert words_below(directory) == set(WORDS)
    with open_with(store_url, directory) as loom:
        place = loom.workspace()
        assert place.graph.follow().problems == ()
        assert words_below(directory) == set()
        place.sleep()
        assert words_in_files(store_url, WORDS) == set()
