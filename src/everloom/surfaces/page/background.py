"""What a page lets the server find out while nobody waits: one of each kind at a time, and the latest result of each.

Kept in memory only: it reads and writes nothing that must survive the process. Work that changes a memory is a job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Lock, Thread
from typing import Any
from weakref import WeakKeyDictionary

from everloom.errors import EverloomError, StoreBusy
from everloom.secrets import logger_of
from everloom.surfaces.web.entrance import Entrance

log = logger_of(__name__)

# Each may read a whole store; what is refused can be asked for again a moment later.
_MOST_RUNNING = 4


@dataclass(slots=True)
class Inquiry:
    """Something that is being found out, or was: what is found so far, and why it broke off, if it did."""

    began_at: datetime
    found: list[Any] = field(default_factory=list)
    error: EverloomError | None = None
    ended: Event = field(default_factory=Event)

    @property
    def is_running(self) -> bool:
        """Whether there is more to come."""
        return not self.ended.is_set()

    def run(self, act: Callable[[Inquiry], None]) -> None:
        """Find it out; an error is a result, too."""
        try:
            act(self)
        except EverloomError as error:
            self.error = error
        except Exception:
            # The boundary of the thread: whoever asked must see that it ended.
            log.exception("an inquiry of the page failed")
            self.error = EverloomError("it broke off", hint="the server's log says why")
        finally:
            self.ended.set()


class Inquiries:
    """The latest inquiry of each name, for each server."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: WeakKeyDictionary[Entrance, dict[str, Inquiry]] = WeakKeyDictionary()

    def latest(self, entrance: Entrance, name: str) -> Inquiry | None:
        """Return the latest one of a name, if there was any."""
        with self._lock:
            return self._known.get(entrance, {}).get(name)

    def forget(self, entrance: Entrance, name: str) -> None:
        """Forget what an inquiry has found; one that is running goes on for nobody."""
        with self._lock:
            self._known.get(entrance, {}).pop(name, None)

    def begin(self, entrance: Entrance, name: str, act: Callable[[Inquiry], None]) -> Inquiry:
        """Begin one in a thread, or return the one of that name that is running."""
        with self._lock:
            known = self._known.setdefault(entrance, {})
            if name in known and known[name].is_running:
                return known[name]
            if sum(each.is_running for each in known.values()) >= _MOST_RUNNING:
                raise StoreBusy("the server is finding out enough at once", hint="try again in a minute")
            begun = known[name] = Inquiry(entrance.opening.take().clock.now())
        Thread(target=begun.run, args=(act,), name=name, daemon=True).start()
        return begun


INQUIRIES = Inquiries()
# In this time a small store is read, and whoever asked sees the result at once.
WAIT_SECONDS = 1.5
