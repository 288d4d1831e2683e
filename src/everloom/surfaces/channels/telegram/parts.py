"""How a long reply is cut into messages that Telegram takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

# Telegram's limit for one message, counted in UTF-16 code units.
MOST_UNITS = 4_096
_BORDERS = ("\n\n", "\n", " ")
# A border nearer to the beginning would make a part too short to be worth a message.
_LEAST_SHARE = 0.25
# From here on a character takes two UTF-16 code units.
_ASTRAL = 0x10000


def split_reply(text: str, most: int = MOST_UNITS) -> Iterator[str]:
    """Split a text into parts of at most `most` UTF-16 code units, without blank ones.

    It is split between paragraphs if possible, else between lines, else between words, and never inside a character.
    """
    for begin, end in places_of(text, most):
        yield text[begin:end]


def places_of(text: str, most: int = MOST_UNITS) -> Iterator[tuple[int, int]]:
    """Find where the parts of a text begin and end."""
    at, last = _skip(text, 0), len(text.rstrip())
    while at < last:
        end = at + _cut(text[at : min(last, at + 2 * most)], most)
        if part := text[at:end].rstrip():
            yield at, at + len(part)
        at = _skip(text, end)


def _skip(text: str, at: int) -> int:
    """Go on to the next character that is not a space."""
    return len(text) - len(text[at:].lstrip())


def _cut(text: str, most: int) -> int:
    """Find where the first part of a text ends."""
    reach = _fitting(text, most)
    if reach == len(text):
        return reach
    for border in _BORDERS:
        # A border may begin right after the last character that fits.
        found = text.rfind(border, 0, reach + len(border))
        if found >= reach * _LEAST_SHARE:
            return found
    return reach


def _fitting(text: str, most: int) -> int:
    """Count the characters that fit, but at least one."""
    taken = 0
    for place, char in enumerate(text[: most + 1]):
        taken += 2 if ord(char) >= _ASTRAL else 1
        if taken > most:
            return max(place, 1)
    return len(text)
