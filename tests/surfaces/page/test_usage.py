"""What the agent does by itself and what models cost, on the page: figures, pictures that are exact, forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.kernel.spending import Ledger
from everloom.mind.initiative import Heartbeats
from everloom.models.usage import TokenUsage, UsageRecord
from everloom.surfaces.page.pictures.bars import LEFT, PLOT_HEIGHT, RIGHT, TOP, WIDTH, Column, ceiling, stacked_bars
from tests.surfaces.page.ground import ALL_HOSTILE, Site, Visitor, assert_harmless, lend_site, said_in
from tests.surfaces.page.talking import talking

BAR = re.compile(r'<rect class="f(\d)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"><title>')
VALUES = st.floats(min_value=0, max_value=1e9, allow_nan=False)


@pytest.fixture
def site(store_url: str, tmp_path: Path, clock: ManualClock) -> Iterator[Site]:
    """A site whose clock the test moves."""
    with lend_site(store_url, clock, settings=talking(tmp_path)) as made:
        yield made


def spend(site: Site, purpose: str, dollars: float | None, *, days_ago: int = 0, tokens: int = 1_000) -> None:
    """Record one call of a model."""
    at = site.loom.clock.now() - timedelta(days=days_ago)
    used = TokenUsage(tokens, 50, 3 * tokens, 0)
    Ledger(site.loom.store, site.workspace.info.id).record(
        UsageRecord(at, "anthropic:claude-sonnet-5-5", "large", purpose, used, dollars, 900)
    )


@given(columns=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=90))
def test_heights_are_exact_and_bars_stay_in_the_picture(columns: list[tuple[float, float, float]]) -> None:
    shown = stacked_bars("Bars", ("a", "b", "c"), [Column(str(n), each) for n, each in enumerate(columns)], str)
    top = ceiling(max(map(sum, columns)))
    bars = [tuple(map(float, each)) for each in BAR.findall(shown)]
    drawn = sorted(value / top * PLOT_HEIGHT for each in columns for value in each)
    # What is too low to be seen is left out.
    found = sorted([0.0] * (len(drawn) - len(bars)) + [each[4] for each in bars])
    assert found == pytest.approx(drawn, abs=0.002)
    for _, x, y, width, height in bars:
        assert x >= LEFT
        assert x + width <= WIDTH - RIGHT + 0.01
        assert y >= TOP - 0.01
        assert y + height <= TOP + PLOT_HEIGHT + 0.01


@given(value=st.floats(min_value=1e-9, max_value=1e12))
def test_an_axis_ends_above_its_highest_bar_and_not_far_above(value: float) -> None:
    assert value <= ceiling(value) * (1 + 1e-9)
    assert ceiling(value) <= 2.5 * value * (1 + 1e-9)


def test_names_in_a_picture_are_text() -> None:
    shown = stacked_bars("Bars", [ALL_HOSTILE], [Column("today", (1.0,))], str)
    assert_harmless(shown)
    assert "<title>" in shown
    assert 'role="img"' in shown


@pytest.mark.promise("page.usage")
def test_usage_is_shown_by_day_purpose_and_model(site: Site, visitor: Visitor) -> None:
    assert "No language model was asked" in visitor.see("usage")
    spend(site, "conversation", 0.25)
    spend(site, "facts", 0.05, days_ago=1)
    spend(site, "facts", None, days_ago=1)
    spend(site, "heartbeat", 7.0, days_ago=45)
    spend(site, ALL_HOSTILE[:150].replace("\x1b", ""), 0.01)
    page = visitor.see("usage")
    assert_harmless(page)
    assert "$0.3100" in page
    assert "1 calls of unknown price" in page
    assert "75 % from cache" in page
    assert page.count('role="img"') == 2
    assert "heartbeat" not in page.partition("<h1>Usage")[2].partition("<figure")[2]
    assert "$7.3100" in visitor.see("usage", days=90)
    assert "$7.3100" in visitor.see("usage", days="999999")


def test_the_context_of_turns_is_drawn(site: Site, visitor: Visitor) -> None:
    conversation = site.workspace.mind.conversation
    for number in range(3):
        conversation.receive(f"Message {number}", channel="terminal")
        conversation.step()
    page = visitor.see("usage")
    assert "<polyline" in page
    assert "of the last 3 turns" in page
    turns = page.partition("Context and cache of the last turns")[2]
    assert turns.count("<td>0 %</td>") == 3, "the script that answers has no cache"
    assert "Conversation</a>" in page
    assert "tokens of its context" in visitor.see("mind")


@pytest.mark.promise("page.initiative")
def test_heartbeats_are_listed_with_their_reasons(site: Site, visitor: Visitor) -> None:
    assert "none yet" in visitor.see("heartbeats")
    mind = site.workspace.mind
    mind.conversation.receive("Good night", channel="terminal")
    beats = Heartbeats(mind.setup)
    beat = [beats.beat(mind.conversation, mind.notes) for _ in range(51)][-1]
    page = visitor.see("heartbeats")
    assert beat.reason in page.replace("&#39;", "'")
    assert page.count("outcome-") == 50
    assert "Show up to 200" in page
    assert visitor.see("heartbeats", limit=200).count("outcome-") == 51


@pytest.mark.promise("page.initiative")
def test_messages_are_scheduled_listed_and_cancelled(site: Site, visitor: Visitor) -> None:
    page = visitor.see("schedule")
    due = (site.loom.clock.now() + timedelta(days=2)).strftime("%Y-%m-%dT09:30")
    refused = visitor.send(page, "/schedule", 409, text="Good morning", at=due, every="daily")
    assert "nobody has written yet" in refused
    assert "Good morning</textarea>" in refused
    site.workspace.mind.conversation.receive("Hello", channel="telegram", address="7")
    page = visitor.send(page, "/schedule", text=f"Good morning {ALL_HOSTILE}", at=due, every="daily")
    assert "It will be sent on" in said_in(page)
    assert_harmless(page)
    assert "daily 09:30" in page
    assert "cannot" in visitor.send(page, "/schedule", 422, text="x", at="soon", every="").casefold()
    assert visitor.send(page, "/schedule", 422, text="x", at=due, every="hourly")
    stale = page
    page = visitor.send(page, "/schedule/cancel")
    assert "No message is scheduled" in page
    visitor.send(stale, "/schedule/cancel", 404)
