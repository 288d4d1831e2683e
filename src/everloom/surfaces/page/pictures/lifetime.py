"""The life of one scene: how its strength falls with every patrol, where it stands, where it dies and fades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from everloom.surfaces.page.pictures.svg import element, picture, text

_SIZE = (620, 260)
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 20, 24, 44


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The numbers of a scene's life; an age is the patrols that it lived through, less the times it was recalled."""

    importance: float
    age: int
    dies_at: int
    fades_at: int
    bound: float
    strength_at: Callable[[float], float]
    is_ageing: bool = True


def draw_lifetime(life: Lifetime) -> Markup:
    """Draw the curve of a scene's strength."""
    width, height = _SIZE
    begin, end = min(0, life.age), max(life.age, life.fades_at, 10) + 4
    highest = max(life.strength_at(begin), life.importance, 0.1)

    def x(age: float) -> float:
        return _LEFT + (age - begin) / (end - begin) * (width - _LEFT - _RIGHT)

    def y(strength: float) -> float:
        return _TOP + (1 - strength / highest) * (height - _TOP - _BOTTOM)

    steps = [begin + (end - begin) * each / 80 for each in range(81)]
    curve = "M" + "L".join(f"{x(age):.1f} {y(life.strength_at(age)):.1f}" for age in steps)
    floor = y(0)
    marks = [
        element("line", x1=_LEFT, x2=width - _RIGHT, y1=floor, y2=floor, class_="axis"),
        element("line", x1=_LEFT, x2=_LEFT, y1=_TOP, y2=floor, class_="axis"),
        element(
            "line", x1=_LEFT, x2=width - _RIGHT, y1=y(life.bound), y2=y(life.bound), class_="s5", stroke_dasharray="5 4"
        ),
        element("path", d=curve, class_="s1 thin"),
        text(_LEFT - 6, _TOP + 5, f"{highest:.2f}", most=200, text_anchor="end", class_="dim"),
        text(_LEFT - 6, floor + 4, "0", most=200, text_anchor="end", class_="dim"),
        text(
            width - _RIGHT, y(life.bound) - 6, f"dying below {life.bound:g}", most=200, text_anchor="end", class_="dim"
        ),
        text(
            (width + _LEFT) / 2,
            height - 8,
            "patrols lived through, less times recalled",
            most=200,
            text_anchor="middle",
            class_="dim",
        ),
    ]
    if life.dies_at > begin:
        marks += _point(x(life.dies_at), floor, f"dying at {life.dies_at}", 5)
    if life.is_ageing:
        spot = life.strength_at(life.age)
        marks.append(element("line", x1=x(life.age), x2=x(life.age), y1=y(spot), y2=floor, class_="axis"))
        marks.append(element("circle", cx=x(life.age), cy=y(spot), r=6, class_="f2"))
        side = "start" if life.age - begin < (end - begin) * 0.6 else "end"
        away = 10 if side == "start" else -10
        marks.append(
            text(x(life.age) + away, y(spot) - 6, f"now {spot:.2f}, at {life.age}", most=200, text_anchor=side)
        )
    told = (
        f"Importance {life.importance:.2f}, {life.age} patrols less recalls, "
        f"strength {life.strength_at(life.age):.2f}; it is dying from {life.dies_at} on and fades by {life.fades_at}."
    )
    return picture(*_SIZE, "Strength by patrols", told, *marks, class_="picture roomy")


def _point(x: float, floor: float, name: str, colour: int) -> list[Markup]:
    return [
        element("circle", cx=x, cy=floor, r=4, class_=f"f{colour}"),
        text(x, floor + 18, name, most=200, text_anchor="middle", class_="dim"),
    ]
