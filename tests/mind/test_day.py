"""A day's caching: what a simulated day reads, writes and costs, counted by the server and by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from everloom.mind.prompt import ASIDE_CLOSING, ASIDE_OPENING
from tests.mind.day import Day, live

MORNING, NOON, EVENING = range(3)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    """The day, lived once; the engine makes no difference to what is sent."""
    return live(tmp_path_factory.mktemp("day"))


def texts(message: dict[str, Any]) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def spoken_in(body: dict[str, Any]) -> list[list[str]]:
    """List the texts of each of the person's messages in a request."""
    return [found for message in body["messages"] if message["role"] == "user" and (found := texts(message))]


@pytest.mark.promise("mind.day-is-cached")
def test_a_sitting_whose_pauses_the_cache_outlives_is_read_from_it_and_paid_as_such(day: Day) -> None:
    bills = list(day.bills.values())
    assert day.complaints == []
    assert bills[MORNING].rate > 0.9
    assert bills[EVENING].rate > 0.88, "with a compaction, after which the rest is written anew"
    assert bills[MORNING].dollars < 0.18, "0.43 if the prompt is built by age and holds the status"
    assert bills[EVENING].dollars < 0.36, "0.73 in that case"
    # Only what came anew was written: the messages of a pause that outlived the cache, and each word of this hour once,
    # or twice where it was part of a tool loop.
    assert bills[MORNING].minutes < 27_000
    assert bills[NOON].rate < 0.5, "a cache of five minutes is gone after eight"


@pytest.mark.promise("mind.day-is-cached")
def test_what_the_server_charged_is_what_the_ledger_shows(day: Day) -> None:
    assert sum(each.dollars or 0.0 for each in day.expenses) == pytest.approx(day.total.dollars, abs=0.001)
    prompt, read = (
        sum(getattr(each, name) for each in day.expenses) for name in ("prompt_tokens", "cache_read_tokens")
    )
    assert read / prompt == pytest.approx(day.total.rate, abs=0.001)
    shares = {each.purpose: each.cached_share for each in day.expenses}
    assert (shares["compaction"] or 0.0) > 0.95


@pytest.mark.promise("mind.day-is-cached", "mind.prompt-is-cached")
def test_the_prompt_changes_with_its_notes_and_with_nothing_else(day: Day) -> None:
    assert len(day.prompts) == 2, "once, by a line in THREADS.md, in two processes and a day"
    assert "sailmaker calls on Friday" not in day.prompts[0]
    assert "sailmaker calls on Friday" in day.prompts[1]
    assert all("mast was painted" not in prompt and "glasses" not in prompt for prompt in day.prompts)


@pytest.mark.promise("mind.day-is-cached", "mind.compaction-on-demand")
def test_a_compaction_reads_the_conversation_from_the_cache_and_hands_off_afterwards(day: Day) -> None:
    assert [each.way for each in day.folded] == ["server"]
    assert day.compaction.rate > 0.95
    assert "## Hand-off" in spoken_in(day.talks[-1])[-1][-1]


@pytest.mark.promise("mind.aside")
def test_the_aside_is_the_context_of_the_newest_message_and_of_no_other(day: Day) -> None:
    for body in day.talks:
        *before, (message, aside) = spoken_in(body)
        assert message.startswith("[terminal, ")
        marked = [block for each in body["messages"] for block in each["content"] if "cache_control" in block]
        assert message in [block.get("text") for block in marked]
        assert aside.startswith(f"{ASIDE_OPENING}\n\n# Now\n\n2026-11-1")
        assert aside.endswith(ASIDE_CLOSING)
        assert ASIDE_OPENING not in str(before)
    assert ASIDE_OPENING not in day.array
    assert '"mood": "calm' in spoken_in(day.talks[-1])[-1][-1]


@pytest.mark.long
@pytest.mark.promise("mind.cache-life")
def test_an_hour_of_caching_bridges_the_pauses_of_a_slow_talk(day: Day, tmp_path: Path) -> None:
    slow = live(tmp_path, "1h")
    assert slow.complaints == []
    bills, fast = list(slow.bills.values()), list(day.bills.values())
    assert bills[NOON].rate > 0.85
    assert bills[NOON].dollars < fast[NOON].dollars / 2
    assert bills[MORNING].dollars > fast[MORNING].dollars, "where five minutes suffice, an hour costs more"
    assert bills[MORNING].hour > 0
    assert sum(each.dollars or 0.0 for each in slow.expenses) == pytest.approx(slow.total.dollars, abs=0.001)
