"""A week of one person on three channels: everything arrives once, where it belongs, and the ledger is the bill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mind.week import begun, check, check_whole
from tests.mind.weekly import page


@pytest.mark.promise("mind.week")
def test_two_days_on_three_channels_are_answered_and_paid_as_the_ledger_says(tmp_path: Path) -> None:
    # No engine changes what is sent, and the whole week is lived on each.
    with begun(f"sqlite:///{tmp_path}/loom.db", tmp_path, 2) as week:
        week.live()
        check(week, 0.5)
        assert "harbour gauge (event): The water is at 4.1 m" in page(week)


@pytest.mark.long
@pytest.mark.promise("mind.week")
def test_a_week_on_three_channels_goes_well(store_url: str, tmp_path: Path) -> None:
    with begun(store_url, tmp_path) as week:
        week.live()
        check(week, 0.58)
        check_whole(week)
