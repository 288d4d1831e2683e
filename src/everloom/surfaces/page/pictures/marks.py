"""The marks that pictures are made of: elements, links, texts that fit. Everything that is written is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup, escape

from everloom.surfaces.page.html import attributes, cut

# The mean width of a letter at the size in which pictures write.
LETTER = 6.4


def mark(name: str, *inside: Markup, **given: Any) -> Markup:
    """Write an element; numbers are rounded, because nobody sees a hundredth of a pixel."""
    known = {
        key: f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value for key, value in given.items()
    }
    return Markup("<{0} {1}>{2}</{0}>").format(Markup(name), attributes(**known), Markup("").join(inside))


def words(text: str, x: float, y: float, *, most: int = 200, **given: Any) -> Markup:
    """Write a text at a place."""
    return mark("text", escape(cut(text, most)), x=x, y=y, **given)


def title(text: str, most: int = 300) -> Markup:
    """Write what a mark is called, for who points at it and for who listens."""
    return mark("title", escape(cut(text, most)))


def link(href: str, name: str, *inside: Markup) -> Markup:
    """Write a link around marks."""
    return mark("a", title(name), *inside, href=href, aria_label=cut(name, 300))


def picture(
    size: tuple[int, int], name: str, told: str, marks: Iterable[Markup], *, more: str = "", has_links: bool = False
) -> Markup:
    """Write a whole picture, with its name and its description."""
    width, height = size
    return mark(
        "svg",
        mark("title", escape(name)),
        mark("desc", escape(told)),
        *marks,
        class_=f"picture {more}".strip(),
        # Of an image, nobody who listens hears what is inside: one with links is a group.
        role="group" if has_links else "img",
        aria_label=name,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
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
