"""People, editors, git and other processes at work in the directory: everything is followed, nothing is lost."""

from __future__ import annotations

import os
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import SystemClock
from everloom.errors import Conflict, NotFound, Rejected
from everloom.graph import Graph
from everloom.graph.files import disk as disk_module
from everloom.graph.files.changeset import Put
from everloom.graph.files.disk import Disk, FileEntry, free_name, slug
from everloom.graph.index import executor
from everloom.graph.index.watching import Watcher, Watchers
from everloom.loom import Loom, Workspace
from tests.episodic.ground import Killed
from tests.forking import Popen
from tests.graph.ground import assert_agreement, commits, git, keep, memory_text, open_with, text_of, write
from tests.patience import wait_until


@pytest.mark.promise("graph.files-are-followed")
def test_edits_moves_deletions_and_new_files_are_followed(loom: Loom, graph: Graph) -> None:
    edited, moved, removed = (keep(graph, title) for title in ("Edited", "Moved", "Removed"))
    graph.get(moved.id)
    write(graph, edited.path, text_of(graph, edited.path).replace("Edited", "Edited by Ann"))
    (graph.directory / "graph/general/sub").mkdir()
    (graph.directory / moved.path).rename(graph.directory / "graph/general/sub/elsewhere.md")
    (graph.directory / removed.path).unlink()
    write(graph, "graph/fixes/by-hand.md", memory_text("my-own-id", "Written by hand", "fix"))
    followed = graph.follow()
    assert (followed.added, followed.removed, followed.problems) == (1, 1, ())
    assert {each.title for each in graph.recent()} == {"Edited by Ann", "Moved", "Written by hand"}
    assert graph.get(moved.id).access_count == 2
    assert graph.get("my-own-id").path == "graph/fixes/by-hand.md"
    assert graph.recall("Written by hand").memories[0].id == "my-own-id"
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.files-are-followed")
def test_what_comes_back_with_a_branch_is_known_again(loom: Loom, graph: Graph) -> None:
    stored = keep(graph, "On a branch")
    graph.get(stored.id)
    file = graph.directory / stored.path
    text = file.read_text()
    file.unlink()
    graph.follow()
    assert graph.recent() == []
    file.write_text(text)
    graph.follow()
    found = graph.get(stored.id)
    assert (found.item, found.access_count) == (stored.item, 2)
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.broken-files")
def test_a_broken_file_is_reported_with_its_line_and_left_untouched(loom: Loom, graph: Graph) -> None:
    stored, other = keep(graph, "Merged badly"), keep(graph, "Other")
    broken = text_of(graph, stored.path).replace(
        "type: general\n", "<<<<<<< HEAD\ntype: fix\n=======\ntype: x\n>>>>>>> b\n"
    )
    write(graph, stored.path, broken)
    write(graph, "graph/fixes/not-closed.md", "---\nid: x\ntype: fix\ntitle: [open\n---\n\nText\n")
    problems = {each.path: each for each in graph.follow().problems}
    assert (problems[stored.path].line, problems[stored.path].reason) == (3, "the file contains a git merge conflict")
    assert "is not YAML" in problems["graph/fixes/not-closed.md"].reason
    assert graph.stats().problems == tuple(problems[path] for path in sorted(problems))
    for act in (
        lambda: graph.update(stored.id, importance=0.9),
        lambda: graph.relate(stored.id, other.id, "CAUSES"),
    ):
        with pytest.raises(Conflict, match="line 3"):
            act()
    assert text_of(graph, stored.path) == broken
    assert graph.recall("Merged badly").memories[0].id == stored.id
    write(graph, stored.path, broken.replace("<<<<<<< HEAD\n", "").replace("=======\ntype: x\n>>>>>>> b\n", ""))
    assert [each.path for each in graph.follow().problems] == ["graph/fixes/not-closed.md"]
    assert graph.get(stored.id).type == "fix"


