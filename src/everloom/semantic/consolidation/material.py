"""The input of one consolidation step, the questions that are asked about it, and the types of their answers.

Reads inside one unit, so that everything is consistent as of one id (`as_of`). Reads only what is new, together with
the existing text, so that the cost follows what changed. Writes nothing and asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field, field_validator, model_validator

from everloom.clock import shown
from everloom.errors import NotFound
from everloom.kernel.operation import Operation
from everloom.kernel.texts import UNSTORABLE, name_key
from everloom.models.ask import Passage, Question
from everloom.models.shape import ModelAnswer
from everloom.semantic.consolidation.plan import PlanStep
from everloom.semantic.consolidation.report import questionable_items
from everloom.semantic.evidence.records import observations_of, understanding_at
from everloom.semantic.recall.sessions import recent_sessions
from everloom.semantic.results import Observation, Understanding
from everloom.semantic.state import clock_id, state_of
from everloom.semantic.understanding.documents import MOST_SESSIONS, default_text
from everloom.store import Row, Unit

Estimate = Callable[[str], int]

# How much evidence one question holds; more is read page by page. Together with the instructions, the existing text
# and the answer, a question stays far below the context window of any model.
_PAGE_TOKENS = 6_000
_LONGEST_OBSERVATION = 4_000
_LONGEST_ANSWER = 3_000
_MOST_NEWS = 100
# Understandings are read in conversations, where context is scarce: anything longer than this is no synthesis.
_LONGEST_CONTENT = 12_000
_LONGEST_SUMMARY = 400
_LONGEST_REASON = 1_000
_MOST_CITED = 500
_REQUESTS: Mapping[str, str] = {
    "session": "The session's name, the note that exists if there is one, and what it observed since.",
    "subject": "The subject's name, the understanding that exists if there is one, and the new evidence.",
    "intersection": "The two subjects, what is understood of each and of both so far, and the evidence.",
    "orientation": "The orientation as it is, and what was understood in this pass.",
}


class _StorableAnswer(ModelAnswer):
    """An answer of a model whose texts can be stored."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    # Checked here and not only by the store: it makes the answer malformed, which is the model's failure and not ours.
    @field_validator("*")
    @classmethod
    def _can_be_kept(cls, value: object) -> object:
        if isinstance(value, str) and UNSTORABLE.search(value):
            raise ValueError("it holds a character that cannot be stored")
        return value


class SessionNote(_StorableAnswer):
    """The note on a session."""

    content: str = Field(min_length=1, max_length=_LONGEST_CONTENT)
    summary: str = Field(min_length=1, max_length=_LONGEST_SUMMARY)


