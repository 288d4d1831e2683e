"""What every embedder behind a wire has in common: prefixes, trimming, batches, and one dimension for life.

Knows no provider: a `Fetch` asks for the vectors of one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

import numpy as np

from everloom.errors import MalformedReply
from everloom.models.catalog import card_of, traits_of
from everloom.models.embedder import Rows, Task, Traits, Vectors, unit
from everloom.models.tokens import trimmed

Fetch = Callable[[list[str]], list[list[float]]]
BATCH = 64
PROBE = "dimension"


class RemoteEmbedder:
    """A model behind a wire; its dimension is what its first reply shows, and stays."""

    def __init__(self, name: str, fetch: Fetch, *, dim: int | None = None) -> None:
        card = card_of(name.partition(":")[2])
        self._traits = traits_of(name, card, dim)
        self._context = card.context
        self._fetch = fetch
        self._lock = Lock()

    @property
    def traits(self) -> Traits:
        """Tell about the model; its dimension is None until it has once replied."""
        return self._traits

    def embed(self, texts: Sequence[str], task: Task) -> Vectors:
        """Make one unit row for each text; blank ones are not sent and give zeros."""
        prefix = self._traits.prefix(task)
        spoken = [place for place, text in enumerate(texts) if text and not text.isspace()]
        inputs = [trimmed(prefix + texts[place], self._context) for place in spoken]
        made = [self._batch(inputs[start : start + BATCH]) for start in range(0, len(inputs), BATCH)]
        dim = self._traits.dim or self._batch([PROBE]).shape[1]
        rows = np.zeros((len(texts), dim), dtype=np.float32)
        if made:
            rows[spoken] = np.concatenate(made)
        return Vectors(self._traits.name, rows)

    def _batch(self, inputs: list[str]) -> Rows:
        fetched = self._fetch(inputs)
        if len(fetched) != len(inputs):
            raise self._malformed(f"{len(fetched)} vectors for {len(inputs)} texts")
        lengths = {len(vector) for vector in fetched}
        if len(lengths) != 1 or 0 in lengths:
            raise self._malformed(f"vectors of lengths {sorted(lengths)}")
        self._keep_dimension(lengths.pop())
        rows = np.array(fetched, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise self._malformed("vectors with numbers that are not finite")
        return unit(rows)

    def _keep_dimension(self, dim: int) -> None:
        with self._lock:
            if self._traits.dim is None:
                self._traits = replace(self._traits, dim=dim)
        if dim != self._traits.dim:
            raise self._malformed(f"vectors of dimension {dim} where it used {self._traits.dim}")

    def _malformed(self, what: str) -> MalformedReply:
        return MalformedReply(f"{self._traits.name} answered with {what}")
