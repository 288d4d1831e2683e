"""The agent's look at itself: the nightly pass over the last week, and the hand-off note before memory fades.

Both are written through the notes with their guards, under the workspace's local date. Once for each date; a pass that
was missed is made up for once, not for every night of a pause.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from everloom.clock import from_micros
from everloom.errors import Conflict, EverloomError, ProviderError, Rejected
from everloom.kernel.journal import answered_before, append_event, keep_receipt
from everloom.mind.conversation.exchange import Exchange
from everloom.mind.ground import Ground
from everloom.mind.initiative.awareness import Spoken
from everloom.mind.initiative.heartbeat import status_of
from everloom.mind.initiative.rhythm import Night, night_before
from everloom.mind.learning.archive import lines_of
from everloom.mind.learning.chunks import Line, is_trivial
from everloom.mind.learning.facts import capture
from everloom.mind.notes.daily import daily_name, heading
from everloom.mind.notes.notes import Notes
from everloom.models import estimate
from everloom.models.ask import Passage, Question
from everloom.models.text import shortened
from everloom.store import Unit
from everloom.store.contract import FOREVER

log = logging.getLogger(__name__)

NOTE = "SELF-AWARENESS.md"
WEEK = timedelta(days=7)
PAGE = 500
# How much of the week one question holds; the newest comes first.
WEEK_TOKENS = 24_000
LONGEST_MESSAGE = 2_000
LONGEST_LINE = 400
MOST_POINTS = 8
HAND_OFF_TOKENS = 12_000

PASS_TASK = """\
It is the end of a day, and you look back at the last week of your one continuous conversation with a person. You are \
shown your note on yourself as it is, your status notes, and what was said in these seven days.

`note` is the whole text of the note on yourself, revised: keep what still holds, add what this week showed about how \
you were of help, what you missed, what you repeated, what the person asked you to do otherwise, and drop what is no \
longer so. Write it for yourself, plainly, in markdown. `line` is one sentence for today's page: what this day was."""

HAND_OFF_TASK = """\
The older part of your conversation with a person is about to fade to an outline. You are shown what was said in it. \
Leave yourself a note: which threads are still open, what was promised by whom and until when, and in which tone the \
two of you speak. Short points, with names and dates; no more than eight of each."""


class Reflection(BaseModel):
    """What the agent makes of its week."""

    note: str
    line: str = ""


class HandOff(BaseModel):
    """What the agent leaves to itself when older turns fade."""

    open_threads: list[str] = Field(default_factory=list)
    promises: list[str] = Field(default_factory=list)
    tone: str = ""


class SelfAwareness:
    """The nightly pass of one workspace."""

    def __init__(self, ground: Ground, notes: Notes) -> None:
        self._ground = ground
        self._notes = notes

    def night(self) -> Night:
        """Say which pass is the latest that may be due."""
        return night_before(self._ground.clock.now(), self._ground.policy.self_awareness_hour, self._ground.zone)

    def is_due(self) -> bool:
        """Say whether the latest pass is still to be made: there is a model, and something was said before it."""
        ground, night = self._ground, self.night()
        if ground.thinker() is None:
            return False
        with ground.store.read(ground.workspace.id) as unit:
            if answered_before(unit, night.key, "self_awareness", {}) is not None:
                return False
            written = unit.one("archive.written_last")
            if written is None or from_micros(written["at"]) < night.moment - WEEK:
                return False
        return any(each.at < night.moment for each in self._week(night))

    def run(self, guard: Callable[[Unit], None] = lambda _: None) -> str:
        """Make the latest pass; the answer says what became of the note."""
        ground, night = self._ground, self.night()
        thinker = ground.thinker()
        if thinker is None:
            raise Conflict("no model is configured", hint="set llm.small or llm.large")
        material = (Passage(self._material(night)),)
        question = Question(purpose="self_awareness", task=PASS_TASK, passages=material, max_tokens=4_000)
        outcome = self._write(thinker.answer(question, Reflection), night)
        now = ground.clock.now()
        with ground.store.write(ground.workspace.id) as unit:
            guard(unit)
            detail = {"day": night.day.isoformat(), "note": outcome}
            append_event(unit, "self_awareness", detail, now, None)
            keep_receipt(unit, night.key, "self_awareness", {}, detail, now)
        return outcome

    def _write(self, reflection: Reflection, night: Night) -> str:
        outcome = "written"
        try:
            self._notes.write(NOTE, reflection.note)
        except Rejected as error:
            # The note stays as it was: an empty text, or one that would cut it by more than half.
            outcome = f"left as it was: {error.message}"
        if reflection.line.strip():
            mark = "Looking back: "
            name = daily_name(night.day)
            # A pass that was killed after this line and is made again does not write a second one.
            page = self._notes.read(name)
            if mark not in (page or ""):
                begun = "" if page else f"{heading(night.day)}\n"
                self._notes.append(name, f"{begun}{mark}{shortened(reflection.line, LONGEST_LINE)}")
        return outcome

    def _material(self, night: Night) -> str:
        said = self._week(night)
        lines = newest_within([line_of(each, self._ground.zone) for each in said], WEEK_TOKENS)
        left = len(said) - len(lines)
        gap = [f"(… {left} earlier messages of the week are left out)"] if left else []
        return "\n\n".join(
            [
                f"{NOTE}:\n{self._notes.read(NOTE) or '(empty)'}",
                f"status.json:\n{status_of(self._notes)}",
                "\n".join([f"What was said in the seven days until {night.day.isoformat()}:", *gap, *lines]),
            ]
        )

    def _week(self, night: Night) -> list[Spoken]:
        """Read the seven days before now, oldest first."""
        start = min(night.moment, self._ground.clock.now()) - WEEK
        found: list[Spoken] = []
        before = FOREVER
        with self._ground.store.read(self._ground.workspace.id) as unit:
            while rows := unit.all("archive.said_before", before=before, limit=PAGE):
                for row in rows:
                    if (at := from_micros(row["at"])) < start:
                        return found[::-1]
                    found.append(Spoken(row["direction"] == "out", at, row["text"]))
                before = rows[-1]["id"]
        return found[::-1]


