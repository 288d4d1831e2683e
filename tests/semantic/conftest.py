"""Fixtures of the semantic tests: a workspace on each engine, two sessions in it, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom, open_loom
from everloom.semantic import Semantic
from everloom.settings import Settings

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def loom(store_url: str, clock: ManualClock) -> Iterator[Loom]:
    """An empty loom, on each engine."""
    with open_loom(store_url, settings=Settings(), clock=clock) as opened:
        yield opened


@pytest.fixture
def mind(loom: Loom) -> Semantic:
    """What one session sees of a workspace."""
    return loom.workspace("james", session="monday", model_tier="large").semantic


@pytest.fixture
def other(loom: Loom) -> Semantic:
    """What another session sees of the same workspace."""
    return loom.workspace("james", session="tuesday").semantic


@pytest.fixture
def later(clock: ManualClock) -> Callable[..., datetime]:
    """Let time pass."""
    return lambda **span: clock.advance(timedelta(**span))
