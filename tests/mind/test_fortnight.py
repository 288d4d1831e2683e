"""A fortnight of one conversation: bounded array, complete log, right pages, heartbeats only when allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mind import quarter
from tests.mind.fortnight import arrivals, begun, check, summary


@pytest.mark.promise("mind.fortnight")
def test_a_fortnight_goes_well(store_url: str, tmp_path: Path) -> None:
    planned = arrivals(100 if store_url.startswith("sqlite") else 40)
    with begun(store_url, tmp_path / "notes") as lived:
        lived.live(planned)
        check(lived, planned)
        assert "messages received" in summary(lived, planned)


@pytest.mark.long
@pytest.mark.promise("mind.fortnight")
def test_a_fortnight_of_thousands_of_messages_goes_well(store_url: str, tmp_path: Path) -> None:
    planned = arrivals(2_400, seed=11)
    with begun(store_url, tmp_path / "notes") as lived:
        lived.live(planned)
        check(lived, planned)


@pytest.mark.long
@pytest.mark.promise("mind.fortnight")
def test_a_quarter_with_outages_restarts_events_and_closed_doors_goes_well(store_url: str, tmp_path: Path) -> None:
    planned = quarter.arrivals(1_500 if store_url.startswith("sqlite") else 500, seed=13)
    with quarter.begun(store_url, tmp_path / "notes") as lived:
        lived.live(planned)
        quarter.check(lived, planned)
