"""Code that both engines share: the connection pool, the counts of the word index, and rows as dataclasses.

Owns the number of connections and the process they belong to; idle ones are reused last in, first out. Knows the two
encodings that all tables use: an instant as microseconds, a boolean as 0 or 1. Other encodings, such as JSON, are left
to the code that knows the table. Refuses to know what a connection is.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from functools import cache
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, Forbidden, StoreBusy, StoreError, WorkspaceGone, WorkspaceLeaving
from everloom.store.contract import Ids, IndexedWords, Params, Row, StoreLoad, Value, VectorHit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C")
V = TypeVar("V")
T = TypeVar("T", bound="DataclassInstance")


class Pool(Generic[C]):
    """A bounded set of connections, opened on demand. A forked child never uses its parent's.

    Idle connections are closed before a fork. Unless the engine `survives_fork`, a child that was forked while a
    connection was in use cannot use the store: SQLite's locks would exist in the child's memory only.
    """

    def __init__(
        self,
        connect: Callable[[], C],
        disconnect: Callable[[C], None],
        *,
        size: int,
        patience: float,
        survives_fork: bool = True,
    ) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._size = size
        self._patience = patience
        self._survives_fork = survives_fork
        self._closed = False
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._owner = os.getpid()
        self._idle: list[C] = []
        self._out = self._waits = 0
        self._waited = 0.0
        self._lock = Lock()
        self._free = BoundedSemaphore(self._size)

    def take(self) -> C:
        """Return an idle connection or a new one; wait for one when all are in use."""
        if self._owner != os.getpid():
            if self._out and not self._survives_fork:
                raise StoreError(
                    "this process was forked while another thread was using the store",
                    hint="start processes with spawn instead of fork, or before any thread uses the store",
                )
            # New locks, too: a thread that exists only in the parent may have held the old ones at the fork.
            self._reset()
        if self._closed:
            raise StoreError("this store is closed", hint="open it again with open_loom()")
        if not self._free.acquire(blocking=False) and not self._wait():
            raise StoreBusy(f"all {self._size} connections are in use", hint="try again, or use fewer threads")
        with self._lock:
            self._out += 1
            # The one that was used last: its cache is warm, and the others may stay idle.
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        # Even an interrupt by the user must free the slot, or the pool would shrink for good.
        except BaseException:
            self._free_slot()
            raise

    def _wait(self) -> bool:
        """Wait until a connection is free; how often and how long that was is counted."""
        began = time.monotonic()
        is_free = self._free.acquire(timeout=self._patience)
        with self._lock:
            self._waits += 1
            self._waited += time.monotonic() - began
        return is_free

    def load(self, queue: WriterQueue) -> StoreLoad:
        """Tell how many connections are in use and idle, and how long anybody waited for one, or in the queue."""
        with self._lock:
            held = (self._out, len(self._idle), self._size, self._waits, self._waited)
        return StoreLoad(*held, queue.writes, queue.seconds)

    def _free_slot(self) -> None:
        with self._lock:
            self._out -= 1
        self._free.release()

    def give_back(self, connection: C) -> None:
        """Return a healthy connection to the pool."""
        with self._lock:
            is_closed = self._closed
            if not is_closed:
                self._idle.append(connection)
        if is_closed:
            self._disconnect(connection)
        self._free_slot()

    def discard(self, connection: C) -> None:
        """Close a broken connection, and the idle ones, which most likely broke at the same time."""
        with self._lock:
            broken = [connection, *self._idle]
            self._idle.clear()
        for each in broken:
            self._disconnect(each)
        self._free_slot()

    def close_idle(self) -> None:
        """Close the connections that are idle now."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self._disconnect(connection)

    def close(self) -> None:
        """Close the connections that are idle now, and the others as they are returned."""
        with self._lock:
            self._closed = True
        self.close_idle()


class WriterQueue:
    """How many units of a process began to write, and how long all of them had to wait for that."""

    def __init__(self) -> None:
        self.writes, self.seconds = 0, 0.0
        self._lock = Lock()

    def passed(self, since: float) -> None:
        """Note that a unit which came at this moment of the monotonic clock begins to write."""
        with self._lock:
            self.writes += 1
            self.seconds += time.monotonic() - since


# Weak, because a hook of `os` cannot be taken back: a store that nobody uses any more must not be kept by it.
_POOLS: WeakSet[Pool[Any]] = WeakSet()


def _close_idle_before_fork() -> None:
    """Keep a child process from inheriting idle connections."""
    for pool in list(_POOLS):
        pool.close_idle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle_before_fork)


def in_use(address: str) -> Conflict:
    """Describe a store that cannot be replaced because others have it open."""
    return Conflict(
        f"another process has {address} open",
        hint="stop it (servers, workers, clients), or let this wait for it with --wait SECONDS; nothing was changed",
    )


def holds_workspaces(address: str, names: Sequence[str]) -> Conflict:
    """Describe a store that is not replaced, because it is not empty and nobody said that it may be."""
    return Conflict(
        f"{address} already contains workspaces ({', '.join(names[:5])})",
        hint="restore to another store, or use --force",
    )


class Need(Enum):
    """What a unit is going to do, which decides whether a workspace that is on its way allows it."""

    READING = "reading"
    WRITING = "writing"
    # What the journey itself writes.
    MOVING = "moving"


