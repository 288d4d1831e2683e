"""Where the files of workspaces are: two never share a directory, old ones are adopted, removed ones are gone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from everloom import Settings, open_loom
from everloom.errors import Conflict, Forbidden, NotFound, Rejected, StoreReplaced
from everloom.loom import Loom, Workspace
from everloom.store.address import sqlite_url
from everloom.store.claims import CORNER
from tests.conftest import Lend
from tests.graph.ground import keep

# Pairs that are one once they are simplified, and a pair of which nothing is left.
ALIKE = (("team+a", "team@a"), ("müller", "muller"), ("日本", "中国"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "everloom"


def opened(url: str, **sections: Any) -> Loom:
    return open_loom(url, settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}, **sections}))


def titles(workspace: Workspace) -> set[str]:
    return {memory.title for memory in workspace.graph.search().memories}


@pytest.mark.promise("files.keyed-by-id")
def test_names_that_look_alike_to_a_file_system_never_share_a_directory(store_url: str, home: Path) -> None:
    with opened(store_url) as loom:
        for name in (name for pair in ALIKE for name in pair):
            place = loom.workspace(name)
            keep(place.graph, f"Of {name}")
            place.mind.notes.write("boat.md", f"Of {name}.")
        seen: set[Path] = set()
        for name in (name for pair in ALIKE for name in pair):
            place = loom.workspace(name)
            assert titles(place) == {f"Of {name}"}
            assert place.mind.notes.read("boat.md") == f"Of {name}.\n"
            here = {place.graph.directory, place.mind.setup.notes}
            assert not seen & here
            seen |= here
            top = home / "stores" / loom.workspaces.store_identity / str(place.info.id)
            assert all(each.is_relative_to(top) for each in here)
            assert (top / "workspace.txt").read_text(encoding="utf-8") == f"{name}\n"
        # The graphs of one workspace do not coincide either.
        place = loom.workspace("müller")
        one, two = place.graphs.create("a+b"), place.graphs.create("a@b")
        assert one.directory != two.directory


@pytest.mark.promise("files.keyed-by-id")
def test_two_stores_with_one_data_directory_share_nothing(lend_bare_url: Lend) -> None:
    with lend_bare_url() as here, lend_bare_url() as there, opened(here) as one, opened(there) as two:
        for number, loom in enumerate((one, two)):
            keep(loom.workspace().graph, f"Of store {number}")
            loom.workspace().mind.notes.write("boat.md", f"Of store {number}.")
        for number, loom in enumerate((one, two)):
            assert titles(loom.workspace()) == {f"Of store {number}"}
            assert loom.workspace().mind.notes.read("boat.md") == f"Of store {number}.\n"


@pytest.mark.promise("files.claimed")
def test_a_directory_that_another_workspace_uses_is_refused(store_url: str, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with opened(store_url, graph={"directory": str(vault)}, mind={"notes": str(tmp_path / "notes")}) as loom:
        keep(loom.workspace().graph, "Of the first")
        loom.workspace().mind.notes.write("boat.md", "Of the first.")
        with pytest.raises(Conflict, match="another workspace") as refusal:
            loom.workspace("other").graphs.create("vault", vault)
        assert str(vault / CORNER / "owner-graph.json") in str(refusal.value.hint)
        assert loom.workspace("other").graphs.list() == []
        loom.workspace("other").graphs.create("x", tmp_path / "x")
        with pytest.raises(Conflict, match="another workspace"):
            loom.workspace("other").graphs.move("x", vault)
    # The usual workspace is another one now, and the settings name the same directories.
    sections: dict[str, Any] = {"graph": {"directory": str(vault)}, "mind": {"notes": str(tmp_path / "notes")}}
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC", "name": "second"}, **sections})
    with open_loom(store_url, settings=settings) as loom:
        with pytest.raises(Conflict, match="another workspace"):
            loom.workspace().graph.search()
        with pytest.raises(Conflict, match="another workspace"):
            loom.workspace().mind.notes.read("boat.md")
        # A copy belongs to nobody yet.
        shutil.copytree(vault, tmp_path / "copy")
        copied = loom.workspace("third").graphs.create("copy", tmp_path / "copy")
        assert {memory.title for memory in copied.search().memories} == {"Of the first"}
        # What the hint says helps.
        (vault / CORNER / "owner-graph.json").unlink()
        assert titles(loom.workspace()) == {"Of the first"}
    with opened(store_url) as loom, pytest.raises(Conflict, match="another workspace"):
        loom.workspace().graph.search()


@pytest.mark.promise("files.removed")
def test_removing_a_workspace_removes_its_files_and_names_those_it_keeps(
    store_url: str, tmp_path: Path, home: Path
) -> None:
    with opened(store_url, mind={"notes": str(tmp_path / "notes")}) as loom:
        place = loom.workspace()
        keep(place.graph, "Of the first")
        keep(place.graphs.create("vault", tmp_path / "vault"), "Chosen by hand")
        place.mind.notes.write("boat.md", "Of the first.")
        made = place.graph.directory
        gone = loom.remove_workspace("default")
        assert set(gone.kept) == {tmp_path / "vault", tmp_path / "notes"}
        assert made in gone.removed
        assert not loom.places.of(place.info).exists()
        assert list((tmp_path / "vault" / "graph").rglob("*.md"))
        assert loom.places.leftovers() == []
        # A new workspace of that name has none of it.
        again = loom.workspace()
        assert titles(again) == set()
        with pytest.raises(Conflict, match="another workspace"):
            again.mind.notes.read("boat.md")
    with opened(store_url) as loom:
        assert loom.workspace().mind.notes.read("boat.md") is None


@pytest.mark.promise("files.keyed-by-id")
def test_a_renamed_workspace_keeps_its_files(store_url: str) -> None:
    with opened(store_url) as loom:
        place = loom.workspace("old name")
        keep(place.graph, "Of the first")
        place.mind.notes.write("boat.md", "Of the first.")
        info = loom.change_workspace("old name", new_name="new name")
        again = loom.workspace("new name")
        assert titles(again) == {"Of the first"}
        assert again.mind.notes.read("boat.md") == "Of the first.\n"
        assert (loom.places.of(info) / "workspace.txt").read_text(encoding="utf-8") == "new name\n"
        assert titles(loom.workspace("old name")) == set()


def put_back(loom: Loom, place: Workspace, graph_at: Path) -> None:
    """Put the files of a workspace where earlier versions had them, and forget who owns them."""
    notes = place.mind.setup.notes
    pairs = [(place.graph.directory, graph_at), (notes, loom.places.former_notes(place.info))]
    for directory, target in pairs[: 2 if notes.is_dir() else 1]:
        for record in (directory / CORNER).glob("owner-*"):
            record.unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        directory.rename(target)
    with loom.store.write(place.info.id) as unit:
        (row,) = unit.all("graph.graph_all")
        unit.run("graph.graph_move", id=row["id"], directory=str(graph_at))


@pytest.mark.promise("files.adopted")
def test_directories_of_earlier_versions_are_adopted_by_their_workspace_alone(store_url: str, home: Path) -> None:
    with opened(store_url) as loom:
        place = loom.workspace("müller")
        keep(place.graph, "Of the first")
        place.mind.notes.write("boat.md", "Of the first.")
        place.mind.notes.append("boat.md", "More.")
        put_back(loom, place, home / "graphs" / "muller" / "default")
        (loom.places.former_notes(place.info) / "by-hand.md").write_text("By hand.\n", encoding="utf-8")
    with opened(store_url) as loom:
        # Another workspace whose name became the same has nothing of it, whoever comes first.
        assert titles(loom.workspace("muller")) == set()
        place = loom.workspace("müller")
        assert titles(place) == {"Of the first"}
        assert place.graph.directory.is_relative_to(loom.places.of(place.info))
        assert not (home / "graphs" / "muller" / "default").exists()
        assert place.mind.notes.read("boat.md") == "Of the first.\nMore.\n"
        assert place.mind.notes.read("by-hand.md") == "By hand.\n"
        assert not loom.places.former_notes(place.info).exists()
        assert len(place.mind.notes.history("boat.md")) == 2


@pytest.mark.promise("files.adopted")
def test_a_directory_of_an_earlier_version_that_two_graphs_shared_is_refused_with_what_to_do(
    store_url: str, home: Path, tmp_path: Path
) -> None:
    shared = home / "graphs" / "team-a" / "default"
    with opened(store_url) as loom:
        for name in ("team+a", "team@a"):
            keep(loom.workspace(name).graph, f"Of {name}")
        put_back(loom, loom.workspace("team+a"), shared)
        other = loom.workspace("team@a")
        with loom.store.write(other.info.id) as unit:
            (row,) = unit.all("graph.graph_all")
            unit.run("graph.graph_move", id=row["id"], directory=str(shared))
    with opened(store_url) as loom:
        for name in ("team+a", "team@a"):
            with pytest.raises(Conflict, match="more than one graph") as refusal:
                titles(loom.workspace(name))
            assert "graph config --directory" in str(refusal.value.hint)
        # Removing one of the two leaves the directory to the other, and says so.
        assert shared in loom.remove_workspace("team@a").kept
        assert "Of team+a" in titles(loom.workspace("team+a"))


@pytest.mark.promise("files.adopted")
def test_a_directory_that_another_store_adopted_is_missed_with_a_hint(store_url: str, home: Path) -> None:
    with opened(store_url) as loom:
        place = loom.workspace()
        keep(place.graph, "Of the first")
        put_back(loom, place, home / "graphs" / "default" / "default")
        (home / "graphs" / "default" / "default").rename(home / "elsewhere")
    with opened(store_url) as loom, pytest.raises(NotFound, match="does not exist") as refusal:
        titles(loom.workspace())
    assert "another store" in str(refusal.value.hint)


@pytest.mark.promise("files.private")
def test_the_record_of_a_directory_says_whose_it_is(store_url: str) -> None:
    with opened(store_url) as loom:
        place = loom.workspace("müller")
        keep(place.graph, "Of the first")
        record = place.graph.directory / CORNER / "owner-graph.json"
        said = json.loads(record.read_text(encoding="utf-8"))
        assert said["store"] == loom.workspaces.store_identity
        assert (said["workspace"], said["item"], said["name"]) == (place.info.id, "default", "müller")
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        # A record that cannot be read is nobody's permission.
        record.write_text("{", encoding="utf-8")
        with pytest.raises(Conflict, match="another workspace"):
            titles(place)


def filled(file: Path) -> None:
    """Make a store with a graph and a note in directories of its own."""
    with opened(sqlite_url(file)) as loom:
        keep(loom.workspace().graph, "Of the first")
        loom.workspace().mind.notes.write("boat.md", "Of the first.")


def seen(file: Path) -> tuple[set[str], str | None]:
    with opened(sqlite_url(file)) as loom:
        return titles(loom.workspace()), loom.workspace().mind.notes.read("boat.md")


def below(home: Path) -> dict[str, bytes]:
    """Read every file below a directory."""
    return {str(each): each.read_bytes() for each in sorted(home.rglob("*")) if each.is_file()}


@pytest.mark.promise("files.copied-database")
def test_a_copied_database_does_not_touch_the_files_of_the_original(tmp_path: Path, home: Path) -> None:
    file, copy = tmp_path / "loom.db", tmp_path / "copy.db"
    filled(file)
    shutil.copy(file, copy)
    before = below(home)
    with opened(sqlite_url(copy)) as loom:
        place = loom.workspace()
        for act in (
            lambda: titles(place),
            lambda: keep(place.graph, "Of the copy"),
            lambda: place.graphs.create("another"),
            lambda: place.mind.notes.read("boat.md"),
            lambda: place.mind.notes.write("boat.md", "Of the copy.", replace=True),
            lambda: loom.workspace("fresh").mind.notes.write("boat.md", "Of the copy."),
        ):
            with pytest.raises(Conflict, match="is a copy of") as refusal:
                act()
            assert "everloom separate" in str(refusal.value.hint)
        # What needs no file works, and removing a workspace removes nothing that is the original's.
        assert place.semantic.remember(["James"], "James sails.").id
        loom.change_workspace(place.info.name, new_name="renamed")
        assert loom.remove_workspace("renamed").removed == ()
    assert below(home) == before
    assert seen(file) == ({"Of the first"}, "Of the first.\n")


@pytest.mark.promise("files.copied-database")
def test_a_moved_or_restored_database_keeps_its_files(tmp_path: Path) -> None:
    file, moved, again = tmp_path / "loom.db", tmp_path / "moved" / "loom.db", tmp_path / "again.db"
    filled(file)
    moved.parent.mkdir()
    file.rename(moved)
    assert seen(moved) == ({"Of the first"}, "Of the first.\n")
    # As by a move to another disk: another file, and the first one is gone.
    shutil.copy(moved, again)
    moved.unlink()
    assert seen(again) == ({"Of the first"}, "Of the first.\n")
    # Another file in the same place, as after a restore.
    shutil.copy(again, tmp_path / "kept.db")
    (tmp_path / "kept.db").replace(again)
    assert seen(again) == ({"Of the first"}, "Of the first.\n")
    # And another store where the first one was says nothing about this one.
    shutil.copy(again, moved)
    again.unlink()
    filled(again)
    assert seen(moved) == ({"Of the first"}, "Of the first.\n")


@pytest.mark.promise("files.copied-database")
def test_a_copied_database_becomes_a_store_of_its_own(tmp_path: Path, home: Path) -> None:
    file, copy = tmp_path / "loom.db", tmp_path / "copy.db"
    filled(file)
    with opened(sqlite_url(file)) as loom, pytest.raises(Rejected, match="not a copy"):
        loom.places.separate()
    with opened(sqlite_url(file)) as loom:
        loom.workspace().graphs.create("vault", tmp_path / "vault")
    shutil.copy(file, copy)
    before = below(home)
    with (
        opened(sqlite_url(copy), store={"read_only": True}) as reader,
        pytest.raises(Forbidden, match="only for reading"),
    ):
        reader.places.separate()
    assert below(home) == before
    with opened(sqlite_url(copy)) as stale, opened(sqlite_url(copy)) as loom:
        done = loom.places.separate()
        with pytest.raises(StoreReplaced):
            stale.workspace().semantic.remember(["James"], "James sails.")
    assert (done.original, done.kept) == (file, (tmp_path / "vault",))
    assert all(stat.S_IMODE(each.stat().st_mode) & 0o077 == 0 for each in home.rglob("*"))
    assert seen(copy) == ({"Of the first"}, "Of the first.\n")
    with opened(sqlite_url(copy)) as loom:
        keep(loom.workspace().graph, "Of the copy")
        loom.workspace().mind.notes.write("boat.md", "Of the copy.", expected=1)
        with pytest.raises(Conflict, match="another workspace"):
            loom.workspace().graphs.open("vault")
    assert seen(file) == ({"Of the first"}, "Of the first.\n")
    assert seen(copy) == ({"Of the first", "Of the copy"}, "Of the copy.\n")


@pytest.mark.promise("files.copied-database")
def test_a_copy_with_another_data_directory_does_not_touch_the_files_either(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, copy = tmp_path / "loom.db", tmp_path / "copy.db"
    filled(file)
    shutil.copy(file, copy)
    before = below(home)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    with opened(sqlite_url(copy)) as loom, pytest.raises(Conflict, match="is a copy of"):
        keep(loom.workspace().graph, "Of the copy")
    assert below(home) == before
    # What the hint says helps there, too.
    with opened(sqlite_url(copy)) as loom:
        assert loom.places.separate().original == file
    with opened(sqlite_url(copy)) as loom:
        keep(loom.workspace().graph, "Of the copy")
        assert titles(loom.workspace()) == {"Of the first", "Of the copy"}
        assert loom.workspace().graph.directory.is_relative_to(tmp_path / "elsewhere")
    assert below(home) == before


@pytest.mark.promise("files.copied-database")
@pytest.mark.parametrize("what", ["text", "another program's database"])
def test_whatever_else_is_where_the_database_was_does_not_make_it_a_copy(tmp_path: Path, what: str) -> None:
    file, moved = tmp_path / "loom.db", tmp_path / "moved.db"
    filled(file)
    shutil.copy(file, moved)
    file.unlink()
    if what == "text":
        file.write_text("no database " * 100)
    else:
        with closing(sqlite3.connect(file)) as other:
            other.execute("CREATE TABLE theirs (x)")
    assert seen(moved) == ({"Of the first"}, "Of the first.\n")
