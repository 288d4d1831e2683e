"""The lines that somebody typed before, kept between sittings in a file that only its owner can read.

One entry a line, as readline writes it; the lines of a longer entry are joined by a separator. Refuses to know keys.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from everloom.errors import StoreError
from everloom.store.files import make_private

_MOST_LINES = 1_000
_LONGEST = 20_000
_SEPARATOR = "\x1e"


class TypedLines:
    """What was typed, oldest first, and a place among it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines = self._read()
        self._at = len(self._lines)
        self._draft = ""

    def _read(self) -> list[str]:
        try:
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        lines = [each.replace(_SEPARATOR, "\n") for each in text.split("\n") if each and each != "_HiStOrY_V2_"]
        return lines[-_MOST_LINES:]

    def add(self, text: str) -> None:
        """Keep a text at once: a sitting that is killed loses nothing that was typed."""
        self._draft = ""
        if text.strip() and len(text) <= _LONGEST and self._lines[-1:] != [text]:
            self._lines.append(text)
            with suppress(OSError, StoreError):
                self._write(text)
        self._at = len(self._lines)

    def _write(self, text: str) -> None:
        make_private(self._file.parent)
        line = text.replace("\n", _SEPARATOR) + "\n"
        # With its mode from the first byte on: in between, others could read what was typed.
        file = os.open(self._file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(file, line.encode("utf-8", "replace"))
        finally:
            os.close(file)
        self._file.chmod(0o600)

    def shorten(self) -> None:
        """Keep the newest lines only."""
        with suppress(OSError):
            if len(self._file.read_text(encoding="utf-8", errors="replace").split("\n")) <= 2 * _MOST_LINES:
                return
            fresh = self._file.with_suffix(".new")
            os.close(os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
            lines = (each.replace("\n", _SEPARATOR) + "\n" for each in self._read())
            fresh.write_text("".join(lines), encoding="utf-8", errors="replace")
            fresh.replace(self._file)

    def earlier(self, now: str) -> str | None:
        """Return the entry before; None if there is none. What is being typed is kept meanwhile."""
        if not self._at:
            return None
        if self._at == len(self._lines):
            self._draft = now
        self._at -= 1
        return self._lines[self._at]

    def later(self) -> str | None:
        """Return the entry after, and at the end what was being typed."""
        if self._at >= len(self._lines):
            return None
        self._at += 1
        return self._draft if self._at == len(self._lines) else self._lines[self._at]

    def holding(self, words: str, skip: int = 0) -> str | None:
        """Return the newest entry that contains some words, after as many others as are to be skipped."""
        found = (each for each in reversed(self._lines) if words in each)
        for _ in range(skip):
            next(found, None)
        return next(found, None)
