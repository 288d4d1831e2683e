"""Consolidation by a model as background work: when it is due, and one run of it under a lease.

Nothing is due unless somebody switched it on, and not while a conversation is going on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.tasks import Lease, Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Thinker
from everloom.semantic.consolidation.driver import Bounds, Pass, Passed
from everloom.semantic.consolidation.material import Estimate
from everloom.semantic.consolidation.report import pending_count
from everloom.semantic.ground import Ground, state_of
from everloom.semantic.recall.stats import count
from everloom.store.contract import FOREVER

# Whoever is still talking will say more: waiting costs nothing, consolidating twice does.
QUIET = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Means:
    """How a task comes by what it needs: a workspace's ground, somebody who thinks, and a measure of texts."""

    ground: Callable[[WorkspaceInfo], Ground]
    thinker: Callable[[WorkspaceInfo], Thinker | None]
    estimate: Estimate


class Consolidation:
    """The task `consolidate`; `passed` tells what its last run did, also when that failed."""

    name = "consolidate"

    def __init__(self, means: Means, bounds: Bounds | None = None) -> None:
        self._means = means
        self._bounds = bounds or Bounds()
        self.passed: Passed | None = None

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what waits, once every session has been quiet for a while."""
        ground = self._means.ground(workspace)
        with ground.read() as unit:
            lately = to_micros(ground.clock.now() - QUIET)
            bounds = {"started_from": -FOREVER, "started_until": FOREVER}
            if unit.all("kernel.session_recent", seen_from=lately, limit=1, **bounds):
                return 0
            waiting = pending_count(unit) + count(unit, "consolidation.session_waiting_count")
            return waiting + (1 if state_of(unit).is_open else 0)

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Make a pass, or go on with the one that is open; a model that is down is a failure, and the task rests."""
        thinker = self._means.thinker(workspace)
        if thinker is None:
            raise Rejected("no language model is configured", hint="set llm.large")
        going = Pass(self._means.ground(workspace), thinker, lease, self._means.estimate, self._bounds)
        self.passed = going.run(progress)
        if going.cause is not None:
            raise going.cause
        return Report(len(self.passed.taken), report_of(self.passed))


def report_of(passed: Passed) -> dict[str, object]:
    """Write a run for the list of jobs."""
    return {
        **passed.counts,
        "generation": passed.generation,
        "finished": passed.finished,
        "stopped": passed.stopped,
        "left": passed.left,
        "tokens": passed.spent.tokens,
        "dollars": passed.spent.dollars,
    }
