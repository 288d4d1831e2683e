"""Retrieval: associative recall, directed recall and search. Decides what a session is shown; the kernel ranks.

Everything that a session is shown is counted and recorded in one small write after the search.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any, get_args

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.operation import Operation
from everloom.kernel.search import DEFAULT, Findings, Hit, Recipe, Scope
from everloom.kernel.texts import checked, checked_list, checked_name, name_key
from everloom.semantic import arguments
from everloom.semantic.arguments import SearchMode
from everloom.semantic.evidence.identity import Region, find, need_ids
from everloom.semantic.evidence.records import briefs_of, observations_of, understandings_of
from everloom.semantic.evidence.subjects import subjects_of
from everloom.semantic.parts import (
    BestAnswer,
    Brought,
    CompactionReason,
    Provenance,
    StructuralNote,
    SubjectHead,
    SubjectUnderstanding,
    Supporting,
)
from everloom.semantic.results import (
    BroughtToMind,
    Observation,
    QuestionRecall,
    Recall,
    SemanticHit,
    SubjectRecall,
    Understanding,
)
from everloom.semantic.state import SeenLog, activity, clear_seen, read_seen, reshape, show_items, state_of
from everloom.store import Unit

_DISPOSABLE = (
    "DISPOSABLE: everything here can be fetched from memory again. Drop this answer first when context is compacted; "
    "only heartbeat_token is worth carrying to the next call."
)
_KNOWN = Scope(kinds=frozenset({"observation", "understanding"}))
_RECIPES: Mapping[SearchMode, Recipe] = {
    "hybrid": DEFAULT,
    "text": replace(DEFAULT, vectors=0.0),
    "embedding": replace(DEFAULT, words=0.0, context=0.0),
}
_MOST_TOPICS = 10
# How much one result shows: for one topic, for several together at most, and for each of several.
_PAGE = 8
_LARGEST_PAGE = 20
_A_TOPIC = 4
_SUPPORTING = 5
_RECENT = 10
_MOST_LINKED = 3
_LONGEST_TOPIC = 20_000
_LARGEST_TOKEN = 2**31 - 1
# Of more observations than this, only the newest are ranked.
_MOST_RANKED = 5_000

Record = Observation | Understanding


def compaction(log: SeenLog, last_token: int | None, now: datetime, gap: timedelta) -> CompactionReason | None:
    """Decide whether the client has lost what it was shown; at a session's first call it has nothing to lose. Pure."""
    if log.token is None:
        return None
    if last_token is None:
        return "missing_token"
    if last_token != log.token:
        return "wrong_token"
    return "time_gap" if log.at is not None and now - log.at > gap else None


def bring_to_mind(
    op: Operation, topic_or_context: str | Sequence[str], last_token: int | None, include_seen: bool, gap: timedelta
) -> BroughtToMind:
    """Find what the topics bring to mind and the session has not been shown."""
    given = [topic_or_context] if isinstance(topic_or_context, str) else topic_or_context
    accepted = (checked(topic, "the topic", _LONGEST_TOPIC) for topic in checked_list(given, "topics", _MOST_TOPICS))
    topics = list(dict.fromkeys(accepted))
    # Read before the search and written after it: a search may be slow and must not hold a transaction. Two concurrent
    # calls of one session may therefore be shown the same items, which is better than making one of them wait.
    log = read_seen(op)
    lost = compaction(log, last_token, op.now, gap)
    seen = frozenset() if include_seen or lost is not None else log.seen
    hits, degraded = _gather(op, topics, seen | _documents(op))
    with op.write("bring_to_mind") as tx:
        if lost is not None:
            clear_seen(tx)
        results = tuple(
            reshape(Brought, record, **_shown(record), relevance_score=round(hit.score, 4))
            for hit, record in _join(tx.unit, hits)
        )
        show_items(tx, [item for each in results for item in (each.id, *(one.id for one in each.linked_observations))])
        # Random, so that a client that lost its context cannot guess it, and never 0, which reads as none.
        token = 1 + secrets.randbelow(_LARGEST_TOKEN)
        activity_of_others = activity(tx)
        if tx.session is not None:
            tx.unit.run("semantic.session_brought", session=tx.session.id, token=token, at=to_micros(tx.at))
        tx.event(topics=len(topics), results=[each.id for each in results], compaction=lost)
        return BroughtToMind(
            compaction_note=_DISPOSABLE,
            heartbeat_token=token,
            compaction_detected=lost is not None,
            compaction_reason=lost,
            results=results,
            degraded=degraded,
            workspace_activity=activity_of_others,
        )


