"""Alerts about what models cost: told to the person once for each day or month, and shown while they hold.

What is due is decided from sums alone. An alert is told and recorded in one transaction, so that it is told once,
however many processes notice it and whenever one is killed. It is in the log, and not in what the model sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from statistics import median
from typing import Literal

from everloom.kernel.operation import Operation
from everloom.kernel.records import Records
from everloom.kernel.spending import Expense, Ledger, begins
from everloom.mind.conversation.reaching import place_for, route_to
from everloom.mind.conversation.stream import add_notice
from everloom.mind.ports import AlertLimits, MindSetup

_SPACE = "everloom.alerts"
_DAY = timedelta(days=1)
# The usual day is the median of those with any cost among the last four weeks; fewer than three say nothing.
_LOOKED_BACK = 28
_FEWEST_DAYS = 3
# A rise to less than this is none that anybody wants to hear of.
_LEAST_RISE = 1.0
# An alert is recorded for longer than its month.
_KEPT = timedelta(days=70)
_BUDGET = "(Models have cost ${:.2f} today: {:.0%} of the day's budget of ${:.2f}. {})"
_MONTH = "(Models have cost ${:.2f} this month; you wanted to know from ${:.2f} on.)"
_RISE = "(Models have cost ${:.2f} today, {:.1f} times as much as on a usual day, which is ${:.2f}.)"
_UNPRICED = (
    "(The price of {} is not known, so that neither budgets nor alerts count what it costs. "
    "`everloom config set models.prices '{}=INPUT/OUTPUT'` says it, in dollars per million tokens.)"
)
_THEN = "Once it is spent, the smaller model goes on until midnight."
_SPENT = "The smaller model goes on until midnight."


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAlert:
    """Something about costs that a person wanted to know; it is told once for its `period`, a day or a month."""

    kind: Literal["budget", "month", "rise", "unpriced"]
    period: str
    message: str
    told_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What models cost until now: today, this month and on a usual day; and a model whose price is not known."""

    day: date
    today: float = 0.0
    month: float = 0.0
    usual: float | None = None
    unpriced: str | None = None


def costs_of(daily: Sequence[tuple[date, Expense]], day: date) -> Costs:
    """Sum what was spent on each day."""
    by_day: dict[date, float] = {}
    for when, spent in daily:
        by_day[when] = by_day.get(when, 0.0) + (spent.dollars or 0.0)
    before = [dollars for when, dollars in by_day.items() if day - _LOOKED_BACK * _DAY <= when < day and dollars > 0]
    this_month = [dollars for when, dollars in by_day.items() if (when.year, when.month) == (day.year, day.month)]
    unpriced = [spent.model for when, spent in daily if spent.unpriced > spent.failures and when == day]
    return Costs(
        day=day,
        today=by_day.get(day, 0.0),
        month=sum(this_month),
        usual=median(before) if len(before) >= _FEWEST_DAYS else None,
        unpriced=min(unpriced, default=None),
    )


def due_alerts(costs: Costs, limits: AlertLimits) -> list[CostAlert]:
    """Decide which alerts hold now."""
    day, month = costs.day.isoformat(), f"{costs.day:%Y-%m}"
    found: list[CostAlert] = []
    budget = limits.dollars_a_day
    if budget and limits.budget_share and costs.today >= budget * limits.budget_share:
        then = _SPENT if costs.today >= budget else _THEN
        text = _BUDGET.format(costs.today, costs.today / budget, budget, then)
        found.append(CostAlert(kind="budget", period=day, message=text))
    if limits.dollars_a_month is not None and costs.month >= limits.dollars_a_month and costs.month > 0:
        text = _MONTH.format(costs.month, limits.dollars_a_month)
        found.append(CostAlert(kind="month", period=month, message=text))
    least = max(_LEAST_RISE, limits.rise * (costs.usual or 0.0))
    if limits.rise and costs.usual is not None and costs.today >= least:
        text = _RISE.format(costs.today, costs.today / costs.usual, costs.usual)
        found.append(CostAlert(kind="rise", period=day, message=text))
    if costs.unpriced is not None and (budget or limits.dollars_a_month is not None):
        text = _UNPRICED.format(costs.unpriced, costs.unpriced)
        found.append(CostAlert(kind="unpriced", period=month, message=text))
    return found


class CostWatch:
    """The alerts of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._op: Operation = setup.op
        self._limits = setup.policy.alerts
        self._person = setup.person
        self._told = Records(setup.op, _SPACE)

    def costs(self) -> Costs:
        """Sum what models have cost, by the days of the workspace's time zone."""
        zone, day = self._op.zone, self._op.now.astimezone(self._op.zone).date()
        since = min(day - _LOOKED_BACK * _DAY, day.replace(day=1))
        ledger = Ledger(self._op.store, self._op.workspace.id)
        return costs_of(ledger.daily(begins(since, zone), begins(day + _DAY, zone), zone), day)

    def alerts(self) -> list[CostAlert]:
        """List the alerts that hold now, and when each was told."""
        found = due_alerts(self.costs(), self._limits) if self._limits.are_set else []
        if not found:
            return []
        with self._told.read() as reader:
            records = {each.kind: reader.get([each.kind], each.period) for each in found}
        told: Mapping[str, datetime] = {kind: each.changed_at for kind, each in records.items() if each is not None}
        return [replace(each, told_at=told.get(each.kind)) for each in found]

    def waiting(self) -> list[CostAlert]:
        """List the alerts that are still to be told; none while nobody has written who could be told."""
        found = [each for each in self.alerts() if each.told_at is None]
        if not found:
            return []
        with self._op.read() as unit:
            return found if place_for(unit, self._person, self._op.now) is not None else []

    def tell(self) -> list[CostAlert]:
        """Tell the person what is still to be told, each alert once for its day or month."""
        found = self.waiting()
        said: list[CostAlert] = []
        if not found:
            return said
        with self._told.write() as writer:
            to = place_for(writer.unit, self._person, writer.at)
            for each in found:
                # Looked up under the write lock: another process may have told it a moment ago.
                if to is None or writer.get([each.kind], each.period) is not None:
                    continue
                writer.put([each.kind], each.period, {"message": each.message}, lifetime=_KEPT)
                place = {"channel": to.channel, "address": to.address, "route": route_to(to, writer.at)}
                add_notice(writer.unit, each.message, writer.at, **place)
                said.append(replace(each, told_at=writer.at))
        return said
