"""Bringing back: association, directed recall, search. Ranking is the kernel's; here is what a session is shown.

Every answer that a session was shown is counted and remembered in one small write after the search.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Literal, get_args

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.journal import count_access
from everloom.kernel.search import DEFAULT, Findings, Recipe, Scope
from everloom.kernel.search import Hit as Found
from everloom.kernel.texts import checked, checked_name, name_key
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Act, Ground, state_of
from everloom.semantic.parts import (
    BestAnswer,
    BriefObservation,
    Brought,
    CompactionReason,
    Provenance,
    Source,
    StructuralNote,
    SubjectHead,
    SubjectUnderstanding,
    Supporting,
)
from everloom.semantic.recall.among import search_among
from everloom.semantic.recall.records import briefs_of, observations_of, understandings_of
from everloom.semantic.recall.sessions import Heartbeat, activity, clear_seen, heartbeat, mark_seen
from everloom.semantic.results import (
    BroughtToMind,
    Hit,
    Observation,
    QuestionRecall,
    Recall,
    SubjectRecall,
    Understanding,
)
from everloom.store import Unit

Mode = Literal["hybrid", "text", "embedding"]

DISPOSABLE = (
    "DISPOSABLE: everything here can be fetched from memory again. Drop this answer first when context is compacted; "
    "only heartbeat_token is worth carrying to the next call."
)
KNOWN = Scope(kinds=frozenset({"observation", "understanding"}))
RECIPES: Mapping[Mode, Recipe] = {
    "hybrid": DEFAULT,
    "text": replace(DEFAULT, vectors=0.0),
    "embedding": replace(DEFAULT, words=0.0, context=0.0),
}
PAGE = 8
LARGEST_PAGE = 20
A_TOPIC = 4
SUPPORTING = 5
RECENT = 10
MOST_LINKED = 3
LONGEST_TOPIC = 20_000
LARGEST_TOKEN = 2**31 - 1
# Above this many, a search over everything finds what a ranking of all of them would.
MOST_RANKED = 5_000


def compaction(beat: Heartbeat, last_token: int | None, now: datetime, gap: timedelta) -> CompactionReason | None:
    """Decide whether the client lost what it was shown. A session's first call has nothing to lose. Pure."""
    if beat.token is None:
        return None
    if last_token is None:
        return "missing_token"
    if last_token != beat.token:
        return "wrong_token"
    return "time_gap" if beat.at is not None and now - beat.at > gap else None


def bring_to_mind(
    ground: Ground, topic_or_context: str | Sequence[str], last_token: int | None, include_seen: bool
) -> BroughtToMind:
    """Surface what the topics touch and the session has not been shown."""
    topics = checked_topics(topic_or_context)
    beat = heartbeat(ground)
    lost = compaction(beat, last_token, ground.clock.now(), ground.seen_gap)
    with ground.read() as unit:
        documents = frozenset(state_of(unit).document_ids)
    seen = frozenset() if include_seen or lost is not None else beat.seen
    hits, degraded = gathered(ground, topics, seen | documents)
    with ground.act("bring_to_mind") as act:
        if lost is not None:
            clear_seen(act)
        results = brought(act, hits)
        token = 1 + secrets.randbelow(LARGEST_TOKEN)
        if act.session is not None:
            act.unit.run("semantic.session_brought", session=act.session.id, token=token, at=to_micros(act.at))
        act.note(topics=len(topics), results=[each.id for each in results], compaction=lost)
        return BroughtToMind(
            compaction_note=DISPOSABLE,
            heartbeat_token=token,
            compaction_detected=lost is not None,
            compaction_reason=lost,
            results=results,
            degraded=degraded,
            workspace_activity=activity(act),
        )


def checked_topics(given: str | Sequence[str]) -> list[str]:
    """Accept one topic or several."""
    topics = [given] if isinstance(given, str) else checks.counted(checks.tuple_of(given), "topics", checks.MOST_TOPICS)
    return list(dict.fromkeys(checked(topic, "the topic", LONGEST_TOPIC) for topic in topics))


def gathered(ground: Ground, topics: Sequence[str], leaving_out: frozenset[int]) -> tuple[list[Found], str | None]:
    """Search every topic and let each have its turn, so that a strong one does not starve the others."""
    page = PAGE if len(topics) == 1 else min(LARGEST_PAGE, max(PAGE, A_TOPIC * len(topics)))
    found = [
        ground.finder.search(ground.workspace.id, topic, limit=page, within=KNOWN, leaving_out=leaving_out)
        for topic in topics
    ]
    turns = (hit for turn in zip_longest(*(each.hits for each in found)) for hit in turn if hit is not None)
    chosen: dict[int, Found] = {}
    for hit in turns:
        if hit.id in chosen:
            chosen[hit.id] = max(chosen[hit.id], hit, key=lambda each: each.score)
        elif len(chosen) < page:
            chosen[hit.id] = hit
    ranked = sorted(chosen.values(), key=lambda hit: (-hit.score, -hit.id))
    return ranked, next((each.degraded for each in found if each.degraded), None)


