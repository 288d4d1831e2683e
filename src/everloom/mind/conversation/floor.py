"""The floor: the right to speak in a workspace's conversation, which one process has at a time.

A lease of the kernel, extended while a turn goes on; its token fences off whoever had it before. Knows no turns.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from everloom.clock import to_micros
from everloom.errors import Conflict, StoreError
from everloom.mind.ground import Ground
from everloom.store import Unit

log = logging.getLogger(__name__)

TASK = "turn"
HELD = timedelta(minutes=1)
GLANCE = 0.1


class Held:
    """The floor while it is held."""

    def __init__(self, ground: Ground, token: int) -> None:
        self._ground = ground
        self._token = token

    def guard(self, unit: Unit) -> None:
        """Prove inside a transaction that nobody else has the floor; else nothing of it is kept."""
        until = to_micros(self._ground.clock.now() + HELD)
        if not unit.run("kernel.lease_extend", task=TASK, token=self._token, held_until=until):
            raise Conflict("another process has the floor", hint="it answers what waits; nothing was written here")

    def extend(self) -> None:
        """Hold the floor for another while."""
        with self._ground.store.write(self._ground.workspace.id) as unit:
            self.guard(unit)

    def release(self) -> None:
        """Leave the floor to others."""
        now = to_micros(self._ground.clock.now())
        with self._ground.store.write(self._ground.workspace.id) as unit:
            unit.run("kernel.lease_done", task=TASK, token=self._token, now=now, report="{}")


class Floor:
    """The way to the floor of one workspace."""

    def __init__(self, ground: Ground, holder: str) -> None:
        self._ground = ground
        self._holder = holder

    @contextmanager
    def taken(self, seconds: float = 0.0) -> Iterator[Held | None]:
        """Take the floor for a block, waiting so long for it; None when another process has it."""
        held = self._take(seconds)
        if held is None:
            yield None
            return
        ended = Event()
        keeper = Thread(target=_keep, args=(held, ended), name="floor", daemon=True)
        keeper.start()
        try:
            yield held
        finally:
            ended.set()
            keeper.join()
            try:
                held.release()
            except StoreError:
                log.warning("the floor could not be given back; it is free in %s", HELD, exc_info=True)

    def _take(self, seconds: float) -> Held | None:
        stop_at = time.monotonic() + seconds
        while (token := self._token()) is None:
            if time.monotonic() >= stop_at:
                return None
            time.sleep(GLANCE)
        return Held(self._ground, token)

    def _token(self) -> int | None:
        now = self._ground.clock.now()
        times = {"now": to_micros(now), "held_until": to_micros(now + HELD)}
        place = self._ground.workspace.id
        with self._ground.store.read(place) as unit:
            row = unit.one("kernel.lease_get", task=TASK)
        held = row if row is not None and row["held_until"] > times["now"] else None
        if held is not None and not is_gone(held["holder"]):
            return None
        with self._ground.store.write(place) as unit:
            if held is not None:
                unit.run("mind.floor_free", task=TASK, token=held["token"])
            row = unit.one("kernel.lease_take", task=TASK, holder=self._holder, **times)
        return None if row is None else int(row["token"])


def _keep(held: Held, ended: Event) -> None:
    while not ended.wait(HELD.total_seconds() / 4):
        try:
            held.extend()
        except (Conflict, StoreError):
            log.warning("the floor could not be held", exc_info=True)


def is_gone(holder: str | None) -> bool:
    """Say whether a holder, `host:process:…`, is known to have died on this machine; in doubt it lives.

    A wrong guess costs a wasted turn and nothing else: the token fences the old holder off.
    """
    host, _, rest = (holder or "").partition(":")
    number = rest.partition(":")[0]
    if os.name != "posix" or host != socket.gethostname() or not number.isdecimal() or int(number) <= 0:
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