def _documents(op: Operation) -> frozenset[int]:
    """Find the soul, the protocol and the orientation: `orient` returns them, and they answer no question."""
    with op.read() as unit:
        return frozenset(state_of(unit).document_ids)


def _gather(op: Operation, topics: Sequence[str], leaving_out: frozenset[int]) -> tuple[list[Hit], str | None]:
    """Search for every topic and take hits in turn, so that a strong topic does not starve the others."""
    page = _PAGE if len(topics) == 1 else min(_LARGEST_PAGE, max(_PAGE, _A_TOPIC * len(topics)))
    found = [op.search(topic, limit=page, within=_KNOWN, leaving_out=leaving_out) for topic in topics]
    # Round by round, the best of each topic first; a hit for two topics keeps the better score.
    turns = (hit for turn in zip_longest(*(each.hits for each in found)) for hit in turn if hit is not None)
    chosen: dict[int, Hit] = {}
    for hit in turns:
        if hit.id in chosen:
            chosen[hit.id] = max(chosen[hit.id], hit, key=lambda each: each.score)
        elif len(chosen) < page:
            chosen[hit.id] = hit
    ranked = sorted(chosen.values(), key=lambda hit: (-hit.score, -hit.id))
    return ranked, next((each.degraded for each in found if each.degraded), None)


def _join(unit: Unit, hits: Sequence[Hit]) -> list[tuple[Hit, Record]]:
    """Read the records of hits, leaving out what was deleted in the meantime."""
    ids = [hit.id for hit in hits]
    records: dict[int, Record] = {**observations_of(unit, ids), **understandings_of(unit, ids)}
    return [(hit, records[hit.id]) for hit in hits if hit.id in records]


def _shown(record: Record) -> dict[str, Any]:
    """Collect a record's source, its summary and, for an understanding, the newest observations linked to it."""
    if isinstance(record, Observation):
        return {"source": "observation", "summary": None, "linked_observations": ()}
    linked = record.linked_observations[-_MOST_LINKED:]
    return {"source": "understanding", "summary": record.summary, "linked_observations": linked}


def recall(op: Operation, question_or_subject_name: str) -> Recall:
    """Answer a question, or show what is known about a subject."""
    question = checked(question_or_subject_name, "the question or subject name", _LONGEST_TOPIC)
    region = _subject_meant(op, question)
    return _recall_question(op, question) if region is None else _recall_subject(op, region)


def _subject_meant(op: Operation, text: str) -> Region | None:
    """Find the subject with exactly this name or alias."""
    # Most questions are too long or too odd to be a name; that is an answer here, not an error.
    try:
        key = name_key(checked_name(text, "the name"))
    except Rejected:
        return None
    with op.read() as unit:
        return find(unit, [key]).get(key)


