"""The few elements that pictures are made of, with every text escaped and cleaned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from everloom.surfaces.page.html import attributes, cut

# The mean width of a letter at the size in which pictures write.
LETTER = 6.4


def element(name: str, *children: Markup | str, **given: Any) -> Markup:
    """Write an element; a float is rounded to a tenth, which no eye can tell."""
    rounded = {key: _short(value) if isinstance(value, float) else value for key, value in given.items()}
    told = attributes(**rounded)
    head = f"{name} {told}" if told else name
    inside = "".join(escape(each) for each in children)
    # Names of elements are ours; attributes and children were escaped in the lines above.
    return Markup(f"<{head}>{inside}</{name}>" if inside else f"<{head}/>")


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, words: object, most: int = 30, **given: Any) -> Markup:
    """Write a stored or counted text at a place, cut where it becomes long; it keeps its direction to itself."""
    return element("text", cut(words, most), x=x, y=y, unicode_bidi="isolate", **given)


def title(text: str, most: int = 300) -> Markup:
    """Write what a mark is called, for who points at it and for who listens."""
    return element("title", cut(text, most))


def linked(address: str | None, says: str, *children: Markup, **given: Any) -> Markup:
    """Make what is drawn lead somewhere, under a name that is its tooltip, too; without an address it only says."""
    told = element("title", cut(says, 200))
    if address is None:
        return element("g", told, *children)
    return element("a", told, *children, href=address, **given)


def picture(width: int, height: int, title: str, tells: str, *children: Markup, **given: Any) -> Markup:
    """Frame a picture: its title and what it tells are there for those who do not see it."""
    # A group and not an image: what is inside an image cannot be reached by those who hear a page.
    return element(
        "svg",
        element("title", cut(title, 200)),
        element("desc", cut(tells, 500)),
        *children,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="group",
        aria_label=cut(f"{title}. {tells}", 600),
        **given,
    )


def lines_of(text: str, width: float, most: int) -> Sequence[str]:
    """Break a text into lines that fit a width; the last one is cut."""
    room = max(3, int(width / LETTER))
    lines: list[str] = []
    for word in cut(text, 200).split():
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        elif len(lines) < most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1][: room - 1]}…"
            break
    return [line if len(line) <= room else f"{line[: room - 1]}…" for line in lines]
