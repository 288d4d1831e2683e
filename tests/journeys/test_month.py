"""A month in the life of a workspace goes well in both eras and as a real process, and the page tells it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from tests.journeys.month import PAGE, Month, in_memory, transcript
from tests.surfaces.mcp.ground import MODES, over_stdio

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


@pytest.mark.promise("journey.month", "docs.scenario")
@pytest.mark.parametrize("mode", MODES)
async def test_a_month_goes_well_and_the_page_tells_it_as_it_was(tmp_path: Path, mode: str) -> None:
    page = await in_memory(tmp_path / "loom.db", mode)
    assert str(tmp_path) not in page.text
    assert page.text == PAGE.read_text(encoding="utf-8"), "python -m tests.journeys.month writes the page anew"


@pytest.mark.promise("journey.month")
async def test_a_month_goes_well_over_stdio(tmp_path: Path) -> None:
    async with Client(over_stdio(tmp_path, tmp_path / "loom.db", "--tools", "semantic-full"), mode=MODES[0]) as client:
        await Month(client, transcript()).live()
