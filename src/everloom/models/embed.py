"""Turning text into vectors: the embedder protocol, several as one, a remote one, and a chain that falls back.

Refuses to know providers and stores. Loads numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from everloom.clock import Clock, pause_of
from everloom.errors import MalformedReply, NotFound, ProviderBusy, ProviderError, Rejected
from everloom.models.catalog import Traits, traits_of
from everloom.models.text import trimmed

Rows = npt.NDArray[np.float32]
_Fetch = Callable[[list[str]], list[list[float]]]  # requests the vectors of one batch from a provider, in order
BATCH = 64
_PROBE = "dimension"


class EmbeddingTask(StrEnum):
    """What a vector will be used for; some models need to know."""

    DOCUMENT = "document"
    QUERY = "query"


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """Unit vectors, one row for each text, and the model that made them all."""

    model: str
    rows: Rows

    @property
    def dim(self) -> int:
        """The length of each row."""
        return int(self.rows.shape[1])


class Embedder(Protocol):
    """Anything that turns texts into vectors of one model."""

    @property
    def traits(self) -> Traits:
        """What is known about it without loading or asking anything."""

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        """Make one unit row for each text; a blank text gives a row of zeros."""


def unit(rows: npt.NDArray[np.floating]) -> Rows:
    """Scale each row to length one; a row of zeros stays as it is."""
    wide = rows.astype(np.float64)
    lengths = np.sqrt(np.vecdot(wide, wide))
    lengths[lengths == 0] = 1
    wide /= lengths[:, None]
    return wide.astype(np.float32)


class JoinedEmbedder:
    """Several embedders as one: their unit rows side by side, so that its cosine is the mean of their cosines."""

    def __init__(self, traits: Traits, *parts: Embedder) -> None:
        self.traits = traits
        self._parts = parts

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        """Make one unit row for each text from the rows of all parts."""
        rows = np.concatenate([part.embed(texts, task).rows for part in self._parts], axis=1)
        return TextVectors(self.traits.name, unit(rows))


class RemoteEmbedder:
    """A model of a server or library: adds prefixes, trims, sends batches. Its first reply fixes the dimension."""

    def __init__(self, name: str, fetch: _Fetch, *, dim: int | None = None) -> None:
        self._traits = replace(traits_of(name.partition(":")[2]), name=name, dim=dim)
        self._fetch = fetch
        self._lock = Lock()

    @property
    def traits(self) -> Traits:
        """What is known about the model; its dimension is None until the first reply."""
        return self._traits

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        """Make one unit row for each text; blank ones are not sent and give zeros."""
        known = self._traits
        prefix = known.document_prefix if task is EmbeddingTask.DOCUMENT else known.query_prefix
        # OpenAI rejects an empty input, and with it the whole batch that it is part of.
        spoken = [place for place, text in enumerate(texts) if text and not text.isspace()]
        inputs = [trimmed(prefix + texts[place], known.context) for place in spoken]
        made = [self._batch(inputs[start : start + BATCH]) for start in range(0, len(inputs), BATCH)]
        # Rows of zeros need a length, too: when every text is blank, a probe finds out the dimension.
        dim = self._traits.dim or self._batch([_PROBE]).shape[1]
        rows = np.zeros((len(texts), dim), dtype=np.float32)
        if made:
            rows[spoken] = np.concatenate(made)
        return TextVectors(self._traits.name, rows)

    def _batch(self, inputs: list[str]) -> Rows:
        fetched = self._fetch(inputs)
        if len(fetched) != len(inputs):
            raise self._malformed(f"{len(fetched)} vectors for {len(inputs)} texts")
        lengths = {len(vector) for vector in fetched}
        if len(lengths) != 1 or 0 in lengths:
            raise self._malformed(f"vectors of lengths {sorted(lengths)}")
        self._keep_dimension(lengths.pop())
        rows = np.array(fetched, dtype=np.float64)
        # A single NaN would make every cosine with its row NaN, and sort anywhere.
        if not np.isfinite(rows).all():
            raise self._malformed("vectors that contain infinite numbers or NaN")
        return unit(rows)

    def _keep_dimension(self, dim: int) -> None:
        # A server may replace the model behind a name. Vectors of another dimension cannot be compared with the stored
        # ones, so this is an error and not a fresh start.
        with self._lock:
            if self._traits.dim is None:
                self._traits = replace(self._traits, dim=dim)
        if dim != self._traits.dim:
            raise self._malformed(f"vectors of dimension {dim} where it used {self._traits.dim}")

    def _malformed(self, what: str) -> MalformedReply:
        return MalformedReply(f"{self._traits.name} answered with {what}")


@dataclass(frozen=True, slots=True)
class CoolDown:
    """How long a failing embedder is not asked: longer after each failure, up to `longest`."""

    first: timedelta = timedelta(seconds=15)
    longest: timedelta = timedelta(minutes=10)

    def after(self, failures: int, asked: float | None) -> timedelta:
        """Compute how long to wait after a number of failures in a row, and at least as long as the provider asked."""
        # The exponent is bounded, or the product would overflow a timedelta after some forty failures.
        doubled = self.first * 2.0 ** min(failures - 1, 16)
        return max(min(doubled, self.longest), pause_of(asked or 0))


@dataclass(frozen=True, slots=True)
class EmbedderHealth:
    """The state of one embedder; `resting_until` is set while it is not asked."""

    model: str
    failures: int = 0
    last_error: str | None = None
    resting_until: datetime | None = None

    def is_up(self, now: datetime) -> bool:
        """Check whether the embedder would be asked now."""
        return self.resting_until is None or self.resting_until <= now


class EmbedderChain:
    """An embedder made of several others (links), in order of preference.

    Never mixes models: one link makes all rows of a call, and `TextVectors.model` names it. Needs no thread: a link
    that failed is tried again with the first call after its cool-down.
    """

    def __init__(self, links: Sequence[Embedder], clock: Clock, cool_down: CoolDown | None = None) -> None:
        if not links:
            raise Rejected("no embedder is configured", hint="configure at least static:multilingual-384")
        self._links = {link.traits.name: link for link in links}
        self._health = {name: EmbedderHealth(name) for name in self._links}
        self._clock = clock
        self._cool_down = cool_down or CoolDown()
        self._lock = Lock()

    @property
    def traits(self) -> Traits:
        """The traits of the link that would be asked now, or of the preferred one when all are resting."""
        up = self._up()
        return up[0].traits if up else next(iter(self._links.values())).traits

    @property
    def links(self) -> list[Traits]:
        """The traits of every link, in order of preference."""
        return [link.traits for link in self._links.values()]

    def link(self, name: str) -> Embedder:
        """Return one link, for work that no other model may do."""
        if name not in self._links:
            raise NotFound(f"there is no embedder called {name}", hint=f"choose from {', '.join(self._links)}")
        return self._links[name]

    def health(self) -> list[EmbedderHealth]:
        """Report the state of each link, without calling it."""
        return list(self._health.values())

    def embed(self, texts: Sequence[str], task: EmbeddingTask, *, model: str | None = None) -> TextVectors:
        """Make vectors with the first link that can, or only with the one called `model`."""
        # Only for its error: an unknown name is a mistake, not an embedder that is down.
        if model is not None:
            self.link(model)
        for link in self._up():
            if model in (None, link.traits.name) and (vectors := self._try(link, texts, task)) is not None:
                return vectors
        raise self._all_down(model)

    def _up(self) -> list[Embedder]:
        now = self._clock.now()
        return [link for name, link in self._links.items() if self._health[name].is_up(now)]

    def _try(self, link: Embedder, texts: Sequence[str], task: EmbeddingTask) -> TextVectors | None:
        try:
            vectors = link.embed(texts, task)
        except ProviderError as error:
            self._note_failure(link.traits.name, error)
            return None
        # Without the lock: it assigns one frozen value, and a success may overwrite a failure of the same moment.
        self._health[link.traits.name] = EmbedderHealth(link.traits.name)
        return vectors

    def _note_failure(self, name: str, error: ProviderError) -> None:
        # Whatever went wrong, the next link is asked: a search that finds less is better than a search that fails.
        asked = error.retry_after if isinstance(error, ProviderBusy) else None
        with self._lock:
            failures = self._health[name].failures + 1
            until = self._clock.now() + self._cool_down.after(failures, asked)
            self._health[name] = EmbedderHealth(name, failures, str(error), until)

    def _all_down(self, model: str | None) -> ProviderBusy:
        resting = [health for health in self.health() if model in (None, health.model)]
        soonest = min(health.resting_until or self._clock.now() for health in resting)
        reasons = "; ".join(f"{health.model}: {health.last_error}" for health in resting)
        wait = max(0.0, (soonest - self._clock.now()).total_seconds())
        return ProviderBusy(f"no embedder is available ({reasons})", retry_after=wait)
