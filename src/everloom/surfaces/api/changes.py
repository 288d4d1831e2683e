"""What changes in a workspace, as server-sent events: every operation, or how far jobs have come.

The store is the source, so that nothing is missed: a client that was cut off sends the id of the last event that it
has seen, to whichever process, and goes on after it. How a stream is written is in `surfaces/web/streaming.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from everloom.kernel.answer.encode import as_data
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import CallClues
from everloom.surfaces.web.streaming import Said, event, id_in, resumed_after, stream_of

if TYPE_CHECKING:
    from everloom.kernel.work.jobs import JobStatus
    from everloom.loom import Workspace

_LOOK_EVERY = 0.5
_PAGE = 200
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event; nothing follows the last one."""

    id: int
    name: str
    data: object
    is_last: bool = False

    def __str__(self) -> str:
        return event(self.name, as_data(self.data), self.id)


_Look = Callable[[int], Sequence[StreamEvent]]


async def changes(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of a workspace's operations after the one that the client names, or from now on."""
    named = resumed_after(request)
    workspace = await run_sync(lambda: entrance.enter("changes", clues, writes=False))
    after = named if named is not None else await run_sync(_newest, workspace)

    def look(seen: int) -> Sequence[StreamEvent]:
        found = workspace.events_after(seen, limit=_PAGE)
        return [StreamEvent(each.id, each.operation, each) for each in found]

    return _answer(entrance, request, look, after)


async def job_changes(entrance: Entrance, clues: CallClues, request: Request) -> Response:
    """Answer with the stream of one job until it ends, or of all jobs of a workspace; each event is its whole state."""
    after = resumed_after(request) or 0
    job = id_in(request.query_params.get("id"), "id")
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
    async def tick() -> Said:
        nonlocal after
        found = await run_sync(look, after)
        after = found[-1].id if found else after
        is_last = any(each.is_last for each in found)
        return Said("".join(map(str, found)), is_last=is_last, is_part=len(found) == _PAGE)

    return stream_of(entrance, request, tick, _LOOK_EVERY, HEADERS)


def _newest(workspace: Workspace) -> int:
    return next((event.id for event in workspace.events(limit=1)), 0)
