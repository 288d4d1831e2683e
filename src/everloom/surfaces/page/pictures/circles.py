"""Circles whose areas are numbers: how far apart two must be to share an area, where three find room, what is shared.

Pure geometry. Refuses to know what the numbers count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import acos, atan2, cos, hypot, pi, sin, sqrt

# Halving an interval so often leaves nothing that a float could tell.
_HALVINGS = 60
# Rounds in which circles give way to each other; three settle within a few dozen.
_ROUNDS = 400
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle by its middle and its radius."""

    x: float
    y: float
    radius: float

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point is inside."""
        return hypot(x - self.x, y - self.y) <= self.radius

    def distance(self, other: Circle) -> float:
        """Return how far two middles are apart."""
        return hypot(other.x - self.x, other.y - self.y)


@dataclass(frozen=True, slots=True)
class Arc:
    """A part of a circle's edge, from one angle on to a larger one."""

    circle: Circle
    begin: float
    end: float

    def point(self, angle: float) -> tuple[float, float]:
        """Return the point of the edge at an angle."""
        return self.circle.x + self.circle.radius * cos(angle), self.circle.y + self.circle.radius * sin(angle)


def radius_of(area: float) -> float:
    """Return the radius of a circle with an area."""
    return sqrt(max(area, 0.0) / pi)


def lens(one: float, other: float, distance: float) -> float:
    """Return the area that two circles share, by their radii and how far their middles are apart."""
    if distance >= one + other:
        return 0.0
    if distance <= abs(one - other):
        return pi * min(one, other) ** 2
    first = acos(_bounded((distance**2 + one**2 - other**2) / (2 * distance * one)))
    second = acos(_bounded((distance**2 + other**2 - one**2) / (2 * distance * other)))
    return one**2 * (first - sin(2 * first) / 2) + other**2 * (second - sin(2 * second) / 2)


def apart(one: float, other: float, area: float) -> float:
    """Return how far apart two circles must be to share an area; as much as one of them is, or none, at the bounds."""
    near, far = abs(one - other), one + other
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if lens(one, other, middle) > area else (near, middle)
    return (near + far) / 2


def placed(sizes: Sequence[float], shared: Mapping[tuple[int, int], float]) -> tuple[Circle, ...]:
    """Place circles of these areas so that pairs share these areas; two exactly, three as well as they can."""
    radii = [radius_of(each) for each in sizes]
    places = [(0.0, 0.0)]
    wanted = {pair: apart(radii[pair[0]], radii[pair[1]], shared[pair]) for pair in combinations(range(len(radii)), 2)}
    if len(radii) > 1:
        places.append((wanted[0, 1], 0.0))
    if len(radii) > 2:
        places.append(_third(wanted[0, 1], wanted[0, 2], wanted[1, 2]))
    circles = [Circle(x, y, radius) for (x, y), radius in zip(places, radii, strict=True)]
    return _settled(circles, shared, wanted) if len(circles) > 2 else tuple(circles)


def _third(base: float, left: float, right: float) -> tuple[float, float]:
    """Find the third corner of a triangle by its sides, or the nearest to it where there is no such triangle."""
    if base < _TINY:
        return 0.0, max(left, right)
    x = (left**2 - right**2 + base**2) / (2 * base)
    x = max(-left, min(left, x))
    # A little off the line, so that circles that have to give way know where to.
    return x, max(sqrt(max(left**2 - x**2, 0.0)), base / 100)


def _settled(
    circles: list[Circle], shared: Mapping[tuple[int, int], float], wanted: Mapping[tuple[int, int], float]
) -> tuple[Circle, ...]:
    """Let circles give way until every pair is as far apart as it should be, or as near to that as all allow."""
    for _ in range(_ROUNDS):
        worst = 0.0
        for (one, other), ideal in wanted.items():
            a, b = circles[one], circles[other]
            now = a.distance(b)
            # Circles that share nothing may be farther apart, and one inside the other may be anywhere in it.
            if shared[one, other] <= 0 and now >= ideal:
                continue
            if shared[one, other] >= pi * min(a.radius, b.radius) ** 2 - _TINY and now <= ideal:
                continue
            step = (now - ideal) / 2
            worst = max(worst, abs(step))
            along = ((b.x - a.x) / now, (b.y - a.y) / now) if now > _TINY else (1.0, 0.0)
            circles[one] = replace(a, x=a.x + along[0] * step, y=a.y + along[1] * step)
            circles[other] = replace(b, x=b.x - along[0] * step, y=b.y - along[1] * step)
        if worst < _TINY:
            break
    return tuple(circles)


def edge_of(circles: Sequence[Circle]) -> tuple[Arc, ...]:
    """Return the edge of what all circles share, in order; nothing if they share no area."""
    arcs = [arc for number in range(len(circles)) for arc in _inside(number, circles)]
    if len(arcs) < 2:
        return tuple(arcs)
    middles = [arc.point((arc.begin + arc.end) / 2) for arc in arcs]
    x, y = sum(each[0] for each in middles) / len(middles), sum(each[1] for each in middles) / len(middles)
    # What circles share has no dents: seen from inside, its arcs follow each other by their angle.
    around = sorted(zip(middles, arcs, strict=True), key=lambda pair: atan2(pair[0][1] - y, pair[0][0] - x))
    return tuple(arc for _, arc in around)


def _inside(number: int, circles: Sequence[Circle]) -> list[Arc]:
    """Return the parts of one circle's edge that all others hold."""
    own = circles[number]
    if own.radius < _TINY:
        return []
    spans = [(0.0, 2 * pi)]
    for place, other in enumerate(circles):
        if place == number:
            continue
        held = _held(own, other, is_first=number < place)
        spans = [(max(a, c), min(b, d)) for a, b in spans for c, d in held if min(b, d) - max(a, c) > _TINY]
    arcs = [Arc(own, begin, end) for begin, end in spans]
    # A part that goes over the angle 0 was cut there.
    if len(arcs) > 1 and arcs[0].begin < _TINY and arcs[-1].end > 2 * pi - _TINY:
        last = arcs.pop()
        arcs[0] = Arc(own, last.begin - 2 * pi, arcs[0].end)
    return arcs


def _held(own: Circle, other: Circle, *, is_first: bool) -> list[tuple[float, float]]:
    """Return the angles of a circle's edge that another circle holds, between 0 and a full turn."""
    distance = own.distance(other)
    if distance >= own.radius + other.radius:
        return []
    if distance <= abs(own.radius - other.radius):
        same = distance < _TINY and abs(own.radius - other.radius) < _TINY
        # Of two equal circles, the edge of the first stands for both.
        return [(0.0, 2 * pi)] if (is_first if same else own.radius < other.radius) else []
    toward = atan2(other.y - own.y, other.x - own.x)
    half = acos(_bounded((distance**2 + own.radius**2 - other.radius**2) / (2 * distance * own.radius)))
    begin, end = (toward - half) % (2 * pi), (toward + half) % (2 * pi)
    return [(begin, end)] if begin <= end else [(0.0, end), (begin, 2 * pi)]


def area_within(edge: Sequence[Arc]) -> float:
    """Return the area that an edge encloses."""
    return sum(
        (
            arc.circle.radius**2 * (arc.end - arc.begin)
            + arc.circle.radius * arc.circle.x * (sin(arc.end) - sin(arc.begin))
            - arc.circle.radius * arc.circle.y * (cos(arc.end) - cos(arc.begin))
        )
        / 2
        for arc in edge
    )


def _bounded(value: float) -> float:
    return max(-1.0, min(1.0, value))
