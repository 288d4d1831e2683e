"""Daily notes: called by the workspace's own day, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import zone_named
from everloom.errors import Rejected
from everloom.kernel.search import Scope
from everloom.mind.notes.files import daily_name, day_of, noon_of
from tests.mind.notebook import Notebook, open_notebook


@pytest.mark.promise("mind.daily-notes")
@pytest.mark.parametrize(
    ("zone", "instant", "today", "yesterday"),
    [
        ("Europe/Paris", "2026-11-15T22:59:59+00:00", "2026-11-15", "2026-11-14"),
        ("Europe/Paris", "2026-11-15T23:00:00+00:00", "2026-11-16", "2026-11-15"),
        # The night in which clocks go back has 25 hours, the one in which they go forward 23.
        ("Europe/Paris", "2026-10-24T22:00:00+00:00", "2026-10-25", "2026-10-24"),
        ("Europe/Paris", "2026-10-25T22:59:59+00:00", "2026-10-25", "2026-10-24"),
        ("Europe/Paris", "2026-10-25T23:00:00+00:00", "2026-10-26", "2026-10-25"),
        ("Europe/Paris", "2026-03-29T21:59:59+00:00", "2026-03-29", "2026-03-28"),
        ("Europe/Paris", "2026-03-29T22:00:00+00:00", "2026-03-30", "2026-03-29"),
        ("Pacific/Auckland", "2026-11-15T11:00:00+00:00", "2026-11-16", "2026-11-15"),
        ("America/New_York", "2026-11-16T04:30:00+00:00", "2026-11-15", "2026-11-14"),
        # Midnight does not exist here on this day.
        ("America/Santiago", "2026-09-06T04:00:00+00:00", "2026-09-06", "2026-09-05"),
    ],
)
def test_today_and_yesterday_are_the_workspaces_own(
    zone: str, instant: str, today: str, yesterday: str, tmp_path: Path
) -> None:
    start = datetime.fromisoformat(instant)
    with open_notebook(f"sqlite:///{tmp_path}/loom.db", tmp_path / "notes", start, zone) as book:
        assert book.notes.append_today("It rained.").name == f"daily/{today}.md"
        book.edit(f"daily/{yesterday}.md", "It was dry.\n")
        prompt = book.prompt().aside()
        assert prompt.index("It was dry.") < prompt.index("It rained.")


@pytest.mark.promise("mind.daily-notes")
def test_a_days_note_begins_with_its_day_grows_and_is_dated_by_it(book: Notebook) -> None:
    today = book.setup.op.today
    book.notes.append_today("James called.")
    book.notes.append_today("- He is well.\n")
    body = f"# {today.isoformat()}, {today:%A}\nJames called.\n- He is well.\n"
    assert book.file(daily_name(today)) == body
    book.notes.write("daily/2025-01-02.md", "James bought a boat.")
    with pytest.raises(Rejected):
        book.notes.append_today(" ")
    with pytest.raises(Rejected, match="named after its date"):
        book.notes.write("daily/monday.md", "x")
    start = datetime(2025, 1, 1, 23, tzinfo=UTC)
    day = Scope(happened_from=start, happened_until=start + timedelta(days=1))
    hits = [hit.title for hit in book.workspace.search("boat", within=day)]
    assert hits == ["daily/2025-01-02.md"], "the day is the one in Paris"


@given(st.dates())
def test_a_day_is_read_from_its_name_and_its_noon_lies_within_it(day: date) -> None:
    assert day_of(daily_name(day)) == day
    if 1900 < day.year < 2100:
        for zone in ("Europe/Paris", "Pacific/Auckland", "America/Santiago"):
            assert noon_of(day, zone_named(zone)).astimezone(UTC).astimezone(zone_named(zone)).date() == day


@given(st.text())
def test_nothing_else_is_a_day(name: str) -> None:
    assert day_of(name) is None
