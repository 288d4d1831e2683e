"""Retrieval: associative recall, directed recall and search. Decides what a session is shown; the kernel ranks.

What a session is shown and fits is counted and recorded in one small write after the search. What does not fit is shown
only as the nearest thing, and leaves no trace.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, get_args

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.answer.budget import Listed, affordable, checked_tokens, cost, cut_item, more, noted
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import ASSOCIATIVE, DEFAULT, NOTHING_FITS, Findings, Recipe, Scope, is_question
from everloom.kernel.texts import checked, checked_list, checked_name, name_key
from everloom.kernel.verbs import ANSWER_TOKENS
from everloom.semantic import arguments
from everloom.semantic.arguments import SearchMode
from everloom.semantic.evidence.identity import Region, need_ids, region_from
from everloom.semantic.evidence.records import ask_understandings, briefs_in
from everloom.semantic.evidence.subjects import ask_subjects
from everloom.semantic.parts import (
    BestAnswer,
    BriefObservation,
    Brought,
    CompactionReason,
    ImportedText,
    Provenance,
    StructuralNote,
    SubjectHead,
    SubjectUnderstanding,
    Supporting,
)
from everloom.semantic.recall.answers import (
    RecalledHit,
    Record,
    arranged,
    ask_records,
    slimmed,
    uncrowded,
    with_records,
)
from everloom.semantic.recall.pages import FoundPages
from everloom.semantic.results import (
    BroughtToMind,
    QuestionRecall,
    Recall,
    SemanticHit,
    Subject,
    SubjectRecall,
    Understanding,
)
from everloom.semantic.state import SeenLog, ask_activity, ask_seen, ask_state, clear_seen, reshape, show_items
from everloom.store import Unit

if TYPE_CHECKING:
    from everloom.semantic.recall.judging import Judge, Ruling

_DISPOSABLE = (
    "DISPOSABLE: everything here can be fetched from memory again. Drop this answer first when context is compacted; "
    "only heartbeat_token is worth carrying to the next call."
)
_KNOWN = Scope(kinds=frozenset({"observation", "understanding"}))
# What imports bring: asked only where nothing that was remembered answers.
_IMPORTED = Scope(kinds=frozenset({"turn", "note"}))
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
_NEAREST = 3
_RECENT = 10
# Deeper than what is shown: a newer state may use none of the words of the question, and rank low.
_DEPTH = 20
_LONGEST_TOPIC = 20_000
_LARGEST_TOKEN = 2**31 - 1
# Of more observations than this, only the newest are ranked.
_MOST_RANKED = 5_000
# The texts of an answer get this part of its budget each: the first, one of several, and the fields around them.
_FIRST, _OTHERS = 0.4, 0.15
_FRAME_TOKENS = 110
_NOTHING = "nothing in this memory answers that"
_ONLY_IMPORTED = "nothing that was remembered answers that; imported conversations and notes say this"
_NOTHING_NEW = "nothing here fits that has not been shown"
_NEAREST_ONLY = "nothing fits well; these are only the nearest"


def compaction(log: SeenLog, last_token: int | None, now: datetime, gap: timedelta) -> CompactionReason | None:
    """Decide whether the client has lost what it was shown; at a session's first call it has nothing to lose. Pure."""
    if log.token is None:
        return None
    if last_token is None:
        return "missing_token"
    if last_token != log.token:
        return "wrong_token"
    return "time_gap" if log.at is not None and now - log.at > gap else None


@dataclass(frozen=True, slots=True)
class ClientMemory:
    """What a caller says about its own context, and after which pause it is not believed."""

    last_token: int | None
    include_seen: bool
    gap: timedelta