def line_of(each: Spoken, zone: ZoneInfo) -> str:
    """Write one message of the week."""
    who = "you" if each.is_own else "person"
    return f"[{each.at.astimezone(zone):%a %d %b %H:%M}] {who}: {shortened(each.text, LONGEST_MESSAGE)}"


def newest_within(lines: Sequence[str], tokens: int) -> list[str]:
    """Keep as many of the newest lines as fit, in order."""
    kept: list[str] = []
    for line in reversed(lines):
        tokens -= estimate(line)
        if tokens < 0 and kept:
            break
        kept.append(line)
    return kept[::-1]


def before_folding(ground: Ground, notes: Notes) -> Callable[[Sequence[Exchange]], None]:
    """Make what happens before turns leave the array: facts are captured, and a hand-off note is left."""

    def prepare(exchanges: Sequence[Exchange]) -> None:
        ids = [each.id for each in exchanges]
        try:
            capture(ground, ids)
        except ProviderError as error:
            # They still wait, and the log keeps what they say.
            log.warning("facts could not be captured before a compaction: %s", error)
        try:
            hand_off(ground, notes, ids)
        except EverloomError as error:
            log.warning("no hand-off note could be left: %s", error)

    return prepare


def hand_off(ground: Ground, notes: Notes, exchanges: Sequence[int]) -> None:
    """Leave a note on what is about to fade in the page of the day: what is open, what was promised, the tone.

    A compaction that is tried again leaves no second one: until it succeeds, the array begins with the same exchange.
    """
    key = f"hand-off of exchange {min(exchanges, default=0)}"
    with ground.store.read(ground.workspace.id) as unit:
        lines = [line for each in lines_of(unit, sorted(exchanges)).values() for line in each]
        is_left = answered_before(unit, key, "hand_off", {}) is not None
    if not lines or is_left:
        return
    thinker = ground.thinker()
    note = outlined(lines)
    if thinker is not None:
        said = [
            f"[{ground.local(line.at):%Y-%m-%d %H:%M}] {line.speaker}: {shortened(line.text, 1_000)}" for line in lines
        ]
        question = Question(
            purpose="hand_off",
            task=HAND_OFF_TASK,
            passages=(Passage("\n".join(newest_within(said, HAND_OFF_TOKENS))),),
            max_tokens=1_200,
            is_routine=True,
        )
        try:
            note = thinker.answer(question, HandOff)
        except ProviderError as error:
            log.warning("the hand-off note is an outline: %s", error)
    notes.append_today(told(note, lines, ground))
    now = ground.clock.now()
    with ground.store.write(ground.workspace.id) as unit:
        keep_receipt(unit, key, "hand_off", {}, {"messages": len(lines)}, now)


def outlined(lines: Sequence[Line]) -> HandOff:
    """Pick what is probably open and what was probably promised, without a model."""
    asked = [line.text for line in lines if "?" in line.text]
    vowed = [line.text for line in lines if any(word in f" {line.text.casefold()} " for word in VOWS)]
    rest = [line.text for line in lines if line.speaker == "person" and not is_trivial(line.text)]
    points = [shortened(text, 160) for text in (asked or rest)[-MOST_POINTS:]]
    return HandOff(open_threads=points, promises=[shortened(text, 160) for text in vowed[-MOST_POINTS:]])


VOWS = (" i will ", " i'll ", " we will ", " promise", " remind ", " ich werde ", " versprech", " je vais ", " voy a ")


def told(note: HandOff, lines: Sequence[Line], ground: Ground) -> str:
    """Write a hand-off note as a part of the day's page."""
    span = f"{ground.local(lines[0].at):%Y-%m-%d %H:%M} to {ground.local(lines[-1].at):%Y-%m-%d %H:%M}"
    parts = [f"\n## Hand-off, {ground.local():%H:%M}", f"{len(lines)} messages from {span} fade from the conversation."]
    for title, points in (("Open", note.open_threads), ("Promised", note.promises)):
        if points:
            parts += [f"{title}:", *(f"- {shortened(point, LONGEST_LINE)}" for point in points[:MOST_POINTS])]
    if note.tone.strip():
        parts.append(f"Tone: {shortened(note.tone, LONGEST_LINE)}")
    return "\n".join(parts)
