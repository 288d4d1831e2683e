"""What asking a model costs: tokens, prices, records and budgets.

Knows no provider's wire and no store: whoever keeps the records implements `Recorder`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Protocol

from everloom.errors import ProviderRefused

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one or more replies took; `input` counts what was neither read from nor written to a cache."""

    input: int = 0
    output: int = 0
    cached_read: int = 0
    cached_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached_read + other.cached_read,
            self.cached_written + other.cached_written,
        )

    @property
    def prompt(self) -> int:
        """Count everything that went in, cached or not."""
        return self.input + self.cached_read + self.cached_written

    @property
    def total(self) -> int:
        """Count every token."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input: float
    output: float
    cached_read: float
    cached_written: float


def _anthropic(dollars_in: float, dollars_out: float) -> Price:
    # A five-minute cache entry costs a quarter more to write and a tenth to read.
    return Price(dollars_in, dollars_out, cached_read=dollars_in / 10, cached_written=dollars_in * 1.25)


FREE = Price(0, 0, 0, 0)
FREE_KINDS = frozenset({"ollama", "scripted"})
PRICES = {  # November 2026; the longest name that a model begins with counts
    "claude-opus-5-5": _anthropic(4, 20),
    "claude-sonnet-5-5": _anthropic(2, 10),
    "claude-haiku-5-5": _anthropic(0.10, 0.50),
    "claude-fable-5-1": _anthropic(10, 50),
}


def price_of(model: str) -> Price | None:
    """Look up what `"kind:model"` costs; None when nobody has written it down."""
    kind, _, name = model.partition(":")
    if kind in FREE_KINDS:
        return FREE
    known = [listed for listed in PRICES if name == listed or name.startswith(listed + "-")]
    return PRICES[max(known, key=len)] if known else None


def cost(usage: Usage, model: str) -> float | None:
    """Say what a usage costs in dollars; None when the model's price is not known."""
    price = price_of(model)
    if price is None:
        return None
    dollars = (
        usage.input * price.input
        + usage.output * price.output
        + usage.cached_read * price.cached_read
        + usage.cached_written * price.cached_written
    )
    return dollars / MILLION


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One question put to a model: who, for what, and what it took; `error` names why there was no answer."""

    at: datetime
    model: str
    role: str
    purpose: str
    usage: Usage
    dollars: float | None
    milliseconds: int
    error: str | None = None


class Recorder(Protocol):
    """Anything that keeps usage records."""

    def record(self, record: UsageRecord) -> None:
        """Keep one record."""
        ...


class Budget:
    """How much may be spent; what is spent is counted after each reply, so the last one may overshoot."""

    def __init__(self, *, dollars: float | None = None, tokens: int | None = None) -> None:
        self.dollars, self.tokens = dollars, tokens
        self.spent_dollars, self.spent_tokens = 0.0, 0
        self._lock = Lock()

    def admit(self, model: str) -> None:
        """Refuse when the budget is spent, or when it is in dollars and the model's price is not known."""
        if self.dollars is not None and price_of(model) is None:
            raise _unpriced(model)
        if self.dollars is not None and self.spent_dollars >= self.dollars:
            raise _spent(f"${self.spent_dollars:.4f} of ${self.dollars:.4f}")
        if self.tokens is not None and self.spent_tokens >= self.tokens:
            raise _spent(f"{self.spent_tokens} of {self.tokens} tokens")

    def spend(self, record: UsageRecord) -> None:
        """Count what a record took."""
        with self._lock:
            self.spent_dollars += record.dollars or 0.0
            self.spent_tokens += record.usage.total


class DayBudget:
    """How many dollars one local day may take, before the smaller model has to do.

    What is spent is asked anew each time, so that neither a restart nor another process of the workspace is forgotten;
    which day it is, and in which zone, is known to whoever answers.
    """

    def __init__(self, dollars: float | None, spent_today: Callable[[], float]) -> None:
        self.dollars = dollars
        self._spent_today = spent_today

    @property
    def spent(self) -> float:
        """Say how many dollars today has taken."""
        return self._spent_today()

    @property
    def is_spent(self) -> bool:
        """Say whether today has taken all that it may."""
        return self.dollars is not None and self.spent >= self.dollars

    def choose(self, large: str, small: str) -> str:
        """Choose the large model, or once the day is spent the small one; refuse when that would be no help."""
        if self.dollars is None or price_of(large) == FREE:
            return large
        if price_of(large) is None:
            raise _unpriced(large)
        if not self.is_spent:
            return large
        if small == large or price_of(small) is None:
            reason = "there is no smaller model" if small == large else f"the price of {small} is not known"
            hint = "raise mind.dollars_a_day, set llm.small, or wait for tomorrow"
            raise ProviderRefused(f"today's ${self.dollars:.2f} for language models are spent and {reason}", hint=hint)
        return small


def _unpriced(model: str) -> ProviderRefused:
    hint = "limit tokens instead, or choose a model whose price is known"
    return ProviderRefused(f"a budget in dollars cannot be kept with {model}: its price is not known", hint=hint)


def _spent(amount: str) -> ProviderRefused:
    return ProviderRefused(f"the budget for language models is spent ({amount})", hint="raise it or wait for the next")