@pytest.mark.promise("graph.broken-files")
def test_a_copied_file_is_reported_until_the_first_is_gone(loom: Loom, graph: Graph) -> None:
    stored = keep(graph, "Original")
    write(graph, "graph/general/copy.md", text_of(graph, stored.path))
    (problem,) = graph.follow().problems
    assert problem.path == "graph/general/copy.md"
    assert stored.path in problem.reason
    (graph.directory / stored.path).unlink()
    assert graph.follow().problems == ()
    assert graph.get(stored.id).path == "graph/general/copy.md"
    assert_agreement(loom, graph)


@pytest.mark.promise("graph.scan-reads-only-what-changed")
def test_unchanged_files_are_not_read_and_recall_reads_none(quick: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        write(quick, f"graph/fixes/m{number}.md", memory_text(f"id-{number:04}", f"Memory {number}", "fix"))
    quick.follow()
    read: list[str] = []
    original = Disk.look

    def noted(disk: Disk, path: str) -> tuple[FileEntry, bytes] | None:
        read.append(path)
        return original(disk, path)

    monkeypatch.setattr(Disk, "look", noted)
    os.utime(quick.directory / "graph/fixes/m3.md", (1_000_000, 1_000_000))
    assert quick.follow().read == 1
    assert set(read) == {"graph/fixes/m3.md"}
    read.clear()
    assert quick.follow().read == 0
    assert len(quick.recall("memory", limit=12, max_tokens=4_000).memories) == 12
    quick.search(query="memory")
    quick.recent()
    quick.stats()
    assert read == []


def test_a_directory_that_is_gone_is_not_a_deletion_of_everything(loom: Loom, graph: Graph) -> None:
    keep(graph, "Still known")
    away = graph.directory.with_name("away")
    graph.directory.rename(away)
    with pytest.raises(NotFound):
        graph.follow()
    graph.directory.mkdir()
    with pytest.raises(Conflict):
        graph.follow()
    assert len(graph.recent()) == 1


NAMES = ["../../etc/passwd", "x" * 500, "🙂🙂", "CON", "nul.md", "...", "a/b\\c", "日本語の題", "-rf *"]
NAMES += ["$(rm -rf /)", "\u202egnp"]


@pytest.mark.promise("graph.3-safe-names")
@pytest.mark.parametrize("title", NAMES)
def test_any_title_gets_a_safe_name_inside_the_directory(quick_loom: Loom, quick: Graph, title: str) -> None:
    stored = keep(quick, title, "fix")
    file = quick.directory / stored.path
    assert file.resolve().parent == (quick.directory / "graph/fixes").resolve()
    assert len(file.name.encode()) < 160
    assert file.name == unicodedata.normalize("NFC", file.name).lower()
    assert not set(file.name.rpartition(".")[0]) & set("/\\:*?<>|. \u202e")
    other = keep(quick, title, "problem")
    edge = quick.relate(stored.id, other.id, "SOLVES").edge
    assert (quick.directory / edge.path).resolve().parent == (quick.directory / "graph/edges").resolve()
    assert_agreement(quick_loom, quick)


@pytest.mark.promise("graph.3-safe-names")
@pytest.mark.parametrize("identity", [NAMES[0], "a" * 200, "🙂", "CON", "..", "id with spaces"])
def test_any_id_of_a_persons_file_stays_inside(quick_loom: Loom, quick: Graph, identity: str) -> None:
    write(quick, "graph/fixes/theirs.md", memory_text(f'"{identity}"', "Theirs", "fix"))
    quick.follow()
    assert quick.pin(identity).path == "vault/theirs.md"
    assert quick.get(identity).title == "Theirs"
    other = keep(quick, "Ours")
    quick.relate(identity, other.id, "CAUSES")
    quick.delete(identity)
    assert sorted(each.name for each in quick.directory.parent.iterdir() if each.is_dir()) == ["memories"]
    assert_agreement(quick_loom, quick)


@pytest.mark.promise("graph.3-safe-names")
def test_links_and_paths_that_leave_the_directory_are_refused(quick: Graph, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(memory_text("secret", "Secret"))
    (quick.directory / "graph/general").mkdir(parents=True, exist_ok=True)
    (quick.directory / "graph/general/link.md").symlink_to(outside / "secret.md")
    (quick.directory / "graph/fixes").symlink_to(outside)
    followed = quick.follow()
    assert followed.added == 0
    assert {each.path for each in followed.problems} == {"graph/general/link.md", "graph/fixes"}
    with pytest.raises(Rejected):
        keep(quick, "Would go outside", "fix")
    assert [each.name for each in outside.iterdir()] == ["secret.md"]
    for path in ("../x.md", "/etc/passwd", "graph/../../x", ""):
        with pytest.raises(Rejected):
            Disk(quick.directory).place(path)


@pytest.mark.promise("files.names-break-nothing")
def test_what_stands_in_the_way_on_the_disk_is_named_and_stops_nothing_else(loom: Loom, graph: Graph) -> None:
    kept = keep(graph, "Kept", "solution")
    root = graph.directory
    (root / "graph" / "fixes").write_text("by hand")
    (root / "CORE.md").mkdir()
    (root / "episodes").write_text("by hand")
    (root / "graph" / "general" / "folder.md").mkdir(parents=True)
    os.mkfifo(root / "graph" / "general" / "pipe.md")
    (root / "graph" / "general" / "loop.md").symlink_to("loop.md")
    (root / "graph" / os.fsdecode(b"caf\xe9.md")).write_text("by hand")
    for refused in (
        lambda: keep(graph, "In the way", "fix"),
        graph.core,
        lambda: graph.episode("Something happened"),
        lambda: graph.update(kept.id, type="fix"),
    ):
        with pytest.raises(Conflict, match="is a f"):
            refused()
    # Nothing of it was begun, so nothing is left to complete.
    assert_agreement(loom, graph)
    other = keep(graph, "Other", "decision")
    assert {each.id for each in graph.recent()} == {kept.id, other.id}
    told = {problem.path: problem.reason for problem in graph.follow().problems}
    assert {"graph/general/pipe.md", "graph/general/loop.md", "graph/caf\\udce9.md"} <= told.keys()
    assert graph.reflection().path == "REFLECTION.md"
    (root / "CORE.md").rmdir()
    assert graph.core().is_new


@pytest.mark.promise("files.names-break-nothing")
def test_a_folder_that_appears_in_the_middle_of_an_operation_costs_nothing(
    loom: Loom, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Disk.put

    def blocked(disk: Disk, key: str, name: str, path: str, *, durable: bool) -> None:
        if path.startswith("graph/fixes/"):
            (disk.root / "graph" / "fixes").write_text("by hand")
            monkeypatch.setattr(Disk, "put", plain)
            raise Killed
        plain(disk, key, name, path, durable=durable)

    monkeypatch.setattr(Disk, "put", blocked)
    with pytest.raises(Killed):
        keep(graph, "Interrupted", "fix")
    # The next writer completes what was begun; the text is kept beside the place that is taken.
    other = keep(graph, "Other", "decision")
    assert [each.id for each in graph.recent()] == [other.id]
    (copy,) = graph.directory.glob("graph/*.conflict-*.md")
    assert "Interrupted" in copy.read_text(encoding="utf-8")


@pytest.mark.promise("files.bounded")
def test_a_memory_that_could_not_be_read_again_is_refused_before_it_is_written(loom: Loom, graph: Graph) -> None:
    hub = keep(graph, "Hub")
    too_many = [f"Step {number}" for number in range(30_000)]
    for fields in (
        {"steps": too_many},
        {"preconditions": ["x" * 2_001]},
        {"steps": ["x" * 1_999] * 150},
        {"content": "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"},
    ):
        with pytest.raises(Rejected):
            keep(graph, "Procedure", "procedure", **fields)
        with pytest.raises(Rejected):
            graph.update(hub.id, **fields)
    with pytest.raises(Rejected):
        graph.episode("Long", summary="x" * 20_001)
    assert graph.get(hub.id).content == "Hub: what there is to know."
    assert graph.follow().problems == ()
    assert_agreement(loom, graph)
    full = keep(graph, "Full", steps=["x" * 1_900] * 100, content="The tide turns at noon.")
    for other in (keep(graph, f"Other {number}") for number in range(2)):
        with pytest.raises(Rejected, match="front matter"):
            graph.relate(full.id, other.id, "RELATED_TO", context="x" * 20_000)
    # A memory that has no room for relations does not keep others from being stored.
    stored = keep(graph, "Full of tides", content="The tide turns at noon.", connect=True)
    assert graph.get(stored.id).title == "Full of tides"
    # By hand, on the disk: named, and nothing else stops.
    write(graph, "graph/general/large.md", memory_text("large", body="x" * 5_000_001))
    write(graph, "graph/general/long.md", memory_text("long", more="steps:\n" + "- x\n" * 60_000))
    told = {problem.path: problem.reason for problem in graph.follow().problems}
    assert "larger than" in told["graph/general/large.md"]
    assert "too long" in told["graph/general/long.md"]
    assert graph.get(hub.id).title == "Hub"


@pytest.mark.promise("files.bounded")
def test_a_directory_with_more_files_than_a_scan_reads_loses_none(
    quick: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [keep(quick, f"Memory {number}", "fix").id for number in range(5)]
    monkeypatch.setattr(disk_module, "MOST_FILES", 3)
    told = quick.follow()
    assert [problem.path for problem in told.problems] == ["."]
    assert told.removed == 0
    assert {each.id for each in quick.recent()} == set(kept)


@pytest.mark.promise("graph.10-longer-suffix")
def test_a_name_that_is_taken_gets_a_longer_suffix() -> None:
    taken = {"keel-a1b2c3.md", "keel-a1b2c3d4.md"}
    assert free_name("keel", "a1b2c3d4-e5f6-7890", taken.__contains__) == "keel-a1b2c3d4e5f6.md"
    assert slug("Fixed Redis: connection—timeouts!") == "fixed-redis-connection-timeouts"


@pytest.mark.promise("graph.4-git")
def test_each_operation_is_one_commit_of_its_own_files(tmp_path: Path) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    (directory / "draft.txt").write_text("mine")
    (directory / "staged.txt").write_text("mine, staged")
    git(directory, "add", "staged.txt")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        graph = loom.workspace().graph
        problem = keep(graph, "Drops", "problem", tags=("redis",))
        cure = keep(graph, "Redis drops fixed", "fix", tags=("redis",), connect=True)
        graph.relate(cure.id, problem.id, "SOLVES", context="why")
        graph.update(cure.id, title="Renamed")
        graph.pin(problem.id)
        graph.merge(problem.id, cure.id)
        graph.core()
        graph.delete(problem.id)
    expected = ["store: Drops", "store: Redis drops fixed", "relate: Redis drops fixed SOLVES Drops"]
    expected += ["update: Renamed", "pin: Drops", "merge: Drops", "core: refresh CORE.md", "delete: Drops"]
    assert commits(directory) == expected
    assert git(directory, "status", "--porcelain").splitlines() == ["A  staged.txt", "?? draft.txt"]
    assert git(directory, "show", "--name-only", "--format=", "HEAD~7").split()[0] == ".gitignore"


@pytest.mark.promise("graph.4-git")
def test_trouble_with_git_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        graph = loom.workspace().graph
        (directory / ".git/MERGE_HEAD").touch()
        assert "MERGE_HEAD" in keep(graph, "In the middle of a merge").notices[0]
        (directory / ".git/MERGE_HEAD").unlink()
        (directory / ".git/index.lock").touch()
        monkeypatch.setattr("everloom.graph.git.repository.PAUSE_SECONDS", 0.001)
        assert "index.lock" in keep(graph, "While another git runs").notices[0]
        (directory / ".git/index.lock").unlink()
        monkeypatch.setattr("everloom.graph.git.repository.shutil.which", lambda _: None)
        assert keep(graph, "Without git").notices == ("not committed: git is not installed",)
        monkeypatch.undo()
        assert keep(graph, "With git again").notices == ()
        assert len(graph.recent()) == 4
        assert_agreement(loom, graph)
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, auto_commit=False) as loom:
        assert keep(loom.workspace().graph, "By choice").notices == ()
    assert commits(directory) == ["store: With git again"]


@pytest.mark.promise("graph.nobody-is-overwritten")
def test_an_editor_that_saves_in_the_middle_of_an_operation_keeps_its_text(
    loom: Loom, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = keep(graph, "Shared page")
    theirs = text_of(graph, stored.path).replace("what there is", "what Ann wrote of")
    meddle(monkeypatch, lambda: write(graph, stored.path, theirs))
    with pytest.raises(Conflict, match="changed on disk at the same moment") as caught:
        graph.update(stored.id, content="What the agent wrote.")
    copy: str = caught.value.current[0]  # type: ignore[index]
    assert text_of(graph, stored.path) == theirs
    assert "What the agent wrote." in text_of(graph, copy)
    assert [each.path for each in graph.follow().problems] == [copy]
    assert "Ann" in graph.get(stored.id).content
    (graph.directory / copy).unlink()
    assert_agreement(loom, graph) if not graph.follow().problems else None


@pytest.mark.promise("graph.nobody-is-overwritten")
def test_a_file_that_is_edited_while_it_is_deleted_stays(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = keep(graph, "Not yet")
    theirs = text_of(graph, stored.path) + "One more line.\n"
    meddle(monkeypatch, lambda: write(graph, stored.path, theirs))
    with pytest.raises(Conflict):
        graph.delete(stored.id)
    assert text_of(graph, stored.path) == theirs
    assert graph.get(stored.id).content.endswith("One more line.")


def meddle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let somebody act between the plan and the first change of a file."""
    original = executor.complete
    done: list[bool] = []

    def finish(*args: Any) -> object:
        if not done:
            done.append(True)
            act()
        return original(*args)

    monkeypatch.setattr(executor, "complete", finish)


WRITER = """
import sys
from pathlib import Path
from typing import Any
from tests.graph.ground import keep, open_with
url, directory, shared, mark = sys.argv[1:5]
with open_with(url, Path(directory)) as loom:
    graph = loom.workspace().graph
    for number in range(6):
        stored = keep(graph, f"By {mark} {number}", "fix")
        graph.relate(stored.id, shared, "RELATED_TO", context=mark)
        tags = graph.get(shared).tags
"""


@pytest.mark.promise("graph.nobody-is-overwritten")
def test_two_processes_and_an_editor_lose_nothing(tmp_path: Path, directory: Path) -> None:
    let_three_write(f"sqlite:///{tmp_path}/loom.db", directory)


@pytest.mark.long
@pytest.mark.promise("graph.nobody-is-overwritten")
def test_two_processes_and_an_editor_lose_nothing_on_postgresql(postgres_url: str, directory: Path) -> None:
    let_three_write(postgres_url, directory)


def let_three_write(store_url: str, directory: Path) -> None:
    """Let two processes and a person write in one directory, and prove that all of it is there."""
    with open_with(store_url, directory, SystemClock()) as loom:
        graph = loom.workspace().graph
        shared, page = keep(graph, "Shared"), keep(graph, "Page of Ann")
        environment = {**os.environ, "PYTHONPATH": f"src{os.pathsep}."}
        command = [sys.executable, "-c", WRITER, store_url, str(directory), shared.id]
        writers = [Popen([*command, mark], env=environment) for mark in ("one", "two")]
        lines = 0
        while any(writer.poll() is None for writer in writers):
            file = directory / page.path
            file.write_text(file.read_text() + f"Line {lines}.\n")
            lines += 1
            graph.follow()
            time.sleep(0.05)  # as fast as a person saves, not as a loop does
        assert [writer.wait() for writer in writers] == [0, 0]
        graph.follow()
        assert len(graph.get(shared.id).relations) == 12
        assert [f"Line {number}." in graph.get(page.id).content for number in range(lines)] == [True] * lines
        assert_agreement(loom, graph)


@pytest.mark.promise("graph.files-are-followed")
@pytest.mark.parametrize("has_watchfiles", [True, False])
def test_a_watcher_follows_while_a_server_runs(
    quick_loom: Loom, quick: Graph, monkeypatch: pytest.MonkeyPatch, has_watchfiles: bool
) -> None:
    if not has_watchfiles:
        monkeypatch.setattr("everloom.graph.index.watching.find_spec", lambda _: None)
        monkeypatch.setattr("everloom.graph.index.watching.POLL_SECONDS", 0.05)
    watcher = Watcher(quick).start()
    try:

        def followed() -> list[str]:
            # Written anew each time: the thread may have begun to watch only after the first change.
            write(quick, "graph/fixes/live.md", memory_text("live-id", "Live", "fix"))
            return [each.id for each in quick.recent()]

        assert wait_until(followed, "the file to be followed", step=0.1) == ["live-id"]
    finally:
        watcher.stop()
    assert not any(thread.name == "watch default" for thread in threading.enumerate())


def modes_below(directory: Path) -> set[str]:
    """List the modes of everything below a directory, folders with a slash."""
    found = [each for each in (directory, *directory.rglob("*")) if not each.is_symlink()]
    return {f"{each.stat().st_mode & 0o777:o}{'/' * each.is_dir()}" for each in found}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.promise("graph.owner-only")
def test_files_of_a_graph_are_for_their_owner_alone(quick_loom: Loom, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        place = quick_loom.workspace("private")
        keep(place.graph, "Mine alone")
        assert modes_below(place.graph.directory) == {"600", "700/"}
        shared = tmp_path / "vault"
        shared.mkdir(mode=0o755)
        opened = place.graphs.create("vault", shared)
        stored = keep(opened, "For all who may enter")
        (shared / stored.path).chmod(0o640)
        opened.update(stored.id, content="Changed.")
        assert (shared / stored.path).stat().st_mode & 0o777 == 0o640
        assert (shared / keep(opened, "Another").path).stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def watching() -> list[str]:
    """List the threads that watch a directory."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("watch ")]


@pytest.mark.promise("graph.watchers-are-bounded")
def test_many_graphs_are_watched_by_few_threads_and_none_is_missed(quick_loom: Loom) -> None:
    graphs = [quick_loom.workspace("james").graphs.create(f"graph {number}") for number in range(6)]
    watchers = Watchers(most=2)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(watchers.watch, [graphs[0]] * 6))
    assert len(watching()) == 1
    for graph in graphs:
        watchers.watch(graph)
    wait_until(lambda: len(watching()) == 2, "the idle watchers to end")
    write(graphs[0], "graph/fixes/late.md", memory_text("late-id", "Late", "fix"))
    watchers.watch(graphs[0])
    assert [each.id for each in graphs[0].recent()] == ["late-id"]
    watchers.close()
    assert not watching()


def test_a_plan_that_changes_nothing_writes_nothing(quick: Graph) -> None:
    stored = keep(quick, "Same")
    before = (quick.directory / stored.path).stat().st_mtime_ns
    assert quick.update(stored.id, title="Same").changed == ()
    assert (quick.directory / stored.path).stat().st_mtime_ns == before
    assert Put.of("x", b"a", b"b").before != Put.of("x", b"c", b"b").before


def test_a_session_is_the_provenance_of_what_it_stored(loom: Loom) -> None:
    place: Workspace = loom.workspace(session="claude 7")
    stored = place.graph.store(type="fix", title="Said in a session", content="x")
    assert place.show(stored.item).session == "claude 7"
