"""Heartbeats: from time to time the agent decides whether to speak first, and the outcome is recorded with its reason.

The decision is a separate, small question to the model, which sees notes and the end of the log but not the array. A
message goes through the same lease, array, log and outbox as every reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from everloom.clock import from_micros, is_ahead, to_micros
from everloom.errors import Conflict, ProviderError
from everloom.kernel.journal import register
from everloom.mind.conversation.reaching import place_for, roaming
from everloom.mind.initiative.timing import Awareness, read_awareness, reason_to_be_silent, slot_after, slot_before
from everloom.mind.learning.archive import SpokenLine, said_before
from everloom.mind.notes import Notes
from everloom.mind.notes.files import STATUS
from everloom.mind.ports import MindSetup
from everloom.mind.prompts import prompt_named
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.shape import ModelAnswer
from everloom.models.text import shortened
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

if TYPE_CHECKING:
    from everloom.mind.conversation import Conversation

_Result = Literal["sent", "silent", "suppressed", "failed"]

# Enough to count unanswered messages, and those since the last pause.
_READ = 200
_SHOWN = 20
_LONGEST_SHOWN = 500
_LONGEST_NOTE = 4_000
_NOTES = ("SOUL.md", "IDENTITY.md", "USER.md", "THREADS.md")
# What models write when they mean to stay silent; none of it may be sent.
_NOTHING = ("no_notification", "no notification", "no_message", "no message", "none", "null", "silent", "n/a", "-", "…")

_TASK = prompt_named("heartbeat")


class Wish(ModelAnswer):
    """The model's decision: whether to speak, what to say, and why."""

    reach_out: bool
    message: str = ""
    reason: str = ""

    @property
    def words(self) -> str:
        """Return the message to send; empty to stay silent."""
        text = self.message.strip()
        is_nothing = text.strip("[]()<>\"'*. ").casefold() in _NOTHING or text.casefold().startswith("no_notification")
        return "" if not self.reach_out or is_nothing else text


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The record of one decision whether to speak first."""

    id: int
    at: datetime
    outcome: _Result
    reason: str
    exchange_id: int | None = None


class Heartbeats:
    """The heartbeats of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup
        self._op = setup.op

    def recent(self, limit: int = 20, before: int | None = None) -> list[Heartbeat]:
        """List heartbeats, newest first; with `before`, those that are older than one."""
        start = FOREVER if before is None else before
        with self._op.read() as unit:
            rows = unit.all("archive.heartbeat_recent", before=start, limit=limit)
        return [value_from(Heartbeat, row) for row in rows]

    def is_due(self) -> bool:
        """Check whether a slot has passed without a heartbeat; after a pause of several slots, only one is due."""
        slot = slot_before(self._op.now, self._setup.policy.heartbeat_hours, self._op.workspace.id)
        if slot is None or self._setup.thinker() is None:
            return False
        with self._op.read() as unit:
            if unit.one("archive.written_last") is None:
                return False
            last = unit.all("archive.heartbeat_recent", before=FOREVER, limit=1)
        # One that was noted under a clock that was ahead does not count.
        return not last or (at := from_micros(last[0]["at"])) < slot or is_ahead(at, self._op.now)

    def next_due(self) -> datetime | None:
        """Return the next slot, once somebody has written."""
        if self._setup.thinker() is None:
            return None
        with self._op.read() as unit:
            if unit.one("archive.written_last") is None:
                return None
        return slot_after(self._op.now, self._setup.policy.heartbeat_hours, self._op.workspace.id)

    def beat(self, conversation: Conversation, notes: Notes) -> Heartbeat:
        """Decide once whether to speak first, and record the outcome."""
        thinker, policy = self._setup.thinker(), self._setup.policy
        with self._op.read() as unit:
            said = said_before(unit, FOREVER, _READ)[::-1]
            is_waiting = any(row["kind"] == "message" for row in unit.all("mind.message_in_state", state="waiting"))
            to = unit.one("archive.written_last")
            place = place_for(unit, self._setup.person, self._op.now)
            is_pending = bool(roaming(unit, self._op.now))
        stand = read_awareness(said, self._op.now, self._op.zone)
        forbidden = reason_to_be_silent(stand, policy.quiet_from, policy.quiet_until)
        if forbidden is None and is_pending and not (place and place.is_reached):
            forbidden = "nobody can be reached, and an earlier message still waits"
        if forbidden is not None:
            return self._record("suppressed", forbidden)
        if to is None or thinker is None or is_waiting:
            return self._record("silent", _obstacle(to, thinker))
        try:
            wish = self._wish(thinker, notes, stand, said[-_SHOWN:])
        except ProviderError as error:
            return self._record("failed", shortened(error.message))
        reason = shortened(wish.reason) or "no reason given"
        if not wish.words:
            return self._record("silent", reason)
        return self._say(conversation, wish.words, reason, to)

    def _say(self, conversation: Conversation, text: str, reason: str, to: Row) -> Heartbeat:
        made: list[Heartbeat] = []

        def also(unit: Unit, exchange: int) -> None:
            # Checked again in the transaction: the person may have written while the model was thinking.
            last = unit.one("archive.written_last")
            if last is None or last["id"] != to["id"]:
                raise _Overtaken("the person wrote in the meantime")
            made.append(self._add(unit, "sent", reason, exchange))

        try:
            conversation.speak(text, cause="heartbeat", also=also)
        except _Overtaken as error:
            return self._record("silent", error.message)
        return made[-1]

    def _wish(self, thinker: Thinker, notes: Notes, stand: Awareness, said: Sequence[SpokenLine]) -> Wish:
        parts = [f"{name}:\n{text[:_LONGEST_NOTE]}" for name in _NOTES if (text := notes.read(name))]
        parts.append(f"{STATUS}:\n{notes.show(STATUS) or '{}'}")
        parts.append(f"How it stands:\n{stand.describe()}")
        lines = "\n".join(
            f"[{self._op.local(each.at):%Y-%m-%d %H:%M}] {'you' if each.speaker == 'agent' else each.said_by}: "
            f"{shortened(each.text, _LONGEST_SHOWN)}"
            for each in said
        )
        parts.append(f"The last messages:\n{lines}")
        material = (Passage("\n\n".join(parts)),)
        question = Question(purpose="heartbeat", task=_TASK, passages=material, max_tokens=600, is_routine=True)
        return thinker.answer(question, Wish)

    def _record(self, outcome: _Result, reason: str) -> Heartbeat:
        with self._op.write("heartbeat") as writing:
            return self._add(writing.unit, outcome, reason, None)

    def _add(self, unit: Unit, outcome: _Result, reason: str, exchange: int | None) -> Heartbeat:
        now = self._op.now
        (fresh,) = register(unit, "heartbeat", now)
        unit.send(
            "archive.heartbeat_add", id=fresh, at=to_micros(now), outcome=outcome, reason=reason, exchange=exchange
        )
        return Heartbeat(fresh, now, outcome, reason, exchange)


class _Overtaken(Conflict):
    """The person wrote while the agent was deciding."""


def _obstacle(to: Row | None, thinker: Thinker | None) -> str:
    if to is None:
        return "nobody has written yet"
    return "no model is configured" if thinker is None else "a message is waiting for a reply"
