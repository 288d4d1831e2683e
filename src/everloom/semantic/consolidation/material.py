"""What one step of a consolidation has to read, and the questions that follow from it.

Reads inside one unit, so that everything is of one moment; `as_of` is that moment. Only what is new is read, beside the
text that exists: the cost follows what changed. Writes nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.errors import NotFound
from everloom.kernel.journal import session_from
from everloom.kernel.texts import name_key
from everloom.models.ask import Passage, Question
from everloom.semantic.consolidation.report import questionable
from everloom.semantic.consolidation.steps import Step
from everloom.semantic.ground import Ground, clock_id, state_of
from everloom.semantic.parts import BriefObservation
from everloom.semantic.recall.records import observations_of, understandings_of
from everloom.semantic.recall.sessions import ORIENT_SESSIONS, summaries
from everloom.semantic.results import Observation, Understanding
from everloom.semantic.understanding.documents import default_text
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

Estimate = Callable[[str], int]

# How much evidence one question holds; more of it is read page by page.
PAGE_TOKENS = 6_000
LONGEST_OBSERVATION = 4_000
LONGEST_ANSWER = 3_000
MOST_NEWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that one step has to read, as of one moment."""

    step: Step
    as_of: int
    existing: Understanding | None = None
    context: tuple[Passage, ...] = ()
    evidence: tuple[Observation, ...] = ()

    @property
    def version(self) -> int:
        """Say which version a write takes the place of; 0 when there is none."""
        return 0 if self.existing is None else self.existing.version


@dataclass(frozen=True, slots=True)
class Draft:
    """What a text says while its evidence is still being read."""

    content: str
    summary: str


@cache
def prompt(kind: str) -> str:
    """Read the instructions for one kind of step."""
    folder = resources.files("everloom.semantic") / "prompts"
    return "\n".join((folder / f"{name}.md").read_text(encoding="utf-8") for name in ("common", kind)).strip()


def read(unit: Unit, ground: Ground, step: Step) -> Material | None:
    """Read what a step needs; None when it does not wait any more."""
    readers = {"session": of_session, "subject": of_subject, "intersection": of_pair, "orientation": of_orientation}
    found = readers[step.kind](unit, ground, step)
    return None if found is None else replace(found, as_of=clock_id(unit))


def of_session(unit: Unit, _ground: Ground, step: Step) -> Material | None:
    """Read what a session observed since its note was written."""
    row = unit.one("kernel.session_by_label", label=step.names[0])
    state = None if row is None else unit.one("semantic.session_get", session=row["id"])
    if state is None or state["observed_through"] <= state["settled_through"]:
        return None
    note = one_understanding(unit, state["understanding_id"])
    after = state["settled_through"] if note is not None else 0
    ids = unit.all("consolidation.session_fresh", session=state["session_id"], after=after)
    return Material(step=step, as_of=0, existing=note, evidence=evidence_of(unit, ids))


def of_subject(unit: Unit, _ground: Ground, step: Step) -> Material | None:
    """Read what is new to a subject, and what was linked to its understanding or said against it."""
    row = subject_row(unit, step.names[0])
    if row["observed_through"] <= row["settled_through"]:
        return None
    existing = one_understanding(unit, row["single_understanding_id"])
    structural = one_understanding(unit, row["structural_understanding_id"])
    # What was once too slight for a text is read again when more comes.
    after = row["settled_through"] if existing is not None else 0
    ids = unit.all("consolidation.subject_fresh", subject=row["id"], after=after)
    context = [*about_structure(structural), *linked_passage(existing), *doubts_about(unit, existing)]
    return Material(step=step, as_of=0, existing=existing, context=tuple(context), evidence=evidence_of(unit, ids))


def of_pair(unit: Unit, _ground: Ground, step: Step) -> Material | None:
    """Read what is new to both of two subjects, and what is understood of each."""
    one, other = (subject_row(unit, name) for name in step.names)
    a, b = sorted((one["id"], other["id"]))
    pair = unit.one("semantic.intersection_get", a=a, b=b)
    if pair is None or pair["changed_through"] <= pair["settled_through"]:
        return None
    existing = one_understanding(unit, pair["understanding_id"])
    after = pair["settled_through"] if existing is not None else 0
    ids = unit.all("consolidation.pair_fresh", a=a, b=b, after=after)
    sides = [(row["name"], one_understanding(unit, row["single_understanding_id"])) for row in (one, other)]
    views = [Passage(f"{name}: {text.content}", "understanding") for name, text in sides if text is not None]
    context = [*views, *linked_passage(existing), *doubts_about(unit, existing)]
    return Material(step=step, as_of=0, existing=existing, context=tuple(context), evidence=evidence_of(unit, ids))


def of_orientation(unit: Unit, ground: Ground, step: Step) -> Material | None:
    """Read what the open pass wrote; nothing to review when it wrote nothing, or when the page was rewritten since."""
    state = state_of(unit)
    begun = state.consolidated_through if state.begun_through is None else state.begun_through
    existing = one_understanding(unit, state.orientation_id)
    if (
        state.is_open
        and existing is not None
        and existing.id > begun
        and existing.content != default_text("orientation")
    ):
        return None
    rows = unit.all("consolidation.written_since", after=begun, limit=MOST_NEWS)
    if not rows:
        return None
    news = "\n".join(f"- {row['title']}" for row in rows)
    context = [
        Passage(news, "news"),
        *recent_notes(unit),
        Passage(shown(ground.clock.now(), ground.workspace.zone), "now"),
    ]
    return Material(step=step, as_of=0, existing=existing, context=tuple(context))


