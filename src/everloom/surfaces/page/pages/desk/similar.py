"""Subjects that may be one: pairs that are similar and share little, and merging two of them.

All subjects are compared with each other, which takes longer than a page may. So it is done beside, once for each state
of the memory, and the page shows what was found last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.page.background import INQUIRIES, WAIT_SECONDS, Inquiry
from everloom.surfaces.page.pages.desk.worklist import DESK, PAGE_TOKENS
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.semantic.results import SubjectPair

_MOST_SIMILAR = 50
# Whoever sees nothing yet waits longer than somebody who sees what was found before.
_FIRST_SECONDS = 10.0
_LASTING = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison of all subjects has found, and the last event before it."""

    event: int
    pairs: Sequence[SubjectPair]


def similar(visit: Visit) -> Response:
    """Show subjects that are similar and share little: perhaps they are one."""
    return _similar(visit)


def _similar(visit: Visit, error: EverloomError | None = None) -> Response:
    before, found = _compared(visit)
    known = found or before
    return visit.answer(
        "similar.html",
        error,
        title="Similar subjects",
        pairs=[] if known is None else known.pairs,
        is_known=known is not None,
        is_comparing=found is None,
    )


def _compared(visit: Visit) -> tuple[Comparison | None, Comparison | None]:
    """Compare all subjects unless nothing has happened since; returns what was known before, and what is known now."""
    workspace, name = visit.workspace, _inquiry(visit)
    latest = INQUIRIES.latest(visit.entrance, name)
    before = _found_in(latest)
    # Vectors come without an event, a moment after the texts.
    is_recent = latest is not None and workspace.loom.clock.now() - latest.began_at < _LASTING
    if is_recent and before is not None and before.event == _newest(workspace):
        return before, before

    def compare(inquiry: Inquiry) -> None:
        event = _newest(workspace)
        pairs = workspace.semantic.find_similar_subjects(limit=_MOST_SIMILAR, max_tokens=PAGE_TOKENS)
        inquiry.found.append(Comparison(event, pairs))

    begun = INQUIRIES.begin(visit.entrance, name, compare)
    begun.ended.wait(_FIRST_SECONDS if before is None else WAIT_SECONDS)
    if begun.error is not None:
        raise begun.error
    return before, _found_in(begun)


def _inquiry(visit: Visit) -> str:
    return f"similar {visit.workspace.info.id}"


def _found_in(inquiry: Inquiry | None) -> Comparison | None:
    return inquiry.found[0] if inquiry is not None and inquiry.found else None


def _newest(workspace: Workspace) -> int:
    return next((event.id for event in workspace.events(limit=1)), 0)


def merge(visit: Visit) -> Response:
    """Merge two subjects, the second into the first."""
    primary, duplicate = visit.form.text("primary"), visit.form.text("duplicate")
    if not visit.form.is_on("sure"):
        # The browser asks for the tick; this is for those that do not.
        names = f"“{duplicate}” into “{primary}”"
        return _similar(visit, Rejected(f"{names} was not merged", hint="tick the box: it cannot be undone"))
    try:
        done = visit.acting("merge_subjects").semantic.merge_subjects(primary, duplicate)
    except EverloomError as error:
        return _similar(visit, error)
    # What was found before still has the pair that is one now.
    INQUIRIES.forget(visit.entrance, _inquiry(visit))
    said = (
        f"“{done.duplicate}” is now another name of “{done.primary}”; {done.observations_moved:,} observations moved."
    )
    return visit.go(visit.url("consolidation/similar"), said)


PATHS = (
    look(f"{DESK}/similar", similar),
    form(f"{DESK}/merge", merge),
)
