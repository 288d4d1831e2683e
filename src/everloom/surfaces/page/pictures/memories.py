"""Memories of a graph and what connects them: colour is the type, shape is how alive a memory is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from everloom.surfaces.page.html import cut
from everloom.surfaces.page.pictures.layout import Circle, pulled, spread
from everloom.surfaces.page.pictures.svg import LETTER, element, linked, picture, text, title

# (up to so many memories, the size of the picture)
_SIZES = ((8, (540, 300)), (40, (760, 480)), (10_000, (860, 640)))
_MARGIN = 12
_LONGEST_LABEL = 26
_LABEL_HEIGHT = 14
# Types by colour; there are more types than colours that can be told apart, so some share one, and all have a name.
TYPE_COLOURS = {
    "solution": 3,
    "fix": 7,
    "decision": 1,
    "configuration": 8,
    "problem": 5,
    "workflow": 6,
    "code_pattern": 4,
    "error": 2,
    "general": 8,
    "procedure": 6,
    "insight": 4,
}
_STRENGTHS = {"active": 0.85, "fading": 0.5, "dormant": 0.25, "archived": 0.0}

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class MemoryDot:
    """One memory in the picture."""

    name: str
    type: str
    status: str
    importance: float
    href: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A relation between two memories of the picture, by their places in the list."""

    start: int
    end: int
    type: str
    strength: float


def draw_memories(dots: Sequence[MemoryDot], lines: Sequence[MemoryLine], labels: int = 60) -> Markup:
    """Draw memories as nodes and relations as edges; the first of them get their names, as far as there is room."""
    size = next(size for most, size in _SIZES if len(dots) <= most)
    wished = pulled(len(dots), [(each.start, each.end, 0.5 + each.strength) for each in lines])
    sizes = [5 + 7 * dot.importance + (4 if dot.is_chosen else 0) for dot in dots]
    places = spread([(x * 0.94, y * 0.94) for x, y in wished], sizes, size)
    marks = [_line(each, dots, places) for each in lines]
    marks += [_dot(dot, place) for dot, place in zip(dots, places, strict=True)]
    marks += _labels(dots[:labels], places, size)
    told = f"{len(dots)} memories and {len(lines)} relations between them."
    return picture(*size, "Memories and their relations", told, *marks, class_="picture roomy")


def _line(each: MemoryLine, dots: Sequence[MemoryDot], places: Sequence[Circle]) -> Markup:
    (x1, y1, _), (x2, y2, _) = places[each.start], places[each.end]
    name = f"{dots[each.start].name} {each.type} {dots[each.end].name}"
    return element(
        "line", title(name), class_="edge", stroke_width=0.8 + 2.4 * each.strength, x1=x1, y1=y1, x2=x2, y2=y2
    )


def _dot(dot: MemoryDot, place: Circle) -> Markup:
    x, y, radius = place
    colour = TYPE_COLOURS.get(dot.type, 8)
    name = f"{dot.name} ({dot.type.replace('_', ' ')}, {dot.status})"
    ring = element("circle", cx=x, cy=y, r=radius + 4, class_="s2 thin") if dot.is_chosen else Markup("")
    return linked(dot.href, name, ring, shape(dot.status, (x, y), radius, colour))


def shape(status: str, place: tuple[float, float], radius: float, colour: int) -> Markup:
    """Draw the sign of a state: a full circle, a pale one, a square, an empty diamond."""
    x, y = place
    style = {"class_": f"f{colour} s{colour}", "fill_opacity": _STRENGTHS.get(status, 0.5), "stroke_width": 1.5}
    if status == "dormant":
        side = radius * 1.7
        return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, **style)
    if status == "archived":
        corners = (
            f"M{x:.1f} {y - radius:.1f}L{x + radius:.1f} {y:.1f}L{x:.1f} {y + radius:.1f}L{x - radius:.1f} {y:.1f}Z"
        )
        return element("path", d=corners, **style)
    return element("circle", cx=x, cy=y, r=radius, **style)


def _labels(dots: Sequence[MemoryDot], places: Sequence[Circle], size: tuple[int, int]) -> list[Markup]:
    """Write names beside their nodes, where they neither leave the picture nor cover a name or a node."""
    around: list[Box] = [(x - radius, y - radius, x + radius, y + radius) for x, y, radius in places]
    taken: list[Box] = []
    marks = []
    for at, dot in enumerate(dots):
        label = cut(dot.name, _LONGEST_LABEL)
        found = _free_place(label, around[at], [*taken, *around], size)
        if found is None:
            continue
        box, anchor = found
        taken.append(box)
        x = box[0] if anchor == "start" else box[2] if anchor == "end" else (box[0] + box[2]) / 2
        marks.append(text(x, box[3] - 3, label, most=200, text_anchor=anchor, aria_hidden="true", class_="label"))
    return marks


def _free_place(label: str, own: Box, others: Sequence[Box], size: tuple[int, int]) -> tuple[Box, str] | None:
    width, middle = LETTER * len(label) + 2, (own[0] + own[2]) / 2
    centre = (own[1] + own[3]) / 2
    half = _LABEL_HEIGHT / 2
    choices = (
        ((own[2] + 3, centre - half, own[2] + 3 + width, centre + half), "start"),
        ((own[0] - 3 - width, centre - half, own[0] - 3, centre + half), "end"),
        ((middle - width / 2, own[3] + 1, middle + width / 2, own[3] + 1 + _LABEL_HEIGHT), "middle"),
        ((middle - width / 2, own[1] - 1 - _LABEL_HEIGHT, middle + width / 2, own[1] - 1), "middle"),
    )
    for box, anchor in choices:
        is_inside = box[0] >= _MARGIN and box[2] <= size[0] - _MARGIN and box[1] >= 2 and box[3] <= size[1] - 2
        if is_inside and not any(_meets(box, other) for other in others if other is not own):
            return box, anchor
    return None


def _meets(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
