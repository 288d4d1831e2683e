"""A PostgreSQL database as a store: transactions, the write lock of a workspace, replacing lost connections.

A unit of work runs named statements, takes ids, maintains postings, and leaves vectors to the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg.rows import DictRow

from everloom.clock import Clock
from everloom.errors import SchemaMismatch, StoreBusy, StoreReplaced
from everloom.store.address import redact
from everloom.store.checksums import COLUMN
from everloom.store.contract import (
    EVERYTHING,
    Given,
    Ids,
    IndexedWords,
    Lookup,
    Numbers,
    Probe,
    Reach,
    Row,
    Scrubbed,
    StoreHealth,
    StoreLimits,
    StoreLoad,
    Value,
    VectorHit,
)
from everloom.store.engine import (
    Constants,
    Need,
    Pool,
    WriterQueue,
    best_hits,
    check_state,
    finds_nothing,
    ids_in,
    indexed_words,
    nearest_first,
    refuse_write,
    unit_is_over,
)
from everloom.store.marks import UnitMarks
from everloom.store.migrations import (
    batch_of,
    clear_table,
    columns_of_table,
    fill_table,
    key_of,
    read_table,
    refuse_older,
)
from everloom.store.postgresql import nearness, words
from everloom.store.postgresql.beginning import (
    NOWHERE,
    Numbering,
    UnitLimits,
    begin_first,
    begin_reading,
    begin_shortly,
    begin_writing,
    enter_workspace,
    first_numbers,
    spread,
)
from everloom.store.postgresql.faults import is_lost, translate_error
from everloom.store.postgresql.nearness import NearIndex, NearIndexes, lacking, superfluous
from everloom.store.postgresql.opening import (
    GRACE_SECONDS,
    Connection,
    connect_for_units,
    prepare,
    to_neutral,
    version_of,
)
from everloom.store.postgresql.scrubbing import IN_USE, SPREAD, scrub
from everloom.store.postings import postings_of
from everloom.store.statements import sealings, statements
from everloom.store.verifying import content_problems, derived_problems

T = TypeVar("T")

# A statement that writes, such as a batch of an import, may take longer than one that reads.
_WRITE_SECONDS = 60.0
# For copies, maintenance and the removal of a workspace, which take as long as there are rows.
_LONG_SECONDS = 3_600.0
_LIMITS = StoreLimits()
# Rows that wait at most until they are sent.
_MOST_WAITING = 1_000
_Given = Value | Sequence[int] | Sequence[str] | Sequence[bytes] | HalfVector


class _Statement(NamedTuple):
    """A statement with its values; the driver decides whether it stays prepared, unless that would be a mistake."""

    sql: str
    values: Mapping[str, _Given] | None = None
    prepare: bool | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is known when a transaction has begun: where new workspaces begin to count, and what a writer gives."""

    above: int = 0
    numbering: Numbering | None = None
    is_distributed: bool = False


# A list of ids that is known only in part: the rest is where earlier statements of the same pipeline have left it.
_LISTED = "string_to_array(concat_ws(',', %({key})s::text, {places}), ',')::bigint[]"
_PLACE = "NULLIF(current_setting('{place}', true), '')"
# Leaves the ids that a statement finds for those behind it; they are gone with the transaction.
_NOTED = "WITH found AS MATERIALIZED ({sql}), noted AS MATERIALIZED (SELECT {notes}) SELECT found.* FROM found, noted"
_NOTE = (
    "set_config('{place}', (SELECT string_agg(NULLIF(concat_ws(',', {columns}), ''), ',') FROM {rows}), true) AS {name}"
)
_NEAREST_ROWS = "(SELECT * FROM found ORDER BY similarity DESC, item_id LIMIT {first}) AS nearest"


class _Question:
    """A statement that waits for its round trip, and where it will leave the ids that it finds."""

    def __init__(self, statement: _Statement) -> None:
        self._statement = statement
        self._notes: dict[tuple[tuple[str, ...], int | None], str] = {}
        self.rows: list[Row] | None = None

    def place(self, columns: tuple[str, ...], first: int | None, fresh: str) -> str:
        """Return where the ids in some columns will be."""
        return self._notes.setdefault((columns, first), fresh)

    @property
    def statement(self) -> _Statement:
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
        self, unit: PostgresUnit, questions: Sequence[_Question], read: Callable[[list[list[Row]]], T], key: str
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


class _FoundIds(PostgresAnswer[list[int]]):
    """Ids that are found here and not by the server, so that nothing can be asked about them before they are known."""

    def ids(self, *columns: str, first: int | None = None) -> Ids:
        """Return the ids; `columns` do not matter, for there is only one."""
        del columns
        return Ids(tuple(self.get()[:first]))


