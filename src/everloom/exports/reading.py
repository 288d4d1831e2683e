"""Reading an export: every file is compared with the manifest, and each workspace comes in whole or not at all.

A workspace is filled in small transactions, between which others write, and nobody sees it before everything is there.
It keeps its ids; its own number in the store is a new one. Refuses to know the formats of other programs.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from everloom.clock import from_micros, zone_named
from everloom.errors import Conflict, NotFound, ProviderError, Rejected, StoreError
from everloom.exports.files import ATTACHMENTS, BUNDLE, GRAPHS, NOTES, check_names, place_file
from everloom.exports.folder import ExportFolder, is_export_folder
from everloom.exports.results import ArrivalReport, ImportedWorkspace, RowsLeftOut, Told, say_nothing
from everloom.exports.rows import RowReader
from everloom.exports.shape import CALIBRATION, IDS, VECTORS, exported_columns, exported_tables, reason_to_leave
from everloom.graph.files.disk import slug
from everloom.graph.git.repository import Git
from everloom.kernel.embedding import model_id
from everloom.kernel.search.index import words_of
from everloom.kernel.texts import checked_name, name_key
from everloom.kernel.travel import Travel
from everloom.kernel.work.lease import Lease
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.loom import Loom
from everloom.store import Unit
from everloom.store.contract import IndexedWords
from everloom.store.migrations import latest_version, refers_to_itself

# Rows per transaction: others wait for one of these at most.
_BATCH = 500
_HIGHEST_ID = 1 << 40
# The year 9999, as far as Python can tell the time.
_LATEST = 253_370_764_800_000_000


def is_export(folder: str | Path) -> bool:
    """Check whether a folder is an export of everloom."""
    return is_export_folder(Path(folder))


def read(
    loom: Loom,
    folder: str | Path,
    *,
    as_name: str | None = None,
    workspaces: Sequence[str] | None = None,
    dry_run: bool = False,
    own: bool = False,
    told: Told = say_nothing,
) -> ArrivalReport:
    """Bring the workspaces of an export into a store, by default all of them, each under its name or `as_name`.

    A name that exists is refused. Nothing is written before every file has been compared with the manifest. Nothing is
    trusted more than an import, and no decision comes along, unless a person says that the export is their `own`.
    """
    export = ExportFolder(Path(folder))
    chosen = _chosen(export, workspaces, as_name)
    travel = travel_of(loom)
    for entry in chosen:
        if travel.taken(entry.name):
            hint = "give it another name: --as OTHER" if len(chosen) == 1 else "import one: -w NAME --as OTHER"
            raise Conflict(f"there is already a workspace called {entry.name!r}", hint=f"{hint}; nothing was imported")
    for entry in chosen:
        check_names(export.below(f"{entry.folder}/files/"))
    for count in export.verify():
        told("checking", count)
    if dry_run:
        return ArrivalReport(Path(folder), tuple(_tried(export, entry, is_own=own) for entry in chosen), dry_run=True)
    cleared = clear_strays(loom)
    _read_shared(loom, export)
    done = []
    for entry in chosen:
        arrived = Arrival(loom, export, entry, is_own=own).complete(told)
        done.append(replace(arrived, waiting=_embed(loom, arrived.name, told)))
    return ArrivalReport(Path(folder), tuple(done), cleared=tuple(cleared))


@dataclass(frozen=True, slots=True)
class PackedWorkspace:
    """A workspace in an export: its folder there, and the name that it shall have."""

    folder: str
    name: str
    was_called: str
    info: WorkspaceInfo
    branches: Mapping[str, str]


def packed(export: ExportFolder, name: str | None = None) -> list[PackedWorkspace]:
    """List the workspaces of an export; `name` is what its only one shall be called."""
    if _schema_of(export) > latest_version("sqlite"):
        version = export.manifest.get("everloom_version")
        raise Rejected(f"everloom {version} wrote this export, which is newer", hint="upgrade everloom, then import it")
    found = []
    listed = export.manifest.get("workspaces")
    for said in listed if isinstance(listed, list) else []:
        folder = said.get("folder") if isinstance(said, dict) else None
        if not isinstance(folder, str):
            raise Rejected("the manifest does not say where a workspace is", hint="export it again")
        about = export.document(f"{folder}/workspace.json")
        info = _info_of(about, f"{folder}/workspace.json")
        branches = about.get("histories")
        entry = PackedWorkspace(
            folder, name or info.name, info.name, info, branches if isinstance(branches, dict) else {}
        )
        found.append(entry)
    return found


def _schema_of(export: ExportFolder) -> int:
    version = export.manifest.get("schema_version")
    if type(version) is not int:
        raise Rejected("the manifest does not say which schema it has", hint="export it again; nothing was imported")
    return version


def _is_older(export: ExportFolder) -> bool:
    """Say whether an export may lack columns that later versions added."""
    return _schema_of(export) < latest_version("sqlite")


def _info_of(about: Mapping[str, Any], where: str) -> WorkspaceInfo:
    texts = [about.get(key) for key in ("name", "description", "time_zone")]
    at = about.get("created_at")
    if not all(isinstance(each, str) for each in texts) or type(at) is not int or not 0 <= at < _LATEST:
        raise Rejected(f"{where} does not describe a workspace", hint="export it again; nothing was imported")
    name, description, zone = map(str, texts)
    return WorkspaceInfo(
        0, checked_name(name, "the workspace's name"), description, zone_named(zone).key, from_micros(at)
    )


def _chosen(export: ExportFolder, workspaces: Sequence[str] | None, as_name: str | None) -> list[PackedWorkspace]:
    every = packed(export)
    wanted = None if workspaces is None else {name_key(name): name for name in workspaces}
    chosen = every if wanted is None else [each for each in every if name_key(each.was_called) in wanted]
    there = {name_key(each.was_called) for each in every}
    missing = [name for key, name in (wanted or {}).items() if key not in there]
    if missing or not chosen:
        known = ", ".join(each.was_called for each in every) or "none"
        raise NotFound(f"the export has no workspace {', '.join(missing)}".rstrip(), hint=f"it has: {known}")
    if as_name is not None and len(chosen) > 1:
        raise Rejected(f"{len(chosen)} workspaces cannot have one name", hint="choose one: -w NAME --as OTHER")
    return [replace(each, name=as_name) for each in chosen] if as_name is not None else chosen


def travel_of(loom: Loom) -> Travel:
    """Return the comings and goings of a loom's store."""
    return Travel(loom.store, loom.clock, loom.holder)


