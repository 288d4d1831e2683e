"""Runs a server: its address, the rules that follow from it, and an orderly stop.

A server that is told to stop says so at /ready, goes on for as long as its balancer needs to notice, closes its door,
and finishes what it has begun within a limit, after which the process is ended. One that cannot accept connections any
more ends with an error. Refuses to listen beyond this machine as long as there is no token.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

import uvicorn
from starlette.types import ASGIApp

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected
from everloom.kernel.tokens import Tokens
from everloom.secrets import logger_of
from everloom.surfaces.web.admission import Rules, bare, is_loopback
from everloom.surfaces.web.guard import SPARE, Patience, affordable, guarded
from everloom.surfaces.web.proxies import NetworkList

if TYPE_CHECKING:
    from everloom.sections import ServerSettings

log = logger_of(__name__)

_BACKLOG = 512
# How many connections are accepted before the guard sees any of them; what it refuses is closed a few turns later, and
# all that wait for that must fit into the spare ones.
_AT_ONCE = SPARE // 4
# What a call that is carried out opens: its connection to the store, and a file.
_HANDLES_PER_CALL = 2
# What accepting fails with when the process or the system has no more of something; it passes.
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_COMPLAINT_SECONDS = 10.0
# How much longer than it may take a stop is waited for before the process is ended whatever it does.
_LAST_SECONDS = 5.0
# How much longer than the gate a guard waits: the gate answers in words.
_BODY_GRACE, _ANSWER_GRACE = 10.0, 80.0
_LOOK_SECONDS = 0.05
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Return the URL at which clients on this machine or in this network reach it."""
        name = socket.gethostname() if self.host in _WILDCARDS else self.host
        return f"http://[{name}]:{self.port}" if ":" in name else f"http://{name}:{self.port}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a server ends: how long it still takes requests, and how long what it has begun may take after that."""

    drain_seconds: float = 0.0
    stop_seconds: float = 25.0


def ending_of(settings: ServerSettings) -> Ending:
    """Read how a server ends from the settings."""
    return Ending(settings.drain_seconds, settings.stop_seconds)


def patience_of(settings: ServerSettings) -> Patience:
    """Read from the settings how many connections a server holds, and for how long."""
    return Patience(
        seats=settings.connections,
        seats_each=settings.connections_each,
        body=settings.body_seconds + _BODY_GRACE,
        answer=settings.request_seconds + _ANSWER_GRACE,
        reserve=Patience().reserve + _HANDLES_PER_CALL * settings.calls_at_once,
        proxies=NetworkList.read(settings.proxies),
    )


def rules_for(
    host: str,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    settings: ServerSettings | None = None,
) -> Rules:
    """Decide what the gate checks on an address: beyond this machine, a token is required."""
    local = is_loopback(host)
    names = {name.lower() for name in hosts} | ({socket.gethostname().lower(), host.lower()} if not local else set())
    rules = Rules(
        hosts=frozenset(names),
        origins=frozenset(origin.lower().rstrip("/") for origin in origins),
        any_address=not local,
        needs_token=not local,
    )
    if settings is None:
        return rules
    return replace(
        rules,
        body_seconds=settings.body_seconds,
        request_seconds=settings.request_seconds,
        calls_per_second=settings.calls_per_second,
        burst=settings.calls_saved,
        proxies=NetworkList.read(settings.proxies),
    )


def has_stragglers(seconds: float = 1.0) -> bool:
    """Return whether threads of calls that were given up are still under way; those that are about to end may end."""
    deadline = time.monotonic() + seconds
    others = [each for each in threading.enumerate() if not each.daemon and each is not threading.current_thread()]
    for each in others:
        each.join(max(0.0, deadline - time.monotonic()))
    return any(each.is_alive() for each in others)


def require_token(tokens: Tokens, host: str, workspace: str = "WORKSPACE") -> None:
    """Refuse to be reachable from other machines as long as there is no token."""
    if not tokens.has_valid():
        hint = f"create one with `everloom token create NAME --workspace {workspace}`, or listen on 127.0.0.1"
        raise Forbidden(f"{host} can be reached from other machines, and there is no token yet", hint=hint)


