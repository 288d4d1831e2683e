"""The contract of everything that turns text into vectors.

Says what an embedder is and what it tells about itself; knows no model, no wire and no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float32]


class Task(StrEnum):
    """What a vector will be used for; some models want to be told."""

    DOCUMENT = "document"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Traits:
    """What an embedder tells about itself without being asked to embed.

    `dim` is None until a provider's first reply has shown it. From `near` on, two texts say the same. Thresholds are
    cosines too; None means that nobody has calibrated them for this model.
    """

    name: str
    dim: int | None
    follows_instructions: bool = False
    is_fast: bool = False
    document_prefix: str = ""
    query_prefix: str = ""
    near: float = 0.95
    recall_threshold: float | None = None
    cluster_threshold: float | None = None

    def prefix(self, task: Task) -> str:
        """Say what this model wants to read before a text of that task."""
        return self.document_prefix if task is Task.DOCUMENT else self.query_prefix


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Unit rows, one for each text, and the one model that made them all."""

    model: str
    rows: Rows

    @property
    def dim(self) -> int:
        """Say how long each row is."""
        return int(self.rows.shape[1])


class Embedder(Protocol):
    """Anything that can turn texts into vectors of one model."""

    @property
    def traits(self) -> Traits:
        """Tell about itself, without loading or asking anything."""
        ...

    def embed(self, texts: Sequence[str], task: Task) -> Vectors:
        """Make one unit row for each text; a text with nothing in it gives a row of zeros."""
        ...


def unit(rows: npt.NDArray[np.floating]) -> Rows:
    """Scale each row to length one; a row of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="same_kind"))
    scaled = np.empty(rows.shape, dtype=np.float32)
    np.divide(rows, np.where(lengths > 0, lengths, 1.0)[:, None], out=scaled, casting="same_kind")
    return scaled
