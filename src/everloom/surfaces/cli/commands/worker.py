"""`everloom worker`: do what is due in every workspace, and stop cleanly when told."""

from __future__ import annotations

import logging
import random
from collections import Counter
from threading import Event
from typing import TYPE_CHECKING

import click

from everloom.errors import EverloomError
from everloom.surfaces.cli.commands.jobs import known_tasks
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer
from everloom.surfaces.cli.runtime.turns import Shift, log_failure, stopping, take_turns

if TYPE_CHECKING:
    from everloom.kernel.tasks import Outcome
    from everloom.loom import Loom

log = logging.getLogger(__name__)

# Workers that were started together do not ask the store together.
JITTER = 0.2


@click.command(cls=Command)
@click.option("--once", is_flag=True, help="Do what is due now, then leave.")
@click.option("--every", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between looks.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=3600.0, show_default=True, help="Most for one look.")
@click.option("--tasks", "--task", "names", multiple=True, metavar="TASK", help="Only this task; may be repeated.")
@click.pass_obj
def worker(invocation: Invocation, once: bool, every: float, seconds: float, names: tuple[str, ...]) -> Answer:
    """Do the background work of every workspace until told to stop."""
    log.setLevel(logging.INFO)
    counts: Counter[str] = Counter()
    with invocation.open() as loom, stopping() as stop:
        tasks = [*known_tasks(loom, names)] or [task.name for task in loom.work.tasks]
        log.info("working at %s: %s", loom.store.address, ", ".join(tasks))
        while not stop.is_set():
            counts["looks"] += 1
            look(loom, tasks, seconds, stop, counts)
            if once:
                break
            stop.wait(every * random.uniform(1 - JITTER, 1 + JITTER))
        log.info("stopped")
    return answer(counts, once)


def look(loom: Loom, tasks: list[str], seconds: float, stop: Event, counts: Counter[str]) -> None:
    """Do what is due now; whatever goes wrong is logged and others go on."""
    try:
        for outcome in take_turns(loom.work, Shift(loom.workspaces.list(), tasks, seconds), stop):
            counts[outcome.state] += 1
            counts["items"] += outcome.report.done if outcome.report else 0
            log.info("%s", line(outcome))
    except EverloomError as error:
        log_failure(loom.store.address, error)
        counts["failed"] += 1


def line(outcome: Outcome) -> str:
    """Write how one turn ended on one line."""
    what = outcome.error or (f"{outcome.report.done} items" if outcome.report else "")
    return f"{outcome.workspace} {outcome.task} {outcome.state} {what}".rstrip()


def answer(counts: Counter[str], once: bool) -> Answer:
    """Sum up; a single look that failed is bad news, a long life with failures in it is not."""
    names = ("looks", "items", "done", "busy", "resting", "failed")
    result = {name: counts[name] for name in names}
    failure = None
    if once and counts["failed"]:
        failure = EverloomError(f"{counts['failed']} turns failed", hint="`everloom jobs --all` shows why")
    return Answer(result, [", ".join(f"{name} {value:,}" for name, value in result.items())], failure)