def bind(host: str, port: int) -> tuple[socket.socket, Address]:
    """Bind a port, or report why it cannot be bound; port 0 takes any free one."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            bare(host) or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError) as error:
        raise Rejected(f"there is no address {host!r}", hint="use 127.0.0.1, or an address of this machine") from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(place)
        # Clients that connect before the app has started wait instead of being refused.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _unbound(error, host, port) from error
    return listener, Address(bare(host), listener.getsockname()[1])


def _unbound(error: OSError, host: str, port: int) -> EverloomError:
    """Report why a port could not be bound."""
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"port {port} of {host} is in use", hint="stop the program that listens there, or choose another --port"
        )
    if error.errno == errno.EACCES:
        return Forbidden(f"this user may not listen on port {port}", hint="choose a --port above 1023")
    return Rejected(f"cannot listen on {host}: {error.strerror}", hint="use 127.0.0.1, or an address of this machine")


class StoppableServer(uvicorn.Server):
    """A server that says so when it is told to stop: a stream would otherwise keep it for as long as it is allowed."""

    stopping: Callable[[], None] = staticmethod(lambda: None)
    drain_seconds: float = 0.0
    # Why it ended by itself.
    failure: EverloomError | None = None
    _deadline: threading.Timer | None = None
    _complained_at = -_COMPLAINT_SECONDS

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; trouble in the loop is logged and never ends it."""
        asyncio.get_running_loop().set_exception_handler(self._hear_of)
        await super().startup(sockets)
        for each in sockets or ():
            # The loop sets the queue of the system to the number that it accepts at once.
            each.listen(_BACKLOG)

    def _hear_of(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that nobody awaits; a shortage, which each connection reports, only from time to time."""
        error = context.get("exception")
        # What is raised here would end the loop, and logging needs files as well.
        with suppress(Exception):
            if not isinstance(error, OSError) or error.errno not in _SHORTAGES:
                loop.default_exception_handler(context)
            elif time.monotonic() > self._complained_at + _COMPLAINT_SECONDS:
                self._complained_at = time.monotonic()
                log.error("connections wait, because none can be accepted now: %s", error.strerror)

    async def on_tick(self, counter: int) -> bool:
        """Look whether to go on; a server whose socket is gone ends, so that somebody starts it again."""
        if not self.should_exit and (cause := self._deafness()) is not None:
            hint = "start the server again; if it happens again, look for what closes its socket"
            self.failure = EverloomError(f"no connection can be accepted any more: {cause}", hint=hint)
            log.critical("%s", self.failure)
            self.drain_seconds = 0.0
            self.stopping()
            return True
        return await super().on_tick(counter)

    def _deafness(self) -> str | None:
        """Find out why no connection can be accepted any more; None if they can."""
        for server in self.servers:
            if not server.is_serving() or not server.sockets:
                return "the event loop has stopped listening"
            try:
                if not all(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for each in server.sockets):
                    return "the socket does not listen any more"
            except OSError as error:
                return f"the socket was closed ({error.strerror})"
        return None

    async def main_loop(self) -> None:
        """Serve until told to stop, and then until balancers have noticed it, or somebody says it again."""
        await super().main_loop()
        began = time.monotonic()
        while time.monotonic() < began + self.drain_seconds:
            await asyncio.sleep(_LOOK_SECONDS)
        self.drain_seconds = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop once the requests in progress are answered."""
        if self.should_exit and self.drain_seconds:
            self.drain_seconds = 0.0
            return
        self.end_in_time()
        self.stopping()
        super().handle_exit(sig, frame)

    def end_in_time(self) -> None:
        """End the process if it has not ended by itself within the time that a stop may take."""
        if self._deadline is None:
            seconds = self.drain_seconds + float(self.config.timeout_graceful_shutdown or 0) + _LAST_SECONDS
            self._deadline = threading.Timer(seconds, _end_now, [seconds])
            self._deadline.daemon = True
            self._deadline.start()


def _end_now(seconds: float) -> None:
    """End the process whatever its threads do; what they began in the store is rolled back."""
    log.critical("the process did not end within %.0f seconds of being told to, and is ended", seconds)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(1)


def make_server(
    app: ASGIApp,
    *,
    lifespan: Literal["on", "off"],
    patience: Patience = Patience(),  # noqa: B008
    ending: Ending = Ending(),  # noqa: B008
) -> StoppableServer:
    """Make a server with as many connections as this process can afford, that lets requests finish when it stops."""
    _let_calls_end()
    patience = affordable(patience)
    # No access log, because it would hold what people ask; forwarded headers are read by the gate, which knows whom to
    # believe; and a Server header only helps attackers.
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan=lifespan,
        proxy_headers=False,
        server_header=False,
        http=guarded(patience),
        limit_concurrency=patience.seats + SPARE,
        backlog=_AT_ONCE,
        timeout_graceful_shutdown=ceil(ending.stop_seconds),
    )
    server = StoppableServer(config)
    server.drain_seconds = ending.drain_seconds
    return server


def _let_calls_end() -> None:
    """Keep the MCP SDK's event streams open when the server stops: each carries the answer to a call, and ends with it.

    The library that writes them ends them as soon as a process is told to stop, and the answers of calls that have done
    their work are lost. The streams that carry no call are our own (`streaming`), and end by themselves.
    """
    try:
        from sse_starlette.sse import AppStatus  # noqa: PLC0415  an optional part of the SDK
    except ImportError:
        return
    # Versions before 3.1 have no such switch, and do not look for it.
    AppStatus.enable_automatic_graceful_drain = False


def serve(
    server: StoppableServer,
    listener: socket.socket,
    announce: Callable[[], None],
    begin_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests in progress are finished first, streams end at once by `begin_stop`."""
    server.stopping = begin_stop

    # For a signal that arrives before uvicorn has installed its handlers. Uvicorn also raises the signal again when it
    # is done, which would end the program before it has closed its store.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    announce()
    try:
        server.run(sockets=[listener])
    finally:
        server.end_in_time()
    if server.failure is not None:
        raise server.failure
