"""What the agent does by itself: heartbeats with their reasons, and messages that wait for their time."""

from __future__ import annotations

from typing import Literal, cast, get_args

from starlette.responses import Response

from everloom.errors import EverloomError, meaning_of
from everloom.mind.initiative.timing import Rhythm
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

_SCHEDULE = f"{WORKSPACE}schedule"
_HEARTBEATS = (50, 200, 1_000)
_PAGE_TOKENS = 100_000


def heartbeats(visit: Visit) -> Response:
    """Show when the agent considered speaking first, and why it did or did not."""
    limit = visit.asked_number("limit", _HEARTBEATS[0], least=1, most=_HEARTBEATS[-1])
    workspace = visit.workspace
    found = workspace.mind.heartbeats(limit=limit, max_tokens=_PAGE_TOKENS).heartbeats
    return visit.page(
        "heartbeats.html",
        title="Heartbeats",
        heartbeats=found,
        more=next((each for each in _HEARTBEATS if each > limit), None) if len(found) >= limit else None,
        policy=workspace.mind.setup.policy,
        counts={
            name: sum(each.outcome == name for each in found) for name in ("sent", "silent", "suppressed", "failed")
        },
        has_model=visit.answering.has_model(workspace.info),
    )


def schedule(visit: Visit) -> Response:
    """Show the messages that wait for their time."""
    return _scheduled(visit)


def _scheduled(visit: Visit, error: EverloomError | None = None) -> Response:
    typed = {name: visit.form.text(name) if error else "" for name in ("text", "at", "every")}
    return visit.page(
        "schedule.html",
        200 if error is None else meaning_of(error).http_status,
        title="Schedule",
        waiting=visit.workspace.mind.list_scheduled(max_tokens=_PAGE_TOKENS),
        rhythms=get_args(Rhythm),
        now=visit.loom.clock.now(),
        typed=typed,
        error=error,
    )


def add(visit: Visit) -> Response:
    """Schedule a message."""
    sent = visit.form
    every = cast("Literal['daily', 'weekdays', 'weekly'] | None", sent.given("every"))
    try:
        made = visit.acting("schedule a message").mind.schedule_message(sent.text("text"), sent.text("at"), every)
    except EverloomError as error:
        return _scheduled(visit, error)
    return visit.go(visit.url("schedule"), f"It will be sent on {made.due_at:%A, %d %B %Y, at %H:%M}.")


def cancel(visit: Visit) -> Response:
    """Cancel a scheduled message."""
    gone = visit.acting("cancel a scheduled message").mind.cancel_scheduled(visit.form.number("id") or 0)
    return visit.go(visit.url("schedule"), str(gone))


PATHS = (
    look(f"{WORKSPACE}heartbeats", heartbeats),
    look(_SCHEDULE, schedule),
    form(_SCHEDULE, add),
    form(f"{_SCHEDULE}/cancel", cancel),
)
