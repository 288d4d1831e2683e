"""Several clones of one graph: what both did is merged without a conflict, and the record of use travels along."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.graph import Graph
from everloom.graph.git.clones import driver_command
from everloom.graph.git.merging import join, join_fields
from everloom.graph.git.usage import Use, UseRecord, join_records, read_record, write_record
from everloom.graph.kinds import path_id
from everloom.loom import Workspace
from tests.graph.ground import (
    assert_agreement,
    assert_two_sided,
    commits,
    files_say,
    git,
    keep,
    memory_text,
    open_with,
    text_of,
    write,
)


@dataclass(frozen=True)
class Machine:
    """One machine with a clone and a store of its own."""

    workspace: Workspace
    directory: Path

    @property
    def graph(self) -> Graph:
        """Its graph."""
        return self.workspace.graph

    def push(self) -> None:
        """Send what it has."""
        git(self.directory, "push", "-q", "origin", "HEAD:main")

    def pull(self, *how: str) -> None:
        """Take what others sent; a conflict fails."""
        git(self.directory, "pull", "-q", "--no-edit", *(how or ("--no-rebase",)), "origin", "main")
        self.graph.follow()

    def sleep(self) -> None:
        """Do what is due."""
        assert {each.state for each in self.workspace.sleep() if each.task.startswith("graph-")} <= {"done"}


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A bare repository that both clones know."""
    place = tmp_path / "origin.git"
    place.mkdir()
    git(place, "init", "-q", "--bare", "-b", "main")
    return place


@contextmanager
def machine(origin: Path, url: str, clock: ManualClock, **options: object) -> Iterator[Machine]:
    """Set up a machine with a fresh clone."""
    directory = origin.parent / f"clone-{len(list(origin.parent.glob('clone-*')))}"
    git(origin.parent, "clone", "-q", str(origin), str(directory))
    git(directory, "config", "user.name", "Ann")
    git(directory, "config", "user.email", "ann@example.org")
    git(directory, "symbolic-ref", "HEAD", "refs/heads/main")
    with open_with(url, directory, clock, **options) as loom:
        yield Machine(loom.workspace(), directory)


def write_and_sleep(machines: tuple[Machine, Machine], hub: str, clock: ManualClock) -> None:
    """Let two machines that know nothing of each other work on one memory, and sleep."""
    for each, title in zip(machines, ("Keepalive", "Pool of connections"), strict=True):
        clock.advance(timedelta(minutes=20))
        stored = keep(each.graph, title, "solution", tags=("redis", title.split()[0].lower()), importance=0.9)
        each.graph.relate(stored.id, hub, "SOLVES", context=f"{title} helps")
        each.graph.get(hub)
        each.graph.get(stored.id)
        each.graph.update(hub, importance=0.95 if each is machines[0] else 0.85)
        each.graph.append(hub, tags=(title.split()[0].lower(),))
    clock.advance(timedelta(days=1))
    for each in machines:
        each.sleep()
        each.graph.reflect()
        each.graph.episode("The day is done", summary=each.directory.name)


