"""What a session was given to read of some subjects: the unseen observations page by page, and how far it came.

A synthesis covers what its writer has read. The order is that of ids, the clock of semantic memory: a late report about
an old event is new. Refuses to know what is written about it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from everloom.errors import Rejected
from everloom.kernel.answer.budget import checked_tokens
from everloom.kernel.operation import Operation, Transaction
from everloom.models.text import estimate
from everloom.semantic import arguments
from everloom.semantic.evidence.identity import Region, check_names, need
from everloom.semantic.evidence.records import linked_to, observations_of
from everloom.semantic.parts import UnseenObservation, WorkspaceActivity
from everloom.semantic.results import Observation, Unseen
from everloom.semantic.state import activity, brief_understanding, clock_id, reshape, state_of
from everloom.store import Row, Unit

# Observations that one page holds at most, whatever its budget; most have 20 to 60 tokens.
_LARGEST_PAGE = 200
# The id, the date and the punctuation of one entry.
_ENTRY_TOKENS = 20
_CURSOR = re.compile(r"([1-9]\d{0,18})\.([1-9]\d{0,18})")


class _Position(NamedTuple):
    """A place in the order of reading: the id since which an observation is about the subjects, and its own."""

    since: int
    observation: int


@dataclass(frozen=True, slots=True)
class _Topic:
    """Some subjects together: the understanding of them, and the id up to which they are settled."""

    ids: tuple[int, ...]
    understanding: Row | None
    settled_through: int

    @property
    def subject_set(self) -> str:
        """The subjects, written as a set."""
        return ",".join(map(str, sorted(self.ids)))

    @property
    def start(self) -> int:
        """The id after which reading begins."""
        # Without a text, earlier evidence was once judged trivial; together with the new it may amount to something.
        return 0 if self.understanding is None else self.settled_through


def _topic_of(unit: Unit, regions: Sequence[Region]) -> _Topic:
    ids = tuple(sorted(region.id for region in regions))
    if len(ids) == 1:
        (row,) = unit.all("semantic.subject_of", ids=list(ids))
        pointer, settled = row["single_understanding_id"], row["settled_through"]
    elif len(ids) == 2:
        pair = unit.one("semantic.intersection_get", a=ids[0], b=ids[1])
        pointer, settled = (None, 0) if pair is None else (pair["understanding_id"], pair["settled_through"])
    else:
        written = ",".join(map(str, ids))
        rows = unit.all("semantic.understanding_same_subjects", subject_set=written, kind="relationship")
        pointer, settled = (rows[-1]["id"] if rows else None), None
    known = [] if pointer is None else unit.all("semantic.understanding_of", ids=[pointer])
    text = known[0] if known else None
    if settled is None:
        settled = 0 if text is None else text["seen_through_id"]
    return _Topic(ids, text, settled)


def read_unseen(op: Operation, subject_names: Sequence[str], cursor: str | None, max_tokens: int) -> Unseen:
    """Give a page of the observations that the understanding of some subjects has not seen, and record the reading."""
    names = check_names(subject_names, most=arguments.MOST_SUBJECTS)
    room, place = checked_tokens(max_tokens), _check_cursor(cursor)
    with op.read() as unit:
        regions = need(unit, names)
        topic = _topic_of(unit, regions)
        after = _Position(topic.start, 0) if place is None else place
        rows = _rows_after(unit, topic, after, is_begun=place is not None)
        found = observations_of(unit, [row["id"] for row in rows])
        page = _fill(rows, found, room)
        rest = rows[len(page) :]
        # Up to where everything was given. The next one is not, nor are others that became new at the same id.
        through = rest[0]["since"] - 1 if rest else clock_id(unit)
        text = topic.understanding
        linked = () if text is None else linked_to(unit, [text["id"]]).get(text["id"], ())
    last = page[-1] if page else None
    return Unseen(
        subject_names=tuple(region.name for region in regions),
        understanding=brief_understanding(text),
        linked_observation_ids=tuple(each.id for each in linked),
        observations=tuple(reshape(UnseenObservation, found[row["id"]]) for row in page),
        seen_through_id=through,
        cursor=f"{last['since']}.{last['id']}" if rest and last is not None else None,
        workspace_activity=_record(op, topic, after, through),
    )


def _rows_after(unit: Unit, topic: _Topic, after: _Position, *, is_begun: bool) -> list[Row]:
    return unit.all(
        "semantic.observation_unseen",
        subjects=list(topic.ids),
        count=len(topic.ids),
        # Others that became new at the same id as the last one given are still to come.
        after=after.since - 1 if is_begun else after.since,
        since=after.since,
        id=after.observation,
        limit=_LARGEST_PAGE + 1,
    )


def _check_cursor(cursor: str | None) -> _Position | None:
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(str(cursor))
    if match is None:
        raise Rejected(f"{cursor!r} is no cursor of read_unseen", hint="pass back the last page's cursor as it is")
    return _Position(int(match[1]), int(match[2]))


def _fill(rows: Sequence[Row], found: dict[int, Observation], room: int) -> list[Row]:
    """Choose the rows that fit on one page; at least one, and each with its whole text."""
    page: list[Row] = []
    for row in rows[:_LARGEST_PAGE]:
        room -= estimate(found[row["id"]].content) + _ENTRY_TOKENS
        if page and room < 0:
            break
        page.append(row)
    return page


def _record(op: Operation, topic: _Topic, after: _Position, through: int) -> WorkspaceActivity:
    """Record how far this session has read, unless it skipped something."""
    if op.session is None:
        return None
    with op.look("read_unseen") as look:
        look.leave(lambda tx: _note_reading(tx, topic, after, through))
        look.event(subjects=list(topic.ids), through=through)
        return activity(look)


def _note_reading(tx: Transaction, topic: _Topic, after: _Position, through: int) -> None:
    session = tx.session_id
    row = tx.unit.one("semantic.reading_get", session=session, subject_set=topic.subject_set)
    given = max(topic.start, 0 if row is None else row["through_id"])
    if after.since <= given + 1:
        tx.unit.send("semantic.reading_put", session=session, subject_set=topic.subject_set, through=through)


def read_through(tx: Transaction, regions: Sequence[Region], now: int) -> int:
    """Find the id up to which the writer of a synthesis has read its subjects' observations; `now` is the latest.

    That is what `read_unseen` gave this session or, if it gave nothing, what existed when the open pass began; from
    there, as far as the session itself wrote or was shown what follows. Without a session nothing is known about its
    reader: it covers what existed when the pass began or, without a pass, everything.
    """
    unit, begun = tx.unit, state_of(tx.unit).begun_through
    if tx.session is None or not regions:
        return now if begun is None or not regions else begun
    topic = _topic_of(unit, regions)
    row = unit.one("semantic.reading_get", session=tx.session.id, subject_set=topic.subject_set)
    given = 0 if row is None else row["through_id"]
    start = given if given > topic.settled_through else max(topic.settled_through, begun or 0)
    (first,) = unit.all(
        "semantic.observation_unread",
        subjects=list(topic.ids),
        count=len(topic.ids),
        after=start,
        session=tx.session.id,
    )
    return now if first["since"] is None else int(first["since"]) - 1
