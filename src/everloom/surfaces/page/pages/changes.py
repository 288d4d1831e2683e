"""What changes in a workspace while somebody reads one of its pages: how much, never what; the page itself shows that.

The audit trail is the source, so that nothing is missed: a browser that was cut off names the last event it knows of.
"""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync
from starlette.responses import Response

from everloom.surfaces.page.paths import WORKSPACE, listen
from everloom.surfaces.page.visit import HEADERS, Visit
from everloom.surfaces.web.streaming import Said, event, resumed_after, stream_of

_LOOK_EVERY = 1.0
_MOST = 200


async def changes(visit: Visit) -> Response:
    """Answer with a stream that counts the operations after the one that the browser names."""
    seen = resumed_after(visit.request)
    workspace = await run_sync(lambda: visit.workspace)
    after = visit.newest_event if seen is None else seen

    async def tick() -> Said:
        nonlocal after
        found = await run_sync(partial(workspace.events_after, after, limit=_MOST))
        if not found:
            return Said()
        after = found[-1].id
        return Said(event("changes", {"count": len(found)}, after))

    return stream_of(visit.entrance, visit.request, tick, _LOOK_EVERY, HEADERS)


PATHS = (listen(f"{WORKSPACE}changes", changes),)
