"""An in-memory copy of the vectors of one workspace, model and perspective; the rows remain the truth.

A shelf catches up by revision: it loads only what any process has written since its last look. A search has up to three
stages, each more exact and for fewer vectors: sign bits, 8-bit codes, the rows themselves. Refuses to know what the
vectors mean.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from everloom.store.contract import Row, Value

# Up to this many, vectors are kept whole and compared exactly: measured, that is cheaper than sign bits and reading
# rows. With one vector more, the shelf switches to bits and codes for good.
EXACT = 20_000
# Real embeddings lose 6 % of their neighbours at 8 times the wanted number, less than 1 % at 32.
_OVERSAMPLING = 32
# How many times the wanted number the 8-bit codes leave of those. Comparing all of them with their rows cost more than
# the rest of a search over 100,000 items.
_REFINED = 4
# Codes are kept as long as they fit into this; beyond that, sign bits alone choose the rows to compare.
_CODES_BYTES = 64 * 1024 * 1024
PAGE = 1_000  # rows of one read while a shelf catches up
_BUDGET_BYTES = 256 * 1024 * 1024

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]
Number = TypeVar("Number", bound=np.generic)


def unpack(blobs: Sequence[bytes], dim: int) -> Floats:
    """Turn rows of float16 into a matrix."""
    # NumPy multiplies float16 about seven times more slowly than float32, so the small type is for the disk only.
    return _halves(blobs, dim).astype(np.float32)


def _halves(blobs: Sequence[bytes], dim: int) -> Halves:
    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(-1, dim)


def _sign_bits(vectors: Halves | Floats) -> npt.NDArray[np.uint64]:
    """Pack the signs of each vector into 64-bit words, one row per word."""
    # The bits of a number are those of a whole number of the same sign, and NumPy compares these 15 times as fast.
    whole = vectors.view(f"<i{vectors.dtype.itemsize}")
    packed = np.packbits(whole > 0, axis=1)
    padding = -packed.shape[1] % 8
    padded = np.pad(packed, ((0, 0), (0, padding))) if padding else packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


class _Codes:
    """Vectors with 8 bits per number, each with its own scale: less exact, but small enough for memory."""

    def __init__(self, dim: int) -> None:
        self._numbers = np.empty((0, dim), np.int8)
        self._scales = np.empty(0, np.float32)

    @property
    def size(self) -> int:
        """Say how many bytes are held."""
        return self._numbers.nbytes + self._scales.nbytes

    def put(self, place: slice, vectors: Floats) -> None:
        """Write vectors into places that `grow` has allocated."""
        # A blanked vector is all zeros, and must not be divided by zero.
        scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127
        self._numbers[place] = np.rint(vectors / scales[:, None])
        self._scales[place] = scales

    def grow(self, count: int, room: int) -> None:
        """Enlarge the arrays, keeping the first `count` vectors."""
        self._numbers = _enlarge(self._numbers, count, room)
        self._scales = _enlarge(self._scales, count, room)

    def similarities(self, places: npt.NDArray[np.intp], probe: Floats) -> Floats:
        """Compare the probe with some of the vectors, almost exactly."""
        near: Floats = (self._numbers[places].astype(np.float32) @ probe) * self._scales[places]
        return near


class VectorShelf:
    """The vectors of one perspective, in arrays that grow at the end."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.revision = 0
        # The revision up to which deleted vectors are known.
        self.gone = 0
        self.count = 0
        self._highest = 0
        self._places: dict[int, int] = {}
        self._ids = np.empty(0, np.int64)
        self._live = np.empty(0, np.bool_)
        self._rows: Floats | None = np.empty((0, dim), np.float32)
        # Transposed, one row per 64-bit word, because ranking reads the same word of all vectors at a time.
        self._bits = np.empty((0, -(-dim // 64)), np.uint64).T
        self._codes: _Codes | None = None

    @property
    def size(self) -> int:
        """Say how many bytes are held."""
        rows = 0 if self._rows is None else self._rows.nbytes
        codes = 0 if self._codes is None else self._codes.size
        return self._ids.nbytes + self._live.nbytes + self._bits.nbytes + rows + codes

    def add(self, ids: npt.NDArray[np.int64], live: npt.NDArray[np.bool_], vectors: Halves) -> None:
        """Add vectors, each in the place that its document already has or at the end."""
        # Ids grow, so an id above the highest must be new. Of the others, some are known, and some belong to older
        # documents that were embedded only now.
        known = ids <= self._highest
        for position in np.flatnonzero(known):
            place = self._place(int(ids[position]))
            known[position] = place is not None
            if place is not None:
                self._live[place] = live[position]
                self._put(slice(place, place + 1), vectors[position : position + 1])
        fresh = ~known
        if fresh.any():
            self._append(ids[fresh], live[fresh], vectors[fresh])

    def drop(self, items: Sequence[int]) -> None:
        """Let go of vectors that were deleted; their places stay, blank and hidden."""
        for item in items:
            place = self._place(item)
            if place is not None:
                self._live[place] = False
                self._put(slice(place, place + 1), np.zeros((1, self.dim), np.float16))
                # Zero is the id of no document: also a search about the past finds nothing there.
                self._ids[place] = 0
                self._places.pop(item, None)

    def _place(self, item: int) -> int | None:
        if self._rows is not None:
            return self._places.get(item)
        places = np.flatnonzero(self._ids[: self.count] == item)
        return int(places[0]) if places.size else None

    def expect(self, more: int) -> None:
        """Make room for `more` vectors at once: growing step by step would fragment the process's memory."""
        end = self.count + more
        if self._rows is not None and end > EXACT:
            self._give_up_rows(self._rows[: self.count])
        if end > self._ids.shape[0]:
            self._grow(max(end + end // 4, 256))

    def _append(self, ids: npt.NDArray[np.int64], live: npt.NDArray[np.bool_], vectors: Halves) -> None:
        self.expect(len(ids))
        end = self.count + len(ids)
        place = slice(self.count, end)
        self._ids[place], self._live[place] = ids, live
        self._put(place, vectors)
        if self._rows is not None:
            self._places.update(zip(ids.tolist(), range(self.count, end), strict=True))
        self._highest = max(self._highest, int(ids.max()))
        self.count = end

    def _put(self, place: slice, vectors: Halves | Floats) -> None:
        if self._rows is not None:
            self._rows[place] = vectors
            return
        self._bits[:, place] = _sign_bits(vectors)
        if self._codes is not None:
            self._codes.put(place, vectors.astype(np.float32))

    def _give_up_rows(self, rows: Floats) -> None:
        """Replace the vectors by their sign bits and codes."""
        room = self._ids.shape[0]
        self._rows, self._places, self._codes = None, {}, _Codes(self.dim)
        self._bits = np.zeros((self._bits.shape[0], room), np.uint64)
        self._codes.grow(0, room)
        self._put(slice(0, self.count), rows)

    def _grow(self, room: int) -> None:
        self._ids, self._live = _enlarge(self._ids, self.count, room), _enlarge(self._live, self.count, room)
        if self._rows is not None:
            self._rows = _enlarge(self._rows, self.count, room)
            return
        self._bits = np.ascontiguousarray(_enlarge(self._bits.T, self.count, room).T)
        # Codes that no longer fit are given up for good: making them again would mean reading every row.
        if self._codes is not None and room * self.dim > _CODES_BYTES:
            self._codes = None
        if self._codes is not None:
            self._codes.grow(self.count, room)

    def nearest(self, probe: Floats, *, live_only: bool) -> Callable[[int], list[int]]:
        """Rank all vectors against a probe once; the returned function gives candidates for the best `n`."""
        # Other threads may append while this one ranks. They write beyond `count`, or into arrays that have replaced
        # these, so these references stay consistent without a lock. Only a revised document is rewritten in its place.
        count, ids, live, rows, codes = self.count, self._ids, self._live, self._rows, self._codes
        if rows is not None:
            distance: npt.NDArray[np.float32 | np.uint16] = -(rows[:count] @ probe)
            far: float | int = np.inf
        else:
            distance, far = self._differing_bits(probe, count), np.iinfo(np.uint16).max
        if live_only:
            distance[~live[:count]] = far

        def candidates(n: int) -> list[int]:
            # Signs rank vectors only roughly, so many more are taken than are wanted. The codes reduce them to a few
            # times the wanted number, and the caller compares those exactly with their rows.
            chosen = _smallest(distance, n if rows is not None else n * _OVERSAMPLING)
            chosen = chosen[distance[chosen] < far]
            if codes is not None:
                chosen = chosen[_smallest(-codes.similarities(chosen, probe), n * _REFINED)]
            found: list[int] = ids[chosen].tolist()
            return found

        return candidates

    def similarities(self, probe: Floats, items: Sequence[int]) -> dict[int, float] | None:
        """Compare the probe with some documents exactly; None if the shelf no longer holds whole vectors."""
        rows, places = self._rows, self._places
        if rows is None:
            return None
        here = [item for item in items if item in places]
        return dict(zip(here, (rows[[places[item] for item in here]] @ probe).tolist(), strict=True))

    def _differing_bits(self, probe: Floats, count: int) -> npt.NDArray[np.uint16]:
        distance = np.zeros(count, np.uint16)
        for row, word in zip(self._bits, _sign_bits(probe[None, :])[:, 0], strict=True):
            distance += np.bitwise_count(row[:count] ^ word)
        return distance


def _enlarge(array: npt.NDArray[Number], count: int, room: int) -> npt.NDArray[Number]:
    """Copy the first `count` rows into an array with room for more."""
    larger = np.zeros((room, *array.shape[1:]), array.dtype)
    larger[:count] = array[:count]
    return larger


def _smallest(values: npt.NDArray[np.generic], n: int) -> npt.NDArray[np.intp]:
    """Find the positions of the `n` smallest values, in no particular order."""
    return np.argpartition(values, n)[:n] if n < len(values) else np.arange(len(values))


class VectorReader(Protocol):
    """A unit of work, as far as a shelf needs it."""

    @property
    def workspace(self) -> int:
        """The id of the workspace."""
        ...

    def all(self, name: str, /, **params: Value) -> list[Row]:
        """Return every row."""
        ...

    def pages(self, name: str, size: int, /, **params: Value) -> Iterator[list[tuple[Any, ...]]]:
        """Return every row as a tuple, a page at a time."""
        ...


class VectorCache:
    """The shelves of recently searched workspaces, within a memory budget."""

    def __init__(self, budget_bytes: int = _BUDGET_BYTES) -> None:
        self._budget = budget_bytes
        self._shelves: OrderedDict[tuple[int, int, int], VectorShelf] = OrderedDict()
        self._lock = RLock()

    def shelf(self, unit: VectorReader, model_id: int, perspective_id: int, dim: int) -> VectorShelf:
        """Return a shelf that is up to date with everything the unit can see."""
        key = (unit.workspace, model_id, perspective_id)
        with self._lock:
            # Taken out and put back at the end, so that the first shelf is always the one that was used longest ago.
            shelf = self._shelves.pop(key, None) or VectorShelf(dim)
            self._shelves[key] = shelf
            _catch_up(shelf, unit, model_id, perspective_id)
            # The shelf in use is never dropped, even if it alone exceeds the budget.
            while sum(each.size for each in self._shelves.values()) > self._budget and len(self._shelves) > 1:
                self._shelves.popitem(last=False)
        return shelf


def _catch_up(shelf: VectorShelf, unit: VectorReader, model_id: int, perspective_id: int) -> None:
    """Load the rows that changed since the shelf's last look, a page at a time."""
    place = {"model": model_id, "perspective": perspective_id}
    (row,) = unit.all("vectors.latest", model=model_id)
    latest, gone = row["revision"] or 0, row["gone"] or 0
    # What is deleted before a shelf first loads anything is never on it.
    if gone > shelf.gone and shelf.revision:
        shelf.drop([each["item_id"] for each in unit.all("vectors.gone_since", after=shelf.gone)])
    shelf.gone = gone
    if latest - shelf.revision > PAGE:
        (row,) = unit.all("vectors.changes", **place, after=shelf.revision)
        shelf.expect(row["count"])
    if not shelf.revision:
        # Everything, in the order in which the rows lie: by revision, each of them would have to be looked up.
        for page in unit.pages("vectors.every", PAGE, **place):
            _shelve(shelf, page)
        shelf.revision = latest
    while shelf.revision < latest:
        rows = unit.pages("vectors.changed", PAGE, **place, after=shelf.revision, limit=PAGE)
        page = next(rows, [])
        _shelve(shelf, page)
        # A page that is not full was the last one. Revisions up to `latest` that did not come belong to other
        # perspectives, and need not be looked for again.
        shelf.revision = page[-1][3] if len(page) == PAGE else latest


def _shelve(shelf: VectorShelf, page: Sequence[tuple[Any, ...]]) -> None:
    """Add a page of rows: the document, whether it is current, the vector, its revision."""
    if page:
        ids, live, vectors, _ = zip(*page, strict=True)
        shelf.add(np.array(ids, np.int64), np.array(live, np.bool_), _halves(vectors, shelf.dim))
