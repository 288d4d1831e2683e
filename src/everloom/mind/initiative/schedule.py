"""Messages that the agent will send at a time: once, or again at the same local time.

Which moment comes next is decided in `rhythm.py`. Delivery goes through the conversation like
everything that the agent says first, and the message is done in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from everloom.clock import MICROSECOND, from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import append_event, register
from everloom.kernel.texts import checked
from everloom.mind.ground import Ground
from everloom.mind.initiative.rhythm import Rhythm, first_moment, next_moment, on_or_after, time_of_day
from everloom.mind.ports import AgentTool, Voice
from everloom.models.talk import ToolSpec
from everloom.models.text import quoted, shortened
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

LONGEST_MESSAGE = 4_000
LONGEST_TIME = 60
MOST_WAITING = 100


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


class Schedule:
    """What a workspace's agent has planned to say."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def add(self, text: str, at: str, every: str = "") -> Scheduled:
        """Plan a message to where the person last wrote from."""
        ground, now = self._ground, self._ground.clock.now()
        said = checked(text, "the message", LONGEST_MESSAGE)
        checked(at, "the time", LONGEST_TIME)
        if every and every not in get_args(Rhythm):
            raise Rejected(f"there is no rhythm {every!r}", hint=f"say {', '.join(get_args(Rhythm))}, or nothing")
        due = first_moment(at, now, ground.zone)
        wall = time_of_day(at, ground.local(due))
        if every == "weekdays":
            due = on_or_after(due - MICROSECOND, wall, every, ground.zone, start=due)
        rhythm = f"{every} {wall:%H:%M}" if every else ""
        with ground.store.write(ground.workspace.id) as unit:
            to = unit.one("archive.written_last")
            if to is None:
                raise Conflict("nobody has written yet, so there is nobody to write to")
            if len(unit.all("archive.scheduled_waiting", limit=MOST_WAITING)) >= MOST_WAITING:
                raise Conflict(f"{MOST_WAITING} messages wait already", hint="cancel some of them first")
            (fresh,) = register(unit, "scheduled", now)
            unit.run(
                "archive.scheduled_add",
                id=fresh,
                text=said,
                channel=to["channel"],
                address=to["address"],
                due_at=to_micros(due),
                every=rhythm,
                at=to_micros(now),
            )
            append_event(unit, "schedule_message", {"id": fresh, "due_at": due.isoformat(), "every": every}, now, None)
        return Scheduled(fresh, said, to["channel"], to["address"], ground.local(due), rhythm)

    def waiting(self) -> list[Scheduled]:
        """List what waits, the soonest first."""
        with self._ground.store.read(self._ground.workspace.id) as unit:
            return [self._scheduled(row) for row in unit.all("archive.scheduled_waiting", limit=FOREVER)]

    def cancel(self, scheduled_id: int) -> None:
        """Take a planned message back."""
        if isinstance(scheduled_id, bool) or not isinstance(scheduled_id, int):
            raise Rejected(f"an id is a whole number, not {scheduled_id!r}", hint="list_scheduled prints the ids")
        now = self._ground.clock.now()
        with self._ground.store.write(self._ground.workspace.id) as unit:
            if not unit.run("archive.scheduled_cancel", id=scheduled_id):
                raise NotFound(f"no message {scheduled_id} waits", hint="list_scheduled prints the ids")
            append_event(unit, "cancel_scheduled", {"id": scheduled_id}, now, None)

    def due_count(self) -> int:
        """Count the messages whose time has come."""
        with self._ground.store.read(self._ground.workspace.id) as unit:
            row = unit.one("archive.scheduled_due_count", now=to_micros(self._ground.clock.now()))
        return 0 if row is None else int(row["count"])

    def due(self, limit: int = MOST_WAITING) -> list[Scheduled]:
        """List the messages whose time has come."""
        with self._ground.store.read(self._ground.workspace.id) as unit:
            rows = unit.all("archive.scheduled_due", now=to_micros(self._ground.clock.now()), limit=limit)
        return [self._scheduled(row) for row in rows]

    def deliver(self, each: Scheduled, voice: Voice, guard: Callable[[Unit], None] = lambda _: None) -> None:
        """Say a message whose time has come; it is done, or due again, in the same transaction."""
        ground = self._ground

        def also(unit: Unit, _exchange: int) -> None:
            guard(unit)
            known = {"id": each.id, "due_at": to_micros(each.due_at)}
            if each.every:
                after = next_moment(each.due_at, each.every, ground.clock.now(), ground.zone)
                moved = unit.run("archive.scheduled_again", next=to_micros(after), **known)
            else:
                moved = unit.run("archive.scheduled_sent", **known)
            if not moved:
                raise Conflict(f"scheduled message {each.id} was sent or cancelled meanwhile")

        voice.speak(each.text, cause="schedule", channel=each.channel, address=each.address, also=also)

    def _scheduled(self, row: Row) -> Scheduled:
        due_at = self._ground.local(from_micros(row["due_at"]))
        return Scheduled(row["id"], row["text"], row["channel"], row["address"], due_at, row["every"])


def schedule_tools(ground: Ground) -> list[AgentTool]:
    """Offer planning to the agent."""
    schedule = Schedule(ground)

    def plan(given: Mapping[str, Any]) -> str:
        planned = schedule.add(given.get("text", ""), given.get("at", ""), given.get("every") or "")
        return f"Planned: {planned}"

    def show(_given: Mapping[str, Any]) -> str:
        lines = [str(each) for each in schedule.waiting()]
        return quoted("\n".join(lines), "scheduled") if lines else "No message is planned."

    def cancel(given: Mapping[str, Any]) -> str:
        schedule.cancel(given.get("id", 0))
        return f"Message {given['id']} will not be sent."

    return [
        AgentTool(ToolSpec("schedule_message", PLAN, PLAN_SCHEMA), plan),
        AgentTool(ToolSpec("list_scheduled", "List the messages that are planned, with their ids.", NO_INPUT), show),
        AgentTool(ToolSpec("cancel_scheduled", "Take a planned message back.", CANCEL_SCHEMA), cancel),
    ]


PLAN = "Have a message sent at a time to come, in your own words and exactly as you write it here."
NO_INPUT: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
PLAN_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "what the person will read"},
        "at": {"type": "string", "description": "local time: 2026-11-15T09:30, or 09:30 for the next time it is so"},
        "every": {"type": "string", "enum": list(get_args(Rhythm)), "description": "send it again at this rhythm"},
    },
    "required": ["text", "at"],
    "additionalProperties": False,
}
CANCEL_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
