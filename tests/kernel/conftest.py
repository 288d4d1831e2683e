"""Fixtures of the kernel tests: stores and looms on each engine, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom, Workspace
from everloom.store import Store, open_store
from tests.store.ground import NOW, open_at


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def store(store_url: str, clock: ManualClock) -> Iterator[Store]:
    """An empty store, on each engine."""
    opened = open_store(store_url, clock)
    yield opened
    opened.close()


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    """An empty loom, on each engine."""
    with open_at(store_url, clock) as opened:
        yield opened


@pytest.fixture
def workspace(loom: Loom) -> Workspace:
    """A workspace of that loom."""
    return loom.workspace("james")
