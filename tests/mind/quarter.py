"""A quarter of one conversation: three months with outages, a wrong key, restarts, events, alerts and closed doors.

python -m tests.mind.quarter [MESSAGES]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from everloom.errors import ProviderBusy, ProviderDenied
from everloom.kernel.spending import Ledger
from everloom.mind import IncomingMessage, Mind, StreamMessage
from everloom.mind.people import read_person
from everloom.mind.ports import AlertLimits
from everloom.models import Meter
from tests.mind import fortnight
from tests.mind.fortnight import BERLIN, CHANNELS, MORNING, Arrival, Fortnight, Period
from tests.mind.worlds import elsewhere, talker_of
from tests.scripted.speech import Step

# The clocks go back on Sunday, 25 October, at 03:00, and for a fortnight nobody is there.
QUARTER = Period(date(2026, 9, 1), 91, date(2026, 10, 25), tuple(date(2026, 10, day) for day in range(5, 19)))
# For a fortnight nobody opens the terminal, which the person prefers; and for three days they read nothing at all.
CLOSED = Period(date(2026, 11, 9), 14, QUARTER.change).days
GONE = Period(date(2026, 10, 12), 3, QUARTER.change).days
# A machine reports something every so many days.
DAYS_A_REPORT = 6
ALERTS = AlertLimits(dollars_a_month=0.02, rise=0)
# Every so many turns the process ends, and another goes on.
TURNS_A_PROCESS = 40


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which the provider answers nothing but a status."""

    day: date
    begin: int
    hours: int
    status: int

    def covers(self, now: datetime) -> bool:
        """Say whether it lasts at a moment."""
        start = datetime.combine(self.day, time(self.begin), tzinfo=BERLIN)
        return start <= now < start + timedelta(hours=self.hours)


OUTAGES = (
    Outage(date(2026, 9, 9), 7, 8, 529),
    Outage(date(2026, 9, 24), 12, 24, 401),
    Outage(date(2026, 11, 11), 19, 3, 500),
)


def arrivals(messages: int, seed: int = 7) -> list[Arrival]:
    """Plan what the person writes: nothing at a terminal that is closed."""
    planned = fortnight.arrivals(messages, seed, QUARTER)
    return [replace(each, channel="web") if is_closed(each) else each for each in planned]


def is_closed(arrival: Arrival) -> bool:
    """Say whether nobody can write there at that time."""
    return arrival.channel == "terminal" and arrival.at.astimezone(BERLIN).date() in CLOSED


def reports() -> list[Arrival]:
    """Plan what a machine reports."""
    days = QUARTER.days[1::DAYS_A_REPORT]
    moments = [datetime.combine(day, time(11, 5), tzinfo=BERLIN).astimezone(UTC) for day in days]
    return [Arrival(at, "http", f"The gauge is at {number} m.") for number, at in enumerate(moments)]


@dataclass
class Quarter(Fortnight):
    """The conversation while three months pass."""

    failures: int = 0
    turns: int = 0
    processes: int = 1

    def live(self, planned: Sequence[Arrival]) -> None:
        """Let the days pass, with what a machine reports in between."""
        super().live(sorted([*planned, *reports()]))

    def receive(self, arrival: Arrival) -> None:
        """Take in a message or a report."""
        if arrival.channel == "http":
            report = IncomingMessage(text=arrival.text, channel="http", kind="event", sender="gauge")
            self.mind.conversation.take(report)
        else:
            super().receive(arrival)

    def look_around(self) -> None:
        """Say for the next hour where the person is reached."""
        for channel in self.reads_on():
            self.mind.conversation.reached(channel, ["42"], 3_660)
        self.mind.conversation.settle()

    def reads_on(self) -> Sequence[str]:
        """List the channels on which the person reads now."""
        day = self.clock.now().astimezone(BERLIN).date()
        if day in GONE:
            return ()
        return [each for each in CHANNELS if each != "terminal" or day not in CLOSED]

    def forbidden(self, now: datetime, said: Sequence[StreamMessage]) -> str | None:
        """Say why nobody may be written to first: by the rules, or because an earlier word waits for a reader."""
        waits = [each for each in said if each.route and self.arrived[each.id] > (now, 1)]
        is_alone = now.astimezone(BERLIN).date() in GONE and waits
        return super().forbidden(now, said) or ("nobody can be reached" if is_alone else None)

    def answer(self) -> None:
        """Answer what is ripe, or wait out a fault; now and then the process is another one."""
        try:
            answered = self.mind.conversation.step()
        except (ProviderBusy, ProviderDenied):
            self.failures += self.outage is not None
            return
        assert answered is not None
        self.turns += 1
        if self.turns % TURNS_A_PROCESS == 0:
            self.processes += 1
            self.mind = Mind(elsewhere(self.mind.setup, f"elsewhere:{self.processes}:x"))

    @property
    def outage(self) -> Outage | None:
        """The outage that lasts now."""
        return next((each for each in OUTAGES if each.covers(self.clock.now())), None)

    def reply(self, body: dict[str, Any]) -> Step:
        """Speak as the agent, unless the provider is away."""
        outage = self.outage
        return fortnight.reply(body) if outage is None else Step(status=outage.status)


