"""The text that is being typed: its letters, its cursor, and how both stand on rows of a terminal. Pure.

Moves over a letter with its marks as one. Refuses to know keys and terminals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from everloom.surfaces.cli.runtime.output import columns_of, printable

_JOINER = "\u200d"
_TAB = " " * 4
_WORD_BEFORE = re.compile(r"\w*\W*$")
_NEXT_WORD = re.compile(r"\W*\w*")
_BREAKS = re.compile(r"\r\n?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class TypedRow:
    """A row of what is typed: the prompt before it and its text."""

    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class TypedRows:
    """All rows, and where the cursor stands in them."""

    rows: tuple[TypedRow, ...]
    row: int
    column: int


class EditedText:
    """A text of one or more lines, and the place where the next letter goes."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self._cut = ""

    def become(self, text: str) -> None:
        """Replace everything, with the cursor at the end."""
        self.text, self.at = text, len(text)

    def insert(self, text: str) -> None:
        """Insert a text as it was pasted, without what would command a terminal."""
        clean = _CONTROLS.sub("", _BREAKS.sub("\n", text))
        self.text = self.text[: self.at] + clean + self.text[self.at :]
        self.at += len(clean)

    def left(self) -> None:
        """Move over the letter before the cursor."""
        self.at = self._before(self.at)

    def right(self) -> None:
        """Move over the letter after the cursor."""
        self.at = self._after(self.at)

    def word_before(self) -> None:
        """Move to the beginning of a word."""
        self.at = self._word_start()

    def next_word(self) -> None:
        """Move to the end of a word."""
        self.at = self._word_end()

    def home(self) -> None:
        """Move to the beginning of the line."""
        self.at = self._line_start()

    def end(self) -> None:
        """Move to the end of the line."""
        self.at = self._line_end()

    def up(self) -> bool:
        """Move to the line above; False if there is none."""
        start = self._line_start()
        if not start:
            return False
        offset, self.at = self.at - start, start - 1
        self.at = min(self._line_start() + offset, start - 1)
        return True

    def down(self) -> bool:
        """Move to the line below; False if there is none."""
        offset, end = self.at - self._line_start(), self._line_end()
        if end == len(self.text):
            return False
        self.at = end + 1
        self.at = min(end + 1 + offset, self._line_end())
        return True

    def backspace(self) -> None:
        """Take out the letter before the cursor."""
        self._remove(self._before(self.at), self.at)

    def delete(self) -> None:
        """Take out the letter after the cursor."""
        self._remove(self.at, self._after(self.at))

    def cut_word(self) -> None:
        """Cut the word before the cursor."""
        self._cut_out(self._word_start(), self.at)

    def cut_next_word(self) -> None:
        """Cut the word after the cursor."""
        self._cut_out(self.at, self._word_end())

    def cut_to_beginning(self) -> None:
        """Cut the line before the cursor."""
        self._cut_out(self._line_start(), self.at)

    def cut_to_end(self) -> None:
        """Cut the line after the cursor, or the break at its end."""
        end = self._line_end()
        self._cut_out(self.at, end if end > self.at else min(end + 1, len(self.text)))

    def put_back(self) -> None:
        """Insert what was cut last."""
        self.insert(self._cut)

    def _cut_out(self, start: int, end: int) -> None:
        self._cut = self.text[start:end] or self._cut
        self._remove(start, end)

    def _remove(self, start: int, end: int) -> None:
        self.text, self.at = self.text[:start] + self.text[end:], start

    def _before(self, at: int) -> int:
        at -= 1
        while at > 0 and self._belongs(at):
            at -= 1
        return max(at, 0)

    def _after(self, at: int) -> int:
        at += 1
        while at < len(self.text) and self._belongs(at):
            at += 1
        return min(at, len(self.text))

    def _belongs(self, at: int) -> bool:
        """Say whether the character belongs to the letter before it."""
        char = self.text[at]
        return (columns_of(char) == 0 and char not in "\n\t") or self.text[at - 1] == _JOINER

    def _word_start(self) -> int:
        found = _WORD_BEFORE.search(self.text[: self.at])
        return found.start() if found else 0

    def _word_end(self) -> int:
        found = _NEXT_WORD.match(self.text, self.at)
        return found.end() if found else len(self.text)

    def _line_start(self) -> int:
        return self.text.rfind("\n", 0, self.at) + 1

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def laid_out(self, prompt: str, more: str, columns: int) -> TypedRows:
        """Put the text on rows, the first behind `prompt` and every further line behind `more`."""
        rows: list[TypedRow] = []
        before, row_text, used = prompt, "", len(prompt)
        cursor = 0, used
        for at, char in enumerate(self.text):
            shown = _TAB if char == "\t" else char if " " <= char <= "~" else printable(char)
            takes = len(_TAB) if char == "\t" else 1 if " " <= char <= "~" else columns_of(shown)
            if char == "\n":
                if at == self.at:
                    cursor = len(rows), used
                rows.append(TypedRow(before, row_text))
                before, row_text, used = more, "", len(more)
                continue
            if used + takes > columns:
                rows.append(TypedRow(before, row_text))
                before, row_text, used = "", "", 0
            if at == self.at:
                cursor = len(rows), used
            row_text, used = row_text + shown, used + takes
        if self.at == len(self.text):
            cursor = len(rows), used
        rows.append(TypedRow(before, row_text))
        if cursor[1] >= columns:
            # The cursor stands behind a full row.
            cursor = cursor[0] + 1, 0
            if cursor[0] == len(rows):
                rows.append(TypedRow("", ""))
        return TypedRows(tuple(rows), *cursor)
