"""How full the context was, turn after turn: a line below the whole window. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from markupsafe import Markup

WIDTH, HEIGHT = 760, 200
LEFT, RIGHT, TOP, BOTTOM = 76, 12, 14, 30
_PLOT_HEIGHT = HEIGHT - TOP - BOTTOM


@dataclass(frozen=True, slots=True)
class TracePoint:
    """One turn: what its request took of the model's window, and which share of what it sent came from a cache."""

    id: int
    at: datetime
    tokens: int
    window: int
    model: str
    cached_share: float | None = None

    @property
    def share(self) -> float:
        """The share of the window that it took."""
        return min(1.0, self.tokens / self.window)


def trace(title: str, points: Sequence[TracePoint], zone: ZoneInfo) -> Markup:
    """Draw the share of the window that each turn took; turns stand side by side, whenever they were."""
    step = (WIDTH - LEFT - RIGHT) / max(1, len(points) - 1)
    # The axis ends where the line is still seen to move, and never before a tenth.
    top = min(1.0, max(0.1, 1.25 * max(each.share for each in points)))
    spots = [(LEFT + place * step, TOP + _PLOT_HEIGHT * (1 - each.share / top)) for place, each in enumerate(points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    about = f"{len(points)} turns; the last took {points[-1].share:.0%} of its window."
    return Markup(
        '<svg class="picture" role="img" viewBox="0 0 {} {}" width="{}" height="{}">'
        '<title>{}</title><desc>{}</desc>{}<polyline class="thin s1" points="{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, WIDTH, HEIGHT, title, about, _axis(top), line, _ends(points, zone))


def _axis(top: float) -> Markup:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + _PLOT_HEIGHT * (1 - share)
        lines.append(
            Markup(
                '<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
                '<text class="dim" x="{}" y="{:.1f}" text-anchor="end">{:.0f} %</text>'
            ).format(LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, 100 * share * top)
        )
    return Markup("").join(lines)


def _ends(points: Sequence[TracePoint], zone: ZoneInfo) -> Markup:
    first, last = (each.at.astimezone(zone) for each in (points[0], points[-1]))
    return Markup(
        '<text class="dim" x="{}" y="{}">{}</text><text class="dim" x="{}" y="{}" text-anchor="end">{}</text>'
    ).format(LEFT, HEIGHT - 10, f"{first.day} {first:%b %Y}", WIDTH - RIGHT, HEIGHT - 10, f"{last.day} {last:%b %Y}")
