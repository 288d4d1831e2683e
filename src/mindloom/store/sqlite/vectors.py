"""Vectors of one workspace, model and perspective, held in memory over the rows that are the truth.

A shelf catches up by revision: it loads what any process wrote since it last looked, nothing more. Up to `EXACT`
vectors it keeps them whole; beyond, their sign bits, and the caller compares the best of those with the rows exactly.
Knows neither documents nor questions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mindloom.store.contract import Row, Value

# Measured: below this an exact product is cheaper than bits and a second look at the rows.
EXACT = 20_000
# Real embeddings lose 6 % of their neighbours at 8 times the wanted number, under 1 % at 32.
OVERSAMPLING = 32
PAGE = 20_000
BUDGET_BYTES = 256 * 1024 * 1024

Floats = npt.NDArray[np.float32]


class Reader(Protocol):
    """The part of a unit that a shelf reads through."""

    @property
    def workspace(self) -> int:
        """Say which workspace is read."""
        ...

    def all(self, name: str, /, **params: Value | Sequence[int] | Sequence[str]) -> list[Row]:
        """Answer every row of a named statement."""
        ...


def unpacked(blobs: Sequence[bytes], dim: int) -> Floats:
    """Turn rows of float16 into a matrix."""
    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(-1, dim).astype(np.float32)


def sign_bits(vectors: Floats) -> npt.NDArray[np.uint64]:
    """Pack the signs of each vector into words of 64 bits, one row a word."""
    packed = np.packbits(vectors > 0, axis=1)
    padding = -packed.shape[1] % 8
    padded = np.pad(packed, ((0, 0), (0, padding)))
    return np.ascontiguousarray(padded.view(np.uint64).T)


class Shelf:
    """The vectors of one perspective, growing at the end."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.revision = 0
        self.count = 0
        self._highest = 0
        self._places: dict[int, int] = {}
        self._ids = np.empty(0, np.int64)
        self._live = np.empty(0, np.bool_)
        self._rows: Floats | None = np.empty((0, dim), np.float32)
        self._bits = np.empty((-(-dim // 64), 0), np.uint64)

    @property
    def oversampling(self) -> int:
        """Say how many candidates to take for each one that is wanted."""
        return 1 if self._rows is not None else OVERSAMPLING

    @property
    def size(self) -> int:
        """Say how many bytes are held."""
        rows = 0 if self._rows is None else self._rows.nbytes
        return self._ids.nbytes + self._live.nbytes + self._bits.nbytes + rows

    def add(self, ids: npt.NDArray[np.int64], live: npt.NDArray[np.bool_], vectors: Floats) -> None:
        """Put vectors on the shelf, each in the place that its document already has or at the end."""
        known = ids <= self._highest
        for position in np.flatnonzero(known):
            known[position] = self._replace(int(ids[position]), bool(live[position]), vectors[position])
        fresh = ~known
        if fresh.any():
            self._append(ids[fresh], live[fresh], vectors[fresh])

    def _replace(self, item: int, live: bool, vector: Floats) -> bool:
        place = self._place(item)
        if place is None:
            return False
        self._live[place] = live
        if self._rows is not None:
            self._rows[place] = vector
        else:
            self._bits[:, place] = sign_bits(vector[None, :])[:, 0]
        return True

    def _place(self, item: int) -> int | None:
        if self._rows is not None:
            return self._places.get(item)
        places = np.flatnonzero(self._ids[: self.count] == item)
        return int(places[0]) if places.size else None

    def _append(self, ids: npt.NDArray[np.int64], live: npt.NDArray[np.bool_], vectors: Floats) -> None:
        end = self.count + len(ids)
        self._reserve(end)
        place = slice(self.count, end)
        self._ids[place], self._live[place] = ids, live
        if self._rows is not None:
            self._rows[place] = vectors
            self._places.update(zip(ids.tolist(), range(self.count, end), strict=True))
        else:
            self._bits[:, place] = sign_bits(vectors)
        self._highest = max(self._highest, int(ids.max()))
        self.count = end

    def _reserve(self, end: int) -> None:
        """Make room, and give up whole vectors for their bits once there are too many."""
        if self._rows is not None and end > EXACT:
            self._bits = sign_bits(self._rows[: self.count])
            self._rows = None
            self._places = {}
        if end <= self._ids.shape[0] and (self._rows is not None or end <= self._bits.shape[1]):
            return
        room = max(end + end // 4, 256)
        self._ids = np.concatenate([self._ids[: self.count], np.zeros(room - self.count, np.int64)])
        self._live = np.concatenate([self._live[: self.count], np.zeros(room - self.count, np.bool_)])
        if self._rows is not None:
            spare = np.zeros((room - self.count, self.dim), np.float32)
            self._rows = np.concatenate([self._rows[: self.count], spare])
        else:
            spare_bits = np.zeros((self._bits.shape[0], room - self.count), np.uint64)
            self._bits = np.concatenate([self._bits[:, : self.count], spare_bits], axis=1)

    def nearest(self, probe: Floats, *, live_only: bool) -> Callable[[int], list[int]]:
        """Rank the shelf against a probe once; the answer gives the best `n` of it, for any `n`."""
        count, ids, live, rows = self.count, self._ids, self._live, self._rows
        if rows is not None:
            distance: npt.NDArray[np.float32 | np.uint16] = -(rows[:count] @ probe)
            far: float | int = np.inf
        else:
            distance, far = self._differing_bits(probe, count), np.iinfo(np.uint16).max
        if live_only:
            distance[~live[:count]] = far

        def best(n: int) -> list[int]:
            chosen = np.argpartition(distance, n)[:n] if n < count else np.arange(count)
            chosen = chosen[distance[chosen] < far]
            found: list[int] = ids[chosen].tolist()
            return found

        return best

    def similarities(self, probe: Floats, items: Sequence[int]) -> dict[int, float] | None:
        """Compare the probe with some documents exactly; None when only their bits are here."""
        rows, places = self._rows, self._places
        if rows is None:
            return None
        here = [item for item in items if item in places]
        return dict(zip(here, (rows[[places[item] for item in here]] @ probe).tolist(), strict=True))

    def _differing_bits(self, probe: Floats, count: int) -> npt.NDArray[np.uint16]:
        distance = np.zeros(count, np.uint16)
        for row, word in zip(self._bits, sign_bits(probe[None, :])[:, 0], strict=True):
            distance += np.bitwise_count(row[:count] ^ word)
        return distance


class VectorCache:
    """Shelves of the workspaces that were searched lately, within a budget of memory."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self._budget = budget_bytes
        self._shelves: OrderedDict[tuple[int, int, int], Shelf] = OrderedDict()
        self._lock = RLock()

    def shelf(self, unit: Reader, model_id: int, perspective_id: int, dim: int) -> Shelf:
        """Find a shelf, caught up with everything that the unit can see."""
        key = (unit.workspace, model_id, perspective_id)
        with self._lock:
            shelf = self._shelves.pop(key, None) or Shelf(dim)
            self._shelves[key] = shelf
            catch_up(shelf, unit, model_id, perspective_id)
            while sum(each.size for each in self._shelves.values()) > self._budget and len(self._shelves) > 1:
                self._shelves.popitem(last=False)
        return shelf


def catch_up(shelf: Shelf, unit: Reader, model_id: int, perspective_id: int) -> None:
    """Load what changed since the shelf last looked, a page at a time."""
    (row,) = unit.all("vectors.latest", model=model_id)
    latest = row["revision"] or 0
    while shelf.revision < latest:
        rows = unit.all("vectors.changed", model=model_id, perspective=perspective_id, after=shelf.revision, limit=PAGE)
        if rows:
            shelf.add(
                np.fromiter((row["item_id"] for row in rows), np.int64, len(rows)),
                np.fromiter((row["live"] for row in rows), np.bool_, len(rows)),
                unpacked([row["vector"] for row in rows], shelf.dim),
            )
        shelf.revision = rows[-1]["revision"] if len(rows) == PAGE else latest
