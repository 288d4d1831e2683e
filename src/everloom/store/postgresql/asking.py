"""What a unit of work asks a PostgreSQL server: statements with their values, and answers that come when needed.

Questions that nobody waits for yet share a round trip, and one may be about what another one before it finds. Refuses
to know connections and transactions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from pgvector import HalfVector
from psycopg.adapt import Buffer, Dumper
from psycopg.postgres import types
from psycopg.pq import Format

from everloom.store.contract import (
    Ids,
    Row,
    Value,
)
from everloom.store.engine import (
    ids_in,
    unit_is_over,
)

if TYPE_CHECKING:
    from everloom.store.postgresql.unit import PostgresUnit

T = TypeVar("T")

# What the driver can send.
ServerValue = Value | Sequence[int] | Sequence[str] | Sequence[bytes] | HalfVector


# What a bigint holds; the driver finds a type for anything beyond.
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class WholeNumbers(list[int]):
    """Numbers that are sent as they are: the driver would look for the smallest type of each, in ten times the time."""


class WholeNumbersWriter(Dumper):
    """Writes numbers as an array of bigint, in the server's own format."""

    format = Format.BINARY
    oid = types["int8"].array_oid

    def dump(self, obj: Sequence[int]) -> Buffer:
        """Write the dimensions of the array, and each number after its length."""
        numbers = np.empty(len(obj), dtype=[("length", ">i4"), ("number", ">i8")])
        numbers["length"], numbers["number"] = 8, obj
        return struct.pack("!5i", 1, 0, types["int8"].oid, len(obj), 1) + numbers.tobytes()


def copied(value: ServerValue) -> ServerValue:
    """Copy a list that is sent later, because its caller may go on with it."""
    if not isinstance(value, (tuple, list)):
        return value
    is_whole = set(map(type, value)) == {int} and min(value) >= _SMALLEST and max(value) <= _LARGEST
    return WholeNumbers(value) if is_whole else list(value)


class BoundStatement(NamedTuple):
    """A statement with its values; the driver decides whether it stays prepared, unless that would be a mistake."""

    sql: str
    values: Mapping[str, ServerValue] | None = None
    prepare: bool | None = None


# A list of ids that is known only in part: the rest is where earlier statements of the same pipeline have left it.
LISTED = "string_to_array(concat_ws(',', %({key})s::text, {places}), ',')::bigint[]"
PLACE = "NULLIF(current_setting('{place}', true), '')"
# Leaves the ids that a statement finds for those behind it; they are gone with the transaction.
_NOTED = "WITH found AS MATERIALIZED ({sql}), noted AS MATERIALIZED (SELECT {notes}) SELECT found.* FROM found, noted"
_NOTE = (
    "set_config('{place}', (SELECT string_agg(NULLIF(concat_ws(',', {columns}), ''), ',') FROM {rows}), true) AS {name}"
)
_NEAREST_ROWS = "(SELECT * FROM found ORDER BY similarity DESC, item_id LIMIT {first}) AS nearest"


class OpenQuestion:
    """A statement that waits for its round trip, and where it will leave the ids that it finds."""

    def __init__(self, statement: BoundStatement) -> None:
        self._statement = statement
        self._notes: dict[tuple[tuple[str, ...], int | None], str] = {}
        self.rows: list[Row] | None = None

    def place(self, columns: tuple[str, ...], first: int | None, fresh: str) -> str:
        """Return where the ids in some columns will be."""
        return self._notes.setdefault((columns, first), fresh)

    @property
    def statement(self) -> BoundStatement:
        """The statement as it is sent."""
        if not self._notes:
            return self._statement
        notes = [
            _NOTE.format(
                place=place,
                columns=", ".join(columns),
                rows="found" if first is None else _NEAREST_ROWS.format(first=first),
                name=f"noted_{number}",
            )
            for number, ((columns, first), place) in enumerate(self._notes.items())
        ]
        return self._statement._replace(sql=_NOTED.format(sql=self._statement.sql, notes=", ".join(notes)))


class PostgresAnswer(Generic[T]):
    """What one or more questions bring, as soon as somebody needs it."""

    def __init__(
        self, unit: PostgresUnit, questions: Sequence[OpenQuestion], read: Callable[[list[list[Row]]], T], key: str
    ) -> None:
        self._unit = unit
        self._questions = questions
        self._read = read
        self._key = key
        # Empty, or the answer itself.
        self._answer: list[T] = []

    def get(self) -> T:
        """Return the answer, with one round trip for everything that is open."""
        if not self._answer:
            if any(each.rows is None for each in self._questions):
                self._unit.answer()
            rows = [each.rows for each in self._questions if each.rows is not None]
            # The unit has failed, or ended without it. No rows would be an answer, too.
            if len(rows) < len(self._questions):
                raise unit_is_over()
            self._answer.append(self._read(rows))
        return self._answer[0]

    def ids(self, *columns: str, first: int | None = None) -> Ids:
        """Return the ids in some columns; if they are not known yet, where they will be."""
        wanted = columns or (self._key,)
        if self._unit.is_distributed:
            # What a statement leaves on one node is not to be relied on in another.
            self.get()
        if all(each.rows is not None for each in self._questions):
            rows = [row for each in self._questions for row in each.rows or []]
            return ids_in(lambda column: [row[column] for row in rows], wanted, first)
        places = (each.place(wanted, first, self._unit.fresh_place()) for each in self._questions)
        return Ids((), tuple(places))


class FoundIds(PostgresAnswer[list[int]]):
    """Ids that are found here and not by the server, so that nothing can be asked about them before they are known."""

    def ids(self, *columns: str, first: int | None = None) -> Ids:
        """Return the ids; `columns` do not matter, for there is only one."""
        del columns
        return Ids(tuple(self.get()[:first]))
