"""What an operation on a large directory costs follows what changed, and not how much there is.

Counts files, statements and commands, never time: benchmarks/graph.py measures that, with fifty thousand files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.directory import furnish
from everloom.graph import Graph
from everloom.graph.files.disk import Disk, FileEntry
from everloom.graph.git.repository import Git
from everloom.graph.index.progress import listening
from everloom.graph.index.watching import Watcher
from everloom.loom import Loom
from tests.graph.ground import assert_agreement, git, keep, memory_text, open_with, text_of, write
from tests.patience import wait_until
from tests.semantic.test_statements import counting
from tests.store.ground import Child

FEW, MANY = 60, 1_200


@contextmanager
def counting_reads() -> Iterator[set[str]]:
    """Collect the files that are read."""
    found: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        plain = Disk.look

        def look(disk: Disk, path: str) -> tuple[FileEntry, bytes] | None:
            found.add(path)
            return plain(disk, path)

        patch.setattr(Disk, "look", look)
        yield found


@contextmanager
def counting_commands() -> Iterator[list[str]]:
    """Collect the commands that git is given."""
    found: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        plain = Git._run

        def run(repository: Git, *arguments: str, **how: Any) -> str:
            found.append(arguments[0])
            return plain(repository, *arguments, **how)

        patch.setattr(Git, "_run", run)
        yield found


def settled(directory: Path, count: int) -> Path:
    """Write a directory with a history."""
    furnish(directory, count)
    git(directory, "init", "-q", "--initial-branch=main")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "all of it")
    return directory


def costs(graph: Graph, told: list[str]) -> dict[str, tuple[int, int, int]]:
    """Count what frequent verbs take: statements, files read, and commands of git."""
    one, other = (each.id for each in graph.recent(limit=2))
    graph.recall("warm up")
    acts: dict[str, Callable[[], object]] = {
        "store": lambda: keep(graph, "A wholly new thing", "fix", content="Nobody has heard of it."),
        "relate": lambda: graph.relate(one, other, "FOLLOWS"),
        "append": lambda: graph.append(one, content="And one more line."),
        "get": lambda: graph.get(one),
        "related": lambda: graph.related(one),
        "recent": lambda: graph.recent(limit=20),
        "list edges": lambda: graph.edge_search(limit=20),
        "stats": graph.stats,
    }
    taken = {}
    for name, act in acts.items():
        told.clear()
        with counting_reads() as reads, counting_commands() as commands:
            act()
        # The words of a text are counted by one statement, which SQLite tells word by word.
        statements = [each for each in told if not each.startswith("INSERT INTO term")]
        taken[name] = len(statements), len(reads), len(commands)
    return taken


@pytest.mark.promise("graph.cost-follows-change")
def test_what_a_verb_takes_does_not_grow_with_the_directory(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = settled(tmp_path / "few", FEW), settled(tmp_path / "many", MANY)
    with counting(store_url, monkeypatch) as told:
        with counting_reads() as reads, open_with(store_url, many) as loom:
            assert loom.workspace().graph.stats().memories == MANY * 4 // 5
            assert len(reads) == MANY
            small = loom.workspace("small").graphs.create("few", few)
            least, most = costs(small, told), costs(loom.workspace().graph, told)
        assert {name: most[name][1:] for name in most} == {name: least[name][1:] for name in least}
        # A page more or less, and what the word index and the planner do at times.
        assert all(most[name][0] <= least[name][0] + 3 for name in most), (least, most)
        assert max(commands for _, _, commands in most.values()) < 30
        # What was just written could be written again within the same moment, and would be looked at once more.
        before = time.time() - 100
        for path in many.rglob("*.md"):
            os.utime(path, (before, before))
        with open_with(store_url, many) as loom:
            assert loom.workspace().graph.directory == many
        told.clear()
        with counting_reads() as reads, open_with(store_url, many) as loom:
            graph = loom.workspace().graph
            assert not reads, "a file was read although nothing changed"
            assert len(told) < 150
            changed = graph.recent(limit=1)[0].path
            write(graph, changed, text_of(graph, changed) + "\nBy hand.\n")
            reads.clear()
            assert (graph.follow().changed, reads) == (1, {changed})
            write(graph, changed, text_of(graph, changed) + "\nOnce more.\n")
            reads.clear()
            assert (graph.follow([changed]).changed, reads) == (1, {changed})
            assert_agreement(loom, graph)


def test_files_that_moved_stay_who_they_were_in_however_many_batches(
    quick_loom: Loom, quick: Graph, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = furnish(directory, 300)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        quick.follow()
    assert heard == [("indexing", 300, 300)]
    known = {each.id: quick.get(each.id).item for each in memories[:20]}
    edges = {each.id for each in quick.edge_search(limit=100)}
    monkeypatch.setattr("everloom.graph.index.scan.BATCH", 7)
    for folder in list((directory / "graph").iterdir()):
        (folder / "older").mkdir()
        for file in list(folder.glob("*.md"))[::2]:
            file.rename(folder / "older" / file.name)
    gone = quick.search(types=["fix"], limit=3).memories
    for each in gone:
        (directory / each.path).unlink(missing_ok=True)
        (directory / each.path).parent.joinpath("older", Path(each.path).name).unlink(missing_ok=True)
    done = quick.follow()
    assert (done.added, done.removed) == (0, len(gone))
    assert {each.id for each in quick.edge_search(limit=100)} == edges
    there = known.keys() - {each.id for each in gone}
    assert {uuid: quick.get(uuid).item for uuid in there} == {uuid: known[uuid] for uuid in there}
    assert_agreement(quick_loom, quick)


def test_a_copy_that_is_left_takes_over_when_only_its_original_is_looked_at(quick: Graph) -> None:
    stored = keep(quick, "Original")
    write(quick, "graph/general/copy.md", text_of(quick, stored.path))
    assert [each.path for each in quick.follow(["graph/general/copy.md"]).problems or quick.stats().problems] == [
        "graph/general/copy.md"
    ]
    (quick.directory / stored.path).unlink()
    quick.follow([stored.path, "CORE.md", "graph/.hidden.md", "../outside.md", "graph/none.md"])
    assert quick.get(stored.id).path == "graph/general/copy.md"
    assert quick.stats().problems == ()


def test_an_edit_that_leaves_size_and_time_is_found_by_reading_everything(quick: Graph) -> None:
    write(quick, "graph/fixes/same.md", memory_text("same-id", "Same", "fix", body="Before."))
    quick.follow()
    file = quick.directory / "graph/fixes/same.md"
    known = file.stat()
    file.write_text(file.read_text().replace("Before.", "After.."))
    os.utime(file, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert (quick.follow().changed, quick.recall("before").memories[0].preview) == (0, "Before.")
    assert quick.reindex().memories == 1
    assert quick.recall("after").memories[0].preview == "After.."


def test_a_folder_that_came_or_went_is_followed_without_the_others(quick: Graph) -> None:
    stored = keep(quick, "Stays where it is")
    for name in ("one", "two"):
        write(quick, f"graph/fixes/v1.2/deep/{name}.md", memory_text(f"{name}-id", name.capitalize(), "fix"))
    with counting_reads() as reads:
        # As a watcher is told of a folder that was moved here; and of what an editor leaves for a moment.
        assert quick.follow(["graph/fixes/v1.2", "graph/fixes/4913", "graph/fixes/one.md~"]).added == 2
    assert stored.path not in reads
    assert {each.id for each in quick.recent()} == {stored.id, "one-id", "two-id"}
    (quick.directory / "graph/fixes/v1.2").rename(quick.directory / "graph/v2")
    assert quick.follow(["graph/fixes/v1.2", "graph/v2"]).removed == 0
    assert quick.get("one-id").path == "graph/v2/deep/one.md"
    (quick.directory / "graph/v2").rename(quick.directory / "elsewhere")
    assert quick.follow(["graph/v2"]).removed == 2
    assert [each.id for each in quick.recent()] == [stored.id]


WORKER = """
import os, signal, sys, time
from pathlib import Path
from everloom.graph.index import scan
from tests.graph.ground import open_with
scan.BATCH, left, plain = 25, int(sys.argv[3]), scan.follow_files
signs = Path(sys.argv[2]).parent / "signs"
def follow_files(graph, paths):
    global left
    left -= 1
    print("began", flush=True)
    (signs / str(os.getpid())).touch()
    if left == 0:
        stop_at = time.monotonic() + 0.5
        while len(os.listdir(signs)) < 2 and time.monotonic() < stop_at:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(graph, paths)
