"""Colours on a terminal: one meaning each, never the only sign of anything, and none where NO_COLOR is set.

`click.echo` takes them out again where the output goes into a file or a pipe.
"""

from __future__ import annotations

import os
from typing import Literal

import click

Meaning = Literal["heading", "name", "good", "bad", "waiting", "quiet"]

# Colours that can be read on a light and on a dark background: none is white, black or plain yellow.
_STYLES: dict[Meaning, dict[str, str | bool]] = {
    "heading": {"bold": True},
    "name": {"fg": "cyan"},
    "good": {"fg": "green"},
    "bad": {"fg": "red", "bold": True},
    "waiting": {"fg": "magenta"},
    "quiet": {"dim": True},
}
# Words that stand alone in a cell of a table, and what they mean there.
_WORDS: dict[str, Meaning] = {
    **dict.fromkeys(("ok", "done", "yes", "healthy", "answered", "delivered", "approved", "applied"), "good"),
    **dict.fromkeys(("fail", "failed", "error", "problem", "refused", "rejected", "missing", "damaged"), "bad"),
    **dict.fromkeys(("warn", "waiting", "due", "running", "warning", "held", "stale", "skipped"), "waiting"),
    "-": "quiet",
}


def is_colourful() -> bool:
    """Return whether whoever reads this wants colours; https://no-color.org."""
    return not os.environ.get("NO_COLOR")


def painted(text: str, meaning: Meaning) -> str:
    """Colour a text by what it means."""
    return click.style(text, **_STYLES[meaning]) if is_colourful() else text  # type: ignore[arg-type]


def meaning_of_cell(text: str) -> Meaning | None:
    """Return what a cell of a table means by itself, if it is one of the words that do."""
    return _WORDS.get(text)


def rich_style(meaning: Meaning) -> str:
    """Name the style of a meaning as rich does."""
    return " ".join(str(value) if name == "fg" else name for name, value in _STYLES[meaning].items())


class PaintedHelp(click.HelpFormatter):
    """A help page whose headings and names stand out."""

    def write_heading(self, heading: str) -> None:
        """Write the heading of a section."""
        self.write(f"{'':>{self.current_indent}}{painted(f'{heading}:', 'heading')}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called; painted afterwards, because lines are broken by their width."""
        before = len(self.buffer)
        super().write_usage(prog, args, prefix)
        if prefix is None and len(self.buffer) > before:
            first = self.buffer[before]
            self.buffer[before] = first.replace("Usage:", painted("Usage:", "heading"), 1)
