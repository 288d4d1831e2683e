"""A simulated day of conversation with its bill: who reads the table knows what caching is worth.

Two processes share one conversation: sittings with pauses, tool loops, status updates, lines added to the page of the
day, one change of a lasting note, one compaction. The server counts what it read, wrote and charged by the clock of the
test, whatever the client believes. Also a program, which prints the bill of each sitting:

    python -m tests.mind.day [--life 1h]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from everloom.clock import ManualClock
from everloom.kernel.spending import Expense, Ledger
from everloom.mind import Mind
from everloom.mind.conversation.compaction import Compaction
from tests.mind.worlds import elsewhere, open_place, setup_of
from tests.scripted.claude import ClaudeServer, words_of
from tests.scripted.speech import Step, says, uses

EVENING_BEFORE = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)
# Dollars per million tokens of claude-sonnet-5-5: input, output, read from the cache, written for 5 minutes or an hour.
INPUT, OUTPUT, READ, MINUTES, HOUR = 2.0, 10.0, 0.1, 2.5, 4.0
BOUND = 24_000


@dataclass(frozen=True, slots=True)
class Bill:
    """What a number of requests took and cost."""

    requests: int = 0
    fresh: int = 0
    read: int = 0
    minutes: int = 0
    hour: int = 0
    output: int = 0

    @property
    def dollars(self) -> float:
        """Sum the prices."""
        parts = (self.fresh * INPUT, self.read * READ, self.minutes * MINUTES, self.hour * HOUR, self.output * OUTPUT)
        return sum(parts) / 1e6

    @property
    def rate(self) -> float:
        """The share of the input that was read from the cache."""
        return self.read / max(1, self.fresh + self.read + self.minutes + self.hour)

    def __add__(self, other: Bill) -> Bill:
        mine, theirs = ([getattr(each, name) for name in Bill.__slots__] for each in (self, other))
        return Bill(*(one + another for one, another in zip(mine, theirs, strict=True)))


def bill_of(usages: list[dict[str, Any]]) -> Bill:
    """Add up what the server charged."""
    return sum((_charged(usage) for usage in usages), Bill())


def _charged(usage: dict[str, Any]) -> Bill:
    written = usage["cache_creation"]
    lives = (written["ephemeral_5m_input_tokens"], written["ephemeral_1h_input_tokens"])
    return Bill(1, usage["input_tokens"], usage["cache_read_input_tokens"], *lives, usage["output_tokens"])


@dataclass(frozen=True, slots=True)
class Sitting:
    """When somebody talks, how often, and how many minutes lie between two messages."""

    name: str
    at: timedelta
    messages: int
    pause: float


# From the evening before, eight in the evening.
SITTINGS = (
    Sitting("morning, a message every 4 minutes", timedelta(hours=12), 15, 4),
    Sitting("noon, a message every 8 minutes", timedelta(hours=16, minutes=30), 7, 8),
    Sitting("evening, a message every 2 minutes", timedelta(hours=25), 24, 2),
)


@dataclass
class Day:
    """What happened: the bill of each sitting, and of compactions by themselves."""

    bills: dict[str, Bill] = field(default_factory=dict)
    compaction: Bill = field(default_factory=Bill)
    folded: list[Compaction] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    expenses: list[Expense] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    talks: list[dict[str, Any]] = field(default_factory=list)
    array: str = ""

    @property
    def total(self) -> Bill:
        """Add up the day."""
        return sum(self.bills.values(), Bill())


def prose(about: str, length: int) -> str:
    """Write a text of a length that says something else wherever it begins."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < length:
        sentences.append(f"The {len(sentences)}th thing about {about} is that the wind turned and the boat came home. ")
    return "".join(sentences)[:length].strip()


def reply(body: dict[str, Any]) -> Step:
    """Answer at some length, about what was said."""
    return says(prose(f"what you say, {len(body['messages'])}", 700) + f" You said: {words_of(body)[:40]}")


