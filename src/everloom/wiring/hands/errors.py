"""The last words of a server's process: what it wrote to its error output, so that a person learns why it failed."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import TextIO

from everloom.secrets import masked

_MOST_LINES = 5
_LONGEST_LINE = 300


class LastWords:
    """Reads the error output of one process as it comes, and keeps its last lines."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        reading, writing = os.pipe()
        self.stream: TextIO = os.fdopen(writing, "w")
        self._source = os.fdopen(reading, "rb", buffering=0)
        Thread(target=self._read, name="last words", daemon=True).start()

    def _read(self) -> None:
        rest = b""
        with suppress(OSError, ValueError), self._source:
            while chunk := self._source.read(4_096):
                # A line without an end is kept only as far as it is shown.
                *whole, rest = (rest + chunk).split(b"\n")
                rest = rest[-_LONGEST_LINE:]
                self._lines.extend(line.decode("utf-8", "replace") for line in whole if line.strip())
            if rest.strip():
                self._lines.append(rest.decode("utf-8", "replace"))

    def close(self) -> None:
        """Let go of this process's end; the thread ends with the server's."""
        with suppress(OSError):
            self.stream.close()

    @property
    def text(self) -> str:
        """The last lines, without secrets."""
        return masked(" / ".join(line.strip()[:_LONGEST_LINE] for line in self._lines))
