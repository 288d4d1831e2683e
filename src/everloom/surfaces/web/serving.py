"""Runs a server: its address, the rules that follow from it, and an orderly stop.

Refuses to listen beyond this machine as long as there is no token.
"""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected
from everloom.kernel.tokens import Tokens
from everloom.surfaces.web.admission import Rules, bare, is_loopback
from everloom.surfaces.web.guard import Patience, guarded

_SHUTDOWN_SECONDS = 10
_MOST_CONNECTIONS = 512
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


def rules_for(host: str, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> Rules:
    """Decide what the gate checks on an address: beyond this machine, a token is required."""
    local = is_loopback(host)
    names = {name.lower() for name in hosts} | ({socket.gethostname().lower(), host.lower()} if not local else set())
    return Rules(
        hosts=frozenset(names),
        origins=frozenset(origin.lower().rstrip("/") for origin in origins),
        any_address=not local,
        needs_token=not local,
    )


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
        listener.listen(_MOST_CONNECTIONS)
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop once the requests in progress are answered."""
        self.stopping()
        super().handle_exit(sig, frame)


def make_server(app: ASGIApp, *, lifespan: Literal["on", "off"], patience: Patience = Patience()) -> StoppableServer:  # noqa: B008
    """Make a server with bounded connections that lets requests finish when it stops."""
    # No access log, because it would hold what people ask; no forwarded headers and no Server header, because the first
    # can be forged and the second only helps attackers.
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan=lifespan,
        proxy_headers=False,
        server_header=False,
        http=guarded(patience),
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return StoppableServer(config)


def serve(
    app: ASGIApp, listener: socket.socket, announce: Callable[[], None], begin_stop: Callable[[], None] = lambda: None
) -> None:
    """Serve until SIGTERM or SIGINT; requests in progress are finished first, streams end at once by `begin_stop`."""
    server = make_server(app, lifespan="on")
    server.stopping = begin_stop

    # For a signal that arrives before uvicorn has installed its handlers. Uvicorn also raises the signal again when it
    # is done, which would end the program before it has closed its store.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    announce()
    server.run(sockets=[listener])
