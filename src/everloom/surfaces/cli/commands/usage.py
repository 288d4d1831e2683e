"""`everloom usage`: what language models used, by day, purpose, model or turn, with a plot."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from everloom.surfaces.cli.render.plot import Bar, can_draw, plotted
from everloom.surfaces.cli.runtime.command import Command
from everloom.surfaces.cli.runtime.invocation import Invocation
from everloom.surfaces.cli.runtime.output import Answer, Table

if TYPE_CHECKING:
    from everloom.kernel.spending import Expense
    from everloom.loom import Workspace
    from everloom.mind import Exchange

_WAYS = ("day", "purpose", "model", "turn")
_FIGURES = (
    *("calls", "failures", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("prompt_tokens", "cached_share", "dollars", "unpriced"),
)
# A bound on what is read into memory; the log itself has none.
_MOST_TURNS = 10_000
# More bars than this fill the screen; the table has all rows.
_MOST_BARS = 60


@click.command(cls=Command)
@click.option("--days", default=7, show_default=True, type=click.IntRange(1, 3660), help="The number of days to show.")
@click.option("--by", default="day", show_default=True, type=click.Choice(_WAYS), help="How to group the figures.")
def usage(invocation: Invocation, days: int, by: str) -> Answer:
    """Show what language models used: tokens, cache, dollars, context."""
    with invocation.enter() as place:
        rows, total = by_turn(place, days) if by == "turn" else by_sum(place, days, by)
        today = money_of(place)
    result = {"by": by, "days": days, "time_zone": place.info.time_zone, "rows": rows, "total": total, "today": today}
    return Answer(result, [*usage_lines(rows, by), *summary(total, today)])


def _span(place: Workspace, days: int) -> list[date]:
    """List the last days in the workspace's time zone, today last."""
    today = place.loom.clock.now().astimezone(place.info.zone).date()
    return [today - timedelta(days=back) for back in reversed(range(days))]


def by_sum(place: Workspace, days: int, by: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Sum the usage by day, purpose or model."""
    from everloom.kernel.spending import Ledger, begins  # noqa: PLC0415

    calendar, zone = _span(place, days), place.info.zone
    until = begins(calendar[-1] + timedelta(days=1), zone)
    found = Ledger(place.loom.store, place.info.id).daily(begins(calendar[0], zone), until, zone)
    # Days without any call are listed too; a gap would look like a missing record.
    groups: dict[str, list[Expense]] = {each.isoformat(): [] for each in calendar} if by == "day" else {}
    for day, spent in found:
        groups.setdefault(day.isoformat() if by == "day" else getattr(spent, by), []).append(spent)
    return [_fields(name, parts) for name, parts in groups.items()], _fields("total", [spent for _, spent in found])


def _fields(name: str, parts: Iterable[Expense]) -> dict[str, Any]:
    """Sum expenses into the fields of one row."""
    from everloom.kernel.spending import added  # noqa: PLC0415

    whole = added(parts)
    return {"name": name, **{figure: getattr(whole, figure) for figure in _FIGURES}}


def by_turn(place: Workspace, days: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """List the turns of the conversation, oldest first."""
    from everloom.kernel.spending import begins  # noqa: PLC0415

    zone = place.info.zone
    since = begins(_span(place, days)[0], zone)
    turns = [each for each in place.mind.conversation.exchanges(_MOST_TURNS) if each.began_at >= since]
    parts = [(each, _spent_in(each)) for each in sorted(turns, key=lambda each: each.id)]
    rows = [
        {
            **_fields(f"{each.began_at.astimezone(zone):%Y-%m-%d %H:%M}", [spent]),
            **{name: getattr(each, name) for name in ("id", "cause", "model", "context_tokens", "context_window")},
            "context_share": each.context_tokens / each.context_window if each.context_window else None,
        }
        for each, spent in parts
    ]
    return rows, _fields("total", [spent for _, spent in parts])


def _spent_in(turn: Exchange) -> Expense:
    """Convert the usage of one turn to an expense."""
    from everloom.kernel.spending import Expense  # noqa: PLC0415

    used = turn.usage
    tokens = (used.input, used.output, used.cached_read, used.cached_written)
    return Expense(turn.model, "", turn.cause, turn.rounds, 0, *tokens, turn.dollars, int(turn.dollars is None))


def money_of(place: Workspace) -> dict[str, float | None]:
    """Report what today has cost, the daily budget, and what is left of it."""
    spent, most = place.loom.spent_today(place.info), place.loom.settings.mind.dollars_a_day
    return {"dollars": spent, "budget": most, "left": None if most is None else max(most - spent, 0.0)}


def usage_lines(rows: list[dict[str, Any]], by: str) -> list[str | Table]:
    """Write the rows as a table, then plot the dollars, or the tokens if no price is known."""
    headings = [by, "calls", "in", "out", "cached", "dollars"] + (["context"] if by == "turn" else [])
    table = Table([_line(row, by) for row in rows], headings)
    has_prices = any(row["dollars"] for row in rows)
    bars = [Bar(row["name"], *(_height(row, has_prices))) for row in rows[-_MOST_BARS:]]
    if not any(bar.value for bar in bars):
        return [table]
    columns = shutil.get_terminal_size((80, 24)).columns
    drawn = plotted(bars, columns, fine=can_draw(sys.stdout.encoding))
    return [table, f"\n{'dollars' if has_prices else 'tokens'} by {by}", *drawn]


def _line(row: dict[str, Any], by: str) -> tuple[object, ...]:
    """Write a row for people."""
    shown = (row["name"], row["calls"], row["prompt_tokens"], row["output_tokens"])
    context = [f"{row['context_share'] or 0.0:.1%} of {row['context_window']:,}"] if by == "turn" else []
    return (*shown, _share(row["cached_share"]), _money(row), *context)


def _share(value: float | None) -> str:
    """Write a share as a percentage."""
    return "-" if value is None else f"{value:.0%}"


def _money(row: dict[str, Any]) -> str:
    """Write an amount in dollars, and mark calls of unknown price."""
    if row["dollars"] is None:
        return "price unknown" if row["calls"] else "-"
    return f"${row['dollars']:.4f}{' + unknown' if row['unpriced'] else ''}"


def _height(row: dict[str, Any], has_prices: bool) -> tuple[float, str]:
    """Return the length of a row's bar, and its caption."""
    if has_prices:
        return (row["dollars"] or 0.0), _money(row)
    tokens = row["prompt_tokens"] + row["output_tokens"]
    return float(tokens), f"{tokens:,}"


def summary(total: dict[str, Any], today: dict[str, float | None]) -> list[str]:
    """Write the total, and what is left of today's budget."""
    taken = f"{total['prompt_tokens']:,} tokens in ({_share(total['cached_share'])} from cache)"
    lines = [f"\ntotal {taken}, {total['output_tokens']:,} out, {_money(total)}"]
    if total["unpriced"]:
        lines.append(f"{total['unpriced']:,} calls of unknown price are not included in the dollars")
    if today["budget"] is None:
        lines.append(f"today ${today['dollars']:.4f}; no daily budget is set (mind.dollars_a_day)")
    else:
        note = "" if today["left"] else ": the smaller model converses until midnight"
        lines.append(f"today ${today['dollars']:.4f} of ${today['budget']:.2f}, ${today['left']:.4f} left{note}")
    return lines
