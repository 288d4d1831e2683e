"""Leases: the temporary right of one holder to do one kind of work in one workspace.

A holder shows by a beat every few seconds that it lives; one that died is seen at once on its own machine, and after a
few beats from another. A fencing token protects against former holders: a write under a lost lease is rolled back.
Refuses to know what the work is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import Any, NamedTuple

from everloom.clock import Clock, to_micros
from everloom.errors import Conflict, StoreError
from everloom.kernel.work.holder import is_gone
from everloom.secrets import logger_of, masked
from everloom.store import Row, Store, Unit

log = logger_of(__name__)

# Long enough for a busy machine to renew in time, short enough that another machine soon takes over from a dead one.
LEASE = timedelta(seconds=20)
# Four beats may fail, because the store is busy or the machine is, before a lease runs out.
BEATS = 5
# How often a waiting process checks whether a lease is free.
_GLANCE_SECONDS = 0.1


def never() -> bool:
    """Ask for nothing to stop."""
    return False


class Lease:
    """A lease that this process has taken."""

    def __init__(self, leases: Leases, workspace: int, task: str, token: int, lasting: timedelta) -> None:
        self._leases = leases
        self._workspace = workspace
        self._task = task
        self._lasting = lasting
        self.token = token
        self._stop_at = float("inf")
        self._stop: Callable[[], bool] = never

    def until(self, seconds: float, stop: Callable[[], bool] = never) -> Lease:
        """Limit the work to a number of seconds, or until somebody asks it to stop; `has_time` checks both."""
        self._stop_at, self._stop = time.monotonic() + seconds, stop
        return self

    def has_time(self) -> bool:
        """Return whether there is time for another step."""
        return time.monotonic() < self._stop_at and not self._stop()

    def guard(self, unit: Unit) -> None:
        """Extend the lease inside a step's own transaction; raise if it was lost, which rolls the step back."""
        until = to_micros(self._leases.clock.now() + self._lasting)
        # In the transaction of the step, so that nobody can take the lease between this check and the commit. Only the
        # token counts, not the time: a lease that ran out but that nobody has taken is still ours.
        if not unit.run("kernel.lease_extend", task=self._task, token=self.token, held_until=until):
            raise Conflict(
                f"the lease on {self._task} has expired", hint="another process has taken over; nothing was written"
            )

    def extend(self) -> None:
        """Extend the lease by its full duration."""
        with self._leases.store.write(self._workspace) as unit:
            self.guard(unit)

    def release(self, report: Mapping[str, Any] | None = None) -> None:
        """Release the lease, and record what was done under it."""
        now = to_micros(self._leases.clock.now())
        text = masked(json.dumps(report or {}))
        with self._leases.store.write(self._workspace) as unit:
            unit.send("kernel.lease_done", task=self._task, token=self.token, now=now, report=text)

    def drop(self) -> None:
        """Release the lease without recording a run."""
        with self._leases.store.write(self._workspace) as unit:
            unit.send("kernel.lease_drop", task=self._task, token=self.token)

    @contextmanager
    def kept_alive(self) -> Iterator[None]:
        """Extend the lease from a thread during a slow block, for example while a model answers.

        A failed extension is only logged: the guard of the next write decides whether the lease is still held. One that
        somebody else has taken does not come back.
        """
        ended = Event()

        def keep() -> None:
            while not ended.wait(self._lasting.total_seconds() / BEATS):
                try:
                    self.extend()
                except Conflict:
                    log.warning("the lease on %s was lost while it was held", self._task)
                    return
                except StoreError as error:
                    log.warning("the lease on %s could not be extended: %s", self._task, error)

        keeper = Thread(target=keep, name=f"lease {self._task}", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            ended.set()
            keeper.join()


class Leases:
    """Takes leases for one holder."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self.store = store
        self.clock = clock
        self.holder = holder
        self._watched: dict[tuple[int, str], _Sight] = {}

    def take(self, workspace: int, task: str, *, lasting: timedelta = LEASE, wait: float = 0.0) -> Lease | None:
        """Take a lease, waiting up to `wait` seconds; None if another holder has it or the task is pausing."""
        stop_at = time.monotonic() + wait
        while (token := self._token(workspace, task, lasting)) is None:
            if time.monotonic() >= stop_at:
                return None
            time.sleep(_GLANCE_SECONDS)
        return Lease(self, workspace, task, token, lasting)

    @contextmanager
    def held(
        self, workspace: int, task: str, *, lasting: timedelta = LEASE, wait: float = 0.0
    ) -> Iterator[Lease | None]:
        """Take a lease, keep it alive during a block, and release it at the end; None if another holder has it."""
        lease = self.take(workspace, task, lasting=lasting, wait=wait)
        if lease is None:
            yield None
            return
        with lease.kept_alive():
            try:
                yield lease
            finally:
                try:
                    lease.release()
                except StoreError:
                    log.warning("the lease on %s was not released; it expires in %s", task, lasting, exc_info=True)

    def _token(self, workspace: int, task: str, lasting: timedelta) -> int | None:
        now = self.clock.now()
        times = {"now": to_micros(now), "held_until": to_micros(now + lasting)}
        # Without the write lock, so that processes that wait for the lease do not slow down its holder. What they read
        # may be outdated, so the statement that takes the lease checks again.
        with self.store.read(workspace) as unit:
            row = unit.one("kernel.lease_get", task=task)
        held = row if row is not None and row["held_until"] > times["now"] else None
        if held is not None and not is_gone(held["holder"]) and not self._is_silent((workspace, task), held, lasting):
            return None
        with self.store.write(workspace) as unit:
            if held is not None:
                # With the token of the dead holder: if another process has taken over since, its lease stays.
                unit.send("kernel.lease_free", task=task, token=held["token"])
            row = unit.one("kernel.lease_take", task=task, holder=self.holder, **times)
        return None if row is None else int(row["token"])

    def _is_silent(self, which: tuple[int, str], held: Row, lasting: timedelta) -> bool:
        """Return whether this process has watched a lease for its whole duration without seeing it extended.

        The time of a lease is written by one machine and read by another. If their clocks differ, or one was set back,
        a lease whose holder died would last for as long as they are apart.
        """
        mark, now = (int(held["token"]), int(held["held_until"])), time.monotonic()
        seen = self._watched.get(which)
        if seen is None or seen.mark != mark:
            self._watched[which] = _Sight(mark, now)
            return False
        return now - seen.since > lasting.total_seconds()


class _Sight(NamedTuple):
    """What was seen of a lease, and since when it is the same."""

    mark: tuple[int, int]
    since: float