def bring_to_mind(
    op: Operation, topic_or_context: str | Sequence[str], held: ClientMemory, max_tokens: int = ANSWER_TOKENS
) -> BroughtToMind:
    """Find what the topics bring to mind and the session has not been shown."""
    budget = checked_tokens(max_tokens)
    given = [topic_or_context] if isinstance(topic_or_context, str) else topic_or_context
    accepted = (checked(topic, "the topic", _LONGEST_TOPIC) for topic in checked_list(given, "topics", _MOST_TOPICS))
    topics = list(dict.fromkeys(accepted))
    # Read before the search and written after it: a search may be slow and must not hold a transaction. Two concurrent
    # calls of one session may therefore be shown the same items, which is better than making one of them wait.
    with op.read() as unit:
        shown, state = ask_seen(unit, op.session), ask_state(unit)
        unit.end()
        log, documents = shown(), frozenset(state().document_ids)
    lost = compaction(log, held.last_token, op.now, held.gap)
    seen = frozenset() if held.include_seen or lost is not None else log.seen
    pages = FoundPages(op, "bring_to_mind")
    barred = seen | documents
    found = {
        topic: pages.search(topic, limit=_DEPTH, within=_KNOWN, leaving_out=barred, recipe=_recipe_for(topic))
        for topic in topics
    }
    look, news = pages.looked()
    if lost is not None:
        clear_seen(look)
    joined = pages.joined(*found.values())
    chosen = _in_turn([_coming_to_mind(op, topic, each) for topic, each in zip(found, joined, strict=True)])
    results = affordable([_brought(each, budget) for each in chosen], budget - _FRAME_TOKENS, least=1)
    show_items(look, _used(chosen[: len(results)]))
    token = _next_token(op, log)
    activity_of_others = news()
    look.leave(lambda tx: _note_token(tx, token))
    look.event(topics=len(topics), results=[each.id for each in results], compaction=lost)
    look.end()
    return BroughtToMind(
        compaction_note=_DISPOSABLE if lost is not None or log.token is None else None,
        heartbeat_token=token,
        compaction_detected=lost is not None,
        compaction_reason=lost,
        results=results,
        note=more(len(chosen) - len(results), "fit") if results else _NOTHING_NEW if seen else _NOTHING,
        degraded=next((each.degraded for each in found.values() if each.degraded), None),
        workspace_activity=activity_of_others,
    )


def _next_token(op: Operation, log: SeenLog) -> int:
    """Choose the token that the next call must show; where none can be stored, the one that is."""
    # Random, so that a client that lost its context cannot guess it, and never 0, which reads as none.
    return log.token if op.is_read_only and log.token is not None else 1 + secrets.randbelow(_LARGEST_TOKEN)


def _note_token(tx: Transaction, token: int) -> None:
    if tx.session is not None:
        tx.unit.send("semantic.session_brought", session=tx.session.id, token=token, at=to_micros(tx.at))


def _recipe_for(topic: str) -> Recipe:
    """Choose how to look for a topic: what answers a question says it, what a statement brings to mind is like it."""
    return DEFAULT if is_question(topic) else ASSOCIATIVE


def _fitting(op: Operation, question: str, found: Sequence[RecalledHit]) -> list[RecalledHit]:
    """Choose what answers a question, the present state first."""
    return [each for each in uncrowded(arranged(question, found, op.local())) if each.fits]


def _coming_to_mind(op: Operation, topic: str, found: Sequence[RecalledHit]) -> list[RecalledHit]:
    """Choose what answers a question, or fits a topic by what it is like; what is shown of either counts as used."""
    if is_question(topic):
        return _fitting(op, topic, found)
    ranked = uncrowded(arranged(topic, found, op.local()))
    return [replace(each, fits=True) for each in ranked if each.fits or each.hit.relates]


def _in_turn(found: Sequence[Sequence[RecalledHit]]) -> list[RecalledHit]:
    """Take hits of every topic in turn, so that a strong topic does not starve the others."""
    page = _PAGE if len(found) == 1 else min(_LARGEST_PAGE, max(_PAGE, _A_TOPIC * len(found)))
    # Round by round, the best of each topic first; a hit for two topics keeps the better score.
    turns = (each for turn in zip_longest(*found) for each in turn if each is not None)
    chosen: dict[int, RecalledHit] = {}
    for each in turns:
        if each.id in chosen:
            chosen[each.id] = max(chosen[each.id], each, key=lambda one: one.hit.score)
        elif len(chosen) < page:
            chosen[each.id] = each
    if len(found) == 1:
        return list(chosen.values())
    return sorted(chosen.values(), key=lambda each: (-each.hit.score, -each.id))


