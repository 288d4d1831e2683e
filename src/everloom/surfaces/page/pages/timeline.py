"""The timeline: a year with its heat strip, a month, a day, and the story of one session, on one axis of time.

Shows when things happened, in the workspace's time zone; what an import brought stands where it happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.clock import midnight
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.pictures.lanes import Lane, Stretch, Tick, lanes
from everloom.surfaces.page.pictures.year import YearDay, heat_strip
from everloom.surfaces.page.visit import Visit
from everloom.wiring.items import Items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from everloom.graph.results import PastEpisode
    from everloom.kernel.timeline import CountedDay, CountedDays, PastItem, PastSession, PastTimes

_PAGE_TOKENS = 40_000
_A_PAGE = 50
# What the picture of a day shows, at most; the list below goes on page by page.
_DRAWN = 200
_STORY = 200
# A kind has the same colour on every picture here.
_LANES = {
    "exchange": ("Exchanges", 7),
    "scene": ("Scenes", 4),
    "diary": ("Diary", 5),
    "memory": ("Memories", 2),
    "observation": ("Observations", 1),
    "understanding": ("Understandings", 3),
    "note": ("Notes", 8),
    "turn": ("Imported turns", 6),
}
_SESSIONS = "Sessions"
_SESSION_COLOUR = 6
_FIRST_YEAR, _LAST_YEAR = 2, 9998
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Period:
    """A year, a month or a day: its first and last day, what it is called, and what is around it."""

    name: str
    first: date
    last: date
    before: str
    after: str
    above: tuple[str, str] | None = None


def timeline(visit: Visit) -> Response:
    """Show a year, a month or a day, or what happened in one session."""
    if visit.asked("session"):
        return _session(visit)
    if (day := _date_in(visit.asked("day"), "%Y-%m-%d")) is not None:
        return _day(visit, day)
    if (month := _date_in(visit.asked("month"), "%Y-%m")) is not None:
        return _month(visit, month)
    return _year(visit, _date_in(visit.asked("year"), "%Y"))


def _date_in(text: str, form: str) -> date | None:
    """Read a date as the addresses of this page write it; anything else is as if it were not there."""
    try:
        found = datetime.strptime(text, form).date()  # noqa: DTZ007  a day of the calendar, in whatever zone
    except ValueError:
        return None
    return found if _FIRST_YEAR <= found.year <= _LAST_YEAR else None


def _year(visit: Visit, asked: date | None) -> Response:
    items, today = Items(visit.workspace), visit.loom.clock.now().astimezone(visit.zone).date()
    shown = asked or today
    found = _counted(visit, items, date(shown.year, 1, 1), date(shown.year, 12, 31))
    last = None if found.last is None else found.last.astimezone(visit.zone).date()
    if asked is None and last is not None and last < today and not any(each.counts for each in found.days):
        # Nothing this year: the year in which something happened last.
        shown = last
        found = _counted(visit, items, date(shown.year, 1, 1), date(shown.year, 12, 31))
    year = shown.year
    strip = tuple(
        YearDay(
            day=each.day,
            count=sum(each.counts.values()),
            is_full=any(count >= found.most for count in each.counts.values()),
            address=f"?day={each.day}",
        )
        for each in found.days
    )
    ticks = tuple(
        Tick(
            (date(year, month, 1) - date(year, 1, 1)).days / len(found.days),
            f"{date(year, month, 1):%b}",
            _in_month(year, month),
        )
        for month in range(1, 13)
    )
    sessions = _sessions_of(visit, items, date(year, 1, 1), date(year, 12, 31))
    span = (midnight(date(year, 1, 1), visit.zone), midnight(date(year + 1, 1, 1), visit.zone))
    drawn = lanes(
        f"{year}, week by week",
        _told(found),
        ticks,
        (*_session_lane(visit, sessions, *span), *_counted_lanes(found, 7, "week of ", _in_month_of)),
    )
    months = [
        (
            f"{date(year, month, 1):%B}",
            _in_month(year, month),
            *_sums([each for each in found.days if each.day.month == month], found.most),
        )
        for month in range(1, 13)
    ]
    period = Period(str(year), date(year, 1, 1), date(year, 12, 31), f"?year={year - 1:04}", f"?year={year + 1:04}")
    return _page(visit, period, found, heat=heat_strip(year, strip), drawn=drawn, rows=months, sessions=sessions)


def _month(visit: Visit, first: date) -> Response:
    items = Items(visit.workspace)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    found = _counted(visit, items, first, last)
    ticks = tuple(
        Tick((each.day.day - 1) / len(found.days), str(each.day.day), f"?day={each.day}") for each in found.days
    )
    past, episodes = (
        _past(visit, items, first, last, _A_PAGE, visit.asked("cursor") or None),
        _episodes(visit, first, last),
    )
    span = (midnight(first, visit.zone), midnight(last + timedelta(days=1), visit.zone))
    drawn = lanes(
        f"{first:%B %Y}, day by day",
        _told(found),
        ticks,
        (
            *_session_lane(visit, past.sessions, *span),
            *_episode_lane(episodes, *span),
            *_counted_lanes(found, 1, "", lambda day: f"?day={day}"),
        ),
    )
    rows = [
        (f"{each.day:%a} {each.day.day}", f"?day={each.day}", *_sums([each], found.most))
        for each in found.days
        if each.counts
    ]
    before, after = first - timedelta(days=1), last + timedelta(days=1)
    period = Period(
        f"{first:%B %Y}",
        first,
        last,
        _in_month(before.year, before.month),
        _in_month(after.year, after.month),
        (str(first.year), f"?year={first.year:04}"),
    )
    return _page(visit, period, found, drawn=drawn, rows=rows, sessions=past.sessions, past=past, episodes=episodes)


def _day(visit: Visit, day: date) -> Response:
    items = Items(visit.workspace)
    past = _past(visit, items, day, day, _A_PAGE, visit.asked("cursor") or None)
    begin, end = midnight(day, visit.zone), midnight(day + timedelta(days=1), visit.zone)
    points, episodes = _past(visit, items, day, day, _DRAWN, None), _episodes(visit, day, day)
    ticks = tuple(Tick(hour / 24, f"{hour}:00") for hour in range(0, 24, 3))
    drawn = lanes(
        f"{day:%A}, {day.day} {day:%B %Y}",
        f"{len(points.items)} things{' or more' if points.cursor else ''}",
        ticks,
        (
            *_session_lane(visit, points.sessions, begin, end),
            *_episode_lane(episodes, begin, end),
            *_point_lanes(visit, points.items, begin, end),
        ),
    )
    before, after = day - timedelta(days=1), day + timedelta(days=1)
    period = Period(
        f"{day:%A}, {day.day} {day:%B %Y}",
        day,
        day,
        f"?day={before}",
        f"?day={after}",
        (f"{day:%B %Y}", _in_month(day.year, day.month)),
    )
    return _page(visit, period, None, drawn=drawn, sessions=points.sessions, past=past, episodes=episodes)


def _page(visit: Visit, period: Period, found: CountedDays | None, **shown: object) -> Response:
    usual = {"heat": None, "past": None, "rows": (), "episodes": (), "is_later": bool(visit.asked("cursor"))}
    kinds = [name for name, _ in _LANES.values()]
    title = f"Timeline: {period.name}"
    return visit.page("timeline.html", **{**usual, **shown}, title=title, period=period, found=found, kinds=kinds)


def _session(visit: Visit) -> Response:
    """Tell the story of one session."""
    label, semantic = visit.asked("session"), visit.workspace.semantic
    story = semantic.what_happened(label, limit=_STORY, max_tokens=_PAGE_TOKENS)
    context = semantic.get_session_context(label, limit=_A_PAGE, max_tokens=_PAGE_TOKENS)
    begun = story.session.started_at.astimezone(visit.zone).date()
    return visit.page(
        "session.html", title=f"Session {label}", story=story, context=context, day=begun, month=f"{begun:%Y-%m}"
    )


def _episodes(visit: Visit, first: date, last: date) -> tuple[PastEpisode, ...]:
    begin, end = midnight(first, visit.zone), midnight(last, visit.zone)
    return visit.workspace.graphs.list_episodes(begin, end, max_tokens=_PAGE_TOKENS)


def _episode_lane(found: Sequence[PastEpisode], begin: datetime, end: datetime) -> Iterator[Lane]:
    span = end - begin
    marks = (((each.happened_at - begin) / span, each) for each in found)
    stretches = tuple(Stretch(at, at + 0.006, 0.75, each.title, "#episodes") for at, each in marks)
    if stretches:
        yield Lane("Episodes", 8, stretches)


def _counted(visit: Visit, items: Items, first: date, last: date) -> CountedDays:
    return items.count_days(midnight(first, visit.zone), midnight(last, visit.zone), max_tokens=None)


def _past(visit: Visit, items: Items, first: date, last: date, limit: int, cursor: str | None) -> PastTimes:
    begin, end = midnight(first, visit.zone), midnight(last + timedelta(days=1), visit.zone) - _MOMENT
    return items.look_back(begin, end, cursor=cursor, limit=limit, max_tokens=_PAGE_TOKENS)


def _sessions_of(visit: Visit, items: Items, first: date, last: date) -> tuple[PastSession, ...]:
    begin, end = midnight(first, visit.zone), midnight(last + timedelta(days=1), visit.zone) - _MOMENT
    return items.look_back(begin, end, kinds=(), limit=1, max_tokens=_PAGE_TOKENS).sessions


def _in_month(year: int, month: int) -> str:
    return f"?month={year:04}-{month:02}"


def _in_month_of(day: date) -> str:
    return _in_month(day.year, day.month)


def _told(found: CountedDays) -> str:
    busy = sum(bool(each.counts) for each in found.days)
    return f"Something happened on {busy} of {len(found.days)} days."


def _sums(days: Sequence[CountedDay], most: int) -> tuple[str, ...]:
    """Sum up what happened on some days, lane by lane, as a table shows it."""
    return tuple(_sum(days, kind, most) for kind in _LANES)


def _sum(days: Sequence[CountedDay], kind: str, most: int) -> str:
    counts = [each.counts.get(kind, 0) for each in days]
    is_full = any(count >= most for count in counts)
    return f"{sum(counts):,}{' or more' if is_full else ''}" if any(counts) else ""


def _counted_lanes(found: CountedDays, days: int, before: str, address: Callable[[date], str]) -> Iterator[Lane]:
    """Draw counts as bars, one for so many days; a lane for each kind of which there is anything."""
    parts = [found.days[start : start + days] for start in range(0, len(found.days), days)]
    for kind, (name, colour) in _LANES.items():
        sums = [sum(each.counts.get(kind, 0) for each in part) for part in parts]
        stretches = tuple(
            Stretch(
                begin=place * days / len(found.days),
                end=(place * days + len(part)) / len(found.days),
                height=count / max(sums),
                says=f"{before}{part[0].day.day} {part[0].day:%b}: {_sum(part, kind, found.most)} {name.lower()}",
                address=address(part[0].day),
            )
            for place, (part, count) in enumerate(zip(parts, sums, strict=True))
            if count
        )
        if stretches:
            yield Lane(name, colour, stretches)


def _session_lane(visit: Visit, sessions: Sequence[PastSession], begin: datetime, end: datetime) -> Iterator[Lane]:
    span = end - begin
    stretches = tuple(
        Stretch(
            (each.started_at - begin) / span,
            (each.latest_activity - begin) / span,
            0.4,
            f"{each.kind} {each.session_id}",
            visit.url("timeline", session=each.session_id) if each.kind == "session" else visit.url(f"item/{each.id}"),
        )
        for each in sessions
    )
    if stretches:
        yield Lane(_SESSIONS, _SESSION_COLOUR, stretches)


def _point_lanes(visit: Visit, found: Sequence[PastItem], begin: datetime, end: datetime) -> Iterator[Lane]:
    span = end - begin
    for kind, (name, colour) in _LANES.items():
        points = tuple(
            Stretch(
                at := (each.happened_at - begin) / span,
                at + 0.006,
                0.75,
                f"{each.happened_at.astimezone(visit.zone):%H:%M} {each.title or each.text}",
                visit.url(f"item/{each.id}"),
            )
            for each in found
            if each.kind == kind
        )
        if points:
            yield Lane(name, colour, points)


PATHS = (look(f"{WORKSPACE}timeline", timeline),)
