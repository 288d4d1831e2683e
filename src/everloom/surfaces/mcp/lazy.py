"""The loom of a server process: opened when it is first needed, or ahead of need in a thread.

An answer to `tools/list` waits neither for the store nor for the embedder. Opening that fails is tried again by the
next call. Refuses to know which store it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Timer
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, ProviderBusy, StoreBusy

if TYPE_CHECKING:
    from everloom.loom import Loom

log = logging.getLogger(__name__)


class LazyLoom:
    """One loom for all threads of a process."""

    def __init__(self, open_it: Callable[[], Loom]) -> None:
        self._open_it = open_it
        self._loom: Loom | None = None
        self._lock = Lock()
        self._timer: Timer | None = None
        self._closed = False
        self.is_warm = False

    def take(self) -> Loom:
        """Give the open loom, opening it if nobody did yet."""
        with self._lock:
            if self._closed:
                raise StoreBusy("the server is shutting down", hint="try again when it is back")
            if self._loom is None:
                self._loom = self._open_it()
            return self._loom

    def warm_after(self, seconds: float) -> None:
        """Open the loom and load its embedder in a thread, a moment from now, unless that was done or is being done."""
        if self._timer is None and not self.is_warm:
            self._timer = Timer(seconds, self._warm)
            self._timer.daemon = True
            self._timer.start()

    def _warm(self) -> None:
        try:
            self.check()
            if self.take().embedding.probe("ready") is None:
                raise ProviderBusy("no embedder answers: searches use words only", hint="`everloom doctor` says why")
            self.is_warm = True
        except EverloomError as error:
            # Whoever calls next tries again and is told; here is nobody to tell.
            log.warning("not ready: %s", error)
        finally:
            self._timer = None

    def check(self) -> None:
        """See that the store answers and has the right schema; raise what is in the way."""
        self.take().workspaces.list()

    def close(self) -> None:
        """Let go of the store; nobody can open it again."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self._loom is not None:
                self._loom.close()
                self._loom = None
