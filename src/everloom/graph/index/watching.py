"""Watches the files of graphs while a server runs, so that it notices what people, editors and git change in them.

Through watchfiles if that is installed and the system can, otherwise every few seconds. Owns how many directories are
watched at once; what a change means is decided by the scan.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator
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
# A poll that takes long is followed by a rest of so many times as long.
_REST = 20
# So many changes at once are a pull or a copy: the whole directory is compared then.
_MANY = 1_000
# An editor or a pull changes several files in a row; one scan should cover them all.
_DEBOUNCE_MS = 300
_QUIET = (f"/{CORNER}/", "/.git/", "/.obsidian/", "/.trash/")
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
        trouble = None
        for paths in self._moments():
            try:
                self._graph.follow(paths)
                trouble = None
            except EverloomError as error:
                # Said once: whoever polls meets the same trouble every few seconds.
                if trouble != str(error):
                    log.warning("cannot update the index of %s: %s", self._graph.directory, error)
                trouble = str(error)

    def _moments(self) -> Iterator[Collection[str] | None]:
        """Yield the files that changed, or None where any may have, until the watcher is stopped."""
        if find_spec("watchfiles") is not None:
            try:
                yield from self._told()
            except (OSError, RuntimeError) as error:
                # A system allows so many watches to a user; a directory may be missing; watchfiles has errors of its
                # own, too. None of them may end the watching.
                log.warning(
                    "the system does not watch %s (%s): it is looked at every %g seconds instead; on Linux,"
                    " `sysctl fs.inotify` shows how much may be watched",
                    self._graph.directory,
                    error,
                    POLL_SECONDS,
                )
        pause = POLL_SECONDS
        while not self._stop.wait(pause):
            began = time.monotonic()
            yield None
            # Looking at many files takes a while, and must not be all that the process does.
            pause = max(POLL_SECONDS, _REST * (time.monotonic() - began))

    def _told(self) -> Iterator[Collection[str] | None]:
        """Yield what the system tells, and once everything: what changed before it began to."""
        from watchfiles import watch  # noqa: PLC0415  an extra

        changes = watch(
            self._graph.directory,
            stop_event=self._stop,
            debounce=_DEBOUNCE_MS,
            raise_interrupt=False,
            yield_on_timeout=True,
            watch_filter=lambda _, path: _is_of_interest(path),
        )
        is_first = True
        for found in changes:
            if found and len(found) < _MANY:
                yield [os.path.relpath(path, self._graph.directory).replace(os.sep, "/") for _, path in found]
            # The system forgets some of many changes that come at once.
            if is_first or len(found) >= _MANY:
                yield None
            is_first = False


def _is_of_interest(path: str) -> bool:
    """Check whether a change can affect the index; a name that is not a memory's may be that of a folder."""
    return not any(part in path.replace("\\", "/") for part in _QUIET)
