"""A program in a real terminal: what it writes, and a person who types."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.patience import PATIENCE, give_up, wait_until
from tests.surfaces.channels.glass import Glass

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


class Screen:
    """One program in a pseudo-terminal; use it as a context."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], columns: int = 100, term: str = "dumb", rows: int = 40
    ) -> None:
        self.text = ""
        # Every byte, and what a terminal makes of them.
        self.raw = b""
        self.glass = Glass(columns, rows)
        self._seen = 0
        # A character may come in two pieces.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**env, "TERM": term, "PYTHONUTF8": "1", "COLUMNS": str(columns)},
            start_new_session=True,
        )
        os.close(follower)

    def enter(self, line: str) -> None:
        """Type a line and press Enter."""
        os.write(self._leader, f"{line}\n".encode())

    def press(self, text: str) -> None:
        """Press keys."""
        os.write(self._leader, text.encode())

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal does that was asked to say where a paste begins and ends."""
        assert "2004" in self.glass.modes, "nobody asked for it"
        self.press(f"\x1b[200~{text.replace(chr(10), chr(13))}\x1b[201~")

    def resize(self, columns: int) -> None:
        """Make the window narrower or wider; what is on the screen stays as it is."""
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", self.glass.height, columns, 0, 0))
        self.glass.columns = columns
        self.process.send_signal(signal.SIGWINCH)

    def echoes(self) -> bool:
        """Say whether the terminal shows what is typed by itself, and gives it line by line."""
        state = termios.tcgetattr(self._leader)[3]
        return bool(state & termios.ECHO and state & termios.ICANON)

    def until_shown(self, *texts: str) -> str:
        """Read until the terminal shows some texts, in this order; give all that it shows."""
        pattern, end = re.compile(".*?".join(map(re.escape, texts)), re.DOTALL), time.monotonic() + PATIENCE
        while not pattern.search(self.glass.text):
            if not self._read(end - time.monotonic()):
                give_up(f"{texts} on the screen", self.process, f"--- the screen\n{self.glass.text}")
        return self.glass.text

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def leave(self) -> None:
        """Press Ctrl-D."""
        os.write(self._leader, b"\x04")

    def until(self, text: str) -> str:
        """Read until a text has appeared after what was read before; give everything up to there."""
        end = time.monotonic() + PATIENCE
        while (found := self.text.find(text, self._seen)) < 0:
            if not self._read(end - time.monotonic()):
                give_up(f"{text!r} on the screen", self.process, f"--- the screen\n{self.text[self._seen :]}")
        before, self._seen = self.text[self._seen : found + len(text)], found + len(text)
        return before

    def ended(self) -> int:
        """Read to the end and say how the program exited."""
        end = time.monotonic() + PATIENCE
        while self._read(end - time.monotonic()):
            pass
        return wait_until(lambda: self.process.poll() is not None, "the program to end") and self.process.wait()

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._leader], [], [], seconds)[0]:
            return False
        try:
            found = os.read(self._leader, 65536)
        except OSError:
            return False
        self.raw += found
        written = self._decoder.decode(found)
        self.glass.feed(written)
        self.text += ESCAPE.sub("", written).replace("\r\n", "\n")
        return bool(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._leader)
