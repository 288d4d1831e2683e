"""What happens in the recorded week: who writes what, when and where, and what the agent answers. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from tests.scripted.speech import Step, says, uses

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
DAYS = 7
LUNCH = "Half past twelve: eat something."
FEE = "Pay the mooring fee before the end of the month."
Act = Literal[
    "telegram",
    "photo",
    "quote",
    "voice",
    "edit",
    "email",
    "terminal",
    "open",
    "close",
    "lose",
    "event",
    "restart",
    "outage",
    "recovery",
]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happens: `text` is what is said, `answers` what the model answers to it, round by round.

    `note` is what a message refers to, or who reports an event. With `more`, so many messages of small talk follow.
    """

    day: int
    clock: str
    act: Act
    text: str = ""
    answers: tuple[Step, ...] = ()
    note: str = ""
    more: int = 0

    @property
    def at(self) -> datetime:
        """When it happens."""
        return datetime.combine(MONDAY.date(), time.fromisoformat(self.clock), UTC) + timedelta(days=self.day)


def _said(day: int, clock: str, act: Act, text: str, reply: str, *tools: Step, note: str = "") -> Moment:
    return Moment(day, clock, act, text, (*tools, says(reply)), note)


def _evening(day: int, clock: str, more: int) -> tuple[Moment, ...]:
    """Open the terminal, talk for a while and close it."""
    return (Moment(day, clock, "open"), Moment(day, clock, "terminal", more=more), Moment(day, "20:45", "close"))


PLOT = (
    # Monday
    _said(
        0,
        "08:05",
        "telegram",
        "Good morning! I am back from Brest, and the mast is ordered.",
        "Welcome back, Ada. **Ordered** at last: when does it come?",
    ),
    _said(
        0,
        "08:06:30",
        "photo",
        "This is the one, in spruce.",
        "A fine mast. I noted that it is spruce.",
        uses(("append_note", {"text": "- The new mast is of spruce."})),
    ),
    _said(
        0,
        "08:08",
        "telegram",
        "Please remind me to eat on weekdays, at half past twelve.",
        "I will, on weekdays at 12:30.",
        uses(("schedule_message", {"text": LUNCH, "at": "12:30", "every": "weekdays"})),
    ),
    _said(
        0,
        "08:10",
        "quote",
        "In three weeks, they say.",
        "Then it is here on 23 November.",
        note="Ordered at last: when does it come?",
    ),
    *_evening(0, "19:30", 9),
    # Tuesday
    _said(
        1,
        "09:10",
        "email",
        "The sailmaker offers a mainsail for 1,200 euros. Is that much?",
        "For that size it is usual; the last one cost 1,150 euros.",
    ),
    Moment(1, "12:20", "open"),
    _said(1, "12:25", "terminal", "Is there anything for today?", "Only the sailmaker, who waits for a word from you."),
    # The terminal is killed: nobody says that the person has left.
    Moment(1, "12:29:50", "lose"),
    _said(
        1, "18:00:00", "telegram", "Is the boat safe tonight?", "Yes. The gauge has just reported 4.1 m, and falling."
    ),
    Moment(1, "18:00:01", "event", "The water is at 4.1 m, falling.", note="harbour gauge"),
    *_evening(1, "19:30", 8),
    # Wednesday
    _said(
        2,
        "08:15",
        "telegram",
        "When we next speak of the mooring, remind me to pay the fee.",
        "I will bring it up then.",
        uses(("set_intention", {"about": "the mooring", "text": FEE})),
    ),
    Moment(
        2,
        "10:40",
        "event",
        "Wind 9 Beaufort expected from 15:00.",
        (says("A gale is coming at three: look after the fenders."),),
        "weather station",
    ),
    _said(2, "10:44", "telegram", "Thank you, I am on my way.", "Good. Mind the wet planks."),
    *_evening(2, "19:30", 9),
    # Thursday
    _said(3, "08:20", "voice", "I had a bad night, the gale tore at everything.", "I am sorry. Is the boat well?"),
    _said(3, "08:22", "telegram", "Not a scratch. The harbour master comes at four.", "Good, at four then."),
    _said(
        3,
        "08:26",
        "edit",
        "Not a scratch. The harbour master comes at five.",
        "At five, then; I have corrected it.",
        note="Not a scratch. The harbour master comes at four.",
    ),
    Moment(3, "14:00", "outage"),
    _said(
        3,
        "14:05",
        "telegram",
        "What did I want to ask the harbour master?",
        "Whether the eastern berth is free in May.",
    ),
    Moment(3, "15:20", "recovery"),
    *_evening(3, "19:30", 8),
    # Friday
    _said(
        4,
        "09:00",
        "telegram",
        "The mooring has survived the gale, I was there early.",
        "I am glad. You wanted to be reminded of the mooring fee, which is due this month.",
    ),
    Moment(4, "11:00", "restart"),
    _said(
        4,
        "16:30",
        "email",
        "I ordered the mainsail. Delivery in January.",
        "Noted: the mainsail comes in January.",
        uses(("update_status", {"updates": {"mainsail": {"ordered": "2026-11-06", "expected": "January"}}})),
    ),
    *_evening(4, "19:30", 9),
    # Saturday
    _said(
        5,
        "10:10",
        "telegram",
        "No work today. What was it about the eastern berth?",
        "You asked whether it is free in May.",
    ),
    # Sunday
    _said(
        6, "17:00", "email", "What is open from this week?", "The mooring fee, the mast on the 23rd, the berth in May."
    ),
    *_evening(6, "19:30", 10),
)
# On these days the agent has something to say first when its heartbeat comes.
WISHES = {
    "2026-11-04": "How did the fenders hold?",
    "2026-11-07": "It is calm today: a good day to look at the rigging.",
}