class TextVerdict(_StorableAnswer):
    """The decision on an understanding; "unchanged" and "trivial" both leave it as it is."""

    decision: Literal["write", "unchanged", "trivial"]
    # Only a decision to write needs them.
    content: str = Field(default="", max_length=_LONGEST_CONTENT)
    summary: str = Field(default="", max_length=_LONGEST_SUMMARY)
    cited_observation_ids: list[int] = Field(default_factory=list, max_length=_MOST_CITED)
    # May be missing: a model that dismisses nothing leaves the rest in the report.
    dismissed_observation_ids: list[int] = Field(default_factory=list, max_length=_MOST_CITED)
    reason: str = Field(default="", max_length=_LONGEST_REASON)

    @property
    def is_written(self) -> bool:
        """Whether there is something to write."""
        return self.decision == "write"

    @model_validator(mode="after")
    def _is_whole(self) -> TextVerdict:
        if self.is_written and not (self.content and self.summary):
            raise ValueError('the decision "write" needs content and a summary')
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that one step has to read, as of one id."""

    step: PlanStep
    as_of: int = 0
    existing: Understanding | None = None
    context: tuple[Passage, ...] = ()
    evidence: tuple[Observation, ...] = ()

    @property
    def version(self) -> int:
        """The version that a write replaces; 0 when there is none."""
        return 0 if self.existing is None else self.existing.version


# The text while its evidence is still being read: the existing one, or the latest answer.
Draft = Understanding | SessionNote | TextVerdict


@cache
def _prompt(kind: str) -> str:
    """Read the instructions for one kind of step."""
    folder = resources.files("everloom.semantic") / "prompts"
    return "\n".join((folder / f"{name}.md").read_text(encoding="utf-8") for name in ("common", kind)).strip()


def read(unit: Unit, op: Operation, step: PlanStep) -> Material | None:
    """Read what a step needs; None when it is no longer waiting."""
    readers = {"session": of_session, "subject": _of_subject, "intersection": _of_pair, "orientation": _of_orientation}
    found = readers[step.kind](unit, op, step)
    return None if found is None else replace(found, as_of=clock_id(unit))


def of_session(unit: Unit, _op: Operation, step: PlanStep) -> Material | None:
    """Read what a session observed since its note was written."""
    row = unit.one("kernel.session_by_label", label=step.names[0])
    state = None if row is None else unit.one("semantic.session_get", session=row["id"])
    if state is None or state["observed_through"] <= state["settled_through"]:
        return None
    note = understanding_at(unit, state["understanding_id"])
    fresh = _fresh(unit, "consolidation.session_fresh", state, note, session=state["session_id"])
    return Material(step=step, existing=note, evidence=fresh)


def _fresh(unit: Unit, statement: str, row: Row, existing: Understanding | None, **of: int) -> tuple[Observation, ...]:
    """Read the evidence that came after a text was settled, or all of it if there is no text."""
    # Without a text, earlier evidence was once judged trivial; together with the new it may amount to something.
    after = row["settled_through"] if existing is not None else 0
    return evidence_of(unit, unit.all(statement, after=after, **of))


def _of_subject(unit: Unit, _op: Operation, step: PlanStep) -> Material | None:
    """Read what is new to a subject, and what was linked to its understanding or said against it."""
    # The same test as in the plan, made again: an agent may have settled the subject since the plan was read.
    row = _subject_row(unit, step.names[0])
    if row["observed_through"] <= row["settled_through"]:
        return None
    existing = understanding_at(unit, row["single_understanding_id"])
    structural = understanding_at(unit, row["structural_understanding_id"])
    fresh = _fresh(unit, "consolidation.subject_fresh", row, existing, subject=row["id"])
    about = [] if structural is None else [Passage(structural.content, "structure")]
    context = [*about, *_linked(existing), *_doubts(unit, existing)]
    return Material(step=step, existing=existing, context=tuple(context), evidence=fresh)


def _of_pair(unit: Unit, _op: Operation, step: PlanStep) -> Material | None:
    """Read what is new to a pair of subjects, and the understanding of each."""
    one, other = (_subject_row(unit, name) for name in step.names)
    a, b = sorted((one["id"], other["id"]))
    pair = unit.one("semantic.intersection_get", a=a, b=b)
    if pair is None or pair["changed_through"] <= pair["settled_through"]:
        return None
    existing = understanding_at(unit, pair["understanding_id"])
    fresh = _fresh(unit, "consolidation.pair_fresh", pair, existing, a=a, b=b)
    sides = [(row["name"], understanding_at(unit, row["single_understanding_id"])) for row in (one, other)]
    views = [Passage(f"{name}: {text.content}", "understanding") for name, text in sides if text is not None]
    context = [*views, *_linked(existing), *_doubts(unit, existing)]
    return Material(step=step, existing=existing, context=tuple(context), evidence=fresh)


def _of_orientation(unit: Unit, op: Operation, step: PlanStep) -> Material | None:
    """Read what the open pass wrote; None when it wrote nothing, or when the orientation was rewritten since."""
    state = state_of(unit)
    begun = state.consolidated_through if state.begun_through is None else state.begun_through
    existing = understanding_at(unit, state.orientation_id)
    # The pass was resumed after the orientation was written: asking again would only rephrase it. The default text is
    # the exception: `orient` may have written it during the pass.
    if (
        state.is_open
        and existing is not None
        and existing.id > begun
        and existing.content != default_text("orientation")
    ):
        return None
    rows = unit.all("consolidation.written_since", after=begun, limit=_MOST_NEWS)
    if not rows:
        return None
    news = "\n".join(f"- {row['title']}" for row in rows)
    context = (Passage(news, "news"), *_recent_notes(unit), Passage(shown(op.now, op.zone), "now"))
    return Material(step=step, existing=existing, context=context)


def _recent_notes(unit: Unit) -> Iterator[Passage]:
    """Read the notes on the latest sessions."""
    noted = [each for each in recent_sessions(unit, MOST_SESSIONS) if each.summary]
    if noted:
        yield Passage("\n".join(f"- {each.latest_activity:%Y-%m-%d}: {each.summary}" for each in noted), "sessions")


def _subject_row(unit: Unit, name: str) -> Row:
    """Find a subject's row by its name or alias."""
    rows = unit.all("semantic.subject_by_key", keys=[name_key(name)])
    if not rows:
        raise NotFound(f"the subject {name!r} no longer exists")
    return rows[0]