@dataclass(frozen=True, slots=True)
class Records:
    """What the faculty knows of some hits."""

    observations: Mapping[int, Observation]
    understandings: Mapping[int, Understanding]

    def of(self, hit: Found) -> Observation | Understanding | None:
        """Find the record of a hit; None if it was erased meanwhile."""
        return self.observations.get(hit.id) or self.understandings.get(hit.id)


def records_for(unit: Unit, hits: Sequence[Found]) -> Records:
    """Read what hits are hits of."""
    ids = [hit.id for hit in hits]
    return Records(observations_of(unit, ids), understandings_of(unit, ids))


def source_of(record: Observation | Understanding) -> Source:
    """Say what a record is."""
    return "understanding" if isinstance(record, Understanding) else "observation"


def summary_of(record: Observation | Understanding) -> str | None:
    """Read the summary, which only an understanding has."""
    return record.summary if isinstance(record, Understanding) else None


def linked_of(record: Observation | Understanding) -> tuple[BriefObservation, ...]:
    """Read the newest evidence that travels with an understanding."""
    return record.linked_observations[-MOST_LINKED:] if isinstance(record, Understanding) else ()


def brought(act: Act, hits: Sequence[Found]) -> tuple[Brought, ...]:
    """Write hits as what came to mind, and note that they were shown."""
    records = records_for(act.unit, hits)
    results = []
    for hit in hits:
        record = records.of(hit)
        if record is not None:
            results.append(
                Brought(
                    id=hit.id,
                    source=source_of(record),
                    subject_names=record.subject_names,
                    summary=summary_of(record),
                    content=record.content,
                    relevance_score=round(hit.score, 4),
                    generation=record.generation,
                    linked_observations=linked_of(record),
                )
            )
    show(act, [item for each in results for item in (each.id, *(linked.id for linked in each.linked_observations))])
    return tuple(results)


def show(act: Act, ids: Sequence[int]) -> None:
    """Count what was shown, and remember that this session saw it."""
    count_access(act.unit, ids, act.at)
    mark_seen(act, ids)


def recall(ground: Ground, question_or_subject_name: str) -> Recall:
    """Answer a question, or tell what is known of a subject."""
    question = checked(question_or_subject_name, "the question or subject name", LONGEST_TOPIC)
    region = subject_meant(ground, question)
    return recall_question(ground, question) if region is None else recall_subject(ground, region)


def subject_meant(ground: Ground, text: str) -> Region | None:
    """Find the subject of exactly this name or alias."""
    try:
        key = name_key(checked_name(text, "the name"))
    except Rejected:
        return None
    with ground.read() as unit:
        return subjects.find(unit, [key]).get(key)


def recall_question(ground: Ground, question: str) -> QuestionRecall:
    """Find the best answer, and what supports it."""
    with ground.read() as unit:
        documents = frozenset(state_of(unit).document_ids)
    found = ground.finder.search(
        ground.workspace.id, question, limit=1 + SUPPORTING, within=KNOWN, leaving_out=documents
    )
    with ground.act("recall") as act:
        records = records_for(act.unit, found.hits)
        told = [(hit, record) for hit in found.hits if (record := records.of(hit)) is not None]
        linked = [brief.id for _, record in told[:1] for brief in linked_of(record)]
        show(act, [*(hit.id for hit, _ in told), *linked])
        act.note(results=[hit.id for hit, _ in told])
        return QuestionRecall(
            best_answer=best_answer(*told[0]) if told else None,
            supporting=tuple(supporting(hit, record) for hit, record in told[1:]),
            provenance=provenance(told[0][1]) if told else None,
            degraded=found.degraded,
            workspace_activity=activity(act),
        )


def best_answer(hit: Found, record: Observation | Understanding) -> BestAnswer:
    """Write the strongest hit as an answer."""
    return BestAnswer(
        id=hit.id,
        subject_names=record.subject_names,
        content=record.content,
        confidence=round(min(1.0, hit.score), 4),
        kind=record.kind,
        source=source_of(record),
        summary=summary_of(record),
        linked_observations=linked_of(record),
    )


def supporting(hit: Found, record: Observation | Understanding) -> Supporting:
    """Write a weaker hit as support."""
    return Supporting(
        id=hit.id,
        subject_names=record.subject_names,
        content=record.content,
        score=round(hit.score, 4),
        source=source_of(record),
    )