def _brought(each: RecalledHit, budget: int) -> Brought:
    whole = reshape(
        Brought,
        each.record,
        **each.shown(round(budget * _OTHERS)),
        observed_at=each.at,
        stored_at=each.stored_at,
        relevance_score=round(each.hit.score, 4),
        answers=round(each.answers, 4),
    )
    return slimmed(whole, budget - _FRAME_TOKENS)


def _used(shown: Sequence[RecalledHit]) -> list[int]:
    """List what counts as used: what is shown and fits, and the evidence linked to it."""
    return [item for each in shown if each.fits for item in (each.id, *(linked.id for linked in each.linked))]


def recall(
    op: Operation,
    question_or_subject_name: str,
    max_tokens: int = ANSWER_TOKENS,
    judge: Judge | None = None,
    *,
    fits_only: bool = False,
) -> Recall:
    """Answer a question, or show what is known about a subject; a judge has the last word on what answers it."""
    budget = checked_tokens(max_tokens)
    question = checked(question_or_subject_name, "the question or subject name", _LONGEST_TOPIC)
    with op.read() as unit:
        subject, state = _ask_subject(unit, question), ask_state(unit)
        unit.end()
        # The soul, the protocol and the orientation: `orient` returns them, and they answer no question.
        region, documents = subject(), frozenset(state().document_ids)
    if region is not None:
        return _recall_subject(op, region, budget)
    pages = FoundPages(op, "recall")
    found = pages.search(question, limit=_DEPTH, within=_KNOWN, leaving_out=documents)
    ruling = None
    if judge is not None:
        (hits,) = pages.joined(found)
        ruling = _ruling(question, _fitting(op, question, hits), judge)
    if ruling is not None:
        # A model takes its time: what was deleted in the meantime is not shown.
        pages.read_again(found)
    answer = _recall_question(op, question, (found, pages), ruling, budget)
    if fits_only and answer.nearest:
        answer = replace(answer, nearest=(), note=NOTHING_FITS)
    return answer if answer.best_answer is not None else _with_imported(op, question, answer, budget)


def _with_imported(op: Operation, question: str, answer: QuestionRecall, budget: int) -> QuestionRecall:
    """Add what imported conversations and notes say to the question, marked with where it comes from."""
    found = [hit for hit in op.search(question, limit=_NEAREST, within=_IMPORTED).hits if hit.fits]
    texts = [
        ImportedText(
            id=hit.id,
            kind=hit.kind,
            text=cut_item(hit.text, hit.id, round(budget * _OTHERS)),
            at=hit.happened_at,
            answers=round(hit.answers, 4),
            origin=hit.origin,
        )
        for hit in found
        if hit.origin is not None
    ]
    if not texts:
        return answer
    bare = replace(answer, nearest=(), note=_ONLY_IMPORTED)
    return replace(bare, imported=affordable(texts, budget - _FRAME_TOKENS, least=1))


def _ask_subject(unit: Unit, text: str) -> Callable[[], Region | None]:
    """Ask for the subject with exactly this name or alias."""
    # Most questions are too long or too odd to be a name; that is an answer here, not an error.
    try:
        key = name_key(checked_name(text, "the name"))
    except Rejected:
        return lambda: None
    rows = unit.ask("semantic.subject_named", key=key)
    return lambda: next((region_from(row) for row in rows.get()), None)


