"""Messages that the agent will send at a time: once, or again at the same local time.

Which moment comes next is decided in `timing.py`. Delivery goes through the conversation like
everything that the agent says first, and the message is done in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from everloom.clock import MICROSECOND, from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import register
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked
from everloom.mind.initiative.timing import Rhythm, first_moment, next_moment, on_or_after, time_of_day
from everloom.mind.ports import MindSetup
from everloom.models.text import quoted, shortened
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

if TYPE_CHECKING:
    from everloom.mind.conversation import Conversation

_LONGEST_MESSAGE = 4_000
_LONGEST_TIME = 60
# Far more than a person would want; an agent that schedules more has probably lost count.
_MOST_WAITING = 100


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A message that waits for its time, which is on the workspace's clock; `every` is empty when it is sent once."""

    id: int
    text: str
    channel: str
    address: str
    due_at: datetime
    every: str

    def __str__(self) -> str:
        again = f", {self.every.partition(' ')[0]}" if self.every else ""
        return f"[{self.id}] {self.due_at:%Y-%m-%d %H:%M, %A}{again}: {shortened(self.text)}"


class ScheduledList(list[Scheduled]):
    """Messages that wait for their time, the soonest first."""

    def __str__(self) -> str:
        # A scheduled text may repeat what anybody wrote. Whoever reads the list is not instructed by it.
        return quoted("\n".join(map(str, self)), "scheduled") if self else "No message is scheduled."


class Schedule:
    """The scheduled messages of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._op = setup.op

    def add(self, text: str, at: str, every: str = "", key: str | None = None) -> Scheduled:
        """Schedule a message; it goes to where the person is reached when it is due."""
        said = checked(text, "the message", _LONGEST_MESSAGE)
        checked(at, "the time", _LONGEST_TIME)
        if every and every not in get_args(Rhythm):
            raise Rejected(f"there is no interval {every!r}", hint=f"say {', '.join(get_args(Rhythm))}, or nothing")
        asked = {"text": text, "at": at, "every": every}
        known = self._op.write_once("schedule_message", key, asked, Scheduled, lambda tx: _add(tx, said, at, every))
        # A receipt keeps the moment, and not the clock that it is told by.
        return replace(known, due_at=self._op.local(known.due_at))

    def waiting(self) -> ScheduledList:
        """List the waiting messages, soonest first."""
        with self._op.read() as unit:
            rows = unit.all("archive.scheduled_waiting", limit=FOREVER)
        return ScheduledList(map(self._scheduled, rows))

    def cancel(self, scheduled_id: int, key: str | None = None) -> None:
        """Cancel a scheduled message."""

        def act(writing: Transaction) -> int:
            if not writing.unit.run("archive.scheduled_cancel", id=scheduled_id):
                raise NotFound(f"no message {scheduled_id} is scheduled", hint="list_scheduled prints the ids")
            return writing.event(id=scheduled_id)

        self._op.write_once("cancel_scheduled", key, {"id": scheduled_id}, int, act)

    def due(self) -> list[Scheduled]:
        """List the messages that are due."""
        with self._op.read() as unit:
            rows = unit.all("archive.scheduled_due", now=to_micros(self._op.now), limit=_MOST_WAITING)
        return [self._scheduled(row) for row in rows]

    def deliver(self, each: Scheduled, conversation: Conversation) -> None:
        """Send a message that is due; the same transaction marks it as sent, or sets its next time."""

        def also(unit: Unit, _exchange: int) -> None:
            known = {"id": each.id, "due_at": to_micros(each.due_at)}
            # The due time is part of the condition: a message that was moved or cancelled in the meantime is not sent.
            if each.every:
                after = next_moment(each.due_at, each.every, self._op.now, self._op.zone)
                moved = unit.run("archive.scheduled_again", next=to_micros(after), **known)
            else:
                moved = unit.run("archive.scheduled_sent", **known)
            if not moved:
                raise Conflict(
                    f"scheduled message {each.id} was sent or cancelled in the meantime", hint="list them again"
                )

        conversation.speak(each.text, cause="schedule", also=also)

    def _scheduled(self, row: Row) -> Scheduled:
        due_at = self._op.local(from_micros(row["due_at"]))
        return Scheduled(row["id"], row["text"], row["channel"], row["address"], due_at, row["every"])


def _add(writing: Transaction, text: str, at: str, every: str) -> Scheduled:
    """Write down a message, and when it is due for the first time."""
    op, unit = writing.op, writing.unit
    due = first_moment(at, op.now, op.zone)
    wall = time_of_day(at, op.local(due))
    if every == "weekdays":
        due = on_or_after(due - MICROSECOND, wall, every, op.zone, start=due)
    rhythm = f"{every} {wall:%H:%M}" if every else ""
    to = unit.one("archive.written_last")
    if to is None:
        raise Conflict("nobody has written yet, so there is nobody to write to", hint="write to the agent first")
    if len(unit.all("archive.scheduled_waiting", limit=_MOST_WAITING)) >= _MOST_WAITING:
        raise Conflict(f"{_MOST_WAITING} messages are already scheduled", hint="cancel some of them first")
    (fresh,) = register(unit, "scheduled", writing.at)
    where = {"channel": to["channel"], "address": to["address"]}
    times = {"due_at": to_micros(due), "at": to_micros(writing.at)}
    unit.send("archive.scheduled_add", id=fresh, text=text, every=rhythm, **where, **times)
    writing.event(id=fresh, due_at=due.isoformat(), every=every)
    return Scheduled(fresh, text, **where, due_at=op.local(due), every=rhythm)
