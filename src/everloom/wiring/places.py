"""Where the files of a workspace are: its graphs, notes and attachments, and what becomes of them when it is removed.

The data directory has one folder for each store, named by the store's identity, and in it one for each workspace, named
by its id. Names of workspaces never name a directory, because two different names may become one on a file system. A
directory that a setting names is used as it is. Refuses to know what the files hold.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING
from uuid import uuid4

from everloom.errors import Rejected
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo, Workspaces
from everloom.settings import Settings
from everloom.store import Store
from everloom.store.claims import Owner, check_original, label, original_of
from everloom.store.engine import refuse_write
from everloom.store.files import make_private

if TYPE_CHECKING:
    from everloom.graph import GraphPlaces

_STORES, _GRAPHS, _NOTES, _ATTACHMENTS = "stores", "graphs", "notes", "attachments"
_TYPED = "chat_history"
_REMOVED = ".removed-"
_IDENTITY_BYTES = 8
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class RemovedWorkspace:
    """A workspace that was removed, the directories that went with it, and those that were kept."""

    workspace: WorkspaceInfo
    removed: tuple[Path, ...]
    kept: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class SeparatedStore:
    """A copy that became a store of its own: from what, which directories it has now, and which it does not have."""

    identity: str
    original: Path
    copied: tuple[Path, ...]
    kept: tuple[Path, ...]


class Places:
    """The directories of one store's workspaces."""

    def __init__(self, home: Path, settings: Settings, store: Store, workspaces: Workspaces) -> None:
        # Real paths, because graphs record theirs.
        self.home = Path(os.path.realpath(home))
        self._settings = settings
        self._store = store
        self._workspaces = workspaces

    @property
    def of_store(self) -> Path:
        """Return the directory that holds the files of this store."""
        return self.home / _STORES / self._workspaces.store_identity

    def of(self, workspace: WorkspaceInfo) -> Path:
        """Return the directory that holds the files of a workspace."""
        return self.of_store / str(workspace.id)

    def notes(self, workspace: WorkspaceInfo) -> Path:
        """Return the directory of a workspace's notes; `mind.notes` sets that of the usual workspace."""
        chosen = self._settings.mind.notes if self._is_usual(workspace) else None
        return chosen or self.of(workspace) / _NOTES

    def attachments(self, workspace: WorkspaceInfo) -> Path:
        """Return the directory of the files that came with a workspace's messages."""
        return self.of(workspace) / _ATTACHMENTS

    def typed(self, workspace: WorkspaceInfo) -> Path:
        """Return the file of the lines that were typed at a workspace's terminal."""
        return self.of(workspace) / _TYPED

    def former_notes(self, workspace: WorkspaceInfo) -> Path:
        """Return where earlier versions put the notes of a workspace, by its name."""
        folded = unicodedata.normalize("NFKD", workspace.name)
        letters = "".join(char for char in folded if not unicodedata.combining(char))
        plain = _UNSAFE.sub("-", letters.lower()).strip("-")[:60].rstrip("-")
        return self.home / _NOTES / (plain if plain == workspace.name else f"{plain}_{workspace.id}")

    def graphs(self, workspace: WorkspaceInfo) -> GraphPlaces:
        """Return where the graphs of a workspace are; `graph.directory` sets that of the usual workspace's default."""
        from everloom.graph import GraphPlaces  # noqa: PLC0415  a search alone needs none

        return GraphPlaces(
            home=self.of(workspace) / _GRAPHS,
            default=self._settings.graph.directory if self._is_usual(workspace) else None,
            former=self.home / _GRAPHS,
            owner=self.owner(workspace),
            count_sharers=self._count_sharers,
            prepare_home=lambda: self._prepare(workspace),
        )

    def owner(self, workspace: WorkspaceInfo) -> Owner:
        """Return by what a workspace's directories are known to be its own."""
        return Owner(
            self._workspaces.store_identity, workspace.id, workspace.name, database=self._database, home=self.of_store
        )

    @property
    def _database(self) -> Path | None:
        file = Path(os.path.realpath(self._store.address)) if self._store.engine == "sqlite" else None
        return file if file is not None and file.is_file() else None

    def _prepare(self, workspace: WorkspaceInfo) -> None:
        check_original(self.owner(workspace))
        label(self.of(workspace), workspace.name)

    @property
    def original(self) -> Path | None:
        """Return the database of which this one is a copy, so that the files are not its own; None if it is none."""
        owner = Owner(self._workspaces.store_identity, 0, "", database=self._database, home=self.of_store)
        return original_of(
            owner, (place for each in self._workspaces.list() for place in self._graphs_of(each).values())
        )

    def _graphs_of(self, workspace: WorkspaceInfo) -> dict[int, Path]:
        with self._store.read(workspace.id) as unit:
            return {row["id"]: Path(row["directory"]) for row in unit.all("graph.graph_all")}

    def relabel(self, workspace: WorkspaceInfo) -> None:
        """Write a workspace's new name into the directory of its files, if there is one."""
        if self.of(workspace).is_dir() and self.original is None:
            label(self.of(workspace), workspace.name)

    def directories(self, workspace: WorkspaceInfo) -> list[Path]:
        """List the directories of a workspace's graphs, notes and attachments that exist."""
        with self._store.read(workspace.id) as unit:
            graphs = [Path(row["directory"]) for row in unit.all("graph.graph_all")]
            has_notes = bool(unit.all("notes.note_all"))
        notes = [self.notes(workspace), *([self.former_notes(workspace)] if has_notes else [])]
        known = dict.fromkeys([*graphs, *notes, self.attachments(workspace)])
        return [each for each in known if each.is_dir()]

    def choose_removable(self, workspace: WorkspaceInfo) -> list[Path]:
        """Choose the directories that only this workspace uses and that were made for it, not chosen by a person."""
        if self.original is not None:
            return []
        made = (self.home / _GRAPHS, self.home / _NOTES, self.of(workspace))
        return [
            each
            for each in self.directories(workspace)
            if any(each.is_relative_to(top) for top in made) and self._count_sharers(each) <= 1
        ]

    def remove(self, workspace: WorkspaceInfo, directories: Iterable[Path]) -> list[Path]:
        """Delete directories, and the one that holds the files of a workspace; returns those that are gone."""
        own = () if self.original is not None else (self.of(workspace),)
        wanted = [each for each in (*directories, *own) if each.is_dir()]
        for each in wanted:
            # Renamed first: a crash or an open file half way leaves nothing that looks like a workspace's files.
            aside = each.with_name(f"{_REMOVED}{uuid4().hex[:8]}")
            with suppress(OSError):
                each.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)
        return [each for each in wanted if not each.exists()]

    def separate(self) -> SeparatedStore:
        """Make a copied database a store of its own: with a new identity, and copies of the files it shared.

        The files of notes are written again from the store when they are next opened.
        """
        if self._store.is_read_only:
            raise refuse_write(self._store.address)
        original = self.original
        if original is None:
            raise Rejected(
                "this database is not a copy of another one here", hint="its files are its own; there is nothing to do"
            )
        fresh = token_hex(_IDENTITY_BYTES)
        new = self.home / _STORES / fresh
        copied: list[Path] = []
        kept: list[Path] = []
        for workspace in self._workspaces.list():
            places = self._graphs_of(workspace)
            moves = {graph: new / own for graph, place in places.items() if (own := self._own_part(place)) is not None}
            kept += [place for graph, place in places.items() if graph not in moves]
            for graph, target in moves.items():
                _copy_private(places[graph], target)
                copied.append(target)
            if (own := self.attachments(workspace)).is_dir():
                _copy_private(own, new / str(workspace.id) / _ATTACHMENTS)
                copied.append(new / str(workspace.id) / _ATTACHMENTS)
            # Before the identity: whoever is interrupted here is still a copy, and begins again.
            with self._store.write(workspace.id) as unit:
                for graph, target in moves.items():
                    unit.send("graph.graph_move", id=graph, directory=str(target))
        with self._store.write(NOWHERE) as unit:
            unit.send("kernel.identify", id=fresh)
            # Other processes that have this file open know its old identity, and must not go on with it.
            unit.send("kernel.reincarnate", incarnation=uuid4().hex)
        return SeparatedStore(fresh, original, tuple(copied), tuple(kept))

    def _own_part(self, directory: Path) -> Path | None:
        """Return the part of a path below the directory of this store, in whatever data directory; None outside."""
        parts, own = directory.parts, (_STORES, self._workspaces.store_identity)
        at = next((at for at in range(len(parts) - 1) if parts[at : at + 2] == own), None)
        return None if at is None else Path(*parts[at + 2 :])

    def leftovers(self) -> list[Path]:
        """List directories of workspaces that were removed while something kept their files from being deleted."""
        known = {str(each.id) for each in self._workspaces.list()}
        with self._store.read(NOWHERE) as unit:
            # One that is just being filled has files before anybody sees it.
            known |= {str(row["id"]) for row in unit.all("kernel.workspace_journeys") if row["state"] == "arriving"}
        if not self.of_store.is_dir():
            return []
        return sorted(each for each in self.of_store.iterdir() if each.is_dir() and each.name not in known)

    def _count_sharers(self, directory: Path) -> int:
        """Count the graphs of the whole store that are recorded in a directory."""
        count = 0
        for each in self._workspaces.list():
            with self._store.read(each.id) as unit:
                count += sum(row["directory"] == str(directory) for row in unit.all("graph.graph_all"))
        return count

    def _is_usual(self, workspace: WorkspaceInfo) -> bool:
        return workspace.name == self._settings.workspace.name


def _copy_private(source: Path, target: Path) -> None:
    """Copy a directory that may not exist, readable by its owner only."""
    if not source.is_dir():
        return
    make_private(target.parent)
    # Links stay links: what they lead to is not ours to copy. Files keep their modes, which are private.
    shutil.copytree(source, target, symlinks=True)
