"""The clusters under one root as circles: as large as they have scenes, near each other if they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

from markupsafe import Markup

from everloom.surfaces.page.pictures.layout import Circle, spread
from everloom.surfaces.page.pictures.svg import element, lines_of, linked, picture, text

_WIDTH, _HEIGHT = 430, 340
_LINE = 14
_LARGEST, _COVERED = 80.0, 0.33


@dataclass(frozen=True, slots=True)
class ClusterDot:
    """One cluster: its name, how many scenes it has and how many of them live, where it wants to be, where it leads."""

    name: str
    scenes: int
    living: int
    x: float
    y: float
    href: str
    # The scenes that are in no cluster of their own yet.
    is_root: bool = False


def draw_clusters(root: str, dots: Sequence[ClusterDot], colour: int) -> Markup:
    """Draw the clusters of one root."""
    sizes = [max(1, dot.scenes) ** 0.5 for dot in dots]
    # By area, and together a third of the picture; a single one shall not fill it.
    scale = min(_LARGEST / max(sizes), (_COVERED * _WIDTH * _HEIGHT / sum(pi * size**2 for size in sizes)) ** 0.5)
    sizes = [size * scale for size in sizes]
    places = spread([(dot.x, dot.y) for dot in dots], sizes, (_WIDTH, _HEIGHT))
    marks = (_dot(dot, place, colour) for dot, place in zip(dots, places, strict=True))
    told = (
        f"{len(dots)} circles, each a cluster of scenes; the larger, the more scenes, and the nearer, the more alike."
    )
    return picture(_WIDTH, _HEIGHT, f"Clusters of {root}", told, *marks, class_="picture")


def _dot(dot: ClusterDot, place: Circle, colour: int) -> Markup:
    x, y, radius = place
    share = dot.living / dot.scenes if dot.scenes else 0.0
    lines = lines_of(dot.name, radius * 1.6, max(1, int(radius * 1.1 // _LINE))) if radius > 24 else ()
    top = y - (len(lines) * _LINE) / 2 + 4
    written = [
        text(x, top + place_in * _LINE, line, most=200, text_anchor="middle", dir="auto")
        for place_in, line in enumerate(lines)
    ]
    count = text(x, top + len(lines) * _LINE, str(dot.scenes), most=200, text_anchor="middle", class_="dim")
    name = f"{dot.name}: {dot.scenes} scenes, {dot.living} of them alive"
    ring = "4 4" if dot.is_root else None
    circle = element(
        "circle",
        cx=x,
        cy=y,
        r=radius,
        class_=f"f{colour} s{colour}",
        fill_opacity=round(0.08 + 0.3 * share, 2),
        stroke_dasharray=ring,
    )
    return linked(dot.href, name, circle, *written, count)
