"""Removing evidence: deleted while it is only a mistake of the same session, superseded once others may rely on it.

Owns `delete_observations` and `learn`. A superseded observation is no longer current but stays in history; all its
subjects wait for consolidation again, so that what was understood from it is reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.journal import kind_of
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked_list
from everloom.kernel.trust.resting import rest_on
from everloom.semantic import arguments
from everloom.semantic.arguments import Lesson
from everloom.semantic.evidence.observations import Observed, count_observed, prepare_observations, write_observations
from everloom.semantic.evidence.records import need_items, with_article
from everloom.semantic.parts import RejectedId
from everloom.semantic.results import DeletedObservations, Learnt
from everloom.semantic.state import group_rows, state_for_writing, state_of, tick
from everloom.store import Row, Unit

_ELSEWHERE = "forget erases anything for good, in any conversation, and shows first what would go"


def delete_observations(op: Operation, ids: Sequence[int], key: str | None) -> DeletedObservations:
    """Delete the observations that may be deleted, and report why the others were kept."""
    wanted = arguments.ids(ids, "ids", least=1)

    def act(tx: Transaction) -> DeletedObservations:
        reasons = _reasons_against(tx, wanted)
        chosen = [item for item in wanted if item not in reasons]
        if chosen:
            _erase(tx, chosen)
        tx.event(deleted=chosen, rejected=sorted(reasons))
        rejected = tuple(RejectedId(id=item, reason=reasons[item]) for item in wanted if item in reasons)
        return DeletedObservations(deleted=tuple(chosen), rejected=rejected, note=_ELSEWHERE if rejected else None)

    return op.write_once("delete_observations", key, {"ids": wanted}, DeletedObservations, act)


def _reasons_against(tx: Transaction, ids: Sequence[int]) -> dict[int, str]:
    """Find the reason why each id must stay; the others may be deleted."""
    unit, generation = tx.unit, state_of(tx.unit).current_generation
    rows = {row["id"]: row for row in unit.all("semantic.observation_of", ids=list(ids))}
    kinds = {row["id"]: row["kind"] for row in unit.all("kernel.item_kinds", ids=list(ids))}
    # From the weakest reason to the strongest: a later one replaces an earlier one.
    reasons = {
        row["observation_id"]: f"understanding {row['understanding_id']} is based on it"
        for row in unit.all("semantic.source_citing", ids=list(rows))
    }
    for each in unit.all("semantic.observation_superseding", ids=list(rows)):
        reasons[each["id"]] = "it replaced another observation"
    for item in ids:
        row = rows.get(item)
        if row is None:
            reasons[item] = f"not an observation but {with_article(kinds[item])}" if item in kinds else "not found"
        elif tx.session_id is None or row["session_id"] != tx.session_id:
            reasons[item] = "session mismatch"
        elif row["generation"] != generation:
            reasons[item] = "already consolidated"
        elif row["superseded_at"] is not None:
            reasons[item] = "it is superseded, and stays as evidence of what was true before"
    return reasons


def _erase(tx: Transaction, ids: list[int]) -> None:
    """Delete observations and everything that refers to them, then recount where they were counted."""
    unit = tx.unit
    tagged = {
        item: sorted(row["subject_id"] for row in rows)
        for item, rows in group_rows(unit.all("semantic.observation_tags", ids=ids)).items()
    }
    # Foreign keys decide the order: rows that refer to the observation go before it, its row in `item` last.
    for name in ("linked_drop", "observation_tag_drop", "seen_drop", "observation_drop"):
        unit.send(f"semantic.{name}", ids=ids)
    tx.op.index.remove(unit, ids)
    for name in ("source_drop", "access_drop", "signal_drop", "item_drop"):
        unit.send(f"kernel.{name}", ids=ids)
    unit.send("semantic.subject_recount", ids=sorted({subject for each in tagged.values() for subject in each}))
    for a, b in sorted({pair for each in tagged.values() for pair in combinations(each, 2)}):
        unit.send("semantic.intersection_recount", a=a, b=b)
    unit.send("semantic.session_recount", session=tx.session_id)


def learn(
    op: Operation,
    lessons: Sequence[Lesson],
    source_ids: Sequence[int],
    also: Callable[[Transaction, Sequence[Learnt]], None] = lambda _tx, _learnt: None,
    *,
    name: str = "learn",
) -> tuple[Learnt, ...]:
    """Store new observations and supersede old ones, all or none; `also` writes in the same transaction.

    The audit trail calls the write by its `name`: what a person corrects was not learnt from a conversation.
    """
    wanted = _without_forgotten(op, _check_lessons(lessons))
    sources = arguments.ids(source_ids, "source_ids")
    ready = prepare_observations(op, [each.observation for each in wanted if each.observation is not None])
    with op.write(name) as tx:
        state_for_writing(tx.unit)
        # Only for its error: a source that does not exist must reject the lessons.
        for source in sources:
            kind_of(tx.unit, source)
        old = _need_current(tx.unit, [each.instead_of for each in wanted if each.instead_of is not None])
        # Before the new ones are written: superseding frees the hash, so that the same words can be stored again.
        for item in old:
            tx.unit.send("semantic.observation_supersede", id=item, at=to_micros(tx.at))
        added = iter(write_observations(tx, ready) if ready.drafts else ())
        learnt = tuple(
            Learnt(added=None if each.observation is None else next(added), superseded=each.instead_of)
            for each in wanted
        )
        new = [each.added.id for each in learnt if each.added is not None]
        rest_on(tx.unit, ((item, source) for item in new for source in sources))
        for each in learnt:
            if each.superseded is not None:
                _retire(tx, each.superseded, None if each.added is None else each.added.id, sources)
        gone = [each.superseded for each in learnt if each.superseded is not None]
        tx.event(added=new, superseded=gone, sources=list(sources))
        # In the same transaction the mind records that the exchange was read, so that a crash can neither lose its
        # facts nor store them twice.
        also(tx, learnt)
        return learnt


def _without_forgotten(op: Operation, lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """Leave out observations that were forgotten: nobody asked for them again, a model found them in a text."""
    texts = [each.observation.content for each in lessons if each.observation is not None]
    with op.read() as unit:
        gone = recognised(unit, [text_key(text) for text in texts])
    return [
        replace(each, observation=None)
        if each.observation is not None and text_key(each.observation.content) in gone
        else each
        for each in lessons
    ]


def _check_lessons(lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """Check that no lesson is empty, and that none supersedes an observation twice."""
    counted = checked_list(lessons, "lessons", arguments.MOST_OBSERVATIONS, least=0)
    if any(each.observation is None and each.instead_of is None for each in counted):
        raise Rejected("a lesson is empty", hint="give an observation, or the id of one that no longer holds")
    old = [arguments.one_id(each.instead_of, "instead_of") for each in counted if each.instead_of is not None]
    if len(set(old)) < len(old):
        raise Rejected("an observation can be superseded only once", hint="give each id once")
    return counted


def _need_current(unit: Unit, ids: Sequence[int]) -> Mapping[int, Row]:
    """Find observations that must exist and be current."""
    rows = need_items(unit, "observation", ids)
    for item, row in rows.items():
        if row["superseded_at"] is not None:
            by = row["superseded_by"]
            raise Conflict(
                f"observation {item} is already superseded",
                hint="nothing replaced it" if by is None else f"{by} replaced it: read that one, then use its id",
            )
    return rows


def _retire(tx: Transaction, item: int, by: int | None, sources: Sequence[int]) -> None:
    """Retire a superseded observation, and mark it as new to its subjects and their pairs."""
    unit = tx.unit
    if by is not None:
        unit.send("semantic.observation_superseded_by", id=item, by=by)
        unit.send("kernel.source_add", item=by, source=item)
        unit.send("semantic.linked_replace", old=item, new=by)
    unit.send("semantic.linked_drop", ids=[item])
    # If nothing replaces it, the retired document points to what taught us that it no longer holds.
    tx.op.index.retire(unit, [item], by if by is not None else next(iter(sources), None), tx.at)
    # New to its subjects from here on, as evidence that something is no longer true.
    since = tick(unit)
    subjects = sorted(row["subject_id"] for row in unit.all("semantic.observation_tags", ids=[item]))
    unit.send("semantic.observation_tag_touch", observation=item, since=since)
    observed = Observed(since, subjects, list(combinations(subjects, 2)), to_micros(tx.at))
    # It was counted when it was written: its subjects only have to be reviewed again.
    count_observed(unit, [observed], each_counts=0)
