"""How long and how often to try a provider that is busy.

Knows no wire: an attempt is a function that raises `ProviderBusy` when waiting may help.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from everloom.errors import ProviderBusy

T = TypeVar("T")
Sleep = Callable[[float], None]
SHORTEST = 0.001  # seconds; a timeout may not be zero


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds and attempts that one call may take; `deadline` bounds them all together."""

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 30.0
    connect: float = 5.0
    timeout: float = 300.0
    deadline: float = 600.0

    def wait(self, tried: int, asked: float | None) -> float:
        """Say how long to wait after `tried` attempts, with jitter; the provider's own wish is the least."""
        backoff = self.first_wait * 2.0 ** (tried - 1) * random.uniform(0.5, 1.0)
        return max(min(backoff, self.longest_wait), asked or 0.0)


CHAT = Patience()
# Somebody may be waiting for a search: give up soon, the next embedder in the chain or plain words take over.
EMBEDDING = Patience(attempts=2, first_wait=0.2, longest_wait=5.0, connect=2.0, timeout=30.0, deadline=45.0)


def persist(
    attempt: Callable[[float], T],
    patience: Patience,
    *,
    sleep: Sleep = time.sleep,
    may_retry: Callable[[], bool] = lambda: True,
) -> T:
    """Try until it works, patience runs out, or trying again cannot help; `attempt` is told its seconds."""
    ends = time.monotonic() + patience.deadline
    tried = 0
    while True:
        tried += 1
        try:
            return attempt(max(SHORTEST, min(patience.timeout, ends - time.monotonic())))
        except ProviderBusy as busy:
            wait = patience.wait(tried, busy.retry_after)
            if (
                not may_retry()
                or tried >= patience.attempts
                or wait > min(patience.longest_wait, ends - time.monotonic())
            ):
                raise
        sleep(wait)


def read_retry_after(header: str | None, now: datetime) -> float | None:
    """Read a Retry-After header, in seconds or as a date; None when it says nothing usable."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _seconds_until(header, now)
    return max(0.0, seconds) if seconds < float("inf") else None


def _seconds_until(header: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
