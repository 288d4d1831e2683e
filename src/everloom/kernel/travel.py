"""Workspaces on their way: into this store, where nobody sees them until they are whole, and out of it.

Owns the states of a workspace that comes or goes and the order in which they follow each other. Refuses to know what
travels: whoever moves a workspace fills it and empties it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import uuid4

from everloom.clock import Clock, from_micros, to_micros
from everloom.errors import Conflict
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.work.lease import Lease, Leases
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.store import Row, Store
from everloom.store.contract import Numbers
from everloom.store.transfer import WORD_SPAN, erase

# The lease under which one process fills a workspace: when it dies, another one may clear what it left.
FILLING = "fill"
# A table that refers to itself is filled in one transaction, and while that lasts nothing can be extended.
_LASTING = timedelta(minutes=2)
# No name contains it, so that nobody can ask for a workspace that is arriving.
_HIDDEN = "\x01"


@dataclass(frozen=True, slots=True)
class Traveller:
    """A workspace that comes, goes, has come or has gone."""

    info: WorkspaceInfo
    state: Literal["arriving", "here", "leaving", "gone"]
    journey: str | None
    destination: str | None
    departed_at: datetime | None
    word_base: int

    def must_go_to(self, destination: str) -> None:
        """Refuse to go on with a journey to another place than the one where it began to go."""
        if self.state == "leaving" and self.destination != destination:
            raise Conflict(
                f"{self.info.name!r} is already on its way to {self.destination}",
                hint="end that move with the same words, or give it up with --stay",
            )


class Travel:
    """The comings and goings of one store's workspaces."""

    def __init__(self, store: Store, clock: Clock, holder: str) -> None:
        self._store = store
        self._clock = clock
        self._leases = Leases(store, clock, holder)

    def travellers(self) -> list[Traveller]:
        """List the workspaces that are or were on their way."""
        with self._store.read(NOWHERE) as unit:
            return [_traveller_from(row) for row in unit.all("kernel.workspace_journeys")]

    def taken(self, name: str) -> bool:
        """Check whether a workspace of this name is here; one that has gone elsewhere may come back."""
        with self._store.read(NOWHERE) as unit:
            row = unit.one("kernel.workspace_by_key", name_key=name_key(checked_name(name, "the workspace's name")))
        return row is not None and row["state"] != "gone"

    def arrive(self, info: WorkspaceInfo, journey: str | None = None) -> tuple[WorkspaceInfo, Lease]:
        """Make an empty workspace that nobody sees, with an id of its own, and the right to fill it."""
        wanted = checked_name(info.name, "the workspace's name")
        with self._store.write(NOWHERE) as unit:
            (fresh,) = unit.ids(1)
            last = max((row["word_base"] for row in unit.all("kernel.workspace_journeys")), default=0)
            unit.send(
                "kernel.workspace_arrive",
                id=fresh,
                name=wanted,
                name_key=f"{_HIDDEN}{fresh}",
                description=info.description,
                time_zone=info.time_zone,
                created_at=to_micros(info.created_at),
                journey=journey,
                word_base=last + WORD_SPAN,
            )
        lease = self._leases.take(fresh, FILLING, lasting=_LASTING)
        if lease is None:
            raise Conflict("another process took the workspace that was just made", hint="try again")
        return WorkspaceInfo(fresh, wanted, info.description, info.time_zone, info.created_at), lease

    def show(self, info: WorkspaceInfo, lease: Lease, last_id: int) -> None:
        """Show a workspace that is whole under its name, in one step; its later ids will be above all that it has."""
        with self._store.write(info.id) as unit:
            lease.guard(unit)
            unit.count_on(Numbers(last_id, 0))
            unit.send("kernel.lease_remove", task=FILLING)
            unit.send("kernel.workspace_give_up", name_key=name_key(info.name))
            if unit.one("kernel.workspace_by_key", name_key=name_key(info.name)) is not None:
                raise Conflict(f"there is already a workspace called {info.name!r}", hint="choose another name: --as")
            unit.send("kernel.workspace_arrived", name_key=name_key(info.name))

    def clear(self, info: WorkspaceInfo) -> None:
        """Delete a workspace that did not arrive."""
        with self._store.write(info.id) as unit:
            erase(unit)
            unit.send("kernel.workspace_drop")

    def strays(self) -> list[WorkspaceInfo]:
        """List the workspaces that were arriving when the process that filled them died."""
        arriving = [each.info for each in self.travellers() if each.state == "arriving"]
        # Whoever can take the right to fill one finds that nobody does.
        return [info for info in arriving if self._leases.take(info.id, FILLING, lasting=_LASTING) is not None]

    def leave(self, info: WorkspaceInfo, destination: str) -> str:
        """Close a workspace for writing, because it goes elsewhere; returns the journey, or that of an earlier try."""
        for each in self.travellers():
            if each.info.id == info.id and each.state == "leaving" and each.journey is not None:
                each.must_go_to(destination)
                return each.journey
        journey = uuid4().hex
        with self._store.write(info.id) as unit:
            unit.send("kernel.workspace_leave", journey=journey, destination=destination)
        return journey

    def stay(self, info: WorkspaceInfo) -> bool:
        """Open a workspace again that was to leave; false if it was not."""
        with self._store.write(info.id, is_moving=True) as unit:
            return bool(unit.run("kernel.workspace_stay"))

    def depart(self, info: WorkspaceInfo) -> None:
        """Empty a workspace that has arrived elsewhere; its name stays and says where it went."""
        with self._store.write(info.id, is_moving=True) as unit:
            erase(unit)
            unit.send("kernel.workspace_left", at=to_micros(self._clock.now()))

    def settle(self, info: WorkspaceInfo) -> None:
        """Forget by which journey a workspace came."""
        with self._store.write(info.id) as unit:
            unit.send("kernel.workspace_settled")


def _traveller_from(row: Row) -> Traveller:
    info = WorkspaceInfo(row["id"], row["name"], row["description"], row["time_zone"], from_micros(row["created_at"]))
    departed = None if row["departed_at"] is None else from_micros(row["departed_at"])
    return Traveller(info, row["state"], row["journey"], row["destination"], departed, row["word_base"])