def clear_strays(loom: Loom) -> list[str]:
    """Remove what an import left that was killed."""
    travel = travel_of(loom)
    strays = travel.strays()
    for each in strays:
        travel.clear(each)
        loom.places.remove(each, [])
    return [each.name for each in strays]


def _tried(export: ExportFolder, entry: PackedWorkspace, *, is_own: bool) -> ImportedWorkspace:
    """Read all rows of a workspace without storing them."""
    reader = RowReader(0, lambda _name, _dim: 1, lambda _row: "", is_older=_is_older(export), is_own=is_own)
    count, left = 0, _LeftOut(is_own=is_own)
    for table in exported_tables(vectors=True):
        path = f"{entry.folder}/rows/{table}.jsonl"
        for number, said in export.lines(path):
            reader.row(table, said, f"{path}, line {number}")
            count += left.admits(table, said)
    files = len(export.below(f"{entry.folder}/files/"))
    return ImportedWorkspace(entry.name, entry.was_called, count, files, left_out=left.told)


class _LeftOut:
    """Counts the rows that an import leaves behind, by table and reason; None admits every row."""

    def __init__(self, *, is_own: bool | None) -> None:
        self._is_own = is_own
        self._counts: Counter[tuple[str, str]] = Counter()

    def admits(self, table: str, said: Any) -> bool:
        """Return whether a row comes in."""
        if self._is_own is None or not isinstance(said, dict):
            return True
        reason = reason_to_leave(table, said, is_own=self._is_own)
        if reason is not None:
            self._counts[table, reason] += 1
        return reason is None

    @property
    def told(self) -> tuple[RowsLeftOut, ...]:
        """List what was left behind."""
        return tuple(RowsLeftOut(table, count, reason) for (table, reason), count in self._counts.items())


def _read_shared(loom: Loom, export: ExportFolder) -> None:
    """Take over measurements of embedders that this store does not have."""
    columns = exported_columns(CALIBRATION)
    rows = [said for _, said in export.lines(f"store/{CALIBRATION}.jsonl")]
    with loom.store.read(NOWHERE) as unit:
        known = {row["model"] for row in unit.rows_of(CALIBRATION)}
    missing = [row for row in rows if isinstance(row, dict) and set(row) == set(columns) and row["model"] not in known]
    if missing:
        with loom.store.write(NOWHERE) as unit:
            unit.put_rows(CALIBRATION, missing)


