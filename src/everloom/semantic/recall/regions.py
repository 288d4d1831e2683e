"""Regions of what is known: what is about all of some subjects and about none of others, and how large they are.

Looks through the observations of the smallest subject, a window at a time, so that a page costs about the same however
many observations there are. The sizes of subjects and pairs are counted as they are written; only what three subjects
share is counted here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from everloom.errors import Rejected
from everloom.kernel.operation import Operation
from everloom.semantic import arguments
from everloom.semantic.evidence.identity import Region, check_names, need
from everloom.semantic.evidence.records import observations_of
from everloom.semantic.state import group_rows, names_in
from everloom.semantic.views import (
    CountedPair,
    CountedSubject,
    RegionContents,
    RegionUnderstanding,
    SubjectOverlap,
)
from everloom.store import Row, Unit, value_from
from everloom.store.contract import FOREVER

_CURSOR = re.compile(r"([1-9][0-9]{0,18})\.([1-9][0-9]{0,18})")
# Observations that a page looks through: some milliseconds for each window.
_WINDOW, _WINDOWS = 500, 4
_MOST_UNDERSTANDINGS = 20
_UNDERSTANDING_WINDOW = 300
# Observations that are counted one by one to see what three subjects share; beyond, the newest stand for all.
_MOST_COUNTED = 4_000


def open_region(
    op: Operation, subject_names: Sequence[str], outside: Sequence[str], cursor: str | None, limit: int
) -> RegionContents:
    """Show a page of a region, newest first."""
    most, begin = arguments.limit(limit, 200), _place(cursor)
    wanted = check_names(subject_names, most=arguments.MOST_SUBJECTS)
    unwanted = check_names(outside, most=arguments.MOST_SUBJECTS, least=0)
    with op.read() as unit:
        inside, beyond = need(unit, wanted), need(unit, unwanted) if unwanted else []
        if shared := {each.id for each in inside} & {each.id for each in beyond}:
            name = next(each.name for each in inside if each.id in shared)
            raise Rejected(f"{name!r} is inside and outside", hint="name it on one side only")
        ids = _smallest_first(unit, inside)
        barred = [each.id for each in beyond]
        rows, place = _observations(unit, ids, barred, begin, most)
        found = observations_of(unit, [row["id"] for row in rows])
        understandings = _understandings(unit, ids, barred) if cursor is None else ()
    return RegionContents(
        subject_names=tuple(each.name for each in inside),
        outside=tuple(each.name for each in beyond),
        understandings=understandings,
        observations=tuple(found[row["id"]] for row in rows),
        cursor=None if place is None else f"{place[0]}.{place[1]}",
    )


def _place(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return FOREVER, FOREVER
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise Rejected(f"{cursor!r} is no cursor of open_region", hint="pass back the last page's cursor as it is")
    return arguments.one_id(int(match[1])), arguments.one_id(int(match[2]))


def _smallest_first(unit: Unit, regions: Sequence[Region]) -> list[int]:
    rows = unit.all("semantic.subject_of", ids=[each.id for each in regions])
    return [row["id"] for row in sorted(rows, key=lambda row: (row["observation_count"], row["id"]))]


def _observations(
    unit: Unit, ids: Sequence[int], barred: Sequence[int], begin: tuple[int, int], limit: int
) -> tuple[list[Row], tuple[int, int] | None]:
    """Look for the observations of a region; give them, and where to look further."""
    found: list[Row] = []
    others, place = list(ids[1:]), begin
    window = _WINDOW if others or barred else limit + 1
    for _ in range(_WINDOWS):
        rows = unit.all(
            "regions.observations",
            subject=ids[0],
            others=others,
            outside=list(barred),
            since=place[0],
            id=place[1],
            window=window,
        )
        for row in rows:
            if row["inside"] == len(others) and not row["outside"]:
                # Only now is it known that there is a next one.
                if len(found) == limit:
                    return found, place
                found.append(row)
            place = (row["since"], row["id"])
        if len(rows) < window:
            return found, None
    return found, place


def _understandings(unit: Unit, ids: Sequence[int], barred: Sequence[int]) -> tuple[RegionUnderstanding, ...]:
    """Read the newest understandings of a region that are in force."""
    others = list(ids[1:])
    rows = unit.all(
        "regions.understandings", subject=ids[0], others=others, outside=list(barred), window=_UNDERSTANDING_WINDOW
    )
    wanted = [row["id"] for row in rows if row["inside"] == len(others) and not row["outside"]][:_MOST_UNDERSTANDINGS]
    tags = group_rows(unit.all("semantic.understanding_tags", ids=wanted))
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=wanted)}
    return tuple(
        value_from(
            RegionUnderstanding,
            texts[each],
            subject_names=names_in(tags.get(each, ())),
            summary=texts[each]["title"],
        )
        for each in wanted
    )


def measure_overlap(op: Operation, subject_names: Sequence[str]) -> SubjectOverlap:
    """Count two or three subjects and what they share."""
    wanted = check_names(subject_names, most=3, least=2)
    with op.read() as unit:
        regions = need(unit, wanted)
        if len(regions) < 2:
            raise Rejected("these are names of one subject", hint="name two or three different ones")
        ids = [each.id for each in regions]
        rows = {row["id"]: row for row in unit.all("semantic.subject_of", ids=ids)}
        sizes = {
            frozenset((row["subject_a"], row["subject_b"])): row["observation_count"]
            for row in unit.all("semantic.intersection_sizes", ids=sorted(ids))
        }
        pairs = {pair: sizes.get(frozenset(pair), 0) for pair in combinations(ids, 2)}
        every, is_exact = _shared_by_all(unit, regions, min(pairs.values())) if len(ids) == 3 else (None, True)
    named = {each.id: each.name for each in regions}
    return SubjectOverlap(
        subjects=tuple(
            CountedSubject(id=each.id, name=each.name, observation_count=rows[each.id]["observation_count"])
            for each in regions
        ),
        pairs=tuple(
            CountedPair(subject_a=named[a], subject_b=named[b], observation_count=count)
            for (a, b), count in pairs.items()
        ),
        all_three=every,
        is_exact=is_exact,
    )


def _shared_by_all(unit: Unit, regions: Sequence[Region], most: int) -> tuple[int, bool]:
    """Count what three subjects share, at most `most`; where that takes too long, estimate it."""
    if not most:
        return 0, True
    first, *others = _smallest_first(unit, regions)
    row = unit.one("regions.shared", subject=first, others=others, count=len(others), window=_MOST_COUNTED)
    looked, shared = (0, 0) if row is None else (int(row["looked"]), int(row["shared"]))
    if looked < _MOST_COUNTED:
        return shared, True
    (whole,) = unit.all("semantic.subject_of", ids=[first])
    return min(most, round(shared / looked * whole["observation_count"])), False
