"""The daily round as background work: decay, then CORE.md, then REFLECTION.md, each once a day for each graph.

What is due is read off the graphs' own rows, so a worker that dies loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from everloom.clock import Clock, from_micros
from everloom.kernel.tasks import Lease, Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Row, Store

if TYPE_CHECKING:
    from everloom.graph.graph import Graph
    from everloom.graph.graphs import Graphs

Find = Callable[[WorkspaceInfo], "Graphs"]


@dataclass(frozen=True, slots=True)
class Daily:
    """A task that every graph needs once a day, by the workspace's calendar."""

    name: str
    column: str
    act: Callable[[Graph], object]
    graphs: Find
    store: Store
    clock: Clock

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the graphs for which it was not done today."""
        return len(self._waiting(workspace))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Do it for one graph after another."""
        graphs, done = self.graphs(workspace), 0
        for row in self._waiting(workspace):
            if not lease.has_time():
                break
            with self.store.write(workspace.id) as unit:
                lease.guard(unit)
            self.act(graphs.open(row["name"]))
            done += 1
            progress(1)
        return Report(done)

    def _waiting(self, workspace: WorkspaceInfo) -> list[Row]:
        today = self._day(self.clock.now(), workspace)
        with self.store.read(workspace.id) as unit:
            rows = unit.all("graph.graph_all")
        return [
            row
            for row in rows
            if row[self.column] is None or self._day(from_micros(row[self.column]), workspace) < today
        ]

    def _day(self, at: datetime, workspace: WorkspaceInfo) -> str:
        return f"{at.astimezone(workspace.zone):%Y-%m-%d}"


def daily_tasks(graphs: Find, store: Store, clock: Clock) -> list[Daily]:
    """List the daily round in its order."""
    return [
        Daily("graph-decay", "decayed_at", lambda graph: graph.tending.decay(), graphs, store, clock),
        Daily("graph-core", "cored_at", lambda graph: graph.core(), graphs, store, clock),
        Daily("graph-reflection", "mirrored_at", lambda graph: graph.reflection(), graphs, store, clock),
    ]