@contextmanager
def begun(url: str, notes: Path) -> Iterator[Quarter]:
    """Begin the quarter in an empty store."""
    with fortnight.begun(url, notes, QUARTER) as plain:
        lived = Quarter(plain.loom, plain.mind, plain.server, plain.answers, plain.clock, QUARTER)
        info = lived.mind.setup.op.workspace
        meter = Meter(clock=lived.clock, recorder=Ledger(lived.loom.store, info.id))
        talker = talker_of(lived.server.url, meter)
        setup = replace(
            lived.mind.setup,
            person=read_person("James workspace=james terminal=42 telegram=42 web=42 prefers=terminal"),
            policy=replace(lived.mind.setup.policy, alerts=ALERTS),
            talker=lambda: talker,
        )
        lived.mind = Mind(setup)
        lived.server.cache.now = lambda: lived.clock.now().timestamp()
        lived.server.reply = lived.reply
        lived.server.remembers = 10
        yield lived


def check(lived: Quarter, planned: Sequence[Arrival]) -> None:
    """Prove what a fortnight proves, and that every outage was told once to whoever waited, and no message was lost."""
    fortnight.check(lived, planned)
    check_reports(lived)
    check_reaching(lived)
    check_alerts(lived)
    assert lived.processes > 1
    assert lived.failures
    for outage in OUTAGES:
        told = [each for each in notices(lived) if outage.covers(each.at)]
        places = [(each.channel, each.address) for each in told]
        assert told, outage
        assert len(places) == len(set(places)), outage
    assert all(any(outage.covers(each.at) for outage in OUTAGES) for each in notices(lived))


def check_reports(lived: Quarter) -> None:
    """Every report was taken up once, and nothing was ever sent to a machine."""
    taken = [(each.text, each.state) for each in lived.log if each.kind == "event"]
    assert taken == [(each.text, "answered") for each in reports()]
    assert all(each.channel != "http" for each in lived.log if each.direction == "out")


def check_reaching(lived: Quarter) -> None:
    """What was said first went to where somebody reads, waited where nobody did, and never silenced the agent."""
    first = [each for each in lived.log if each.route]
    assert {each.state for each in first} == {"sent"}
    by_day = [(each.at.astimezone(BERLIN).date(), each) for each in first]
    usual = [each for day, each in by_day if day not in (*CLOSED, *GONE)]
    assert {each.channel for each in usual} == {"terminal"}
    elsewhere_told = [each for day, each in by_day if day in CLOSED]
    assert {each.channel for each in elsewhere_told} <= {"telegram", "web"}
    assert any(each.text not in (MORNING, *(one.text for one in reports())) for each in elsewhere_told)
    beats = [each for each in lived.heartbeats if each.at.astimezone(BERLIN).date() in CLOSED]
    assert any(each.outcome == "sent" for each in beats)
    waited = [lived.arrived[each.id][0].astimezone(BERLIN).date() for day, each in by_day if day in GONE]
    assert waited
    assert set(waited) == {GONE[-1] + timedelta(days=1)}


def check_alerts(lived: Quarter) -> None:
    """Whoever pays was told once in each month."""
    told = [each for each in lived.log if each.kind == "notice" and "this month" in each.text]
    assert [f"{each.at.astimezone(BERLIN):%B}" for each in told] == ["September", "October", "November"]


def notices(lived: Quarter) -> list[StreamMessage]:
    """List what people were told who waited for an answer."""
    return [
        each
        for each in lived.log
        if each.kind == "notice" and each.state != "withdrawn" and "this month" not in each.text
    ]


def main() -> None:
    """Live through the quarter, prove what must be so, and print what happened."""
    planned = arrivals(int(sys.argv[1]) if len(sys.argv) > 1 else 1_500)
    with (
        tempfile.TemporaryDirectory() as directory,
        begun(f"sqlite:///{directory}/loom.db", Path(directory) / "n") as lived,
    ):
        lived.live(planned)
        check(lived, planned)
        told = f"processes: {lived.processes}; failed attempts: {lived.failures}; notices: {len(notices(lived))}\n"
        sys.stdout.write(fortnight.summary(lived, planned) + told)


if __name__ == "__main__":
    main()
