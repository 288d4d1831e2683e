"""Fixtures of the tests of the mind: worlds on each engine, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom
from tests.conftest import EACH_STORE, Lend, lend_at_node
from tests.mind.notebook import Notebook, notebook_in, open_shelf, sleep_until_morning
from tests.mind.worlds import NOW, World, conversation_in, open_place, setup_of
from tests.scripted.claude import ClaudeServer


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    """A strict scripted Claude."""
    with ClaudeServer() as server:
        yield server


@pytest.fixture(scope="module", params=EACH_STORE)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Loom]]:
    """A store that the conversations of a module share, on each engine; each of them has a workspace of its own."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('place')}/loom.db"
        with open_place(url, ManualClock(NOW)) as loom:
            yield url, loom
        return
    lend: Lend = lend_at_node(request) if request.param == "citus" else request.getfixturevalue("made_database")
    with lend() as url, open_place(url, ManualClock(NOW)) as loom:
        yield url, loom


@pytest.fixture
def world(store_url: str, clock: ManualClock, claude: ClaudeServer, tmp_path: Path) -> Iterator[World]:
    """A conversation in an empty store, on each engine."""
    with open_place(store_url, clock) as loom:
        setup = setup_of(loom, tmp_path / "notes", claude.url)
        world = World(loom, setup, claude, None, store_url)  # type: ignore[arg-type]
        world.conversation = conversation_in(setup, world.left)
        yield world


@pytest.fixture
def room(place: tuple[str, Loom], clock: ManualClock, claude: ClaudeServer, tmp_path: Path) -> World:
    """A conversation in an empty workspace of a store that a module's tests share: only its setup has the clock."""
    url, loom = place
    setup = setup_of(loom, tmp_path / "notes", claude.url, name=f"place {uuid4().hex}", clock=clock)
    world = World(loom, setup, claude, None, url)  # type: ignore[arg-type]
    world.conversation = conversation_in(setup, world.left)
    return world


@pytest.fixture(scope="module", params=EACH_STORE)
def shared_loom(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loom]:
    """A loom that the tests of a module share, on each engine; each of them has a workspace of its own."""
    if request.param == "sqlite":
        with open_shelf(f"sqlite:///{tmp_path_factory.mktemp('shared')}/loom.db") as loom:
            yield loom
        return
    lend: Lend = lend_at_node(request) if request.param == "citus" else request.getfixturevalue("made_database")
    with lend() as url, open_shelf(url) as loom:
        yield loom


@pytest.fixture
def book(shared_loom: Loom, tmp_path: Path) -> Notebook:
    """An empty notebook in a workspace of its own, on each engine."""
    sleep_until_morning(shared_loom)
    return notebook_in(shared_loom, tmp_path / "notes")
