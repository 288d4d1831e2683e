"""Killed between any two file or store operations, a graph opens in the state before or after; never between."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import Loom
from tests.engines import PostgresServer
from tests.graph.ground import assert_agreement, assert_two_sided, files_say, git, keep, open_with
from tests.graph.nursery import Nursery, operations

pytestmark = pytest.mark.xdist_group("crash")

# What each keyed operation writes into a file.
TOLD = {"keyed store": "Rudder: what there is to know.", "keyed append": "Once more.", "keyed episode": "- Sailed out"}
OPERATIONS = ["store", "relate", "delete", "update", "merge", "import", "pin"]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """A process that forks workers."""
    opened = Nursery()
    yield opened
    opened.close()


def furnish(url: str, directory: Path) -> None:
    """Make a graph with three memories and two relations."""
    with open_with(url, directory) as loom:
        graph = loom.workspace().graph
        ids = [keep(graph, title, "problem", tags=("keel",)).id for title in ("Keel", "Anchor", "Chart")]
        graph.relate(ids[0], ids[1], "CAUSES", context="why")
        graph.relate(ids[2], ids[0], "FOLLOWS")
        graph.get(ids[0])


def furnish_source(directory: Path, url: str) -> None:
    """Make a directory to import: two related memories and a state file."""
    with open_with(url, directory) as loom:
        graph = loom.workspace().graph
        one, other = keep(graph, "Imported one"), keep(graph, "Imported other")
        graph.relate(one.id, other.id, "RELATED_TO")
        graph.get(one.id)
        graph.reindex(write_json=True)


def pictured(directory: Path) -> dict[str, Any]:
    """Read what the files say, without ids and times, so that two runs of one operation look alike."""
    said = files_say(directory).values()
    episodes = [file.read_text() for file in sorted((directory / "episodes").glob("*.md"))]
    memories = sorted(
        (each.title, each.type, each.path.split("/")[0], sorted((side.type, side.direction) for side in each.relations))
        for each in said
        if hasattr(each, "relations")
    )
    edges = sorted((each.from_title, each.type, each.to_title) for each in said if not hasattr(each, "relations"))
    return {"memories": memories, "edges": edges, "episodes": len(episodes)}


def reopened(url: str, directory: Path) -> dict[str, Any]:
    """Open a graph again, prove that files and index agree, and picture it."""
    with open_with(url, directory) as loom:
        graph = loom.workspace().graph
        assert_agreement(loom, graph)
        assert_two_sided(graph)
        assert not [each for each in (directory / ".everloom").iterdir() if each.is_dir()]
        assert graph.follow().added == 0
        picture = pictured(directory)
        picture["accesses"] = accesses(loom)
    return picture


def accesses(loom: Loom) -> list[int]:
    with loom.store.read(loom.workspace().info.id) as unit:
        graph = unit.all("graph.graph_all")[0]["id"]
        return sorted(row["count"] or 0 for row in unit.all("graph.memory_all", graph=graph))


def survive(nursery: Nursery, operation: str, make: Any, source: Path, stride: int = 1) -> int:
    """Kill an operation at every step, each time on a fresh copy; the answer is how many steps it has."""
    before = after = None
    seen = []
    step = 1
    while True:
        url, directory = make()
        if before is None:
            before = reopened(url, directory)
        said = nursery.kill(url, directory, source, operation, step)
        assert said in ([], ["survived"]), said
        picture = reopened(url, directory)
        if said:
            after = picture
            break
        seen.append(picture)
        step += stride
    assert after != before
    assert [each for each in seen if each not in (before, after)] == []
    assert before in seen
    assert after in seen
    return step


@pytest.fixture
def room() -> Iterator[Path]:
    """A place in memory, where making files durable costs nothing: a killed process does not lose them."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as found:
        yield Path(found)


def copy_of(made: Path, here: Path) -> None:
    """Copy a store and its graph, always to the same place: the store knows the directory by its path."""
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(made, here)
    with closing(sqlite3.connect(here / "loom.db")) as connection:
        connection.execute("UPDATE graph SET directory = ?", (str(here / "memories"),))
        connection.commit()


def kill_everywhere(nursery: Nursery, operation: str, room: Path) -> int:
    """Kill an operation at each step on SQLite."""
    made, here, source = room / "made", room / "here", room / "source"
    furnish(f"sqlite:///{made}/loom.db", made / "memories")
    furnish_source(source, f"sqlite:///{room}/source.db")

    def make() -> tuple[str, Path]:
        copy_of(made, here)
        return f"sqlite:///{here}/loom.db", here / "memories"

    return survive(nursery, operation, make, source)


@pytest.mark.promise("graph.crash")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_killed_at_any_step_leaves_all_or_nothing(nursery: Nursery, operation: str, room: Path) -> None:
    assert kill_everywhere(nursery, operation, room) > 5


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.promise("graph.crash")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_process_killed_at_any_statement_leaves_all_or_nothing(nursery: Nursery, operation: str, room: Path) -> None:
    assert kill_everywhere(nursery, f"{operation}!", room) > 20


@pytest.mark.promise("graph.crash")
@pytest.mark.parametrize(
    "operation", ["relate", *(pytest.param(f"{name}!", marks=pytest.mark.long) for name in OPERATIONS)]
)
def test_the_same_holds_on_postgresql(
    nursery: Nursery, operation: str, room: Path, postgres_server: PostgresServer
) -> None:
    numbers = iter(range(10_000))
    source = room / "source"
    furnish_source(source, f"sqlite:///{room}/source.db")
    with ExitStack() as stack:

        def make() -> tuple[str, Path]:
            stack.close()
            url, directory = stack.enter_context(postgres_server.database()), room / str(next(numbers))
            furnish(url, directory)
            return url, directory

        assert survive(nursery, operation, make, source) > 5


@pytest.mark.promise("api.keys", "graph.crash")
@pytest.mark.parametrize("operation", ["keyed store", "keyed append", "keyed episode"])
def test_what_is_repeated_under_its_key_after_a_kill_happens_once(nursery: Nursery, room: Path, operation: str) -> None:
    made, url, directory = room / "made", f"sqlite:///{room}/here/loom.db", room / "here" / "memories"
    furnish(f"sqlite:///{made}/loom.db", made / "memories")
    act, step, is_over, found = operations("")[operation], 1, False, []
    while not is_over:
        copy_of(made, room / "here")
        is_over = nursery.kill(url, directory, room, operation, step) == ["survived"]
        with open_with(url, directory) as loom:
            graph = loom.workspace().graph
            first, again = act(graph), act(graph)
            assert first == again
            assert_agreement(loom, graph)
        found.append(sum(file.read_text().count(TOLD[operation]) for file in directory.rglob("*.md")))
        step += 1
    assert len(found) > 5
    assert set(found) == {1}


@pytest.mark.promise("graph.crash", "graph.4-git")
def test_what_a_killed_operation_wrote_is_committed_by_the_next(nursery: Nursery, room: Path) -> None:
    directory, url = room / "memories", f"sqlite:///{room}/loom.db"
    directory.mkdir()
    git(directory, "init", "-q")
    furnish(url, directory)
    count = len(git(directory, "log", "--format=%s").splitlines())
    step, said = 1, [""]
    while said != ["survived"]:
        said = nursery.kill(url, directory, room / "none", "relate", step)
        with open_with(url, directory) as loom:
            assert_agreement(loom, loom.workspace().graph)
        assert git(directory, "status", "--porcelain", "graph") == ""
        step += 1
    assert len(git(directory, "log", "--format=%s").splitlines()) > count
