"""The nightly pass, in which the agent reviews its last week, and the hand-off note before a compaction.

Both are written through the notes, with their checks, under the workspace's local date. There is one pass per date;
after a pause only the latest pass is made up for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import Field

from everloom.clock import from_micros
from everloom.errors import Conflict, EverloomError, MalformedReply, ProviderError, Rejected
from everloom.kernel.journal import answered_before, keep_receipt
from everloom.kernel.operation import Operation
from everloom.mind.conversation.compaction import newest_within
from everloom.mind.initiative.timing import Night, night_after, night_before
from everloom.mind.learning import FactLearner
from everloom.mind.learning.archive import SpokenLine, is_trivial, line_from, lines_of
from everloom.mind.notes import Notes
from everloom.mind.notes.files import STATUS, daily_heading, daily_name
from everloom.mind.ports import MindSetup
from everloom.mind.prompts import prompt_named
from everloom.models.ask import Passage, Question
from everloom.models.shape import ModelAnswer
from everloom.models.text import shortened
from everloom.secrets import logger_of
from everloom.store.contract import FOREVER

if TYPE_CHECKING:
    from everloom.mind.conversation import Exchange

log = logger_of(__name__)

_NOTE = "SELF-AWARENESS.md"
_WEEK = timedelta(days=7)
_PAGE = 500
# How much of the week fits into one question; older messages are left out first.
_WEEK_TOKENS = 24_000
_LONGEST_MESSAGE = 2_000
_LONGEST_LINE = 400
_MOST_POINTS = 8
_HAND_OFF_TOKENS = 12_000
# How people announce that they will do something, in the commonest languages; used only where there is no model.
_VOWS = (" i will ", " i'll ", " we will ", " promise", " remind ", " ich werde ", " versprech", " je vais ", " voy a ")

_PASS_TASK = prompt_named("nightly_pass")

_HAND_OFF_TASK = prompt_named("hand_off")


class _WeekReview(ModelAnswer):
    """The agent's review of its week."""

    note: str = ""
    line: str = ""


class _HandOff(ModelAnswer):
    """The agent's note to itself before older turns are compacted."""

    open_threads: list[str] = Field(default_factory=list)
    promises: list[str] = Field(default_factory=list)
    tone: str = ""


class SelfAwareness:
    """The nightly passes of one workspace."""

    def __init__(self, setup: MindSetup, notes: Notes) -> None:
        self._setup = setup
        self._op = setup.op
        self._notes = notes

    def night(self) -> Night:
        """Return the latest pass that may be due."""
        return night_before(self._op.now, self._setup.policy.self_awareness_hour, self._op.zone)

    def is_due(self) -> bool:
        """Check whether the latest pass is due: not done yet, with a model, and the person wrote in the week before."""
        night = self.night()
        if self._setup.thinker() is None:
            return False
        with self._op.read() as unit:
            if answered_before(unit, night.key, "self_awareness", {}) is not None:
                return False
            written = unit.one("archive.written_last")
            if written is None or from_micros(written["at"]) < night.moment - _WEEK:
                return False
        # Whoever came back this morning was not there last week: that night stays without a pass.
        return any(each.at < night.moment and each.speaker == "person" for each in self._week(night))

    def next_due(self) -> datetime | None:
        """Return when the next pass is due, unless nobody will have written in the week before it."""
        if self._setup.thinker() is None:
            return None
        night = night_after(self._op.now, self._setup.policy.self_awareness_hour, self._op.zone)
        with self._op.read() as unit:
            written = unit.one("archive.written_last")
        return None if written is None or from_micros(written["at"]) < night.moment - _WEEK else night.moment

    def run(self) -> str:
        """Run the latest pass; returns whether the note was written."""
        night, thinker = self.night(), self._setup.thinker()
        if thinker is None:
            raise Conflict("no model is configured", hint="set llm.small or llm.large")
        material = (Passage(self._material(night)),)
        question = Question(purpose="self_awareness", task=_PASS_TASK, passages=material, max_tokens=4_000)
        review = thinker.answer(question, _WeekReview)
        if not (review.note.strip() or review.line.strip()):
            raise MalformedReply(f"{thinker.name} answered with neither a note nor a line")
        outcome = self._write(review, night)
        detail = {"day": night.day.isoformat(), "note": outcome}
        # The receipt marks the pass as done. It is written last, so that a pass that dies before it is run again.
        with self._op.write("self_awareness") as writing:
            writing.event(**detail)
            keep_receipt(writing.unit, night.key, "self_awareness", {}, detail, writing.at)
        return outcome

    def _write(self, review: _WeekReview, night: Night) -> str:
        outcome = "written"
        try:
            self._notes.write(_NOTE, review.note)
        except (Rejected, Conflict) as error:
            # An empty text, or one less than half as long as the note, is refused, and so is one over a change that
            # somebody made while the model was thinking; the note stays.
            outcome = f"not changed: {error.message}"
        if review.line.strip():
            mark = "Looking back: "
            name = daily_name(night.day)
            # A pass that was killed after this append and is run again must not add a second line.
            if mark not in (self._notes.read(name) or ""):
                line = f"{mark}{shortened(review.line, _LONGEST_LINE)}"
                self._notes.append(name, line, heading=f"{daily_heading(night.day)}\n")
        return outcome

    def _material(self, night: Night) -> str:
        said = self._week(night)
        lines = newest_within([self._tell(each) for each in said], _WEEK_TOKENS, at_least=1)
        left = len(said) - len(lines)
        gap = [f"(… {left} earlier messages of the week are left out)"] if left else []
        return "\n\n".join(
            [
                f"{_NOTE}:\n{self._notes.read(_NOTE) or '(empty)'}",
                f"{STATUS}:\n{self._notes.show(STATUS) or '{}'}",
                "\n".join([f"What was said in the seven days until {night.day.isoformat()}:", *gap, *lines]),
            ]
        )

    def _week(self, night: Night) -> list[SpokenLine]:
        """Read the messages from a week before a pass until now, oldest first."""
        start = min(night.moment, self._op.now) - _WEEK
        found: list[SpokenLine] = []
        before = FOREVER
        with self._op.read() as unit:
            while rows := unit.all("archive.said_before", before=before, limit=_PAGE):
                page = [line for row in rows if (line := line_from(row)).at >= start]
                found += page
                if len(page) < len(rows):
                    break
                before = rows[-1]["id"]
        return found[::-1]

    def _tell(self, each: SpokenLine) -> str:
        who = "you" if each.speaker == "agent" else each.said_by
        return f"[{self._op.local(each.at):%a %d %b %H:%M}] {who}: {shortened(each.text, _LONGEST_MESSAGE)}"


