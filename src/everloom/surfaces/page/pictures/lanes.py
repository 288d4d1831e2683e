"""Lanes over one axis of time: bars of how much happened, stretches that lasted, doors to where one can look closer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from everloom.surfaces.page.pictures.svg import element, linked, picture, text

WIDTH = 860
_LEFT, _RIGHT, _TOP = 128, 12, 26
_LANE, _BAR = 40, 30
_NARROWEST = 3.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the axis: where, and what it says."""

    at: float
    name: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Something on a lane: from where to where on the axis (0 to 1), how high (0 to 1), what it is."""

    begin: float
    end: float
    height: float
    says: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One kind of thing; `colour` is that of its kind everywhere, from 1 to 8."""

    name: str
    colour: int
    stretches: tuple[Stretch, ...]


def lanes(title: str, tells: str, ticks: tuple[Tick, ...], given: tuple[Lane, ...]) -> Markup:
    """Draw lanes below an axis."""
    height = _TOP + _LANE * len(given) + 14
    drawn = [_tick(each, height) for each in ticks]
    for place, lane in enumerate(given):
        base = _TOP + _LANE * (place + 1)
        drawn.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=base, y2=base, class_="axis"))
        drawn.append(text(_LEFT - 10, base - 10, lane.name, 20, text_anchor="end"))
        drawn += [_stretch(each, lane.colour, base) for each in lane.stretches]
    return picture(WIDTH, height, title, tells, *drawn, class_="picture roomy lanes")


def _across(share: float) -> float:
    return _LEFT + max(0.0, min(1.0, share)) * (WIDTH - _LEFT - _RIGHT)


def _tick(tick: Tick, height: int) -> Markup:
    x = _across(tick.at)
    line = element("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 14, class_="axis")
    label = text(x + 3, _TOP - 10, tick.name, 14, class_="dim")
    return Markup("").join([line, linked(tick.address, tick.name, label) if tick.address else label])


def _stretch(each: Stretch, colour: int, base: int) -> Markup:
    begin, end = _across(each.begin), _across(each.end)
    high = max(3.0, _BAR * each.height)
    bar = element(
        "rect",
        x=begin,
        y=base - high,
        width=max(_NARROWEST, end - begin - 1),
        height=high,
        class_=f"f{colour}",
    )
    return linked(each.address, each.says, bar)