def recent_notes(unit: Unit) -> Iterator[Passage]:
    """Read the notes of the latest sessions."""
    latest = unit.all(
        "kernel.session_recent",
        seen_from=-FOREVER,
        started_from=-FOREVER,
        started_until=FOREVER,
        limit=ORIENT_SESSIONS,
    )
    told = [each for each in summaries(unit, [session_from(row) for row in latest]) if each.summary]
    if told:
        yield Passage("\n".join(f"- {each.latest_activity:%Y-%m-%d}: {each.summary}" for each in told), "sessions")


def subject_row(unit: Unit, name: str) -> Row:
    """Find a subject's row by its name or alias."""
    rows = unit.all("semantic.subject_by_key", keys=[name_key(name)])
    if not rows:
        raise NotFound(f"no subject is called {name!r} any more")
    return rows[0]


def one_understanding(unit: Unit, item: int | None) -> Understanding | None:
    """Read an understanding, if there is one."""
    return None if item is None else understandings_of(unit, [item]).get(item)


def evidence_of(unit: Unit, rows: Sequence[Row]) -> tuple[Observation, ...]:
    """Read observations, oldest first."""
    return tuple(observations_of(unit, [row["id"] for row in rows]).values())


def about_structure(note: Understanding | None) -> Iterator[Passage]:
    """Tell what is noted of a subject's identity."""
    if note is not None:
        yield Passage(note.content, "structure")


def linked_passage(existing: Understanding | None) -> Iterator[Passage]:
    """Tell which evidence was linked to an understanding since it was written."""
    if existing is not None and existing.linked_observations:
        yield Passage("\n".join(linked_line(each) for each in existing.linked_observations), "linked")


def linked_line(each: BriefObservation) -> str:
    """Write one linked observation."""
    return f"[{each.id}] {each.observed_at:%Y-%m-%d}: {cut(each.content)}"


def doubts_about(unit: Unit, existing: Understanding | None) -> Iterator[Passage]:
    """Tell what was said against an understanding."""
    if existing is None or not any(row["questionable"] for row in unit.all("kernel.access_of", ids=[existing.id])):
        return
    doubts = [each.reason or "no reason given" for each in questionable(unit) if each.id == existing.id]
    if doubts:
        yield Passage("\n".join(f"- {cut(doubt)}" for doubt in doubts), "doubts")


def cut(text: str) -> str:
    """Cut a text that is longer than a statement should be."""
    return text if len(text) <= LONGEST_OBSERVATION else f"{text[:LONGEST_OBSERVATION]}… (cut)"


def line_of(each: Observation, zone: ZoneInfo) -> str:
    """Write one observation as evidence."""
    facts = [f"{each.observed_at.astimezone(zone):%Y-%m-%d}"]
    facts += [each.kind] if each.kind else []
    facts += [f"confidence {each.confidence:g}"] if each.confidence is not None else []
    if each.superseded_at is not None:
        facts.append(f"no longer so since {each.superseded_at.astimezone(zone):%Y-%m-%d}")
    return f"[{each.id}] {', '.join(facts)}: {cut(each.content)}"


def pages_of(material: Material, zone: ZoneInfo, estimate: Estimate) -> list[str]:
    """Write the evidence as pages, each small enough for one question; without evidence there is one empty page."""
    pages: list[list[str]] = [[]]
    room = PAGE_TOKENS
    for each in material.evidence:
        line = line_of(each, zone)
        size = estimate(line)
        if size > room and pages[-1]:
            pages.append([])
            room = PAGE_TOKENS
        pages[-1].append(line)
        room -= size
    return ["\n".join(lines) for lines in pages]


def question_of(material: Material, page: str, draft: Draft | None) -> Question:
    """Ask about one page of evidence, beside the text as it stands."""
    passages = [Passage(material.step.title, "name")] if material.step.names else []
    if draft is not None:
        passages.append(Passage(f"{draft.summary}\n\n{draft.content}", "existing"))
    passages += material.context
    if page:
        passages.append(Passage(page, "observations"))
    return Question(
        purpose="consolidate",
        task=prompt(material.step.kind),
        request=REQUESTS[material.step.kind],
        passages=tuple(passages),
        max_tokens=LONGEST_ANSWER,
    )


REQUESTS: Mapping[str, str] = {
    "session": "The session's name, the note that exists if there is one, and what it observed since.",
    "subject": "The subject's name, the understanding that exists if there is one, and the new evidence.",
    "intersection": "The two subjects, what is understood of each and of both so far, and the evidence.",
    "orientation": "The orientation as it is, and what was understood in this pass.",
}


def first_draft(material: Material) -> Draft | None:
    """Begin with the text that exists."""
    known = material.existing
    return None if known is None else Draft(known.content, known.summary)


def given_ids(material: Material) -> frozenset[int]:
    """List the observations that a thinker is shown and may cite."""
    linked = () if material.existing is None else material.existing.linked_observations
    return frozenset([*(each.id for each in material.evidence), *(each.id for each in linked)])
