"""Tells the figures of a process to whoever may read them: a route of a server, and the small server of a worker.

They tell about use, so that they are there only for the addresses that the settings name. Refuses to know what they
mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

from everloom.errors import Conflict
from everloom.surfaces.web.metrics import MEDIA_TYPE, Family, exposition, loom_families, process_families
from everloom.surfaces.web.proxies import NetworkList, came_directly, peer_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from everloom.surfaces.web.accounting import RequestFigures
    from everloom.surfaces.web.lazy import LazyLoom

METRICS = "/metrics"
_HEALTH = "/health"
_SECONDS = 10.0


def metrics_route(opening: LazyLoom, figures: RequestFigures, allow: NetworkList) -> Route:
    """Make the route of a server; to all others it is as if it were not there."""
    from starlette.responses import PlainTextResponse, Response  # noqa: PLC0415  a worker may have no web packages
    from starlette.routing import Route  # noqa: PLC0415

    async def metrics(request: Request) -> Response:
        if (peer_of(request.scope) or "") not in allow or not came_directly(request.scope):
            return PlainTextResponse("Not Found", 404)
        loom = opening.opened
        told = [*process_families(loom), *figures.families(), *(() if loom is None else loom_families(loom))]
        return Response(exposition(told), media_type=MEDIA_TYPE)

    return Route(METRICS, metrics, methods=["GET"])


@contextmanager
def offered(host: str, port: int, allow: NetworkList, families: Callable[[], Iterable[Family]]) -> Iterator[int]:
    """Offer figures and a sign of life on a port of their own, for as long as the block lasts; gives the port."""

    class MetricsPort(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_GET(self) -> None:
            """Answer one request."""
            if self.path == _HEALTH:
                self._say(200, "application/json", '{"status":"up"}')
            elif self.path == METRICS and self.client_address[0] in allow:
                self._say(200, MEDIA_TYPE, exposition(families()))
            else:
                self._say(404, "text/plain", "Not Found")

        def _say(self, status: int, media_type: str, text: str) -> None:
            body = text.encode()
            self.send_response_only(status)
            for name, value in (("content-type", media_type), ("content-length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no line for each request."""

    try:
        server = ThreadingHTTPServer((host, port), MetricsPort)
    except OSError as error:
        hint = "choose another metrics.worker_port, or another metrics.worker_host"
        raise Conflict(f"cannot listen on port {port} of {host}: {error.strerror or error}", hint=hint) from error
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