@pytest.mark.promise("graph.4-clones")
@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
def test_two_machines_that_both_write_and_sleep_pull_without_conflict(
    store_url: str, origin: Path, clock: ManualClock, how: str
) -> None:
    with ExitStack() as stack:
        ann = stack.enter_context(machine(origin, store_url, clock))
        hub = keep(ann.graph, "Redis drops under load", "problem", tags=("redis",), importance=0.9)
        ann.sleep()
        ann.push()
        ben = stack.enter_context(machine(origin, f"sqlite:///{origin.parent}/ben.db", clock))
        assert [each.id for each in ben.graph.recent()] == [hub.id]
        both = (ann, ben)
        write_and_sleep(both, hub.id, clock)
        ann.push()
        ben.pull(how)
        ben.push()
        ann.pull()
        for each in both:
            memory = ben.graph.get(hub.id)
            assert sorted(side.context or "" for side in memory.relations) == [
                "Keepalive helps",
                "Pool of connections helps",
            ]
            assert (memory.importance, set(memory.tags)) == (0.85, {"redis", "keepalive", "pool"})
            assert_two_sided(each.graph)
            assert_agreement(each.workspace.loom, each.graph)
            assert each.graph.stats().problems == ()
        assert files_say(ann.directory) == files_say(ben.directory)
        diary = text_of(ann.graph, "episodes/2026-11-16.md")
        # What both wrote alike, about the same memories in the same minute, is there once.
        assert (diary.count("# 2026-11-16"), diary.count("- Reflection"), diary.count("The day is done")) == (1, 1, 2)
        # After some days in which each takes over from the other, both have said everything.
        quiet = []
        for day in range(7):
            clock.advance(timedelta(days=1))
            for each in both:
                each.pull(how)
                each.sleep()
                each.graph.reflect()
                each.push()
            quiet.append(git(origin, "rev-parse", "main"))
            assert day < 3 or quiet[-1] == quiet[-2], commits(ann.directory)[-5:]
        assert git(ann.directory, "status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.promise("graph.4-use-travels")
def test_a_fresh_clone_begins_as_alive_as_where_it_comes_from(store_url: str, origin: Path, clock: ManualClock) -> None:
    with ExitStack() as stack:
        ann = stack.enter_context(machine(origin, store_url, clock))
        often, never = (keep(ann.graph, title, "fix", importance=0.8) for title in ("Tide tables", "Sourdough bread"))
        for _ in range(6):
            clock.advance(timedelta(days=30))
            ann.graph.get(often.id)
        clock.advance(timedelta(days=10))
        ann.graph.recall("tide tables")
        before = commits(ann.directory)
        assert not (ann.directory / "_access.tsv").exists()
        keep(ann.graph, "News", "general")
        ann.graph.get(often.id)
        keep(ann.graph, "More news", "general")
        # Written with the commit of a memory, once a day.
        assert commits(ann.directory)[len(before) :] == ["store: News", "store: More news"]
        assert text_of(ann.graph, "_access.tsv").splitlines()[1:] == [f"{often.id}\t6\t2027-05-14T09:30:00+00:00\t3"]
        assert git(ann.directory, "log", "--format=%s", "--", "_access.tsv").splitlines() == ["store: News"]
        clock.advance(timedelta(days=1))
        keep(ann.graph, "The next day", "general")
        ann.push()
        ben = stack.enter_context(machine(origin, f"sqlite:///{origin.parent}/ben.db", clock))
        told = {each.title: each for each in ben.graph.search(limit=10).memories}
        mine = {each.title: each for each in ann.graph.search(limit=10).memories}
        assert told["Tide tables"].decay_score == pytest.approx(mine["Tide tables"].decay_score, rel=1e-4)
        assert told["Tide tables"].status == "active"
        # What nobody read has no record: it begins dormant there, and is long archived here.
        assert (mine["Sourdough bread"].status, told["Sourdough bread"].status) == ("archived", "dormant")
        # Both read on; the higher count and the later time win, in whichever order they meet.
        clock.advance(timedelta(days=1))
        for each, times in ((ben, 4), (ann, 1)):
            for _ in range(times):
                each.graph.get(often.id)
            keep(each.graph, f"Written by {each.directory.name}")
        ann.push()
        ben.pull()
        ben.push()
        ann.pull()
        counts = [each.graph.get(often.id).access_count for each in (ann, ben)]
        assert counts == [12, 12]
        assert never.id not in text_of(ann.graph, "_access.tsv")
        ann.graph.delete(often.id)
        clock.advance(timedelta(days=1))
        keep(ann.graph, "After that")
        assert often.id not in text_of(ann.graph, "_access.tsv")


@pytest.mark.promise("graph.4-use-travels")
def test_the_record_of_use_can_stay_in_the_store(origin: Path, clock: ManualClock) -> None:
    with machine(origin, f"sqlite:///{origin.parent}/ann.db", clock, access="store") as ann:
        stored = keep(ann.graph, "One")
        write(ann.graph, "_access.tsv", f"# 2026-11-14\n{stored.id}\t7\t2026-11-14T00:00:00+00:00\t0\n")
        ann.graph.get(stored.id)
        keep(ann.graph, "Two")
        ann.graph.follow()
        assert ann.graph.get(stored.id).access_count == 2
        assert git(ann.directory, "log", "--format=%s", "--", "_access.tsv") == ""


uses = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.builds(
        Use,
        st.none() | st.integers(0, 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
        st.sampled_from([0.0, 3.0, 29.5]),
        st.integers(0, 9),
    ),
)
records = st.builds(UseRecord, st.dates(date(2020, 1, 1), date(2030, 1, 1)), uses)


@pytest.mark.promise("graph.4-use-travels")
@given(records, records, records)
def test_records_of_use_say_the_same_in_whichever_order_they_are_joined(
    one: UseRecord, two: UseRecord, three: UseRecord
) -> None:
    assert read_record(write_record(one)) == one
    whole = join_records([one, two, three])
    assert whole == join_records([three, join_records([two, one]), one])
    # So does a file in which git left the lines of both.
    assert read_record(write_record(one) + b"<<<<<<< ours\n" + write_record(two) + write_record(three)) == whole


def test_a_record_of_use_that_somebody_damaged_is_read_as_far_as_it_makes_sense() -> None:
    lines = [
        "a\t3\t2026-11-15T09:30:00+00:00\t0",
        "b\t-1\t\t0",
        "c\tmany\t\t0",
        "d\t1\tyesterday\t0",
        "e\t1\t\tnan",
        "f",
    ]
    lines += ["g\t99999999999999\t0001-01-01T00:00:00+14:00\t0", "h\t99999999999999\t\t1e9", "\t1\t\t0"]
    found = read_record("\n".join(lines).encode() + b"\n\xff\xfe\t1\t\t0")
    assert found.uses["a"] == Use(datetime(2026, 11, 15, 9, 30, tzinfo=UTC), 0.0, 3)
    assert found.uses["h"] == Use(None, 30.0, 2**31)
    assert found.uses["g"].count == 2**31
    assert found.uses.keys() - {"a", "g", "h"} <= {"\ufffd\ufffd"}


RELATION = "  - target: {0}\n    type: SOLVES\n    direction: incoming\n    edge_id: e-{0}\n"


@pytest.mark.promise("graph.4-clones")
def test_memories_are_merged_field_by_field_and_real_conflicts_stay_conflicts() -> None:
    def memory(*sides: str, more: str = "", body: str = "One.\n\nTwo.\n\nThree.", updated: str = "2026-11-15") -> bytes:
        listed = "relations:\n" + "".join(RELATION.format(side) for side in sides) if sides else ""
        lines = f"tags: [a, b]\nupdated: {updated}T00:00:00+00:00\n# a comment\nmood: calm\n{more}{listed}"
        return memory_text("x", "X", "fix", lines, body).encode()

    path, base = "graph/fixes/x.md", memory("p", "q")
    merged = join_fields(path, base, memory("p", "q", "r"), memory("q", "s"))
    assert merged == memory("q", "r", "s")
    retyped = memory("p", "q", "r").replace(b"SOLVES", b"CAUSES", 1)
    stronger = memory("p", "q", "s").replace(b"edge_id: e-p", b"edge_id: e-p\n    strength: 0.9")
    assert join_fields(path, base, retyped, stronger) == memory("p", "q", "r", "s").replace(
        b"SOLVES", b"CAUSES", 1
    ).replace(b"edge_id: e-p", b"edge_id: e-p\n    strength: 0.9")
    ours = memory("p", "q", updated="2026-11-16", body="One!\n\nTwo.\n\nThree.").replace(b"0.6", b"0.7")
    theirs = memory("p", "q", updated="2026-11-17", body="One.\n\nTwo.\n\nThree!").replace(b"0.6", b"0.8")
    theirs = theirs.replace(b"[a, b]", b"[b, c]")
    joined = join_fields(path, base, ours.replace(b"[a, b]", b"[a, b, d]"), theirs)
    assert joined is not None
    assert joined == memory("p", "q", updated="2026-11-17", body="One!\n\nTwo.\n\nThree!").replace(
        b"0.6", b"0.8"
    ).replace(b"[a, b]", b"[b, d, c]")
    for mine, other in (
        (ours, base.replace(b"One.", b"Won.")),
        (ours.replace(b"title: X", b"title: Y"), base.replace(b"title: X", b"title: Z")),
        (ours, base.replace(b"mood: calm", b"mood: wild")),
        (ours.replace(b"0.7", b"0.75"), base.replace(b"a comment", b"another").replace(b"0.6", b"0.9")),
        (ours, base.replace(b"id: x", b"id: y")),
        (ours, b"no front matter"),
        (ours, base.replace(b"edge_id: e-q", b"edge_id: e-q\n    weight: 3")),
    ):
        assert join_fields(path, base, mine, other) is None
    assert join_fields(path, b"", ours, theirs) is None


@pytest.mark.promise("graph.4-clones")
def test_notes_anywhere_that_two_clones_first_changed_are_merged_by_their_fields(
    tmp_path: Path, origin: Path, clock: ManualClock
) -> None:
    with ExitStack() as stack:
        names = ("ann", "ben")
        urls = [f"sqlite:///{tmp_path}/{name}.db" for name in names]
        ann = stack.enter_context(machine(origin, urls[0], clock, pages="My pages"))
        write(ann.graph, "People/Ann Smith.md", "---\ntitle: Ann: boats\ntype: person\n---\nBuilds.\n\nSails.\n")
        write(ann.graph, "Boat.md", "# Boat\n\nLarch.\n")
        git(ann.directory, "add", "-A")
        git(ann.directory, "commit", "-qm", "notes")
        ann.push()
        ben = stack.enter_context(machine(origin, urls[1], clock, pages="My pages"))
        for each, name in zip((ann, ben), names, strict=True):
            clock.advance(timedelta(minutes=20))
            each.graph.follow()
            for memory in each.graph.search().memories:
                each.graph.append(memory.id, tags=(name,))
                each.graph.update(memory.id, importance=0.9 if name == "ann" else 0.7)
            each.graph.core()
        ann.graph.append(
            next(each.id for each in ann.graph.recent() if each.title == "Boat"), content="Of [[Ann Smith]]."
        )
        ann.push()
        ben.pull()
        assert ben.graph.stats().problems == ()
        merged = {each.title: each for each in ben.graph.search().memories}
        assert {title: (set(each.tags), each.importance) for title, each in merged.items()} == {
            "Ann: boats": ({"ann", "ben"}, 0.7),
            "Boat": ({"ann", "ben"}, 0.7),
        }
        assert text_of(ben.graph, "Boat.md").endswith("Larch.\nOf [[Ann Smith]].\n")


@pytest.mark.promise("graph.4-clones")
def test_pages_and_diaries_are_merged_to_the_same_from_both_sides() -> None:
    old, new = (
        f"# Memory Core (auto-generated)\n> Last updated: 2026-11-{day} | …\n- x\n".encode() for day in ("15", "16")
    )
    assert join("CORE.md", b"", old, new) == join("My pages/CORE.md", old, new, old) == new
    # A note that only has such a name is somebody's own.
    assert join("Strength/CORE.md", b"", b"# Sit-ups\n", b"# Planks\n") is None
    assert join("episodes/Idea.md", b"# A\n", b"# A\n\n## One\n", b"# A\n\n## Two\n") is None
    day = "# 2026-11-15\n\n## 09:00 - Begun\n"
    one, two = (f"{day}\n## {time}\n- **Type:** x\n".encode() for time in ("10:00 - One", "09:30 - Two"))
    whole = b"# 2026-11-15\n\n## 09:00 - Begun\n\n## 09:30 - Two\n- **Type:** x\n\n## 10:00 - One\n- **Type:** x\n"
    path = "episodes/2026-11-15.md"
    assert join(path, day.encode(), one, two) == join(path, day.encode(), two, one) == whole
    assert join(path, b"", one, two) == whole
    assert join(path, day.encode(), one, two.replace(b"Begun", b"Ended")) is None
    assert join("graph/fixes/x.md", b"", b"", b"") is None


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_the_merge_driver_takes_no_code_from_the_repository(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    planted = f"open({str(trace)!r}, 'w').write('ran')\n"
    for name in ("everloom.py", "json.py", "re.py", "ruamel.py", "sitecustomize.py", "tempfile.py"):
        (tmp_path / name).write_text(planted)
    files = {}
    for name, text in {"base": "", "ours": "a\t1\t\t3\n", "theirs": "a\t2\t\t0\nb\t1\t\t3\n"}.items():
        files[name] = tmp_path / name
        files[name].write_text(text)
    command = driver_command().partition(";")[0].replace("%O %A %B %L %P", "base ours theirs 7 _access.tsv")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert files["ours"].read_text().splitlines()[1:] == ["a\t2\t\t3", "b\t1\t\t3"]
    assert not trace.exists()
    assert driver_command("/a %/b c").startswith("'/a %%/b c' -EP ")


def diverge(directory: Path, path: str, ours: str, theirs: str) -> subprocess.CompletedProcess[str]:
    """Change a file in two branches, and merge one into the other as a person would."""
    for branch, text in (("other", theirs), ("main", ours)):
        git(directory, "checkout", "-q", "-B", branch, "start")
        (directory / path).write_text(text)
        git(directory, "commit", "-q", "-a", "-m", branch)
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    asked = ["git", *identity, "merge", "-q", "--no-edit", "other"]
    return subprocess.run(asked, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.promise("graph.4-clones")
def test_what_two_people_wrote_into_one_place_is_a_conflict_with_both_texts(tmp_path: Path) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    odd = "graph/fixes/$(touch evil)'; touch evil; '.md"
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory) as loom:
        graph = loom.workspace().graph
        write(graph, odd, memory_text("odd", "Odd", "fix", "relations:\n" + RELATION.format("a")))
        path = keep(graph, "One", "fix").path
        git(directory, "add", odd)
        git(directory, "commit", "-q", "-m", "odd")
        git(directory, "branch", "start")
        text = text_of(graph, path)
        left = diverge(
            directory, path, text.replace("what there", "all there"), text.replace("what there", "how much there")
        )
        assert left.returncode == 1
        both = text_of(graph, path)
        assert "<<<<<<< ours" in both
        assert "all there" in both
        assert "how much there" in both
        graph.follow()
        assert [each.path for each in graph.stats().problems] == [path]
        git(directory, "merge", "--abort")
        # A file may be called as it likes, and nothing of its name runs.
        text = memory_text("odd", "Odd", "fix", "relations:\n{0}")
        sides = [text.format(RELATION.format("a") + RELATION.format(each)) for each in "bc"]
        assert diverge(directory, odd, *sides).returncode == 0
        assert text_of(graph, odd) == text.format("".join(RELATION.format(each) for each in "abc"))
        assert not (directory / "evil").exists()
        # Without everloom, git merges lines as it would without the driver.
        git(directory, "config", "merge.everloom.driver", driver_command("/nowhere/python"))
        left = diverge(directory, odd, *sides)
        assert left.returncode == 1
        assert text_of(graph, odd).count("=======") == 1


@pytest.mark.promise("files.foreign-git-runs-nothing")
def test_settings_of_a_foreign_repository_do_not_become_the_merge_driver(tmp_path: Path) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    elsewhere = tmp_path / "precious"
    elsewhere.write_text("mine\n")
    info = directory / ".git/info"
    shutil.rmtree(info, ignore_errors=True)
    info.mkdir()
    (info / "attributes").symlink_to(elsewhere)
    (info / "exclude").write_text("*.log\n# no end of line")
    git(directory, "config", "merge.everloom.driver", "touch evil")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, commit_pages=False) as loom:
        assert keep(loom.workspace().graph, "One").notices == ()
    assert sys.executable in git(directory, "config", "merge.everloom.driver")
    assert elsewhere.read_text() == "mine\n"
    excluded = (info / "exclude").read_text().splitlines()
    assert excluded[:2] == ["*.log", "# no end of line"]
    assert {"/CORE.md", "/REFLECTION.md"} <= set(excluded)
    # Settings that are stronger than those of the clone: then git is told nothing.
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(directory), str(other))
    git(other, "config", "extensions.worktreeConfig", "true")
    git(other, "config", "--worktree", "merge.everloom.driver", "touch evil")
    with open_with(f"sqlite:///{tmp_path}/other.db", other) as loom:
        assert keep(loom.workspace().graph, "Two").notices == ()
    assert not (other / ".git/info/attributes").exists()


