"""`everloom embed`: make the vectors that are missing, now and with a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from everloom.errors import EverloomError
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, progress
from everloom.surfaces.cli.runtime.turns import Shift, stopping, take_turns

if TYPE_CHECKING:
    from everloom.kernel.embedding import Coverage
    from everloom.kernel.tasks import Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Loom

TASK = "embed"


@click.command(cls=Command)
@click.option("--all", "everywhere", is_flag=True, help="In every workspace.")
@click.option("--retry", is_flag=True, help="Also where it failed lately and rests.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=86_400.0, help="Stop after so long.")
@click.pass_obj
def embed(invocation: Invocation, everywhere: bool, retry: bool, seconds: float) -> Answer:
    """Make the vectors that are missing."""
    with invocation.open() as loom:
        places = loom.workspaces.list() if everywhere else [invocation.take(loom).info]
        if retry:
            for place in places:
                loom.work.retry_now(place, TASK)
        before = [loom.embedding.coverage(place.id) for place in places]
        outcomes, is_stopped = caught_up(loom, places, sum(each.waiting for each in before), seconds)
        after = [loom.embedding.coverage(place.id) for place in places]
    if is_stopped:
        raise KeyboardInterrupt
    return answer(places, before, after, outcomes)


def caught_up(
    loom: Loom, places: Sequence[WorkspaceInfo], total: int, seconds: float
) -> tuple[dict[str, Outcome], bool]:
    """Embed in turns; say how the last turn of each workspace ended, and whether somebody stopped it."""
    with progress(total, "embedding") as advance, stopping() as stop:
        turns = take_turns(loom.work, Shift(places, [TASK], seconds), stop, lambda *step: advance(step[2]))
        outcomes = {outcome.workspace: outcome for outcome in turns}
        return outcomes, stop.is_set()


def answer(
    places: Sequence[WorkspaceInfo],
    before: Sequence[Coverage],
    after: Sequence[Coverage],
    outcomes: dict[str, Outcome],
) -> Answer:
    """Tell for each workspace what waited before, what has vectors now, and what stood in the way."""
    result, rows = [], []
    for place, old, new in zip(places, before, after, strict=True):
        outcome = outcomes.get(place.name)
        state = outcome.state if outcome else "done"
        error = outcome.error if outcome else None
        result.append({"workspace": place.name, "state": state, "error": error, "before": old, "after": new})
        rows.append((place.name, new.model, old.waiting, new.embedded, new.waiting, new.refused, state))
    headings = ("workspace", "model", "waited", "embedded", "waiting", "refused", "state")
    return Answer({"workspaces": result}, [Table(rows, headings)], failure_in(outcomes.values()))


def failure_in(outcomes: Iterable[Outcome]) -> EverloomError | None:
    """Name what kept vectors from being made, if anything did."""
    for outcome in outcomes:
        if outcome.state == "failed":
            hint = "`everloom doctor` tests the model, `everloom embed --retry` tries again at once"
            return EverloomError(f"embedding failed in {outcome.workspace}: {outcome.error}", hint=hint)
        if outcome.state == "resting":
            hint = "`everloom jobs` shows why, `everloom embed --retry` tries again at once"
            return EverloomError(f"embedding failed lately in {outcome.workspace} and rests", hint=hint)
    return None
