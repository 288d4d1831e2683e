"""What changes in a workspace, as server-sent events: every operation, or how far jobs have come.

The store is the source, so that nothing is missed: a client that was cut off sends the id of the last event that it
has seen, to whichever process, and goes on after it. Nothing is kept for a connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
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
    from everloom.kernel.work.jobs import JobStatus
    from everloom.loom import Workspace

_LOOK_EVERY = 0.5
# A line that means nothing keeps proxies from closing a quiet connection.
_QUIET_SECONDS = 15.0
_PAGE = 200
# Shorter than the gate's limit on a request, so that a stream ends whole and the client comes back by itself.
LONGEST_SECONDS = 100.0
_RETRY_MS = 1_000
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event; nothing follows the last one."""

    id: int
    name: str
    data: object
    is_last: bool = False

    def __str__(self) -> str:
        return f"id: {self.id}\nevent: {self.name}\ndata: {json.dumps(as_data(self.data))}\n\n"


_Look = Callable[[int], Sequence[StreamEvent]]


async def changes(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of a workspace's operations after the one that the client names, or from now on."""
    named = number_in(request, "after", request.headers.get("last-event-id"))
    workspace = await run_sync(lambda: entrance.enter("changes", clues, writes=False))
    after = named if named is not None else await run_sync(_newest, workspace)

    def look(seen: int) -> Sequence[StreamEvent]:
        found = workspace.events_after(seen, limit=_PAGE)
        return [StreamEvent(each.id, each.operation, each) for each in found]

    return _answer(entrance, request, look, after)


async def job_changes(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of one job until it ends, or of all jobs of a workspace; each event is its whole state."""
    after = number_in(request, "after", request.headers.get("last-event-id")) or 0
    job = number_in(request, "id")
    workspace = await run_sync(lambda: entrance.enter("jobs.changes", clues, writes=False))
    place, running = workspace.info.id, workspace.loom.running
    if job is None:
        return _answer(entrance, request, partial(_moved_jobs, workspace), after)
    known = await run_sync(running.status, place, job)
    if known.is_over and known.state != "gone" and known.changed <= after:
        # It was told before: this keeps a browser, which comes back by itself, from asking for ever.
        return Response(status_code=204, headers=HEADERS)

    def look(seen: int) -> Sequence[StreamEvent]:
        status = running.status(place, job)
        # Nobody writes down that a process has died, so that its jobs change without a change.
        return [_job_event(status)] if status.changed > seen or status.state == "gone" else []

    return _answer(entrance, request, look, after)


def _moved_jobs(workspace: Workspace, seen: int) -> Sequence[StreamEvent]:
    found = workspace.loom.running.after(workspace.info.id, seen, _PAGE)
    return [StreamEvent(each.changed, each.state, each) for each in found]


def _job_event(status: JobStatus) -> StreamEvent:
    return StreamEvent(status.changed, status.state, status, is_last=status.is_over)


def _answer(entrance: Entrance, request: Request, look: _Look, after: int) -> Response:
    stream = _stream(entrance, request, look, after)
    return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)


async def _stream(entrance: Entrance, request: Request, look: _Look, after: int) -> AsyncIterator[str]:
    yield f"retry: {_RETRY_MS}\n\n"
    end = time.monotonic() + LONGEST_SECONDS
    quiet_since = time.monotonic()
    while time.monotonic() < end and not entrance.opening.is_stopping and not await request.is_disconnected():
        try:
            found = await run_sync(look, after)
        except EverloomError:
            # The response has begun, so the error cannot be told; the client comes back, and is told then.
            return
        for event in found:
            after = event.id
            yield str(event)
            if event.is_last:
                return
        if found:
            quiet_since = time.monotonic()
        if len(found) == _PAGE:
            continue
        if time.monotonic() - quiet_since > _QUIET_SECONDS:
            quiet_since = time.monotonic()
            yield ": still here\n\n"
        await anyio.sleep(_LOOK_EVERY)


def number_in(request: Request, name: str, header: str | None = None) -> int | None:
    """Read a number from a header or from the query; the header, which a browser sends when it comes back, wins."""
    named = header or request.query_params.get(name)
    if named is None:
        return None
    if not (named.isascii() and named.isdecimal() and len(named) <= 18):
        raise Rejected(f"{name} is not the id of an event", hint="send the id of the last event, or leave it out")
    return int(named)


def _newest(workspace: Workspace) -> int:
    return next((event.id for event in workspace.events(limit=1)), 0)
