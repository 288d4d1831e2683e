"""A rota: work that comes again and again for many rooms, done by a bounded number of threads.

What is slow or fails in one room takes one thread and delays nobody else while another thread is free. Refuses to know
what the work is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Event, Thread

from everloom.secrets import logger_of

log = logger_of(__name__)

# After an unexpected failure, long enough not to fill the log.
_FAILED_SECONDS = 1.0
_LONGEST_REST = 1.0


@dataclass(slots=True)
class _Shift:
    """One kind of work of one room: when it is due, whether it is being done, and whether it was woken meanwhile."""

    name: str
    act: Callable[[], float]
    due: float = 0.0
    is_running: bool = False
    is_woken: bool = False


class Rota:
    """The work of many rooms; each piece returns in how many seconds it is due again."""

    def __init__(self, name: str, most: int, stop: Event) -> None:
        self._name = name
        self._most = most
        self._stop = stop
        self._shifts: dict[str, _Shift] = {}
        self._news = Condition()
        self._is_open = False
        self.threads: list[Thread] = []

    def add(self, name: str, act: Callable[[], float]) -> None:
        """Add work, which is due at once."""
        with self._news:
            self._shifts[name] = _Shift(name, act)
            self._staff()
            self._news.notify()

    def start(self) -> None:
        """Begin; as many threads run as there are rooms, up to the bound."""
        with self._news:
            self._is_open = True
            self._staff()

    def wake(self, name: str) -> None:
        """Make work due now; if it is being done, it is done once more."""
        with self._news:
            shift = self._shifts.get(name)
            if shift is not None:
                shift.due, shift.is_woken = 0.0, True
                self._news.notify()

    def end(self) -> None:
        """Wake every thread, so that it sees that all is over."""
        with self._news:
            self._news.notify_all()

    def _staff(self) -> None:
        if self._is_open and len(self.threads) < min(self._most, len(self._shifts)):
            number = len(self.threads) + 1
            thread = Thread(target=self._run, name=f"{self._name} {number}", daemon=True)
            self.threads.append(thread)
            thread.start()
            self._staff()

    def _run(self) -> None:
        while (shift := self._next()) is not None:
            rest = _FAILED_SECONDS
            try:
                rest = shift.act()
            except Exception:
                # Work that ends silently would leave a person without an answer, and nobody would know why.
                log.exception("%s of %s failed and is tried again", self._name, shift.name)
            with self._news:
                shift.is_running = False
                shift.due = 0.0 if shift.is_woken else time.monotonic() + rest
                shift.is_woken = False
                self._news.notify()

    def _next(self) -> _Shift | None:
        """Take the work that has been due the longest, waiting for some; None when all is over."""
        with self._news:
            while not self._stop.is_set():
                free = [each for each in self._shifts.values() if not each.is_running]
                first = min(free, key=lambda each: each.due, default=None)
                now = time.monotonic()
                if first is not None and first.due <= now:
                    first.is_running, first.is_woken = True, False
                    return first
                self._news.wait(_LONGEST_REST if first is None else min(first.due - now, _LONGEST_REST))
        return None
