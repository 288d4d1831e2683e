"""Background work: the engine's own upkeep, when a workspace has grown by enough to be worth it."""

from __future__ import annotations

import json

from everloom.kernel.tasks import Lease, Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Store

# Below so many new documents, or this share of all, indexes and statistics are as good as new.
FEWEST = 1_000
SHARE = 0.2


class Upkeep:
    """The task `tend`."""

    name = "tend"

    def __init__(self, store: Store) -> None:
        self._store = store

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the documents since the last upkeep, once they are many."""
        with self._store.read(workspace.id) as unit:
            tally, lease = unit.one("words.tally_get"), unit.one("kernel.lease_get", task=self.name)
        documents = 0 if tally is None else int(tally["documents"])
        tended = json.loads(lease["last_report"])["documents"] if lease is not None and lease["last_report"] else 0
        grown = abs(documents - tended)
        return grown if grown >= max(FEWEST, SHARE * tended) else 0

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Let the engine tend the workspace; its steps are its own transactions."""
        with self._store.write(workspace.id) as unit:
            lease.guard(unit)
            tally = unit.one("words.tally_get")
        done = self._store.tend(workspace.id)
        documents = 0 if tally is None else int(tally["documents"])
        progress(documents)
        return Report(len(done), {"documents": documents, "tended": done})
