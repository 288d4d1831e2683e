"""Reads the elements of one large JSON list, one after the other, without holding more than one of them in memory.

Refuses to know what the elements mean.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from everloom.errors import Rejected

_PIECE = 256 * 1024
# Far more than any conversation; beyond it the file is damaged, or no list of conversations.
LARGEST_ELEMENT = 64 * 1024 * 1024
_SPACE = " \t\r\n"
_ENDS = tuple(f",]{_SPACE}")
_CUT_HINT = "download it again, then import it again: nothing is taken in twice"


class Element(NamedTuple):
    """One element of a list, and the position in bytes after it."""

    value: Any
    end: int


def json_elements(file: BinaryIO, start: int = 0) -> Iterator[Element]:
    """Read the elements of a list from its beginning, or after an earlier one; any other value is its own element."""
    window = _Window(file, start)
    number = 0
    if start == 0:
        window.skip("\ufeff" + _SPACE)
        if window.peek() != "[":
            yield from _single(window)
            return
        window.at += 1
    while True:
        window.skip("," + _SPACE)
        if window.peek() in ("]", ""):
            if not window.peek():
                raise Rejected(f"the file is cut off after {number} elements", hint=_CUT_HINT)
            return
        number += 1
        yield Element(window.decode(number), window.position)


def _single(window: _Window) -> Iterator[Element]:
    if window.peek():
        yield Element(window.decode(1), window.position)


class _Window:
    """The part of a file that is held in memory: decoded text, and the position in bytes that it begins at."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file = file
        # A byte that is no UTF-8 becomes a mark that no text may hold: whoever reads that element leaves it out.
        self._decode = getincrementaldecoder("utf-8")("surrogateescape").decode
        self._text, self.at, self._is_over = "", 0, False
        # Up to which character the bytes are counted: an element must not cost what is held around it.
        self._counted, self._bytes = 0, start
        _forward(file, start)

    @property
    def position(self) -> int:
        """The position in bytes of the next character."""
        self._bytes += len(self._text[self._counted : self.at].encode("utf-8", "surrogateescape"))
        self._counted = self.at
        return self._bytes

    def peek(self) -> str:
        """Return the next character; empty at the end."""
        # A piece may end in the middle of a character, and then hold none.
        while self.at >= len(self._text) and self._more(_PIECE):
            pass
        return self._text[self.at : self.at + 1]

    def skip(self, characters: str) -> None:
        """Pass over characters."""
        while (here := self.peek()) and here in characters:
            self.at += 1

    def decode(self, number: int) -> Any:
        """Read the value that begins here, and pass over it."""
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self.at)
            except RecursionError as error:
                raise Rejected(f"element {number} is nested too deeply", hint="is this really an export?") from error
            except ValueError as error:
                # It may only be incomplete. What cannot be completed within the bound, or by the end, is damaged.
                if len(self._text) - self.at > LARGEST_ELEMENT:
                    size = LARGEST_ELEMENT // (1024 * 1024)
                    raise Rejected(f"element {number} is damaged, or has more than {size} MB") from error
                if not self._more(max(_PIECE, len(self._text) - self.at)):
                    raise Rejected(f"the file is cut off or damaged in element {number}", hint=_CUT_HINT) from error
            else:
                # What has no sign of its end, such as a number, may go on in what was not read yet.
                if isinstance(value, dict | list | str) or self._text[end : end + 1] in _ENDS or not self._more(_PIECE):
                    self.at = end
                    return value

    def _more(self, size: int) -> bool:
        """Read on; return whether there was more."""
        if self._is_over:
            return False
        # What was read is let go, once its bytes are counted.
        if self.at and self.position:
            self._text, self.at, self._counted = self._text[self.at :], 0, 0
        piece = self._file.read(size)
        self._is_over = not piece
        self._text += self._decode(piece, not piece)
        return bool(piece)


def _forward(file: BinaryIO, start: int) -> None:
    """Go to a position, also in a member of an archive, which can only be read through."""
    if not start:
        return
    if file.seekable():
        file.seek(start)
        return
    left = start
    while left and (piece := file.read(min(left, _PIECE))):
        left -= len(piece)
