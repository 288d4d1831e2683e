"""Doctor: the checks of `everloom doctor` as a page, run in the background, because some read the whole store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Lock, Thread
from weakref import WeakKeyDictionary

from starlette.responses import Response

from everloom.checks import Check, examine, examine_program
from everloom.errors import EverloomError
from everloom.loom import Loom
from everloom.secrets import logger_of
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit
from everloom.surfaces.web.entrance import Entrance

log = logger_of(__name__)

_DOCTOR = "/doctor"
# A small store is examined in this time, and its person sees the result at once.
_WAIT_SECONDS = 1.5


@dataclass(slots=True)
class Examination:
    """One run of the checks, while it goes on and after."""

    began_at: datetime
    is_deep: bool
    checks: list[Check] = field(default_factory=list)
    ended: Event = field(default_factory=Event)

    @property
    def is_running(self) -> bool:
        """Whether there are more checks to come."""
        return not self.ended.is_set()

    def run(self, loom: Loom) -> None:
        """Run all checks; one that fails is a result."""
        try:
            for check in self._each(loom):
                self.checks.append(check)
        except EverloomError as error:
            self.checks.append(Check("doctor", "fail", error.message, error.hint))
        except Exception:
            # The thread's own boundary: whoever asked must see that it ended.
            log.exception("an examination failed")
            self.checks.append(Check("doctor", "fail", "the examination broke off", "the server's log says why"))
        finally:
            self.ended.set()

    def _each(self, loom: Loom) -> Iterator[Check]:
        yield from examine_program()
        yield from examine(loom, deep=self.is_deep)


class _Examinations:
    """The latest examination of each server; one runs at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._latest: WeakKeyDictionary[Entrance, Examination] = WeakKeyDictionary()

    def latest(self, entrance: Entrance) -> Examination | None:
        """Return the latest one, if there was any."""
        with self._lock:
            return self._latest.get(entrance)

    def begin(self, entrance: Entrance, *, deep: bool) -> Examination:
        """Begin one in a thread, or return the one that is running."""
        loom = entrance.opening.take()
        with self._lock:
            known = self._latest.get(entrance)
            if known is not None and known.is_running:
                return known
            begun = self._latest[entrance] = Examination(loom.clock.now(), deep)
        Thread(target=begun.run, args=(loom,), name="doctor", daemon=True).start()
        return begun


_EXAMINATIONS = _Examinations()


def doctor(visit: Visit) -> Response:
    """Show the latest examination."""
    visit.must_own()
    latest = _EXAMINATIONS.latest(visit.entrance)
    order = {"fail": 0, "warn": 1, "ok": 2}
    checks = [] if latest is None else sorted(latest.checks, key=lambda each: order[each.state])
    return visit.page("doctor.html", title="Doctor", latest=latest, checks=checks)


def run(visit: Visit) -> Response:
    """Run the checks."""
    visit.must_own()
    begun = _EXAMINATIONS.begin(visit.entrance, deep=visit.form.is_on("deep"))
    begun.ended.wait(_WAIT_SECONDS)
    return visit.go(_DOCTOR, "The checks are running. Load this page again." if begun.is_running else "")


PATHS = (
    look(_DOCTOR, doctor),
    form(_DOCTOR, run),
)
