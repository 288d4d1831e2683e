"""How the answers of semantic memory are told to people: short, in their own time zone. Programs get the fields.

Each answer has its teller; what has none is told as a table of its fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.surfaces.cli.runtime.output import Table, fields_of, shortened

if TYPE_CHECKING:
    from everloom.semantic import results
    from everloom.semantic.consolidation import results as work
    from everloom.semantic.parts import BriefObservation

Part = str | Table
HIDDEN = frozenset({"workspace_activity", "compaction_note"})


def told(value: Any, zone: ZoneInfo) -> list[Part]:
    """Tell an answer, and then what others wrote meanwhile."""
    if isinstance(value, tuple):
        parts = list(told_all(value, zone))
    else:
        parts = list(TELLERS.get(type(value).__name__, facts)(value, zone))
    others = getattr(value, "workspace_activity", None)
    if others:
        parts += ["\nMeanwhile:", *(f"  {each.id}  {each.preview}" for each in others)]
    return parts


def told_all(values: Sequence[Any], zone: ZoneInfo) -> Iterator[Part]:
    """Tell several answers of one kind."""
    if not values:
        yield "none"
    elif (teller := TELLERS.get(type(values[0]).__name__)) is not None:
        for value in values:
            yield from teller(value, zone)
    else:
        headings = [name for name in fields_of(values[0]) if name not in HIDDEN]
        yield Table([[cell(getattr(each, name), zone) for name in headings] for each in values], named(headings))


def facts(value: Any, zone: ZoneInfo) -> Iterator[Part]:
    """Tell the fields of an answer."""
    fields = {name: each for name, each in fields_of(value).items() if name not in HIDDEN and each not in (None, ())}
    yield Table([(name, cell(each, zone)) for name, each in zip(named(fields), fields.values(), strict=True)])


def named(fields: Sequence[str] | dict[str, Any]) -> list[str]:
    """Write field names as words."""
    return [name.replace("_", " ") for name in fields]


def cell(value: Any, zone: ZoneInfo) -> object:
    """Write one field; ids as they are typed."""
    if isinstance(value, datetime):
        return shown(value, zone)
    if dataclasses.is_dataclass(value):
        return getattr(value, "summary", None) or getattr(value, "name", None) or str(getattr(value, "id", ""))
    if isinstance(value, tuple):
        return [cell(each, zone) for each in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def names(subject_names: Sequence[str]) -> str:
    """Write subjects behind a text."""
    return f"  [{', '.join(subject_names)}]" if subject_names else ""


def orientation(value: results.Orientation, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell who, how and where."""
    for title in ("Soul", "Protocol", "Orientation"):
        document = getattr(value, title.lower())
        yield f"{title} ({document.id}, version {document.version})\n\n{document.content.strip()}\n"
    yield value.current_time
    yield f"{value.pending_consolidation_count} subjects and intersections wait for consolidation"
    if value.recent_activity is not None:
        yield f"New of: {', '.join(value.recent_activity.subjects_with_new_observations[:20]) or '-'}"
    yield from (f"Session {each.session_id}: {each.summary or 'no note yet'}" for each in value.recent_sessions)
    yield from value.notices


