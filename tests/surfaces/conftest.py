"""Fixtures of the surfaces: each era of the protocol, and a place for the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.mcp.ground import MODES


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """How a client speaks: in the stateless era, or after a handshake."""
    found: str = request.param
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The file of a memory that does not exist yet."""
    return tmp_path / "loom.db"
