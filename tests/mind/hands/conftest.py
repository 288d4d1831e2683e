"""Fixtures of the tests of hands: one boat for a module, and a crew in a workspace of its own on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom
from everloom.wiring.hands.client import McpServers
from tests.mind.hands.sea import Boat, Crew, crew_of
from tests.patience import PATIENCE
from tests.scripted.claude import ClaudeServer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let turns wait as long for a server as a busy machine needs to start one."""
    monkeypatch.setattr("everloom.mind.hands.known._LONGEST_WAIT", PATIENCE)


@pytest.fixture(scope="module")
def boat(tmp_path_factory: pytest.TempPathFactory) -> Boat:
    """A server of tools that behaves."""
    return Boat(tmp_path_factory.mktemp("boat") / "log")


@pytest.fixture(scope="module")
def servers(boat: Boat) -> Iterator[McpServers]:
    """The boat, started once for all tests of a module."""
    made = boat.servers(characters=2_000)
    # A turn waits for a server only briefly, and a busy machine takes longer to start one.
    assert made.tools("boat")
    yield made
    made.close()


@pytest.fixture
def crew(
    place: tuple[str, Loom], clock: ManualClock, claude: ClaudeServer, tmp_path: Path, boat: Boat, servers: McpServers
) -> Crew:
    """A mind that has the boat's tools, before it has sailed anywhere."""
    boat.forget_journeys()
    return crew_of(place[1], claude, clock, tmp_path / "notes", servers)
