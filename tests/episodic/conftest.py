"""Fixtures of the episodic tests: Beings on each engine, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.loom import Loom
from tests.episodic.ground import NOW, open_being


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    """An empty loom, on each engine."""
    with open_being(store_url, clock) as opened:
        yield opened


@pytest.fixture
def being(loom: Loom) -> Episodic:
    """A Being."""
    return loom.workspace("james", session="monday").episodic
