"""Takes forgotten words out of a file of lines that people typed, such as those that a terminal offers again.

Refuses to know who writes the file. Nothing depends on it: whoever types a line while it is rewritten may lose it.
"""

from __future__ import annotations

from pathlib import Path

from everloom.errors import StoreError
from everloom.kernel.forgetting.plan import Traces
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.operation import Transaction
from everloom.store.files import write_whole


class LinesEraser(Eraser):
    """The part of one file in a forgetting."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._remains: tuple[str, ...] = ()

    def scrub(self, tx: Transaction, traces: Traces) -> None:  # noqa: ARG002
        """Remove the lines that show the words; before the commit, after which a process that dies would leave them."""
        if not self._file.exists():
            return
        try:
            lines = self._file.read_text(encoding="utf-8", errors="replace").split("\n")
            kept = [line for line in lines if not traces.in_quote(line)]
            if kept != lines:
                write_whole(self._file, "\n".join(kept).encode())
        except (OSError, StoreError) as error:
            self._remains = (f"lines in {self._file} that could not be removed: {error}",)

    def finish(self) -> tuple[str, ...]:
        """Say what could not be removed."""
        return self._remains
