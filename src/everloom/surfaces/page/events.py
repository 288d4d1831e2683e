"""Server-sent events for the scripts of a page: a stream that ends whole, and is taken up again where it ended.

Owns how long a stream lasts and what it looks like. Refuses to know what is streamed: it asks a function again and
again for what there is to say. Nothing is kept for a connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
from starlette.responses import Response, StreamingResponse

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.page.visit import HEADERS, Visit

# Shorter than the gate's limit on a request, so that a stream ends whole and the browser comes back by itself.
_LONGEST_SECONDS = 100.0
# A line that means nothing keeps proxies from closing a quiet connection, and shows that the browser is gone.
_QUIET_SECONDS = 15.0
_RETRY_MS = 1_000
# A proxy that collects the answer before it passes it on would hold back what is live.
_UNBUFFERED = {"x-accel-buffering": "no"}

Tick = Callable[[], Awaitable[str]]


def event(name: str, data: object, event_id: int | None = None) -> str:
    """Write one event; with an id, a browser that comes back says that it has seen it."""
    numbered = "" if event_id is None else f"id: {event_id}\n"
    return f"{numbered}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def resumed_after(visit: Visit) -> int | None:
    """Read the id of the last event that the browser has seen; None if it names none."""
    named = visit.request.headers.get("last-event-id") or visit.asked("after")
    if named and not (named.isascii() and named.isdecimal() and len(named) <= 18):
        raise Rejected("after is not the id of an event", hint="load the page again")
    return int(named) if named else None


def stream_of(visit: Visit, tick: Tick, every: float) -> Response:
    """Answer with a stream of whatever `tick` gives, which is asked at intervals of `every` seconds."""
    return StreamingResponse(
        _frames(visit, tick, every), media_type="text/event-stream", headers={**HEADERS, **_UNBUFFERED}
    )


async def _frames(visit: Visit, tick: Tick, every: float) -> AsyncIterator[str]:
    yield f"retry: {_RETRY_MS}\n\n"
    end = time.monotonic() + _LONGEST_SECONDS
    quiet_since = time.monotonic()
    while time.monotonic() < end and not visit.entrance.opening.is_stopping:
        if await visit.request.is_disconnected():
            return
        try:
            said = await tick()
        except EverloomError:
            # The answer has begun, so that the error cannot be told; the browser comes back, and is told then.
            return
        if said:
            quiet_since = time.monotonic()
            yield said
        elif time.monotonic() - quiet_since > _QUIET_SECONDS:
            quiet_since = time.monotonic()
            yield ": still here\n\n"
        await anyio.sleep(every)
