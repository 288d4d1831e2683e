"""Work: background tasks, the jobs that somebody started, and the trail of everything that happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import EverloomError, NotFound
from everloom.surfaces.page.history import changing, tell
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit
from everloom.wiring.jobs import Jobs

if TYPE_CHECKING:
    from everloom.kernel.journal import Event
    from everloom.loom import Workspace

_WORK = f"{WORKSPACE}work"
_RECENT_JOBS = 10
_TRAIL = 40
# So many events are read at most to find those that a filter asks for; the next page goes on after them.
_READ = 1_000
# Whoever starts work from the page does not wait for it, and can start it again.
_JOB_SECONDS = 1_800.0

# What each task does, in a few words.
_DOES = {
    "graph-decay": "lets the graph's memories fade, once a day",
    "graph-core": "writes the page of the graph's strongest memories",
    "graph-reflection": "writes the page of the graph's patterns",
    "embed": "gives texts their vectors, so that they are found by meaning",
    "words": "indexes texts again after the rules for words have changed",
    "maintain": "keeps the store's own indexes in order",
    "clean": "takes what was forgotten out of the store's files",
    "expire": "deletes what programs kept only for a time",
    "patrol": "makes scenes of notes, and ages the others",
    "diary": "writes the pages of the diary that are missing",
    "consolidate": "lets a model write understandings",
    "facts": "learns facts from the conversation",
    "schedule": "sends messages that were planned",
    "heartbeat": "lets the agent speak first",
    "self_awareness": "goes over the notes every night",
    "alerts": "tells the person what models cost",
}


def work(visit: Visit) -> Response:
    """Show background work and what happened."""
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None) -> Response:
    workspace = visit.workspace
    wanted, with_reads = visit.asked("operation").strip()[:100], visit.asked("reads") == "on"
    events, rest = _trail(workspace, visit.asked_number("before", 2**62), wanted, with_reads=with_reads)
    return visit.answer(
        "work.html",
        error,
        title="Work",
        tasks=workspace.jobs(),
        does=_DOES,
        jobs=Jobs(workspace).recent(limit=_RECENT_JOBS, max_tokens=20_000),
        days=tell(workspace, events),
        rest=rest,
        wanted=wanted,
        with_reads=with_reads,
        is_later=bool(visit.asked("before")),
    )


def _trail(workspace: Workspace, before: int, wanted: str, *, with_reads: bool) -> tuple[list[Event], int | None]:
    """Read what happened before an event, and from where to read on; None at the beginning of the trail."""
    read = workspace.events(limit=_READ if wanted or not with_reads else _TRAIL, before=before)
    found = read if with_reads else changing(read)
    if wanted:
        found = [each for each in found if wanted.lower().replace(" ", "_") in each.operation.lower()]
    shown = found[:_TRAIL]
    if len(found) > _TRAIL:
        return shown, shown[-1].id
    is_cut = len(read) >= (_READ if wanted or not with_reads else _TRAIL)
    return shown, read[-1].id if is_cut else None


def start(visit: Visit) -> Response:
    """Run what is due, or one task, in the background of this server."""
    name = visit.form.text("work") or "sleep"
    try:
        job = Jobs(visit.acting(f"run {name}")).start(name, seconds=_JOB_SECONDS)
    except EverloomError as error:
        return _shown(visit, error)
    return visit.go(visit.url("work"), f"Started as job {job.id}. Load this page again to see how far it is.")


def stop(visit: Visit) -> Response:
    """Stop a job after its present step."""
    job = Jobs(visit.acting("stop_job")).stop(visit.form.number("id") or 0)
    return visit.go(visit.url("work"), f"Job {job.id} stops after its present step.")


def retry(visit: Visit) -> Response:
    """Let a task that rests after a failure run again at once."""
    name = visit.form.text("task")
    workspace = visit.acting("retry")
    if name not in {each.name for each in workspace.loom.work.tasks}:
        raise NotFound(f"there is no task called {name[:100]!r}", hint="go back to the list of tasks")
    workspace.loom.work.retry_now(workspace.info, name)
    return visit.go(visit.url("work"), f"{name} may run again now.")


PATHS = (
    look(_WORK, work),
    form(f"{_WORK}/start", start),
    form(f"{_WORK}/stop", stop),
    form(f"{_WORK}/retry", retry),
)
