"""Copying everything from one store to another, whatever their engines: backup, restore, and erasing a workspace.

Copies rows, not files, one transaction per workspace. Derived data (word index, counts) is rebuilt.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from everloom.clock import Clock, SystemClock, to_micros
from everloom.errors import Conflict, SchemaMismatch, StoreBusy, StoreError
from everloom.store.address import open_store, sqlite_path, sqlite_url
from everloom.store.contract import Row, Store, Unit
from everloom.store.migrations import tables, workspace_tables

# Not copied: each engine builds these from the rest, and each store is itself.
_DERIVED = frozenset({"counter", "posting", "term", "tally", "store_identity", "vector_gone"})
_NOWHERE = 0
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The workspaces and rows that a restore brought back, and the file that holds the previous content."""

    workspaces: tuple[str, ...]
    rows: int
    former: Path | None


def copy_to_file(source: Store, target: Path) -> None:
    """Copy a store into a new SQLite file, which appears complete or not at all."""
    if target.exists():
        raise StoreError(f"{target} already exists", hint="choose a new file name")
    if not target.parent.is_dir():
        raise StoreError(f"the folder {target.parent} does not exist", hint="create it first")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / "partial.db"
        copy = open_store(sqlite_url(partial), SystemClock())
        _copy_all(source, copy)
        # The store that was just written is a file with a log. Its own backup is one compact file, which a single
        # rename can put in place.
        copy.backup(Path(folder) / "whole.db")
        copy.close()
        (Path(folder) / "whole.db").replace(target)


def restore(source: Path, url: str, clock: Clock, *, force: bool = False) -> RestoreReport:
    """Restore a backup into the store at `url`; existing content is replaced only with `force`, and saved first."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            # A copy, because opening an old backup migrates it.
            copy = shutil.copy(source, folder)
        except OSError as error:
            hint = "give a file that `everloom backup` wrote"
            raise StoreError(f"cannot read the backup {source}: {error.strerror}", hint=hint) from error
        opened = open_store(sqlite_url(Path(copy)), clock)
        target, former = _open_empty(url, source, clock, force=force)
        rows = _copy_all(opened, target)
        names = tuple(row["name"] for row in _workspaces(target))
        opened.close()
    target.close()
    return RestoreReport(names, rows, former)


def _open_empty(url: str, source: Path, clock: Clock, *, force: bool) -> tuple[Store, Path | None]:
    """Open the target of a restore and empty it; a damaged file is moved aside."""
    try:
        target = open_store(url, clock)
    except (StoreBusy, SchemaMismatch):
        raise
    except StoreError as error:
        if not url.startswith("sqlite:") or not sqlite_path(url).is_file():
            raise
        if not force:
            raise StoreError(error.message, hint="--force moves the file aside and restores in its place") from error
        return _replace_damaged(sqlite_path(url), url, clock)
    return target, _make_empty(target, source, clock, force=force)


def _replace_damaged(damaged: Path, url: str, clock: Clock) -> tuple[Store, Path]:
    """Move a damaged file and its log aside, and create a new store in its place."""
    former = damaged.with_name(f"{damaged.name}.damaged-{to_micros(clock.now())}")
    # The log goes first: if a crash left it behind, SQLite might apply it to the new file of the same name.
    for tail in ("-wal", "-shm", ""):
        part = damaged.with_name(damaged.name + tail)
        if part.exists():
            part.rename(former.with_name(former.name + tail))
    return open_store(url, clock), former


def _make_empty(target: Store, source: Path, clock: Clock, *, force: bool) -> Path | None:
    """Empty a store for a restore, saving its content to a file next to the backup."""
    held = _workspaces(target)
    if not held:
        return None
    if not force:
        names = ", ".join(row["name"] for row in held[:5])
        raise Conflict(
            f"{target.address} already contains workspaces ({names})", hint="restore to another store, or use --force"
        )
    # Saved completely before the first row is deleted.
    former = source.with_name(f"before-restore-{to_micros(clock.now())}.db")
    target.backup(former)
    for row in held:
        with target.write(row["id"]) as unit:
            erase(unit)
            unit.run("kernel.workspace_drop")
    return former


def _workspaces(store: Store) -> list[Row]:
    """List the workspaces of a store."""
    with store.read(_NOWHERE) as unit:
        return unit.all("kernel.workspace_all")


def _copy_all(source: Store, target: Store) -> int:
    """Copy the shared rows and those of every workspace; return how many there were."""
    shared = [name for name, belongs in tables(source.engine).items() if not belongs and name not in _DERIVED]
    count = 0
    with source.read(_NOWHERE) as reading, target.write(_NOWHERE) as writing:
        present = {table: {tuple(row.values()) for row in writing.rows_of(table)} for table in shared}
        for table in shared:
            missing = [row for row in reading.rows_of(table) if tuple(row.values()) not in present[table]]
            writing.put_rows(table, missing)
            count += len(missing)
    for row in _workspaces(source):
        with source.read(row["id"]) as reading, target.write(row["id"]) as writing:
            count += _copy_workspace(reading, writing, source)
    _advance_counters(source, target)
    return count


def _copy_workspace(reading: Unit, writing: Unit, source: Store) -> int:
    """Copy the rows of one workspace and rebuild its word index."""
    count = 0
    # In order of creation, so that every row finds the rows it refers to; `erase` goes the other way.
    for table in workspace_tables(source.engine):
        if table not in _DERIVED:
            rows = reading.rows_of(table)
            while page := list(islice(rows, _PAGE)):
                writing.put_rows(table, page)
                count += len(page)
    for ids in _documents(writing):
        writing.index_words(ids)
    return count


def _documents(unit: Unit) -> Iterator[list[int]]:
    """Iterate over the ids of a workspace's documents, a page at a time."""
    after = 0
    while ids := [row["item_id"] for row in unit.all("words.document_ids", after=after, limit=_PAGE)]:
        yield ids
        after = ids[-1]


def _advance_counters(source: Store, target: Store) -> None:
    """Make sure that new ids in the copy will be larger than every copied id."""
    for counter in ("item", "revision"):
        # A write, because on PostgreSQL only taking a number from a sequence tells where it is.
        with source.write(_NOWHERE) as reading:
            (row,) = reading.all("kernel.counter_read", counter=counter)
        with target.write(_NOWHERE) as writing:
            writing.run("kernel.counter_advance", counter=counter, last=row["last"])


def erase(unit: Unit) -> None:
    """Delete everything in a workspace except its own row."""
    # The words go first: what to remove from the index is read from the documents.
    for ids in _documents(unit):
        unit.unindex_words(ids)
    for table in reversed(workspace_tables(unit.engine)):
        unit.clear(table)
