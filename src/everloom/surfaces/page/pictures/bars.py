"""Bars that stand on days, each made of parts: heights are exact, and every part says what it is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from everloom.surfaces.page.html import cut

WIDTH, HEIGHT = 760, 260
LEFT, RIGHT, TOP, BOTTOM = 76, 12, 48, 30
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
_PLOT_WIDTH = WIDTH - LEFT - RIGHT
# Labels below the axis, at most: more of them would run into each other.
_MOST_LABELS = 10
_LONGEST_NAME = 18
_CHARACTER = 6.6
_HALF_LABEL = 18
# Less than anybody pays or uses; an axis for it would be all noughts.
_LEAST = 1e-9
_BOX = 11
# A part that is lower cannot be seen.
_LOWEST = 0.001


@dataclass(frozen=True, slots=True)
class Column:
    """One bar: what stands below it, and the height of each of its parts, from the ground up."""

    label: str
    parts: tuple[float, ...]

    @property
    def whole(self) -> float:
        """The height of the bar."""
        return sum(self.parts)


def stacked_bars(
    title: str, names: Sequence[str], columns: Sequence[Column], written: Callable[[float], str]
) -> Markup:
    """Draw bars; `names` are those of the parts, `written` writes a value."""
    top = ceiling(max((each.whole for each in columns), default=0.0))
    step = _PLOT_WIDTH / max(1, len(columns))
    bars = Markup("").join(
        _bar(each, names, LEFT + place * step, step, top, written) for place, each in enumerate(columns)
    )
    about = f"{len(columns)} bars; the highest is {written(max((each.whole for each in columns), default=0.0))}."
    return Markup(
        '<svg class="picture" role="img" viewBox="0 0 {} {}" width="{}" height="{}">'
        "<title>{}</title><desc>{}</desc>{}{}{}{}</svg>"
    ).format(
        WIDTH, HEIGHT, WIDTH, HEIGHT, title, about, _legend(names), _axis(top, written), bars, _labels(columns, step)
    )


def ceiling(value: float) -> float:
    """Round a height up to the next 1, 2 or 5 with zeros behind it, where the axis ends."""
    if value < _LEAST:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next((factor * power for factor in (1, 2, 5, 10) if factor * power >= value), 10 * power)


def height_of(value: float, top: float) -> float:
    """Compute how high a value stands in a plot whose axis ends at `top`."""
    return value / top * PLOT_HEIGHT


def _bar(
    column: Column, names: Sequence[str], x: float, step: float, top: float, written: Callable[[float], str]
) -> Markup:
    foot, parts = float(TOP + PLOT_HEIGHT), []
    for place, (name, value) in enumerate(zip(names, column.parts, strict=True)):
        high = height_of(value, top)
        foot -= high
        if high >= _LOWEST:
            said = f"{column.label}: {cut(name, 60)} {written(value)}"
            parts.append(
                Markup(
                    '<rect class="f{}" x="{:.2f}" y="{:.3f}" width="{:.2f}" height="{:.3f}"><title>{}</title></rect>'
                ).format(place % 8 + 1, x + step * 0.12, foot, step * 0.76, high, said)
            )
    return Markup("").join(parts)


def _axis(top: float, written: Callable[[float], str]) -> Markup:
    lines = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + PLOT_HEIGHT * (1 - share)
        lines.append(
            Markup(
                '<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
                '<text class="dim" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
            ).format(LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, written(top * share))
        )
    return Markup("").join(lines)


def _labels(columns: Sequence[Column], step: float) -> Markup:
    every = max(1, ceil(len(columns) / _MOST_LABELS))
    # From the last one backwards: today is always named.
    return Markup("").join(
        Markup('<text class="dim" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
            min(LEFT + (place + 0.5) * step, WIDTH - RIGHT - _HALF_LABEL), HEIGHT - 10, columns[place].label
        )
        for place in range(len(columns) - 1, -1, -every)
    )


def _legend(names: Sequence[str]) -> Markup:
    parts, x, y = [], float(LEFT), 19
    for place, name in enumerate(names):
        shown = cut(name, _LONGEST_NAME)
        wide = _BOX + 6 + len(shown) * _CHARACTER + 16
        if x + wide > WIDTH - RIGHT and x > LEFT:
            x, y = float(LEFT), y + 16
        parts.append(
            Markup(
                '<rect class="f{}" x="{:.1f}" y="{}" width="{}" height="{}" rx="2"/><text x="{:.1f}" y="{}">{}</text>'
            ).format(place % 8 + 1, x, y - 10, _BOX, _BOX, x + _BOX + 5, y, shown)
        )
        x += wide
    return Markup("").join(parts)
