"""What language models used and cost: by day and by purpose, and how full the context was, as pictures with tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.kernel.spending import Expense, Ledger, added, begins
from everloom.surfaces.page.paths import WORKSPACE, look
from everloom.surfaces.page.pictures.bars import Column, stacked_bars
from everloom.surfaces.page.pictures.trace import TracePoint, trace
from everloom.surfaces.page.visit import Visit
from everloom.wiring.usage import alerts_of, money_of

if TYPE_CHECKING:
    from everloom.loom import Workspace

_DAYS = (30, 90)
_TURNS = 200
# As many colours as pictures have; what is beyond them is one more part.
_MOST_PARTS = 7
_TOKENS = ("new input", "from cache", "output")

Days = dict[date, list[Expense]]


def usage(visit: Visit) -> Response:
    """Show what models used in the last days."""
    workspace = visit.workspace
    days = _DAYS[1] if visit.asked_number("days", _DAYS[0]) > _DAYS[0] else _DAYS[0]
    by_day = _by_day(workspace, days)
    every = [each for parts in by_day.values() for each in parts]
    purposes = _grouped(every, "purpose")
    turns = _turns(workspace)
    return visit.page(
        "usage.html",
        title="Usage and cost",
        days=days,
        choices=_DAYS,
        total=added(every),
        tokens=_tokens(by_day),
        dollars=_dollars(by_day, purposes) if any(each.dollars for each in every) else None,
        by_day=[(day, added(parts)) for day, parts in reversed(by_day.items()) if parts],
        purposes=purposes,
        models=_grouped(every, "model"),
        turns=turns[::-1],
        context=_context(visit, turns) if len(turns) > 1 else None,
        today=money_of(workspace),
        alerts=alerts_of(workspace),
    )


def _by_day(workspace: Workspace, days: int) -> Days:
    """Sum the usage of the last days; days without any call are there, too: a gap would look like a missing record."""
    zone = workspace.info.zone
    today = workspace.loom.clock.now().astimezone(zone).date()
    calendar = [today - timedelta(days=back) for back in reversed(range(days))]
    found: Days = {each: [] for each in calendar}
    ledger = Ledger(workspace.loom.store, workspace.info.id)
    for day, spent in ledger.daily(begins(calendar[0], zone), begins(today + timedelta(days=1), zone), zone):
        found.setdefault(day, []).append(spent)
    return found


def _grouped(parts: Iterable[Expense], by: str) -> list[tuple[str, Expense]]:
    """Sum by purpose or model, the dearest first."""
    groups: dict[str, list[Expense]] = defaultdict(list)
    for each in parts:
        groups[getattr(each, by)].append(each)
    summed = [(name, added(group)) for name, group in groups.items()]
    return sorted(summed, key=lambda each: (-(each[1].dollars or 0.0), -each[1].prompt_tokens, each[0]))


def _tokens(by_day: Days) -> object:
    columns = []
    for day, parts in by_day.items():
        whole = added(parts)
        columns.append(
            Column(
                _day(day),
                (whole.input_tokens + whole.cache_write_tokens, whole.cache_read_tokens, whole.output_tokens),
            )
        )
    return stacked_bars("Tokens by day", _TOKENS, columns, lambda value: f"{value:,.0f}")


def _dollars(by_day: Days, purposes: Sequence[tuple[str, Expense]]) -> object:
    """Draw the dollars of each day by purpose; the smallest purposes are one part."""
    dear = [name for name, spent in purposes if spent.dollars]
    named, has_rest = dear[:_MOST_PARTS], len(dear) > _MOST_PARTS
    columns = []
    for day, parts in by_day.items():
        spent: dict[str, float] = defaultdict(float)
        for each in parts:
            spent[each.purpose if each.purpose in named else ""] += each.dollars or 0.0
        columns.append(Column(_day(day), tuple(spent[name] for name in ([*named, ""] if has_rest else named))))
    return stacked_bars(
        "Dollars by day and purpose", [*named, "other"] if has_rest else named, columns, lambda value: f"${value:,.4f}"
    )


def _turns(workspace: Workspace) -> list[TracePoint]:
    """Read how full the context was in the latest turns, oldest first."""
    found = workspace.mind.conversation.exchanges(_TURNS)
    return [
        TracePoint(
            each.id,
            each.ended_at,
            each.context_tokens,
            each.context_window,
            each.model,
            each.usage.cached_share,
        )
        for each in reversed(found)
        if each.context_window
    ]


def _context(visit: Visit, turns: Sequence[TracePoint]) -> object:
    return trace("Context used by each turn", turns, visit.zone)


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


PATHS = (look(f"{WORKSPACE}usage", usage),)