def brought(value: results.BroughtToMind, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what came to mind."""
    if value.compaction_detected:
        yield f"What was shown before counts as lost ({value.compaction_reason})."
    for each in value.results:
        yield f"{each.id}  {each.relevance_score:.2f}  {each.source}{names(each.subject_names)}"
        yield f"    {shortened(each.summary or each.content or '')}"
    yield "" if value.results else "nothing new"
    yield f"next time: --last-token {value.heartbeat_token}"


def question(value: results.QuestionRecall, zone: ZoneInfo) -> Iterator[Part]:
    """Tell the best answer and what supports it."""
    best = value.best_answer
    if best is None:
        yield "nothing is known of that"
        return
    yield best.content
    written = "" if value.provenance is None else f", {shown(value.provenance.created_at, zone)}"
    yield f"    {best.id}  {best.confidence:.2f}  {best.source}{names(best.subject_names)}{written}"
    if value.supporting:
        yield "\nAlso:"
    yield from (f"  {each.id}  {each.score:.2f}  {shortened(each.content, 200)}" for each in value.supporting)


def subject_recall(value: results.SubjectRecall, zone: ZoneInfo) -> Iterator[Part]:
    """Tell what is known of a subject."""
    yield f"{value.subject.name}{': ' + value.subject.summary if value.subject.summary else ''}"
    if value.single_subject_understanding is not None:
        known = value.single_subject_understanding
        yield f"\n{known.content}\n    {known.id}, version {known.version}, {shown(known.updated_at, zone)}"
    if value.structural_understanding is not None:
        yield f"\nStructure: {value.structural_understanding.content}"
    yield "\nObserved:" if value.recent_observations else "nothing was observed yet"
    yield from observed(value.recent_observations, zone)


def observed(values: Sequence[BriefObservation], zone: ZoneInfo) -> Iterator[str]:
    """Tell observations, a line each."""
    yield from (
        f"  {each.id}  {each.observed_at.astimezone(zone):%Y-%m-%d}  {shortened(each.content)}" for each in values
    )


def neighborhood(value: results.Neighborhood, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what a subject shares with others."""
    rows = [
        (
            each.subject.name,
            each.intersection_size,
            f"{each.similarity_score:.2f}",
            each.intersection_understanding and each.intersection_understanding.summary,
        )
        for each in value.neighbors
    ]
    yield Table(rows, ("neighbour", "shared", "alike", "relationship"))


def intersection(value: results.Intersection, zone: ZoneInfo) -> Iterator[Part]:
    """Tell what two subjects share."""
    yield f"{value.subject_a.name} × {value.subject_b.name}: {value.intersection_size}"
    known = value.relationship_understanding
    if known is not None:
        yield f"\n{known.content}\n    {known.id}, version {known.version}, {shown(known.created_at, zone)}"
    yield from (f"  {each.id}  {each.kind}  {shortened(each.summary)}" for each in value.other_understandings)
    yield from observed(value.observations, zone)


def kept(value: results.Remembered | results.Added, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what was kept."""
    known = " (known already)" if value.duplicate else ""
    yield f"{value.id}{names(value.subject_names)}{known}"
    if value.subjects_created:
        yield f"new subjects: {', '.join(value.subjects_created)}"
    for each in value.similar_subjects:
        yield f"{each.name} is like {each.similar_to} ({each.score:.2f}): `everloom semantic merge-subjects` joins them"


def hit(value: results.SemanticHit, zone: ZoneInfo) -> Iterator[Part]:
    """Tell one hit."""
    yield f"{value.id}  {value.score:.2f}  {value.kind}  {shown(value.observed_at, zone)}{names(value.subject_names)}"
    yield f"    {shortened(value.summary or value.matched_content)}"


def understanding(value: results.Understanding, zone: ZoneInfo) -> Iterator[Part]:
    """Tell one understanding, whole."""
    state = f", superseded by {value.superseded_by}" if value.superseded_by else ""
    head = f"{value.id}  {value.kind}  version {value.version}, generation {value.generation}{state}"
    yield f"{head}{names(value.subject_names)}  {shown(value.updated_at, zone)}"
    if value.reason:
        yield f"    because {shortened(value.reason)}"
    yield f"\n{value.content}\n"


def observation(value: results.Observation, zone: ZoneInfo) -> Iterator[Part]:
    """Tell one observation."""
    yield f"{value.id}  {value.kind or 'observation'}  {shown(value.observed_at, zone)}{names(value.subject_names)}"
    yield f"    {value.content}"


def story(value: results.SessionStory, zone: ZoneInfo) -> Iterator[Part]:
    """Tell a session in order."""
    yield f"{value.session.session_id}, {shown(value.session.started_at, zone)}"
    if value.content:
        yield f"\n{value.content}\n"
    for each in value.observations:
        at = f"{each.created_at.astimezone(zone):%H:%M}"
        yield f"  {each.id}  {at}  {shortened(each.content)}{names(each.subject_names)}"


def session(value: results.SessionSummary, zone: ZoneInfo) -> Iterator[Part]:
    """Tell one session on a line."""
    told_of = shortened(value.summary or f"{value.observation_count} observations, no note yet", 120)
    yield f"{shown(value.latest_activity, zone)}  {value.session_id}  {told_of}"


def report(value: work.ConsolidationReport, _zone: ZoneInfo) -> Iterator[Part]:
    """Tell what waits for consolidation, a section for each sort."""
    state = "open" if value.consolidation_open else "closed"
    yield f"generation {value.current_generation} ({state}), {value.pending_count} wait"
    sections: list[tuple[str, list[str]]] = [
        ("Sessions without a note", [each.session_id for each in value.sessions_needing_description]),
        (
            "Subjects without an understanding",
            [f"{each.name} ({each.observation_count})" for each in value.subjects_needing_understanding],
        ),
        (
            "Stale understandings",
            [
                f"{names(each.subject_names).strip()} +{each.new_observation_count}"
                for each in value.stale_understandings
            ],
        ),
        (
            "Intersections",
            [
                f"{each.subject_a} × {each.subject_b} ({each.intersection_size})"
                for each in value.intersections_needing_synthesis
            ],
        ),
        (
            "Dense and unwritten",
            [f"{each.subject_a} × {each.subject_b}" for each in value.semantically_dense_intersections],
        ),
        ("Questionable", [f"{each.id}: {each.reason or 'no reason'}" for each in value.questionable_items]),
        ("Neglected", [f"{each.name} ({each.generations_waiting} passes)" for each in value.neglected_subjects]),
        ("Signs that the soul drifts", [each.message for each in value.soul_hints]),
    ]
    for title, lines in sections:
        if lines:
            yield f"\n{title}:"
            yield from (f"  {line}" for line in lines)


def begun(value: work.BegunConsolidation, zone: ZoneInfo) -> Iterator[Part]:
    """Tell which generation began, and what it has to do."""
    yield f"began generation {value.generation}: give it to `everloom semantic finish-consolidation`"
    yield from report(value.report, zone)


TELLERS: dict[str, Callable[[Any, ZoneInfo], Iterator[Part]]] = {
    "Added": kept,
    "BegunConsolidation": begun,
    "BroughtToMind": brought,
    "ConsolidationReport": report,
    "SemanticHit": hit,
    "Intersection": intersection,
    "Neighborhood": neighborhood,
    "Observation": observation,
    "Orientation": orientation,
    "QuestionRecall": question,
    "Remembered": kept,
    "SessionStory": story,
    "SessionSummary": session,
    "SubjectRecall": subject_recall,
    "Understanding": understanding,
}
