"""`everloom patrol`: one walk through the memory of a Being, with progress and a report of each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from everloom.clock import shown
from everloom.errors import Conflict, EverloomError
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, progress

if TYPE_CHECKING:
    from everloom.episodic.patrol.steps import PatrolReport
    from everloom.episodic.patrol.task import Patrolled


@click.command(cls=Command)
@click.pass_obj
def patrol(invocation: Invocation) -> Answer:
    """Take in waiting scenes, age the others, let them fade or come back."""
    return run(invocation)


def run(invocation: Invocation) -> Answer:
    """Run a patrol, or go on with one that was interrupted, and tell each step."""
    from everloom.episodic.patrol.task import STEPS  # noqa: PLC0415  loads numpy

    with invocation.open() as loom:
        workspace = invocation.take(loom)
        with progress(len(STEPS), "patrol") as advance:
            answer = workspace.episodic.run_patrol(advance)
    lines = list(report_lines(answer.report, workspace.info.zone)) if answer.report else []
    return Answer(answer, lines, failure_of(answer))


def failure_of(answer: Patrolled) -> EverloomError | None:
    """Name what kept a patrol from being through."""
    if answer.status == "already_running":
        return Conflict("a patrol is running already", hint="`everloom episodic patrol-report` shows how far it is")
    if answer.status == "failed":
        return EverloomError(f"the patrol failed: {answer.error}", hint="run it again: it goes on where it stopped")
    return None


def report_lines(report: PatrolReport, zone: ZoneInfo) -> Iterator[str | Table]:
    """Write a patrol for people."""
    ended = "not through yet" if report.ended_at is None else f"ended {shown(report.ended_at, zone)}"
    yield f"patrol {report.number} ({report.reason}) began {shown(report.began_at, zone)}, {ended}"
    rows = [
        (
            each.step,
            f"{each.milliseconds} ms",
            ", ".join(f"{name} {count}" for name, count in each.counts.items()),
            each.skipped,
        )
        for each in report.steps
    ]
    yield Table(rows, ("step", "time", "did", "skipped"))
    yield from (f"{each.step}: {remark}" for each in report.steps for remark in each.remarks)
