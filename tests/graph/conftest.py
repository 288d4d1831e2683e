"""Fixtures of the graph tests: a graph in a directory of its own, on each engine, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.graph import Graph
from everloom.loom import Loom, Workspace
from tests.conftest import copy_store
from tests.graph.ground import NOW, open_with


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the graph lies."""
    return tmp_path / "memories"


@pytest.fixture
def loom(store_url: str, directory: Path, clock: ManualClock) -> Iterator[Loom]:
    """A loom whose default graph lies in that directory, on each engine."""
    with open_with(store_url, directory, clock) as opened:
        yield opened


@pytest.fixture
def workspace(loom: Loom) -> Workspace:
    """The workspace of that loom."""
    return loom.workspace()


@pytest.fixture
def graph(workspace: Workspace) -> Graph:
    """Its default graph, empty."""
    return workspace.graph


@pytest.fixture
def quick_loom(made_file: Path, tmp_path: Path, directory: Path, clock: ManualClock) -> Iterator[Loom]:
    """A loom on SQLite, for what has nothing to do with the engine."""
    copy_store(made_file, tmp_path)
    with open_with(f"sqlite:///{tmp_path}/loom.db", directory, clock) as opened:
        yield opened


@pytest.fixture
def quick(quick_loom: Loom) -> Graph:
    """A graph on SQLite."""
    return quick_loom.workspace().graph
