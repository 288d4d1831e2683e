"""Links in a graph's directory: a file is one memory whatever leads to it, and writing leaves a link a link."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from everloom.errors import Rejected
from everloom.graph import Graph
from tests.graph.ground import git, keep, memory_text, text_of, write

pytestmark = pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege on Windows")


def link(graph: Graph, name: str, target: str | Path) -> Path:
    """Make a link in a graph's directory; a relative target counts from the link."""
    place = graph.directory / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


def paths(graph: Graph) -> dict[str, str]:
    """List the path of each memory by its title."""
    return {each.title: graph.get(each.id).path for each in graph.recent()}


def problems(graph: Graph) -> dict[str, str]:
    return {each.path: each.reason for each in graph.follow().problems}


@pytest.mark.promise("files.links-stay-links")
def test_a_file_is_one_memory_and_is_changed_through_every_link(quick: Graph) -> None:
    write(quick, "log/harbour.md", "# Harbour log\r\n\r\nThe ferry is late.\r\n")
    near, far = link(quick, "a.md", "log/harbour.md"), link(quick, "more/z.md", "../a.md")
    assert quick.follow().added == 1
    (memory,) = quick.recent()
    quick.append(memory.id, content="The ferry left.")
    quick.update(memory.id, importance=0.9)
    assert near.is_symlink()
    assert far.is_symlink()
    assert not (quick.directory / "log/harbour.md").is_symlink()
    assert "The ferry left." in text_of(quick, "more/z.md")
    assert paths(quick) == {"Harbour log": "log/harbour.md"}
    assert quick.follow(["a.md", "log", "more/z.md"]).added == 0
    # A link that comes later, or in place of a copy, makes no second memory either.
    write(quick, "copy.md", "# Copy of something\n\nText.\n")
    assert quick.follow(["copy.md"]).added == 1
    (quick.directory / "copy.md").unlink()
    link(quick, "copy.md", "log/harbour.md")
    assert quick.follow(["copy.md"]).removed == 1
    assert paths(quick) == {"Harbour log": "log/harbour.md"}
    assert problems(quick) == {}


@pytest.mark.promise("files.links-stay-links")
def test_a_file_that_is_only_reached_by_links_is_known_by_the_first(quick: Graph) -> None:
    write(quick, "store.txt", memory_text("tide", "Tides", body="High at noon."))
    link(quick, "second.md", "store.txt")
    first = link(quick, "first.md", "store.txt")
    assert quick.follow().added == 1
    assert paths(quick) == {"Tides": "first.md"}
    quick.append("tide", content="Low at six.")
    assert first.is_symlink()
    assert "Low at six." in text_of(quick, "store.txt")
    assert quick.follow(["second.md"]).added == 0
    quick.delete("tide")
    assert not (quick.directory / "store.txt").exists()
    assert not os.path.lexists(first)
    assert set(problems(quick)) == {"second.md"}


@pytest.mark.promise("files.links-stay-links")
def test_what_leads_outside_nowhere_or_in_a_circle_is_named_and_stops_nothing(quick: Graph, tmp_path: Path) -> None:
    kept = keep(quick, "Kept")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "private.md").write_text("# Private\n")
    hidden = quick.directory / ".settings" / "run.md"
    hidden.parent.mkdir()
    hidden.write_text("# Hidden\n")
    targets: dict[str, str | Path] = {
        "out.md": outside / "private.md",
        "folder": outside,
        "gone.md": "never.md",
        "round.md": "about.md",
        "about.md": "round.md",
        "sly.md": ".settings/run.md",
        "up": ".",
        "graph/back": "..",
    }
    for name, target in targets.items():
        link(quick, name, target)
    assert set(problems(quick)) == {"out.md", "folder", "gone.md", "round.md", "about.md", "sly.md"}
    assert "does not exist" in problems(quick)["gone.md"]
    assert [each.id for each in quick.recent()] == [kept.id]
    # A memory that becomes a link to the outside: refused, and the file there stays as it is.
    file = quick.directory / kept.path
    file.rename(outside / "mine.md")
    file.symlink_to(outside / "mine.md")
    before = (outside / "mine.md").read_bytes()
    with pytest.raises(Rejected, match="outside the graph's directory") as refused:
        quick.append(kept.id, content="More.")
    assert "replace the link" in str(refused.value.hint)
    assert (outside / "mine.md").read_bytes() == before
    assert hidden.read_text() == "# Hidden\n"
    # The same memory in another file does not stop at the link that has its name.
    write(quick, "again.md", before.decode())
    assert "again.md" in problems(quick)
    assert keep(quick, "Another").item


@pytest.mark.promise("files.links-stay-links")
def test_a_folder_that_is_a_link_holds_each_memory_once(quick: Graph) -> None:
    write(quick, "topics/boats.md", "# Boats\n\nOf wood.\n")
    link(quick, "alias", "topics")
    (quick.directory / "mine").mkdir()
    link(quick, "graph/fixes", "../mine")
    fix = keep(quick, "A leak", "fix")
    quick.follow()
    assert paths(quick) == {"Boats": "topics/boats.md", "A leak": fix.path}
    assert fix.path.startswith("mine/")
    quick.update(fix.id, title="Another leak")
    quick.pin(fix.id)
    assert quick.follow().removed == 0
    assert len(paths(quick)) == 2
    assert problems(quick) == {}


@pytest.mark.promise("files.links-stay-links")
def test_a_change_through_a_link_is_committed_in_its_target(quick: Graph) -> None:
    root = quick.directory
    write(quick, "notes.txt", memory_text("keel", "Keel"))
    link(quick, "keel.md", "notes.txt")
    git(root, "init", "-q", "--initial-branch=main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "before")
    quick.follow()
    quick.append("keel", content="Of lead.")
    assert "Of lead." in git(root, "show", "HEAD:notes.txt")
    assert git(root, "ls-tree", "HEAD", "keel.md").startswith("120000")
    assert subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "notes.txt"], cwd=root, check=False).returncode == 0
