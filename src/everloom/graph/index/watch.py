"""Watching a graph's directory while a server runs, in a thread: edits, moves, pulls are followed a moment later.

Uses watchfiles where it is installed; otherwise it looks at names and times every few seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from threading import Event, Thread

from everloom.errors import EverloomError
from everloom.graph.files.disk import HIDDEN
from everloom.graph.graph import Graph

log = logging.getLogger(__name__)

DEBOUNCE_MS = 300
POLL_SECONDS = 3.0
QUIET = (f"/{HIDDEN}/", "/.git/")


class Watcher:
    """A thread that follows one graph until it is told to stop."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stop = Event()
        self._thread = Thread(target=self._run, name=f"watch {graph.name}", daemon=True)

    def start(self) -> Watcher:
        """Begin to watch."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop, and wait until it has."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        for _ in self._moments():
            try:
                self._graph.follow()
            except EverloomError as error:
                log.warning("cannot follow %s: %s", self._graph.directory, error)

    def _moments(self) -> Iterator[None]:
        """Wake up whenever something changed, or might have."""
        if find_spec("watchfiles") is None:
            while not self._stop.wait(POLL_SECONDS):
                yield
            return
        from watchfiles import watch  # noqa: PLC0415  an extra

        changes = watch(
            self._graph.directory,
            stop_event=self._stop,
            debounce=DEBOUNCE_MS,
            raise_interrupt=False,
            watch_filter=lambda _, path: is_of_interest(path),
        )
        for _ in changes:
            yield


def is_of_interest(path: str) -> bool:
    """Say whether a change can matter to the index."""
    unified = path.replace("\\", "/")
    return not any(part in unified for part in QUIET) and (
        unified.endswith(".md") or "." not in unified.rsplit("/", 1)[-1]
    )
