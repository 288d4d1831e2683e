"""The task `expire`: deletes records whose time is over. Nobody sees them from then on, whether it has run or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from everloom.clock import Clock, from_micros, to_micros
from everloom.kernel.operation import Operation
from everloom.kernel.records.records import discard_items
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Store

_BATCH = 500


class ExpireTask:
    """Deletes what has expired, in steps."""

    name = "expire"

    def __init__(self, store: Store, clock: Clock, operation: Callable[[WorkspaceInfo], Operation]) -> None:
        self._store = store
        self._clock = clock
        self._operation = operation

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what has expired."""
        with self._store.read(workspace.id) as unit:
            row = unit.one("records.record_due", now=to_micros(self._clock.now()))
        return 0 if row is None else int(row["count"])

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when the next record expires."""
        with self._store.read(workspace.id) as unit:
            row = unit.one("records.record_next")
        return None if row is None else from_micros(row["at"])

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Delete one batch after another, each in its own transaction."""
        done = 0
        op = self._operation(workspace).under(lease)
        while lease.has_time():
            with op.write("expire") as tx:
                rows = tx.unit.all("records.record_expired", now=to_micros(tx.at), limit=_BATCH)
                for row in rows:
                    path = {"space": row["space"], "namespace": row["namespace"], "key": row["key"]}
                    tx.unit.send("records.record_drop", **path)
                discard_items(tx, [row["item_id"] for row in rows if row["item_id"] is not None])
            if not rows:
                break
            done += len(rows)
            progress(len(rows))
        return Report(done, {"expired": done})
