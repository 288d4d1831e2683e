"""Overwriting what was deleted from a SQLite file: in the word index, in free pages and in the log.

Deleting a row leaves its bytes in the page, and a freed page as it was; the word index only marks what was deleted
until its segments are merged. Rewriting the file is the one way to be sure of all of it.
"""

from __future__ import annotations

import sqlite3
from glob import escape
from pathlib import Path

# Pages of the index that are merged while other writers wait: a few milliseconds.
_STEP = 1_000
# How long to wait for a reader that still needs the log.
_PATIENCE_MILLISECONDS = 5_000
# Up to this size a file is rewritten by way of memory, beyond it by way of a temporary file.
_IN_MEMORY = 256_000_000


def size_of(connection: sqlite3.Connection) -> int:
    """Read the size of the file in bytes."""
    pages, size = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size"))
    return pages * size


def merge_words(connection: sqlite3.Connection) -> None:
    """Merge the word index into one segment, which drops the words of deleted documents, in short transactions."""
    # A negative number makes one level of all segments; after that, positive ones continue the merge. It is finished
    # when a step changes nothing but its own row.
    step = -_STEP
    while True:
        before = connection.total_changes
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (step,))
        connection.execute("COMMIT")
        if connection.total_changes - before < 2:
            return
        step = _STEP


def rewrite(connection: sqlite3.Connection) -> bool:
    """Rewrite the file without free space, and empty its log; return whether nobody kept the log from being emptied."""
    # Samples of index keys, where SQLite was built to take them, hold words.
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat4'").fetchone():
        connection.execute("DELETE FROM sqlite_stat4")
    in_memory = size_of(connection) <= _IN_MEMORY
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA temp_store = {'MEMORY' if in_memory else 'FILE'}")
    try:
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA busy_timeout = {int(patience)}")
    return not busy


def copies_beside(path: Path) -> tuple[str, ...]:
    """List the copies next to the file from before a migration or a restore: they are backups, and are not touched."""
    kinds = ("v*.bak", "before-restore-*.db", "damaged-*.db")
    found = {each.name for kind in kinds for each in path.parent.glob(f"{escape(path.name)}.{kind}")}
    return tuple(f"the backup {name}" for name in sorted(found))
