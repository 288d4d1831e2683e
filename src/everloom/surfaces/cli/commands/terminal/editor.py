"""The prompt: a message is typed, edited and pasted, key by key or line by line, and given back whole.

Knows which key does what, and draws the line under the display's lock, so that a message can be shown above it. Refuses
to know what a message means.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from everloom.surfaces.channels.terminal import is_open_block, message_in, read_message
from everloom.surfaces.cli.commands.terminal.keyboard import RESIZED, RESUMED, Keyboard
from everloom.surfaces.cli.commands.terminal.line import EditedText, TypedRows
from everloom.surfaces.cli.runtime.output import printable, width

if TYPE_CHECKING:
    from everloom.surfaces.cli.commands.terminal.display import Display
    from everloom.surfaces.cli.commands.terminal.keys import KeyPress
    from everloom.surfaces.cli.commands.terminal.typed import TypedLines

_MORE = "\\"
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before the first line of a message, and before the others."""

    first: str
    more: str


class LineEditor:
    """A line that is edited key by key."""

    def __init__(
        self,
        display: Display,
        keyboard: Keyboard,
        typed: TypedLines,
        is_command: Callable[[str], bool],
        prompts: Prompts,
    ) -> None:
        self._display = display
        self._keyboard = keyboard
        self._typed = typed
        self._is_command = is_command
        self._prompts = prompts
        self._text = EditedText()
        # How it stands on the screen: the rows above the cursor are what has to be drawn over.
        self._drawn: TypedRows | None = None
        self._acts: dict[str, Callable[[], object]] = {
            name.replace("_", " "): getattr(self._text, name)
            for name in (
                *("left", "right", "word_before", "next_word", "home", "end", "backspace", "delete"),
                *("cut_word", "cut_next_word", "cut_to_beginning", "cut_to_end", "put_back"),
            )
        }
        self._acts |= {"up": self._up, "down": self._down, "clear": self._clear, RESIZED: self._redraw}
        self._acts |= {"new line": lambda: self._text.insert("\n"), RESUMED: self._resume}
        self._acts["tab"] = lambda: self._text.insert("\t")

    def read(self) -> str | None:
        """Read one message; None when somebody leaves."""
        display = self._display
        self._text.become("")
        with display.lock:
            display.typing = self
            display.write(self.put_back())
        try:
            return self._edited()
        except KeyboardInterrupt:
            self._finish()
            raise
        finally:
            display.typing = None

    def _edited(self) -> str | None:
        while (key := self._keyboard.next()) is not None:
            if key.name == "end of input":
                if not self._text.text:
                    break
                self._text.delete()
            elif key.name == "enter":
                if (said := self._entered()) is not None:
                    return said
            elif key.name == "search":
                self._search()
            else:
                self._obey(key)
            # Of many keys that came at once, only the last needs to be seen.
            if not self._keyboard.has_more:
                self._redraw()
        self._finish()
        return None

    def _obey(self, key: KeyPress) -> None:
        if key.name in ("text", "paste"):
            self._text.insert(key.text)
        elif act := self._acts.get(key.name):
            act()

    def _entered(self) -> str | None:
        """End the message, unless this Enter belongs to it: in a paste, after a backslash, or within a block."""
        text = self._text
        # A line that ends the text and came alone is sent; those that come at once are one message.
        if not self._is_command(text.text) and self._keyboard.goes_on():
            text.insert("\n")
            return None
        if text.text.endswith(_MORE) and text.at == len(text.text):
            text.backspace()
            text.insert("\n")
            return None
        if is_open_block(text.text):
            text.at = len(text.text)
            text.insert("\n")
            return None
        self._finish()
        self._typed.add(text.text)
        return message_in(text.text)

    def _finish(self) -> None:
        """Leave what was typed on the screen, with the cursor below it."""
        with self._display.lock:
            self._text.at = len(self._text.text)
            self._redraw()
            self._drawn = None
            self._display.typing = None
            self._display.write("\n")

    def _up(self) -> None:
        if not self._text.up() and (found := self._typed.earlier(self._text.text)) is not None:
            self._text.become(found)

    def _down(self) -> None:
        if not self._text.down() and (found := self._typed.later()) is not None:
            self._text.become(found)

    def _clear(self) -> None:
        with self._display.lock:
            self._drawn = None
            self._display.write("\x1b[H\x1b[2J" + self.put_back())

    def _resume(self) -> None:
        """Take the terminal back after a pause: the shell has used it, and the cursor stands on a line of its own."""
        self._keyboard.begin()
        self._drawn = None

    def _search(self) -> None:
        """Look for something typed before, newest first; Ctrl-R goes on, any other key takes what is there."""
        before, words, skipped = self._text.text, "", 0
        usual, self._prompts = self._prompts, Prompts("search: ", "")
        try:
            while True:
                self._prompts = Prompts(f"search {printable(words)!r}: ", "")
                self._redraw()
                key = self._keyboard.next()
                if key is None or key.name not in ("text", "backspace", "search"):
                    if key is not None and key.name != "enter":
                        self._keyboard.give_back(key)
                    break
                if key.name == "search":
                    skipped += 1
                else:
                    words, skipped = (words[:-1] if key.name == "backspace" else words + key.text), 0
                if words and (found := self._typed.holding(words, skipped)) is not None:
                    self._text.become(found)
                elif not words:
                    self._text.become(before)
        finally:
            self._prompts = usual

    def lift(self) -> str:
        """Return what takes the line from the screen."""
        codes = self._to_beginning() + "\x1b[J"
        self._drawn = None
        return codes

    def put_back(self) -> str:
        """Return what writes the line, and puts the cursor where it belongs."""
        look, prompts = self._display.look, self._prompts
        whole = self._text.laid_out(prompts.first, prompts.more, look.columns)
        shown = _in_view(whole, look.rows - 1)
        self._drawn = shown
        lines = [f"{look.paint(each.prompt, 'name')}{each.text}" for each in shown.rows]
        up = len(shown.rows) - 1 - shown.row
        return (
            "\r\n".join(lines)
            + (f"\x1b[{up}A" if up else "")
            + "\r"
            + (f"\x1b[{shown.column}C" if shown.column else "")
        )

    def _redraw(self) -> None:
        with self._display.lock:
            self._display.write(self._to_beginning() + "\x1b[J" + self.put_back())

    def _to_beginning(self) -> str:
        """Return what moves the cursor to where the line begins; a narrower window has broken its rows."""
        if self._drawn is None:
            return "\r"
        columns, up = self._display.look.columns, self._drawn.row
        if self._display.look.reflows:
            above = self._drawn.rows[: self._drawn.row]
            up = sum(max(1, -(-(len(each.prompt) + width(each.text)) // columns)) for each in above)
            up += self._drawn.column // columns if self._drawn.column > columns else 0
        return "\r" + (f"\x1b[{up}A" if up else "")


def _in_view(whole: TypedRows, most: int) -> TypedRows:
    """Return the rows around the cursor, as many as a screen has: what scrolled out cannot be drawn over."""
    if len(whole.rows) <= most:
        return whole
    first = max(0, min(whole.row - most // 2, len(whole.rows) - most))
    return TypedRows(whole.rows[first : first + most], whole.row - first, whole.column)


class LineReader:
    """A plain terminal, whose own line discipline edits; what is shown are letters and line breaks only."""

    def __init__(
        self, display: Display, typed: TypedLines, is_command: Callable[[str], bool], prompts: Prompts
    ) -> None:
        self._display = display
        self._typed = typed
        self._is_command = is_command
        self._prompts = prompts

    def read(self) -> str | None:
        """Read one message; None when somebody leaves."""
        self._display.typing = self
        try:
            text = read_message(self._read_line, self._prompts.first, self._prompts.more)
        finally:
            self._display.typing = None
        if text is not None:
            self._typed.add(text)
        return text

    def _read_line(self, prompt: str) -> str:
        """Read a line, and those that come with it."""
        self._display.write(prompt)
        lines = [_line_of_input()]
        while not self._is_command(lines[0]) and _more_waits():
            lines.append(_line_of_input())
        return "\n".join(lines)

    def lift(self) -> str:
        """Return what begins a new line: what was typed stays with the terminal."""
        return "\n"

    def put_back(self) -> str:
        """Return the prompt again."""
        return self._prompts.first


def _line_of_input() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removesuffix("\n")


def _more_waits() -> bool:
    """Say whether another whole line is there already."""
    # Without POSIX, standard input cannot be asked; and only a terminal gives its lines one by one.
    if find_spec("termios") is None or not os.isatty(sys.stdin.fileno()):
        return False
    return bool(select.select([sys.stdin], [], [], _PAUSE_SECONDS)[0])
