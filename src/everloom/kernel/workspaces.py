"""Workspaces, the unit of isolation: a Being, a user, a project.

Owns their names and time zones, and which of them may send messages to which. Refuses to know their content, which
belongs to the faculties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from everloom.clock import Clock, from_micros, to_micros, zone_named
from everloom.errors import Conflict, Forbidden, NotFound, WorkspaceGone
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.verbs import ADDS, ERASES, measured
from everloom.store import Row, Store
from everloom.store.transfer import erase

# The workspace id of units of work that concern the store itself; no row ever belongs to it.
NOWHERE = 0


@dataclass(frozen=True, slots=True)
class WorkspaceInfo:
    """The properties of a workspace itself."""

    id: int
    name: str
    description: str
    time_zone: str
    created_at: datetime

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which its times are shown."""
        return zone_named(self.time_zone)


@dataclass(frozen=True, slots=True)
class Grant:
    """The permission of a workspace that another one may send it messages."""

    receiver: str
    sender: str
    granted_at: datetime


class Workspaces:
    """Every workspace of a store, by name."""

    def __init__(self, store: Store, clock: Clock, time_zone: str) -> None:
        self._store = store
        self._clock = clock
        self._time_zone = time_zone

    @property
    def store(self) -> Store:
        """The store that they are in."""
        return self._store

    @cached_property
    def store_identity(self) -> str:
        """Return which store this is: a random word that names its files."""
        with self._store.read(NOWHERE) as unit:
            (row,) = unit.last("kernel.store_identity")
        return str(row["id"])

    def open(self, name: str) -> WorkspaceInfo:
        """Return a workspace, creating it on first use."""
        # Read first: the usual case, an existing workspace, then needs no write lock.
        try:
            return self.get(name)
        except WorkspaceGone:
            # An empty workspace in its place would look like a memory that has forgotten everything.
            raise
        except NotFound:
            if self._store.is_read_only:
                raise
            return self.create(name, if_missing=True)

    def get(self, name: str) -> WorkspaceInfo:
        """Return an existing workspace."""
        wanted = checked_name(name, "the workspace's name")
        with self._store.read(NOWHERE) as unit:
            row = next(iter(unit.last("kernel.workspace_by_key", name_key=name_key(wanted))), None)
        if row is None:
            raise NotFound(
                f"there is no workspace called {wanted!r}", hint="`everloom workspace list` shows the existing ones"
            )
        _check_here(row)
        return _info_from(row)

    def by_id(self, workspace_id: int) -> WorkspaceInfo | None:
        """Return the workspace that has an id, or None."""
        with self._store.read(NOWHERE) as unit:
            return next(map(_info_from, unit.last("kernel.workspace_by_id", id=workspace_id)), None)

    def list(self) -> list[WorkspaceInfo]:
        """List every workspace, oldest first."""
        with self._store.read(NOWHERE) as unit:
            return [_info_from(row) for row in unit.last("kernel.workspace_all")]

    @measured(ADDS)
    def create(
        self, name: str, *, description: str = "", time_zone: str | None = None, if_missing: bool = False
    ) -> WorkspaceInfo:
        """Create a workspace; with `if_missing`, return the existing one instead of raising."""
        wanted = checked_name(name, "the workspace's name")
        zone = zone_named(time_zone or self._time_zone).key
        with self._store.write(NOWHERE) as unit:
            (fresh,) = unit.ids(1)
            made = unit.run(
                "kernel.workspace_add",
                id=fresh,
                name=wanted,
                name_key=name_key(wanted),
                description=description,
                time_zone=zone,
                at=to_micros(self._clock.now()),
            )
            # Whoever came first has made it: two processes may open the same new name at once.
            row = unit.one("kernel.workspace_by_key", name_key=name_key(wanted))
        if row is not None:
            _check_here(row)
        if not made and not if_missing:
            raise Conflict(f"there is already a workspace called {wanted!r}", hint="choose another name", current=row)
        if row is None:
            raise NotFound(f"the workspace {wanted!r} was removed at the same time", hint="try again")
        return _info_from(row)

    def change(
        self, name: str, *, new_name: str | None = None, description: str | None = None, time_zone: str | None = None
    ) -> WorkspaceInfo:
        """Change the name, the description or the time zone of a workspace."""
        known = self.get(name)
        wanted = checked_name(new_name, "the new name") if new_name is not None else known.name
        zone = zone_named(time_zone).key if time_zone is not None else known.time_zone
        text = known.description if description is None else description
        with self._store.write(known.id) as unit:
            taken = unit.one("kernel.workspace_by_key", name_key=name_key(wanted))
            if taken is not None and taken["id"] != known.id:
                raise Conflict(f"there is already a workspace called {wanted!r}", hint="choose another name")
            unit.send(
                "kernel.workspace_change", name=wanted, name_key=name_key(wanted), description=text, time_zone=zone
            )
        return WorkspaceInfo(known.id, wanted, text, zone, known.created_at)

    def free(self, name: str) -> bool:
        """Forget a workspace that has moved to another store, so that its name can be used again; false if none has."""
        with self._store.write(NOWHERE) as unit:
            return bool(unit.run("kernel.workspace_give_up", name_key=name_key(checked_name(name, "the name"))))

    @measured(ERASES)
    def remove(self, name: str) -> WorkspaceInfo:
        """Delete a workspace and everything in it, in one transaction; answers with what it was."""
        known = self.get(name)
        with self._store.write(known.id) as unit:
            erase(unit)
            unit.send("kernel.workspace_drop")
        return known

    def allow(self, receiver: WorkspaceInfo, sender: str) -> Grant:
        """Let another workspace send messages to this one; a grant that exists already stays as it is."""
        known = self.get(sender)
        with self._store.write(receiver.id) as unit:
            unit.send("kernel.grant_add", sender=known.id, at=to_micros(self._clock.now()))
            row = next(row for row in unit.all("kernel.grant_all") if row["sender"] == known.id)
        return _grant_from(receiver, row)

    def grants(self, receiver: WorkspaceInfo) -> Sequence[Grant]:
        """List the workspaces whose messages this one takes, oldest grant first."""
        with self._store.read(receiver.id) as unit:
            return [_grant_from(receiver, row) for row in unit.all("kernel.grant_all")]

    def disallow(self, receiver: WorkspaceInfo, sender: str) -> Grant:
        """Take no more messages from another workspace."""
        wanted = name_key(checked_name(sender, "the sender's name"))
        with self._store.write(receiver.id) as unit:
            row = next((row for row in unit.all("kernel.grant_all") if name_key(row["name"]) == wanted), None)
            if row is None:
                hint = "`everloom workspace grants` shows whom it allows"
                raise NotFound(f"{receiver.name!r} takes no messages from {sender!r}", hint=hint)
            unit.send("kernel.grant_drop", sender=row["sender"])
        return _grant_from(receiver, row)

    def receiver(self, name: str, sender: WorkspaceInfo) -> WorkspaceInfo:
        """Return the workspace of a name if it takes messages from the sender.

        A name that does not exist and one that does not allow it cost the same two reads and raise the same error, so
        that nobody learns from here which workspaces there are.
        """
        wanted = checked_name(name, "the receiver's name")
        with self._store.read(NOWHERE) as unit:
            row = unit.one("kernel.workspace_by_key", name_key=name_key(wanted))
        with self._store.read(NOWHERE if row is None else row["id"]) as unit:
            grant = unit.one("kernel.grant_get", sender=sender.id)
        if row is None or grant is None or row["state"] == "gone":
            hint = f"whoever owns {wanted!r} can allow it: `everloom workspace allow NAME`, with the sender's name"
            raise Forbidden(f"nobody called {wanted!r} takes messages from here", hint=hint)
        return _info_from(row)


def _check_here(row: Row) -> None:
    """Refuse a workspace of which only the name is left."""
    if row["state"] == "gone":
        raise WorkspaceGone(
            f"the workspace {row['name']!r} has moved to {row['destination']}",
            hint="open it there; `everloom workspace remove` frees its name here",
        )


def _grant_from(receiver: WorkspaceInfo, row: Row) -> Grant:
    """Read a grant from its row."""
    return Grant(receiver.name, row["name"], from_micros(row["at"]))


def _info_from(row: Row) -> WorkspaceInfo:
    """Read a workspace from its row."""
    return WorkspaceInfo(row["id"], row["name"], row["description"], row["time_zone"], from_micros(row["created_at"]))
