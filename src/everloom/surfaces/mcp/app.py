"""MCP over HTTP: the routes, and how the process starts and ends.

`/health` reports that the process is up, `/ready` that it can work; neither needs a token. `/mcp` accepts POST only:
nothing is ever sent unasked, and no state is kept for a connection.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anyio import CapacityLimiter, move_on_after, to_thread
from anyio.to_thread import run_sync
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from everloom.errors import EverloomError
from everloom.kernel.tokens import Token, Tokens
from everloom.surfaces.mcp.connections import Connections
from everloom.surfaces.mcp.server import LoomServer
from everloom.surfaces.web.accounting import RequestFigures
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.entrance import discreet
from everloom.surfaces.web.gate import HEALTH, OPEN_PATHS, Gate
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom

# Who asks whether a server is ready gives up after a few seconds.
_READY_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Beside:
    """What a process serves beside MCP, behind the same gate: routes of other surfaces, and which need no token.

    `figures` is where its requests are counted, `calls_at_once` how many of them are carried out at the same time.
    """

    routes: Sequence[BaseRoute] = ()
    open_paths: Collection[str] = ()
    figures: RequestFigures | None = None
    calls_at_once: int = 40


def make_app(
    opening: LazyLoom,
    process: Process,
    toolset: str,
    rules: Rules,
    beside: Beside = Beside(),  # noqa: B008
) -> ASGIApp:
    """Make the app of one process; it opens its memory when it starts and closes it when it ends."""
    server, probing = LoomServer(opening, process, toolset), CapacityLimiter(1)
    # The SDK's own check is off: the gate has checked Host and Origin for every route, by rules that can be configured.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(stateless_http=True, transport_security=security, max_request_body_size=rules.most_bytes)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = beside.calls_at_once
        opening.warm_after(0)
        async with server.session_manager.run():
            yield
        await run_sync(opening.close)

    async def ready(_request: Request) -> JSONResponse:
        return await _readiness(opening, probing)

    def verify(secret: str) -> Token | None:
        loom = opening.take()
        return Tokens(loom.store, loom.clock).verify(secret)

    routes = [
        HEALTH,
        Route("/ready", ready, methods=["GET"]),
        Route("/mcp", Connections(StreamableHTTPASGIApp(server.session_manager)), methods=["POST"]),
        *beside.routes,
    ]
    return Gate(
        Starlette(routes=routes, lifespan=lifespan),
        rules,
        verify,
        open_paths={*OPEN_PATHS, *beside.open_paths},
        figures=beside.figures,
        is_ending=lambda: opening.is_stopping,
    )


async def _readiness(opening: LazyLoom, probing: CapacityLimiter) -> JSONResponse:
    """Report whether the store and the embedder work, soon and with the reason; the log has its details."""
    if opening.is_stopping:
        return JSONResponse({"status": "stopping", "reason": "the server was told to stop"}, 503)
    # Each probe starts the next attempt, so that a server whose database came up late becomes ready by itself.
    if not opening.is_warm:
        opening.warm_after(0)
        trouble = opening.trouble
        reason = (
            "the store and the embedder are being opened"
            if trouble is None
            else discreet(trouble, is_logged=True).message
        )
        return JSONResponse({"status": "starting", "reason": reason}, 503)
    # One probe at a time, in a place of its own: a store that is frozen holds that one, and no thread of the calls.
    reason = "the store did not answer in time"
    with move_on_after(_READY_SECONDS):
        try:
            await run_sync(opening.check, abandon_on_cancel=True, limiter=probing)
            return JSONResponse({"status": "ready"})
        except EverloomError as error:
            reason = discreet(error).message
    return JSONResponse({"status": "not ready", "reason": reason}, 503)
