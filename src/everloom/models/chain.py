"""Several embedders, of which the first that can answers.

Never mixes models: all rows of one call are made by one link, and `Vectors.model` says by which. Knows no
provider and keeps no thread: a link that failed is tried again when its cool-down is over and somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from everloom.clock import Clock
from everloom.errors import NotFound, ProviderBusy, ProviderError, Rejected
from everloom.models.embedder import Embedder, Task, Traits, Vectors


@dataclass(frozen=True, slots=True)
class CoolDown:
    """How long a failing link is left alone: longer each time, up to `longest`."""

    first: timedelta = timedelta(seconds=15)
    longest: timedelta = timedelta(minutes=10)

    def after(self, failures: int, asked: float | None) -> timedelta:
        """Say how long to wait after so many failures in a row; the provider's own wish is the least."""
        doubled = self.first * 2.0 ** min(failures - 1, 16)
        return max(min(doubled, self.longest), timedelta(seconds=asked or 0))


@dataclass(frozen=True, slots=True)
class Health:
    """How one link fares; `resting_until` is set while it is left alone."""

    model: str
    failures: int = 0
    last_error: str | None = None
    resting_until: datetime | None = None

    def is_up(self, now: datetime) -> bool:
        """Say whether the link would be asked now."""
        return self.resting_until is None or self.resting_until <= now


class Chain:
    """An embedder made of embedders, in order of preference."""

    def __init__(self, links: Sequence[Embedder], clock: Clock, cool_down: CoolDown | None = None) -> None:
        if not links:
            raise Rejected("no embedder is configured", hint="configure at least static:wordllama-256")
        self._links = {link.traits.name: link for link in links}
        self._health = {name: Health(name) for name in self._links}
        self._clock = clock
        self._cool_down = cool_down or CoolDown()
        self._lock = Lock()

    @property
    def traits(self) -> Traits:
        """Tell about the link that would be asked now, or about the preferred one when all rest."""
        up = self._up()
        return up[0].traits if up else next(iter(self._links.values())).traits

    @property
    def links(self) -> list[Traits]:
        """Tell about every link, in order of preference."""
        return [link.traits for link in self._links.values()]

    def link(self, name: str) -> Embedder:
        """Hand out one embedder by itself, for work that must be that model's or nobody's."""
        if name not in self._links:
            raise NotFound(f"no embedder is called {name}", hint=f"there are {', '.join(self._links)}")
        return self._links[name]

    def health(self) -> list[Health]:
        """Tell how each link fares, without asking it."""
        return list(self._health.values())

    def embed(self, texts: Sequence[str], task: Task, *, model: str | None = None) -> Vectors:
        """Make vectors with the first link that can, or with the one called `model` and no other."""
        if model is not None and model not in self._links:
            raise NotFound(f"no embedder is called {model}", hint=f"there are {', '.join(self._links)}")
        for link in self._up():
            if model in (None, link.traits.name) and (vectors := self._try(link, texts, task)) is not None:
                return vectors
        raise self._all_down(model)

    def _up(self) -> list[Embedder]:
        now = self._clock.now()
        return [link for name, link in self._links.items() if self._health[name].is_up(now)]

    def _try(self, link: Embedder, texts: Sequence[str], task: Task) -> Vectors | None:
        try:
            vectors = link.embed(texts, task)
        except ProviderError as error:
            self._note_failure(link.traits.name, error)
            return None
        self._health[link.traits.name] = Health(link.traits.name)
        return vectors

    def _note_failure(self, name: str, error: ProviderError) -> None:
        asked = error.retry_after if isinstance(error, ProviderBusy) else None
        with self._lock:
            failures = self._health[name].failures + 1
            until = self._clock.now() + self._cool_down.after(failures, asked)
            self._health[name] = Health(name, failures, str(error), until)

    def _all_down(self, model: str | None) -> ProviderBusy:
        resting = [health for health in self.health() if model in (None, health.model)]
        soonest = min(health.resting_until or self._clock.now() for health in resting)
        reasons = "; ".join(f"{health.model}: {health.last_error}" for health in resting)
        wait = max(0.0, (soonest - self._clock.now()).total_seconds())
        return ProviderBusy(f"no embedder can answer now ({reasons})", retry_after=wait)