def _recall_question(op: Operation, question: str) -> QuestionRecall:
    """Find the best answer and what supports it."""
    found = op.search(question, limit=1 + _SUPPORTING, within=_KNOWN, leaving_out=_documents(op))
    with op.write("recall") as tx:
        joined = _join(tx.unit, found.hits)
        best = None
        # A loop over at most one hit, so that the best answer needs no second way to say "if there is one".
        for hit, record in joined[:1]:
            best = reshape(BestAnswer, record, **_shown(record), confidence=round(min(1.0, hit.score), 4))
        linked = () if best is None else best.linked_observations
        ids = [hit.id for hit, _ in joined]
        show_items(tx, [*ids, *(each.id for each in linked)])
        tx.event(results=ids)
        return QuestionRecall(
            best_answer=best,
            supporting=tuple(
                reshape(Supporting, record, source=_shown(record)["source"], score=round(hit.score, 4))
                for hit, record in joined[1:]
            ),
            provenance=reshape(Provenance, joined[0][1]) if joined else None,
            degraded=found.degraded,
            workspace_activity=activity(tx),
        )


def _recall_subject(op: Operation, known: Region) -> SubjectRecall:
    """Show what is known about a subject."""
    with op.write("recall") as tx:
        unit = tx.unit
        # Read again: it may have been merged or given a new understanding since it was found.
        key = name_key(known.name)
        region = find(unit, [key]).get(key, known)
        (record,) = subjects_of(unit, [region.id])
        texts = understandings_of(unit, [item for item in (region.single_id, region.structural_id) if item is not None])
        ids = [row["id"] for row in unit.all("semantic.observation_recent", subject=region.id, limit=_RECENT)]
        single, structural = texts.get(region.single_id or 0), texts.get(region.structural_id or 0)
        linked = () if single is None else single.linked_observations
        show_items(tx, list(dict.fromkeys([*texts, *ids, *(each.id for each in linked)])))
        tx.event(subject=region.name, results=[*texts, *ids])
        return SubjectRecall(
            subject=reshape(SubjectHead, record),
            single_subject_understanding=None if single is None else reshape(SubjectUnderstanding, single),
            structural_understanding=None if structural is None else reshape(StructuralNote, structural),
            recent_observations=briefs_of(unit, ids),
            workspace_activity=activity(tx),
        )


def search(op: Operation, query: str, limit: int, mode: SearchMode) -> tuple[SemanticHit, ...]:
    """Search understandings and observations; without vectors, search by words."""
    return _search(op, query, mode, limit=arguments.limit(limit), within=_KNOWN)


def query_observations(
    op: Operation, subject_names: Sequence[str], query: str, mode: SearchMode, limit: int
) -> tuple[SemanticHit, ...]:
    """Search the observations that are tagged with all of the subjects."""
    most = arguments.limit(limit)
    with op.read() as unit:
        subjects = need_ids(unit, subject_names)
        rows = unit.all("semantic.observation_tagged_all", subjects=subjects, count=len(subjects), limit=_MOST_RANKED)
    return _search(op, query, mode, limit=most, among=[row["id"] for row in rows])


def _search(op: Operation, query: str, mode: SearchMode, **how: Any) -> tuple[SemanticHit, ...]:
    """Search in one mode; `embedding` falls back to words where there are no vectors."""
    if mode not in _RECIPES:
        raise Rejected(f"there is no search mode {mode!r}", hint=f"choose from {', '.join(get_args(SearchMode))}")
    found: Findings = op.search(query, recipe=_RECIPES[mode], **how)
    if mode == "embedding" and not found.by_vectors:
        found = op.search(query, recipe=_RECIPES["text"], **how)
    with op.read() as unit:
        return tuple(_semantic_hit(hit, record) for hit, record in _join(unit, found.hits))


def _semantic_hit(hit: Hit, record: Record) -> SemanticHit:
    """Combine a hit with its record, in the contract's shape."""
    is_observation = isinstance(record, Observation)
    return reshape(
        SemanticHit,
        record,
        kind="observation" if is_observation else "understanding",
        summary=_shown(record)["summary"],
        matched_content=record.content,
        matched_perspective=hit.matched_perspective,
        score=round(hit.score, 4),
        understanding_kind=None if is_observation else record.kind,
        observation_kind=record.kind if is_observation else None,
        observed_at=record.observed_at if isinstance(record, Observation) else record.updated_at,
    )
