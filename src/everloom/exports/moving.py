"""Moving a workspace to another store while others work in the rest of both.

Owns the order of steps: close it for writing, copy it, compare both ends, show it there, empty it here. After a crash
at any step it is whole at one end, and the same command goes on. Refuses to know the format of what is copied.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from everloom.errors import Conflict, NotFound, Rejected, StoreError
from everloom.exports.files import finish_graphs, write_files
from everloom.exports.folder import ExportFolder, HashSink, new_folder, write_manifest
from everloom.exports.reading import Arrival, clear_strays, packed, travel_of
from everloom.exports.results import MoveReport, Told, say_nothing
from everloom.exports.writing import ExportOptions, summary, write_workspace, writer_versions
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.travel import Traveller
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom
from everloom.store.files import make_private

_FOLDER = "workspace"
# Everything, as it is: nothing leaves the hands of whoever owns both stores.
_WHOLE = ExportOptions(vectors=True, with_secrets=True, pages=False)


def move(
    loom: Loom,
    workspace: str,
    target: Loom,
    *,
    as_name: str | None = None,
    tell: str | None = None,
    told: Told = say_nothing,
) -> MoveReport:
    """Move a workspace into another store; here its name stays, and says where it went (`tell`, or the address).

    It can be read but not written meanwhile. Calling it again with the same words ends a move that was interrupted.
    """
    if loom.workspaces.store_identity == target.workspaces.store_identity:
        raise Rejected(f"{target.store.address} is the store that it is in", hint="name another store: --to")
    name = checked_name(as_name or workspace, "the workspace's name")
    place = tell or target.store.address
    destination = place if name_key(name) == name_key(workspace) else f"{place}, as {name!r}"
    return _Move(loom, target, name, destination, told).complete(workspace)


def stay(loom: Loom, workspace: str, target: Loom) -> WorkspaceInfo:
    """Give up a move that was interrupted: the workspace can be written here again."""
    leaving = _traveller(loom, workspace)
    if leaving is None or leaving.state != "leaving":
        raise Conflict(f"{workspace!r} is not being moved", hint="`everloom workspace list` shows what is here")
    if _arrived(target, leaving.journey) is not None:
        hint = "it may have been written to there: end the move with the same words, without --stay"
        raise Conflict(f"{workspace!r} has already arrived in {target.store.address}", hint=hint)
    clear_strays(target)
    travel_of(loom).stay(leaving.info)
    _remove_copy(loom, leaving.journey)
    return leaving.info


def _copy_of(loom: Loom, journey: str) -> Path:
    """Return where the copy is that a journey carries from one store to the other."""
    return loom.places.home / f".moving-{journey}"


def _remove_copy(loom: Loom, journey: str | None) -> None:
    if journey is not None:
        shutil.rmtree(_copy_of(loom, journey), ignore_errors=True)


def _traveller(loom: Loom, workspace: str) -> Traveller | None:
    key = name_key(workspace)
    known = [each for each in travel_of(loom).travellers() if each.state != "arriving"]
    return next((each for each in known if name_key(each.info.name) == key), None)


def _arrived(target: Loom, journey: str | None) -> WorkspaceInfo | None:
    """Find the workspace that a journey brought into a store and showed there."""
    if journey is None:
        return None
    found = travel_of(target).travellers()
    return next((each.info for each in found if each.journey == journey and each.state == "here"), None)


class _Move:
    """One workspace on its way from one store to another."""

    def __init__(self, loom: Loom, target: Loom, name: str, destination: str, told: Told) -> None:
        self._loom = loom
        self._target = target
        self._name = name
        self._destination = destination
        self._told = told
        self._travel = travel_of(loom)
        self._rows = self._files = 0

    def complete(self, workspace: str) -> MoveReport:
        """Do every step that has not been done."""
        before = _traveller(self._loom, workspace)
        if before is not None and before.state == "gone" and before.destination == self._destination:
            # Killed between the rows and the files.
            _remove_copy(self._loom, before.journey)
            self._loom.places.remove(before.info, [])
            return self._report(before.info, (), resumed=True)
        if before is not None:
            before.must_go_to(self._destination)
        info = self._loom.workspaces.get(workspace)
        was_under_way = before is not None and before.state == "leaving"
        journey = before.journey if before is not None and was_under_way else None
        arrived = _arrived(self._target, journey)
        if arrived is None:
            journey = self._carry(info)
            arrived = _arrived(self._target, journey)
        if arrived is None:
            raise NotFound(f"{self._name!r} was removed from {self._target.store.address} meanwhile", hint="try again")
        _remove_copy(self._loom, journey)
        kept = self._empty(info)
        with suppress(StoreError, NotFound):
            # Only a note for a next try, which there will not be.
            travel_of(self._target).settle(arrived)
        return self._report(info, kept, resumed=was_under_way)

    def _carry(self, info: WorkspaceInfo) -> str:
        """Copy the workspace, compare both ends, and show it at the other one; returns the journey."""
        if travel_of(self._target).taken(self._name):
            hint = "give it another name there: --as OTHER"
            raise Conflict(f"{self._target.store.address} has a workspace called {self._name!r}", hint=hint)
        clear_strays(self._target)
        finish_graphs(self._loom, info)
        journey = self._travel.leave(info, self._destination)
        _remove_copy(self._loom, journey)
        try:
            export = self._export(info, _copy_of(self._loom, journey))
            (entry,) = packed(export, self._name)
            arrival = Arrival(self._target, export, entry, journey)
            done = arrival.complete(self._told, lambda there: self._compare(info, there, export))
            self._rows, self._files = done.rows, done.files
        except BaseException:
            self._give_up(info, journey)
            raise
        finally:
            _remove_copy(self._loom, journey)
        return journey

    def _give_up(self, info: WorkspaceInfo, journey: str) -> None:
        """Open the workspace again after a failure; if nobody can tell whether it arrived, it stays closed."""
        with suppress(StoreError):
            if _arrived(self._target, journey) is None:
                self._travel.stay(info)

    def _export(self, info: WorkspaceInfo, folder: Path) -> ExportFolder:
        make_private(folder.parent)
        with new_folder(folder) as sink:
            done = write_workspace(self._loom, info, sink, _FOLDER, _WHOLE, self._told)
            write_manifest(sink, {**writer_versions(), "workspaces": [summary(done)]})
        return ExportFolder(folder)

    def _compare(self, here: WorkspaceInfo, there: WorkspaceInfo, export: ExportFolder) -> None:
        """Compare what arrived with what was sent, and what was sent with the files that are here now."""
        found, now = HashSink(), HashSink()
        write_workspace(self._target, there, found, _FOLDER, _WHOLE)
        about = f"{_FOLDER}/workspace.json"
        differing = [path for path in {*export.sums, *found.sums} if export.sums.get(path) != found.sums.get(path)]
        if odd := sorted(path for path in differing if path != about):
            raise StoreError(
                f"what arrived in {self._target.store.address} differs from what was sent: {', '.join(odd[:3])}",
                hint="nothing was moved; `everloom doctor --deep` checks both stores",
            )
        write_files(self._loom, here, now, _FOLDER)
        if changed := sorted(path for path, each in now.sums.items() if export.sums.get(path) != each):
            hint = "nothing was moved; close the editor and try again"
            raise Conflict(f"files were changed while they were copied: {', '.join(changed[:3])}", hint=hint)
        self._told("compared", len(found.sums))

    def _empty(self, info: WorkspaceInfo) -> tuple[Path, ...]:
        """Remove the workspace here; returns the directories that somebody chose, and that stay."""
        places = self._loom.places
        known, ours = places.directories(info), places.choose_removable(info)
        self._travel.depart(info)
        places.remove(info, ours)
        return tuple(each for each in known if each.is_dir())

    def _report(self, info: WorkspaceInfo, kept: tuple[Path, ...], *, resumed: bool) -> MoveReport:
        return MoveReport(
            info.name,
            self._name,
            self._loom.store.address,
            self._target.store.address,
            self._rows,
            self._files,
            kept,
            resumed,
        )
