"""What a terminal shows: a small one, written after the standard (ECMA-48) and not after what the program sends.

Knows the cursor, rows that are full, erasing, colours and scrolling. A sequence that it does not know is a failure.
"""

from __future__ import annotations

import re
import unicodedata

_CODE = re.compile(r"\x1b\[([?>]?)([\d;]*)([A-Za-z])")
_MODES = {"2004", "25"}


class Glass:
    """The rows of a screen and what scrolled out above, with a cursor; `modes` are those that are switched on."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.height = columns, rows
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        self.modes: set[str] = set()
        self.painted: list[tuple[str, str]] = []
        self._style = ""
        self._waiting = ""

    @property
    def top(self) -> int:
        """The first row that is still on the screen: the cursor cannot go above it."""
        return max(0, len(self.rows) - self.height)

    @property
    def text(self) -> str:
        """Everything that is to be read, from the first row on."""
        return "\n".join("".join(row).rstrip() for row in self.rows)

    def feed(self, text: str) -> None:
        """Take what a program wrote; a code may come in two pieces."""
        text, self._waiting = self._waiting + text, ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            found = _CODE.match(text, at)
            if found is None:
                assert len(text) - at < 20, f"no code that is known: {text[at : at + 20]!r}"
                self._waiting = text[at:]
                return
            self._obey(*found.groups())
            at = found.end()

    def _put(self, char: str) -> None:
        if char == "\n":
            self._down()
        elif char == "\r":
            self.column = 0
        else:
            assert char >= " ", f"a control character: {char!r}"
            self._draw(char)

    def _draw(self, char: str) -> None:
        takes = 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else 1
        takes += takes and unicodedata.east_asian_width(char) in "WF"
        row = self.rows[self.row]
        if not takes:
            row[self.column - 1] += char
            return
        # A full row stays as it is until something is written behind it.
        if self.column + takes > self.columns:
            self.column = 0
            self._down()
            row = self.rows[self.row]
        row += [" "] * (self.column + takes - len(row))
        row[self.column : self.column + takes] = [char, ""][:takes]
        self.column += takes
        self.painted.append((self._style, char))

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def _obey(self, private: str, numbers: str, letter: str) -> None:
        count = int(numbers or 1) if numbers.isdigit() or not numbers else 0
        if private:
            assert numbers in _MODES, f"an unknown mode: {numbers}"
            (self.modes.add if letter == "h" else self.modes.discard)(numbers)
        elif letter == "m":
            self._style = "" if numbers in ("", "0") else f"{self._style};{numbers}"
        elif letter == "A":
            self.row = max(self.top, self.row - count)
        elif letter == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif letter == "K":
            del self.rows[self.row][self.column :]
        elif letter == "J":
            # From the cursor on, or all that is on the screen.
            if numbers == "2":
                del self.rows[self.top :]
                self.rows += [[] for _ in range(self.row - len(self.rows) + 1)]
            else:
                del self.rows[self.row][self.column :]
                del self.rows[self.row + 1 :]
        elif letter == "H":
            self.row, self.column = self.top, 0
        else:
            raise AssertionError(f"an unknown code: {numbers}{letter}")

    def style_of(self, words: str) -> str:
        """Return the codes in force where words were written last."""
        shown = "".join(char for _, char in self.painted)
        at = shown.rfind(words)
        assert at >= 0, f"{words!r} was never written"
        styles = {style for style, _ in self.painted[at : at + len(words)]}
        assert len(styles) == 1, f"{words!r} is written in {styles}"
        return styles.pop()
