"""The contract of an engine: units of work, named statements, fresh ids, candidates by words and by vectors.

Pure types: knows neither SQLite nor PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np

# Later than every time that can be stored.
FOREVER = 2**62

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Value = str | int | float | bytes | None


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids for the list of a statement: known ones, and those that an earlier question of the same round trip finds.

    A server keeps the latter for the statements behind it, under the names of `places`; whoever asks need not wait to
    learn them. What is asked for with them may be more than is needed: taking away reaches known ids only.
    """

    known: tuple[int, ...] = ()
    places: tuple[str, ...] = ()

    def __or__(self, other: Ids) -> Ids:
        """Join two lists."""
        return Ids((*dict.fromkeys((*self.known, *other.known)),), (*dict.fromkeys((*self.places, *other.places)),))

    def __sub__(self, other: Ids) -> Ids:
        """Take away what is known of another list."""
        gone = frozenset(other.known)
        return replace(self, known=tuple(item for item in self.known if item not in gone))


Given = Value | Sequence[int] | Sequence[str] | Ids
Params = Mapping[str, Given]


class Row(Protocol):
    """One row of a result, read by column name."""

    def __getitem__(self, column: str, /) -> Any:
        """Read one column."""
        ...


@dataclass(frozen=True, slots=True)
class Reach:
    """Limits on the documents that a search may see: kinds, when they happened, and as of when (microseconds)."""

    kinds: tuple[str, ...] | None = None
    happened_from: int = -FOREVER
    happened_until: int = FOREVER
    as_of: int = FOREVER

    @property
    def is_present(self) -> bool:
        """Whether the search is about the present rather than an earlier moment."""
        return self.as_of == FOREVER

    @property
    def params(self) -> dict[str, Value | Sequence[str]]:
        """The reach as parameters for a statement."""
        return {
            "every_kind": int(self.kinds is None),
            "kinds": self.kinds or (),
            "happened_from": self.happened_from,
            "happened_until": self.happened_until,
            "as_of": self.as_of,
        }


EVERYTHING = Reach()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """How a store uses its engine: how many seconds it waits for others, after which it gives up with `StoreBusy`.

    For a server to accept a connection, for other writers, and for one statement that reads: a server that is silent
    for longer than that counts as gone. No wait is without an end. The rest concerns servers only: how many connections
    a process opens at most, and whether it leaves statements prepared there, which some poolers between cannot handle.
    """

    connect_seconds: float = 5.0
    lock_seconds: float = 30.0
    statement_seconds: float = 15.0
    connections: int = 16
    prepared_statements: bool = True


class Lookup(NamedTuple):
    """A statement that reads, with its values."""

    name: str
    params: Params


def look_up(name: str, /, **params: Given) -> Lookup:
    """Name a statement that reads, to be asked together with others."""
    return Lookup(name, params)


class IndexedWords(NamedTuple):
    """The words of a document as its row lists them, and whether it is current."""

    item_id: int
    words: str
    context_words: str
    live: int


class Numbers(NamedTuple):
    """The last id and the last revision that were given."""

    item: int
    revision: int


