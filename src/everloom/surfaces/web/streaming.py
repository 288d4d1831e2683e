"""Server-sent events: a stream that ends whole, and is taken up again where it ended.

Owns how long a stream lasts, what it looks like and where a client goes on. Refuses to know what is streamed: it asks a
function again and again for what there is to say. Nothing is kept for a connection.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from everloom.errors import EverloomError, Rejected
from everloom.jsontext import to_json
from everloom.surfaces.web.entrance import Entrance

# Shorter than the gate's limit on a request, so that a stream ends whole and the client comes back by itself.
_LONGEST_SECONDS = 100.0
# A line that means nothing keeps proxies from closing a quiet connection, and shows that the client is gone.
_QUIET_SECONDS = 15.0
_RETRY_MS = 1_000
# A proxy that collects the answer before it passes it on would hold back what is live.
_UNBUFFERED = {"x-accel-buffering": "no"}
_LONGEST_ID = 18


@dataclass(frozen=True, slots=True)
class Said:
    """What there is to say now; nothing follows if it is the last, and more is there already if it is only a part."""

    text: str = ""
    is_last: bool = False
    is_part: bool = False


Tick = Callable[[], Awaitable[Said]]


def event(name: str, data: object, event_id: int | None = None) -> str:
    """Write one event; with an id, a client that comes back says that it has seen it."""
    numbered = "" if event_id is None else f"id: {event_id}\n"
    return f"{numbered}event: {name}\ndata: {to_json(data)}\n\n"


def resumed_after(request: Request) -> int | None:
    """Read the id of the last event that the client has seen; None if it names none."""
    # The header, which a browser sends when it comes back, wins over the address with which it began.
    # A page that has nothing yet names nothing.
    return id_in(request.headers.get("last-event-id") or request.query_params.get("after") or None, "after")


def id_in(text: str | None, name: str) -> int | None:
    """Read an id from a header or from the query."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID):
        raise Rejected(f"{name} is not the id of an event", hint="send the id of the last event, or leave it out")
    return int(text)


def stream_of(entrance: Entrance, request: Request, tick: Tick, every: float, headers: Mapping[str, str]) -> Response:
    """Answer with a stream of whatever `tick` gives, which is asked at intervals of `every` seconds."""
    frames = _frames(entrance, request, tick, every)
    return StreamingResponse(frames, media_type="text/event-stream", headers={**headers, **_UNBUFFERED})


async def _frames(entrance: Entrance, request: Request, tick: Tick, every: float) -> AsyncIterator[str]:
    yield f"retry: {_RETRY_MS}\n\n"
    end = time.monotonic() + _LONGEST_SECONDS
    quiet_since = time.monotonic()
    while time.monotonic() < end and not entrance.opening.is_stopping and not await request.is_disconnected():
        try:
            said = await tick()
        except EverloomError:
            # The answer has begun, so that the error cannot be told; the client comes back, and is told then.
            return
        if said.text:
            quiet_since = time.monotonic()
            yield said.text
        elif time.monotonic() - quiet_since > _QUIET_SECONDS:
            quiet_since = time.monotonic()
            yield ": still here\n\n"
        if said.is_last:
            return
        if not said.is_part:
            await anyio.sleep(every)
