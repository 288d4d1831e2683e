"""`everloom jobs`: background work, as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from everloom.clock import shown
from everloom.errors import NotFound
from everloom.surfaces.cli.runtime.command import Group
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.kernel.tasks import Job
    from everloom.loom import Loom


@click.group(cls=Group, invoke_without_command=True)
@click.option("--all", "everywhere", is_flag=True, help="In every workspace.")
@click.pass_context
def jobs(context: click.Context, everywhere: bool) -> Answer | None:
    """Show background work: what is due, who is at it, what failed."""
    if context.invoked_subcommand is not None:
        return None
    invocation: Invocation = context.obj
    with invocation.open() as loom:
        places = loom.workspaces.list() if everywhere else [invocation.take(loom).info]
        found = [(job, place.zone) for place in places for job in loom.work.jobs(place)]
    headings = ("workspace", "task", "due", "state", "last run", "last error")
    return Answer({"jobs": [job for job, _ in found]}, [Table([row(*each) for each in found], headings)])


def row(job: Job, zone: ZoneInfo) -> tuple[object, ...]:
    """Write a job for people."""
    state = "idle" if not job.due else "due"
    if job.holder:
        state = f"held by {job.holder}"
    elif job.resting_until:
        state = f"rests until {shown(job.resting_until, zone)}"
    last = job.last_run_at and shown(job.last_run_at, zone)
    return (job.workspace, job.task, job.due, state, last, job.last_error)


@jobs.command
@click.argument("task")
@click.pass_obj
def retry(invocation: Invocation, task: str) -> Answer:
    """Let a task that rests after a failure run again at once."""
    with invocation.open() as loom:
        (known,) = known_tasks(loom, [task])
        place = invocation.take(loom).info
        loom.work.retry_now(place, known)
    return Answer({"workspace": place.name, "task": task}, [f"{task} may run again in {place.name}"])


def known_tasks(loom: Loom, names: Iterable[str]) -> Iterator[str]:
    """Refuse the name of a task that does not exist."""
    known = [task.name for task in loom.work.tasks]
    for name in names:
        if name not in known:
            raise NotFound(f"no task is called {name!r}", hint=f"there are {', '.join(known)}")
        yield name
