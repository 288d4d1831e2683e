"""Bar charts for a terminal: as wide as it is, in eighths of a column if the encoding has them, else in `#`.

Pure. Refuses to know what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloom.surfaces.cli.runtime.output import width

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
# On a very narrow terminal the bars wrap; without any columns they would all look alike.
_LEAST_ROOM = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a plot: its label, its value, and how the value is written."""

    label: str
    value: float
    caption: str


def can_draw(encoding: str | None) -> bool:
    """Return whether an encoding has the block characters."""
    try:
        (_EIGHTHS + _FULL).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plotted(bars: Sequence[Bar], columns: int, *, fine: bool) -> list[str]:
    """Draw bars below each other, the longest as wide as there is room."""
    if not bars:
        return []
    labels = max(width(bar.label) for bar in bars)
    captions = max(width(bar.caption) for bar in bars)
    room = max(columns - labels - captions - 4, _LEAST_ROOM)
    most = max(bar.value for bar in bars)
    lines = []
    for bar in bars:
        drawn = blocks(bar.value / most * room if most > 0 else 0.0, fine=fine)
        label = bar.label + " " * (labels - width(bar.label))
        caption = " " * (captions - width(bar.caption)) + bar.caption
        lines.append(f"{label}  {caption}  {drawn}".rstrip())
    return lines


def blocks(length: float, *, fine: bool) -> str:
    """Draw a bar of this many columns; any value above zero is visible."""
    if not fine:
        return "#" * max(round(length), 1 if length > 0 else 0)
    eighths = max(round(length * 8), 1 if length > 0 else 0)
    return _FULL * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
