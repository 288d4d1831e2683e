"""Renders the results of semantic memory for people: short, with times in the workspace's time zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.semantic import results
from everloom.semantic.consolidation import results as consolidated
from everloom.surfaces.cli.render.parts import Part, Renderer
from everloom.surfaces.cli.runtime.output import Table, shortened

if TYPE_CHECKING:
    from everloom.semantic.parts import BestAnswer, BriefObservation, Brought, DatedText, Supporting


def _names(subject_names: Sequence[str]) -> str:
    return f"  [{', '.join(subject_names)}]" if subject_names else ""


def _orientation(value: results.Orientation, _zone: ZoneInfo) -> Iterator[Part]:
    for title in ("Soul", "Protocol", "Orientation"):
        document = getattr(value, title.lower())
        yield f"{title} ({document.id}, version {document.version})\n\n{document.content.strip()}\n"
    yield value.current_time
    yield f"{value.pending_consolidation_count} subjects and intersections are waiting for consolidation"
    if value.recent_activity is not None:
        yield f"New observations about: {', '.join(value.recent_activity.subjects_with_new_observations[:20]) or '-'}"
    yield from (f"Session {each.session_id}: {each.summary or 'no note yet'}" for each in value.recent_sessions)
    yield from value.notices


def _brought(value: results.BroughtToMind, zone: ZoneInfo) -> Iterator[Part]:
    if value.compaction_detected:
        yield f"What was shown before is treated as lost ({value.compaction_reason})."
    for each in value.results:
        yield f"{each.id}  {each.answers:.2f}  {_day(each, zone)}  {each.source}{_names(each.subject_names)}"
        yield f"    {shortened(each.summary or each.content or '')}"
        yield from _beside(each, zone)
    yield value.note or ""
    yield f"next time, add --last-token {value.heartbeat_token}"


def _question(value: results.QuestionRecall, zone: ZoneInfo) -> Iterator[Part]:
    best = value.best_answer
    if best is None:
        yield value.note or "nothing in this memory answers that"
        yield from (_weaker(each, zone) for each in value.nearest)
        for told in value.imported:
            yield f"  {told.id}  {told.answers:.2f}  {shown(told.at, zone)}  {shortened(told.text, 200)}"
        yield from filter(None, [value.judgement])
        return
    yield best.content
    written = f", {shown(best.observed_at, zone)}"
    if value.provenance is not None and value.provenance.created_at != best.observed_at:
        written += f" (stored {shown(value.provenance.created_at, zone)})"
    yield f"    {best.id}  {best.confidence:.2f}  {best.source}{_names(best.subject_names)}{written}"
    yield from _beside(best, zone)
    if value.supporting:
        yield "\nAlso:"
    yield from (_weaker(each, zone) for each in value.supporting)
    yield from filter(None, [value.note, value.judgement])


def _weaker(each: Supporting, zone: ZoneInfo) -> str:
    return f"  {each.id}  {each.answers:.2f}  {_day(each, zone)}  {shortened(each.content, 200)}"


def _day(each: Brought | DatedText | BriefObservation | Supporting, zone: ZoneInfo) -> str:
    return f"{each.observed_at.astimezone(zone):%Y-%m-%d}"


def _beside(hit: BestAnswer | Brought | results.SemanticHit, zone: ZoneInfo) -> Iterator[str]:
    """Write what a hit stands for, what held before it, and what speaks against it."""
    for title, dated in (("earlier", hit.earlier), ("but also", hit.contradicts)):
        for each in dated:
            yield f"    {title}, {_day(each, zone)}: {each.id}  {shortened(each.content, 200)}"
    yield from (f"    stands for {each.id}  {shortened(each.content, 120)}" for each in hit.also if each.content)
    if others := [str(each.id) for each in hit.also if not each.content]:
        yield f"    stands for {', '.join(others)}"


def _subject_recall(value: results.SubjectRecall, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.subject.name}{': ' + value.subject.summary if value.subject.summary else ''}"
    if value.single_subject_understanding is not None:
        known = value.single_subject_understanding
        yield f"\n{known.content}\n    {known.id}, version {known.version}, {shown(known.updated_at, zone)}"
    if value.structural_understanding is not None:
        yield f"\nStructure: {value.structural_understanding.content}"
    yield "\nObserved:" if value.recent_observations else "nothing has been observed yet"
    yield from _observed(value.recent_observations, zone)
    if value.note:
        yield value.note


def _observed(values: Sequence[BriefObservation], zone: ZoneInfo) -> Iterator[str]:
    yield from (f"  {each.id}  {_day(each, zone)}  {shortened(each.content)}" for each in values)


def _neighborhood(value: results.Neighborhood, _zone: ZoneInfo) -> Iterator[Part]:
    rows = []
    for each in value.neighbors:
        relationship = each.intersection_understanding and each.intersection_understanding.summary
        rows.append((each.subject.name, each.intersection_size, f"{each.similarity_score:.2f}", relationship))
    yield Table(rows, ("neighbour", "shared", "alike", "relationship"))


def _intersection(value: results.Intersection, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.subject_a.name} × {value.subject_b.name}: {value.intersection_size}"
    known = value.relationship_understanding
    if known is not None:
        yield f"\n{known.content}\n    {known.id}, version {known.version}, {shown(known.created_at, zone)}"
    yield from (f"  {each.id}  {each.kind}  {shortened(each.summary)}" for each in value.other_understandings)
    yield from _observed(value.observations, zone)


def _kept(value: results.Remembered | results.Added, _zone: ZoneInfo) -> Iterator[Part]:
    known = " (already known)" if value.duplicate else ""
    yield f"{value.id}{_names(value.subject_names)}{known}"
    if value.held:
        yield f"held for review: {value.held}"
    if value.subjects_created:
        yield f"new subjects: {', '.join(value.subjects_created)}"
    for each in value.similar_subjects:
        alike = f"{each.name} is similar to {each.similar_to} ({each.score:.2f})"
        yield f"{alike}: if they are the same, merge them with `everloom semantic merge-subjects`"


def _hit(value: results.SemanticHit, zone: ZoneInfo) -> Iterator[Part]:
    if value.note:
        yield value.note
    at = shown(value.observed_at, zone)
    yield f"{value.id}  {value.answers:.2f}  {value.kind}  {at}{_names(value.subject_names)}"
    yield f"    {shortened(value.summary or value.matched_content)}"
    yield from _beside(value, zone)


def _understanding(value: results.Understanding, zone: ZoneInfo) -> Iterator[Part]:
    state = f", superseded by {value.superseded_by}" if value.superseded_by else ""
    head = f"{value.id}  {value.kind}  version {value.version}, generation {value.generation}{state}"
    yield f"{head}{_names(value.subject_names)}  {shown(value.updated_at, zone)}"
    if value.reason:
        yield f"    because {shortened(value.reason)}"
    yield f"\n{value.content}\n"


def _observation(value: results.Observation, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.id}  {value.kind or 'observation'}  {shown(value.observed_at, zone)}{_names(value.subject_names)}"
    yield f"    {value.content}"


def _story(value: results.SessionStory, zone: ZoneInfo) -> Iterator[Part]:
    yield f"{value.session.session_id}, {shown(value.session.started_at, zone)}"
    if value.content:
        yield f"\n{value.content}\n"
    for each in value.observations:
        at = f"{each.created_at.astimezone(zone):%H:%M}"
        yield f"  {each.id}  {at}  {shortened(each.content)}{_names(each.subject_names)}"
    for turn in value.turns:
        yield f"  {turn.id}  {turn.said_at.astimezone(zone):%H:%M}  {shortened(turn.text)}"


def _session(value: results.SessionSummary, zone: ZoneInfo) -> Iterator[Part]:
    told_of = shortened(value.summary or f"{value.observation_count} observations, no note yet", 120)
    yield f"{shown(value.latest_activity, zone)}  {value.session_id}  {told_of}"


def _report(value: consolidated.ConsolidationReport, _zone: ZoneInfo) -> Iterator[Part]:
    state = "open" if value.consolidation_open else "closed"
    yield f"generation {value.current_generation} ({state}), {value.pending_count} waiting"
    needing, stale = value.subjects_needing_understanding, value.stale_understandings
    pairs, dense = value.intersections_needing_synthesis, value.semantically_dense_intersections
    sections = {
        "Sessions without a note": [each.session_id for each in value.sessions_needing_description],
        "Subjects without an understanding": [f"{each.name} ({each.observation_count})" for each in needing],
        "Stale understandings": [
            f"{_names(each.subject_names).strip()} +{each.new_observation_count}" for each in stale
        ],
        "Intersections": [f"{each.subject_a} × {each.subject_b} ({each.intersection_size})" for each in pairs],
        "Dense, but without an understanding": [f"{each.subject_a} × {each.subject_b}" for each in dense],
        "In no understanding": [f"{each.id}: {shortened(each.content)}" for each in value.unlinked_observations],
        "Questionable": [f"{each.id}: {each.reason or 'no reason'}" for each in value.questionable_items],
        "Neglected": [f"{each.name} ({each.generations_waiting} passes)" for each in value.neglected_subjects],
        "Signs that the soul is drifting": [each.message for each in value.soul_hints],
    }
    for title, lines in sections.items():
        if lines:
            yield f"\n{title}:"
            yield from (f"  {line}" for line in lines)
    if value.left_off:
        yield f"\n{value.left_off} more; --limit shows them"


def _unseen(value: results.Unseen, zone: ZoneInfo) -> Iterator[Part]:
    text = value.understanding
    yield "nothing is understood yet" if text is None else f"{text.summary}  ({text.id}, version {text.version})"
    for each in value.observations:
        yield f"  {each.id}  {each.observed_at.astimezone(zone):%Y-%m-%d}  {each.content}"
    yield "" if value.observations else "everything has been seen"
    yield f"for what you write about it: --seen-through-id {value.seen_through_id}"
    if value.cursor is not None:
        yield f"for the next page: --cursor {value.cursor}"


def _begun(value: consolidated.BegunConsolidation, zone: ZoneInfo) -> Iterator[Part]:
    yield f"began generation {value.generation}: pass this number to `everloom semantic finish-consolidation`"
    yield from _report(value.report, zone)


RENDERERS: dict[type, Renderer] = {
    results.Added: _kept,
    consolidated.BegunConsolidation: _begun,
    results.BroughtToMind: _brought,
    consolidated.ConsolidationReport: _report,
    results.SemanticHit: _hit,
    results.Intersection: _intersection,
    results.Neighborhood: _neighborhood,
    results.Observation: _observation,
    results.Orientation: _orientation,
    results.QuestionRecall: _question,
    results.Remembered: _kept,
    results.SessionStory: _story,
    results.SessionSummary: _session,
    results.SubjectRecall: _subject_recall,
    results.Understanding: _understanding,
    results.Unseen: _unseen,
}
