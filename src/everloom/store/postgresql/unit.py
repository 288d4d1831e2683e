"""A unit of work on PostgreSQL: named statements, ids, marks, postings and vectors, in as few round trips as possible.

What is sent waits for the next question, and a unit that reads begins with its first one. Refuses to know how a
transaction begins and which connection it has: the store gives it both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg.rows import DictRow

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
    Value,
    VectorHit,
)
from everloom.store.engine import (
    Constants,
    best_hits,
    finds_nothing,
    indexed_words,
    nearest_first,
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
)
from everloom.store.postgresql import words
from everloom.store.postgresql.asking import (
    LISTED,
    PLACE,
    BoundStatement,
    FoundIds,
    OpenQuestion,
    PostgresAnswer,
    ServerValue,
    copied,
)
from everloom.store.postgresql.beginning import (
    NOWHERE,
    Numbering,
    enter_workspace,
    first_numbers,
)
from everloom.store.postgresql.nearness import NearIndex, NearIndexes
from everloom.store.postgresql.opening import (
    GRACE_SECONDS,
    Connection,
    to_neutral,
)
from everloom.store.postings import postings_of
from everloom.store.statements import sealings, statements

if TYPE_CHECKING:
    from everloom.store.postgresql.store import PostgresStore

T = TypeVar("T")

# For copies, maintenance and the removal of a workspace, which take as long as there are rows.
LONG_SECONDS = 3_600.0
# Rows that wait at most until they are sent.
_MOST_WAITING = 1_000
# What a statement calls the probes that it compares with vectors, and the columns that tell how near these are.
_PROBES = ("probe", "other_probe")
_COSINES = ("similarity", "other_similarity")


@dataclass(frozen=True, slots=True)
class BegunUnit:
    """What is known when a transaction has begun: where new workspaces begin to count, and what a writer gives."""

    above: int = 0
    numbering: Numbering | None = None
    is_distributed: bool = False


class PostgresUnit:
    """A unit of work on one connection, bound to one workspace."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(
        self,
        connection: Connection,
        workspace: int,
        constants: Constants,
        begun: BegunUnit,
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
        self._waiting: list[tuple[str, list[dict[str, ServerValue]]]] = []
        # What was asked and is not answered yet.
        self._open: list[OpenQuestion] = []
        self._places = 0
        # The postings of rare words that came with their counts.
        self._postings: dict[str, bytes] = {}

    def _execute(
        self,
        name: str,
        params: Mapping[str, ServerValue],
        written: Mapping[str, int] | None = None,
        prepare: bool | None = None,
    ) -> psycopg.Cursor[DictRow]:
        self._marks.note(name, params)
        sql = self._sql[name].format(**written) if written else self._sql[name]
        (cursor,) = self._reach([BoundStatement(sql, self._bound(name, params), prepare)])
        return cursor

    def _reach(self, statements: Sequence[BoundStatement]) -> list[psycopg.Cursor[DictRow]]:
        """Run statements in one round trip, after those that wait and those that are open."""
        asked, self._open = self._open, []
        cursors = self._travel([*(each.statement for each in asked), *statements])
        for each, cursor in zip(asked, cursors, strict=False):
            each.rows = cast("list[Row]", cursor.fetchall())
        return cursors[len(asked) :]

    def _travel(self, statements: Sequence[BoundStatement]) -> list[psycopg.Cursor[DictRow]]:
        """Go to the server and back once."""
        if len(statements) == 1 and not self._waiting:
            return [self._start(each) for each in statements]
        waiting, self._waiting = self._waiting, []
        # The first that fails keeps those behind it from running, and is the one whose error is raised.
        with self._connection.batch():
            for sql, rows in waiting:
                self._connection.cursor().executemany(sql, rows)
            return [self._start(each) for each in statements]

    def _start(self, statement: BoundStatement) -> psycopg.Cursor[DictRow]:
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
        params: Mapping[str, ServerValue | Ids],
        written: Mapping[str, int] | None = None,
        prepare: bool | None = None,
    ) -> OpenQuestion:
        self._marks.note(name, params)
        sql = self._sql[name].format(**written) if written else self._sql[name]
        given: dict[str, ServerValue] = {}
        for key, value in params.items():
            if not isinstance(value, Ids):
                given[key] = value
            elif value.places:
                given[key] = ",".join(map(str, value.known)) or None
                places = ", ".join(PLACE.format(place=place) for place in value.places)
                sql = sql.replace(f"%({key})s", LISTED.format(key=key, places=places))
            else:
                given[key] = value.known
        question = OpenQuestion(BoundStatement(sql, self._bound(name, given), prepare))
        if finds_nothing({key: value for key, value in params.items() if isinstance(value, Ids)}):
            question.rows = []
        else:
            self._open.append(question)
        return question

    def _bound(self, name: str, params: Mapping[str, ServerValue]) -> dict[str, ServerValue]:
        """Complete the values of a statement."""
        values = {key: copied(value) for key, value in params.items()}
        return self._sealed(name, {"workspace": self.workspace, **values})

    def _sealed(self, name: str, params: dict[str, ServerValue]) -> dict[str, ServerValue]:
        """Add the checksum of the row, if the statement writes content."""
        if seal := self._sealings.get(name):
            params[COLUMN] = seal.checksum({key: to_neutral(value) for key, value in params.items()})
        return params

    def run(self, name: str, /, **params: ServerValue) -> int:
        """Run a named statement and return how many rows it changed."""
        return self._execute(name, params).rowcount

    def send(self, name: str, /, **params: ServerValue) -> None:
        """Run a named statement with the next one."""
        self._marks.note(name, params)
        self._wait_with(name, [self._bound(name, params)])

    def many(self, name: str, rows: Iterable[Mapping[str, ServerValue]], /) -> None:
        """Run a named statement once for each row of values, with the next one."""
        noted = self._marks.note_each(name, rows)
        self._wait_with(name, [self._sealed(name, {"workspace": self.workspace, **row}) for row in noted])

    def _wait_with(self, name: str, rows: list[dict[str, ServerValue]]) -> None:
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

    def one(self, name: str, /, **params: ServerValue) -> Row | None:
        """Return the first row, or None."""
        return self._execute(name, params).fetchone()

    def all(self, name: str, /, **params: ServerValue) -> list[Row]:
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
        self._reach([BoundStatement(each) for each in (*saving, "COMMIT")])

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

            return FoundIds(self, [question], read, "id")
        found = words.ranked_in(known, weights, reach)
        if reach != EVERYTHING and 0 < len(found) <= words.PAGE:
            # Which of them are inside is told in the round trip that asks for more about those.
            inside = self._asked("words.within", {"ids": found, **reach.params})
            return PostgresAnswer(self, [inside], lambda answers: words.kept_in(found, answers[0])[:limit], "id")
        return FoundIds(self, [], lambda _: words.inside(self, found, limit, reach), "id")

    def put_vectors(self, model_id: int, perspective_id: int, vectors: Mapping[int, np.ndarray], live: bool) -> None:
        """Store one half-precision vector for each document, replacing an older one."""
        place: dict[str, ServerValue] = {"model": model_id, "perspective": perspective_id, "live": int(live)}
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
        questions = [self._ask_nearest(probe, perspective, limit, reach) for perspective in probe.vectors]

        def read(answers: list[list[Row]]) -> list[VectorHit]:
            scores = (_scores(rows, "similarity") for rows in answers)
            return nearest_first(best_hits(dict(zip(probe.vectors, scores, strict=True))), limit)

        return PostgresAnswer(self, questions, read, "item_id")

    def _ask_nearest(self, probe: Probe, perspective: int, limit: int, reach: Reach) -> OpenQuestion:
        vector = probe.vectors[perspective]
        place = {"model": probe.model_id, "perspective": perspective}
        given: dict[str, ServerValue | Ids] = {**place, "probe": HalfVector(vector), "limit": limit}
        if reach != EVERYTHING:
            return self._asked("vectors.nearest_within", given | reach.params)
        if NearIndex(self.workspace, **place) in self._near.known(self):
            written = {**place, "place": self.workspace, "dim": vector.shape[0]}
            return self._asked("vectors.nearest_indexed", given, written)
        # Planned for the size of this workspace: what suits a large one would read the whole table for a small one.
        return self._asked("vectors.nearest", given, prepare=False)

    def similarities(self, item_ids: Ids, *probes: Probe) -> PostgresAnswer[list[dict[int, VectorHit]]]:
        """Compare each of up to two probes with these documents' stored vectors; the best perspective wins."""
        # What several of them are compared with, the server reads once.
        sharing: dict[tuple[int, int], list[int]] = {}
        for number, probe in enumerate(probes):
            for perspective in probe.vectors:
                sharing.setdefault((probe.model_id, perspective), []).append(number)
        questions = []
        for (model, perspective), numbers in sharing.items():
            vectors = [HalfVector(probes[number].vectors[perspective]) for number in numbers]
            name = "vectors.similarities" if len(vectors) == 1 else "vectors.similarities_both"
            place: dict[str, ServerValue | Ids] = {"model": model, "perspective": perspective, "ids": item_ids}
            questions.append(self._asked(name, place | dict(zip(_PROBES, vectors, strict=False))))

        def read(answers: list[list[Row]]) -> list[dict[int, VectorHit]]:
            scores: list[dict[int, dict[int, float]]] = [{} for _ in probes]
            for ((_, perspective), numbers), rows in zip(sharing.items(), answers, strict=True):
                for number, column in zip(numbers, _COSINES, strict=False):
                    scores[number][perspective] = _scores(rows, column)
            return [best_hits(each) for each in scores]

        return PostgresAnswer(self, questions, read, "item_id")

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
            BegunUnit(self._above, None, self.is_distributed),
            self._near,
            self._marks,
        )

    def allow(self, seconds: float) -> None:
        """Let the server be silent for as long as a statement of this unit may take."""
        self._connection.silence = seconds + GRACE_SECONDS

    def _take_time(self) -> None:
        """Let this unit take as long as there are rows."""
        self._reach([])
        self._connection.execute(f"SET LOCAL statement_timeout = '{LONG_SECONDS:.0f}s'".encode())
        self.allow(LONG_SECONDS)

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


