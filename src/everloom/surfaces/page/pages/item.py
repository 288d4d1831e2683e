"""Anything by its id: what it says, where it comes from, what was thought of it, and what can be done with it."""

from __future__ import annotations

from typing import Literal, cast

from starlette.responses import Response

from everloom.errors import EverloomError, NotFound, meaning_of
from everloom.surfaces.page.html import LONGEST_SHOWN
from everloom.surfaces.page.pages.subjects import versions_of
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

_ITEM = f"{WORKSPACE}item/{{id:int}}"
_VERSIONS = 6
# Kinds that have a page of their own, below the workspace.
_HOMES = {"subject": "subject?id={}", "note": "notes?id={}"}
# Written by people and agents as Markdown; the others are shown as they were written.
_MARKDOWN = frozenset({"understanding", "memory", "note", "diary"})


def item(visit: Visit) -> Response:
    """Show everything that is known about an item."""
    return _shown(visit, visit.number_in_path("id"))


def _shown(visit: Visit, item_id: int, error: EverloomError | None = None, typed: str | None = None) -> Response:
    workspace = visit.workspace
    known = workspace.show(item_id)
    begin = visit.asked_number("from", 0, most=max(0, len(known.text) - 1))
    return visit.page(
        "item.html",
        200 if error is None else meaning_of(error).http_status,
        title=f"{known.kind.replace('_', ' ')} {item_id}",
        known=known,
        text=known.text[begin : begin + LONGEST_SHOWN],
        begin=begin,
        rest=begin + LONGEST_SHOWN if len(known.text) > begin + LONGEST_SHOWN else None,
        is_markdown=known.kind in _MARKDOWN,
        why=workspace.why(item_id, after=visit.asked_number("after", 0)),
        versions=versions_of(workspace, item_id, _VERSIONS) if known.kind == "understanding" else (),
        own_page=visit.url(_HOMES[known.kind].format(item_id)) if known.kind in _HOMES else None,
        # A long text is sent for correcting only to those who want to.
        is_correctable=not known.retired_at and (len(known.text) <= LONGEST_SHOWN or visit.asked("correct") == "1"),
        error=error,
        typed=typed,
    )


def mark(visit: Visit) -> Response:
    """Judge an item."""
    item_id, verdict = visit.number_in_path("id"), visit.form.text("verdict")
    visit.acting("mark").mark(item_id, cast("Literal['useful', 'questionable']", verdict), visit.form.given("reason"))
    return visit.go(visit.url(f"item/{item_id}"), f"Marked as {verdict}.")


def pin(visit: Visit) -> Response:
    """Pin an item, or let it fade again."""
    item_id, is_pinned = visit.number_in_path("id"), visit.form.text("pinned") == "yes"
    visit.acting("pin").pin(item_id, is_pinned)
    return visit.go(visit.url(f"item/{item_id}"), "Pinned: it does not fade." if is_pinned else "It may fade again.")


def correct(visit: Visit) -> Response:
    """Put what is right in place of what an item says."""
    item_id, text = visit.number_in_path("id"), visit.form.text("text")
    try:
        made = visit.acting("correct").correct(
            item_id,
            text,
            summary=visit.form.given("summary"),
            reason=visit.form.given("reason"),
            forget_old=visit.form.is_on("forget_old"),
        )
    except NotFound:
        raise
    except EverloomError as error:
        # With what was typed: nobody should have to write it again.
        return _shown(visit, item_id, error, text)
    return visit.go(visit.url(f"item/{made.id}"), f"Corrected: {made.how}.")


PATHS = (
    look(_ITEM, item),
    form(f"{_ITEM}/mark", mark),
    form(f"{_ITEM}/pin", pin),
    form(f"{_ITEM}/correct", correct),
)
