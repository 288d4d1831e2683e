"""Forgetting: choose, see what would go along, confirm. Nothing goes before the person has seen all of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from starlette.responses import Response

from everloom.clock import read_instant
from everloom.errors import Conflict, meaning_of
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

_CRITERIA = ("search", "since", "until", "from_session")


def choose(visit: Visit) -> Response:
    """Show how to choose what is to be forgotten, and what was forgotten before."""
    gone = visit.workspace.forgetting.list_forgotten(limit=50, max_tokens=20_000)
    return visit.page("forget.html", title="Forget", preview=None, chosen={}, gone=gone, error=None)


def preview(visit: Visit) -> Response:
    """Show what would go, what goes along and what stays; nothing is forgotten yet."""
    return _preview(visit, _chosen(visit))


def _preview(visit: Visit, chosen: dict[str, Any], error: Conflict | None = None) -> Response:
    found = visit.acting("forget").forgetting.forget(**chosen)
    status = 200 if error is None else meaning_of(error).http_status
    values = {"preview": found, "chosen": _fields(visit), "gone": None, "error": error}
    return visit.page("forget.html", status, title="Forget", **values)


def confirm(visit: Visit) -> Response:
    """Forget what was shown; if anything has changed since, show it again."""
    chosen = _chosen(visit)
    try:
        done = visit.acting("forget").forgetting.forget(**chosen, confirm=visit.form.text("confirm"))
    except Conflict as changed:
        return _preview(visit, chosen, changed)
    return visit.go(visit.url("forget"), done.advice)


def _chosen(visit: Visit) -> dict[str, Any]:
    """Read what a person chose."""
    sent = visit.form
    return {
        "ids": sent.numbers("id") or None,
        "search": sent.given("search"),
        "subject_names": [each for each in sent.texts("subject") if each.strip()] or None,
        "since": _instant(visit, "since"),
        "until": _instant(visit, "until", ends_day=True),
        "from_session": sent.given("from_session"),
    }


def _fields(visit: Visit) -> dict[str, list[str]]:
    """Repeat the choice as fields of the form that confirms it."""
    named = {name: [value] for name in _CRITERIA if (value := visit.form.text(name).strip())}
    return {
        **named,
        "id": visit.form.texts("id"),
        "subject": [each for each in visit.form.texts("subject") if each.strip()],
    }


def _instant(visit: Visit, name: str, *, ends_day: bool = False) -> datetime | None:
    given = visit.form.given(name)
    return None if given is None else read_instant(given, visit.zone, end_of_day=ends_day)


PATHS = (
    look(f"{WORKSPACE}forget", choose),
    form(f"{WORKSPACE}forget", preview),
    form(f"{WORKSPACE}forget/confirm", confirm),
)
