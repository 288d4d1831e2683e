"""A fortnight of one conversation on three channels, with a clock that is moved and a change of the clocks in it.

python -m tests.mind.fortnight [MESSAGES]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import ManualClock
from everloom.loom import Loom, open_loom
from everloom.mind import Exchange, Mind, StreamMessage
from everloom.mind.conversation.compaction import Compaction
from everloom.mind.initiative.heartbeat import Heartbeat, Heartbeats
from everloom.mind.ports import MindPolicy
from everloom.settings import Settings
from tests.mind.thinking import Answers, thinking, worker
from tests.mind.validity import validity
from tests.mind.worlds import talker_of
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Step, says, uses

PAGE = Path(__file__).parents[2] / "docs" / "fortnight.md"
BERLIN = ZoneInfo("Europe/Berlin")
CHANNELS = ("terminal", "telegram", "web")
COMPACT_AT = 6_000
MORNING = "Good morning! Have you looked at the tide table?"
TOPICS = (
    "The boat needs a new mast before the regatta, and the sailmaker in Brest has not called back about it.",
    "I slept badly, the neighbours moved their piano at midnight again and then played it, too.",
    "Audrey asked whether we come to Lyon at Easter; I would rather stay and paint the hull.",
    "The invoice of the billing service was wrong for the third time, and I wrote to them again.",
    "Yes.",
    "I drank another glass of water, please note it.",
)


@dataclass(frozen=True, slots=True)
class Period:
    """The days that are lived through; nobody writes on those `away`, and the clocks change on `change`."""

    first: date
    number: int
    change: date
    away: tuple[date, ...] = ()

    @property
    def days(self) -> tuple[date, ...]:
        """Every local day."""
        return tuple(self.first + timedelta(days=number) for number in range(self.number))

    @property
    def end(self) -> datetime:
        """The midnight after the last day."""
        return datetime.combine(self.first + timedelta(days=self.number), time(), tzinfo=BERLIN).astimezone(UTC)


# The clocks go forward on Sunday, 29 March, at 02:00. On two days nobody writes: the agent must learn to be silent.
FORTNIGHT = Period(date(2026, 3, 20), 14, date(2026, 3, 29), (date(2026, 3, 25), date(2026, 3, 26)))


@dataclass(frozen=True, slots=True, order=True)
class Arrival:
    """A message that the person will send."""

    at: datetime
    channel: str
    text: str


def arrivals(messages: int, seed: int = 7, period: Period = FORTNIGHT) -> list[Arrival]:
    """Plan what the person writes: in bursts, three times a day, around midnight of the change, never when away."""
    rng = random.Random(seed)
    days = [day for day in period.days if day not in period.away]
    starts = [datetime.combine(day, time(hour, 10), tzinfo=BERLIN) for day in days for hour in (8, 13, 20)]
    starts += [datetime.combine(period.change - timedelta(days=1), time(23, 58), tzinfo=BERLIN)]
    planned: list[Arrival] = []
    share, extra = divmod(messages, len(starts))
    for number, start in enumerate(starts):
        at = start.astimezone(UTC)
        for _ in range(share + (number < extra)):
            at += timedelta(seconds=rng.choice((1, 2, 40, 90, 200)))
            text = f"{rng.choice(TOPICS)} ({len(planned)})"
            planned.append(Arrival(at, rng.choice(CHANNELS), text))
    return sorted(planned)


@dataclass
class Fortnight:
    """The conversation while it is lived through, and everything that is counted on the way."""

    loom: Loom
    mind: Mind
    server: ClaudeServer
    answers: Answers
    clock: ManualClock
    period: Period = FORTNIGHT
    largest_array: int = 0
    delivered: list[int] = field(default_factory=list)
    # When each message arrived, and whether that was before (0) or after (2) the tasks of that hour, among which (1)
    # are heartbeats.
    arrived: dict[int, tuple[datetime, int]] = field(default_factory=dict)

    def live(self, planned: Sequence[Arrival]) -> None:
        """Let the days pass: messages come, hours strike, and whatever is due is done."""
        run = worker(self.loom, self.mind.setup)
        end = self.period.end
        strikes = iter(hours(self.clock.now(), end))
        strike = next(strikes)
        for arrival in [*planned, Arrival(end, "", "")]:
            while strike <= arrival.at and strike < end:
                self._until(strike)
                self.look_around()
                failed = [each for each in run().values() if each.state == "failed"]
                assert not failed, failed
                self._deliver(2)
                strike = next(strikes, end)
            self._until(arrival.at)
            if arrival.text:
                self.receive(arrival)

    def receive(self, arrival: Arrival) -> None:
        """Take in what has come."""
        self.mind.conversation.receive(arrival.text, channel=arrival.channel, address="42")

    def look_around(self) -> None:
        """Find out where the person is reached; here they read everything at once, and nobody asks."""

    def reads_on(self) -> Sequence[str]:
        """List the channels on which the person reads now."""
        return CHANNELS

    def _until(self, moment: datetime) -> None:
        """Let time pass until a moment; whoever is owed an answer gets it as soon as the pause is over."""
        conversation = self.mind.conversation
        while (pause := conversation.ripe_in()) is not None:
            ripe_at = max(self.clock.now(), self.clock.now() + timedelta(seconds=pause))
            if ripe_at > moment:
                break
            self.clock.advance(ripe_at - self.clock.now())
            self.answer()
            conversation = self.mind.conversation
            self.largest_array = max(self.largest_array, len(conversation.turns()))
            self._deliver(0)
        self.clock.advance(max(timedelta(), moment - self.clock.now()))

    def answer(self) -> None:
        """Answer what is ripe."""
        assert self.mind.conversation.step() is not None

    def _deliver(self, phase: int) -> None:
        self.mind.conversation.settle()
        for channel in self.reads_on():
            for message in self.mind.conversation.outbox(channel):
                self.mind.conversation.sending(message.id)
                self.mind.conversation.sent(message.id)
                self.delivered.append(message.id)
                self.arrived[message.id] = self.clock.now(), phase

    def forbidden(self, now: datetime, said: Sequence[StreamMessage]) -> str | None:
        """Say why nobody may be written to first."""
        return forbidden(now, said, {each for each, when in self.arrived.items() if when < (now, 1)})

    @property
    def log(self) -> list[StreamMessage]:
        """The whole log, oldest first."""
        found: list[StreamMessage] = []
        while page := self.mind.conversation.log(limit=1_000, before=found[-1].id if found else None):
            found += page
        return found[::-1]

    @property
    def exchanges(self) -> list[Exchange]:
        """Every exchange, oldest first."""
        return self.mind.conversation.exchanges(10_000)[::-1]

    @property
    def compactions(self) -> list[Compaction]:
        """Every compaction, oldest first."""
        return self.mind.conversation.compactions(10_000)[::-1]

    @property
    def heartbeats(self) -> list[Heartbeat]:
        """Every heartbeat, oldest first."""
        return Heartbeats(self.mind.setup).recent(10_000)[::-1]


def hours(start: datetime, end: datetime) -> Iterator[datetime]:
    """Strike every hour."""
    while start < end:
        start += timedelta(hours=1)
        yield start


@contextmanager
def begun(url: str, notes: Path, period: Period = FORTNIGHT) -> Iterator[Fortnight]:
    """Begin the days in an empty store, with a strict scripted model."""
    clock = ManualClock(datetime.combine(period.first, time(6), tzinfo=BERLIN))
    settings = Settings.model_validate({"workspace": {"time_zone": "Europe/Berlin"}})
    with ClaudeServer() as server, open_loom(url, settings=settings, clock=clock) as loom:
        server.capabilities = ("on_demand",)
        server.reply = reply
        talker = talker_of(server.url)
        setup = replace(
            loom.mind_setup(loom.workspace("james").info),
            notes=notes,
            policy=MindPolicy(compact_at=COMPACT_AT, heartbeat_hours=2.0),
            talker=lambda: talker,
        )
        setup, answers = thinking(setup, server)
        lived = Fortnight(loom, Mind(setup), server, answers, clock, period)
        answers.given |= {"facts": learnt, "heartbeat": wished, "self_awareness": looked_back, "hand_off": handed_off}
        yield lived


def reply(body: dict[str, Any]) -> Step:
    """Speak as the agent: note water, plan the morning once, and otherwise answer in a sentence or two."""
    last = body["messages"][-1]["content"]
    said = last if isinstance(last, str) else " ".join(str(block.get("text", "")) for block in last)
    if "tool_result" in str(last):
        return says("It is noted.", piece=200)
    if "(0)" in said:
        return uses(("schedule_message", {"text": MORNING, "at": "09:00", "every": "daily"}))
    if "glass of water" in said:
        return uses(("update_status", {"updates": {"water": {"last": said[-40:]}}}))
    return says(f"I hear you, and I keep it in mind. {said[-60:]} Shall we look at it together tonight?", piece=400)


def learnt(material: str) -> object:
    """Learn where Audrey wants to be, again and again: each time the sentence that is shown is superseded."""
    if "Lyon at Easter" not in material.split("Exchange of ")[1]:
        return {"operations": []}
    lines = [line.removeprefix("> ") for line in material.splitlines()]
    known = [line for line in lines if line.startswith("[") and "Audrey invites" in line]
    asked = next(line for line in lines if "Lyon at Easter; I" in line)
    text = f"Audrey invites James to Lyon at Easter, asked {asked[-6:].strip()}."
    fact = {"text": text, "about": ["Audrey", "James"], "reason": "she asked"}
    if known:
        return {"operations": [{"operation": "UPDATE", "fact_id": int(known[0][1:].split("]")[0]), **fact}]}
    return {"operations": [{"operation": "ADD", "fact_id": None, **fact}]}


def wished(material: str) -> object:
    """Want to reach out always: only the rules keep the agent silent."""
    assert "How it stands" in material
    return {"reach_out": True, "message": "How is the mast coming along?", "reason": "the mast is open"}


def looked_back(material: str) -> object:
    """Look back at a week."""
    day = material.split("seven days until ")[1][:10]
    return {
        "note": f"# Self-awareness\n\nUntil {day} I listened, and asked about the mast.",
        "line": f"This was {day}.",
    }


def handed_off(_: str) -> object:
    """Leave a note."""
    return {"open_threads": ["the mast"], "promises": ["a look together tonight"], "tone": "friendly"}


# What must be so


def check(lived: Fortnight, planned: Sequence[Arrival]) -> None:
    """Prove that the array is bounded, the log complete, the pages right, and no heartbeat came when it must not."""
    assert lived.server.complaints == []
    assert validity(lived.mind.conversation.turns()) == []
    check_log(lived, planned)
    check_array(lived)
    check_heartbeats(lived)
    check_pages(lived)
    mornings = [each.at.astimezone(BERLIN) for each in lived.log if each.text == MORNING]
    assert [each.date() for each in mornings] == list(lived.period.days)
    assert {f"{each:%H:%M}" for each in mornings} == {"09:00"}


def check_log(lived: Fortnight, planned: Sequence[Arrival]) -> None:
    """Every message once, in order, answered once; every reply delivered once."""
    log = lived.log
    received = [each for each in log if each.direction == "in" and each.kind == "message"]
    assert [(each.text, each.channel) for each in received] == [(each.text, each.channel) for each in planned]
    assert {each.state for each in received} == {"answered"}
    told = [each for each in log if each.direction == "out"]
    assert sorted(lived.delivered) == [each.id for each in told if each.state != "withdrawn"]
    out = [each for each in told if each.kind != "notice"]
    assert len({each.exchange_id for each in out}) == len(out) == len(lived.exchanges)
    newest = {each.exchange_id: each.channel for each in received}
    assert all(each.channel == newest[each.exchange_id] for each in out if each.exchange_id in newest)


def check_array(lived: Fortnight) -> None:
    """Never much above the bound, however long the log grows; a compaction always makes it smaller."""
    assert max(each.context_tokens for each in lived.exchanges) < COMPACT_AT * 1.3
    assert lived.compactions
    assert all(each.tokens_after < each.tokens_before for each in lived.compactions)


def check_heartbeats(lived: Fortnight) -> None:
    """Tell again from the log, by the rules as they are written, whether each heartbeat was right."""
    assert {"sent", "suppressed"} <= {each.outcome for each in lived.heartbeats}
    for one, other in pairwise(lived.heartbeats):
        assert other.at > one.at
    ended = {each.id: each.ended_at for each in lived.exchanges}
    log = [each for each in lived.log if each.kind == "message"]
    for beat in lived.heartbeats:
        if beat.outcome == "silent":
            # The agent wants to speak always: only somebody who waits for an answer makes it silent.
            waiting = [each for each in log if each.direction == "in" and each.at <= beat.at]
            assert any(ended[each.exchange_id or 0] > beat.at for each in waiting), beat
            continue
        said = [each for each in log if each.at <= beat.at]
        reason = lived.forbidden(
            beat.at, [each for each in said if each.exchange_id is None or each.exchange_id != beat.exchange_id]
        )
        assert (beat.outcome == "sent") == (reason is None), (beat, reason)
        assert reason is None or reason in beat.reason, (beat, reason)
    assert not any(
        beat.outcome == "sent" and beat.at.astimezone(BERLIN).date() in lived.period.away[1:]
        for beat in lived.heartbeats
    )


def forbidden(now: datetime, log: Sequence[StreamMessage], heard: Collection[int]) -> str | None:
    """Say why nobody may be written to first; what nobody has `heard` yet, nobody could answer."""
    local = now.astimezone(BERLIN)
    unanswered = 0
    for message in reversed(log):
        if message.direction == "in":
            break
        unanswered += message.id in heard
    own = [message.at for message in log if message.direction == "out"]
    run = 0
    for later, message in zip([None, *reversed(log)], reversed(log), strict=False):
        if later is not None and later.at - message.at >= timedelta(minutes=30):
            break
        run += 1
    if unanswered >= 3:
        return "unanswered"
    if own and now - own[-1] < timedelta(minutes=30):
        return "less than 30 minutes"
    if local.weekday() >= 5 and unanswered >= 2:
        return "weekend"
    if local.hour >= 23 or local.hour < 8:
        return "quiet"
    if log and now - log[-1].at < timedelta(minutes=30) and run > 4:
        return "conversation"
    return None


def check_pages(lived: Fortnight) -> None:
    """One page a local day, each with its own night and the hand-offs of that day; none a week after the last word."""
    notes = lived.mind.notes
    pages = {name: notes.read(name) or "" for name in notes.names() if name.startswith("daily/")}
    written = [each.at for each in lived.log if each.direction == "in" and each.kind == "message"]
    evenings = {day: datetime.combine(day, time(21), tzinfo=BERLIN) for day in lived.period.days}
    days = [day for day, at in evenings.items() if any(at - timedelta(days=7) <= each for each in written if each < at)]
    # A machine's event may bring about a compaction on any day.
    folded = {each.at.astimezone(BERLIN).date() for each in lived.compactions}
    assert sorted(pages) == [f"daily/{day}.md" for day in sorted({*days, *folded})]
    for day in sorted({*days, *folded}):
        page = pages[f"daily/{day}.md"]
        assert page.startswith(f"# {day}, {day:%A}\n")
        looked = [line for line in page.splitlines() if line.startswith("Looking back")]
        assert looked == [f"Looking back: This was {day}."] * (day in days)
        left = [each for each in lived.compactions if each.at.astimezone(BERLIN).date() == day]
        assert page.count("## Hand-off") == len(left)
        assert all(f"## Hand-off, {each.at.astimezone(BERLIN):%H:%M}" in page for each in left)


# What is told


def summary(lived: Fortnight, planned: Sequence[Arrival]) -> str:
    """Write what happened as a table."""
    turns = [each for each in lived.exchanges if each.cause == "message"]
    causes = Counter(each.cause for each in lived.exchanges)
    outcomes = Counter((each.outcome, kind_of(each)) for each in lived.heartbeats)
    facts = lived.loom.workspace("james").semantic.list_observations(["Audrey"], limit=10_000, max_tokens=100_000)
    sizes = [each.context_tokens for each in turns]
    rows: list[tuple[str, object]] = [
        ("messages received, on three channels", len(planned)),
        (
            "messages answered, each once and in order",
            sum(each.kind == "message" and each.state == "answered" for each in lived.log),
        ),
        ("turns that answered messages", causes["message"]),
        ("scheduled messages, each at 09:00 local time", causes["schedule"]),
        ("compactions", len(lived.compactions)),
        ("size at which the array is compacted, in tokens", f"{COMPACT_AT:,}"),
        ("largest array, in tokens", f"{max(sizes):,}"),
        ("messages in the log", len(lived.log)),
        ("largest array, in turns", lived.largest_array),
        ("current facts at the end", sum(each.superseded_at is None for each in facts)),
        ("facts superseded, all still stored", sum(each.superseded_at is not None for each in facts)),
        ("daily notes, one for each local day, each with one line from the nightly pass", lived.period.number),
    ]
    rows += [
        (f"heartbeats {outcome}{f': {reason}' if reason else ''}", count)
        for (outcome, reason), count in sorted(outcomes.items())
    ]
    rows.append(("requests that the scripted server rejected", len(lived.server.complaints)))
    body = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"| measure | value |\n|---|---|\n{body}\n"


def kind_of(beat: Heartbeat) -> str:
    """Say which rule kept a heartbeat silent."""
    said = beat.reason if beat.outcome == "suppressed" else ""
    return (
        "three or more messages are unanswered"
        if said.endswith("messages are unanswered") and said[0].isdigit()
        else said
    )


OPENING = """\
# A fortnight of one conversation

This page is generated by `python -m tests.mind.fortnight`. From 20 March 2026 on, a person in Berlin writes on
three channels for two weeks; the clocks go forward on 29 March, and on two days nobody writes. The clock is
simulated, and the model is a scripted server that rejects every request that the real one would reject. The agent
wants to speak first at every heartbeat, so that only the rules keep it silent. `tests/mind/test_fortnight.py` checks
every message, daily note and heartbeat against the log.

"""


def main() -> None:
    """Live through the fortnight, prove what must be so, and write the page."""
    planned = arrivals(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
    with (
        tempfile.TemporaryDirectory() as directory,
        begun(f"sqlite:///{directory}/loom.db", Path(directory) / "n") as lived,
    ):
        lived.live(planned)
        check(lived, planned)
        PAGE.write_text(OPENING + summary(lived, planned), encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
