"""Statements that cannot both be true, side by side: what a question finds disputed, and what somebody doubted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import EverloomError
from everloom.kernel.provenance import previews
from everloom.surfaces.page.pages.desk.worklist import DESK, PAGE_TOKENS
from everloom.surfaces.page.paths import form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.semantic.results import SemanticHit

_LONGEST_QUESTION = 2_000
_HITS = 20
_QUOTED = 700


@dataclass(frozen=True, slots=True)
class DisputedText:
    """One of several statements about the same thing."""

    id: int
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Dispute:
    """Statements about one thing that differ; `is_open` where nothing says which of them holds."""

    subject_names: tuple[str, ...]
    sides: tuple[DisputedText, ...]
    is_open: bool

    def said(self) -> str:
        """Word a synthesis that says all of it, with the dates."""
        lines = (f"On {each.at.day} {each.at:%B %Y} it was said: {each.text[:_QUOTED]}" for each in self.sides)
        return "\n\n".join(lines)[: _QUOTED * 2]


def contradictions(visit: Visit) -> Response:
    """Show what a question finds disputed, and what is doubted."""
    question = visit.asked("q")[:_LONGEST_QUESTION].strip()
    error: EverloomError | None = None
    disputes: list[Dispute] = []
    try:
        if question:
            hits = visit.workspace.semantic.search(question, limit=_HITS, max_tokens=PAGE_TOKENS)
            disputes = _disputes(hits)
    except EverloomError as failure:
        error = failure
    doubted = visit.workspace.semantic.get_worklist(limit=40, max_tokens=PAGE_TOKENS).questionable_items
    with visit.workspace.op.read() as unit:
        texts = previews(unit, [each.id for each in doubted])
    return visit.answer(
        "contradictions.html",
        error,
        title="Contradictions",
        question=question,
        disputes=disputes,
        doubted=doubted,
        texts={item: each.text for item, each in texts.items()},
    )


def _disputes(hits: Sequence[SemanticHit]) -> list[Dispute]:
    found = []
    for hit in hits:
        others = hit.contradicts or hit.earlier
        if others:
            first = DisputedText(hit.id, hit.matched_content, hit.observed_at)
            sides = sorted(
                (first, *(DisputedText(each.id, each.content, each.observed_at) for each in others)), key=_when
            )
            found.append(Dispute(hit.subject_names, tuple(sides), bool(hit.contradicts)))
    return found


def _when(side: DisputedText) -> tuple[datetime, int]:
    return side.at, side.id


def doubt(visit: Visit) -> Response:
    """Mark one of the statements as questionable."""
    item_id = visit.form.number("id") or 0
    visit.acting("mark_questionable").semantic.mark_questionable(item_id, visit.form.given("reason"))
    said = f"{item_id} is marked as questionable, and ranks lower until it is reviewed."
    return visit.go(visit.url("consolidation/contradictions", q=visit.form.text("q")), said)


PATHS = (
    look(f"{DESK}/contradictions", contradictions),
    form(f"{DESK}/doubt", doubt),
)
