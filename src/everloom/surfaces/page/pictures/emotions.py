"""Emotions: six lines over time, and the six numbers of one scene as bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from everloom.surfaces.page.pictures.svg import LETTER, element, picture, text, title

_SIZE = (760, 320)
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 16, 46, 34
# Each line has a pattern of its own: colours alone do not tell six apart for everybody.
_PATTERNS = (None, "7 3", "2 3", "9 3 2 3", "4 4", "12 4")
_MOST_LABELS = 8
_BAR_SIZE = (380, 178)
_BAR_LEFT, _BAR_STEP = 96, 28


@dataclass(frozen=True, slots=True)
class FeltPoint:
    """The mean emotion of a period, by the names of its axes, and how many scenes it comes from."""

    begins: date
    scenes: int
    numbers: Mapping[str, float]


def draw_lines(points: Sequence[FeltPoint], axes: Sequence[str], name_day: Callable[[date], str]) -> Markup:
    """Draw one line for each axis."""
    width, height = _SIZE
    first, last = points[0].begins.toordinal(), points[-1].begins.toordinal()

    def x(day: date) -> float:
        return _LEFT + (day.toordinal() - first) / max(1, last - first) * (width - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (1 - value) / 2 * (height - _TOP - _BOTTOM)

    marks = [*_frame(y), *_days(points, x, name_day), *_legend(axes)]
    for number, axis in enumerate(axes):
        places = [(x(each.begins), y(each.numbers[axis])) for each in points]
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
        style = {"class_": f"s{number + 1} thin", "stroke_dasharray": _PATTERNS[number % len(_PATTERNS)]}
        marks.append(element("path", title(axis), d=path, **style))
        marks += [
            element(
                "circle",
                title(f"{axis} {each.numbers[axis]:+.2f}, {name_day(each.begins)}, {each.scenes} scenes"),
                cx=a,
                cy=b,
                r=2.5,
                class_=f"f{number + 1}",
            )
            for each, (a, b) in zip(points, places, strict=True)
        ]
    told = f"Six lines from {points[0].begins} to {points[-1].begins}, each from -1 to 1: {', '.join(axes)}."
    return picture(*_SIZE, "Emotion over time", told, *marks, class_="picture roomy")


def _frame(at: Callable[[float], float]) -> list[Markup]:
    width, _ = _SIZE
    marks = []
    for value in (1.0, 0.5, 0.0, -0.5, -1.0):
        place = at(value)
        marks.append(element("line", x1=_LEFT, x2=width - _RIGHT, y1=place, y2=place, class_="axis"))
        marks.append(
            text(_LEFT - 6, place + 4, f"{value:+g}" if value else "0", most=200, text_anchor="end", class_="dim")
        )
    return marks


def _days(points: Sequence[FeltPoint], at: Callable[[date], float], name_day: Callable[[date], str]) -> list[Markup]:
    step = max(1, -(-len(points) // _MOST_LABELS))
    chosen = points[::step]
    return [
        text(
            at(each.begins),
            _SIZE[1] - 12,
            name_day(each.begins),
            most=200,
            text_anchor="middle" if each is not points[0] else "start",
            class_="dim",
        )
        for each in chosen
        if at(each.begins) < _SIZE[0] - _RIGHT - 20
    ]


def _legend(axes: Sequence[str]) -> list[Markup]:
    marks, left = [], float(_LEFT)
    for number, axis in enumerate(axes):
        style = {"class_": f"s{number + 1} thin", "stroke_dasharray": _PATTERNS[number % len(_PATTERNS)]}
        marks.append(element("line", x1=left, x2=left + 26, y1=20, y2=20, **style))
        marks.append(text(left + 31, 24, axis, most=200))
        left += 31 + LETTER * len(axis) + 22
    return marks


def draw_bars(numbers: Mapping[str, float]) -> Markup:
    """Draw the emotion of one scene: a bar to the right for more, to the left for less."""
    width, height = _BAR_SIZE
    middle, reach = (_BAR_LEFT + width - 46) / 2, (width - 46 - _BAR_LEFT) / 2
    marks = [element("line", x1=middle, x2=middle, y1=4, y2=height - 4, class_="axis")]
    for number, (axis, value) in enumerate(numbers.items()):
        top = 6 + number * _BAR_STEP
        bar = {"x": middle + min(0.0, value) * reach, "width": max(1.0, abs(value) * reach)}
        marks.append(text(_BAR_LEFT - 8, top + 16, axis, most=200, text_anchor="end"))
        marks.append(element("rect", y=top + 3, height=17, rx=3, class_=f"f{number + 1}", fill_opacity=0.75, **bar))
        marks.append(text(width - 6, top + 16, f"{value:+.2f}", most=200, text_anchor="end", class_="dim"))
    told = ", ".join(f"{axis} {value:+.2f}" for axis, value in numbers.items())
    return picture(*_BAR_SIZE, "How it felt", told, *marks, class_="picture")
