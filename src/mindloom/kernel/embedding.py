"""Vectors of documents and of questions: made inline when the embedder is fast, left to `backfill.py` when it is not.

Knows which documents have which model's vectors; vectors of two models are never compared. A model that is down
leaves documents and questions to their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from mindloom.clock import to_micros
from mindloom.errors import ProviderError
from mindloom.kernel.workspaces import perspectives_of
from mindloom.models.chain import Chain
from mindloom.models.embedder import Task as Purpose
from mindloom.models.embedder import Vectors
from mindloom.store import Row, Store, Unit
from mindloom.store.contract import Probe


@dataclass(frozen=True, slots=True)
class Made:
    """Vectors that are not yet written: for each perspective by name, one row a document, all of one model."""

    model: str
    rows: dict[str, npt.NDArray[np.float32]]

    @property
    def dim(self) -> int:
        """Say how long the vectors are."""
        return int(next(iter(self.rows.values())).shape[1])


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents have the preferred model's vectors, wait for them, or were refused by it."""

    model: str
    embedded: int
    waiting: int
    refused: int


class Embedding:
    """What turns documents and questions into vectors, and keeps them."""

    def __init__(self, store: Store, chain: Chain) -> None:
        self._store = store
        self._chain = chain

    @property
    def chain(self) -> Chain:
        """Give access to the embedders themselves, for their health."""
        return self._chain

    def inline(self, texts: Sequence[str]) -> Made | None:
        """Make general vectors now if the embedder is local and fast; None leaves them to the background."""
        traits = self._chain.traits
        if not texts or not traits.is_fast or traits.follows_instructions:
            return None
        try:
            vectors = self._chain.embed(texts, Purpose.DOCUMENT)
        except ProviderError:
            return None
        return Made(vectors.model, {"general": vectors.rows})

    def model_of(self, unit: Unit, made: Made | None) -> int:
        """Find the id of the model that made some vectors, entering it on first sight; 0 for none."""
        return 0 if made is None else model_id(unit, made.model, made.dim)

    def keep(self, unit: Unit, ids: Sequence[int], made: Made | None, at: datetime) -> None:
        """Write vectors beside their documents."""
        if made is None:
            return
        model = model_id(unit, made.model, made.dim)
        perspectives = perspectives_of(unit, to_micros(at))
        for name, rows in made.rows.items():
            unit.put_vectors(model, perspectives[name]["id"], dict(zip(ids, rows, strict=True)), live=True)

    def probe(self, cue: str) -> Vectors | None:
        """Turn a question into a vector; None when no embedder can answer now."""
        try:
            return self._chain.embed([cue], Purpose.QUERY)
        except ProviderError:
            return None

    def aimed(self, unit: Unit, cue: str, vectors: Vectors | None) -> Probe | None:
        """Point a question's vector at the perspectives that this workspace has vectors for."""
        row = None if vectors is None else unit.one("vectors.model_get", name=vectors.model, dim=vectors.dim)
        if vectors is None or row is None:
            return None
        rows = {each["name"]: each for each in unit.all("vectors.perspective_all")}
        names = self._perspectives(rows)
        made = {"general": vectors.rows[0]} if "general" in rows else {}
        made.update(self._angled(cue, [rows[name] for name in names if name != "general"], vectors.model))
        return Probe(row["id"], {rows[name]["id"]: vector for name, vector in made.items()}) if made else None

    def _perspectives(self, rows: dict[str, Row]) -> list[str]:
        return list(rows) if self._chain.traits.follows_instructions else ["general"]

    def _angled(self, cue: str, rows: Sequence[Row], model: str) -> dict[str, npt.NDArray[np.float32]]:
        if not rows:
            return {}
        texts = [f"{row['instruction']} {cue}" for row in rows]
        try:
            vectors = self._chain.embed(texts, Purpose.QUERY, model=model)
        except ProviderError:
            return {}
        return {row["name"]: vector for row, vector in zip(rows, vectors.rows, strict=True)}

    def coverage(self, workspace: int) -> Coverage:
        """Count what has the preferred model's vectors and what has not."""
        preferred = self._chain.links[0].name
        with self._store.read(workspace) as unit:
            current = {row["id"] for row in unit.all("vectors.model_all") if row["name"] == preferred}
            counts = {row["embedded_by"]: row["count"] for row in unit.all("vectors.embedded_counts")}
        embedded = sum(count for model, count in counts.items() if model in current)
        refused = sum(count for model, count in counts.items() if -model in current)
        return Coverage(preferred, embedded, sum(counts.values()) - embedded - refused, refused)


def model_id(unit: Unit, name: str, dim: int) -> int:
    """Find a model's id, entering it on first sight."""
    row = unit.one("vectors.model_get", name=name, dim=dim)
    if row is None:
        # From the one id space, for workspaces that meet a new model at the same moment do not wait for each other.
        (fresh,) = unit.ids(1)
        unit.run("vectors.model_add", id=fresh, name=name, dim=dim)
        (row,) = unit.all("vectors.model_get", name=name, dim=dim)
    return int(row["id"])
