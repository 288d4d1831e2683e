"""A directory of the first system, three hundred files of which fifteen are broken, opened in every way there is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from everloom.clock import ManualClock, from_micros
from everloom.errors import Conflict
from everloom.graph import Graph
from everloom.graph.files.parser import in_vault
from everloom.graph.results import FileProblem
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from tests.graph.ground import NOW, memory_text, open_with, write
from tests.graph.original import MODEL, REFLECTIONS, Original, read_all, write_original


@pytest.fixture
def original(tmp_path: Path) -> Original:
    """A directory of the first system, freshly written, with short vectors."""
    return write_original(tmp_path / "original", dimensions=8)


def another(original: Original, place: Path) -> Path:
    """Copy the directory with its times, as a backup program would; nobody has opened the copy yet."""
    shutil.copytree(original.directory, place, symlinks=True, ignore=shutil.ignore_patterns(".everloom"))
    return place


def assert_named(original: Original, problems: Iterable[FileProblem]) -> None:
    """Prove that each broken file is named with its reason, and that nothing else is."""
    named = {each.path: each.reason for each in problems}
    assert named.keys() == original.broken.keys()
    assert [path for path, reason in original.broken.items() if reason not in named[path]] == []
    assert [copy for copy, owner in original.duplicates.items() if owner not in named[copy]] == []


def uses(graph: Graph) -> dict[str, tuple[int, Any]]:
    """Read how often each memory was used and when last, without using it."""
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_all", graph=graph.opened.id)
    return {row["uuid"]: (row["count"], row["last_at"] and from_micros(row["last_at"])) for row in rows}


def assert_adopted(original: Original, graph: Graph) -> None:
    """Prove that everything that can be used came along, and that everything else is named."""
    stats = graph.stats(max_tokens=5_000)
    assert (stats.memories, stats.edges) == (len(original.memories), len(original.edges)) == (240, 45)
    assert stats.reflections == REFLECTIONS
    assert stats.mend is not None
    known = uses(graph)
    # What lies in the vault was touched when it was pinned; whether it was used is the same.
    told = {uuid for uuid, path in original.memories.items() if not in_vault(path)}
    assert {uuid: known[uuid] for uuid in told} == {uuid: original.accesses[uuid] for uuid in told}
    assert {uuid: count for uuid, (count, _) in known.items()} == {
        uuid: count for uuid, (count, _) in original.accesses.items()
    }
    with graph.op.read() as unit:
        paths = {row["uuid"]: row["path"] for row in unit.all("graph.memory_all", graph=graph.opened.id)}
    assert paths == original.memories


@pytest.mark.promise("graph.adoption", "graph.broken-files")
def test_however_a_directory_is_opened_all_of_it_comes_along(
    store_url: str, original: Original, tmp_path: Path
) -> None:
    before = original.bytes_of()
    by_path, by_name, attached = (another(original, tmp_path / name) for name in ("path", "name", "attached"))
    with open_with(store_url, original.directory) as loom:
        graphs = loom.workspace().graphs
        opened = [loom.workspace().graph, graphs.at(by_path), graphs.create("called", by_name), graphs.at(attached)]
        report = opened[-1].import_directory(attached)
        assert (report.files, report.memories, report.states, report.reflections) == (0, 240, 240, REFLECTIONS)
        assert_named(original, report.skipped)
        for graph in opened:
            assert_adopted(original, graph)
            assert_named(original, graph.stats(max_tokens=5_000).problems)
            assert_named(original, graph.follow().problems)
        # A copy has all files that can be copied, whether or not they can be used.
        copied = graphs.create("copied")
        report = copied.import_directory(original.directory)
        assert_named(original, report.skipped)
        assert report.files == 300 - 1 + 10
        assert_adopted(original, copied)
        came = read_all(copied.directory)
        assert {path: data for path, data in came.items() if path.startswith(("graph/", "vault/", "episodes/"))} == {
            path: data
            for path, data in before.items()
            if path.startswith(("graph/", "vault/", "episodes/")) and "link" not in path
        }
    assert original.bytes_of() == read_all(by_path) == before
    # Opened again, by another process, nothing counts twice.
    with open_with(store_url, original.directory) as loom:
        for name in (None, "path", "called", "attached", "copied"):
            assert_adopted(original, loom.workspace().graphs.open(name))


@pytest.mark.promise("graph.adoption")
def test_use_and_reflections_go_on_from_both_sides(store_url: str, original: Original, clock: ManualClock) -> None:
    used, other, unused = [uuid for uuid, path in original.memories.items() if not in_vault(path)][1:4]
    file = original.directory / "_state.json"
    states = json.loads(file.read_text())
    count = {uuid: original.accesses[uuid][0] for uuid in (used, other, unused)}
    with open_with(store_url, original.directory, clock) as loom:
        graph = loom.workspace().graph
        graph.get(used)
        assert graph.reflect().episode is not None
        assert f"Total reflections: {REFLECTIONS + 1}" in graph.reflection().text
    # The other program reads two of them as well, one later than it was read here.
    later = clock.now() + timedelta(hours=1)
    states["entries"][used] |= {"access_count": count[used] + 5, "last_accessed": later.isoformat()}
    states["entries"][other] |= {"access_count": count[other] + 1, "last_accessed": later.isoformat()}
    states["entries"][unused] = {"access_count": "many", "last_accessed": "yesterday"}
    # Ids that no engine could even look up.
    states["entries"] |= dict.fromkeys(("\x00", "\ud800", "x" * 10_000), states["entries"][used])
    file.write_text(json.dumps(states))
    page = original.directory / "REFLECTION.md"
    page.write_text(page.read_text().replace(f"reflections: {REFLECTIONS + 1}", "reflections: 20"))
    with open_with(store_url, original.directory, clock) as loom:
        graph = loom.workspace().graph
        known = uses(graph)
        assert known[used] == (count[used] + 5, later)
        assert known[other] == (count[other] + 1, later)
        assert known[unused] == original.accesses[unused]
        assert graph.stats().reflections == 20
        copied = loom.workspace().graphs.create("copied")
        assert copied.import_directory(original.directory).states == 239
        assert (uses(copied)[used], copied.stats().reflections) == (known[used], 20)
        # A file that nobody can read takes nothing away, and is named until it is mended.
        file.write_text("{")
        assert [each.path for each in graph.follow().problems if each.path == "_state.json"] == ["_state.json"]
        assert "_state.json" in {each.path for each in graph.stats(max_tokens=5_000).problems}
        assert uses(graph) == known
        graph.reindex(write_json=True)
        assert "_state.json" not in {each.path for each in graph.follow().problems}
        assert json.loads(file.read_text())["entries"][used]["access_count"] == count[used] + 5
        assert uses(graph) == known


@pytest.mark.promise("graph.one-directory")
def test_one_directory_is_one_graph_whatever_it_is_called(
    store_url: str, original: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(original.directory)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/original").mkdir()
    monkeypatch.chdir(original.directory / "graph")
    spellings = [
        original.directory,
        tmp_path / "link",
        Path(f"{original.directory}/"),
        Path(".."),
        Path("../../original/./graph/.."),
        tmp_path / "elsewhere/../link",
    ]
    with open_with(store_url, tmp_path / "link") as loom:
        graphs = loom.workspace().graphs
        first = graphs.open()
        assert first.directory == original.directory
        for number, each in enumerate(spellings):
            assert graphs.at(each).opened.id == graphs.create(f"name {number}", each).opened.id == first.opened.id
        assert len(graphs.list()) == 1
        # Two directories of one name are two graphs, a folder of a graph is none, and nothing is moved onto another.
        two = graphs.at(tmp_path / "elsewhere/original")
        assert (two.name, graphs.at(tmp_path / "elsewhere/original").opened.id) == ("original", two.opened.id)
        (tmp_path / "third/original").mkdir(parents=True)
        assert graphs.at(tmp_path / "third/original").name == "graph 2"
        with pytest.raises(Conflict, match="is a folder of the graph") as refusal:
            graphs.at(original.directory / "graph")
        assert str(original.directory) in str(refusal.value.hint)
        with pytest.raises(Conflict, match="is the directory of the graph"):
            graphs.move("original", tmp_path / "link")
        # Another workspace is another owner, by whatever path it comes.
        for each in (original.directory, tmp_path / "link"):
            with pytest.raises(Conflict, match="another workspace"):
                loom.workspace("other").graphs.at(each)
    with open_with(store_url, original.directory) as loom:
        assert loom.workspace().graph.opened.id == first.opened.id
    # A directory that was moved is still the same graph, and a copy of it is another.
    moved = original.directory.rename(tmp_path / "moved")
    shutil.copytree(moved, tmp_path / "copy", symlinks=True)
    with open_with(store_url, moved) as loom:
        graphs = loom.workspace().graphs
        assert graphs.open().opened.id == graphs.at(moved).opened.id == first.opened.id
        assert graphs.open().directory == moved
        assert graphs.at(tmp_path / "copy").opened.id != first.opened.id


@pytest.mark.promise("graph.vouched")
def test_of_two_files_with_one_id_the_one_that_is_vouched_for_has_it(graph: Graph) -> None:
    identity = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

    def owner() -> tuple[str, list[str]]:
        problems = [each.path for each in graph.follow().problems]
        with graph.op.read() as unit:
            (row,) = unit.all("graph.memory_all", graph=graph.opened.id)
        return row["path"], problems

    copy, named, listed = "graph/general/a copy.md", "graph/general/by-hand-a1b2c3.md", "graph/general/z-a1b2c3d4.md"
    write(graph, copy, memory_text(identity, title="Copy"))
    assert owner() == (copy, [])
    # The one with the id in its name comes later, and in another scan.
    write(graph, named, memory_text(identity, title="Named"))
    assert owner() == (named, [copy])
    # Two names speak for two files alike: the one that has the id keeps it, until the index says otherwise.
    write(graph, listed, memory_text(identity, title="Listed"))
    assert owner() == (named, [copy, listed])
    write(graph, "_index.json", json.dumps({"version": 2, "entries": {identity: {"path": listed}}}))
    assert owner() == (listed, [copy, named])
    assert owner() == (listed, [copy, named])
    assert graph.get(identity).title == "Listed"
    assert "Named" in (graph.directory / named).read_text()
    # Once it is gone, the next one takes its place.
    (graph.directory / listed).unlink()
    assert owner() == (named, [copy])


def opened_by_ollama(path: Path, directory: Path, model: str) -> Loom:
    """Open a loom that prefers an embedder which does not answer, with a graph in a directory."""
    tree = {"workspace": {"time_zone": "UTC"}, "graph": {"directory": directory}}
    embed = {"models": [f"ollama:{model}", "static:wordllama-256"]}
    settings = Settings.model_validate({**tree, "embed": embed})
    return open_loom(f"sqlite:///{path}", settings=settings, clock=ManualClock(NOW))


@pytest.mark.promise("graph.adoption", "graph.9-providers")
def test_vectors_come_along_when_model_and_text_agree(original: Original, tmp_path: Path) -> None:
    old, edited, renamed = list(original.memories)[10:13]
    ended = json.loads((original.directory / "_embeddings.json").read_text())["updated"]

    def held(loom: Loom) -> set[str]:
        graph = loom.workspace().graph
        with graph.op.read() as unit:
            rows = unit.all("graph.memory_all", graph=graph.opened.id)
            found = graph.op.embedding.held(unit, [row["id"] for row in rows])
        return {row["uuid"] for row in rows if row["id"] in found}

    # One file was edited by hand since, and one by a program that says so.
    touched = original.directory / original.memories[edited]
    touched.write_text(touched.read_text() + "\nEdited.\n")
    beside = (original.directory / "_embeddings.json").stat().st_mtime_ns
    os.utime(touched, ns=(beside + 10**9, beside + 10**9))
    newer = original.directory / original.memories[renamed]
    newer.write_text(newer.read_text().replace("updated: 2026-11-", "updated: 2026-12-"))
    os.utime(newer, ns=(beside - 10**9, beside - 10**9))
    assert ended < "2026-12-01"
    with opened_by_ollama(tmp_path / "same.db", original.directory, MODEL) as loom:
        assert held(loom) == original.memories.keys() - {edited, renamed}
        graph = loom.workspace().graph
        with graph.op.read() as unit:
            (vector,) = graph.op.embedding.held(unit, [graph.get(old).item]).values()
        length = sum(each * each for each in original.vectors[old]) ** 0.5
        assert vector.tolist() == pytest.approx([each / length for each in original.vectors[old]], abs=1e-3)
        report = graph.import_directory(original.directory)
        assert report.vectors == len(original.memories) - 2
        assert any("2 vectors were left out" in each for each in report.notices)
        # Vectors of another length are of another model, whatever they are called.
        short = {"model": MODEL, "entries": {old: [1.0, 0.0]}}
        (original.directory / "_embeddings.json").write_text(json.dumps(short))
        report = graph.import_directory(original.directory)
        assert report.vectors == 0
        assert any("its vectors have 2 dimensions" in each for each in report.notices)
    shutil.rmtree(original.directory / ".everloom")
    with opened_by_ollama(tmp_path / "other.db", original.directory, "mxbai-embed-large") as loom:
        assert held(loom) == set()
        report = loom.workspace().graph.import_directory(original.directory)
        assert any(f"made by {MODEL}" in each for each in report.notices)


@pytest.mark.promise("graph.adoption")
def test_whoever_only_reads_takes_nothing_in(original: Original, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/loom.db"
    with open_with(url, original.directory) as loom:
        before = uses(loom.workspace().graph)
    states = json.loads((original.directory / "_state.json").read_text())
    for entry in states["entries"].values():
        entry["access_count"] += 10
    (original.directory / "_state.json").write_text(json.dumps(states))
    tree = {"graph": {"directory": original.directory}, "store": {"read_only": True}}
    with open_loom(url, settings=Settings.model_validate(tree), clock=ManualClock(NOW)) as loom:
        assert uses(loom.workspace().graph) == before
        assert loom.workspace().graph.stats(max_tokens=5_000).memories == 240
    with open_with(url, original.directory) as loom:
        assert uses(loom.workspace().graph) != before


@pytest.mark.promise("graph.json", "graph.adoption")
def test_what_is_written_here_the_first_system_reads(quick: Graph, original: Original) -> None:
    quick.import_directory(original.directory)
    target = next(iter(original.memories))
    stored = quick.store(
        type="procedure", title='Ship: "it" \\ now', content="How.", tags=["a"], steps=["One: first"], connect=False
    )
    edge = quick.relate(stored.id, target, "REQUIRES", context="Because: so").edge
    quick.get(stored.id)
    quick.reindex(write_json=True)
    index, state = (json.loads((quick.directory / name).read_text()) for name in ("_index.json", "_state.json"))
    assert (index["version"], index["count"], len(index["edges"])) == (2, 241, 46)
    # As that program does: each entry leads to a file whose front matter says the same.
    for identity, entry in index["entries"].items():
        fields = _front_matter(quick.directory / entry["path"])
        assert (fields["id"], fields["type"], fields["title"]) == (identity, entry["type"], entry["title"])
        assert (float(fields["importance"]), fields["tags"]) == (entry["importance"], entry["tags"])
        assert datetime.fromisoformat(fields["created"]) == datetime.fromisoformat(entry["created"])
        assert {each["target"] for each in fields.get("relations", [])} == {
            each["target"] for each in entry["relations"]
        }
        assert Path(entry["path"]).stem.endswith(identity[:6])
        known = state["entries"][identity]
        count, at = original.accesses.get(identity, (1, NOW))
        assert (known["access_count"], datetime.fromisoformat(known["last_accessed"]) == at or not count) == (
            count,
            True,
        )
    drawn = _front_matter(quick.directory / index["edges"][edge.id]["path"])
    names = "id type from_id from_title to_id to_title strength created updated".split()
    assert list(drawn) == names
    assert _front_matter(quick.directory / stored.path)["steps"] == ["One: first"]


def _front_matter(file: Path) -> dict[str, Any]:
    """Read front matter with a YAML reader alone, without any code of ours."""
    text = file.read_text(encoding="utf-8")
    assert text.startswith("---\n")
    found: dict[str, Any] = YAML(typ="base", pure=True).load(text.split("---\n")[1])
    return found
