"""Fixtures of the HTTP process's tests."""

from __future__ import annotations

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
