"""A directory of the first system opens here as it is, and what is written here it can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.errors import NotFound
from everloom.graph import Graph
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from tests.graph.ground import NOW, assert_agreement, assert_two_sided, commits, git, keep, open_with
from tests.graph.sample import FILES, KEY, PROBLEM, PROCEDURE, SOLUTION, write_sample


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory in the first system's format."""
    write_sample(tmp_path / "source")
    return tmp_path / "source"


@pytest.mark.promise("graph.import")
def test_a_directory_is_imported_with_its_bytes_and_its_accesses(loom: Loom, graph: Graph, source: Path) -> None:
    report = graph.import_directory(source)
    assert (report.files, report.memories, report.edges, report.states) == (6, 3, 1, 1)
    assert {path: (graph.directory / path).read_text() for path in FILES} == FILES
    assert [(each.path, each.line) for each in report.skipped] == [("graph/general/broken-000000.md", 4)]
    assert any("_config.json contains an API key" in notice for notice in report.notices)
    assert any("1 memories in its index have no file" in notice for notice in report.notices)
    assert any("nomic-embed-text" in notice for notice in report.notices)
    memory = graph.get(SOLUTION)
    assert memory.access_count == 6
    assert graph.get(PROBLEM).tags == ("redis", "homelab")
    assert graph.get(PROCEDURE).decay_score == 999.0
    assert graph.get(PROCEDURE).steps == ("Run tests", "Build docker image")
    assert graph.recall("socket keepalive").memories[0].id == SOLUTION
    assert "Total merges performed: 1" in graph.reflection().text
    assert_two_sided(graph)
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.import")
def test_importing_again_changes_nothing(loom: Loom, graph: Graph, source: Path) -> None:
    graph.import_directory(source)
    graph.get(SOLUTION)
    again = graph.import_directory(source)
    assert (again.files, again.memories) == (0, 3)
    assert graph.get(SOLUTION).access_count == 7
    (source / "graph/solutions/fixed-redis-connection-timeouts-a1b2c3.md").rename(source / "graph/solutions/other.md")
    skipped = [each for each in graph.import_directory(source).skipped if "exists already" in each.reason]
    assert [each.path for each in skipped] == ["graph/solutions/other.md"]
    with pytest.raises(NotFound):
        graph.import_directory(source / "nowhere")


@pytest.mark.promise("graph.import")
def test_a_directory_can_be_attached_where_it_lies(loom: Loom, source: Path) -> None:
    graphs = loom.workspace().graphs
    attached = graphs.create("old", source)
    report = attached.import_directory(source)
    assert (report.files, report.memories, report.states) == (0, 3, 1)
    assert attached.get(SOLUTION).access_count == 6
    assert {path: (source / path).read_text() for path in FILES} == FILES


@pytest.mark.promise("graph.import", "graph.9-providers")
def test_vectors_are_taken_over_only_when_the_model_is_the_same(source: Path, tmp_path: Path) -> None:
    tree = {"workspace": {"time_zone": "UTC"}, "graph": {"directory": tmp_path / "g"}}
    same = {**tree, "embed": {"models": ["ollama:nomic-embed-text", "static:wordllama-256"]}}
    with open_loom(
        f"sqlite:///{tmp_path}/a.db", settings=Settings.model_validate(same), clock=ManualClock(NOW)
    ) as loom:
        graph = loom.workspace().graph
        assert graph.import_directory(source).vectors == 1
        with loom.store.read(loom.workspace().info.id) as unit:
            held = loom.embedding.held(unit, [graph.get(SOLUTION).item, graph.get(PROBLEM).item])
        assert [vector.shape for vector in held.values()] == [(768,)]


@pytest.mark.promise("graph.9-no-keys")
def test_no_key_is_written_into_the_graphs_directory(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = {
        "workspace": {"time_zone": "UTC"},
        "graph": {"directory": tmp_path / "g"},
        "secrets": {"openai_api_key": KEY},
    }
    with open_loom(f"sqlite:///{tmp_path}/a.db", settings=Settings.model_validate(tree)) as loom:
        graph = loom.workspace().graph
        graph.import_directory(source)
        keep(graph, "One more", connect=True)
        graph.reindex(write_json=True)
        graph.core()
        graph.reflect()
    files = [file for file in (tmp_path / "g").rglob("*") if file.is_file()]
    assert len(files) > 8
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []


@pytest.mark.promise("graph.json")
def test_reindex_writes_the_json_files_that_other_tools_read(graph: Graph, source: Path) -> None:
    graph.import_directory(source)
    assert graph.reindex(write_json=True).written == ("_index.json", "_state.json")
    index = json.loads((graph.directory / "_index.json").read_text())
    assert (index["version"], index["count"]) == (2, 3)
    entry = index["entries"][SOLUTION]
    assert entry["path"] == "graph/solutions/fixed-redis-connection-timeouts-a1b2c3.md"
    assert entry["created"] == "2025-12-06T16:25:58+00:00"
    assert entry["relations"][0]["target"] == PROBLEM
    assert entry["relations"][0]["strength"] == 0.8
    (edge,) = index["edges"].values()
    assert (edge["from_id"], edge["to_id"], edge["type"]) == (SOLUTION, PROBLEM, "SOLVES")
    state = json.loads((graph.directory / "_state.json").read_text())
    assert state["version"] == 1
    assert state["entries"][SOLUTION]["access_count"] == 5
    assert state["entries"][SOLUTION]["last_accessed"] == "2026-11-13T10:15:00+00:00"
    assert state["entries"][PROCEDURE]["decay_score"] == 999.0


@pytest.mark.promise("graph.4-git")
def test_only_a_gitignore_of_ours_is_committed(tmp_path: Path) -> None:
    for name in ("written", "linked"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    (tmp_path / "written/.gitignore").write_text("*.bak\n")
    (tmp_path / "mine").write_text("*.bak\n")
    (tmp_path / "linked/.gitignore").symlink_to(tmp_path / "mine")
    with open_with(f"sqlite:///{tmp_path}/loom.db", tmp_path / "written") as loom:
        graphs = loom.workspace().graphs
        for name in ("written", "linked"):
            stored = keep(graphs.at(tmp_path / name), "Anchor")
            assert stored.notices == ()
            assert commits(tmp_path / name) == ["store: Anchor"]
            assert git(tmp_path / name, "status", "--porcelain") == "?? .gitignore\n"


@pytest.mark.promise("graph.4-git")
def test_an_import_is_one_commit(source: Path, tmp_path: Path, directory: Path) -> None:
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        loom.workspace().graph.import_directory(source)
        loom.workspace().graph.reindex(write_json=True)
    assert commits(directory) == ["import: 6 files from source"]
    # What keeps the JSON files out of the history came with the first commit.
    assert git(directory, "status", "--porcelain") == ""
