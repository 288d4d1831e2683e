"""The work list: the first of what waits for consolidation, read at a cost that does not grow with the memory.

The report (`report.py`) reads everything that waits, which is right for a pass and too much for a glance. Also marks
one entry as reviewed, outside of a pass. Refuses to know who works through the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from everloom.clock import from_micros
from everloom.errors import Rejected
from everloom.kernel.operation import Operation, Transaction
from everloom.semantic import arguments
from everloom.semantic.consolidation.report import (
    questionable_items,
    review_pair,
    review_subjects,
    soul_drift,
    unlinked_observations,
)
from everloom.semantic.consolidation.results import (
    ReviewedUnchanged,
    SessionNeed,
    Worklist,
    WorklistCounts,
    WorklistPair,
    WorklistSubject,
)
from everloom.semantic.evidence.identity import check_names, need
from everloom.semantic.evidence.reading import read_through
from everloom.semantic.evidence.records import need_items
from everloom.semantic.state import brief_understanding, clock_id, state_for_writing, state_of
from everloom.semantic.understanding.understandings import check_seen
from everloom.store import Row, Unit, value_from

_LARGEST_LIST = 500
# So many are looked at for the most valuable ones: all there are, unless nobody has consolidated for long.
_LOOKED_AT = 200
# What is new of one subject is counted so far; whether it is a hundred or a thousand, it comes first.
_MOST_FRESH = 100
_MOST_COUNTED = 1_000
_PAIR = re.compile(r"(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})")
_SUBJECT = re.compile(r"0|[1-9]\d{0,17}")

# A list, and the cursor that goes on after it.
_Subjects = tuple[tuple[WorklistSubject, ...], str | None]
_Pairs = tuple[tuple[WorklistPair, ...], str | None]


def read_worklist(op: Operation, limit: int, subjects_after: str | None, pairs_after: str | None) -> Worklist:
    """List the first of what waits; after a cursor, what follows in order."""
    most = arguments.limit(limit, _LARGEST_LIST)
    after, pair = _check_subject(subjects_after), _check_pair(pairs_after)
    with op.read() as unit:
        state = state_of(unit)
        subjects, subject_cursor = _subjects(unit, most, after, state.current_generation)
        pairs, pair_cursor = _pairs(unit, most, pair)
        return Worklist(
            current_generation=state.current_generation,
            consolidation_open=state.is_open,
            last_consolidated_at=state.last_consolidated_at,
            counts=_counts(unit),
            subjects=subjects,
            intersections=pairs,
            sessions=_sessions(unit, most),
            unlinked_observations=unlinked_observations(unit, most),
            questionable_items=questionable_items(unit)[:most],
            soul_hints=soul_drift(unit, state),
            subject_cursor=subject_cursor,
            intersection_cursor=pair_cursor,
        )


def _check_subject(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if _SUBJECT.fullmatch(str(cursor)) is None:
        raise _no_cursor(cursor)
    return int(cursor)


def _check_pair(cursor: str | None) -> tuple[int, int] | None:
    if cursor is None:
        return None
    match = _PAIR.fullmatch(str(cursor))
    if match is None:
        raise _no_cursor(cursor)
    return int(match[1]), int(match[2])


def _no_cursor(cursor: object) -> Rejected:
    return Rejected(f"{cursor!r} is no cursor of get_worklist", hint="pass back the cursor of the last page as it is")


def _counts(unit: Unit) -> WorklistCounts:
    def count(statement: str) -> int:
        return int(unit.all(statement, most=_MOST_COUNTED)[0]["count"])

    return WorklistCounts(
        subjects=count("semantic.subject_waiting_capped"),
        intersections=count("semantic.intersection_waiting_capped"),
        unlinked_observations=count("semantic.observation_unlinked_capped"),
        most=_MOST_COUNTED,
    )


def _briefs(unit: Unit, rows: Sequence[Row], pointer: str) -> dict[int, Row]:
    ids = [row[pointer] for row in rows if row[pointer] is not None]
    return {row["id"]: row for row in unit.all("semantic.understanding_of", ids=ids)} if ids else {}


def _subjects(unit: Unit, most: int, after: int | None, generation: int) -> _Subjects:
    """List waiting subjects: the most valuable of those looked at or, after one, those that follow."""
    limit = most + 1 if after is not None else _LOOKED_AT + 1
    rows = unit.all("semantic.subject_waiting_some", after=after or 0, limit=limit, most=_MOST_FRESH)
    if after is None:
        latest = unit.all("semantic.subject_waiting_latest", limit=_LOOKED_AT, most=_MOST_FRESH)
        found = list({row["id"]: row for row in (*rows, *latest)}.values())
        chosen = sorted(found, key=lambda row: (-row["fresh"], -row["observation_count"], row["name"]))[:most]
        cursor = "0" if len(found) > most else None
    else:
        chosen, cursor = rows[:most], str(rows[most - 1]["id"]) if len(rows) > most else None
    texts = _briefs(unit, chosen, "single_understanding_id")
    listed = (
        WorklistSubject(
            name=row["name"],
            observation_count=row["observation_count"],
            new_observation_count=row["fresh"],
            generations_waiting=max(0, generation - (row["oldest"] or 0)),
            existing_understanding=brief_understanding(texts.get(row["single_understanding_id"])),
        )
        for row in chosen
    )
    return tuple(listed), cursor


def _pairs(unit: Unit, most: int, after: tuple[int, int] | None) -> _Pairs:
    """List waiting pairs: those that share most of those looked at or, after one, those that follow."""
    a, b = after or (0, 0)
    limit = most + 1 if after is not None else _LOOKED_AT + 1
    rows = unit.all("semantic.intersection_waiting_some", a=a, b=b, limit=limit)
    if after is None:
        found = {_key(row): row for row in (*rows, *unit.all("semantic.intersection_waiting_largest", limit=limit))}
        ranked = sorted(found.values(), key=lambda row: (-row["observation_count"], row["name_a"], row["name_b"]))
        chosen, cursor = ranked[:most], "0.0" if len(found) > most else None
    else:
        last = rows[most - 1] if len(rows) > most else None
        chosen, cursor = rows[:most], None if last is None else ".".join(map(str, _key(last)))
    texts = _briefs(unit, chosen, "understanding_id")
    listed = (
        WorklistPair(
            subject_a=row["name_a"],
            subject_b=row["name_b"],
            intersection_size=row["observation_count"],
            existing_understanding=brief_understanding(texts.get(row["understanding_id"])),
        )
        for row in chosen
    )
    return tuple(listed), cursor


def _key(row: Row) -> tuple[int, int]:
    return row["subject_a"], row["subject_b"]


def _sessions(unit: Unit, most: int) -> tuple[SessionNeed, ...]:
    rows = unit.all("semantic.session_waiting_some", limit=most)
    texts = _briefs(unit, rows, "understanding_id")
    return tuple(
        value_from(
            SessionNeed,
            row,
            session_id=row["label"],
            latest_activity=from_micros(row["seen_at"]),
            existing_understanding=brief_understanding(texts.get(row["understanding_id"])),
        )
        for row in rows
    )


def mark_reviewed(
    op: Operation, subject_names: Sequence[str], seen_through_id: int | None, dismissed: Sequence[int], key: str | None
) -> ReviewedUnchanged:
    """Record that a subject or a pair was read and needs no change; what was written since still waits.

    Without `seen_through_id` it counts as read as far as `read_unseen` gave it to this session.
    """
    names = check_names(subject_names, most=2)
    gone = arguments.ids(dismissed, "dismissed_observation_ids")

    def act(tx: Transaction) -> ReviewedUnchanged:
        state_for_writing(tx.unit)
        regions = need(tx.unit, names)
        seen = check_seen(tx.unit, seen_through_id)
        through = read_through(tx, regions, clock_id(tx.unit)) if seen is None else seen
        if len(regions) == 2:
            named: tuple[str, ...] = review_pair(tx, (regions[0].name, regions[1].name), through)
        else:
            named = review_subjects(tx, names, through)
        tx.unit.send("semantic.observation_dismiss", ids=list(need_items(tx.unit, "observation", gone)))
        tx.event(subjects=list(named), through=through, dismissed=list(gone))
        return ReviewedUnchanged(subject_names=named, seen_through_id=through, dismissed=gone)

    request = {"names": list(names), "through": seen_through_id, "dismissed": gone}
    return op.write_once("mark_reviewed", key, request, ReviewedUnchanged, act)