def _embed(loom: Loom, name: str, told: Told) -> int:
    """Make the vectors that did not travel; returns how many documents still wait for theirs."""
    info = loom.workspaces.get(name)
    # If the model does not answer, the memory is there all the same, and found by its words; a worker tries again.
    with suppress(ProviderError):
        loom.embed_quietly(info, lambda count: told("vectors", count))
    return loom.embedding.coverage(info.id).waiting


class Arrival:
    """One workspace of an export on its way into a store."""

    def __init__(
        self,
        loom: Loom,
        export: ExportFolder,
        entry: PackedWorkspace,
        journey: str | None = None,
        *,
        is_own: bool = True,
    ) -> None:
        # A move is between stores of one owner, and leaves nothing behind.
        self._left = _LeftOut(is_own=None if journey is not None else is_own)
        self._is_own = is_own
        self._loom = loom
        self._export = export
        self._entry = entry
        self._journey = journey
        self._travel = travel_of(loom)
        self._last_id = 0
        self._directories: dict[int, Path] = {}
        self._models: dict[tuple[str, int], int] = {}
        self._noted: list[Path] = []

    def complete(
        self, told: Told = say_nothing, check: Callable[[WorkspaceInfo], None] = lambda _: None
    ) -> ImportedWorkspace:
        """Fill a workspace, check it, and show it; if anything fails, nothing is left of it."""
        entry = self._entry
        info, lease = self._travel.arrive(replace(entry.info, name=entry.name), self._journey)
        self._check_room(info)
        try:
            with lease.kept_alive():
                rows = self._fill(info, lease, told)
                files = self._place_files(info, told)
                check(info)
            self._travel.show(info, lease, self._last_id)
        except BaseException:
            # Also when somebody interrupts it. If the store does not answer, the next import clears what is left.
            with suppress(StoreError):
                self._clear(info)
            raise
        return ImportedWorkspace(entry.name, entry.was_called, rows, files, left_out=self._left.told)

    def _clear(self, info: WorkspaceInfo) -> None:
        """Remove what has come in so far; notes may be in a directory that somebody chose, which stays."""
        for each in self._noted:
            each.unlink(missing_ok=True)
        self._travel.clear(info)
        self._loom.places.remove(info, [])

    def _check_room(self, info: WorkspaceInfo) -> None:
        """Refuse a directory that is there already: the number is new, so the files are somebody else's."""
        place = self._loom.places.of(info)
        if place.exists():
            self._travel.clear(info)
            hint = "it was left by a store that was here before: move it away, and import again"
            raise Conflict(f"{place} already exists", hint=hint)

    def _fill(self, info: WorkspaceInfo, lease: Lease, told: Told) -> int:
        count = 0
        for table in exported_tables(vectors=True):
            # A row may refer to a later one of the same table: both must be there when the transaction ends.
            is_whole = refers_to_itself(table)
            if is_whole:
                # Once before, because an unknown model is registered in a transaction of its own.
                deque(self._pages(table, info), maxlen=0)
            pages = self._pages(table, info)
            for group in [pages] if is_whole else ([page] for page in pages):
                with self._loom.store.write(info.id, is_durable=False) as unit:
                    lease.guard(unit)
                    for page in group:
                        _put(unit, table, page)
                        count += len(page)
                        told(table, len(page))
        return count

    def _pages(self, table: str, info: WorkspaceInfo) -> Iterator[list[dict[str, Any]]]:
        """Read the rows of a table, a page at a time, ready to be stored."""
        path = f"{self._entry.folder}/rows/{table}.jsonl"
        reader = RowReader(
            info.id,
            self._number_of,
            lambda row: str(self._directory_of(info, row)),
            is_older=_is_older(self._export),
            is_own=self._is_own,
        )
        lines = self._export.lines(path)
        rows = (
            reader.row(table, said, f"{path}, line {number}")
            for number, said in lines
            if self._left.admits(table, said)
        )
        while page := list(islice(rows, _BATCH)):
            for name in IDS.get(table, ()):
                self._last_id = max(self._last_id, *(self._checked_id(row.get(name), path) for row in page))
            if table == "document":
                page = [row | _worded(row) for row in page]
            yield page

    def _checked_id(self, number: Any, path: str) -> int:
        if type(number) is not int or not 0 < number < _HIGHEST_ID:
            raise Rejected(f"{path} has the id {number!r}", hint="the folder was changed; nothing was imported")
        return number

    def _number_of(self, name: str, dim: int) -> int:
        if (name, dim) not in self._models:
            self._models[name, dim] = self._registered(name, dim)
        return self._models[name, dim]

    def _registered(self, name: str, dim: int) -> int:
        with self._loom.store.read(NOWHERE) as unit:
            known = unit.one("vectors.model_get", name=name, dim=dim)
        if known is not None:
            return int(known["id"])
        with self._loom.store.write(NOWHERE) as unit:
            return model_id(unit, name, dim)

    def _directory_of(self, info: WorkspaceInfo, row: Mapping[str, Any]) -> Path:
        place = self._loom.places.graphs(info).home / f"{row['id']}-{slug(row['name'])}"
        self._directories[row["id"]] = place
        return place

    def _place_files(self, info: WorkspaceInfo, told: Told) -> int:
        """Put the files of graphs, notes and attachments in their places."""
        export, folder, count = self._export, self._entry.folder, 0
        for number, place in self._directories.items():
            files = export.below(f"{folder}/{GRAPHS}/{number}/")
            if not files:
                continue
            self._loom.places.graphs(info).prepare_home()
            for name, path in files.items():
                place_file(export.place(path), place / name)
            self._restore_times(info, number, place, files)
            self._restore_history(number, place)
            count += len(files)
        count += self._place_notes(info) + self._place_attachments(info)
        if count and hasattr(os, "sync"):
            os.sync()
        told("files", count)
        return count

    def _place_notes(self, info: WorkspaceInfo) -> int:
        files = self._export.below(f"{self._entry.folder}/{NOTES}/")
        place = self._loom.places.notes(info)
        if not files:
            return 0
        if place.is_dir() and any(place.iterdir()):
            hint = "import it under another name (--as), or set mind.notes to an empty directory"
            raise Conflict(f"{place} already holds notes", hint=hint)
        self._loom.places.graphs(info).prepare_home()
        for name, path in files.items():
            self._noted.append(place / name)
            place_file(self._export.place(path), place / name)
        return len(files)

    def _place_attachments(self, info: WorkspaceInfo) -> int:
        files = self._export.below(f"{self._entry.folder}/{ATTACHMENTS}/")
        place = self._loom.places.attachments(info)
        if not files:
            return 0
        self._loom.places.graphs(info).prepare_home()
        for name, path in files.items():
            place_file(self._export.place(path), place / name)
        return len(files)

    def _restore_times(self, info: WorkspaceInfo, graph: int, place: Path, files: Container[str]) -> None:
        """Give files the times by which the index knows them, so that none of them is read again."""
        with self._loom.store.read(info.id) as unit:
            rows = unit.all("graph.file_all", graph=graph)
        for row in rows:
            # Only files that came along: a row may say anything.
            if row["path"] in files and (place / row["path"]).stat().st_size == row["size"]:
                # A time that the system does not know only means that the file is read again.
                with suppress(OSError, OverflowError):
                    os.utime(place / row["path"], ns=(row["mtime_ns"], row["mtime_ns"]))

    def _restore_history(self, graph: int, place: Path) -> None:
        path = f"{self._entry.folder}/{GRAPHS}/{graph}{BUNDLE}"
        if path in self._export.sums:
            branch = self._entry.branches.get(str(graph))
            Git(place).unbundle(self._export.place(path).absolute(), branch if isinstance(branch, str) else "")


def _worded(row: Mapping[str, Any]) -> dict[str, str]:
    words, context_words = words_of(row)
    return {"words": words, "context_words": context_words}


def _put(unit: Unit, table: str, page: Sequence[dict[str, Any]]) -> None:
    """Store a page of rows, with what is derived from them."""
    if table == VECTORS:
        _put_vectors(unit, page)
        return
    unit.put_rows(table, page)
    if table == "document":
        unit.index_fresh(
            [
                IndexedWords(row["item_id"], row["words"], row["context_words"], int(row["retired_at"] is None))
                for row in page
            ]
        )


def _put_vectors(unit: Unit, page: Sequence[Mapping[str, Any]]) -> None:
    places = dict.fromkeys((row["model_id"], row["perspective_id"], row["live"]) for row in page)
    for model, perspective, live in places:
        vectors = {
            row["item_id"]: np.frombuffer(row["vector"], "<f2").astype(np.float32)
            for row in page
            if (row["model_id"], row["perspective_id"], row["live"]) == (model, perspective, live)
        }
        unit.put_vectors(model, perspective, vectors, bool(live))
