"""What models cost a workspace: usage records, kept beside everything else and summed on request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mindloom.clock import to_micros
from mindloom.kernel.journal import register
from mindloom.models.usage import UsageRecord
from mindloom.store import Store

MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model took in one role for one purpose; `dollars` is None when its price is not known."""

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


class Ledger:
    """The usage records of one workspace."""

    def __init__(self, store: Store, workspace: int) -> None:
        self._store = store
        self._workspace = workspace

    def record(self, record: UsageRecord) -> None:
        """Keep one record."""
        with self._store.write(self._workspace) as unit:
            (fresh,) = register(unit, "usage", record.at)
            unit.run(
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
                micro_dollars=None if record.dollars is None else round(record.dollars * MICRO),
                milliseconds=record.milliseconds,
                error=record.error,
            )

    def spent(self, since: datetime, until: datetime) -> list[Spent]:
        """Sum what was spent in a span of time, by model, role and purpose."""
        with self._store.read(self._workspace) as unit:
            rows = unit.all("kernel.usage_sum", **{"from": to_micros(since), "until": to_micros(until)})
        return [
            Spent(
                row["model"],
                row["role"],
                row["purpose"],
                row["calls"],
                row["failures"],
                int(row["input_tokens"]),
                int(row["output_tokens"]),
                int(row["cache_read_tokens"]),
                int(row["cache_write_tokens"]),
                None if row["micro_dollars"] is None else float(row["micro_dollars"]) / MICRO,
            )
            for row in rows
        ]
