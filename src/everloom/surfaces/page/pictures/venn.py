"""The Venn picture of two or three subjects: circles and overlaps as large as what they hold, each region a door.

Two circles and their overlap are exact. Of three, circles and overlaps of pairs are as exact as three circles allow;
what all three share follows from that, so that its area may be off, and the picture says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot

from markupsafe import Markup

from everloom.surfaces.page.html import cut, number
from everloom.surfaces.page.pictures.circles import Arc, Circle, area_within, edge_of, placed
from everloom.surfaces.page.pictures.svg import element, linked, picture, text

WIDTH, HEIGHT = 640, 420
_SIDE, _TOP = 110, 44
# Points that are tried for the place of a number; a region that holds none is too small for one.
_COLUMNS, _ROWS = 64, 48
# A number needs so much room around it.
_ROOM = 9.0
_SMALLEST = 2.5
# About as wide is a letter of a name.
_LETTER = 7.5
# An area that is off by less is not worth a word.
_OFF = 0.05


@dataclass(frozen=True, slots=True)
class VennRegion:
    """One region: which of the subjects it is inside of, what it is called, how much it holds, where it leads."""

    inside: tuple[int, ...]
    name: str
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class Venn:
    """Two or three subjects: their names and sizes, what pairs share, what all share, and every region."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    pairs: tuple[int, ...]
    all_three: int
    regions: tuple[VennRegion, ...]


@dataclass(frozen=True, slots=True)
class DrawnVenn:
    """The picture, whether pairs share as much as they should, and how much is drawn as shared by all three."""

    markup: Markup
    are_pairs_exact: bool
    middle: float

    def is_off(self, all_three: int) -> bool:
        """Return whether the middle is drawn larger or smaller than what it stands for."""
        return not _is_near(self.middle, all_three)


def layout(sizes: Sequence[float], pairs: Sequence[float]) -> tuple[Circle, ...]:
    """Place the circles: areas are sizes, overlaps of pairs are what they share."""
    shared = dict(zip(combinations(range(len(sizes)), 2), pairs, strict=True))
    return placed(sizes, shared)


def draw(venn: Venn) -> DrawnVenn:
    """Draw the picture."""
    found = layout(venn.sizes, venn.pairs)
    middle = area_within(edge_of(found)) if len(found) > 2 else 0.0
    are_pairs_exact = all(
        _is_near(area_within(edge_of((found[a], found[b]))), count)
        for (a, b), count in zip(combinations(range(len(found)), 2), venn.pairs, strict=True)
    )
    circles = _fitted(found)
    # The smaller on top of the larger, so that one inside another can be reached.
    order = sorted(venn.regions, key=lambda each: (len(each.inside), -circles[each.inside[0]].radius))
    drawn = [_region(each, circles) for each in order]
    tells = "; ".join(f"{each.name}: {number(each.count)}" for each in venn.regions)
    title = f"What {' and '.join(venn.names)} share"
    labels = [*_counts(venn.regions, circles), *_names(venn, circles)]
    return DrawnVenn(
        picture(WIDTH, HEIGHT, title, tells, *drawn, *labels, class_="picture venn"), are_pairs_exact, middle
    )


def _is_near(drawn: float, meant: float) -> bool:
    return abs(drawn - meant) <= _OFF * max(meant, 1.0)


def _fitted(circles: Sequence[Circle]) -> tuple[Circle, ...]:
    """Scale and move circles into the frame."""
    left, right = min(c.x - c.radius for c in circles), max(c.x + c.radius for c in circles)
    top, bottom = min(c.y - c.radius for c in circles), max(c.y + c.radius for c in circles)
    scale = min((WIDTH - 2 * _SIDE) / max(right - left, 1e-9), (HEIGHT - 2 * _TOP) / max(bottom - top, 1e-9))
    x, y = (left + right) / 2, (top + bottom) / 2
    return tuple(
        Circle(WIDTH / 2 + (c.x - x) * scale, HEIGHT / 2 + (c.y - y) * scale, max(c.radius * scale, _SMALLEST))
        for c in circles
    )


def _region(region: VennRegion, circles: Sequence[Circle]) -> Markup:
    says = f"{region.name}: {number(region.count)}"
    if len(region.inside) == 1:
        (place,) = region.inside
        own = circles[place]
        shape = element(
            "circle", cx=own.x, cy=own.y, r=own.radius, class_=f"f{place + 1} s{place + 1} pale venn-circle"
        )
        return linked(region.address, says, shape)
    edge = edge_of([circles[place] for place in region.inside])
    return linked(region.address, says, element("path", d=path_of(edge), class_="venn-shared")) if edge else Markup("")


def path_of(edge: Sequence[Arc]) -> str:
    """Write an edge as the path of an SVG."""
    x, y = edge[0].point(edge[0].begin)
    steps = [f"M{x:.2f} {y:.2f}"]
    for arc in edge:
        # A whole circle begins and ends at one point, which an arc cannot: it takes two.
        middle = (arc.begin + arc.end) / 2
        for angle in (middle, arc.end):
            x, y = arc.point(angle)
            steps.append(f"A{arc.circle.radius:.2f} {arc.circle.radius:.2f} 0 0 1 {x:.2f} {y:.2f}")
    return "".join([*steps, "Z"])


def _counts(regions: Sequence[VennRegion], circles: Sequence[Circle]) -> Iterator[Markup]:
    """Write each region's number where there is most room for it, if there is any."""
    places = _roomiest(circles)
    for each in regions:
        found = places.get(each.inside)
        if found is not None and found[0] >= _ROOM:
            yield text(found[1], found[2] + 4, number(each.count), text_anchor="middle", class_="venn-count")


def _roomiest(circles: Sequence[Circle]) -> dict[tuple[int, ...], tuple[float, float, float]]:
    best: dict[tuple[int, ...], tuple[float, float, float]] = {}
    for column in range(_COLUMNS):
        for row in range(_ROWS):
            x, y = (column + 0.5) * WIDTH / _COLUMNS, (row + 0.5) * HEIGHT / _ROWS
            inside = tuple(place for place, each in enumerate(circles) if each.holds(x, y))
            room = min(abs(hypot(x - each.x, y - each.y) - each.radius) for each in circles)
            if inside and room > best.get(inside, (0.0, 0.0, 0.0))[0]:
                best[inside] = (room, x, y)
    return best


def _names(venn: Venn, circles: Sequence[Circle]) -> Iterator[Markup]:
    """Write each name above or below its circle; a name that would cover another moves on."""
    taken: list[tuple[float, float, float]] = []
    for place, (name, own) in enumerate(zip(venn.names, circles, strict=True)):
        words = f"{cut(name, 28)} ({number(venn.sizes[place])})"
        half = len(words) * _LETTER / 2
        is_below = own.y > HEIGHT / 2 + 1 or (place == 1 and own.radius < HEIGHT / 5)
        x = max(half + 4, min(WIDTH - half - 4, own.x))
        y = min(HEIGHT - 10.0, own.y + own.radius + 18) if is_below else max(18.0, own.y - own.radius - 10)
        while any(abs(y - other) < 16 and abs(x - there) < half + beside for there, other, beside in taken):
            y += -16 if is_below else 16
        taken.append((x, y, half))
        yield text(x, y, words, 60, text_anchor="middle", class_=f"f{place + 1} name")
