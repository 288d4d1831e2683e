"""The cost of asking models: tokens, records, budgets, and the meter that records every request.

Refuses to know providers and stores: whoever stores the records implements `Recorder`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from datetime import datetime
from operator import add
from threading import Lock
from typing import Protocol, TypeVar

from everloom.clock import Clock, SystemClock
from everloom.errors import ProviderDenied, ProviderError
from everloom.models.catalog import BUILT_IN, Catalog


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of one or more replies; `input` excludes what was read from or written to a cache.

    `cached_hour` is the part of `cached_written` that the provider keeps for an hour, which costs more.
    """

    input: int = 0
    output: int = 0
    cached_read: int = 0
    cached_written: int = 0
    cached_hour: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(*map(add, astuple(self), astuple(other)))

    @property
    def prompt(self) -> int:
        """All input tokens, cached or not."""
        return self.input + self.cached_read + self.cached_written

    @property
    def cached_share(self) -> float | None:
        """The share of the input tokens that was read from a cache; None if there was no input."""
        return self.cached_read / self.prompt if self.prompt else None

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a number of questions; `dollars` is None when a price is not known."""

    questions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        prices = (self.dollars, other.dollars)
        return Spent(
            self.questions + other.questions,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if None in prices else sum(price or 0.0 for price in prices),
        )

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One request to a model, its purpose and its cost; `error` is the reason if there was no answer."""

    at: datetime
    model: str
    role: str
    purpose: str
    usage: TokenUsage
    dollars: float | None
    milliseconds: int
    error: str | None = None


class Recorder(Protocol):
    """Anything that stores usage records."""

    def record(self, record: UsageRecord) -> None:
        """Store one record."""


class Budget:
    """A limit on spending; replies are counted when they arrive, so the last one may overshoot."""

    def __init__(self, *, dollars: float | None = None, tokens: int | None = None, catalog: Catalog = BUILT_IN) -> None:
        self.dollars, self.tokens = dollars, tokens
        self._catalog = catalog
        self.spent_dollars, self.spent_tokens = 0.0, 0
        # What is known of it: a request without a known price counts as free here.
        self.spent = Spent()
        self._lock = Lock()

    def admit(self, model: str) -> None:
        """Raise an error when the budget is spent, or when it is in dollars and the model's price is not known."""
        if self.dollars is not None and self._catalog.price(model) is None:
            raise _unpriced(model)
        if self.dollars is not None and self.spent_dollars >= self.dollars:
            raise _spent(f"${self.spent_dollars:.4f} of ${self.dollars:.4f}")
        if self.tokens is not None and self.spent_tokens >= self.tokens:
            raise _spent(f"{self.spent_tokens} of {self.tokens} tokens")

    def spend(self, record: UsageRecord) -> None:
        """Count the cost of a record."""
        with self._lock:
            self.spent_dollars += record.dollars or 0.0
            self.spent_tokens += record.usage.total
            self.spent += Spent(1, record.usage.prompt, record.usage.output, record.dollars or 0.0)


class DayBudget:
    """A limit in dollars for one local day, after which the smaller model takes over.

    The amount spent is read again each time, so that restarts and other processes of the workspace are included. The
    function that reads it decides which day it is, and in which time zone.
    """

    def __init__(self, dollars: float | None, spent_today: Callable[[], float], catalog: Catalog = BUILT_IN) -> None:
        self.dollars = dollars
        self._spent_today = spent_today
        self._catalog = catalog

    def choose(self, large: str, small: str) -> str:
        """Choose the large model, or the small one once the day's dollars are spent; raise if that would not help."""
        if self.dollars is None:
            return large
        price = self._catalog.price(large)
        if price is None:
            raise _unpriced(large)
        if price.is_free:
            return large
        if self._spent_today() < self.dollars:
            return large
        # A model without a known price may be the more expensive one, so it does not replace the large one.
        if small == large or self._catalog.price(small) is None:
            reason = "there is no smaller model" if small == large else f"the price of {small} is not known"
            hint = "raise mind.dollars_a_day, set llm.small, or wait for tomorrow"
            raise ProviderDenied(f"today's ${self.dollars:.2f} for language models is spent and {reason}", hint=hint)
        return small


class _HasUsage(Protocol):
    @property
    def usage(self) -> TokenUsage: ...


_ReplyT = TypeVar("_ReplyT", bound=_HasUsage)


@dataclass(frozen=True, slots=True)
class Meter:
    """What a model reports its costs to, the prices that it goes by, and the budget that may forbid a request."""

    recorder: Recorder | None = None
    budget: Budget | None = None
    clock: Clock = field(default_factory=SystemClock)
    catalog: Catalog = BUILT_IN


class MeteredModel:
    """A model whose requests are checked against the budget, timed and recorded, failures included."""

    def __init__(self, name: str, role: str, meter: Meter | None) -> None:
        self.name = name
        self.role = role
        self.spent = Spent()
        self._meter = meter or Meter()
        self._lock = Lock()

    def refusal(self) -> ProviderError | None:
        """Return the reason why the budget allows no request; None when it allows one."""
        try:
            self._admit()
        except ProviderError as error:
            return error
        return None

    def cost(self, usage: TokenUsage) -> float | None:
        """Compute the cost of one request in dollars; None when its price is not known."""
        return self._meter.catalog.cost(usage, self.name)

    def _admit(self) -> None:
        if self._meter.budget:
            self._meter.budget.admit(self.name)

    def _booked(self, purpose: str, send: Callable[[], _ReplyT]) -> _ReplyT:
        # Checked before and counted after, because only a reply says what it cost: concurrent requests may overshoot
        # the budget, by one reply each.
        self._admit()
        started = time.perf_counter()
        try:
            reply = send()
        except ProviderError as error:
            self._book(purpose, TokenUsage(), started, type(error).__name__)
            raise
        self._book(purpose, reply.usage, started)
        return reply

    def _book(self, purpose: str, usage: TokenUsage, started: float, error: str | None = None) -> None:
        took, dollars = round((time.perf_counter() - started) * 1000), self.cost(usage)
        record = UsageRecord(self._meter.clock.now(), self.name, self.role, purpose, usage, dollars, took, error)
        # Counted before it is recorded: a recorder that fails must not make the budget forget.
        with self._lock:
            self.spent += Spent(1, usage.prompt, usage.output, dollars)
        if self._meter.budget:
            self._meter.budget.spend(record)
        if self._meter.recorder:
            self._meter.recorder.record(record)


def _unpriced(model: str) -> ProviderDenied:
    hint = f"say what it costs, such as `everloom config set models.prices '{model}=2/10'`, or choose another model"
    return ProviderDenied(f"a budget in dollars cannot be enforced for {model}: its price is not known", hint=hint)


def _spent(amount: str) -> ProviderDenied:
    hint = "raise llm.dollars, or use a cheaper model"
    return ProviderDenied(f"the budget for language models is spent ({amount})", hint=hint)