def _scores(rows: Iterable[Row], column: str) -> dict[int, float]:
    return {row["item_id"]: row[column] for row in rows}


def _to_native(table: str, row: Mapping[str, Value]) -> dict[str, ServerValue]:
    """Convert a neutral row to PostgreSQL's types."""
    if table != "embedding":
        return dict(row)
    return {**row, "vector": HalfVector(np.frombuffer(cast("bytes", row["vector"]), "<f2"))}


class ReadingUnit(PostgresUnit):
    """A unit that reads: begun by its first statement, and over after its last words."""

    def __init__(self, store: PostgresStore, workspace: int, constants: Constants, near: NearIndexes) -> None:
        self._store = store
        self._held: Connection | None = None
        self._is_over = False
        marks = UnitMarks(store.clock)
        super().__init__(
            cast("Connection", None), workspace, constants, BegunUnit(is_distributed=store.is_distributed), near, marks
        )

    @property
    def _connection(self) -> Connection:
        if self._held is None:
            self._travel([])
        return cast("Connection", self._held)

    @_connection.setter
    def _connection(self, connection: Connection | None) -> None:
        self._held = connection

    def _travel(self, statements: Sequence[BoundStatement]) -> list[psycopg.Cursor[DictRow]]:
        if self._is_over:
            raise unit_is_over()
        if self._held is None and self._waiting:
            # Nothing can be written here, and the server says so.
            self._travel_first([])
        if self._held is not None:
            return super()._travel(statements)
        return self._travel_first(statements)

    def _travel_first(self, statements: Sequence[BoundStatement]) -> list[psycopg.Cursor[DictRow]]:
        """Begin, and run the first statements in the same round trip."""
        self._held, (self._above, cursors) = self._store.begin_reading(self.workspace, statements)
        return cursors

    def end(self) -> None:
        """Answer what is open and end the transaction, in one round trip; the connection is free for others."""
        if self._held is None and len(self._open) == 1 and not self._waiting:
            (question,) = self._open
            self._open.clear()
            question.rows = self._store.ask_once(self.workspace, question.statement)
        elif self._held is not None or self._open or self._waiting:
            self._reach([BoundStatement("COMMIT")])
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