def _recall_question(
    op: Operation, question: str, page: tuple[Findings, FoundPages], ruling: Ruling | None, budget: int
) -> QuestionRecall:
    """Choose the best answer and what supports it; where nothing fits, say so and show what is nearest."""
    found, pages = page
    look, news = pages.looked()
    (hits,) = pages.joined(found)
    joined = uncrowded(arranged(question, hits, op.local()))
    is_denied = ruling is not None and ruling.answers is False
    fitting = [each for each in joined if each.fits and not is_denied]
    best = _best_answer(fitting[0], budget) if fitting else None
    left = budget - _FRAME_TOKENS - (0 if best is None else cost(best))
    others = fitting[1 : 1 + _SUPPORTING] if fitting else joined[:_NEAREST]
    listed = affordable([_supporting(each, budget) for each in others], left, least=0 if fitting else 1)
    used = fitting[: 1 + len(listed)]
    show_items(look, _used(used))
    look.event(results=[each.id for each in used])
    activity_of_others = news()
    look.end()
    return QuestionRecall(
        best_answer=best,
        supporting=listed if fitting else (),
        provenance=reshape(Provenance, fitting[0].record) if fitting else None,
        nearest=() if fitting else listed,
        note=more(len(others) - len(listed), "fit") if fitting else _unknown(len(listed)),
        judgement=None if ruling is None else ruling.words,
        degraded=found.degraded,
        workspace_activity=activity_of_others,
    )


def _ruling(question: str, fitting: Sequence[RecalledHit], judge: Judge) -> Ruling | None:
    """Have a model judge what fits, as it would be shown, while no transaction is open."""
    from everloom.semantic.recall.judging import judge_texts  # noqa: PLC0415  loads pydantic

    return judge_texts(judge, question, [each.record.content for each in fitting[: 1 + _SUPPORTING]])


def _unknown(nearest: int) -> str:
    return f"{_NOTHING}; the nearest things are listed" if nearest else _NOTHING


def _best_answer(each: RecalledHit, budget: int) -> BestAnswer:
    whole = reshape(
        BestAnswer,
        each.record,
        **each.shown(round(budget * _FIRST)),
        confidence=round(each.answers, 4),
        observed_at=each.at,
    )
    return slimmed(whole, budget - _FRAME_TOKENS)


def _supporting(each: RecalledHit, budget: int) -> Supporting:
    return reshape(
        Supporting,
        each.record,
        content=cut_item(each.record.content, each.id, round(budget * _OTHERS)),
        source=each.source,
        observed_at=each.at,
        stored_at=each.stored_at,
        score=round(each.hit.score, 4),
        answers=round(each.answers, 4),
        also=each.also,
        **each.worth(),
    )


def _recall_subject(op: Operation, known: Region, budget: int) -> SubjectRecall:
    """Show what is known about a subject."""
    with op.look("recall") as look:
        unit, key = look.unit, name_key(known.name)
        news, again, told = ask_activity(look), unit.ask("semantic.subject_named", key=key), _ask_told(unit, known)
        unit.end()
        region = next((region_from(row) for row in again.get()), known)
        if region != known:
            # It was merged or given a new understanding since it was found.
            with op.read() as later:
                told = _ask_told(later, region)
                later.end()
        record, texts, briefs = told()
        single, structural = texts.get(region.single_id or 0), texts.get(region.structural_id or 0)
        first, others = round(budget * _FIRST), round(budget * _OTHERS)
        answer = SubjectRecall(
            subject=reshape(SubjectHead, record),
            single_subject_understanding=None
            if single is None
            else reshape(SubjectUnderstanding, single, content=cut_item(single.content, single.id, first)),
            structural_understanding=None
            if structural is None
            else reshape(StructuralNote, structural, content=cut_item(structural.content, structural.id, others)),
            recent_observations=(),
        )
        recent = [replace(each, content=cut_item(each.content, each.id, others)) for each in briefs]
        shown = affordable(recent, budget - _FRAME_TOKENS - cost(answer), least=1)
        linked = () if single is None else single.linked_observations
        show_items(look, list(dict.fromkeys([*texts, *(each.id for each in (*shown, *linked))])))
        look.event(subject=region.name, results=[*texts, *(each.id for each in shown)])
        return replace(
            answer,
            recent_observations=shown,
            note=more(len(recent) - len(shown), "recent observations"),
            workspace_activity=news(),
        )


