"""Cleaning the engine's files of what was forgotten: at once while the store is small, else as background work.

Deleting a row does not erase its bytes: they stay in free pages, in the word index and in the log until the engine
rewrites them. Tombstones record what is still to be cleaned, so nothing is lost by a crash.
"""

from __future__ import annotations

from everloom.clock import Clock, to_micros
from everloom.errors import StoreError
from everloom.kernel.operation import Operation
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Scrubbed, Store

# Rewriting so much takes a few seconds, which a person who waits for an answer accepts.
_AT_ONCE_BYTES = 256_000_000
_LATER = "the store's files, until the next `everloom sleep`, a worker or `everloom forget --clean` has cleaned them"


def clean(op: Operation, *, however_large: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Clean the files, and return what was done and what remains."""
    try:
        done = _scrub(op.store, op.workspace.id, op.clock, None if however_large else _AT_ONCE_BYTES)
    except StoreError as error:
        # What was forgotten is forgotten: a full disk, for example, only keeps its bytes from being overwritten now.
        return (), (f"the store's files, which could not be cleaned yet: {error.message}",)
    return done.steps, done.remains if done.is_done else (*done.remains, _LATER)


def _scrub(store: Store, workspace: int, clock: Clock, at_most: int | None) -> Scrubbed:
    with store.read(workspace) as unit:
        (row,) = unit.all("forgetting.newest_forgetting")
    done = store.scrub(at_most=at_most)
    if done.is_done:
        with store.write(workspace) as unit:
            unit.send("forgetting.scrubbed", at=to_micros(clock.now()), through=row["id"])
    return done


class Cleaning:
    """The task `clean`: cleans the engine's files of what was forgotten and is not clean yet."""

    name = "clean"

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count what was forgotten since the files were last clean."""
        with self._store.read(workspace.id) as unit:
            (row,) = unit.all("forgetting.unscrubbed_count")
        return int(row["count"])

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Clean the files, however large they are."""
        count = self.due(workspace)
        with self._store.write(workspace.id) as unit:
            lease.guard(unit)
        done = _scrub(self._store, workspace.id, self._clock, None)
        progress(count)
        return Report(count if done.is_done else 0, {"cleaned": list(done.steps), "remains": list(done.remains)})
