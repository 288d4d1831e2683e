"""The neighbourhood of a subject: itself in the middle, its neighbours to the left and right, the nearest share most.

Neighbours stand at even heights, so that their names never overlap. Nodes lead to subjects, edges to what is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from markupsafe import Markup

from everloom.surfaces.page.html import number
from everloom.surfaces.page.pictures.svg import element, linked, picture, text

WIDTH = 760
_ROW = 34
_LEAST_HEIGHT = 220
# How far the middle of a neighbour is from the subject: the one that shares most, and the one that shares least.
_NEAR, _FAR = 105.0, 205.0
_COLOURS = 8


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A subject beside another: its name, how much both share, and where node and edge lead."""

    name: str
    shared: int
    address: str
    shared_address: str


def neighbourhood(name: str, neighbours: tuple[Neighbour, ...]) -> Markup:
    """Draw a subject and its neighbours."""
    # Strongest first on alternating sides: each side then has its own in the order of strength, from the middle out.
    sides = (neighbours[::2], neighbours[1::2])
    rows = max(len(sides[0]), 1)
    height = max(_LEAST_HEIGHT, rows * _ROW + 40)
    middle = (WIDTH / 2, height / 2)
    most = max((each.shared for each in neighbours), default=1)
    edges, nodes = [], []
    for side, members in enumerate(sides):
        for place, each in enumerate(members):
            x, y = _spot(side, place, len(members), each.shared / most, height)
            edges.append(_edge(name, each, middle, (x, y), most))
            nodes.append(_node(each, (x, y), side, place * 2 + side, most))
    centre = element(
        "g",
        element("circle", cx=middle[0], cy=middle[1], r=22, class_="centre"),
        text(middle[0], middle[1] + 40, name, 28, text_anchor="middle", class_="name"),
    )
    tells = "; ".join(f"{each.name}: {number(each.shared)}" for each in neighbours[:10])
    return picture(
        WIDTH, height, f"What {name} shares with others", tells, *edges, centre, *nodes, class_="picture roomy"
    )


def _spot(side: int, place: int, count: int, strength: float, height: int) -> tuple[float, float]:
    # From the middle outwards: 0, 1 below, 1 above, 2 below …
    offset = (place + 1) // 2 * (1 if place % 2 else -1)
    # An even number has no middle row: all move up by half a row.
    y = height / 2 + (offset - (0.5 if count % 2 == 0 else 0.0)) * _ROW
    reach = _FAR - (_FAR - _NEAR) * sqrt(strength)
    # Farther rows bend away from the subject, like a wreath.
    bend = min(1.0, abs(y - height / 2) / (height / 2))
    x = WIDTH / 2 + (reach * (1 - 0.35 * bend**2)) * (1 if side == 0 else -1)
    return x, y


def _edge(name: str, each: Neighbour, begin: tuple[float, float], end: tuple[float, float], most: int) -> Markup:
    line = {"x1": begin[0], "y1": begin[1], "x2": end[0], "y2": end[1]}
    width = 1 + 6 * each.shared / most
    # A wide line that nobody sees: a thin one is hard to meet with a finger.
    return linked(
        each.shared_address,
        f"{number(each.shared)} shared by {name} and {each.name}",
        element("line", **line, class_="grip"),
        element("line", **line, class_="edge", stroke_width=width),
    )


def _node(each: Neighbour, spot: tuple[float, float], side: int, place: int, most: int) -> Markup:
    radius = 5 + 7 * sqrt(each.shared / most)
    to_right = side == 0
    label = text(
        spot[0] + (radius + 7) * (1 if to_right else -1),
        spot[1] + 4,
        each.name,
        24,
        text_anchor="start" if to_right else "end",
    )
    dot = element("circle", cx=spot[0], cy=spot[1], r=radius, class_=f"f{place % _COLOURS + 1}")
    return linked(each.address, f"{each.name}, {number(each.shared)} shared", dot, label)