class PostgresUnit:
    """A unit of work on one connection, bound to one workspace."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(
        self,
        connection: Connection,
        workspace: int,
        constants: Constants,
        begun: _Begun,
        near: NearIndexes,
        marks: UnitMarks,
    ) -> None:
        self.workspace = workspace
        self._near = near
        self._constants = constants
        self._above = begun.above
        self._numbering = begun.numbering
        self.is_distributed = begun.is_distributed
        self._marks = marks
        self._connection = connection
        self._sql = statements("postgresql")
        self._sealings = sealings("postgresql")
        # What was sent and has not reached the server yet: a statement, and the values of each of its rows.
        self._waiting: list[tuple[str, list[dict[str, _Given]]]] = []
        # What was asked and is not answered yet.
        self._open: list[_Question] = []
        self._places = 0
        # The postings of rare words that came with their counts.
        self._postings: dict[str, bytes] = {}

    def _execute(
        self,
        name: str,
        params: Mapping[str, _Given],
        written: Mapping[str, int] | None = None,
        prepare: bool | None = None,
    ) -> psycopg.Cursor[DictRow]:
        self._marks.note(name, params)
        sql = self._sql[name].format(**written) if written else self._sql[name]
        (cursor,) = self._reach([_Statement(sql, self._bound(name, params), prepare)])
        return cursor

    def _reach(self, statements: Sequence[_Statement]) -> list[psycopg.Cursor[DictRow]]:
        """Run statements in one round trip, after those that wait and those that are open."""
        asked, self._open = self._open, []
        cursors = self._travel([*(each.statement for each in asked), *statements])
        for each, cursor in zip(asked, cursors, strict=False):
            each.rows = cast("list[Row]", cursor.fetchall())
        return cursors[len(asked) :]

    def _travel(self, statements: Sequence[_Statement]) -> list[psycopg.Cursor[DictRow]]:
        """Go to the server and back once."""
        if len(statements) == 1 and not self._waiting:
            return [self._start(each) for each in statements]
        waiting, self._waiting = self._waiting, []
        # The first that fails keeps those behind it from running, and is the one whose error is raised.
        with self._connection.pipeline():
            for sql, rows in waiting:
                self._connection.cursor().executemany(sql, rows)
            return [self._start(each) for each in statements]

    def _start(self, statement: _Statement) -> psycopg.Cursor[DictRow]:
        return self._connection.execute(statement.sql, statement.values, binary=True, prepare=statement.prepare)

    def end(self) -> None:
        """Answer what is open; the block ends the transaction."""
        self.answer()

    def last(self, name: str, /, **params: Given) -> list[Row]:
        """Return every row, and end the unit."""
        rows = self.ask(name, **params)
        self.end()
        return rows.get()

    def answer(self) -> None:
        """Answer everything that is open, in one round trip."""
        if self._open:
            self._reach([])

    def fresh_place(self) -> str:
        """Name a place for ids: the same in every unit that does the same, so that its statements stay prepared."""
        self._places += 1
        return f"everloom.ids_{self._places}"

    def ask(self, name: str, /, **params: Given) -> PostgresAnswer[list[Row]]:
        """Ask for every row of a statement, when the next answer is needed."""
        return PostgresAnswer(self, [self._asked(name, params)], lambda answers: answers[0], "item_id")

    def _asked(
        self,
        name: str,
        params: Mapping[str, _Given | Ids],
        written: Mapping[str, int] | None = None,
        prepare: bool | None = None,
    ) -> _Question:
        self._marks.note(name, params)
        sql = self._sql[name].format(**written) if written else self._sql[name]
        given: dict[str, _Given] = {}
        for key, value in params.items():
            if not isinstance(value, Ids):
                given[key] = value
            elif value.places:
                given[key] = ",".join(map(str, value.known)) or None
                places = ", ".join(_PLACE.format(place=place) for place in value.places)
                sql = sql.replace(f"%({key})s", _LISTED.format(key=key, places=places))
            else:
                given[key] = list(value.known)
        question = _Question(_Statement(sql, self._bound(name, given), prepare))
        if finds_nothing({key: value for key, value in params.items() if isinstance(value, Ids)}):
            question.rows = []
        else:
            self._open.append(question)
        return question

    def _bound(self, name: str, params: Mapping[str, _Given]) -> dict[str, _Given]:
        """Complete the values of a statement."""
        # Copied, because a statement may wait while its caller goes on with its lists.
        values = {key: list(value) if isinstance(value, (tuple, list)) else value for key, value in params.items()}
        return self._sealed(name, {"workspace": self.workspace, **values})

    def _sealed(self, name: str, params: dict[str, _Given]) -> dict[str, _Given]:
        """Add the checksum of the row, if the statement writes content."""
        if seal := self._sealings.get(name):
            params[COLUMN] = seal.checksum({key: to_neutral(value) for key, value in params.items()})
        return params

    def run(self, name: str, /, **params: _Given) -> int:
        """Run a named statement and return how many rows it changed."""
        return self._execute(name, params).rowcount

    def send(self, name: str, /, **params: _Given) -> None:
        """Run a named statement with the next one."""
        self._marks.note(name, params)
        self._wait_with(name, [self._bound(name, params)])

    def many(self, name: str, rows: Iterable[Mapping[str, _Given]], /) -> None:
        """Run a named statement once for each row of values, with the next one."""
        noted = self._marks.note_each(name, rows)
        self._wait_with(name, [self._sealed(name, {"workspace": self.workspace, **row}) for row in noted])

    def _wait_with(self, name: str, rows: list[dict[str, _Given]]) -> None:
        # What was asked before it does not see it.
        self.answer()
        if rows:
            self._waiting.append((self._sql[name], rows))
        # Bounded, because an import sends as much as there is; then it is worth a round trip by itself.
        if sum(len(each) for _, each in self._waiting) > _MOST_WAITING:
            self._reach([])

    def together(self, *lookups: Lookup) -> list[list[Row]]:
        """Return every row of several statements, in one round trip."""
        asked = [self.ask(each.name, **each.params) for each in lookups]
        return [each.get() for each in asked]

    def one(self, name: str, /, **params: _Given) -> Row | None:
        """Return the first row, or None."""
        return self._execute(name, params).fetchone()

    def all(self, name: str, /, **params: _Given) -> list[Row]:
        """Return every row."""
        return cast("list[Row]", self._execute(name, params).fetchall())

    def ids(self, count: int) -> Sequence[int]:
        """Take fresh ids; writers of a workspace take turns, so its ids grow in commit order."""
        return self._counting().ids(count)

    def _counting(self) -> Numbering:
        """Return what gives numbers; a unit that only reads holds no lock, and the server refuses it one."""
        if self._numbering is None:
            self.one("kernel.lock_take")
            self._numbering = Numbering(self.workspace, self.numbers())
        return self._numbering

    def numbers(self) -> Numbers:
        """Return the last numbers that were given."""
        # A unit that reads knows where to begin once it has begun.
        self._reach([])
        if self.workspace == NOWHERE:
            return Numbers(self._above, 0)
        if self._numbering is not None:
            return self._numbering.last
        row = self.one("kernel.numbers_read")
        return first_numbers(self.workspace, self._above) if row is None else Numbers(row["item"], row["revision"])

    def count_on(self, last: Numbers) -> None:
        """Give only numbers above these."""
        if self.workspace == NOWHERE:
            self.run("kernel.count_above", last=last.item)
            self._above = max(self._above, last.item)
        else:
            self._counting().advance(last)

    def commit(self) -> None:
        """Save the numbers that were given, and end the transaction, together with what waits; the store calls this."""
        saving = self._numbering.saving() if self._numbering else ()
        self._reach([_Statement(each) for each in (*saving, "COMMIT")])

    def finish(self) -> None:
        """Mark what is due by what this unit has written; the store calls this just before it commits."""
        if self.workspace != NOWHERE and (rows := self._marks.rows):
            self.many("kernel.due_mark", rows)

    def constant(self, key: Hashable, read: Callable[[], T | None], /) -> T | None:
        """Return what never changes once it is committed."""
        return self._constants.get(key, read)

    def index_words(self, item_ids: Sequence[int]) -> None:
        """Add documents to the postings of their words, and the words to the counts."""
        words.index(self, self._words_of(item_ids))

    def _words_of(self, item_ids: Sequence[int]) -> list[IndexedWords]:
        return indexed_words(self.all("words.of_documents", ids=list(item_ids)))

    def index_fresh(self, documents: Sequence[IndexedWords]) -> None:
        """Add documents that were just written to the postings of their words, and the words to the counts."""
        words.index_newest(self, documents, postings_of(documents))

    def unindex_words(self, item_ids: Sequence[int]) -> list[IndexedWords]:
        """Remove documents from the postings of their words, and the words from the counts."""
        known = self._words_of(item_ids)
        words.unindex(self, known)
        return known

    def count_holding(self, terms: Collection[str]) -> PostgresAnswer[dict[str, int]]:
        """Count the documents that hold each of the words; the postings of rare ones come along."""
        question = self._asked("words.term_of", {"terms": list(terms), "few": words.FEW})

        def read(answers: list[list[Row]]) -> dict[str, int]:
            self._postings.update({row["term"]: row["postings"] for row in answers[0] if row["postings"] is not None})
            return {row["term"]: row["documents"] for row in answers[0]}

        return PostgresAnswer(self, [question], read, "term")

    def word_candidates(self, weights: Mapping[str, float], limit: int, reach: Reach) -> PostgresAnswer[list[int]]:
        """Find the documents that contain any of the terms, ranked by each term's impact and weight."""
        known = [(term, self._postings[term]) for term in weights if term in self._postings]
        if len(known) < len(weights):
            question = self._asked("words.find", {"terms": list(weights)})

            def read(answers: list[list[Row]]) -> list[int]:
                return words.candidates(self, words.listed_in(answers[0]), weights, limit, reach)

            return _FoundIds(self, [question], read, "id")
        found = words.ranked_in(known, weights, reach)
        if reach != EVERYTHING and 0 < len(found) <= words.PAGE:
            # Which of them are inside is told in the round trip that asks for more about those.
            inside = self._asked("words.within", {"ids": found, **reach.params})
            return PostgresAnswer(self, [inside], lambda answers: words.kept_in(found, answers[0])[:limit], "id")
        return _FoundIds(self, [], lambda _: words.inside(self, found, limit, reach), "id")

    def put_vectors(self, model_id: int, perspective_id: int, vectors: Mapping[int, np.ndarray], live: bool) -> None:
        """Store one half-precision vector for each document, replacing an older one."""
        place: dict[str, _Given] = {"model": model_id, "perspective": perspective_id, "live": int(live)}
        numbered = zip(vectors.items(), self._counting().revisions(len(vectors)), strict=True)
        rows = (
            {**place, "item": item, "vector": HalfVector(vector), "revision": revision}
            for (item, vector), revision in numbered
        )
        self.many("vectors.put", rows)

    def retire_vectors(self, item_ids: Sequence[int]) -> None:
        """Hide the documents' vectors from all searches except those about the past."""
        (revision,) = self._counting().revisions(1)
        self.send("vectors.retire", ids=list(item_ids), revision=revision)

    def forget_vectors(self, item_ids: Sequence[int]) -> None:
        """Delete the documents' vectors."""
        self.send("vectors.blank", ids=list(item_ids))

    def drop_vectors(self, item_ids: Sequence[int]) -> None:
        """Delete the documents' vectors; no process holds a copy."""
        self.send("vectors.drop", ids=list(item_ids))

    def nearest(self, probe: Probe, limit: int, reach: Reach) -> PostgresAnswer[list[VectorHit]]:
        """Let the server rank the workspace's vectors by distance, perspective by perspective."""
        name = "vectors.nearest" if reach == EVERYTHING else "vectors.nearest_within"
        params: dict[str, _Given | Ids] = {"limit": limit, **({} if reach == EVERYTHING else reach.params)}
        return self._compare(name, probe, params, lambda hits: nearest_first(hits, limit))

    def similarities(self, probe: Probe, item_ids: Ids) -> PostgresAnswer[dict[int, VectorHit]]:
        """Compare the probe with these documents' stored vectors; the best perspective wins."""
        return self._compare("vectors.similarities", probe, {"ids": item_ids}, lambda hits: hits)

    def _compare(
        self, name: str, probe: Probe, params: Mapping[str, _Given | Ids], read: Callable[[dict[int, VectorHit]], T]
    ) -> PostgresAnswer[T]:
        def join(answers: list[list[Row]]) -> T:
            scores = {
                perspective: {row["item_id"]: row["similarity"] for row in rows}
                for perspective, rows in zip(probe.vectors, answers, strict=True)
            }
            return read(best_hits(scores))

        known = self._near.known(self) if name == "vectors.nearest" else frozenset()
        # Planned for the size of this workspace: what suits a large one would read the whole table for a small one.
        prepare = False if name == "vectors.nearest" else None
        questions = []
        for perspective, vector in probe.vectors.items():
            place = {"model": probe.model_id, "perspective": perspective}
            given = {**place, "probe": HalfVector(vector), **params}
            if NearIndex(self.workspace, **place) in known:
                written = {**place, "place": self.workspace, "dim": vector.shape[0]}
                questions.append(self._asked("vectors.nearest_indexed", given, written))
            else:
                questions.append(self._asked(name, given, prepare=prepare))
        return PostgresAnswer(self, questions, join, "item_id")

    def vectors(self, model_id: int, perspective_id: int, item_ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Read the documents' stored vectors."""
        rows = self.all("vectors.of_items", model=model_id, perspective=perspective_id, ids=list(item_ids))
        return {row["item_id"]: row["vector"].to_numpy().astype(np.float32) for row in rows}

    def enter(self, workspace: int) -> PostgresUnit:
        """Go on in another workspace, in the same transaction; row-level security follows."""
        self._connection.execute(enter_workspace(workspace).encode(), prepare=False)
        return PostgresUnit(
            self._connection,
            workspace,
            self._constants,
            _Begun(self._above, None, self.is_distributed),
            self._near,
            self._marks,
        )

    def allow(self, seconds: float) -> None:
        """Let the server be silent for as long as a statement of this unit may take."""
        self._connection.silence = seconds + GRACE_SECONDS

    def _take_time(self) -> None:
        """Let this unit take as long as there are rows."""
        self._reach([])
        self._connection.execute(f"SET LOCAL statement_timeout = '{_LONG_SECONDS:.0f}s'".encode())
        self.allow(_LONG_SECONDS)

    def rows_of(self, table: str, *, in_order: bool = False) -> Iterator[dict[str, Value]]:
        """Read a whole table for a copy; row-level security leaves only this workspace's rows."""
        self._take_time()
        types = columns_of_table(table)
        key = [f'{name} COLLATE "C"' if types[name] == "TEXT" else name for name in key_of(table)]
        order = f" ORDER BY {', '.join(key)}" if in_order else ""
        with self._connection.cursor(binary=True) as cursor:
            for row in cursor.stream((read_table(table, "postgresql") + order).encode()):
                yield {column: to_neutral(value) for column, value in row.items()}

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Insert rows in the form that `rows_of` yields."""
        if rows:
            self._take_time()
            self._marks.note_copy()
            statement = fill_table(table, rows[0], "%({})s")
            with self._connection.cursor() as cursor:
                cursor.executemany(statement.encode(), [_to_native(table, row) for row in rows])

    def clear(self, table: str) -> None:
        """Delete this workspace's rows from a table."""
        self._take_time()
        self._marks.note_clear(table)
        self._connection.execute(clear_table(table, "%s").encode(), (self.workspace,))

    def fill(self, step: int, limit: int) -> int:
        """Complete up to `limit` rows of this workspace by a fill step."""
        given = {"workspace": self.workspace, "limit": limit}
        return self._connection.execute(batch_of("postgresql", step).encode(), given).rowcount


def _to_native(table: str, row: Mapping[str, Value]) -> dict[str, _Given]:
    """Convert a neutral row to PostgreSQL's types."""
    if table != "embedding":
        return dict(row)
    return {**row, "vector": HalfVector(np.frombuffer(cast("bytes", row["vector"]), "<f2"))}


def _look(connection: Connection) -> _Begun:
    """Begin to read what belongs to no workspace."""
    connection.execute("BEGIN READ ONLY")
    return _Begun()


class _ReadingUnit(PostgresUnit):
    """A unit that reads: begun by its first statement, and over after its last words."""

    def __init__(self, store: PostgresStore, workspace: int, constants: Constants, near: NearIndexes) -> None:
        self._store = store
        self._held: Connection | None = None
        self._is_over = False
        marks = UnitMarks(store.clock)
        super().__init__(
            cast("Connection", None), workspace, constants, _Begun(is_distributed=store.is_distributed), near, marks
        )

    @property
    def _connection(self) -> Connection:
        if self._held is None:
            self._travel([])
        return cast("Connection", self._held)

    @_connection.setter
    def _connection(self, connection: Connection | None) -> None:
        self._held = connection

    def _travel(self, statements: Sequence[_Statement]) -> list[psycopg.Cursor[DictRow]]:
        if self._is_over:
            raise unit_is_over()
        if self._held is None and self._waiting:
            # Nothing can be written here, and the server says so.
            self._travel_first([])
        if self._held is not None:
            return super()._travel(statements)
        return self._travel_first(statements)

    def _travel_first(self, statements: Sequence[_Statement]) -> list[psycopg.Cursor[DictRow]]:
        """Begin, and run the first statements in the same round trip."""
        self._held, (self._above, cursors) = self._store.begin_reading(self.workspace, statements)
        return cursors

    def end(self) -> None:
        """Answer what is open and end the transaction, in one round trip; the connection is free for others."""
        if self._held is not None or self._open or self._waiting:
            self._reach([_Statement("COMMIT")])
        self.leave()

    def commit(self) -> None:
        """End the transaction, if it has begun and nobody has ended it."""
        self._open.clear()
        self.end()

    def leave(self) -> None:
        """Give the connection back, whatever has become of the transaction."""
        self._is_over = True
        connection, self._held = self._held, None
        if connection is not None:
            self._store.end(connection)


class PostgresStore:
    """One PostgreSQL database, shared by any number of threads, processes and machines."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(
        self,
        url: str,
        clock: Clock,
        limits: StoreLimits = _LIMITS,
        *,
        schema: str | None = None,
        is_read_only: bool = False,
    ) -> None:
        self.address = redact(url)
        self._url = url
        self._schema = schema
        self.is_read_only = is_read_only
        self.clock = clock
        self._limits = limits
        opened = prepare(url, self.address, clock, limits, schema, is_read_only=is_read_only)
        self._incarnation, self.is_distributed = opened.incarnation, opened.is_distributed
        self._pool = Pool(self._connect, Connection.close, size=limits.connections, patience=limits.lock_seconds)
        self._queue = WriterQueue()
        self._constants: dict[Hashable, Any] = {}
        self._near = NearIndexes()

    @property
    def load(self) -> StoreLoad:
        """How busy the server keeps this process."""
        return self._pool.load(self._queue)

    def _connect(self) -> Connection:
        return connect_for_units(self._url, self.address, self._limits, self._schema)

    @contextmanager
    def read(self, workspace: int) -> Iterator[PostgresUnit]:
        """Begin a unit that sees a snapshot of the database, with its first statement."""
        constants = Constants(self._constants)
        unit = _ReadingUnit(self, int(workspace), constants, self._near)
        try:
            yield unit
            unit.commit()
            constants.publish()
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            unit.leave()

    def begin_reading(
        self, workspace: int, statements: Sequence[_Statement]
    ) -> tuple[Connection, tuple[int, list[psycopg.Cursor[DictRow]]]]:
        """Begin a transaction that reads, and run its first statements in the same round trip."""
        limits = UnitLimits(self._limits.lock_seconds, self._limits.statement_seconds)
        if self.is_distributed:
            beginning = [_Statement(each) for each in spread(begin_reading(workspace, limits))]
        else:
            beginning = [_Statement(*each) for each in begin_shortly(workspace, limits)]

        def begin(connection: Connection) -> tuple[int, list[psycopg.Cursor[DictRow]]]:
            cursors: list[psycopg.Cursor[DictRow]] = []
            try:
                with connection.pipeline():
                    for sql, values, prepare in (*beginning, *statements):
                        cursors.append(connection.execute(sql, values, binary=True, prepare=prepare))
            except psycopg.Error:
                self._explain(cursors[: len(beginning)])
                raise
            life = self._life_in(cursors[len(beginning) - 1])
            return life["ids_above"], cursors[len(beginning) :]

        return self._begin(begin, limits.longest)

    def _explain(self, beginning: Sequence[psycopg.Cursor[DictRow]]) -> None:
        """Name a store that was replaced: it may lack the tables and columns of a unit's first statements."""
        if beginning and beginning[-1].description is not None:
            self._life_in(beginning[-1])

    def _life_in(self, cursor: psycopg.Cursor[DictRow]) -> DictRow:
        """Read how the store and the workspace stand, and refuse to read what is no longer here."""
        life = cursor.fetchone() if cursor.description else None
        self._check_life(life)
        check_state(life, Need.READING)
        return cast("DictRow", life)

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[int], PostgresUnit]]:
        """Begin to read all workspaces as of one moment, in one transaction."""
        patience = UnitLimits(self._limits.lock_seconds, _LONG_SECONDS)
        # Whoever copies writes elsewhere in between, for as long as that takes.
        begin = begin_reading(NOWHERE, patience, may_rest=True)
        seconds = self._limits.statement_seconds
        with self._unit(NOWHERE, lambda connection: self._begin_reading(connection, begin), seconds) as unit:
            yield unit.enter

    @contextmanager
    def write(
        self, workspace: int, *, patience: float | None = None, is_durable: bool = True, is_moving: bool = False
    ) -> Iterator[PostgresUnit]:
        """Begin a unit that writes; one at a time in each workspace, across all machines."""
        if self.is_read_only:
            raise refuse_write(self.address)
        seconds = self._limits.lock_seconds if patience is None else patience
        longest = max(_WRITE_SECONDS, self._limits.statement_seconds, seconds)
        patient = UnitLimits(seconds, longest)
        begin = (begin_writing(workspace, patient, is_durable=is_durable), begin_first(workspace, patient))
        need = Need.MOVING if is_moving else Need.WRITING

        def start(connection: Connection) -> _Begun:
            return self._begin_writing(connection, workspace, begin, need)

        came = time.monotonic()
        with self._unit(workspace, start, seconds) as unit:
            self._queue.passed(came)
            unit.allow(longest)
            yield unit

    def _begin_reading(self, connection: Connection, begin: Sequence[str]) -> _Begun:
        (life,) = self._ask(connection, begin)
        self._check_life(life)
        check_state(life, Need.READING)
        return _Begun(life["ids_above"], None, self.is_distributed)

    # A writing unit takes the lock of its workspace first, and the end of the transaction releases it. Writers of a
    # workspace therefore take turns across all machines, ids grow in commit order, and a lost connection blocks nobody.
    def _begin_writing(
        self, connection: Connection, workspace: int, begin: tuple[list[str], list[str]], need: Need
    ) -> _Begun:
        _, lock, numbers, life = self._ask(connection, begin[0])
        self._check_life(life)
        if lock is None and (workspace == NOWHERE or life["name"] is not None):
            _, numbers, life = self._ask(connection, begin[1])
            self._check_life(life)
        check_state(life, need)
        above = life["ids_above"]
        last = first_numbers(workspace, above) if numbers is None else Numbers(numbers["item"], numbers["revision"])
        return _Begun(above, Numbering(workspace, last), self.is_distributed)

    @contextmanager
    def _unit(self, workspace: int, start: Callable[[Connection], _Begun], patience: float) -> Iterator[PostgresUnit]:
        connection, begun = self._begin(start, patience)
        try:
            constants = Constants(self._constants)
            unit = PostgresUnit(connection, workspace, constants, begun, self._near, UnitMarks(self.clock))
            yield unit
            unit.finish()
            unit.commit()
            constants.publish()
        except psycopg.Error as error:
            # Not repeated here: if the connection broke during COMMIT, nobody knows whether it happened. The caller
            # does that, with an idempotency key.
            raise translate_error(error, self.address) from error
        finally:
            self.end(connection)

    def _begin(self, start: Callable[[Connection], T], patience: float) -> tuple[Connection, T]:
        """Begin a transaction, replacing connections that died while idle until the time limit is reached."""
        deadline = time.monotonic() + patience
        while True:
            connection = None
            try:
                connection = self._pool.take()
                connection.silence = patience + GRACE_SECONDS
                # Nothing has been written yet, so beginning again on another connection is always safe.
                return connection, start(connection)
            except (psycopg.Error, StoreBusy) as error:
                again = isinstance(error, StoreBusy) or is_lost(error)
                if connection is not None:
                    self.end(connection)
                if not again or time.monotonic() > deadline:
                    raise (error if isinstance(error, StoreBusy) else translate_error(error, self.address)) from error
                time.sleep(0.1)
            # Whatever it is, also a value that cannot be sent: the connection must not be lost to the others.
            except BaseException as error:
                if connection is not None:
                    self.end(connection)
                if isinstance(error, (StoreReplaced, SchemaMismatch)):
                    self._pool.close_idle()
                raise

    def _ask(self, connection: Connection, begin: Sequence[str]) -> list[Any]:
        """Run statements in one round trip, and read the first row of each that answers with rows."""
        if not self.is_distributed:
            cursor = connection.execute("; ".join(begin).encode(), prepare=False)
            found = [cursor.fetchone()] if cursor.description else []
            while cursor.nextset():
                if cursor.description:
                    found.append(cursor.fetchone())
            return found
        # One by one: Citus repeats on other nodes the whole text that a setting was part of.
        with connection.pipeline():
            cursors = [connection.execute(each.encode(), prepare=False) for each in spread(begin)]
        return [cursor.fetchone() for cursor in cursors if cursor.description]

    def _check_life(self, row: DictRow | None) -> None:
        """Refuse to go on if the store was replaced since this process opened it, or no longer suits this program."""
        if row is None or row["incarnation"] != self._incarnation:
            raise StoreReplaced(
                f"{self.address} was migrated or restored while this process had it open",
                hint="restart this process, with the newest everloom; nothing was written",
            )
        refuse_older("postgresql", row["oldest_program"], self.address)

    def end(self, connection: Connection) -> None:
        """Return a connection to the pool without an open transaction, or discard it."""
        try:
            if not connection.broken and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._pool.discard(connection)
        else:
            self._pool.give_back(connection)

    def check(self) -> None:
        """Check that the server answers, and that the store is still the one that was opened."""
        with self.read(NOWHERE) as unit:
            unit.all("kernel.store_identity")

    def health(self, *, deep: bool = False) -> StoreHealth:
        """Ask the server for its version, its size, and whether row-level security applies to this role.

        With `deep`, compare all content with its checksums, and everything derived with what it is derived from.
        """
        connection, _ = self._begin(_look, self._limits.statement_seconds)
        try:
            version = version_of(connection)
            size = connection.execute("SELECT pg_database_size(current_database()) AS size").fetchone()
            role = connection.execute(
                "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self.end(connection)
        problems = []
        if role and (role["rolsuper"] or role["rolbypassrls"]):
            problems.append(
                "the role is a superuser, so row-level security does not apply: connect as an ordinary role"
            )
        if deep:
            problems += [*content_problems(self), *derived_problems(self)]
        server = connection.info.server_version
        return StoreHealth(
            "postgresql", f"{server // 10_000}.{server % 10_000}", version, size["size"] if size else 0, tuple(problems)
        )

    def maintain(self, workspace: int) -> list[str]:
        """Index the vectors of perspectives that have grown large, and refresh the planner's statistics."""
        done = self._index_large(workspace) if self._may_index() else []
        self._administer("ANALYZE document, embedding, posting, term")
        return [*done, "statistics"]

    def _index_large(self, workspace: int) -> list[str]:
        """Create the approximate indexes that a workspace lacks, and drop those that serve nobody any more."""
        with self.read(workspace) as unit:
            counts = sorted(unit.all("vectors.counts"), key=lambda row: -row["count"])
            names = {row["name"]: row["is_empty"] for row in unit.all("vectors.indexes_all")}
        dims = {
            NearIndex(workspace, row["model_id"], row["perspective_id"]): row["dim"]
            for row in counts
            if row["count"] >= nearness.LARGE
        }
        for name in superfluous(names, workspace, dims, [name for name, is_empty in names.items() if is_empty]):
            self._administer(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            names.pop(name)
        wanted = [each for each in dims if each.name in names] + lacking(names, list(dims))
        done = [self._index(each, dims[each]) for each in wanted]
        self._near.forget()
        return [name for name in done if name]

    def _index(self, index: NearIndex, dim: int) -> str | None:
        """Create the partial index of one perspective if it is missing or broken, without blocking writers."""
        found = self._administer("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", index.name)
        if found and found["indisvalid"]:
            return None
        if found and not self._is_being_built(index.name):
            # What an interrupted build leaves is never used and never finished, but every write keeps it up to date.
            self._administer(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}")
        self._administer(index.definition(dim))
        return index.name

    def _may_index(self) -> bool:
        """Say whether this server takes changes of the schema; of a cluster, only the coordinator does."""
        if not self.is_distributed:
            return True
        found = self._administer("SELECT citus_is_coordinator() AS here")
        return found is not None and bool(found["here"])

    def _is_being_built(self, name: str) -> bool:
        """Say whether another process builds an index right now."""
        found = self._administer(
            "SELECT count(*) AS count FROM pg_stat_progress_create_index WHERE index_relid = to_regclass(%s)", name
        )
        return found is not None and found["count"] > 0

    def _administer(self, statement: str, *given: str) -> DictRow | None:
        """Run one maintenance statement outside any transaction."""
        # CREATE INDEX CONCURRENTLY is not allowed inside one.
        connection = self._pool.take()
        connection.silence = _LONG_SECONDS
        try:
            cursor = connection.execute(statement.encode(), given or None, prepare=False)
            return cursor.fetchone() if cursor.description else None
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            self.end(connection)

    def scrub(self, *, at_most: int | None = None) -> Scrubbed:
        """Rewrite every table that holds texts or vectors, so that no deleted byte is left in it."""
        if self.is_distributed:
            return SPREAD
        try:
            return self._scrub(at_most)
        except StoreBusy:
            return IN_USE

    def _scrub(self, at_most: int | None) -> Scrubbed:
        connection = self._pool.take()
        try:
            connection.silence = _LONG_SECONDS
            return scrub(connection, _LONG_SECONDS, at_most)
        except psycopg.Error as error:
            raise translate_error(error, self.address) from error
        finally:
            # Not returned: the next user must not inherit the timeouts.
            connection.close()
            self.end(connection)

    def backup(self, target: Path) -> None:
        """Write every workspace into a SQLite file, which either engine can restore."""
        from everloom.store.transfer import copy_to_file  # noqa: PLC0415  loads the other engine

        copy_to_file(self, target)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
