"""The list of all subjects, page by page: those observed last first, by the beginning of a name, or by a tag.

A page follows an index from where the last one ended. Only names that have a word inside are looked for by reading
names, and of those a bounded number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from everloom.clock import from_micros
from everloom.errors import Rejected
from everloom.kernel.operation import Operation
from everloom.kernel.texts import checked_name, name_key
from everloom.semantic import arguments
from everloom.semantic.state import group_rows
from everloom.semantic.views import ListedSubject, SubjectList
from everloom.store import Unit
from everloom.store.contract import FOREVER

_OBSERVED = re.compile(r"([0-9]{1,19})\.([1-9][0-9]{0,18})")
_ID = re.compile(r"[1-9][0-9]{0,18}")
# No name has this character, and none is sorted after it.
_LAST = "\U0010ffff"
# Names that are looked through for a word inside: some milliseconds.
_MOST_LOOKED_THROUGH = 10_000


class _Found(NamedTuple):
    """The subjects of a page, where the next one begins, and what is to be said about it."""

    ids: Sequence[int]
    cursor: str | None
    note: str | None = None


def list_subjects(op: Operation, name: str | None, tag: str | None, cursor: str | None, limit: int) -> SubjectList:
    """List a page of subjects."""
    most = arguments.limit(limit, 200)
    if name is not None and tag is not None:
        raise Rejected("a name and a tag were given", hint="ask for one of them")
    with op.read() as unit:
        if name is not None:
            found = _by_name(unit, name_key(checked_name(name, "the name")), cursor, most)
        elif tag is not None:
            found = _by_tag(unit, name_key(checked_name(tag, "the tag")), cursor, most)
        else:
            found = _by_time(unit, cursor, most)
        return SubjectList(subjects=_listed(unit, found.ids), cursor=found.cursor, note=found.note)


def _by_time(unit: Unit, cursor: str | None, limit: int) -> _Found:
    observed, last = FOREVER, FOREVER
    if cursor is not None:
        if (match := _OBSERVED.fullmatch(cursor)) is None:
            raise _foreign(cursor)
        observed, last = arguments.one_id(int(match[1]) + 1) - 1, arguments.one_id(int(match[2]))
    rows = unit.all("regions.subject_page", observed=observed, id=last, limit=limit + 1)
    ids = [row["id"] for row in rows[:limit]]
    more = len(rows) > limit
    return _Found(ids, f"{rows[limit - 1]['observed_through']}.{ids[-1]}" if more else None)


def _by_tag(unit: Unit, tag_key: str, cursor: str | None, limit: int) -> _Found:
    if cursor is not None and not _ID.fullmatch(cursor):
        raise _foreign(cursor)
    before = FOREVER if cursor is None else arguments.one_id(int(cursor))
    ids = [row["id"] for row in unit.all("regions.subject_tagged", tag_key=tag_key, before=before, limit=limit + 1)]
    return _Found(ids[:limit], str(ids[limit - 1]) if len(ids) > limit else None)


def _by_name(unit: Unit, begin: str, cursor: str | None, limit: int) -> _Found:
    """Find names that begin so, in their order; the last page goes on with names that have a word that begins so."""
    # A cursor is the key of a name, and must be one: anything else would begin elsewhere.
    if cursor is not None and not cursor.startswith(begin):
        raise _foreign(cursor)
    rows = unit.all("regions.name_page", begin=cursor or begin, end=begin + _LAST, limit=limit + 2)
    # The last name of the page before, unless it was removed in the meantime.
    rows = [row for row in rows if row["name_key"] != cursor]
    if len(rows) > limit:
        return _Found(_once(row["subject_id"] for row in rows[:limit]), rows[limit - 1]["name_key"])
    escaped = begin.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    holding = unit.all("regions.name_holding", pattern=f"% {escaped}%", window=_MOST_LOOKED_THROUGH, limit=limit)
    begun = [row["subject_id"] for row in rows]
    # Subjects that an earlier page showed by a name that begins so may come again by an alias: that is no harm.
    inside = [row["subject_id"] for row in holding if not row["name_key"].startswith(begin)]
    cut = len(holding) == limit
    note = "there are more names with such a word; say how the name begins" if cut else None
    return _Found(_once([*begun, *inside])[: 2 * limit], None, note)


def _once(ids: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(ids))


def _foreign(cursor: str) -> Rejected:
    return Rejected(f"{cursor!r} is no cursor of this list", hint="pass back the last page's cursor as it is")


def _listed(unit: Unit, ids: Sequence[int]) -> tuple[ListedSubject, ...]:
    """Read subjects as lists show them, in the given order."""
    rows = {row["id"]: row for row in unit.all("semantic.subject_of", ids=list(ids))}
    tags = group_rows(unit.all("semantic.tag_of", ids=list(ids)), "subject_id")
    return tuple(
        ListedSubject(
            id=each,
            name=row["name"],
            summary=row["summary"],
            tags=tuple(tag["tag"] for tag in tags.get(each, ())),
            observation_count=row["observation_count"],
            last_observation_at=None if row["last_observed_at"] is None else from_micros(row["last_observed_at"]),
            is_waiting=row["observed_through"] > row["settled_through"],
            has_understanding=row["single_understanding_id"] is not None,
        )
        for each in ids
        if (row := rows.get(each)) is not None
    )
