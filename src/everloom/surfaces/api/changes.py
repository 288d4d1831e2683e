"""What changes in a workspace, as server-sent events: one for each operation, in order, from where the client left off.

The audit trail is the source, so that nothing is missed: a client that was cut off sends the id of the last event it
has seen. Nothing is kept for a connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from everloom.errors import EverloomError, Rejected
from everloom.kernel.answer.encode import as_data
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import CallClues

if TYPE_CHECKING:
    from everloom.loom import Workspace

_LOOK_EVERY = 0.5
# A line that means nothing keeps proxies from closing a quiet connection.
_QUIET_SECONDS = 15.0
_PAGE = 200
# Shorter than the gate's limit on a request, so that a stream ends whole and the client comes back by itself.
_LONGEST_SECONDS = 100.0
_RETRY_MS = 1_000


async def changes(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of a workspace's operations after the one that the client names, or from now on."""
    named = request.headers.get("last-event-id") or request.query_params.get("after")
    if named is not None and not (named.isascii() and named.isdecimal() and len(named) <= 18):
        raise Rejected("after is not the id of an event", hint="send the id of the last event, or leave it out")
    workspace = await run_sync(lambda: entrance.enter("changes", clues, writes=False))
    after = int(named) if named is not None else await run_sync(_newest, workspace)
    return StreamingResponse(
        _stream(workspace, after, request), media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


async def _stream(workspace: Workspace, after: int, request: Request) -> AsyncIterator[str]:
    yield f"retry: {_RETRY_MS}\n\n"
    end = time.monotonic() + _LONGEST_SECONDS
    quiet_since = time.monotonic()
    while time.monotonic() < end and not await request.is_disconnected():
        try:
            found = await run_sync(partial(workspace.events_after, after, limit=_PAGE))
        except EverloomError:
            # The response has begun, so the error cannot be told; the client comes back, and is told then.
            return
        for event in found:
            after = event.id
            yield f"id: {event.id}\nevent: {event.operation}\ndata: {json.dumps(as_data(event))}\n\n"
        if found:
            quiet_since = time.monotonic()
            continue
        if time.monotonic() - quiet_since > _QUIET_SECONDS:
            quiet_since = time.monotonic()
            yield ": still here\n\n"
        await anyio.sleep(_LOOK_EVERY)


def _newest(workspace: Workspace) -> int:
    return next((event.id for event in workspace.events(limit=1)), 0)