def before_folding(setup: MindSetup, notes: Notes) -> Callable[[Sequence[Exchange]], None]:
    """Return the function to call before turns leave the array: it learns facts and writes a hand-off note."""

    def prepare(exchanges: Sequence[Exchange]) -> None:
        ids = [each.id for each in exchanges]
        thinker = setup.thinker()
        try:
            if thinker is not None:
                FactLearner(setup, thinker).learn_waiting(ids)
        except ProviderError as error:
            # The exchanges keep waiting for the background task, and the log has their text.
            log.warning("facts could not be learnt before a compaction: %s", error)
        try:
            _hand_off(setup, notes, ids)
        except EverloomError as error:
            log.warning("the hand-off note could not be written: %s", error)

    return prepare


def _hand_off(setup: MindSetup, notes: Notes, exchanges: Sequence[int]) -> None:
    """Write to today's note what is about to be compacted: open questions, promises and the tone.

    A compaction that is tried again writes no second note: until it succeeds, the array begins with the same exchange.
    """
    # Named after the oldest exchange, which stays the same until a compaction succeeds.
    key = f"hand-off of exchange {min(exchanges, default=0)}"
    op = setup.op
    with op.read() as unit:
        lines = [line for each in lines_of(unit, sorted(exchanges)).values() for line in each]
        is_left = answered_before(unit, key, "hand_off", {}) is not None
    if not lines or is_left:
        return
    thinker = setup.thinker()
    note = _outline_points(lines)
    if thinker is not None:
        said = [f"[{op.local(line.at):%Y-%m-%d %H:%M}] {line.said_by}: {shortened(line.text, 1_000)}" for line in lines]
        question = Question(
            purpose="hand_off",
            task=_HAND_OFF_TASK,
            passages=(Passage("\n".join(newest_within(said, _HAND_OFF_TOKENS, at_least=1))),),
            max_tokens=1_200,
            is_routine=True,
        )
        try:
            note = thinker.answer(question, _HandOff)
        except ProviderError as error:
            log.warning("the hand-off note is an outline: %s", error)
    notes.append_today(_tell_hand_off(note, lines, op))
    with op.write("hand_off") as writing:
        keep_receipt(writing.unit, key, "hand_off", {}, {"messages": len(lines)}, writing.at)


def _outline_points(lines: Sequence[SpokenLine]) -> _HandOff:
    """Guess open questions and promises without a model."""
    asked = [line.text for line in lines if "?" in line.text]
    vowed = [line.text for line in lines if any(word in f" {line.text.casefold()} " for word in _VOWS)]
    rest = [line.text for line in lines if line.speaker == "person" and not is_trivial(line.text)]
    points = [shortened(text, 160) for text in (asked or rest)[-_MOST_POINTS:]]
    return _HandOff(open_threads=points, promises=[shortened(text, 160) for text in vowed[-_MOST_POINTS:]])


def _tell_hand_off(note: _HandOff, lines: Sequence[SpokenLine], op: Operation) -> str:
    """Format a hand-off note as a section of the daily note."""
    span = f"{op.local(lines[0].at):%Y-%m-%d %H:%M} to {op.local(lines[-1].at):%Y-%m-%d %H:%M}"
    parts = [f"\n## Hand-off, {op.local():%H:%M}", f"{len(lines)} messages from {span} fade from the conversation."]
    for title, points in (("Open", note.open_threads), ("Promised", note.promises)):
        if points:
            parts += [f"{title}:", *(f"- {shortened(point, _LONGEST_LINE)}" for point in points[:_MOST_POINTS])]
    if note.tone.strip():
        parts.append(f"Tone: {shortened(note.tone, _LONGEST_LINE)}")
    return "\n".join(parts)
