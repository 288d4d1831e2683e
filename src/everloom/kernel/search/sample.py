"""Which cosines are usual for a question in a memory: a sample of its vectors, kept while the memory is about as large.

Owns nothing but that sample. A search compares its candidates with it, so that "near" means near for this memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from everloom.kernel.search.fusion import Usual
from everloom.store import Unit
from everloom.store.contract import Probe

# So many vectors give the spread to about five in a hundred.
_SIZE = 200
# The embedder's own noise counts as so many vectors: in a small memory it decides.
_PRIOR = 20
# The sample is taken anew when the memory has grown or shrunk by this share.
_CHANGED = 0.25
# Workspaces whose samples are kept.
_MOST = 256


@dataclass(frozen=True, slots=True)
class VectorSample:
    """Some vectors of a workspace, from one perspective, and how many documents it had."""

    documents: int
    perspective: int
    vectors: npt.NDArray[np.float32]

    def usual(self, probe: Probe, noise: Usual) -> Usual:
        """Return the mean and the spread of a question's cosines with the texts of the workspace."""
        if not len(self.vectors):
            return noise
        return _blended((self.vectors @ probe.vectors[self.perspective]).astype(np.float64), noise)


class Samples:
    """The samples of the workspaces that were searched lately. Safe to use from several threads."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int, int], VectorSample] = {}
        self._lock = Lock()

    def of(self, unit: Unit, probe: Probe, documents: int) -> VectorSample:
        """Return the sample of a workspace, taking it anew if the workspace is of another size by now."""
        perspective = next(iter(probe.vectors))
        key = (unit.workspace, probe.model_id, perspective)
        with self._lock:
            held = self._held.get(key)
        if held is None or abs(held.documents - documents) > _CHANGED * held.documents:
            held = VectorSample(documents, perspective, _read(unit, probe.model_id, perspective, documents))
            with self._lock:
                while len(self._held) >= _MOST:
                    self._held.pop(next(iter(self._held)))
                self._held[key] = held
        return held


def _blended(cosines: npt.NDArray[np.float64], noise: Usual) -> Usual:
    """Take the embedder's noise for some more of the cosines."""
    count = len(cosines) + _PRIOR
    mean = (float(cosines.sum()) + _PRIOR * noise.mean) / count
    squares = float((cosines**2).sum()) + _PRIOR * (noise.spread**2 + noise.mean**2)
    return Usual(mean, math.sqrt(max(squares / count - mean**2, 0.0)))


def _read(unit: Unit, model: int, perspective: int, documents: int) -> npt.NDArray[np.float32]:
    found = unit.vectors(model, perspective, spread_over(unit, min(_SIZE, documents + 1)))
    return np.array([*found.values()], np.float32) if found else np.zeros((0, 0), np.float32)


def spread_over(unit: Unit, count: int) -> list[int]:
    """List at most so many documents, spread over the ids: ids grow with time, so that they span all of it."""
    ends = unit.one("words.document_ends")
    if ends is None or ends["lowest"] is None:
        return []
    points = np.unique(np.linspace(int(ends["lowest"]), int(ends["highest"]), count).astype(np.int64)).tolist()
    rows = unit.all("words.document_sample", points=points)
    return [row["item_id"] for row in rows if row["item_id"] is not None]
