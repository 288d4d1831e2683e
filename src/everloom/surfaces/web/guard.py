"""Guards the sockets of a server: how many connections an address may hold, and how long each may keep us waiting.

A client that connects and says nothing, or says it one byte at a time, costs a place that others need. Each connection
takes one of the files that the process may open, so there are as many places as that limit allows. Below the gate,
which sees only requests that have arrived. Refuses to know what is requested.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import ip_address
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from everloom.errors import EverloomError
from everloom.secrets import logger_of
from everloom.surfaces.web.proxies import NOBODY, NetworkList

if os.name == "nt":

    def _raised(wanted: int) -> int | None:  # noqa: ARG001
        """Windows has no such limit."""
        return None
else:
    import resource

    def _raised(wanted: int) -> int | None:
        """Raise the limit towards what is wanted, and return it; None if there is none."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return None
        if soft < wanted:
            allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            # Some systems have another limit below the hard one; then the present limit counts.
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
                soft = allowed
        return soft


log = logger_of(__name__)

# What a connection is waiting for: its client's headers, its client's body, or our answer.
Phase = Literal["headers", "body", "answer"]
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
# A closed connection whose client does not read the last answer is cut after this.
_FLUSH_SECONDS = 2.0

# Connections beyond the places, so that whoever gets none is told so by the guard.
SPARE = 32
# With fewer places than this, a page and one client would get into each other's way.
_LEAST = 8


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits: seats in all and for one address, and the seconds that each phase may last."""

    seats: int = 480
    seats_each: int = 128
    headers: float = 10.0
    # Longer than the gate's own limits, which answer in words; these are for what the gate cannot end.
    body: float = 40.0
    answer: float = 200.0
    # How many files the process opens beside connections: the store, logs, graphs, models, and for each call at once.
    reserve: int = 64
    # All callers come from the address of a proxy, which may therefore take every seat.
    proxies: NetworkList = NOBODY


def affordable(patience: Patience) -> Patience:
    """Raise the limit of open files, and fit the places into it; refuse a limit that is too low for any server."""
    beside = SPARE + patience.reserve
    wanted = beside + patience.seats
    limit = _raised(wanted)
    if limit is None or limit >= wanted:
        return patience
    remedy = f"raise it to {wanted}: `ulimit -n {wanted}` in a shell, LimitNOFILE={wanted} in a systemd unit"
    if limit < beside + _LEAST:
        raise EverloomError(
            f"this process may open {limit} files at once, and a server needs at least {beside + _LEAST}",
            hint=f"{remedy}; or lower server.calls_at_once",
        )
    seats = limit - beside
    # Half of them: what waits gives way, and a few places would be too few for the clients of one machine.
    each = min(patience.seats_each, seats // 2)
    log.warning(
        "this process may open %d files: it serves %d connections, %d for each address, instead of %d and %d; %s",
        limit,
        seats,
        each,
        patience.seats,
        patience.seats_each,
        remedy,
    )
    return replace(patience, seats=seats, seats_each=each)


class Seats:
    """The connections of a server, by address; who waits for a client gives way to who comes."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._all: OrderedDict[GuardedConnection, str] = OrderedDict()
        self._count: dict[str, int] = {}

    def enter(self, connection: GuardedConnection, host: str) -> bool:
        """Take a seat; when there is none, the oldest connection that waits for its client gives up its own."""
        address, is_bounded = neighbourhood(host), host not in self.patience.proxies
        is_full = is_bounded and self._count.get(address, 0) >= self.patience.seats_each
        if is_full and not self._give_way(address):
            return False
        if len(self._all) >= self.patience.seats and not self._give_way(None):
            return False
        self._all[connection] = address
        self._count[address] = self._count.get(address, 0) + 1
        return True

    def leave(self, connection: GuardedConnection) -> None:
        """Give a seat back."""
        address = self._all.pop(connection, None)
        if address is None:
            return
        self._count[address] -= 1
        if not self._count[address]:
            del self._count[address]

    def _give_way(self, address: str | None) -> bool:
        for connection, its_address in self._all.items():
            if address in (None, its_address) and connection.phase != "answer":
                self.leave(connection)
                connection.cut()
                return True
        return False


def neighbourhood(host: str) -> str:
    """Return what counts as one address: of IPv6, the 64 bits that a single customer is given."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address) if address.version == 4 else str(address.exploded)[:19]


class GuardedConnection(H11Protocol):
    """One connection: waits only so long for its client, and only so long for its answer."""

    def __init__(self, *given: Any, seats: Seats, **named: Any) -> None:
        super().__init__(*given, **named)
        self._seats = seats
        self._timer: asyncio.TimerHandle | None = None
        self.phase: Phase = "headers"

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a seat, or refuse the connection at once."""
        super().connection_made(transport)
        if self._seats.enter(self, self.client[0] if self.client else ""):
            self._enter("headers")
        else:
            self._end(_FULL)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the seat back."""
        self._stop()
        self._seats.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless the connection is being closed."""
        if not self.transport.is_closing():
            super().data_received(data)

    def handle_events(self) -> None:
        """Handle what has arrived, and start the clock of the phase that begins with it."""
        super().handle_events()
        self._turn()

    def on_response_complete(self) -> None:
        """Wait for the next request; the rest of one that was answered early counts as that."""
        self._turn()
        super().on_response_complete()

    def _turn(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        phase: Phase = "headers"
        if cycle is not None and not cycle.response_complete:
            phase = "body" if cycle.more_body else "answer"
        if phase != self.phase or self.transport.is_closing():
            self._enter(phase)

    def _enter(self, phase: Phase) -> None:
        self._stop()
        self.phase = phase
        patience = self._seats.patience
        # One that is being closed may still have to send what its client does not read.
        seconds = patience.headers if self.transport.is_closing() else getattr(patience, phase)
        self._timer = self.loop.call_later(seconds, self._expire)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        # Only who has begun a request waits for an answer to it.
        self._timer = None
        if self.transport.is_closing():
            self.cut()
        elif self.phase == "headers" and self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._end(_LATE)
        else:
            self.cut()

    def _end(self, answer: bytes) -> None:
        """Write a last answer and close; who does not read it is cut off."""
        self.transport.write(answer)
        self.transport.close()
        self._timer = self.loop.call_later(_FLUSH_SECONDS, self.cut)

    def cut(self) -> None:
        """Close without waiting for anybody."""
        self._stop()
        self.transport.abort()


def guarded(patience: Patience) -> Any:
    """Make the protocol of one server; its connections share their seats."""
    return partial(GuardedConnection, seats=Seats(patience))
