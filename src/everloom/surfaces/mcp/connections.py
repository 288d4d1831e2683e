"""Gives each connection of the older protocol an id of its own, by which its calls belong together.

The newer protocol has no connections. Keeps nothing: the id is random, the client sends it back with every request, and
a server that was restarted understands it as before.
"""

from __future__ import annotations

import json
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everloom.surfaces.web.identity import CONNECTION_HEADER

# What a client sends first, and only then, in the older protocol.
_GREETING = "initialize"


class Connections:
    """The protocol's app, which answers a client's greeting with an id for its connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the answer to a greeting carries a fresh id."""
        # The gate has read the body already, so that the first message holds all of it.
        first = await receive()
        waiting = [first]

        async def read() -> Message:
            return waiting.pop() if waiting else await receive()

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message)[CONNECTION_HEADER] = uuid4().hex
            await send(message)

        is_new = CONNECTION_HEADER not in Headers(scope=scope) and _is_greeting(first.get("body", b""))
        await self._app(scope, read, named if is_new else send)


def _is_greeting(body: bytes) -> bool:
    """Return whether a request is the one with which a client of the older protocol begins."""
    if _GREETING.encode() not in body:
        return False
    try:
        request = json.loads(body)
    except ValueError:
        return False
    return isinstance(request, dict) and request.get("method") == _GREETING
