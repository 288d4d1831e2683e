"""A unit of work on a SQLite file: named statements, ids, marks, the word index, and vectors stored as float16 rows.

Refuses to know how a transaction begins and ends: the store does both.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from everloom.store.checksums import COLUMN, Sealing
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
    ReadyAnswer,
    best_hits,
    count_words,
    finds_nothing,
    indexed_words,
    nearest_first,
    unit_is_over,
)
from everloom.store.marks import UnitMarks
from everloom.store.migrations import (
    batch_of,
    clear_table,
    fill_table,
    key_of,
    read_table,
    workspace_tables,
)
from everloom.store.sqlite.opening import life_of
from everloom.store.sqlite.recent import IndexSize, RecentWords
from everloom.store.sqlite.vectors import Floats, VectorCache, VectorShelf, unpack
from everloom.store.statements import sealings, statements

T = TypeVar("T")

# The workspace of units that concern the store itself.
NOWHERE = 0
_LISTS = (list, tuple)

# Ranking this many times the page and then filtering is cheaper than joining every match, unless few pass the filter.
_SIFTED = 4
# Half as many are read by an average search, which costs it a tenth of a millisecond.
_WAITING = 128
# Documents that are indexed at a time.
_PAGE = 1_000
# Reading so many vectors from their rows is cheaper than ranking the whole workspace a second time.
_FEW = 1_000


class SqliteUnit:
    """A unit of work on one connection, bound to one workspace."""

    engine: Literal["sqlite"] = "sqlite"

    def __init__(
        self,
        connection: sqlite3.Connection,
        workspace: int,
        vectors: VectorCache,
        constants: Constants,
        marks: UnitMarks,
        base: int = 0,
    ) -> None:
        self.workspace = workspace
        # The word index numbers the documents of the whole store; ids are unique in a workspace only.
        self._base = base
        self._connection = connection
        self._vectors: VectorCache | None = vectors
        self._sql = statements("sqlite")
        self._sealings = sealings("sqlite")
        # As they are in the file, and as this unit leaves them.
        self._counters: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        # How many documents wait until their words are indexed, as far as this unit knows, and these documents.
        self._waiting = 0
        self._recent: RecentWords | None = None
        # How many documents hold a word, for the words that were asked for; valid as long as `_recent` is.
        self._held: dict[str, int] = {}
        self._constants = constants
        self._marks = marks
        self._shelves: dict[tuple[int, int], VectorShelf] = {}
        self.only_reads = False
        self._is_over = False

    def _execute(self, name: str, params: dict[str, Any]) -> sqlite3.Cursor:
        if self._is_over:
            raise unit_is_over()
        self._marks.note(name, params)
        for key, value in params.items():
            if isinstance(value, _LISTS):
                params[key] = _listed(value)
            elif isinstance(value, Ids):
                params[key] = _listed(value.known)
        params["workspace"] = self.workspace
        if seal := self._sealings.get(name):
            params[COLUMN] = seal.checksum(params)
        return self._connection.execute(self._sql[name], params)

    def _bound(self, rows: Iterable[Mapping[str, Any]], seal: Sealing | None) -> Iterator[dict[str, Any]]:
        """Complete the parameters of rows, with their checksums if they are content."""
        for row in rows:
            params = {"workspace": self.workspace, **row}
            if seal:
                params[COLUMN] = seal.checksum(params)
            yield params

    def run(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> int:
        """Run a named statement and return how many rows it changed."""
        return self._execute(name, params).rowcount

    def send(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> None:
        """Run a named statement, at once: there is no round trip to save."""
        self._execute(name, params)

    def many(self, name: str, rows: Iterable[Mapping[str, Value]], /) -> None:
        """Run a named statement once for each row of values."""
        self._connection.executemany(
            self._sql[name], self._bound(self._marks.note_each(name, rows), self._sealings.get(name))
        )

    def one(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> Row | None:
        """Return the first row, or None."""
        row: Row | None = self._execute(name, params).fetchone()
        return row

    def all(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> list[Row]:
        """Return every row."""
        return self._execute(name, params).fetchall()

    def together(self, *lookups: Lookup) -> list[list[Row]]:
        """Return every row of several statements, one after the other."""
        return [self.ask(each.name, **each.params).get() for each in lookups]

    def ask(self, name: str, /, **params: Given) -> ReadyAnswer[list[Row]]:
        """Read every row at once: there is no round trip to save."""
        rows: list[Row] = [] if finds_nothing(params) else self._execute(name, params).fetchall()
        return ReadyAnswer(rows, lambda column: [row[column] for row in rows])

    def end(self) -> None:
        """Take no more statements; the block ends the transaction, for which nobody waits here."""
        self._is_over = self.only_reads

    def last(self, name: str, /, **params: Given) -> list[Row]:
        """Return every row, and take no more statements."""
        rows = self.ask(name, **params)
        self.end()
        return rows.get()

    def pages(
        self, name: str, size: int, /, **params: Value | Sequence[int] | Sequence[str]
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Return every row as a tuple, a page at a time: for very many rows, which are made faster than named ones."""
        cursor = self._execute(name, params)
        cursor.row_factory = None
        while page := cursor.fetchmany(size):
            yield page

    def ids(self, count: int) -> range:
        """Take fresh ids from the counter; the write lock makes them grow in commit order."""
        return self._take("item", count)

    def numbers(self) -> Numbers:
        """Return the last numbers that were given in this file."""
        return Numbers(self._last("item"), self._last("revision"))

    def _last(self, counter: str) -> int:
        if not self._counters:
            self._counters = {row["name"]: row["last"] for row in self.all("kernel.counters_read")}
        return self._taken.get(counter, self._counters[counter])

    def count_on(self, last: Numbers) -> None:
        """Give only numbers above these."""
        known = self.numbers()
        self._taken = {"item": max(known.item, last.item), "revision": max(known.revision, last.revision)}

    def _take(self, counter: str, count: int) -> range:
        last = self._taken[counter] = self._last(counter) + count
        return range(last - count + 1, last + 1)

    # Counters are read once per unit and written back once, at its end, so that many ids cost two statements. The write
    # lock is held from the beginning, so nobody else can take the same ids in the meantime.
    def finish(self) -> None:
        """Save the counters, index the words that wait, mark what is due; the store calls this before it commits."""
        if self._waiting >= _WAITING:
            self.fold_recent()
        if self._taken:
            self.run("kernel.counters_advance", **{**self._counters, **self._taken})
        if self.workspace != NOWHERE and (rows := self._marks.rows):
            self.many("kernel.due_mark", rows)

    def constant(self, key: Hashable, read: Callable[[], T | None], /) -> T | None:
        """Return what never changes once it is committed."""
        return self._constants.get(key, read)

    def index_words(self, item_ids: Sequence[int]) -> None:
        """Add the documents' words to the word index and its counts; the newest ones wait."""
        self.index_fresh(self._words_of(item_ids))

    def index_fresh(self, documents: Sequence[IndexedWords]) -> None:
        """Add the words of documents that were just written."""
        self._write_words("words.index_add", self._counted(documents), sign=1)

    def unindex_words(self, item_ids: Sequence[int]) -> list[IndexedWords]:
        """Remove the documents' words, as their rows now list them, from the word index and its counts."""
        known = self._words_of(item_ids)
        self._write_words("words.index_drop", self._counted(known), sign=-1)
        return known

    def _counted(self, documents: Sequence[IndexedWords]) -> list[IndexedWords]:
        """Select the documents that do not wait, and note how many do."""
        self._recent = None
        (tally,) = self.all("words.tally_through")
        self._waiting = tally["waiting"]
        return [each for each in documents if each.item_id <= tally["through"]]

    def _words_of(self, item_ids: Sequence[int]) -> list[IndexedWords]:
        return indexed_words(self.all("words.of_documents", ids=list(item_ids)))

    def _write_words(self, name: str, documents: Sequence[IndexedWords], *, sign: int) -> int | None:
        """Change the word index and the counts; return the highest id."""
        if not documents:
            return None
        self.many(
            name,
            (
                {
                    "id": self._base + each.item_id,
                    "text": self._mark_words(each.words, each.live),
                    "context": self._mark_words(each.context_words, each.live),
                }
                for each in documents
            ),
        )
        counts = count_words(documents).signed(sign)
        self.many("words.term_count", ({"term": term, "count": count} for term, count in counts.terms.items()))
        totals = {"documents": counts.documents, "words": counts.words, "context_words": counts.context_words}
        self.run("words.tally_count", **totals)
        return max(each.item_id for each in documents)

    # The words of a text lie all over the index and the counts: writing them one text at a time changes a dozen pages
    # and makes a segment of the index each. Up to a hundred or so wait, and are read from their rows by those
    # who search.
    def fold_recent(self) -> None:
        """Add the words of all documents that wait."""
        self._recent = None
        while waiting := indexed_words(self.all("words.waiting", limit=_PAGE)):
            self.run("words.tally_fold", through=self._write_words("words.index_add", waiting, sign=1))
        self._waiting = 0

    def _read_recent(self) -> RecentWords:
        """Read the documents that wait; once, as a unit sees one snapshot and its own writes."""
        if self._recent is None:
            self._held = {}
            self._recent = RecentWords(self.all("words.waiting", limit=-1))
        return self._recent

    def count_holding(self, terms: Collection[str]) -> ReadyAnswer[dict[str, int]]:
        """Count the documents that hold each of the words; a word that no document holds is absent."""
        return ReadyAnswer(self._count_holding(terms), lambda _: ())

    def _count_holding(self, terms: Collection[str]) -> dict[str, int]:
        recent = self._read_recent()
        unknown = [term for term in terms if term not in self._held]
        if unknown:
            counted = {row["term"]: row["documents"] for row in self.all("words.term_of", terms=unknown)}
            self._held.update((term, counted.get(term, 0) + recent.holding(term)) for term in unknown)
        return {term: count for term in terms if (count := self._held[term])}

    def _mark_words(self, words: str, live: int) -> str:
        """Prefix each word with the workspace and whether the document is current."""
        # With the workspace in the word itself, a query reads the postings of one workspace only; filtering by a join
        # with the documents costs 20 times as much.
        mark = f"{self.workspace}." if live else f"{self.workspace}~"
        return " ".join(mark + word for word in words.split())

    def word_candidates(self, weights: Mapping[str, float], limit: int, reach: Reach) -> ReadyAnswer[list[int]]:
        """Find the documents that contain any of the terms, by FTS5's own BM25 with the context at half weight."""
        found = self._indexed_candidates(weights, limit, reach) if weights else []
        if weights and (recent := self._recent_candidates(weights, reach)):
            found = sorted([*found, *recent])
        ids = [item for _, item in found[:limit]]
        return ReadyAnswer(ids, lambda _: ids)

    def _indexed_candidates(self, weights: Mapping[str, float], limit: int, reach: Reach) -> list[tuple[float, int]]:
        """Ask the word index; a lower score is better."""
        marks = (".",) if reach.is_present else (".", "~")
        query = " OR ".join(_quote(f"{self.workspace}{mark}{term}") for term in weights for mark in marks)
        if reach.is_present:
            depth = limit if reach == EVERYTHING else limit * _SIFTED
            found = self.all("words.find", query=query, limit=depth, base=self._base)
            inside = None if reach == EVERYTHING else {*self._sift([row["id"] for row in found], reach)}
            kept = [(row["score"], row["id"]) for row in found if inside is None or row["id"] in inside]
            if len(kept) >= limit or len(found) < depth:
                return kept[:limit]
        rows = self.all("words.find_within", query=query, limit=limit, base=self._base, **reach.params)
        return [(row["score"], row["id"]) for row in rows]

    def _recent_candidates(self, weights: Mapping[str, float], reach: Reach) -> list[tuple[float, int]]:
        """Rank the documents that wait as the word index would."""
        recent = self._read_recent()
        matching = recent.matching(weights, reach)
        if not matching:
            return []
        (row,) = self.all("words.averages")
        return recent.ranked(matching, self._count_holding([*weights]), IndexSize.read(row["block"]))

    def _sift(self, ids: Sequence[int], reach: Reach) -> list[int]:
        """Keep the ids inside the reach, in order."""
        inside = {row["id"] for row in self.all("words.within", ids=list(ids), **reach.params)}
        return [item for item in ids if item in inside]

    def put_vectors(self, model_id: int, perspective_id: int, vectors: Mapping[int, np.ndarray], live: bool) -> None:
        """Store one float16 vector for each document, replacing an older one."""
        self._leave_cache()
        place = {"model": model_id, "perspective": perspective_id, "live": int(live)}
        numbered = zip(vectors.items(), self._take("revision", len(vectors)), strict=True)
        self.many(
            "vectors.put",
            (
                {**place, "item": item, "vector": vector.astype("<f2").tobytes(), "revision": revision}
                for (item, vector), revision in numbered
            ),
        )

    def retire_vectors(self, item_ids: Sequence[int]) -> None:
        """Hide the documents' vectors from all searches except those about the past.

        Other processes notice it by the new revision.
        """
        self._revise_vectors("vectors.retire", item_ids)

    def forget_vectors(self, item_ids: Sequence[int]) -> None:
        """Blank the documents' vectors; processes that hold them in memory would not notice a deleted row."""
        self._revise_vectors("vectors.blank", item_ids)

    def drop_vectors(self, item_ids: Sequence[int]) -> None:
        """Delete the documents' vectors, and note that they are gone for processes that hold them in memory."""
        self._leave_cache()
        held = sorted({key["item_id"] for key in self.all("vectors.keys_of_items", ids=list(item_ids))})
        self.run("vectors.drop", ids=held)
        gone = zip(held, self._take("revision", len(held)), strict=True)
        self.many("vectors.gone_add", ({"item": item, "revision": revision} for item, revision in gone))

    def _leave_cache(self) -> None:
        """Stop using the shared vector cache in this unit, because its writes may still be rolled back."""
        self._vectors = None
        self._shelves.clear()

    def _shelf(self, model: int, perspective: int, dim: int) -> VectorShelf:
        # A unit sees one snapshot and its own writes, so that a shelf which has caught up once stays up to date.
        held = self._shelves.get((model, perspective))
        if held is None:
            # Most units that write vectors read none, so their own cache is created only when one does.
            if self._vectors is None:
                self._vectors = VectorCache()
            held = self._shelves[model, perspective] = self._vectors.shelf(self, model, perspective, dim)
        return held

    def _revise_vectors(self, name: str, item_ids: Sequence[int]) -> None:
        self._leave_cache()
        keys = self.all("vectors.keys_of_items", ids=list(item_ids))
        revisions = self._take("revision", len(keys))
        places = (
            {"model": key["model_id"], "perspective": key["perspective_id"], "item": key["item_id"]} for key in keys
        )
        self.many(name, ({**place, "revision": number} for place, number in zip(places, revisions, strict=True)))

    def nearest(self, probe: Probe, limit: int, reach: Reach) -> ReadyAnswer[list[VectorHit]]:
        """Search the vectors in memory, brought up to date with other processes' writes, then compare exactly."""
        found: set[int] = set()
        for perspective, vector in probe.vectors.items():
            shelf = self._shelf(probe.model_id, perspective, vector.shape[0])
            found.update(self._reachable(shelf.nearest(vector, live_only=reach.is_present), limit, reach))
        hits = nearest_first(self._similarities(probe, sorted(found)), limit)
        return ReadyAnswer(hits, lambda _: [hit.item_id for hit in hits])

    def _reachable(self, candidates: Callable[[int], list[int]], limit: int, reach: Reach) -> list[int]:
        """Request ever larger pages of candidates until one has `limit` inside the reach, or there are no more."""
        if reach == EVERYTHING:
            return candidates(limit)
        page, before = limit, -1
        while True:
            found = candidates(page)
            inside = self._sift(found, reach)
            # Candidates may outnumber the page, because sign bits rank roughly. The share of them that is inside the
            # reach is taken for that of the page itself.
            if page * len(inside) >= limit * len(found) or len(found) == before:
                return inside
            # Where few documents are of the kinds that are asked for, comparing all of these is cheaper and exact.
            if before < 0 and (few := self._few(reach)) is not None:
                return few
            page, before = page * 8, len(found)

    def _few(self, reach: Reach) -> list[int] | None:
        """List all documents inside the reach, if only few are of its kinds; None if there may be many."""
        if reach.kinds is None:
            return None
        bounds = {"happened_from": reach.happened_from, "happened_until": reach.happened_until, "limit": _FEW + 1}
        found = [row["id"] for row in self.all("words.of_kinds", kinds=reach.kinds, **bounds)]
        return None if len(found) > _FEW else self._sift(found, reach)

    def similarities(self, item_ids: Ids, *probes: Probe) -> ReadyAnswer[list[dict[int, VectorHit]]]:
        """Compare each of the probes with these documents' stored vectors; the best perspective wins."""
        found = [self._similarities(probe, item_ids.known) for probe in probes]
        return ReadyAnswer(found, lambda _: [hit.item_id for hit in nearest_first(found[0], len(found[0]))])

    def _similarities(self, probe: Probe, item_ids: Sequence[int]) -> dict[int, VectorHit]:
        return best_hits(
            {each: self._compare(probe.model_id, each, probe.vectors[each], item_ids) for each in probe.vectors}
        )

    def _compare(self, model: int, perspective: int, vector: Floats, item_ids: Sequence[int]) -> dict[int, float]:
        shelf = self._shelf(model, perspective, vector.shape[0])
        held = shelf.similarities(vector, item_ids)
        if held is not None:
            return held
        rows = self.all("vectors.of_items", model=model, perspective=perspective, ids=list(item_ids))
        scores = unpack([row["vector"] for row in rows], vector.shape[0]) @ vector
        return dict(zip((row["item_id"] for row in rows), scores.tolist(), strict=True))

    def vectors(self, model_id: int, perspective_id: int, item_ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Read the documents' stored vectors; blanked ones are absent."""
        rows = self.all("vectors.of_items", model=model_id, perspective=perspective_id, ids=list(item_ids))
        found = {row["item_id"]: np.frombuffer(row["vector"], "<f2").astype(np.float32) for row in rows}
        return {item: vector for item, vector in found.items() if vector.any()}

    def enter(self, workspace: int) -> SqliteUnit:
        """Go on in another workspace, in the same transaction."""
        life = life_of(self._connection, workspace)
        base = (life and life["word_base"]) or 0
        return SqliteUnit(self._connection, workspace, VectorCache(), self._constants, self._marks, base)

    def rows_of(self, table: str, *, in_order: bool = False) -> Iterator[dict[str, Value]]:
        """Read a whole table for a copy."""
        mine = " WHERE workspace_id = :workspace" if table in workspace_tables("sqlite") else ""
        order = f" ORDER BY {', '.join(key_of(table))}" if in_order else ""
        for row in self._connection.execute(read_table(table, "sqlite") + mine + order, {"workspace": self.workspace}):
            yield dict(row)

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Insert rows in the form that `rows_of` yields."""
        if rows:
            self._marks.note_copy()
            self._connection.executemany(fill_table(table, rows[0], ":{}"), rows)

    def clear(self, table: str) -> None:
        """Delete this workspace's rows from a table."""
        self._marks.note_clear(table)
        self._connection.execute(clear_table(table, "?"), (self.workspace,))

    def fill(self, step: int, limit: int) -> int:
        """Complete up to `limit` rows of this workspace by a fill step."""
        return self._connection.execute(
            batch_of("sqlite", step), {"workspace": self.workspace, "limit": limit}
        ).rowcount


def _listed(values: Sequence[int] | Sequence[str]) -> str:
    """Write a list as JSON; Python writes a list of numbers in the same way, and three times as fast."""
    return str([*values]) if values and type(values[0]) is int else json.dumps(values)


def _quote(token: str) -> str:
    """Quote a token as an FTS5 string, so that none of its characters is syntax."""
    return '"' + token.replace('"', '""') + '"'