def provenance(record: Observation | Understanding) -> Provenance:
    """Say who wrote a record, and when."""
    return Provenance(session_id=record.session_id, model_tier=record.model_tier, created_at=record.created_at)


def recall_subject(ground: Ground, known: Region) -> SubjectRecall:
    """Tell what is known of a subject."""
    with ground.act("recall") as act:
        unit = act.unit
        (region,) = subjects.need(unit, {name_key(known.name): known.name})
        (record,) = subjects.records_of(unit, [region.id])
        texts = understandings_of(unit, [item for item in (region.single_id, region.structural_id) if item is not None])
        ids = [row["id"] for row in unit.all("semantic.observation_recent", subject=region.id, limit=RECENT)]
        recent = briefs_of(unit, ids)
        single = None if region.single_id is None else texts.get(region.single_id)
        structural = None if region.structural_id is None else texts.get(region.structural_id)
        linked = () if single is None else single.linked_observations
        show(act, list(dict.fromkeys([*texts, *ids, *(each.id for each in linked)])))
        act.note(subject=region.name, results=[*texts, *ids])
        return SubjectRecall(
            subject=SubjectHead(name=record.name, summary=record.summary, tags=record.tags),
            single_subject_understanding=None if single is None else subject_understanding(single),
            structural_understanding=None
            if structural is None
            else StructuralNote(
                id=structural.id,
                content=structural.content,
                version=structural.version,
                updated_at=structural.updated_at,
            ),
            recent_observations=recent,
            workspace_activity=activity(act),
        )


def subject_understanding(record: Understanding) -> SubjectUnderstanding:
    """Show a subject's own understanding."""
    return SubjectUnderstanding(
        id=record.id,
        content=record.content,
        summary=record.summary,
        generation=record.generation,
        version=record.version,
        updated_at=record.updated_at,
        linked_observations=record.linked_observations,
    )


def recipe_for(mode: Mode) -> Recipe:
    """Find the recipe of a mode."""
    if mode not in RECIPES:
        raise Rejected(f"there is no mode {mode!r}", hint=f"choose from {', '.join(get_args(Mode))}")
    return RECIPES[mode]


def search(ground: Ground, query: str, limit: int, mode: Mode) -> tuple[Hit, ...]:
    """Search understandings and observations; without vectors, by words."""
    recipe, most = recipe_for(mode), checks.limit(limit)
    found = ground.finder.search(ground.workspace.id, query, limit=most, within=KNOWN, recipe=recipe)
    if mode == "embedding" and not found.by_vectors:
        found = ground.finder.search(ground.workspace.id, query, limit=most, within=KNOWN, recipe=RECIPES["text"])
    return as_hits(ground, found)


def query_observations(
    ground: Ground, subject_names: Sequence[str], query: str, mode: Mode, limit: int
) -> tuple[Hit, ...]:
    """Search among the observations that are tagged with all of the subjects."""
    recipe, most = recipe_for(mode), checks.limit(limit)
    wanted = checks.names(subject_names, most=checks.MOST_SUBJECTS)
    with ground.read() as unit:
        regions = [region.id for region in subjects.need(unit, wanted)]
        rows = unit.all("semantic.observation_tagged_all", subjects=regions, count=len(regions), limit=MOST_RANKED)
    found = search_among(ground, [row["id"] for row in rows], query, most, recipe)
    if mode == "embedding" and not found.by_vectors:
        found = search_among(ground, [row["id"] for row in rows], query, most, RECIPES["text"])
    return as_hits(ground, found)


def as_hits(ground: Ground, found: Findings) -> tuple[Hit, ...]:
    """Write findings in the contract's shape."""
    with ground.read() as unit:
        records = records_for(unit, found.hits)
    return tuple(hit_from(hit, record) for hit in found.hits if (record := records.of(hit)) is not None)


def hit_from(hit: Found, record: Observation | Understanding) -> Hit:
    """Join a hit with its record."""
    return Hit(
        id=hit.id,
        kind=source_of(record),
        subject_names=record.subject_names,
        summary=summary_of(record),
        matched_content=record.content,
        matched_perspective=hit.matched_perspective,
        score=round(hit.score, 4),
        generation=record.generation,
        understanding_kind=record.kind if isinstance(record, Understanding) else None,
        observation_kind=record.kind if isinstance(record, Observation) else None,
        observed_at=record.observed_at if isinstance(record, Observation) else record.updated_at,
        created_at=record.created_at,
        session_id=record.session_id,
        model_tier=record.model_tier,
    )