def evidence_of(unit: Unit, rows: Sequence[Row]) -> tuple[Observation, ...]:
    """Read observations, oldest first."""
    return tuple(observations_of(unit, [row["id"] for row in rows]).values())


def _linked(existing: Understanding | None) -> Iterator[Passage]:
    """Quote the observations that were linked to an understanding since it was written."""
    if existing is not None and existing.linked_observations:
        linked = existing.linked_observations
        lines = (f"[{each.id}] {each.observed_at:%Y-%m-%d}: {_cut(each.content)}" for each in linked)
        yield Passage("\n".join(lines), "linked")


def _doubts(unit: Unit, existing: Understanding | None) -> Iterator[Passage]:
    """Quote what was said against an understanding."""
    if existing is None or not any(row["questionable"] for row in unit.all("kernel.access_of", ids=[existing.id])):
        return
    doubts = [each.reason or "no reason given" for each in questionable_items(unit) if each.id == existing.id]
    if doubts:
        yield Passage("\n".join(f"- {_cut(doubt)}" for doubt in doubts), "doubts")


def _cut(text: str) -> str:
    """Cut a text that is longer than an observation should be."""
    return text if len(text) <= _LONGEST_OBSERVATION else f"{text[:_LONGEST_OBSERVATION]}… (cut)"


def line_of(each: Observation, zone: ZoneInfo) -> str:
    """Write one observation as evidence."""
    facts = [f"{each.observed_at.astimezone(zone):%Y-%m-%d}"]
    facts += [each.kind] if each.kind else []
    facts += [f"confidence {each.confidence:g}"] if each.confidence is not None else []
    if each.superseded_at is not None:
        facts.append(f"no longer so since {each.superseded_at.astimezone(zone):%Y-%m-%d}")
    return f"[{each.id}] {', '.join(facts)}: {_cut(each.content)}"


def pages_of(material: Material, zone: ZoneInfo, estimate: Estimate) -> list[str]:
    """Divide the evidence into pages, each small enough for one question; without evidence there is one empty page."""
    pages: list[list[str]] = [[]]
    room = _PAGE_TOKENS
    for each in material.evidence:
        line = line_of(each, zone)
        size = estimate(line)
        if size > room and pages[-1]:
            pages.append([])
            room = _PAGE_TOKENS
        pages[-1].append(line)
        room -= size
    return ["\n".join(lines) for lines in pages]


def question_of(material: Material, page: str, draft: Draft | None) -> Question:
    """Make the question about one page of evidence and the text so far."""
    passages = [Passage(material.step.title, "name")] if material.step.names else []
    if draft is not None:
        passages.append(Passage(f"{draft.summary}\n\n{draft.content}", "existing"))
    passages += material.context
    if page:
        passages.append(Passage(page, "observations"))
    return Question(
        purpose="consolidate",
        task=_prompt(material.step.kind),
        request=_REQUESTS[material.step.kind],
        passages=tuple(passages),
        max_tokens=_LONGEST_ANSWER,
    )


def given_ids(material: Material) -> frozenset[int]:
    """List the observations that the model is shown and may cite."""
    linked = () if material.existing is None else material.existing.linked_observations
    return frozenset([*(each.id for each in material.evidence), *(each.id for each in linked)])
