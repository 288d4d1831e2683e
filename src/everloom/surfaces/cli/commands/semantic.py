"""`everloom semantic …`, its everyday verbs without the faculty's name, and `everloom consolidate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from everloom.errors import Conflict, EverloomError, Rejected
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table, fields_of, progress, shortened
from everloom.surfaces.cli.runtime.verbs import call, command_of, group_of
from everloom.wiring.faculties import FACULTIES

if TYPE_CHECKING:
    from everloom.kernel.work.tasks import Outcome
    from everloom.semantic.consolidation import PassReport, PlannedStep

_FACULTY = FACULTIES["semantic"]

semantic = group_of(_FACULTY)
remember = command_of(_FACULTY, _FACULTY.verb("remember"))
recall = command_of(_FACULTY, _FACULTY.verb("recall"))
orient = command_of(_FACULTY, _FACULTY.verb("orient"))


@semantic.command
@click.argument("names", metavar="SUBJECT...", nargs=-1, required=True)
@click.option("--summary", help="A one-line summary of what they are.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--idempotency-key", metavar="KEY", help="Makes the call safe to repeat.")
def create_subjects(
    invocation: Invocation, names: tuple[str, ...], summary: str | None, tags: tuple[str, ...], idempotency_key: str
) -> Answer:
    """Create subjects before anything is known about them."""
    # People name several subjects of one kind at once; programs give each subject its own summary and tags.
    subjects = [{"name": name, "summary": summary, "tags": list(tags)} for name in names]
    written = {"subjects": subjects, "idempotency_key": idempotency_key}
    return call(invocation, _FACULTY, _FACULTY.verb("create_subjects"), written)


_NO_MODEL = (
    "set llm.large (`everloom config set llm.large anthropic:MODEL`, or openai:… or ollama:…), or let the agent do it: "
    "connect it (`everloom init --client NAME --write`) and give it the prompt `consolidate`"
)
_BUSY = "wait for it; if it was killed, its lease expires within two minutes; `everloom jobs` shows who holds it"


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Show the steps in order; ask no model and write nothing.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Process at most this many sessions, subjects and pairs; the rest stays due.",
)
@click.option("--tokens", type=click.IntRange(min=1), help="Stop after this many tokens; the rest stays due.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=86_400.0, help="Stop after this many seconds.")
def consolidate(invocation: Invocation, dry_run: bool, limit: int | None, tokens: int | None, seconds: float) -> Answer:
    """Let a language model turn new observations into understandings."""
    if dry_run:
        with invocation.enter() as place:
            return _plan_answer(place.plan_consolidation(), limit)
    if invocation.is_remote:
        return _consolidate_elsewhere(invocation, seconds, {"limit": limit, "tokens": tokens})
    with invocation.enter_here() as workspace:
        if workspace.loom.thinker(workspace.info) is None:
            raise Rejected("no language model is configured", hint=_NO_MODEL)
        from everloom.semantic.consolidation import PassBounds, count_steps  # noqa: PLC0415  loads the faculty
        from everloom.surfaces.cli.runtime.turns import stopping  # noqa: PLC0415  loads logging

        with stopping() as stop:
            loom = workspace.loom
            work, task = loom.work, loom.consolidation(PassBounds(steps=limit, tokens=tokens, stop=stop.is_set))
            # Whoever runs this command wants it now: end the pause that an earlier failure has caused.
            work.retry_now(workspace.info, task.name)
            with progress(count_steps(workspace.op), "consolidating") as advance:
                outcome = work.run_one(workspace.info, task, seconds, advance)
    return _pass_answer(workspace.name, task.passed, outcome)


def _consolidate_elsewhere(invocation: Invocation, seconds: float, bounds: dict[str, int | None]) -> Answer:
    """Let the server do it as a job, and report it as if it were done here."""
    from everloom.kernel.work.tasks import Outcome  # noqa: PLC0415  a help page needs no kernel
    from everloom.semantic.consolidation import PassReport  # noqa: PLC0415  loads the faculty
    from everloom.surfaces.cli.runtime.following import FollowedJob, read_result  # noqa: PLC0415  loads logging

    with invocation.enter() as place:
        job = place.background.start("consolidate", seconds=seconds, **bounds)
        followed = FollowedJob(place, job, "consolidating")
        told = followed.report("consolidate")
    if not told and followed.failure is not None:
        return Answer(None, failure=followed.failure)
    outcome = Outcome(place.name, "consolidate", told.get("state", "done"), error=told.get("error"))
    return _pass_answer(place.name, read_result(PassReport, told), outcome)


def _plan_answer(planned: tuple[PlannedStep, ...], limit: int | None) -> Answer:
    """Report what a pass would do."""
    # The orientation is always written, so it does not count against the limit.
    steps = [each for each in planned if each.kind != "orientation"][:limit]
    steps += [each for each in planned if each.kind == "orientation"]
    tokens = sum(each.estimated_tokens for each in steps)
    result = {"steps": steps, "left": len(planned) - len(steps), "estimated_tokens": tokens}
    if not steps:
        return Answer(result, ["nothing is waiting for consolidation"])
    rows = []
    for number, each in enumerate(steps, 1):
        of, to_do = " × ".join(each.names) or None, "revise" if each.existing_understanding_id else "write"
        rows.append((number, each.kind, of, each.observations, each.questions, f"~{each.estimated_tokens:,}", to_do))
    headings = ("", "step", "of", "new observations", "questions", "tokens", "to do")
    left = f", {result['left']} left for another pass" if result["left"] else ""
    return Answer(
        result, [Table(rows, headings), f"\n{len(steps)} steps, about {tokens:,} tokens{left}; nothing was done"]
    )


def _pass_answer(workspace: str, passed: PassReport | None, outcome: Outcome) -> Answer:
    """Report what a pass did, and why it did not finish, if it did not."""
    failure: EverloomError | None = None
    if outcome.state == "busy":
        failure = Conflict(f"another process is consolidating {workspace}", hint=_BUSY)
    elif outcome.state == "failed":
        hint = "nothing is lost: run it again, and it continues where it stopped"
        failure = EverloomError(f"consolidation stopped: {outcome.error}", hint=hint)
    if passed is None:
        return Answer(None, failure=failure)
    if failure is None and (failed := passed.counts.get("failed")):
        hint = "they stay due: run it again; `everloom doctor` checks the model"
        failure = EverloomError(f"{failed} of {len(passed.taken)} steps failed", hint=hint)
    result = {**fields_of(passed), "counts": passed.counts}
    return Answer(result, [*_pass_lines(passed)], failure)


def _pass_lines(passed: PassReport) -> Iterator[str | Table]:
    """Write the report of a pass for people."""
    if not passed.taken and not passed.stopped and not passed.finished:
        yield "nothing is waiting for consolidation"
        return
    rows = []
    for each in passed.taken:
        of, written = " × ".join(each.names) or None, each.understanding_id and str(each.understanding_id)
        rows.append((each.kind, of, each.outcome, written, shortened(each.reason, 80)))
    if rows:
        yield Table(rows, ("step", "of", "outcome", "id", "why"))
    made_up = [str(item) for each in passed.taken for item in each.dropped_ids]
    if made_up:
        yield f"\nids that the model invented were ignored: {', '.join(made_up[:20])}"
    state = "finished" if passed.finished else f"stopped: {passed.stopped}; run it again to continue"
    resumed = "resumed and " if passed.resumed else ""
    yield f"\ngeneration {passed.generation} {resumed}{state}; {passed.left} still waiting"
    price = "price unknown" if passed.spent.dollars is None else f"${passed.spent.dollars:.4f}"
    yield f"{passed.model}: {passed.spent.questions} questions, {passed.spent.tokens:,} tokens, {price}"
    yield from (f"Soul: {hint.message}" for hint in passed.soul_hints)
