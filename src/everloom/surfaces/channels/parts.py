"""Cutting a long reply into messages that a channel takes. Pure.

Telegram counts UTF-16 units. A cut falls between paragraphs if it can, else between lines, else between words, and
never inside a character.
"""

from __future__ import annotations

from collections.abc import Iterator

MOST_UNITS = 4_096
BORDERS = ("\n\n", "\n", " ")
# A border nearer to the beginning would make a part that is hardly worth a message.
LEAST_SHARE = 0.25
ASTRAL = 0x10000


def units(text: str) -> int:
    """Count a text as Telegram does."""
    return len(text) + sum(1 for char in text if ord(char) >= ASTRAL)


def parts(text: str, most: int = MOST_UNITS) -> Iterator[str]:
    """Cut a text into parts of at most `most` units; blank ones are left out."""
    rest = text.strip()
    while rest:
        end = cut(rest, most)
        if part := rest[:end].rstrip():
            yield part
        rest = rest[end:].lstrip()


def cut(text: str, most: int) -> int:
    """Find where the first part of a text ends."""
    reach = fitting(text, most)
    if reach == len(text):
        return reach
    for border in BORDERS:
        # A border may begin right behind the last character that fits.
        found = text.rfind(border, 0, reach + len(border))
        if found >= reach * LEAST_SHARE:
            return found
    return reach


def fitting(text: str, most: int) -> int:
    """Count the characters that fit, one at the least."""
    taken = 0
    for place, char in enumerate(text[: most + 1]):
        taken += 2 if ord(char) >= ASTRAL else 1
        if taken > most:
            return max(place, 1)
    return len(text)