def steps_of(number: int) -> list[Step]:
    """Choose the tools that the agent uses for a message; most need none."""
    done = says(f"Done, {number}. " + prose("what is noted", 300))
    if number % 4 == 1:
        return [uses(("update_status", {"updates": {"mood": f"calm {number}", "water": f"{number} glasses"}})), done]
    if number % 6 == 2:
        return [uses(("append_note", {"text": f"- {number}: the mast was painted."})), done]
    if number % 10 == 3:
        looks = [uses(("search_memory", {"query": f"the mast, time {number}"})) for _ in range(2)]
        return [*looks, done]
    return []


def live(folder: Path, life: str | None = None) -> Day:
    """Live the day; `life` is how long the provider is asked to cache."""
    policy: dict[str, Any] = {"compact_at": BOUND} | ({} if life is None else {"cache_life": life})
    clock = ManualClock(EVENING_BEFORE)
    with ClaudeServer() as server, open_place(f"sqlite:///{folder}/loom.db", clock) as loom:
        server.cache.now = lambda: clock.now().timestamp()
        server.reply = reply
        setups = [setup_of(loom, folder / "notes", server.url, **policy) for _ in range(2)]
        minds = [Mind(setups[0]), Mind(elsewhere(setups[1]))]
        _furnish(minds[0])
        for number in range(12):
            _exchange(minds[0], server, clock, f"Yesterday {number}: {prose('yesterday', 900)}", [])
        day = Day()
        for sitting in SITTINGS:
            clock.advance(EVENING_BEFORE + sitting.at - clock.now())
            day.bills[sitting.name] = _sit(sitting, minds, server, clock)
        day.folded = minds[0].conversation.compactions()
        day.compaction = bill_of([usage for usage in server.billed if usage.get("type") == "compaction"])
        day.prompts = list(dict.fromkeys(str(body["system"]) for body in server.talks))
        day.talks, day.complaints = server.talks, server.complaints
        day.array = str(minds[0].conversation.turns())
        info = setups[0].op.workspace
        day.expenses = Ledger(loom.store, info.id).spent(EVENING_BEFORE + timedelta(hours=4), clock.now())
    return day


def _furnish(mind: Mind) -> None:
    for name, length in (("USER.md", 3_000), ("MEMORY.md", 9_000), ("THREADS.md", 2_000), ("SELF-AWARENESS.md", 2_000)):
        mind.notes.write(name, prose(name, length), replace=True)
    mind.notes.update_status({"mood": "calm", "plans": {"saturday": prose("the regatta", 400)}})
    mind.notes.append_today(prose("the evening", 900))


def _sit(sitting: Sitting, minds: list[Mind], server: ClaudeServer, clock: ManualClock) -> Bill:
    before = len(server.billed)
    for number in range(sitting.messages):
        mind = minds[number // 5 % 2]
        if sitting.name.startswith("noon") and number == 0:
            mind.notes.append("THREADS.md", "- The sailmaker calls on Friday.")
        text = f"{sitting.name}, {number}: {prose(f'the boat, {number}', 700)}"
        _exchange(mind, server, clock, text, steps_of(number))
        clock.advance(timedelta(minutes=sitting.pause))
    return bill_of(server.billed[before:])


def _exchange(mind: Mind, server: ClaudeServer, clock: ManualClock, text: str, steps: list[Step]) -> None:
    server.script(*steps)
    mind.conversation.receive(text, channel="terminal", is_whole=True)
    assert mind.conversation.step(wait=True) is not None
    clock.advance(timedelta(seconds=1))


def table(day: Day) -> list[str]:
    """Write the bills as lines of a table."""
    rows = {**day.bills, "the day": day.total, "of it, the compaction": day.compaction}
    heading = f"| {'':38} | requests | from cache | written | neither | dollars |"
    lines = [heading, "|---|---|---|---|---|---|"]
    for name, bill in rows.items():
        written = bill.minutes + bill.hour
        figures = f"{bill.requests:8} | {bill.rate:10.1%} | {written:7,} | {bill.fresh:7,} | {bill.dollars:7.2f}"
        lines.append(f"| {name:38} | {figures} |")
    return lines


def main() -> None:
    """Live the day and print its bill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--life", choices=["5m", "1h"])
    with tempfile.TemporaryDirectory() as folder:
        day = live(Path(folder), parser.parse_args().life)
    assert day.complaints == []
    print("\n".join(table(day)))  # noqa: T201 - whoever started it reads this


if __name__ == "__main__":
    main()
