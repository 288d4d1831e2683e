"""Watches the files of graphs while a server runs, so that it notices what people, editors and git change in them.

Through watchfiles if that is installed, otherwise every few seconds. Owns how many directories are watched at once;
what a change means is decided by the scan.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from everloom.errors import EverloomError
from everloom.secrets import logger_of
from everloom.store.claims import CORNER

if TYPE_CHECKING:
    from everloom.graph.verbs import Graph

log = logger_of(__name__)

POLL_SECONDS = 3.0
# An editor or a pull changes several files in a row; one scan should cover them all.
_DEBOUNCE_MS = 300
_QUIET = (f"/{CORNER}/", "/.git/")
# Each costs a thread and a handle of the system. A server with more graphs watches those that were used last.
MOST_WATCHED = 32


class Watchers:
    """The watchers of one process: one for each directory, and no more than a bound."""

    def __init__(self, most: int = MOST_WATCHED) -> None:
        self._most = most
        self._running: OrderedDict[Path, Watcher] = OrderedDict()
        self._known: set[Path] = set()
        self._lock = Lock()

    def watch(self, graph: Graph) -> None:
        """Watch a graph's files from now on; what was changed while it was not watched is followed first."""
        with self._lock:
            if graph.directory in self._running:
                self._running.move_to_end(graph.directory)
                return
            self._running[graph.directory] = Watcher(graph).start()
            missed = graph.directory in self._known
            self._known.add(graph.directory)
            if len(self._running) > self._most:
                _, idle = self._running.popitem(last=False)
                idle.end()
        # Opening a graph follows its files once in a process, so only one that was given up may have changed unseen.
        if missed:
            graph.follow()

    def close(self) -> None:
        """Stop all of them."""
        with self._lock:
            running = [*self._running.values()]
            self._running.clear()
        for each in running:
            each.end()
        for each in running:
            each.stop()


class Watcher:
    """A thread that keeps the index of one graph up to date until it is stopped."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stop = Event()
        self._thread = Thread(target=self._run, name=f"watch {graph.name}", daemon=True)

    def start(self) -> Watcher:
        """Start the thread."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop the thread, and wait for it to end."""
        self.end()
        self._thread.join(timeout=10)

    def end(self) -> None:
        """Let the thread end by itself, soon."""
        self._stop.set()

    def _run(self) -> None:
        for _ in self._moments():
            try:
                self._graph.follow()
            except EverloomError as error:
                log.warning("cannot update the index of %s: %s", self._graph.directory, error)

    def _moments(self) -> Iterator[None]:
        """Yield whenever something changed, or may have changed."""
        if find_spec("watchfiles") is None:
            while not self._stop.wait(POLL_SECONDS):
                yield
            return
        from watchfiles import watch  # noqa: PLC0415  an extra

        changes = watch(
            self._graph.directory,
            stop_event=self._stop,
            debounce=_DEBOUNCE_MS,
            raise_interrupt=False,
            watch_filter=lambda _, path: _is_of_interest(path),
        )
        for _ in changes:
            yield


def _is_of_interest(path: str) -> bool:
    """Check whether a change can affect the index."""
    # A name without a dot is probably a folder, which may have been moved with everything in it.
    unified = path.replace("\\", "/")
    return not any(part in unified for part in _QUIET) and (
        unified.endswith(".md") or "." not in unified.rsplit("/", 1)[-1]
    )
