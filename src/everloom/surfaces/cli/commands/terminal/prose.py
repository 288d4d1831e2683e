"""A text on its way to a terminal: broken between words as it arrives, and its Markdown marked. Pure.

Nothing that was said is left out: the signs of Markdown stay, so that a line can be copied as it was meant. Refuses to
know terminals; the caller has taken out what commands one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

from everloom.surfaces.cli.runtime.output import columns_of, width

ProseStyle = Literal["heading", "strong", "code", "quiet"]
Painting = Callable[[str, ProseStyle], str]

_JOINER = "\u200d"
_TAB = " " * 4
_INLINE = re.compile(r"(`+|\*\*)")
_BULLET = re.compile(r"[-*+•]|\d{1,3}[.)]")
_HEADING = re.compile(r"#{1,6}")
_FENCES = ("```", "~~~")
# What must not begin a line in Chinese and Japanese, and what must not end one.
_CLOSING, _OPENING = ("Pe", "Pf", "Po"), ("Ps", "Pi")


def unpainted(text: str, _: ProseStyle) -> str:
    """Leave a text as it is."""
    return text


class Prose:
    """One text that is written piece by piece; `columns` is asked for every word, as a window may change its size."""

    def __init__(self, columns: Callable[[], int], paint: Painting = unpainted) -> None:
        self._columns = columns
        self._paint = paint
        self._word = ""
        self._gap = ""
        self.column = 0
        self._is_fenced = False
        self._begin_line()

    def _begin_line(self) -> None:
        self._is_first = True
        self._hang = 0
        self._is_heading = self._is_marker = False
        self._is_strong = self._is_code = False

    def feed(self, text: str) -> str:
        """Take the next piece; returns what can be written already. The last word waits until it is whole."""
        out: list[str] = []
        for char in text:
            if char == "\n":
                out.append(f"{self._flush()}{self._trailing()}\n")
                self._gap, self.column = "", 0
                self._begin_line()
            elif char in " \t":
                out.append(self._flush())
                self._gap += _TAB if char == "\t" else " "
            else:
                if self._may_break_before(char):
                    out.append(self._flush())
                self._word += char
        return "".join(out)

    def _trailing(self) -> str:
        # Spaces at the end that do not fit would make an empty line.
        return self._gap if self.column + len(self._gap) <= self._columns() else ""

    def end(self) -> str:
        """Return what still waits."""
        return self._flush()

    def _may_break_before(self, char: str) -> bool:
        """Say whether a line may be broken between the word so far and a character: around wide ones it may."""
        last = self._word[-1:]
        if not last or last == _JOINER or columns_of(char) == 0:
            return False
        base = next((each for each in reversed(self._word) if columns_of(each)), last)
        if columns_of(char) < 2 and columns_of(base) < 2:
            return False
        return unicodedata.category(char) not in _CLOSING and unicodedata.category(base) not in _OPENING

    def _flush(self) -> str:
        word, gap = self._word, self._gap
        if not word:
            return ""
        self._word = self._gap = ""
        if self._is_first:
            self._begin(word, len(gap))
        room, takes = self._columns(), width(word)
        before = gap
        if self.column and not self._is_raw and self.column + len(gap) + takes > room:
            before, self.column = "\n" + " " * self._hang, self._hang
        else:
            self.column += len(gap)
        # What is longer than a line is broken by the terminal: an address stays one that can be copied.
        self.column = (self.column + takes - 1) % room + 1
        return before + self._styled(word)

    @property
    def _is_raw(self) -> bool:
        return self._is_fenced or self._is_marker

    def _begin(self, word: str, indent: int) -> None:
        """Look at the first word of a line, which says what the line is."""
        self._is_first = False
        if word.startswith(_FENCES):
            self._is_fenced, self._is_marker = not self._is_fenced, True
            return
        self._is_heading = _HEADING.fullmatch(word) is not None and not self._is_fenced
        bullet = width(word) + 1 if _BULLET.fullmatch(word) else 0
        self._hang = min(indent + bullet, self._columns() // 2)

    def _styled(self, word: str) -> str:
        if self._is_marker:
            return self._paint(word, "quiet")
        if self._is_fenced:
            return self._paint(word, "code")
        if "`" not in word and "*" not in word:
            return self._in_style(word)
        out, parts = [], _INLINE.split(word)
        for at, part in enumerate(parts):
            out.append(self._mark(part, parts[at - 1], parts[at + 1]) if at % 2 else self._in_style(part))
        return "".join(out)

    def _mark(self, sign: str, before: str, after: str) -> str:
        """Begin or end what a sign of Markdown marks; one that does neither is a text like any other."""
        if sign.startswith("`"):
            self._is_code = not self._is_code
        elif self._is_code or not (before if self._is_strong else after):
            return self._in_style(sign)
        else:
            self._is_strong = not self._is_strong
        return self._paint(sign, "quiet")

    def _in_style(self, text: str) -> str:
        if self._is_code:
            return self._paint(text, "code")
        if self._is_heading:
            return self._paint(text, "heading")
        return self._paint(text, "strong") if self._is_strong else text
