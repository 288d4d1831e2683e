"""Searching everything: as you type, by kind, by date, as of a date, with the reasons for each place in the list."""

from __future__ import annotations

from datetime import datetime

from starlette.responses import HTMLResponse, Response

from everloom.clock import read_instant
from everloom.errors import EverloomError
from everloom.kernel.search import Scope
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.visit import HEADERS, Visit

_LIMITS = (10, 25, 100)
_LONGEST_QUESTION = 2_000


def search(visit: Visit) -> Response:
    """Show what a question finds; a script asks for the list alone."""
    question = visit.asked("q")[:_LONGEST_QUESTION].strip()
    error: EverloomError | None = None
    found = None
    try:
        within = Scope(
            kinds=frozenset(visit.request.query_params.getlist("kind")) or None,
            happened_from=_instant(visit, "from"),
            happened_until=_instant(visit, "until", ends_day=True),
            as_of=_instant(visit, "as_of", ends_day=True),
        )
        if question:
            limit = visit.asked_number("limit", _LIMITS[0], least=1, most=_LIMITS[-1])
            found = visit.workspace.find(question, limit=limit, within=within, fits_only=bool(visit.asked("fits_only")))
    except EverloomError as failure:
        # Beside the form, so that a date can be mended without typing the question again.
        error = failure
    values = {
        "question": question,
        "found": found,
        "error": error,
        "chosen": visit.request.query_params.getlist("kind"),
    }
    if visit.asked("part") == "hits":
        return HTMLResponse(visit.rendered("hits.html", **values), headers=HEADERS)
    given = {name: visit.asked(name) for name in ("from", "until", "as_of")}
    return visit.page("search.html", title="Search", asked_query=question, given=given, limits=_LIMITS, **values)


def _instant(visit: Visit, name: str, *, ends_day: bool = False) -> datetime | None:
    given = visit.asked(name).strip()
    return read_instant(given, visit.zone, end_of_day=ends_day) if given else None


PATHS = (look(f"{WORKSPACE}search", search),)
