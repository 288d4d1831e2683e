"""Evidence that no longer holds: it is superseded, by something newer or by nothing, and never erased.

Owns `learn`. A superseded observation leaves the present and stays in history; every subject that it is tagged with
waits again, so that what was understood from it is looked at once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import combinations

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.journal import kind_of
from everloom.semantic import checks
from everloom.semantic.evidence.observations import checked_draft, keep, make_ready
from everloom.semantic.ground import Act, Ground, state_for_writing, tick
from everloom.semantic.parts import Lesson
from everloom.semantic.recall.records import need_observations
from everloom.semantic.results import Added, Learnt
from everloom.store import Row, Unit


def nothing_more(_unit: Unit) -> None:
    """Write nothing beside what is learnt."""


def learn(
    ground: Ground,
    lessons: Sequence[Lesson],
    source_ids: Sequence[int],
    also: Callable[[Unit], None] = nothing_more,
) -> tuple[Learnt, ...]:
    """Keep what is new and supersede what no longer holds, all or none; `also` writes into the same transaction."""
    wanted = checked_lessons(lessons)
    sources = checks.ids(source_ids, "source_ids")
    drafts = [checked_draft(each.observation) for each in wanted if each.observation is not None]
    ready = make_ready(ground, drafts)
    with ground.act("learn") as act:
        state_for_writing(act.unit)
        for source in sources:
            kind_of(act.unit, source)
        old = need_current(act.unit, [each.instead_of for each in wanted if each.instead_of is not None])
        for item in old:
            act.unit.run("semantic.observation_supersede", id=item, at=to_micros(act.at))
        added = iter(keep(act, ready) if drafts else ())
        learnt = tuple(
            Learnt(added=None if each.observation is None else next(added), superseded=each.instead_of)
            for each in wanted
        )
        for each in learnt:
            settle(act, each, old, sources)
        also(act.unit)
        act.note(
            added=[each.added.id for each in learnt if each.added is not None],
            superseded=[each.superseded for each in learnt if each.superseded is not None],
            sources=list(sources),
        )
        return learnt


def checked_lessons(lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """Accept lessons that say something, and supersede nothing twice."""
    counted = checks.counted(lessons, "lessons", checks.MOST_OBSERVATIONS, least=0)
    if any(each.observation is None and each.instead_of is None for each in counted):
        raise Rejected("a lesson says nothing", hint="give an observation, or the id of one that no longer holds")
    old = [checks.one_id(each.instead_of, "instead_of") for each in counted if each.instead_of is not None]
    if len(set(old)) < len(old):
        raise Rejected("an observation can be superseded once only", hint="give each id once")
    return counted


def need_current(unit: Unit, ids: Sequence[int]) -> dict[int, Row]:
    """Find observations that must exist and still hold."""
    rows = need_observations(unit, ids)
    for item, row in rows.items():
        if row["superseded_at"] is not None:
            by = row["superseded_by"]
            raise Conflict(
                f"observation {item} is superseded already",
                hint="it is history" if by is None else f"{by} holds instead: read it, then use its id",
            )
    return rows


def settle(act: Act, learnt: Learnt, old: dict[int, Row], sources: Sequence[int]) -> None:
    """Join one lesson's old and new with each other and with where it was learnt."""
    unit, new, gone = act.unit, learnt.added, learnt.superseded
    if new is not None:
        unit.many("kernel.source_add", ({"item": new.id, "source": source} for source in sources))
    if gone is not None:
        put_out(act, old[gone], new, sources)


def put_out(act: Act, row: Row, new: Added | None, sources: Sequence[int]) -> None:
    """Take an observation out of the present, and let its subjects wait for a second look."""
    unit, item = act.unit, row["id"]
    by = None if new is None else new.id
    if by is not None:
        unit.run("semantic.observation_superseded_by", id=item, by=by)
        unit.run("kernel.source_add", item=by, source=item)
        unit.run("semantic.linked_replace", old=item, new=by)
    unit.run("semantic.linked_drop", ids=[item])
    act.ground.index.retire(unit, [item], by if by is not None else next(iter(sources), None), act.at)
    wait_again(unit, item, act.at)


def wait_again(unit: Unit, item: int, at: datetime) -> None:
    """Show an observation to its subjects and their pairs as something new."""
    since = tick(unit)
    subjects = sorted(row["subject_id"] for row in unit.all("semantic.observation_tags", ids=[item]))
    unit.run("semantic.observation_tag_touch", observation=item, since=since)
    unit.many(
        "semantic.subject_observed",
        ({"id": subject, "count": 0, "through": since, "at": to_micros(at)} for subject in subjects),
    )
    unit.many(
        "semantic.intersection_touch",
        ({"a": a, "b": b, "count": 0, "through": since} for a, b in combinations(subjects, 2)),
    )
