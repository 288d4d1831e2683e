"""What an engine promises: units of work, named statements, fresh ids, candidates by words and by vectors.

Pure types: knows neither SQLite nor PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

# Later than every time that can be stored.
FOREVER = 2**62

Value = str | int | float | bytes | None
Params = Mapping[str, Value | Sequence[int] | Sequence[str]]


class Row(Protocol):
    """One row of an answer, read by column name."""

    def __getitem__(self, column: str, /) -> Any:
        """Read one column."""
        ...


@dataclass(frozen=True, slots=True)
class Reach:
    """Which documents a search may see: kinds, when they happened, and as of when (microseconds)."""

    kinds: tuple[str, ...] | None = None
    happened_from: int = -FOREVER
    happened_until: int = FOREVER
    as_of: int = FOREVER

    @property
    def is_present(self) -> bool:
        """Say whether the search is about what is believed now."""
        return self.as_of == FOREVER

    @property
    def params(self) -> dict[str, Value | Sequence[str]]:
        """Write the reach as the parameters that statements take."""
        return {
            "every_kind": int(self.kinds is None),
            "kinds": self.kinds or (),
            "happened_from": self.happened_from,
            "happened_until": self.happened_until,
            "as_of": self.as_of,
        }


EVERYTHING = Reach()


class VectorHit(NamedTuple):
    """A document near a probe, its cosine similarity, and the perspective that brought it nearest."""

    item_id: int
    similarity: float
    perspective_id: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A question as vectors: one for each perspective, all made by one model."""

    model_id: int
    vectors: Mapping[int, np.ndarray]


class Unit(Protocol):
    """One transaction in one workspace. Every statement gets `:workspace` from it; nothing else can be named."""

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """Say which engine carries it out."""
        ...

    @property
    def workspace(self) -> int:
        """Say which workspace this unit is bound to."""
        ...

    def run(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> int:
        """Run a named statement and say how many rows it changed."""
        ...

    def many(self, name: str, rows: Iterable[Mapping[str, Value]], /) -> None:
        """Run a named statement once for each row of values."""
        ...

    def one(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> Row | None:
        """Answer the first row, if there is one."""
        ...

    def all(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> list[Row]:
        """Answer every row."""
        ...

    def ids(self, count: int) -> Sequence[int]:
        """Take `count` fresh ids, larger than every id that is committed in this workspace."""
        ...

    def index_words(self, item_ids: Sequence[int]) -> None:
        """Bring the documents' words into the word index."""
        ...

    def unindex_words(self, item_ids: Sequence[int]) -> None:
        """Take the documents' words, as they stand in their rows, out of the word index."""
        ...

    def word_candidates(self, weights: Mapping[str, float], limit: int, reach: Reach) -> list[int]:
        """Find the documents that hold any of the weighted terms, best first by the engine's own measure."""
        ...

    def put_vectors(self, model_id: int, perspective_id: int, vectors: Mapping[int, np.ndarray], live: bool) -> None:
        """Keep one vector for each document, in place of an older one."""
        ...

    def retire_vectors(self, item_ids: Sequence[int]) -> None:
        """Leave the documents' vectors to questions about the past."""
        ...

    def forget_vectors(self, item_ids: Sequence[int]) -> None:
        """Take the vectors from documents whose text changed, until they get new ones."""
        ...

    def nearest(self, probe: Probe, limit: int, reach: Reach) -> list[VectorHit]:
        """Find the documents nearest to the probe, best over its perspectives."""
        ...

    def similarities(self, probe: Probe, item_ids: Sequence[int]) -> dict[int, VectorHit]:
        """Compare the probe with these documents exactly; those without a vector are absent."""
        ...

    def vectors(self, model_id: int, perspective_id: int, item_ids: Sequence[int]) -> dict[int, np.ndarray]:
        """Read the documents' own vectors of one model and perspective; those without one are absent."""
        ...

    def rows_of(self, table: str) -> Iterator[dict[str, Value]]:
        """Read a table whole, for a copy: only this workspace's rows where it has any; vectors as float16 bytes."""
        ...

    def put_rows(self, table: str, rows: Sequence[Mapping[str, Value]]) -> None:
        """Write rows as `rows_of` reads them."""
        ...

    def clear(self, table: str) -> None:
        """Erase this workspace's rows of a table."""
        ...


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """What an engine says of itself: `problems` is empty when all is well."""

    engine: Literal["sqlite", "postgresql"]
    version: str
    schema_version: int
    bytes_used: int
    problems: tuple[str, ...]


class Store(Protocol):
    """A database that holds workspaces. Safe to use from several threads and several processes at once."""

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """Say which engine this is."""
        ...

    @property
    def address(self) -> str:
        """Say where it is, without any password."""
        ...

    def read(self, workspace: int) -> AbstractContextManager[Unit]:
        """Begin a unit of work that sees one moment and changes nothing."""
        ...

    def write(self, workspace: int) -> AbstractContextManager[Unit]:
        """Begin a unit of work that is kept whole when the block ends, and not at all when it raises."""
        ...

    def health(self) -> StoreHealth:
        """Check the engine: version, size, integrity."""
        ...

    def maintain(self, workspace: int) -> list[str]:
        """Do the engine's own upkeep for a workspace that has grown; the answer says what was done."""
        ...

    def backup(self, target: Path) -> None:
        """Write a consistent copy to `target` while others go on reading and writing."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...
