"""What the operations of a graph work with: its index, its files, its clock, and the turn to write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from everloom.graph.files.changeset import Bench
from everloom.graph.files.disk import Disk
from everloom.graph.files.plan import Append
from everloom.graph.index.catalog import Catalog, Ground
from everloom.graph.operations.executor import Carrier
from everloom.graph.pages.episodes import Episode, path_of, written
from everloom.store import Row


@dataclass(frozen=True, slots=True)
class Desk:
    """What operations work with."""

    ground: Ground
    catalog: Catalog
    carrier: Carrier
    local: Callable[[datetime], datetime]

    def row(self, identity: str | int) -> Row:
        """Find a memory's row."""
        with self.ground.store.read(self.ground.workspace) as unit:
            return self.catalog.find(unit, identity)

    def turn(self) -> AbstractContextManager[None]:
        """Be the only writer for a block."""
        return self.carrier.turn()

    def bench(self) -> Bench:
        """Clear a workbench."""
        return Bench(self.ground.disk)

    @property
    def disk(self) -> Disk:
        """Give the directory."""
        return self.ground.disk

    @property
    def now(self) -> datetime:
        """Say the time."""
        return self.ground.clock.now()

    def attached(self, uuid: str) -> tuple[list[Row], list[Row]]:
        """Find the edges of a memory, and the memories that name it."""
        with self.ground.store.read(self.ground.workspace) as unit:
            edges = unit.all("graph.edge_of", graph=self.ground.graph, uuid=uuid)
            others = unit.all("graph.relation_to", graph=self.ground.graph, uuid=uuid)
        return edges, list({row["uuid"]: row for row in others}.values())

    def entry(self, episode: Episode) -> Append:
        """Plan an entry in today's episodes."""
        at = self.local(self.now)
        path = path_of(at)
        held = self.disk.read(path)
        return Append(path, len(held or b""), written(episode, at, is_first=not held))
