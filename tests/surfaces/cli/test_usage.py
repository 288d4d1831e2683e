"""What models took: summed by the days of the workspace's own calendar, with prices that are not known said so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from everloom.clock import ManualClock
from everloom.kernel.spending import Ledger, begins
from everloom.loom import Workspace, open_loom
from everloom.models import TokenUsage, UsageRecord
from everloom.settings import Settings
from everloom.surfaces.cli.commands.usage import summary, usage_lines
from everloom.surfaces.cli.render.plot import Bar, blocks, can_draw, plotted
from everloom.surfaces.cli.runtime.output import Table
from everloom.wiring.usage import by_sum, by_turn, money_of
from tests.surfaces.cli.conftest import Call

BERLIN = ZoneInfo("Europe/Berlin")
# The Sunday on which Berlin has 25 hours, at half past eleven at night.
NIGHT = datetime(2026, 10, 25, 22, 30, tzinfo=UTC)


@pytest.fixture
def place(store_url: str, tmp_path: object) -> Iterator[Workspace]:
    settings = Settings.model_validate(
        {
            "workspace": {"time_zone": "Europe/Berlin"},
            "llm": {"large": "scripted:echo"},
            "mind": {"dollars_a_day": 1.0, "notes": f"{tmp_path}/notes", "gather_seconds": 0},
        }
    )
    with open_loom(store_url, settings=settings, clock=ManualClock(NIGHT)) as loom:
        yield loom.workspace()


def spend(
    place: Workspace, at: datetime, dollars: float | None, purpose: str = "conversation", tokens: int = 100
) -> None:
    usage = TokenUsage(input=tokens, output=10, cached_read=3 * tokens)
    model = "openai:gpt-9" if dollars is None else "anthropic:claude-sonnet-5-5"
    record = UsageRecord(at, model, "large", purpose, usage, dollars, 5)
    Ledger(place.loom.store, place.info.id).record(record)


@pytest.mark.promise("mind.usage")
def test_days_are_the_workspaces_own_also_when_the_clocks_change(place: Workspace) -> None:
    first, last = begins(date(2026, 10, 25), BERLIN), begins(date(2026, 10, 26), BERLIN)
    assert last.astimezone(UTC) - first.astimezone(UTC) == timedelta(hours=25)
    second = timedelta(seconds=1)
    for at, dollars in ((first - second, 0.1), (first, 0.2), (last.astimezone(UTC) - second, 0.4), (last, 0.8)):
        spend(place, at.astimezone(UTC), dollars)
    rows, total = by_sum(place, 3, "day")
    spent = {row["name"]: row["dollars"] and round(row["dollars"], 6) for row in rows}
    assert spent == {"2026-10-23": None, "2026-10-24": 0.1, "2026-10-25": 0.6}
    assert round(total["dollars"], 6) == 0.7
    assert {name: round(value or 0, 6) for name, value in money_of(place).items()} == {
        "dollars": 0.6,
        "unpriced": 0,
        "budget": 1.0,
        "left": 0.4,
        "month": 0.7,
    }


@pytest.mark.promise("mind.usage")
def test_tokens_cache_and_dollars_are_summed_by_purpose_and_model(place: Workspace) -> None:
    spend(place, NIGHT, 0.25)
    spend(place, NIGHT, 0.25, "facts")
    spend(place, NIGHT - timedelta(hours=1), None, "facts")
    rows, total = by_sum(place, 1, "purpose")
    assert [(row["name"], row["calls"], row["dollars"], row["unpriced"]) for row in rows] == [
        ("conversation", 1, 0.25, 0),
        ("facts", 2, 0.25, 1),
    ]
    assert (total["prompt_tokens"], total["output_tokens"], total["cached_share"]) == (1200, 30, 0.75)
    rows, _ = by_sum(place, 1, "model")
    assert {row["name"]: row["dollars"] for row in rows} == {
        "anthropic:claude-sonnet-5-5": 0.5,
        "openai:gpt-9": None,
    }
    for by in ("day", "purpose", "model"):
        rows, _ = by_sum(place, 1, by)
        assert {row["cached_share"] for row in rows} == {0.75}
        table = usage_lines(rows, by)[0]
        assert isinstance(table, Table)
        assert {row[table.headings.index("cached")] for row in table.rows} == {"75%"}
    lines = "\n".join(summary(total, money_of(place)))
    assert "75% from cache" in lines
    assert "1 calls of unknown price" in lines
    assert "$0.5000 left" in lines
    spend(place, NIGHT, 0.6)
    assert "the smaller model converses" in summary(total, money_of(place))[-1]


@pytest.mark.promise("mind.usage")
def test_each_turn_says_how_full_the_context_was(place: Workspace) -> None:
    conversation = place.mind.conversation
    conversation.receive("Hello", channel="terminal", is_whole=True)
    conversation.step()
    (row,), _ = by_turn(place, 1)
    assert row["context_tokens"] > 0
    assert row["context_share"] == row["context_tokens"] / row["context_window"]
    assert row["cached_share"] == 0.0, "the script that answers has no cache"
    table = usage_lines([row], "turn")[0]
    assert isinstance(table, Table)
    assert "context" in table.headings
    assert "0%" in table.rows[0]


def test_a_plot_fits_its_columns_in_either_alphabet() -> None:
    bars = [Bar("Mon", 1.0, "1"), Bar("Tue", 0.5, "0.5"), Bar("Wed", 0.001, "0"), Bar("日", 0.0, "0")]
    fine, plain = (plotted(bars, 40, fine=each) for each in (True, False))
    assert [max(map(len, each)) for each in (fine, plain)] == [40, 40]
    assert plain[0].count("#") == 2 * plain[1].count("#")
    # What is more than nothing is seen.
    assert (fine[2][-1], plain[2][-1]) == ("▏", "#")
    assert fine[3].endswith("0")
    assert plotted([], 40, fine=True) == []
    assert (blocks(1.5, fine=True), blocks(0, fine=False)) == ("█▌", "")
    assert (can_draw("utf-8"), can_draw("ascii"), can_draw(None), can_draw("no such")) == (True, False, False, False)


@pytest.mark.promise("mind.day-budget")
def test_a_day_that_is_spent_is_finished_with_the_smaller_model(store_url: str, tmp_path: object) -> None:
    settings = Settings.model_validate(
        {
            "workspace": {"time_zone": "Europe/Berlin"},
            "llm": {"large": "anthropic:claude-sonnet-5-5", "small": "anthropic:claude-haiku-5-5"},
            "mind": {"dollars_a_day": 1.0, "notes": f"{tmp_path}/notes"},
        }
    )
    clock = ManualClock(NIGHT)
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        place = loom.workspace()

        def converses() -> str:
            talker = place.mind.setup.talker()
            assert talker is not None
            return talker.name

        assert converses() == "anthropic:claude-sonnet-5-5"
        spend(place, NIGHT, 1.0)
        assert converses() == "anthropic:claude-haiku-5-5"
        # Another process of the same workspace knows it too.
        with open_loom(store_url, settings=settings, clock=clock) as second:
            other = second.workspace().mind.setup.talker()
            assert other is not None
            assert other.name == "anthropic:claude-haiku-5-5"
        clock.advance(timedelta(minutes=31))
        assert converses() == "anthropic:claude-sonnet-5-5"


@pytest.mark.promise("models.prices")
def test_a_price_that_is_set_counts_at_once_and_is_listed(call: Call) -> None:
    call("config", "set", "llm.large", "openai:mine")
    unknown = call("models", "openai:mine", "--json").result["models"][0]
    assert (unknown["price"], unknown["role"]) == (None, "large")
    call("config", "set", "models.prices", "openai:mine=2/10/0.2,claude-opus-5-5=0/0")
    known = call("models", "openai:mine", "--json").result["models"][0]
    assert (known["price"]["input"], known["price"]["cached_read"], known["source"]) == (2.0, 0.2, "settings")
    table = call("models").out
    assert table.index("openai:mine") < table.index("claude-opus-5-5") < table.index("claude-sonnet-5-5")
    assert "over 100,000: 0.5/2.5" in table
    assert "deepseek-flash" in table
    bad = call("config", "set", "models.prices", "mine=2", "--json")
    assert (bad.code, "2 to 5 prices" in bad.error["message"]) == (2, True)
    assert call("config", "set", "models.prices", "mine=1/2,mine=1/2", "--json").code == 2
