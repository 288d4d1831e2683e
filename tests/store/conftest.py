"""Fixtures of the store tests: processes to be killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.store.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A process that forks writers."""
    opened = Nursery()
    yield opened
    opened.close()
