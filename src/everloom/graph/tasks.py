"""The daily background tasks of every graph: decay, then CORE.md, then REFLECTION.md, if there is news for them.

Each graph's row records when each task last ran, so a worker that dies loses no work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from everloom.clock import Clock, from_micros
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Row, Store

if TYPE_CHECKING:
    from everloom.graph.graphs import Graphs
    from everloom.graph.verbs import Graph

_FindGraphs = Callable[[WorkspaceInfo], "Graphs"]


@dataclass(frozen=True, slots=True)
class _DailyGraphTask:
    """A task that runs once a day for each graph, by the local date; `column` holds the time of its last run."""

    name: str
    column: str
    act: Callable[[Graph], object]
    graphs: _FindGraphs
    store: Store
    clock: Clock

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the graphs for which it has not run today."""
        return len(self._waiting(workspace))

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when the next day begins in the workspace's time zone; None without a graph."""
        with self.store.read(workspace.id) as unit:
            if not unit.all("graph.graph_all"):
                return None
        day = self.clock.now().astimezone(workspace.zone).date() + timedelta(days=1)
        return datetime.combine(day, time(), tzinfo=workspace.zone).astimezone(UTC)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Run it for each waiting graph while the lease has time."""
        graphs, done = self.graphs(workspace), 0
        for row in self._waiting(workspace):
            if not lease.has_time():
                break
            lease.extend()
            self.act(graphs.open(row["name"]))
            done += 1
            progress(1)
        return Report(done)

    def _waiting(self, workspace: WorkspaceInfo) -> list[Row]:
        today = self.clock.now().astimezone(workspace.zone).date()
        with self.store.read(workspace.id) as unit:
            rows = unit.all("graph.graph_all")

        def last_day(row: Row) -> date:
            at = row[self.column]
            return date.min if at is None else from_micros(at).astimezone(workspace.zone).date()

        return [row for row in rows if last_day(row) != today]


def _tend_core(graph: Graph) -> object:
    from everloom.graph.pages.core import write_core  # noqa: PLC0415  a check for due work loads no YAML

    return write_core(graph.opened, is_daily=True)


def _tend_reflection(graph: Graph) -> object:
    from everloom.graph.pages.reflection import write_reflection  # noqa: PLC0415  as above

    return write_reflection(graph.opened, is_daily=True)


def daily_tasks(graphs: _FindGraphs, store: Store, clock: Clock) -> list[_DailyGraphTask]:
    """List the daily tasks in the order in which they run."""
    return [
        _DailyGraphTask("graph-decay", "decayed_at", lambda graph: graph.decay(), graphs, store, clock),
        _DailyGraphTask("graph-core", "cored_at", _tend_core, graphs, store, clock),
        _DailyGraphTask("graph-reflection", "mirrored_at", _tend_reflection, graphs, store, clock),
    ]
