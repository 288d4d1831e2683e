"""Heartbeats: now and then the agent wonders whether to speak first, and what came of it is recorded with its reason.

Deciding is a separate, light question that sees notes and the end of the log, never the array. What is said goes
through the same floor, array, log and outbox as every answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, EverloomError, ProviderError
from everloom.kernel.journal import register
from everloom.mind.ground import Ground
from everloom.mind.initiative.awareness import Awareness, Spoken, aware, reason_to_be_silent
from everloom.mind.initiative.rhythm import slot_before
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import Voice
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.text import shortened
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

Result = Literal["sent", "silent", "suppressed", "failed"]

READ = 200
SHOWN = 20
LONGEST_SHOWN = 500
LONGEST_NOTE = 4_000
NOTES = ("SOUL.md", "IDENTITY.md", "USER.md", "THREADS.md")
NOTHING = ("no_notification", "no notification", "no_message", "no message", "none", "null", "silent", "n/a", "-", "…")

TASK = """\
You are the agent of one continuous conversation. Nobody has written just now; this is a quiet moment in which you may \
wonder whether to say something first. You are shown who you are, your status notes, how the conversation stands, and \
its last messages.

Reach out only when there is a reason that the person would welcome: something promised, something open that is due, \
something that matters to them today. Do not ask again what was answered, or what you asked and got no answer to. \
To stay silent is the usual choice.

`message` is exactly what the person will read, with nothing about this decision in it; leave it empty to stay silent. \
`reason` says in one line why you chose so."""


class Wish(BaseModel):
    """Whether the agent wants to speak, what it would say, and why."""

    reach_out: bool
    message: str = ""
    reason: str = ""

    @property
    def words(self) -> str:
        """Read what is to be said; empty when nothing is."""
        text = self.message.strip()
        is_nothing = text.strip("[]()<>\"'*. ").casefold() in NOTHING or text.casefold().startswith("no_notification")
        return "" if not self.reach_out or is_nothing else text


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One time that the agent wondered whether to speak first."""

    id: int
    at: datetime
    outcome: Result
    reason: str
    exchange_id: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a heartbeat sees of the log: its end, and who wrote last."""

    said: tuple[Spoken, ...]
    last: Row | None
    is_waiting: bool


class Heartbeats:
    """The heartbeats of one workspace."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def recent(self, limit: int = 20) -> list[Heartbeat]:
        """List heartbeats, newest first."""
        with self._ground.store.read(self._ground.workspace.id) as unit:
            rows = unit.all("archive.heartbeat_recent", limit=limit)
        return [
            Heartbeat(row["id"], from_micros(row["at"]), row["outcome"], row["reason"], row["exchange_id"])
            for row in rows
        ]

    def awareness(self) -> Awareness:
        """Say how the conversation stands."""
        return aware(self._view().said, self._ground.clock.now(), self._ground.zone)

    def is_due(self) -> bool:
        """Say whether a slot has passed without a heartbeat; however many passed, one is due."""
        ground = self._ground
        slot = slot_before(ground.clock.now(), ground.policy.heartbeat_hours, ground.workspace.id)
        if slot is None or ground.thinker() is None:
            return False
        with ground.store.read(ground.workspace.id) as unit:
            if unit.one("archive.written_last") is None:
                return False
            last = unit.all("archive.heartbeat_recent", limit=1)
        return not last or from_micros(last[0]["at"]) < slot

    def beat(self, voice: Voice, notes: Notes, guard: Callable[[Unit], None] = lambda _: None) -> Heartbeat:
        """Wonder once whether to speak first, and record what came of it."""
        ground, view = self._ground, self._view()
        stand = aware(view.said, ground.clock.now(), ground.zone)
        thinker, to = ground.thinker(), view.last
        forbidden = reason_to_be_silent(stand, ground.policy.quiet_from, ground.policy.quiet_until)
        if forbidden is not None:
            return self._record("suppressed", forbidden, guard)
        if to is None or thinker is None or view.is_waiting:
            return self._record("silent", obstacle(to, thinker), guard)
        try:
            wish = self._wish(thinker, notes, stand, view)
        except ProviderError as error:
            return self._record("failed", shortened(error.message), guard)
        reason = shortened(wish.reason) or "no reason given"
        if not wish.words:
            return self._record("silent", reason, guard)
        return self._say(voice, wish.words, reason, to, guard)

    def _say(self, voice: Voice, text: str, reason: str, to: Row, guard: Callable[[Unit], None]) -> Heartbeat:
        made: list[Heartbeat] = []

        def also(unit: Unit, exchange: int) -> None:
            guard(unit)
            last = unit.one("archive.written_last")
            if last is None or last["id"] != to["id"]:
                raise Overtaken("the person wrote meanwhile")
            made.append(self._add(unit, "sent", reason, exchange))

        try:
            voice.speak(text, cause="heartbeat", channel=to["channel"], address=to["address"], also=also)
        except Overtaken as error:
            return self._record("silent", error.message, guard)
        return made[-1]

    def _wish(self, thinker: Thinker, notes: Notes, stand: Awareness, view: View) -> Wish:
        zone = self._ground.zone
        parts = [f"{name}:\n{text[:LONGEST_NOTE]}" for name in NOTES if (text := notes.read(name))]
        parts.append(f"status.json:\n{status_of(notes)}")
        parts.append(f"How it stands:\n{stand.told()}")
        said = "\n".join(
            f"[{each.at.astimezone(zone):%Y-%m-%d %H:%M}] {'you' if each.is_own else 'person'}: "
            f"{shortened(each.text, LONGEST_SHOWN)}"
            for each in view.said[-SHOWN:]
        )
        parts.append(f"The last messages:\n{said}")
        material = (Passage("\n\n".join(parts)),)
        question = Question(purpose="heartbeat", task=TASK, passages=material, max_tokens=600, is_routine=True)
        return thinker.answer(question, Wish)

    def _view(self) -> View:
        with self._ground.store.read(self._ground.workspace.id) as unit:
            rows = unit.all("archive.said_before", before=FOREVER, limit=READ)[::-1]
            last = unit.one("archive.written_last")
        said = tuple(Spoken(row["direction"] == "out", from_micros(row["at"]), row["text"]) for row in rows)
        is_waiting = any(row["state"] == "waiting" for row in rows)
        return View(said, last, is_waiting)

    def _record(self, outcome: Result, reason: str, guard: Callable[[Unit], None]) -> Heartbeat:
        with self._ground.store.write(self._ground.workspace.id) as unit:
            guard(unit)
            return self._add(unit, outcome, reason, None)

    def _add(self, unit: Unit, outcome: Result, reason: str, exchange: int | None) -> Heartbeat:
        now = self._ground.clock.now()
        (fresh,) = register(unit, "heartbeat", now)
        unit.run(
            "archive.heartbeat_add", id=fresh, at=to_micros(now), outcome=outcome, reason=reason, exchange=exchange
        )
        return Heartbeat(fresh, now, outcome, reason, exchange)


class Overtaken(Conflict):
    """The person wrote while the agent was still wondering."""


def obstacle(to: Row | None, thinker: Thinker | None) -> str:
    """Say what keeps the agent from even wondering."""
    if to is None:
        return "nobody has written yet"
    return "no model is configured" if thinker is None else "a message waits for its answer"


def status_of(notes: Notes) -> str:
    """Read the status as it is written, also when it is no JSON."""
    try:
        return notes.read("status.json") or "{}"
    except EverloomError as error:
        return f"(unreadable: {error.message})"
