"""Choosing what to forget: by id, by a search, by subject, by time, by session; each narrows the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import to_micros
from everloom.errors import NotFound, Rejected
from everloom.kernel.forgetting.names import has_label
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import explain_absence
from everloom.kernel.imported import FILE_KIND, IMPORT_KIND, items_of_source
from everloom.kernel.operation import Operation
from everloom.kernel.texts import checked, checked_list, checked_name
from everloom.store import Unit
from everloom.store.contract import FOREVER

# More at once would hold the write lock too long; a narrower period is chosen instead.
MOST = 5_000
_MOST_FOUND = 20
_LONGEST_CUE = 2_000
_PLACES = ("session", "sitting", FILE_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a caller wants to forget; what is None does not narrow it."""

    ids: Sequence[int] | None = None
    search: str | None = None
    subject_names: Sequence[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    from_session: str | None = None

    @property
    def is_by_time(self) -> bool:
        """Whether it is limited to a period."""
        return self.since is not None or self.until is not None


def checked_selection(wanted: Selection) -> Selection:
    """Refuse a selection that says nothing: it would mean everything."""
    given = (wanted.ids, wanted.search, wanted.subject_names, wanted.since, wanted.until, wanted.from_session)
    if not any(each is not None and each not in ((), []) for each in given):
        raise Rejected(
            "nothing was chosen",
            hint="name ids, or choose by search, subject, period or session; each narrows the others",
        )
    if wanted.ids:
        checked_list(wanted.ids, "ids", MOST)
    if wanted.since is not None and wanted.until is not None and wanted.since > wanted.until:
        raise Rejected("the period ends before it begins", hint="give the earlier time as since")
    return wanted


def find_hits(op: Operation, wanted: Selection) -> set[int] | None:
    """Find what a search means; None without one. Outside any unit of work, because a model reads the question."""
    if wanted.search is None:
        return None
    cue = checked(wanted.search, "the search", _LONGEST_CUE)
    hits = [hit for hit in op.search(cue, limit=_MOST_FOUND).hits if hit.fits]
    # What a hit stands for says the same as it does.
    return {item for hit in hits for item in (hit.id, *hit.also)}


def select(unit: Unit, wanted: Selection, hits: Collection[int] | None, erasers: Sequence[Eraser]) -> list[int]:
    """Find the chosen items; NotFound if there are none."""
    chosen: list[set[int]] = [] if hits is None else [set(hits)]
    if wanted.ids:
        chosen.append(_named(unit, wanted.ids, erasers))
    if wanted.subject_names:
        chosen.append(set().union(*(each.about(unit, wanted.subject_names) for each in erasers)))
    if wanted.is_by_time:
        chosen.append(_of_period(unit, wanted, erasers))
    if wanted.from_session is not None:
        chosen.append(_with_label(unit, _session_id(unit, wanted.from_session), erasers))
    found = sorted(set.intersection(*chosen))
    if not found:
        raise NotFound("nothing matches", hint="`everloom search` and `everloom show` print the ids of what there is")
    if len(found) > MOST:
        raise Rejected(f"more than {MOST:,} items match", hint="choose a shorter period, one after the other")
    return found


def _named(unit: Unit, ids: Sequence[int], erasers: Sequence[Eraser]) -> set[int]:
    """Take items by id; a session stands for everything that was written in it, an import for what it brought."""
    found: set[int] = set()
    for item in dict.fromkeys(ids):
        row = unit.one("kernel.item_get", id=item)
        if row is None:
            raise explain_absence(unit, item)
        if row["kind"] in _PLACES:
            found |= _with_label(unit, item, erasers)
        elif row["kind"] == IMPORT_KIND:
            found |= set(items_of_source(unit, item, 0, MOST + 1))
        else:
            found.add(item)
    return found


def _of_period(unit: Unit, wanted: Selection, erasers: Sequence[Eraser]) -> set[int]:
    begin = -FOREVER if wanted.since is None else to_micros(wanted.since)
    end = FOREVER if wanted.until is None else to_micros(wanted.until)
    rows = unit.all("forgetting.of_period", begin=begin, end=end, limit=MOST + 1)
    return {row["id"] for row in rows}.union(*(each.within(unit, begin, end, None) for each in erasers))


def _with_label(unit: Unit, session_id: int, erasers: Sequence[Eraser]) -> set[int]:
    """Take what was written in a session, and the session itself for its label."""
    own = {session_id} if has_label(unit, session_id) else set()
    return _of_session(unit, session_id, erasers) | own


def _of_session(unit: Unit, session_id: int, erasers: Sequence[Eraser]) -> set[int]:
    rows = unit.all("forgetting.of_session", session=session_id, limit=MOST + 1)
    others = (each.within(unit, -FOREVER, FOREVER, session_id) for each in erasers)
    return {row["id"] for row in rows}.union(*others)


def _session_id(unit: Unit, label: str) -> int:
    wanted = checked_name(label, "the session's id")
    row = unit.one("kernel.session_by_label", label=wanted)
    if row is None:
        raise NotFound(f"there is no session called {wanted!r}", hint="sessions lists them")
    return int(row["id"])
