"""A vault that people keep in an editor of their own becomes a graph: everything is found, nothing is touched."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Rejected
from everloom.graph import Graph
from everloom.loom import Loom
from everloom.settings import Settings
from tests.graph.ground import keep, open_with, write
from tests.graph.vault import PICTURE, notes_of, write_vault


def bytes_of(directory: Path) -> dict[str, bytes]:
    """Read every file of a vault, without what a graph adds at its edge."""
    found = {each.relative_to(directory).as_posix(): each for each in directory.rglob("*") if each.is_file()}
    own = (".everloom/", ".gitignore")
    return {path: file.read_bytes() for path, file in found.items() if not path.startswith(own)}


def at(graph: Graph, path: str) -> str:
    """Find the id of the memory whose file is at a path."""
    with graph.op.read() as unit:
        (row,) = unit.all("graph.memory_at", graph=graph.opened.id, path=path)
    return str(row["uuid"])


def paths_of(graph: Graph) -> dict[str, str]:
    """List the ids of all memories, by path."""
    with graph.op.read() as unit:
        return {row["path"]: row["uuid"] for row in unit.all("graph.memory_all", graph=graph.opened.id)}


def around(graph: Graph, path: str) -> set[tuple[str, str]]:
    """List what is one step from a note: the direction and the path."""
    return {(each.direction, each.memory.path) for each in graph.related(at(graph, path), max_tokens=5_000)}


@pytest.mark.promise("graph.vault")
def test_a_vault_is_a_graph_and_nothing_in_it_is_touched(store_url: str, directory: Path) -> None:
    files = write_vault(directory)
    assert len(notes_of(files)) >= 60
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        assert graph.follow().problems == ()
        assert sorted(paths_of(graph)) == sorted(notes_of(files))
        # By a word of the text, by an alias, by a tag in the text, in three languages.
        for question, path in (
            ("larch on oak", "Projects/Boat/Hull.md"),
            ("поставить парус", "Заметки/Парус.md"),
            ("和食", "日本語/料理.md"),
            ("Начало", "Home.md"),
        ):
            assert path in {each.path for each in graph.recall(question).memories}
        assert [each.path for each in graph.search(types=["Meeting"]).memories] == ["Meeting.md"]
        assert len(graph.search(types=["person"]).memories) == 6
        with pytest.raises(Rejected) as refusal:
            graph.search(types=["persona"])
        assert "person" in str(refusal.value.hint)
        assert [each.path for each in graph.search(tags=["decision"]).memories] == ["Meeting.md"]
        tags = {each.tag: each.count for each in graph.tags(max_tokens=5_000)}  # type: ignore[union-attr]
        assert (tags["daily"], tags["食べ物/和食"], tags["Rezept"], tags["bread"]) == (31, 1, 1, 1)
        assert not {"123", "ff8800", "recipe"} & tags.keys()
        # Reading, searching, reporting and opening again leave no trace in the vault.
        graph.get(at(graph, "Empty.md"))
        graph.report()
        stats = graph.stats(max_tokens=5_000)
        assert (stats.memories, stats.plain_notes) == (len(notes_of(files)), len(notes_of(files)))
        graph.reindex()
    with open_with(store_url, directory) as loom:
        assert loom.workspace().graph.follow().added == 0
    assert bytes_of(directory) == files


@pytest.mark.promise("graph.links-in-text")
def test_links_in_texts_are_relations_that_are_only_seen(store_url: str, directory: Path) -> None:
    files = write_vault(directory)
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        # By file name, by path, with a heading, embedded; a note in code or in a comment is none.
        assert {path for way, path in around(graph, "Home.md") if way == "outgoing"} == {
            "Topics/Sailing.md",
            "Projects/Boat/Index.md",
            "People/田中花子.md",
            "People/Борис Котов.md",
            "Projects/Boat/Boat plan.md",
        }
        assert around(graph, "Recipes/Sourdough.md") == {("incoming", "Recipes/Index.md")}
        # Of several notes of one name the nearest: in the same folder, otherwise the shortest path.
        assert ("outgoing", "Projects/Boat/Index.md") in around(graph, "Projects/Boat/Hull.md")
        assert ("outgoing", "Projects/Boat/Hull.md") in around(graph, "Projects/Boat/Sails.md")
        assert ("outgoing", "Home.md") in around(graph, "Заметки/Парус.md")
        lost = {(each.path, each.link) for each in graph.report(max_tokens=5_000).unresolved}
        assert ("Home.md", "A note that nobody wrote") in lost
        assert ("Daily/2026/10/2026-10-01.md", "2026-09-30") in lost
        assert not {link for _, link in lost} & {"harbour.png", "Not a link", "nor this"}
        (seen,) = graph.edge_search(memory_id=at(graph, "Recipes/Sourdough.md"))
        assert (seen.type, seen.in_text, seen.path) == ("RELATED_TO", True, "Recipes/Index.md")
        assert graph.edge_get(seen.id) == seen
        assert seen.id in {each.id for each in graph.edge_search(query="Sourdough")}
        for refused in (lambda: graph.edge_delete(seen.id), lambda: graph.edge_update(seen.id, strength=0.9)):
            with pytest.raises(Rejected, match="only seen"):
                refused()
        assert bytes_of(directory) == files
        # A page of edges goes on after the last one, whatever it is.
        everything = [each.id for each in graph.edge_search(limit=100, max_tokens=50_000)]
        assert everything.index(seen.id) > 0
        rest = graph.edge_search(limit=100, beyond=everything[9], max_tokens=50_000)
        assert [each.id for each in rest] == everything[10:]
        # A relation with a file wins over the link.
        first, second = at(graph, "Recipes/Index.md"), at(graph, "Recipes/Sourdough.md")
        edge = graph.relate(second, first, "BUILDS_ON").edge
        assert [each.id for each in graph.edge_search(memory_id=second)] == [edge.id]
        (one,) = graph.related(second)
        assert (one.type, one.in_text) == ("BUILDS_ON", False)
        assert [each.in_text for each in graph.draw(second).relations] == [False]
        graph.edge_delete(edge.id)
        # The link goes with the text, and comes with a note of its name.
        write(graph, "Recipes/Index.md", "# Recipes\n\nNothing [[A note that nobody wrote]].\n")
        graph.follow()
        assert around(graph, "Recipes/Sourdough.md") == set()
        write(graph, "A note that nobody wrote.md", "Somebody did.\n")
        graph.follow()
        assert ("outgoing", "A note that nobody wrote.md") in around(graph, "Home.md")
        assert not list((directory / "graph").rglob("*.md"))


@pytest.mark.promise("graph.notes-stay")
def test_a_note_that_is_changed_stays_where_it_is_with_all_around_it(store_url: str, directory: Path) -> None:
    files = write_vault(directory)
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        meeting, bread, daily = (at(graph, path) for path in ("Meeting.md", "Recipes/Sourdough.md", "Empty.md"))
        before = {name: graph.get(name).access_count for name in (meeting, bread, daily)}
        # A new type, a new title, a pin: no file moves.
        assert graph.update(meeting, type="decision", title="Larch").path == "Meeting.md"
        assert graph.append(bread, content="Bake it hot.", tags=["oven"]).path == "Recipes/Sourdough.md"
        assert graph.pin(daily).changed == ("pinned",)
        assert graph.get(daily).decay_score == 999
        assert graph.pin(daily).changed == ()
        graph.unpin(daily)
        assert graph.get(daily).decay_score < 1
        graph.relate(meeting, bread, "CAUSES")
        now = bytes_of(directory)
        changed = {path for path in now if now[path] != files.get(path)}
        assert {path for path in changed if not path.startswith("graph/edges/")} == {
            "Meeting.md",
            "Recipes/Sourdough.md",
        }
        assert now["attachments/harbour.png"] == PICTURE
        # The id that was given out is the one that was written; what was counted still counts.
        assert f"id: {meeting}\n" in now["Meeting.md"].decode()
        assert graph.get(meeting).access_count == before[meeting] + 1
        assert graph.get(meeting).title == "Larch"
        # What only the text says is not written into the front matter.
        assert b"Rezept" not in now["Recipes/Sourdough.md"].split(b"---")[1]
        assert graph.get(bread).tags == ("bread", "slow", "oven")
        # New memories go to folders of their own, and automatic relations change no note that was never written here.
        text = "Feed the sourdough twice."
        stored = keep(graph, "Sourdough feeding", "procedure", content=text, connect=True, tags=("bread",))
        assert stored.path.startswith("graph/procedures/")
        later = bytes_of(directory)
        assert {path for path in files if later[path] != now[path]} <= {"Meeting.md", "Recipes/Sourdough.md"}
        assert graph.core().path == "CORE.md"
        assert at(graph, "Meeting.md") == meeting
        assert "CORE.md" not in paths_of(graph)


@pytest.mark.promise("graph.notes-stay")
def test_a_note_is_known_by_its_id_whatever_becomes_of_its_file(store_url: str, directory: Path) -> None:
    write_vault(directory)
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        hull, twice = at(graph, "Projects/Boat/Hull.md"), at(graph, "Twice.md")
        graph.get(hull)
        # Renamed with its folder: the same memory, in one scan or in two.
        (directory / "Projects/Boat").rename(directory / "Boat")
        graph.follow()
        assert (at(graph, "Boat/Hull.md"), graph.get(hull).access_count) == (hull, 2)
        text = (directory / "Boat/Hull.md").read_bytes()
        (directory / "Boat/Hull.md").unlink()
        graph.follow()
        (directory / "Hull, finished.md").write_bytes(text)
        graph.follow()
        assert at(graph, "Hull, finished.md") == hull
        # Another note in its old place is another memory; a copy is one, too.
        write(graph, "Boat/Hull.md", "Another hull.\n")
        shutil.copy(directory / "Twice.md", directory / "Thrice.md")
        graph.follow()
        assert at(graph, "Boat/Hull.md") != hull
        assert (at(graph, "Twice.md"), at(graph, "Thrice.md") == twice) == (twice, False)
        # Edited in place it stays the same, and with the id in its file it may go anywhere.
        write(graph, "Twice.md", "Edited.\n")
        graph.follow()
        graph.update(twice, importance=0.8)
        (directory / "Twice.md").rename(directory / "Inbox/Elsewhere.md")
        write(graph, "Inbox/Elsewhere.md", (directory / "Inbox/Elsewhere.md").read_text() + "And edited.\n")
        graph.follow()
        assert graph.get(twice).path == "Inbox/Elsewhere.md"
        assert graph.get(at(graph, "Empty.md")).title == "Empty"


@pytest.mark.promise("graph.vault")
def test_what_is_forgotten_stays_so_and_its_place_is_free(loom: Loom, graph: Graph) -> None:
    write(graph, "Daily/2026-11-01.md", "A secret of that day, see [[Friend]].\n")
    write(graph, "Friend.md", "Knows [[2026-11-01]].\n")
    graph.follow()
    doomed = at(graph, "Daily/2026-11-01.md")
    items = [graph.get(doomed).item]
    loom.workspace().forget(items, confirm=loom.workspace().forget(items).confirm)
    assert not (graph.directory / "Daily/2026-11-01.md").exists()
    write(graph, "Daily/2026-11-01.md", "A secret of that day, see [[Friend]].\n")
    assert "forgotten" in graph.follow().problems[0].reason
    # Another text in the same place is another note, under another id.
    write(graph, "Daily/2026-11-01.md", "Rain all day.\n")
    assert graph.follow().problems == ()
    assert at(graph, "Daily/2026-11-01.md") != doomed
    graph.append(at(graph, "Daily/2026-11-01.md"), content="And wind.")
    assert graph.follow().problems == ()
    # Empty notes are all alike: that one was forgotten says nothing about the others.
    for name in ("One.md", "Two.md"):
        write(graph, name, "")
    graph.follow()
    items = [graph.get(at(graph, "One.md")).item]
    loom.workspace().forget(items, confirm=loom.workspace().forget(items).confirm)
    write(graph, "Three.md", "")
    assert graph.follow().problems == ()
    assert {"Two.md", "Three.md"} <= paths_of(graph).keys()


@pytest.mark.promise("graph.vault")
def test_notes_are_copied_into_another_graph_each_once(quick_loom: Loom, quick: Graph, tmp_path: Path) -> None:
    files = write_vault(tmp_path / "source")
    for name in ("2026-11-01.md", "Thoughts.md"):
        (tmp_path / "source/episodes").mkdir(exist_ok=True)
        (tmp_path / "source/episodes" / name).write_text("# 2026-11-01\n")
    done = quick.import_directory(tmp_path / "source")
    assert (done.files, done.memories, done.skipped) == (len(notes_of(files)) + 2, len(notes_of(files)) + 1, ())
    assert quick.import_directory(tmp_path / "source").files == 0
    assert "episodes/Thoughts.md" in paths_of(quick)


@pytest.mark.promise("graph.vault")
def test_pages_go_to_the_folder_that_is_set_and_ignored_folders_are_not_read(tmp_path: Path, directory: Path) -> None:
    write_vault(directory)
    chosen: dict[str, Any] = {"pages": "graph/pages", "ignore": ["Templates", "Daily/2026", "people"]}
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, **chosen) as loom:
        graph = loom.workspace().graph
        assert not [path for path in paths_of(graph) if path.startswith(("Daily/", "People/"))]
        keep(graph, "Larch it is", "decision", importance=0.9)
        assert graph.core().path == "graph/pages/CORE.md"
        assert "](../../graph/decisions/larch-it-is-" in graph.core(refresh=False).text
        graph.reflection()
        graph.follow()
        assert {each.path for each in graph.pages()} == {"graph/pages/CORE.md", "graph/pages/REFLECTION.md"}
        assert not [path for path in paths_of(graph) if "pages" in path]
    for wrong in ("/tmp", "../up", ".hidden", "a/../b", "C:x"):
        with pytest.raises(ValueError, match="inside"):
            Settings.model_validate({"graph": {"pages": wrong}})


@pytest.mark.promise("graph.vault")
def test_a_folder_that_is_ignored_later_or_becomes_a_graph_of_its_own_is_left(tmp_path: Path, directory: Path) -> None:
    url, notes = f"sqlite:///{tmp_path}/loom.db", {"Home.md", "Diary/One.md", "Work/CORE.md", "Other/Two.md"}
    for name in notes:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(f"# {name}\n\nText of {name}.\n")
    with open_with(url, directory) as loom:
        graph = loom.workspace().graph
        assert paths_of(graph).keys() == notes
        kept, one = keep(graph, "Larch it is", "decision"), at(graph, "Diary/One.md")
        graph.get(one)
    (directory / "Other/.everloom").mkdir()
    # The graph's own folders are always read.
    with open_with(url, directory, ignore=["diary", "graph"], pages="Work") as loom:
        graph = loom.workspace().graph
        assert paths_of(graph).keys() == {"Home.md", kept.path}
        assert graph.follow(["Other/Two.md", "Other", "Diary/One.md"]).read == 0
        again = graph.follow()
        assert (again.changed, again.removed) == (0, 0)
    with open_with(url, directory) as loom:
        graph = loom.workspace().graph
        assert paths_of(graph).keys() == notes - {"Other/Two.md"} | {kept.path}
        assert (at(graph, "Diary/One.md"), graph.get(one).access_count) == (one, 2)
