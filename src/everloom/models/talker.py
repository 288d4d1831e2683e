"""A model as a conversation partner: each round is admitted by the budget, carried by a wire, and booked.

Knows no provider. Retries belong to the wires, turns and tools to whoever converses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil

from everloom.errors import ProviderError
from everloom.models.llm import Meter
from everloom.models.talk import Folds, Said, Say, Talk, TalkWire
from everloom.models.tokens import Calibration
from everloom.models.usage import Usage, UsageRecord, cost


class Talker:
    """A language model that converses."""

    def __init__(self, wire: TalkWire, *, role: str = "large", meter: Meter | None = None) -> None:
        self.name = wire.name
        self.role = role
        self.calibration = Calibration()
        self._wire = wire
        self._meter = meter or Meter()

    @property
    def folds(self) -> Folds:
        """Say what the provider can do about a long conversation."""
        return self._wire.folds

    @property
    def window(self) -> int:
        """Say how many tokens its context holds."""
        return self._wire.window

    def talk(self, talk: Talk, say: Say = lambda _: None) -> Said:
        """Take one round; `say` hears words as they arrive."""
        said = self._booked(talk.purpose, lambda: self._wire.talk(talk, say))
        self.calibration.observe(talk.estimate(), said.usage.prompt)
        return said

    def estimate(self, talk: Talk) -> int:
        """Guess how many tokens a round takes in, from what earlier ones have reported."""
        return ceil(talk.estimate() * self.calibration.factor)

    def fold(self, talk: Talk, instructions: str) -> Said:
        """Have the provider compact all turns, where it does so on demand."""
        return self._booked("compaction", lambda: self._wire.fold(talk, instructions))

    def cost(self, usage: Usage) -> float | None:
        """Say what a usage costs in dollars; None when the model's price is not known."""
        return cost(usage, self.name)

    def _booked(self, purpose: str, carry: Callable[[], Said]) -> Said:
        self._meter.admit(self.name)
        started = time.perf_counter()
        try:
            said = carry()
        except ProviderError as error:
            self._book(purpose, Usage(), started, type(error).__name__)
            raise
        self._book(purpose, said.usage, started)
        return said

    def _book(self, purpose: str, usage: Usage, started: float, error: str | None = None) -> None:
        took = round((time.perf_counter() - started) * 1000)
        now, dollars = self._meter.clock.now(), cost(usage, self.name)
        self._meter.book(UsageRecord(now, self.name, self.role, purpose, usage, dollars, took, error))
