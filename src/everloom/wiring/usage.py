"""What language models have used in a workspace: by day, purpose, model or turn, what today has cost, and alerts.

Sums what the ledger and the log hold; refuses to know how it is shown. Light: what it reads with is loaded when needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from everloom.kernel.spending import Expense
    from everloom.mind import Exchange

Grouping = Literal["day", "purpose", "model", "turn"]
_FIGURES = (
    *("calls", "failures", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("prompt_tokens", "cached_share", "dollars", "unpriced"),
)
# A bound on what is read into memory; the log itself has none.
_MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What models used in some days: a row for each group, their total, and what is left of today's budget.

    Of today, `dollars` is None if no price is known; `unpriced` counts the calls that it does not include. `alerts` are
    those that hold now.
    """

    by: Grouping
    days: int
    time_zone: str
    rows: tuple[Mapping[str, Any], ...]
    total: Mapping[str, Any]
    today: Mapping[str, Any]
    alerts: tuple[Mapping[str, Any], ...] = ()
    note: str | None = None


def report_usage(place: Any, days: int, by: Grouping) -> UsageReport:
    """Report what language models used in a workspace in the last days."""
    rows, total = by_turn(place, days) if by == "turn" else by_sum(place, days, by)
    zone = place.info.time_zone
    today, alerts = money_of(place), alerts_of(place)
    return UsageReport(by=by, days=days, time_zone=zone, rows=tuple(rows), total=total, today=today, alerts=alerts)


def _span(place: Any, days: int) -> list[date]:
    """List the last days in the workspace's time zone, today last."""
    today = place.loom.clock.now().astimezone(place.info.zone).date()
    return [today - timedelta(days=back) for back in reversed(range(days))]


def by_sum(place: Any, days: int, by: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
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


def by_turn(place: Any, days: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
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


def money_of(place: Any) -> dict[str, Any]:
    """Report what today and this month have cost, the daily budget, and what is left of it."""
    from everloom.kernel.spending import Ledger, added, begins  # noqa: PLC0415

    zone, (today,) = place.info.zone, _span(place, 1)
    until, ledger = begins(today + timedelta(days=1), zone), Ledger(place.loom.store, place.info.id)
    day = added(ledger.spent(begins(today, zone), until))
    month = added(ledger.spent(begins(today.replace(day=1), zone), until))
    most = place.loom.settings.mind.dollars_a_day
    return {
        # Nothing was asked, or nothing that has a price: only the first has cost nothing.
        "dollars": None if day.dollars is None and day.unpriced else float(day.dollars or 0.0),
        "unpriced": day.unpriced,
        "budget": most,
        "left": None if most is None else max(most - (day.dollars or 0.0), 0.0),
        "month": None if month.dollars is None and month.unpriced else float(month.dollars or 0.0),
    }


def alerts_of(place: Any) -> tuple[dict[str, Any], ...]:
    """List the alerts about costs that hold now, and when each was told."""
    from everloom.mind.conversation.alerts import CostWatch  # noqa: PLC0415

    found = CostWatch(place.loom.mind_setup(place.info)).alerts()
    return tuple(
        {**asdict(each), "told_at": each.told_at and each.told_at.astimezone(place.info.zone).isoformat()}
        for each in found
    )