class VectorHit(NamedTuple):
    """A document near a probe, its cosine similarity, and the perspective with the highest one."""

    item_id: int
    similarity: float
    perspective_id: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A query as vectors: one for each perspective, all made by one model."""

    model_id: int
    vectors: Mapping[int, np.ndarray]


class StoreAnswer(Protocol[T_co]):
    """What was asked of a unit, and is read when somebody needs it, together with all that was asked by then."""

    def get(self) -> T_co:
        """Return the answer; if it is not there yet, everything that is still open is answered in one round trip."""
        ...

    def ids(self, *columns: str, first: int | None = None) -> Ids:
        """Return the ids in some columns of the rows, by default all `item_id`, for a question that is asked next.

        `first` limits them to the nearest, or to the first rows.
        """
        ...


class Unit(Protocol):
    """One transaction in one workspace. It fills in `:workspace` in every statement, so no other can be reached."""

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The engine that runs the statements."""
        ...

    @property
    def workspace(self) -> int:
        """The id of the workspace that this unit is bound to."""
        ...

    def run(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> int:
        """Run a named statement and return how many rows it changed."""
        ...

    def send(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> None:
        """Run a named statement whose count nobody needs.

        It runs before every later one of this unit, but an engine may wait with it until there is one, to save a round
        trip: what it refuses is raised there, or at the end of the unit.
        """
        ...

    def many(self, name: str, rows: Iterable[Mapping[str, Value]], /) -> None:
        """Run a named statement once for each row of values; like `send`, perhaps later."""
        ...

    def together(self, *lookups: Lookup) -> list[list[Row]]:
        """Return every row of several statements, none of which depends on another: one round trip for all."""
        ...

    def ask(self, name: str, /, **params: Given) -> StoreAnswer[list[Row]]:
        """Ask for every row of a statement that reads; an engine may wait with it until an answer is needed.

        `Ids` without an id find nothing, whatever the statement says.
        """
        ...

    def end(self) -> None:
        """Answer everything that is still open, and end a unit that reads, in one round trip.

        Then it refuses every statement; its answers can still be read. A unit that writes ends with its block.
        """
        ...

    def last(self, name: str, /, **params: Given) -> list[Row]:
        """Return every row of a statement, and end a unit that reads: alone in its unit, it costs one round trip."""
        ...

    def one(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> Row | None:
        """Return the first row, or None."""
        ...

    def all(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> list[Row]:
        """Return every row."""
        ...

    def ids(self, count: int) -> Sequence[int]:
        """Take `count` fresh ids, larger than every id that is committed in this workspace."""
        ...

    def numbers(self) -> Numbers:
        """Return the last numbers that were given here; in a unit of the store itself, where new workspaces begin."""
        ...

    def count_on(self, last: Numbers) -> None:
        """Give only numbers above these; in a unit of the store itself, in workspaces that are made later."""
        ...

    def constant(self, key: Hashable, read: Callable[[], T | None], /) -> T | None:
        """Return what never changes once it is committed; read once, and then known to the units of this process.

        What is not there yet is None, and read again the next time. `key` names the workspace where it matters.
        """
        ...

    def index_words(self, item_ids: Sequence[int]) -> None:
        """Add the documents' words to the word index."""
        ...

    def index_fresh(self, documents: Sequence[IndexedWords]) -> None:
        """Add the words of documents whose rows this unit has just written, as those list them."""
        ...

    def unindex_words(self, item_ids: Sequence[int]) -> list[IndexedWords]:
        """Remove the documents' words, as their rows now list them, from the word index; returns them."""
        ...

    def count_holding(self, terms: Collection[str]) -> StoreAnswer[dict[str, int]]:
        """Count the documents that hold each of the words; a word that no document holds is absent."""
        ...

    def word_candidates(self, weights: Mapping[str, float], limit: int, reach: Reach) -> StoreAnswer[list[int]]:
        """Find the documents that contain any of the weighted terms, best first by the engine's own measure."""
        ...

    def put_vectors(self, model_id: int, perspective_id: int, vectors: Mapping[int, np.ndarray], live: bool) -> None:
        """Store one vector for each document, replacing an older one."""
        ...

    def retire_vectors(self, item_ids: Sequence[int]) -> None:
        """Hide the documents' vectors from all searches except those about the past."""
        ...

    def forget_vectors(self, item_ids: Sequence[int]) -> None:
        """Discard the vectors of documents whose text changed; they have none until new ones are stored."""
        ...

    def drop_vectors(self, item_ids: Sequence[int]) -> None:
        """Delete the documents' vectors, also from the memory of other processes."""
        ...

    def nearest(self, probe: Probe, limit: int, reach: Reach) -> StoreAnswer[list[VectorHit]]:
        """Find the documents nearest to the probe, each by its best perspective."""
        ...

    def similarities(self, item_ids: Ids, *probes: Probe) -> StoreAnswer[Sequence[dict[int, VectorHit]]]:
        """Compare each of the probes with these documents exactly; those without a vector are absent.

        The ids in the answer are in the order of the first.
        """
        ...

    def vectors(self, model_id: int, perspective_id: int, item_ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Read the documents' stored vectors for one model and perspective; those without one are absent."""
        ...

    def rows_of(self, table: str, *, in_order: bool = False) -> Iterator[dict[str, Value]]:
        """Read a whole table for a copy, or this workspace's rows of it; vectors are float16 bytes.

        `in_order` sorts them by their key, texts by their characters: the same on every engine.
        """
        ...

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Insert rows in the form that `rows_of` yields."""
        ...

    def clear(self, table: str) -> None:
        """Delete this workspace's rows from a table."""
        ...

    def fill(self, step: int, limit: int) -> int:
        """Complete up to `limit` rows of this workspace by a fill step; returns how many, and 0 at the end."""
        ...


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The result of an engine's self-check; `problems` is empty when it found none."""

    engine: Literal["sqlite", "postgresql"]
    version: str
    schema_version: int
    bytes_used: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What an engine did to overwrite deleted bytes, and where such bytes may still be."""

    is_done: bool
    steps: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreLoad:
    """How busy a store keeps this process: its connections, and how long units waited for one or for other writers.

    `most` is how many connections there may be; `writes` counts the units that began to write.
    """

    in_use: int = 0
    idle: int = 0
    most: int = 0
    waits: int = 0
    waited_seconds: float = 0.0
    writes: int = 0
    write_seconds: float = 0.0


class Store(Protocol):
    """A database that holds workspaces. Safe to use from several threads and several processes at once."""

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The name of the engine."""
        ...

    @property
    def address(self) -> str:
        """The location of the database, without any password."""
        ...

    @property
    def is_read_only(self) -> bool:
        """Whether it was opened only for reading; `write` then raises Forbidden."""
        ...

    @property
    def load(self) -> StoreLoad:
        """How busy it keeps this process, without asking the engine."""
        ...

    def read(self, workspace: int) -> AbstractContextManager[Unit]:
        """Begin a read-only unit of work that sees a single snapshot. It needs no right, room or lock to write."""
        ...

    def snapshot(self) -> AbstractContextManager[Callable[[int], Unit]]:
        """Begin to read every workspace as of one moment; gives a function that enters one, and leaves the one before.

        For copies of the whole store, which may take as long as there are rows.
        """
        ...

    def write(
        self, workspace: int, *, patience: float | None = None, is_durable: bool = True, is_moving: bool = False
    ) -> AbstractContextManager[Unit]:
        """Begin a unit of work that commits when the block ends and rolls back when it raises.

        `patience` bounds the seconds that it waits for other writers. One that is not durable does not wait for the
        disk either, and a power failure may undo it. A workspace that is being moved to another store refuses every
        unit that writes, unless it `is_moving`: a part of the move.
        """
        ...

    def check(self) -> None:
        """Check in constant time that the store answers; raises an error if not."""
        ...

    def health(self, *, deep: bool = False) -> StoreHealth:
        """Check the engine: version, size, integrity; with `deep`, read everything and name what is damaged."""
        ...

    def maintain(self, workspace: int) -> list[str]:
        """Do the engine's own maintenance for a workspace that has grown; return what was done."""
        ...

    def scrub(self, *, at_most: int | None = None) -> Scrubbed:
        """Overwrite the bytes of deleted rows in the engine's files; a store of more than `at_most` bytes is left."""
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target` while others continue to read and write.

        If what was copied is damaged, the copy is written and an error names the damage.
        """
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
