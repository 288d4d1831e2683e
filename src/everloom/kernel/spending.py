"""What models cost a workspace: usage records, stored in the workspace and summed on request.

Refuses to know prices, and which time zone a day belongs to: callers pass both in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from everloom.clock import to_micros
from everloom.kernel.journal import register
from everloom.models.usage import UsageRecord
from everloom.store import Row, Store, value_from

# Amounts are stored as whole millionths of a dollar, whose sums are exact and the same on both engines.
_MICRO = 1_000_000
_DAY = timedelta(days=1)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Expense:
    """What one model used and cost in one role for one purpose; `dollars` is None if no price is known.

    `unpriced` counts the calls whose price is not known; `dollars` does not include them.
    """

    model: str
    role: str
    purpose: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    dollars: float | None
    unpriced: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All input tokens, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cached_share(self) -> float | None:
        """The share of input tokens that was read from a cache; None if there was no input."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else None


class Ledger:
    """The usage records of one workspace."""

    def __init__(self, store: Store, workspace: int) -> None:
        self._store = store
        self._workspace = workspace

    def record(self, record: UsageRecord) -> None:
        """Store one usage record."""
        with self._store.write(self._workspace) as unit:
            (fresh,) = register(unit, "usage", record.at)
            unit.send(
                "kernel.usage_add",
                id=fresh,
                at=to_micros(record.at),
                model=record.model,
                role=record.role,
                purpose=record.purpose,
                input=record.usage.input,
                output=record.usage.output,
                cache_read=record.usage.cached_read,
                cache_write=record.usage.cached_written,
                micro_dollars=None if record.dollars is None else round(record.dollars * _MICRO),
                milliseconds=record.milliseconds,
                error=record.error,
            )

    def spent(self, since: datetime, until: datetime) -> list[Expense]:
        """Sum the spending in a period, by model, role and purpose."""
        with self._store.read(self._workspace) as unit:
            rows = unit.all("kernel.usage_sum", **{"from": to_micros(since), "until": to_micros(until)})
        return [_spent_from(row) for row in rows]

    def spent_today(self, now: datetime, zone: ZoneInfo) -> float:
        """Sum the dollars spent on the current day of a time zone; calls without a known price count as zero."""
        # From midnight to midnight: where clocks change, a day has 23 or 25 hours.
        day = now.astimezone(zone).date()
        spent = self.spent(begins(day, zone), begins(day + timedelta(days=1), zone))
        return sum(each.dollars or 0.0 for each in spent)

    def daily(self, since: datetime, until: datetime, zone: ZoneInfo) -> list[tuple[date, Expense]]:
        """Sum the spending on each day of a time zone, by model, role and purpose; days without any are left out."""
        found: list[tuple[date, Expense]] = []
        with self._store.read(self._workspace) as unit:
            for span in spans_between(since, until, zone):
                asked = {"from": to_micros(span.begin), "until": to_micros(span.end)}
                if span.shift is None:
                    found += [(span.day, _spent_from(row)) for row in unit.all("kernel.usage_sum", **asked)]
                    continue
                shift = span.shift // timedelta(microseconds=1)
                for row in unit.all("kernel.usage_days", shift=shift, **asked):
                    found.append((date.fromordinal(_EPOCH + row["day"]), _spent_from(row)))
        return found


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days that are equally long, `shift` ahead of UTC; a day on which the clocks change is one of its own, without."""

    day: date
    begin: datetime
    end: datetime
    shift: timedelta | None


def spans_between(since: datetime, until: datetime, zone: ZoneInfo) -> list[DaySpan]:
    """Divide a period into as few spans as possible, so that a store which knows no zone can sum each by days."""
    spans: list[DaySpan] = []
    day = since.astimezone(zone).date()
    while (begin := max(since, begins(day, zone))) < until:
        first, second = begins(day, zone), begins(day + _DAY, zone)
        shift = first.utcoffset() if first.utcoffset() == second.utcoffset() else None
        end = min(until, second)
        if spans and shift is not None and spans[-1].shift == shift:
            spans[-1] = replace(spans[-1], end=end)
        else:
            spans.append(DaySpan(day, begin, end, shift))
        day += _DAY
    return spans


def _spent_from(row: Row) -> Expense:
    """Read a sum from a row; an engine may return sums as decimals."""
    tokens = {f"{name}_tokens": int(row[f"{name}_tokens"]) for name in ("input", "output", "cache_read", "cache_write")}
    dollars = None if row["micro_dollars"] is None else float(row["micro_dollars"]) / _MICRO
    return value_from(Expense, row, dollars=dollars, **tokens)


def added(parts: Iterable[Expense]) -> Expense:
    """Add up expenses; a name that is not the same in all of them is left empty."""
    all_parts = list(parts)
    prices = [each.dollars for each in all_parts if each.dollars is not None]
    return Expense(
        _one_of(each.model for each in all_parts),
        _one_of(each.role for each in all_parts),
        _one_of(each.purpose for each in all_parts),
        sum(each.calls for each in all_parts),
        sum(each.failures for each in all_parts),
        sum(each.input_tokens for each in all_parts),
        sum(each.output_tokens for each in all_parts),
        sum(each.cache_read_tokens for each in all_parts),
        sum(each.cache_write_tokens for each in all_parts),
        sum(prices) if prices else None,
        sum(each.unpriced for each in all_parts),
    )


def _one_of(names: Iterable[str]) -> str:
    """Return the name that all share, or an empty string."""
    found = set(names)
    return found.pop() if len(found) == 1 else ""


def begins(day: date, zone: ZoneInfo) -> datetime:
    """Return when a day begins in a time zone."""
    return datetime(day.year, day.month, day.day, tzinfo=zone)
