"""The screen of a sitting: replies as they arrive, signs of life, tools as they run, and messages that come meanwhile.

Everything goes through one lock, because the thread beside the prompt prints too. Nothing from a model or a person
reaches the terminal with its control characters. Refuses to know keys and the conversation.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Protocol

from everloom.surfaces.cli.commands.terminal.prose import Prose, ProseStyle
from everloom.surfaces.cli.runtime.colours import Meaning
from everloom.surfaces.cli.runtime.output import printable

if TYPE_CHECKING:
    from everloom.mind.conversation.turn import ToolStep
    from everloom.surfaces.cli.commands.terminal.look import TerminalLook

_WIPE = "\r\x1b[K"
_TICK_SECONDS = 0.15
# A sign for a reply that is there at once would only flicker.
_PATIENCE_SECONDS = 0.3
_MEANINGS: dict[ProseStyle, Meaning] = {"heading": "heading", "strong": "heading", "code": "name", "quiet": "quiet"}
_DRAWN_SIGNS, _PLAIN_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"


class Prompting(Protocol):
    """A line that is being typed, which can make room for a message."""

    def lift(self) -> str:
        """Return what takes the line from the screen."""
        ...

    def put_back(self) -> str:
        """Return what writes the line again."""
        ...


class _LogLines:
    """A stream into which a log writes whole lines."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def write(self, text: str) -> None:
        """Write a line."""
        self._display.aside(text)

    def flush(self) -> None:
        """Do nothing: a line is written at once."""


class Display:
    """What one sitting writes."""

    def __init__(self, look: TerminalLook) -> None:
        self.look = look
        self.lock = RLock()
        self.typing: Prompting | None = None
        self._prose = self._new_prose()
        # Whether a sign of life stands on the last line, which holds nothing else then.
        self._has_sign = False
        self._is_fresh = False
        self._tool: str | None = None
        self._began = 0.0

    def _new_prose(self) -> Prose:
        return Prose(lambda: self.look.columns, lambda text, style: self.look.paint(text, _MEANINGS[style]))

    def write(self, text: str) -> None:
        """Write a text that is known to be harmless, codes included."""
        with self.lock:
            sys.stdout.write(text)
            sys.stdout.flush()

    def say(self, words: str) -> None:
        """Write a piece of a reply as it arrives."""
        with self.lock:
            # After the line of a tool, the blank lines between two parts of a reply are one line too many.
            shown = words.lstrip("\n") if self._is_fresh else words
            if not shown:
                return
            self._is_fresh = False
            if text := self._prose.feed(printable(shown)):
                self._wipe()
                self.write(text)

    def end(self) -> None:
        """End what was said, at the beginning of a new line."""
        with self.lock:
            self._wipe()
            rest = self._prose.end()
            self.write(f"{rest}\n" if self._prose.column else rest)
            self._prose, self._is_fresh = self._new_prose(), False

    def line(self, text: str, meaning: Meaning | None = None) -> None:
        """Write whole lines, wrapped, and in one colour if they have a meaning."""
        with self.lock:
            self.end()
            self.write(f"{self.wrapped(text, meaning)}\n")

    def wrapped(self, text: str, meaning: Meaning | None = None) -> str:
        """Return a text as it would be written; with a meaning its Markdown is not marked."""
        prose = Prose(lambda: self.look.columns) if meaning else self._new_prose()
        whole = prose.feed(printable(text)) + prose.end()
        if meaning is None:
            return whole
        return "\n".join(self.look.paint(each, meaning) for each in whole.split("\n"))

    def labelled(self, label: str, text: str, meaning: Meaning) -> None:
        """Write a text behind a coloured label; a line that is being typed makes room and is written again."""
        with self.lock:
            self.end()
            whole = self.wrapped(f"{label} {text}").replace(label, self.look.paint(label, meaning), 1)
            typing = self.typing
            self.write((typing.lift() if typing else "") + f"{whole}\n" + (typing.put_back() if typing else ""))

    def aside(self, text: str) -> None:
        """Write lines of the log, between what is said and what is typed."""
        with self.lock:
            self._wipe()
            typing, gap = self.typing, "\n" if self._prose.column else ""
            self._prose.column = 0
            shown = printable(text)
            self.write((typing.lift() if typing else gap) + shown + (typing.put_back() if typing else ""))

    @contextmanager
    def taking_log(self) -> Iterator[None]:
        """Take what the log writes to this terminal, which would fall into the line being typed."""
        moved = [
            each
            for each in logging.getLogger("everloom").handlers
            if isinstance(each, logging.StreamHandler) and each.stream is sys.stderr and sys.stderr.isatty()
        ]
        for each in moved:
            each.setStream(_LogLines(self))
        try:
            yield
        finally:
            for each in moved:
                each.setStream(sys.stderr)

    def use(self, step: ToolStep) -> None:
        """Show that a tool runs, and how it ended."""
        with self.lock:
            if step.state == "runs":
                self._break_off()
                self._tool = printable(step.name)
                if self.look.is_lively:
                    self._draw_sign()
                else:
                    self.line(f"(uses {self._tool})")
                    self._is_fresh = True
                return
            self._tool, name = None, printable(step.name)
            if self.look.is_lively:
                sign = ("✓", "✗") if self.look.draws else ("+", "x")
                ended = self.look.paint(sign[1], "bad") if step.state == "failed" else self.look.paint(sign[0], "good")
                self._wipe()
                failed = " failed" if step.state == "failed" else ""
                self.write(f"{ended} {self.look.paint(name + failed, 'quiet')}\n")
            elif step.state == "failed":
                self.line(f"({name} failed)")
            self._is_fresh = True

    def _break_off(self) -> None:
        """End the line of what was said so far; the reply may go on below."""
        is_fresh = self._is_fresh
        self.end()
        self._is_fresh = is_fresh

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Show a sign of life while nothing is being said."""
        if not self.look.is_lively:
            yield
            return
        self._began, stop = time.monotonic(), Event()
        beside = Thread(target=self._live, args=(stop,), name="sign of life", daemon=True)
        beside.start()
        try:
            yield
        finally:
            stop.set()
            beside.join()
            with self.lock:
                self._tool = None
                self._wipe()

    def _live(self, stop: Event) -> None:
        if stop.wait(_PATIENCE_SECONDS):
            return
        while not stop.wait(_TICK_SECONDS):
            with self.lock:
                # Only on a line of its own: never in the middle of what is being said.
                if not self._prose.column and not stop.is_set():
                    self._draw_sign()

    def _draw_sign(self) -> None:
        since = time.monotonic() - self._began
        signs = _DRAWN_SIGNS if self.look.draws else _PLAIN_SIGNS
        sign = signs[int(since / _TICK_SECONDS) % len(signs)]
        waits = f" {since:.0f} s" if since >= 2 else ""
        said = f"{self._tool or 'thinking'}{waits}"[: self.look.columns - 4]
        self._has_sign = True
        self.write(f"{_WIPE}{self.look.paint(sign, 'name')} {self.look.paint(said, 'quiet')}")

    def _wipe(self) -> None:
        if self._has_sign:
            self._has_sign = False
            self.write(_WIPE)