def test_pages_can_be_kept_out_of_history(tmp_path: Path, directory: Path) -> None:
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, commit_pages=False) as loom:
        graph = loom.workspace().graph
        keep(graph, "One", "fix", importance=0.9)
        assert graph.core().is_new
        assert graph.reflection().is_new
        assert "One" in text_of(graph, "CORE.md")
        assert commits(directory) == ["store: One"]
        assert "CORE" not in git(directory, "status", "--porcelain")


def test_without_the_driver_nothing_is_registered(tmp_path: Path) -> None:
    directory = tmp_path / "memories"
    directory.mkdir()
    git(directory, "init", "-q")
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, merge_driver=False) as loom:
        keep(loom.workspace().graph, "One")
    assert "everloom" not in (directory / ".git/config").read_text()
    assert not (directory / ".git/info/attributes").exists()


def test_an_import_takes_the_record_of_use_along(quick: Graph, clock: ManualClock, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/Larch.md").write_text("# Larch\n\nIt lasts.\n")
    uses = {path_id("Larch.md"): Use(clock.now() + timedelta(days=900), 0, 7)}
    (tmp_path / "vault/_access.tsv").write_bytes(write_record(UseRecord(clock.now().date(), uses)))
    assert quick.import_directory(tmp_path / "vault").states == 1
    (larch,) = quick.search().memories
    # A time that is yet to come is no time of a read.
    assert (larch.id, larch.status) == (path_id("Larch.md"), "active")
    assert quick.get(larch.id).access_count == 8
