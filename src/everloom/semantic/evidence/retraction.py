"""Evidence that goes: erased while it is only a slip of the same session, superseded once it has been believed.

Owns `delete_observations` and `learn`. A superseded observation leaves the present and stays in history; every subject
that it is tagged with waits again, so that what was understood from it is looked at once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.journal import kind_of
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked_list
from everloom.semantic import arguments
from everloom.semantic.arguments import Lesson
from everloom.semantic.evidence.observations import Observed, count_observed, prepare_observations, write_observations
from everloom.semantic.evidence.records import need_items, with_article
from everloom.semantic.parts import RejectedId
from everloom.semantic.results import DeletedObservations, Learnt
from everloom.semantic.state import group_rows, state_for_writing, state_of, tick
from everloom.store import Row, Unit


def delete_observations(op: Operation, ids: Sequence[int], key: str | None) -> DeletedObservations:
    """Erase what may be erased, and say of the rest why not."""
    wanted = arguments.ids(ids, "ids", least=1)

    def act(tx: Transaction) -> DeletedObservations:
        reasons = _reasons_against(tx, wanted)
        chosen = [item for item in wanted if item not in reasons]
        if chosen:
            _erase(tx, chosen)
        tx.event(deleted=chosen, rejected=sorted(reasons))
        rejected = tuple(RejectedId(id=item, reason=reasons[item]) for item in wanted if item in reasons)
        return DeletedObservations(deleted=tuple(chosen), rejected=rejected)

    return op.write_once("delete_observations", key, {"ids": wanted}, DeletedObservations, act)


def _reasons_against(tx: Transaction, ids: Sequence[int]) -> dict[int, str]:
    """Say of each id that must stay why it must."""
    unit, generation = tx.unit, state_of(tx.unit).current_generation
    rows = {row["id"]: row for row in unit.all("semantic.observation_of", ids=list(ids))}
    kinds = {row["id"]: row["kind"] for row in unit.all("kernel.item_kinds", ids=list(ids))}
    # From the weakest reason to the strongest: what is said last is told.
    reasons = {
        row["observation_id"]: f"understanding {row['understanding_id']} rests on it"
        for row in unit.all("semantic.source_citing", ids=list(rows))
    }
    for each in unit.all("semantic.observation_superseding", ids=list(rows)):
        reasons[each["id"]] = "it took the place of another observation"
    for item in ids:
        row = rows.get(item)
        if row is None:
            reasons[item] = f"not an observation but {with_article(kinds[item])}" if item in kinds else "not found"
        elif tx.session_id is None or row["session_id"] != tx.session_id:
            reasons[item] = "session mismatch"
        elif row["generation"] != generation:
            reasons[item] = "already consolidated"
        elif row["superseded_at"] is not None:
            reasons[item] = "it is superseded: evidence of what was once so"
    return reasons


def _erase(tx: Transaction, ids: list[int]) -> None:
    """Erase observations and everything that hangs on them, then count again where they were counted."""
    unit = tx.unit
    tagged = {
        item: sorted(row["subject_id"] for row in rows)
        for item, rows in group_rows(unit.all("semantic.observation_tags", ids=ids)).items()
    }
    # Rows that point at the observation go before it, the registry's row last.
    for name in ("linked_drop", "observation_tag_drop", "seen_drop", "observation_drop"):
        unit.run(f"semantic.{name}", ids=ids)
    tx.op.index.remove(unit, ids)
    for name in ("source_drop", "access_drop", "signal_drop", "item_drop"):
        unit.run(f"kernel.{name}", ids=ids)
    unit.run("semantic.subject_recount", ids=sorted({subject for each in tagged.values() for subject in each}))
    for a, b in sorted({pair for each in tagged.values() for pair in combinations(each, 2)}):
        unit.run("semantic.intersection_recount", a=a, b=b)
    unit.run("semantic.session_recount", session=tx.session_id)


def learn(
    op: Operation,
    lessons: Sequence[Lesson],
    source_ids: Sequence[int],
    also: Callable[[Unit], None] = lambda _unit: None,
) -> tuple[Learnt, ...]:
    """Keep what is new and supersede what no longer holds, all or none; `also` writes into the same transaction."""
    wanted = _check_lessons(lessons)
    sources = arguments.ids(source_ids, "source_ids")
    ready = prepare_observations(op, [each.observation for each in wanted if each.observation is not None])
    with op.write("learn") as tx:
        state_for_writing(tx.unit)
        for source in sources:
            kind_of(tx.unit, source)
        old = _need_current(tx.unit, [each.instead_of for each in wanted if each.instead_of is not None])
        # Before the new is written: superseding frees the hash, so that the same words can be kept again.
        for item in old:
            tx.unit.run("semantic.observation_supersede", id=item, at=to_micros(tx.at))
        added = iter(write_observations(tx, ready) if ready.drafts else ())
        learnt = tuple(
            Learnt(added=None if each.observation is None else next(added), superseded=each.instead_of)
            for each in wanted
        )
        new = [each.added.id for each in learnt if each.added is not None]
        tx.unit.many("kernel.source_add", ({"item": item, "source": source} for item in new for source in sources))
        for each in learnt:
            if each.superseded is not None:
                _retire(tx, each.superseded, None if each.added is None else each.added.id, sources)
        # The mind notes in the same transaction that an exchange was read: it is learnt from once, whatever happens.
        also(tx.unit)
        gone = [each.superseded for each in learnt if each.superseded is not None]
        tx.event(added=new, superseded=gone, sources=list(sources))
        return learnt


def _check_lessons(lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """Accept lessons that say something, and supersede nothing twice."""
    counted = checked_list(lessons, "lessons", arguments.MOST_OBSERVATIONS, least=0)
    if any(each.observation is None and each.instead_of is None for each in counted):
        raise Rejected("a lesson is empty", hint="give an observation, or the id of one that no longer holds")
    old = [arguments.one_id(each.instead_of, "instead_of") for each in counted if each.instead_of is not None]
    if len(set(old)) < len(old):
        raise Rejected("an observation can be superseded only once", hint="give each id once")
    return counted


def _need_current(unit: Unit, ids: Sequence[int]) -> Mapping[int, Row]:
    """Find observations that must exist and still hold."""
    rows = need_items(unit, "observation", ids)
    for item, row in rows.items():
        if row["superseded_at"] is not None:
            by = row["superseded_by"]
            raise Conflict(
                f"observation {item} is already superseded",
                hint="it is history" if by is None else f"{by} holds instead: read it, then use its id",
            )
    return rows


def _retire(tx: Transaction, item: int, by: int | None, sources: Sequence[int]) -> None:
    """Take an observation out of the present, and show it to its subjects and their pairs as something new."""
    unit = tx.unit
    if by is not None:
        unit.run("semantic.observation_superseded_by", id=item, by=by)
        unit.run("kernel.source_add", item=by, source=item)
        unit.run("semantic.linked_replace", old=item, new=by)
    unit.run("semantic.linked_drop", ids=[item])
    # Where nothing takes its place, what was learnt from says why it went.
    tx.op.index.retire(unit, [item], by if by is not None else next(iter(sources), None), tx.at)
    # New to its subjects from here on, as evidence that something is no longer so.
    since = tick(unit)
    subjects = sorted(row["subject_id"] for row in unit.all("semantic.observation_tags", ids=[item]))
    unit.run("semantic.observation_tag_touch", observation=item, since=since)
    observed = Observed(since, subjects, list(combinations(subjects, 2)), to_micros(tx.at))
    # It was counted when it was written: its subjects only have to look again.
    count_observed(unit, [observed], each_counts=0)