def check_state(life: Mapping[str, Any] | Row | None, need: Need) -> None:
    """Refuse a unit in a workspace that is on its way elsewhere, or has gone."""
    if life is None or need is Need.MOVING or life["state"] in (None, "here", "arriving"):
        return
    name, place = life["name"], life["destination"]
    if life["state"] == "gone":
        raise WorkspaceGone(f"the workspace {name!r} has moved to {place}", hint=f"open it there: {place}")
    if need is Need.WRITING:
        raise WorkspaceLeaving(
            f"the workspace {name!r} is moving to {place}; until then it can only be read",
            hint="try again there in a moment; `everloom move` with the same words ends a move that was interrupted",
        )


def refuse_write(address: str) -> Forbidden:
    """Explain why a store that was opened only for reading takes no write."""
    hint = "leave out --read-only, or unset store.read_only (EVERLOOM_STORE_READ_ONLY)"
    return Forbidden(f"{address} was opened only for reading", hint=hint)


def unit_is_over() -> RuntimeError:
    """Explain a statement behind the last: a mistake of the program, not of its user."""
    return RuntimeError("this unit of work has ended: nothing more can be asked of it")


def best_hits(scores: Mapping[int, Mapping[int, float]]) -> dict[int, VectorHit]:
    """Choose the best perspective for each document; `scores` are grouped by perspective."""
    best: dict[int, VectorHit] = {}
    for perspective, found in scores.items():
        for item, score in found.items():
            if item not in best or score > best[item].similarity:
                best[item] = VectorHit(item, score, perspective)
    return best


def nearest_first(hits: Mapping[int, VectorHit], limit: int) -> list[VectorHit]:
    """Sort hits by similarity, ties by age, so that the order is the same in every run."""
    return sorted(hits.values(), key=lambda hit: (-hit.similarity, hit.item_id))[:limit]


class ReadyAnswer(Generic[V]):
    """An answer that is there already, and the ids in it by column."""

    def __init__(self, value: V, found: Callable[[str], Sequence[int | None]]) -> None:
        self._value = value
        self._found = found

    def get(self) -> V:
        """Return the answer."""
        return self._value

    def ids(self, *columns: str, first: int | None = None) -> Ids:
        """Return the ids in some columns."""
        return ids_in(self._found, columns, first)


def ids_in(found: Callable[[str], Sequence[int | None]], columns: Sequence[str], first: int | None) -> Ids:
    """Collect the ids in some columns, each once."""
    listed = dict.fromkeys(item for column in columns or ("item_id",) for item in found(column)[:first])
    listed.pop(None, None)
    return Ids(tuple(item for item in listed if item is not None))


def finds_nothing(params: Params) -> bool:
    """Return whether a question is about no item at all, so that nobody need be asked."""
    return any(isinstance(value, Ids) and not value.known and not value.places for value in params.values())


_MOST_CONSTANTS = 20_000


class Constants:
    """What a unit knows of rows that never change: what was committed before it, and what it has read itself."""

    def __init__(self, committed: dict[Hashable, Any]) -> None:
        self._committed = committed
        self._own: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], V | None]) -> V | None:
        """Return a constant, reading it if nobody has; None is not remembered."""
        known: V | None = self._committed.get(key)
        if known is None:
            known = self._own.get(key)
        if known is None and (known := read()) is not None:
            self._own[key] = known
        return known

    # Only after the commit: a unit may have read its own row, and been rolled back.
    def publish(self) -> None:
        """Let all units of the process know what this one has read."""
        if self._own:
            # Bounded, because every workspace has some; what is dropped is read again.
            if len(self._committed) > _MOST_CONSTANTS:
                self._committed.clear()
            self._committed.update(self._own)


def indexed_words(rows: Iterable[Row]) -> list[IndexedWords]:
    """Read the words of documents from their rows."""
    return [IndexedWords(row["item_id"], row["words"], row["context_words"], row["live"]) for row in rows]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Word counts of some documents, to be added to or subtracted from a workspace's totals."""

    documents: int
    words: int
    context_words: int
    terms: dict[str, int]

    def signed(self, sign: int) -> WordCounts:
        """Multiply all counts by `sign`: -1 turns an addition into a removal."""
        terms = {term: sign * count for term, count in self.terms.items()}
        return WordCounts(sign * self.documents, sign * self.words, sign * self.context_words, terms)


def count_words(listed: Iterable[IndexedWords]) -> WordCounts:
    """Count the words that the documents' rows list."""
    documents = words = context_words = 0
    terms: Counter[str] = Counter()
    for each in listed:
        text, context = each.words.split(), each.context_words.split()
        documents, words, context_words = documents + 1, words + len(text), context_words + len(context)
        terms.update({*text, *context})
    return WordCounts(documents, words, context_words, dict(sorted(terms.items())))


# Keyed by the annotation as a string, because all modules postpone the evaluation of annotations.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "datetime": from_micros,
    # Columns that may not be null store 0 for no time.
    "datetime | None": lambda micros: from_micros(micros) if micros else None,
}


def value_from(shape: type[T], row: Row, **given: object) -> T:
    """Build a dataclass from a row: each field that is not given is read from the column of the same name."""
    own = {name: read(row[name]) if read else row[name] for name, read in _plan(shape) if name not in given}
    return shape(**own, **given)


@cache
def _plan(shape: type[DataclassInstance]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    return tuple((each.name, _READ.get(str(each.type))) for each in fields(shape))


def columns_of(value: DataclassInstance, *names: str) -> dict[str, Value]:
    """Encode some fields of a dataclass for the columns of the same names."""
    return {name: _written(getattr(value, name)) for name in names}


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value