def _ask_told(
    unit: Unit, region: Region
) -> Callable[[], tuple[Subject, Mapping[int, Understanding], Sequence[BriefObservation]]]:
    """Ask for a subject, its understandings and its newest observations."""
    subjects = ask_subjects(unit, [region.id])
    pointers = [item for item in (region.single_id, region.structural_id) if item is not None]
    texts = ask_understandings(unit, pointers)
    newest = unit.ask("semantic.observation_recent", subject=region.id, limit=_RECENT)
    briefs = unit.ask("semantic.observation_of", ids=newest.ids("id"))

    def read() -> tuple[Subject, Mapping[int, Understanding], Sequence[BriefObservation]]:
        (record,) = subjects()
        return record, texts(), briefs_in(briefs.get(), [row["id"] for row in newest.get()])

    return read


def search(
    op: Operation,
    query: str,
    limit: int,
    mode: SearchMode,
    max_tokens: int = ANSWER_TOKENS,
    *,
    fits_only: bool = False,
) -> tuple[SemanticHit, ...]:
    """Search understandings and observations; without vectors, search by words."""
    budget = checked_tokens(max_tokens)
    return _search(op, query, mode, budget, limit=arguments.limit(limit), within=_KNOWN, fits_only=fits_only)


def query_observations(
    op: Operation,
    subject_names: Sequence[str],
    query: str,
    mode: SearchMode,
    limit: int,
    max_tokens: int = ANSWER_TOKENS,
    *,
    fits_only: bool = False,
) -> tuple[SemanticHit, ...]:
    """Search the observations that are tagged with all of the subjects."""
    most, budget = arguments.limit(limit), checked_tokens(max_tokens)
    with op.read() as unit:
        subjects = need_ids(unit, subject_names)
        rows = unit.all("semantic.observation_tagged_all", subjects=subjects, count=len(subjects), limit=_MOST_RANKED)
    among = [row["id"] for row in rows]
    return _search(op, query, mode, budget, limit=most, among=among, fits_only=fits_only)


def _search(op: Operation, query: str, mode: SearchMode, budget: int, **how: Any) -> tuple[SemanticHit, ...]:
    """Search in one mode; `embedding` falls back to words where there are no vectors."""
    if mode not in _RECIPES:
        raise Rejected(f"there is no search mode {mode!r}", hint=f"choose from {', '.join(get_args(SearchMode))}")
    # Read with the page itself, in the same round trip.
    asked: list[Callable[[], dict[int, Record]]] = []
    how["reading"] = lambda unit, ids: asked.append(ask_records(unit, ids))
    found: Findings = op.search(query, recipe=_RECIPES[mode], **how)
    if mode == "embedding" and not found.by_vectors:
        found = op.search(query, recipe=_RECIPES["text"], **how)
    joined = arranged(query, with_records(found.hits, asked[-1]() if asked else {}), op.local())
    hits = affordable([_semantic_hit(each, budget) for each in joined], budget - _FRAME_TOKENS, least=1)
    if not hits:
        return Listed.of((), found.note)
    note = noted(None if found.fits else _NEAREST_ONLY, more(len(joined) - len(hits), "were found"))
    return (replace(hits[0], note=note), *hits[1:])


def _semantic_hit(each: RecalledHit, budget: int) -> SemanticHit:
    """Combine a hit with its record, in the contract's shape."""
    is_observation, shown = each.source == "observation", each.shown(round(budget * _OTHERS))
    whole = reshape(
        SemanticHit,
        each.record,
        kind=each.source,
        summary=shown["summary"],
        matched_content=shown["content"],
        matched_perspective=each.hit.matched_perspective,
        score=round(each.hit.score, 4),
        answers=round(each.answers, 4),
        fits=each.fits,
        understanding_kind=None if is_observation else each.record.kind,
        observation_kind=each.record.kind if is_observation else None,
        observed_at=each.at,
        **each.beside(),
    )
    return slimmed(whole, budget - _FRAME_TOKENS)
