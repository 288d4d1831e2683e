"""Copying everything from one store to another, whatever their engines: backup, restore, and erasing a workspace.

Copies rows, not files: all of them as of one moment, and into one transaction per workspace. Derived data (word index,
counts) is rebuilt.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from everloom.clock import Clock, SystemClock
from everloom.errors import StoreError
from everloom.store.address import open_store, sqlite_path, sqlite_url
from everloom.store.contract import Row, Store, Unit
from everloom.store.migrations import refuse_partial, tables, workspace_tables
from everloom.store.verifying import content_problems

# Not copied: each engine builds these from the rest, and each store is itself.
DERIVED = frozenset(
    {"counter", "workspace_counter", "write_lock", "posting", "term", "tally", "store_identity", "vector_gone", "due"}
)
# How many documents a workspace has room for among the rows of SQLite's word index; ids stay far below.
WORD_SPAN = 1 << 40
_NOWHERE = 0
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The workspaces and rows that a restore brought back, what was damaged in the backup, where the old content is."""

    workspaces: tuple[str, ...]
    rows: int
    former: str | None
    damaged: tuple[str, ...] = ()


class StoreReplacement(Protocol):
    """A new store next to the one that it replaces; entering it refuses what must not be replaced."""

    @property
    def store(self) -> Store:
        """The new store, still empty."""
        ...

    def switch(self) -> str | None:
        """Put the new store in place of the old one, in one step; return where the old one is, if there was one."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def copy_to_file(source: Store, target: Path) -> None:
    """Copy a store into a new SQLite file, which appears complete or not at all."""
    if target.exists():
        raise StoreError(f"{target} already exists", hint="choose a new file name")
    if not target.parent.is_dir():
        raise StoreError(f"the folder {target.parent} does not exist", hint="create it first")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        copy = open_store(sqlite_url(Path(folder) / "partial.db"), SystemClock())
        try:
            _copy_all(source, copy)
            # The store that was just written is a file with a log. Its own backup is one compact file, which appears
            # under its name in one step.
            copy.backup(target)
        finally:
            copy.close()


def restore(source: Path, url: str, clock: Clock, *, force: bool = False, wait: float = 0.0) -> RestoreReport:
    """Restore a backup as the store at `url`: a new store is built, checked and put in place in one step.

    Existing content is replaced only with `force`, and kept. Others may not have the store open; `wait` is how many
    seconds to wait for them.
    """
    with _opened(source, clock) as backup, _replacement(url, clock, force=force, wait=wait) as place:
        copied = _copy_all(backup, place.store)
        _compare(backup, place.store)
        names = tuple(row["name"] for row in _workspaces(place.store))
        damaged = tuple(content_problems(place.store))
        former = place.switch()
    return RestoreReport(names, copied, former, damaged)


@contextmanager
def _opened(source: Path, clock: Clock) -> Iterator[Store]:
    """Open a copy of a backup, because opening an old one migrates it; a damaged one is refused."""
    from everloom.store.sqlite.opening import copy_pages, read_version  # noqa: PLC0415  engines load only when used

    hint = "give a file that `everloom backup` wrote"
    if not source.is_file():
        raise StoreError(f"there is no backup at {source}", hint=hint)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "backup.db"
        copy_pages(source, copy)
        # An empty file is a valid database without a table, and would become an empty store.
        if read_version(copy) == 0:
            raise StoreError(f"{source} is empty: it is no backup", hint=hint)
        opened = open_store(sqlite_url(copy), clock)
        try:
            if problems := opened.health().problems:
                raise StoreError(f"the backup {source} is damaged: {problems[0]}", hint="use another backup")
            yield opened
        finally:
            opened.close()


def _replacement(url: str, clock: Clock, *, force: bool, wait: float) -> StoreReplacement:
    """Choose how the store at a URL is replaced."""
    if url.startswith("sqlite:"):
        from everloom.store.sqlite.replacing import SqliteReplacement  # noqa: PLC0415  engines load only when used

        return SqliteReplacement(sqlite_path(url), clock, force=force, wait=wait)
    from everloom.store.postgresql.replacing import PostgresReplacement  # noqa: PLC0415

    return PostgresReplacement(url, clock, force=force, wait=wait)


def _compare(source: Store, copy: Store) -> None:
    """Check that a copy has every row of its source, and that its engine finds nothing wrong with it."""
    for row in [{"id": _NOWHERE}, *_workspaces(source)]:
        with source.read(row["id"]) as original, copy.read(row["id"]) as copied:
            for table in _copied_tables(source, shared=row["id"] == _NOWHERE):
                expected, found = (sum(1 for _ in unit.rows_of(table)) for unit in (original, copied))
                if found < expected:
                    raise StoreError(f"the copy of {table} has {found} of {expected} rows; nothing was replaced")
    if problems := [each for each in copy.health().problems if "superuser" not in each]:
        raise StoreError(f"the new store is damaged: {problems[0]}", hint="check the disk; nothing was replaced")


def must_be_known(unit: Unit, address: str) -> None:
    """Refuse to copy rows of a store to which a newer program has added."""
    row = unit.one("kernel.schema_version")
    refuse_partial(unit.engine, row["number"] if row else 0, address)


def _copied_tables(source: Store, *, shared: bool) -> list[str]:
    """List the tables whose rows are copied, in order of creation: those of all workspaces together, or of each."""
    return [name for name, belongs in tables(source.engine).items() if belongs is not shared and name not in DERIVED]


def _workspaces(store: Store) -> list[Row]:
    """List the workspaces of a store."""
    with store.read(_NOWHERE) as unit:
        return unit.all("kernel.workspace_all")


def _copy_all(source: Store, target: Store) -> int:
    """Copy the shared rows and those of every workspace; return how many there were."""
    shared = _copied_tables(source, shared=True)
    count = 0
    # As of one moment: what is said in one workspace may be known in another, and tokens name workspaces.
    with source.snapshot() as enter:
        reading = enter(_NOWHERE)
        must_be_known(reading, source.address)
        with target.write(_NOWHERE) as writing:
            present = {table: {tuple(row.values()) for row in writing.rows_of(table)} for table in shared}
            for table in shared:
                missing = [row for row in reading.rows_of(table) if tuple(row.values()) not in present[table]]
                if table == "workspace" and source.engine == "postgresql":
                    # There, every workspace counts for itself, and two of them give the same ids.
                    missing = [row | {"word_base": place * WORD_SPAN} for place, row in enumerate(missing)]
                writing.put_rows(table, missing)
                count += len(missing)
            writing.count_on(reading.numbers())
        for row in reading.all("kernel.workspace_all"):
            # A workspace that is leaving takes no other writes; a copy of it is one that is leaving, too.
            with target.write(row["id"], is_moving=True) as writing:
                count += _copy_workspace(enter(row["id"]), writing, source)
    return count


def _copy_workspace(reading: Unit, writing: Unit, source: Store) -> int:
    """Copy the rows of one workspace and rebuild its word index."""
    # In the snapshot that is copied: a newer program begins to write what it has added after it has recorded that.
    must_be_known(reading, source.address)
    count = 0
    # In order of creation, so that every row finds the rows it refers to; `erase` goes the other way.
    for table in _copied_tables(source, shared=False):
        rows = reading.rows_of(table)
        while page := list(islice(rows, _PAGE)):
            writing.put_rows(table, page)
            count += len(page)
    for ids in _documents(writing):
        writing.index_words(ids)
    # New ids in the copy are larger than every copied one.
    writing.count_on(reading.numbers())
    return count


def _documents(unit: Unit) -> Iterator[list[int]]:
    """Iterate over the ids of a workspace's documents, a page at a time."""
    after = 0
    while ids := [row["item_id"] for row in unit.all("words.document_ids", after=after, limit=_PAGE)]:
        yield ids
        after = ids[-1]


def erase(unit: Unit) -> None:
    """Delete everything in a workspace except its own row."""
    # A workspace that is made later, perhaps under the same name, gives none of its ids to anything else.
    unit.run("kernel.count_above", last=unit.numbers().item)
    # The words go first: what to remove from the index is read from the documents.
    for ids in _documents(unit):
        unit.unindex_words(ids)
    for table in reversed(workspace_tables(unit.engine)):
        unit.clear(table)
