"""The story of a month, a year or a range of days: a picture drawn here, and sentences that lead to their scenes."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from everloom.errors import EverloomError, Rejected
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.pictures.story import draw_story
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.episodic.story import Story

# A story is told whole: pictures of half a year would be wrong.
_TOKENS = 100_000


def story(visit: Visit) -> Response:
    """Tell a month, a year or a range; without one, the last twelve months."""
    typed = {name: visit.asked(name).strip() for name in ("month", "year", "from", "to")}
    told, error = None, None
    try:
        told = visit.workspace.episodic.story(**_asked(visit, typed), pictures=True, max_tokens=_TOKENS)
    except EverloomError as met:
        error = met
    steps = None if told is None else _steps(visit, told, typed)
    drawn = None if told is None else draw_story(told, lambda item: visit.url(f"scenes/{item}"))
    rows = [] if told is None else _rows(told)
    values = {"story": told, "drawn": drawn, "typed": typed, "steps": steps, "rows": rows}
    return visit.answer("story.html", error, title="Story", **values)


def _rows(told: Story) -> list[tuple[str, str, str]]:
    """List what the picture shows, for those who read."""
    periods = () if told.picture is None else told.picture.periods
    return [
        (str(each.begins), f"{each.moments:,}", "" if each.emotion is None else f"{each.emotion.valence:+.2f}")
        for each in periods
    ]


def _asked(visit: Visit, typed: dict[str, str]) -> dict[str, Any]:
    """Read the form; what was left empty was not asked for."""
    year = typed["year"]
    if year and not (year.isascii() and year.isdecimal() and len(year) <= 4):
        raise Rejected(f"{year!r} is not a year", hint="write a year as 2026")
    return {
        "month": typed["month"] or None,
        "year": int(year) if year else None,
        "date_from": _midnight(visit, typed["from"]),
        "date_to": _midnight(visit, typed["to"]),
    }


def _midnight(visit: Visit, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), visit.zone)
    except ValueError as error:
        raise Rejected(f"{text!r} is not a day", hint="write a day as 2026-05-31") from error


def _steps(visit: Visit, told: Story, typed: dict[str, str]) -> tuple[str | None, str | None]:
    """Find the addresses of the story before and the one after: of another month, or of another year."""
    if typed["month"]:
        return tuple(_month_link(visit, told, earlier=each) for each in (True, False))  # type: ignore[return-value]
    if typed["year"]:
        years = (told.begins.year - 1, told.begins.year + 1)
        before, after = (visit.url("story", year=each) if 1 <= each <= date.max.year else None for each in years)
        return before, after
    return None, None


def _month_link(visit: Visit, told: Story, *, earlier: bool) -> str | None:
    try:
        day = told.begins - timedelta(days=1) if earlier else told.ends + timedelta(days=1)
    except OverflowError:
        return None
    return visit.url("story", month=f"{day.year:04}-{day.month:02}")


PATHS = (look(f"{WORKSPACE}story", story),)
