"""What models cost, day by day: every instant belongs to the day that a person's calendar says, in any zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.kernel.spending import Ledger, begins, spans_between
from everloom.models.usage import TokenUsage, UsageRecord
from tests.store.ground import open_at

ZONES = ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Cairo"]
DAYS = st.dates(date(2015, 1, 1), date(2026, 12, 31))


@given(
    zone=st.sampled_from(ZONES),
    first=DAYS,
    days=st.integers(1, 400),
    seconds=st.lists(st.integers(0, 400 * 86_400), max_size=50),
)
def test_spans_cover_a_period_once_and_know_the_day_of_every_instant(
    zone: str, first: date, days: int, seconds: list[int]
) -> None:
    here = ZoneInfo(zone)
    since, until = begins(first, here), begins(first + timedelta(days=days), here)
    spans = spans_between(since, until, here)
    assert (spans[0].begin, spans[-1].end) == (since, until)
    assert all(one.end == two.begin for one, two in pairwise(spans))
    assert len(spans) <= 3 + days // 60
    begin = since.astimezone(UTC)
    for at in (begin + timedelta(seconds=each) for each in seconds):
        found = [each for each in spans if each.begin.astimezone(UTC) <= at < each.end.astimezone(UTC)]
        if at >= until.astimezone(UTC):
            assert found == []
            continue
        (span,) = found
        day = span.day if span.shift is None else (at + span.shift).date()
        assert day == at.astimezone(here).date()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata"])
def test_a_day_has_what_was_spent_between_its_midnights_also_when_clocks_change(store_url: str, zone: str) -> None:
    here = ZoneInfo(zone)
    # The night in which Berlin's clocks go back: a day of 25 hours.
    first = begins(date(2026, 10, 23), here)
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        ledger = Ledger(loom.store, place.info.id)
        expected: dict[date, int] = {}
        for half_hours in range(5 * 48):
            at = first.astimezone(UTC) + timedelta(minutes=30 * half_hours)
            ledger.record(UsageRecord(at, "m", "large", "facts", TokenUsage(1, 0, 0, 0), 0.5, 1))
            day = at.astimezone(here).date()
            expected[day] = expected.get(day, 0) + 1
        found = ledger.daily(first, datetime(2026, 11, 5, tzinfo=UTC), here)
    assert {day: spent.calls for day, spent in found} == expected
    assert sum(spent.dollars or 0 for _, spent in found) == 120
