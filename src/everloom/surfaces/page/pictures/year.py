"""The heat strip of a year: one square a day, in columns of weeks, darker the more happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from everloom.surfaces.page.pictures.svg import element, linked, picture, text

_STEP, _SQUARE = 15, 13
_LEFT, _TOP = 34, 20
WIDTH, HEIGHT = _LEFT + 54 * _STEP + 4, _TOP + 7 * _STEP + 4
# From how many on a day has each shade.
SHADES = (1, 5, 15, 30, 50)


@dataclass(frozen=True, slots=True)
class YearDay:
    """A day of the year: how much happened, whether that is where counting stopped, and where it leads."""

    day: date
    count: int
    is_full: bool
    address: str


def shade(count: int) -> int:
    """Return how dark a day is, from 0 to 5."""
    return sum(count >= least for least in SHADES)


def said(day: YearDay) -> str:
    """Say in words how much happened on a day."""
    return f"{day.count}{' or more' if day.is_full else ''}"


def heat_strip(year: int, days: tuple[YearDay, ...]) -> Markup:
    """Draw the days of a year; weeks begin on Monday."""
    first = date(year, 1, 1)
    start = first - timedelta(days=first.weekday())
    busy = [each for each in days if each.count]
    tells = f"Something happened on {len(busy)} days. Each square is a day, each column a week."
    return picture(
        WIDTH,
        HEIGHT,
        f"{year}, day by day",
        tells,
        *_names(year, start),
        *(_square(each, start) for each in days),
        class_="picture roomy heat",
    )


def _names(year: int, start: date) -> Iterator[Markup]:
    for month in range(1, 13):
        week = (date(year, month, 1) - start).days // 7
        yield text(_LEFT + week * _STEP, _TOP - 7, f"{date(year, month, 1):%b}", class_="dim")
    for row, name in ((0, "Mon"), (3, "Thu"), (6, "Sun")):
        yield text(2, _TOP + row * _STEP + 11, name, class_="dim")


def _square(each: YearDay, start: date) -> Markup:
    week, row = divmod((each.day - start).days, 7)
    square = element(
        "rect",
        x=_LEFT + week * _STEP,
        y=_TOP + row * _STEP,
        width=_SQUARE,
        height=_SQUARE,
        class_=f"h{shade(each.count)}",
    )
    told = f"{each.day.day} {each.day:%b}: {said(each)}"
    # Empty days would be hundreds of stops on the way through the page by keyboard.
    return linked(each.address, told, square, **({} if each.count else {"tabindex": "-1"}))
