"""The work list: what waits for consolidation, and the pass that works through it.

Reads the first of what waits, however much that is. What an entry says is in `entry`.
"""

from __future__ import annotations

from starlette.responses import Response

from everloom.errors import EverloomError
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit
from everloom.wiring.jobs import Jobs

DESK = f"{WORKSPACE}consolidation"
PAGE_TOKENS = 20_000
_SHOWN = 40


def worklist(visit: Visit) -> Response:
    """Show what waits, and where the pass stands."""
    return _shown(visit)


def _shown(visit: Visit, error: EverloomError | None = None, typed: str = "") -> Response:
    workspace = visit.workspace
    listed = workspace.semantic.get_worklist(
        limit=_SHOWN,
        subject_cursor=visit.asked("subjects") or None,
        intersection_cursor=visit.asked("pairs") or None,
        max_tokens=PAGE_TOKENS,
    )
    llm = workspace.loom.settings.llm
    running = next((each for each in Jobs(workspace).recent(limit=20) if each.work == "consolidate"), None)
    return visit.answer(
        "consolidation.html",
        error,
        title="Consolidation",
        listed=listed,
        model=llm.large or llm.small,
        job=running,
        typed=typed,
    )


def begin(visit: Visit) -> Response:
    """Begin a pass."""
    begun = visit.acting("begin_consolidation").semantic.begin_consolidation(max_tokens=PAGE_TOKENS)
    return visit.go(visit.url("consolidation"), f"Consolidation {begun.generation} has begun.")


def finish(visit: Visit) -> Response:
    """Finish the pass with a summary."""
    summary = visit.form.text("summary")
    try:
        done = visit.acting("finish_consolidation").semantic.finish_consolidation(
            visit.form.number("generation") or 0, summary
        )
    except EverloomError as error:
        return _shown(visit, error, summary)
    left = done.pending_consolidation_count
    return visit.go(visit.url("consolidation"), f"Consolidation {done.generation} is finished; {left:,} still wait.")


def let_model(visit: Visit) -> Response:
    """Let the model work through the list, in the background."""
    try:
        job = Jobs(visit.acting("consolidate")).start("consolidate")
    except EverloomError as error:
        return _shown(visit, error)
    return visit.go(
        visit.url("consolidation"), f"The model has begun (job {job.id}). Load this page again to see how far."
    )


PATHS = (
    look(DESK, worklist),
    form(f"{DESK}/begin", begin),
    form(f"{DESK}/finish", finish),
    form(f"{DESK}/model", let_model),
)
