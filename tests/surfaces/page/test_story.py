"""A story on the page: drawn on the server, without scripts, with a table behind it and links to its scenes."""

from __future__ import annotations

import re

import pytest

from tests.patience import wait_until
from tests.surfaces.page.ground import ALL_HOSTILE, HOSTILE, Site, Visitor, assert_harmless


@pytest.mark.promise("page.story")
def test_a_month_a_year_and_a_range_are_told_on_the_page(site: Site, visitor: Visitor) -> None:
    memory = site.workspace.episodic
    assert "Nothing is remembered of" in visitor.see("story")
    told = [
        {
            "action": f"James {deed} {HOSTILE[number % len(HOSTILE)]}",
            "when": [f"2026-0{4 + number // 5}-{10 + number}"],
            "actors": ["James", ALL_HOSTILE[:150]],
            "feeling": ALL_HOSTILE[:100],
            "emotion": {"valence": -0.7 if number < 5 else 0.7},
        }
        for number, deed in enumerate(["paints", "sands", "mends", "bails", "rests"] * 2)
    ]
    memory.update_notes(scenes=told)
    # The tenth scene has started a patrol.
    wait_until(lambda: memory.trigger_patrol(wait=True).status == "done", "the patrol")
    page = visitor.see("story?year=2026")
    assert_harmless(page)
    assert page.count("<svg") == page.count("<desc") == 1
    assert "<title>Story of 2026</title>" in page
    assert "as a table" in page
    assert "brightened" in page
    ids = {each.id for each in memory.list_scenes(limit=50, max_tokens=100_000).nodes}
    linked = {int(item) for item in re.findall(r'/scenes/(\d+)"', page)}
    assert linked
    assert linked <= ids
    assert "month=2026-05" in visitor.see("story?month=2026-04"), "the next month is one step away"
    assert "5 scenes" in visitor.see("story?from=2026-04-01&to=2026-04-30")
    for wrong in (
        "month=May",
        "year=x",
        "year=0",
        "from=soon",
        "from=2026-05-01&to=2026-04-01",
        "month=2026-04&year=2026",
    ):
        assert 'role="alert"' in visitor.see(f"story?{wrong}", 422)
    for edge in ("month=0001-01", "month=9999-12", "year=1", "year=9999"):
        assert "Nothing is remembered" in visitor.see(f"story?{edge}")
    assert 'href="/w/' in visitor.see("scenes")