scan.follow_files = follow_files
with open_with(sys.argv[1], Path(sys.argv[2])) as loom:
    loom.workspace().graph
print("done", flush=True)
"""


@pytest.mark.promise("graph.first-index-goes-on")
def test_a_first_index_that_was_killed_goes_on_and_two_at_once_double_nothing(
    store_url: str, tmp_path: Path, directory: Path
) -> None:
    furnish(directory, 300)
    (tmp_path / "signs").mkdir()
    with Child(WORKER, store_url, str(directory), "2") as first:
        assert first.line() == "began"
        # The first dies once both are at it; the second takes what it leaves, or gives up waiting. The third finds the
        # rest.
        with Child(WORKER, store_url, str(directory), "0") as second:
            first.wait_until_dead()
            assert second.finish()[-1] == "done"
    with open_with(store_url, directory) as loom:
        graph = loom.workspace().graph
        graph.follow()
        assert (graph.stats().memories, graph.stats().edges) == (240, 60)
        assert_agreement(loom, graph)


@pytest.mark.promise("graph.files-are-followed")
def test_a_directory_that_the_system_cannot_watch_is_looked_at_instead(
    quick: Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("everloom.graph.index.watching.POLL_SECONDS", 0.05)
    away = quick.directory.with_name("away")
    quick.directory.rename(away)
    watcher = Watcher(quick).start()
    try:
        wait_until(lambda: "does not exist" in caplog.text, "the directory to be missed")
        assert "looked at every 0.05 seconds instead" in caplog.text
        away.rename(quick.directory)
        write(quick, "graph/fixes/live.md", memory_text("live-id", "Live", "fix"))
        assert wait_until(lambda: [each.id for each in quick.recent()], "the file to be followed") == ["live-id"]
        # The trouble of every look is said once.
        assert caplog.text.count("cannot update the index") == 1
    finally:
        watcher.stop()


@pytest.mark.promise("graph.cost-follows-change")
@pytest.mark.parametrize("count", [3, 300])
def test_a_commit_holds_what_was_there_and_what_changed_whatever_the_names(tmp_path: Path, count: int) -> None:
    root = tmp_path / "r"
    (root / "graph" / "a").mkdir(parents=True)
    (root / ".everloom").mkdir()
    names = ["graph/a/x.md", "graph/a/x.md.md", 'graph/a/ä "quoted"\tx.md', "x.md", "graph/gone.md", "b", "run"]
    for name in names:
        (root / name).write_text(name)
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("x.md")
    git(root, "init", "-q", "--initial-branch=main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "before")
    (root / "staged").write_text("by a person")
    git(root, "add", "staged")
    (root / "graph/gone.md").unlink()
    (root / "b").unlink()
    changed = ["graph/a/x.md", "x.md", *(f"b/{number}.md" for number in range(count))]
    (root / "b").mkdir()
    for name in changed:
        (root / name).write_bytes(b"changed\r\n\xff" + name.encode())
    assert Git(root).commit([*changed, "graph/gone.md", "never/was.md"], "after") is None
    lines = [line.partition("\t") for line in git(root, "ls-tree", "-r", "-z", "HEAD").split("\0")[:-1]]
    kept = {"graph/a/x.md.md", 'graph/a/ä "quoted"\tx.md'}
    assert {f"{entry[:6]} {name}" for entry, _, name in lines} == {
        "100755 run",
        "120000 link",
        *(f"100644 {name}" for name in {*kept, *changed}),
    }
    assert git(root, "status", "--porcelain") == "A  staged\n"
    assert git(root, "fsck", "--strict") == ""


def test_a_folder_that_is_named_like_a_note_is_followed_when_it_goes(quick: Graph, tmp_path: Path) -> None:
    write(quick, "Old notes.md/Larch.md", "Larch.\n")
    quick.follow(["Old notes.md"])
    assert [each.path for each in quick.recent()] == ["Old notes.md/Larch.md"]
    # Moved away as a whole, only the folder itself is told of.
    (quick.directory / "Old notes.md").rename(tmp_path / "elsewhere")
    assert quick.follow(["Old notes.md"]).removed == 1
    assert quick.recent() == []


def test_what_is_wrong_beside_the_memories_stays_known_and_becomes_no_memory(quick: Graph) -> None:
    write(quick, "_state.json", "{broken")
    (quick.directory / "elsewhere").symlink_to(Path("/"))
    wrong = {each.path for each in quick.follow().problems}
    assert wrong == {"_state.json", "elsewhere"}
    write(quick, "graph/fixes/leak.md", "# A leak\n\nThe pump was the cause.\n")
    assert quick.follow(["graph/fixes/leak.md"]).added == 1
    assert {each.path for each in quick.stats().problems} == wrong
    assert [each.title for each in quick.search().memories] == ["A leak"]
