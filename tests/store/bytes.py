"""Looks for words in the files of a store, past every table: in free pages, indexes and logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from everloom.store.address import sqlite_path
from tests.store.ground import as_superuser, is_sqlite


def words_in_files(url: str, words: Iterable[str]) -> set[str]:
    """Find which of some words stand in the files of a store, in any case; on PostgreSQL in those of its tables."""
    sought = {word: word.lower().encode() for word in words}
    found: set[str] = set()
    for data in _contents(url):
        lowered = data.lower()
        found |= {word for word, form in sought.items() if form in lowered}
    return found


def _contents(url: str) -> Iterator[bytes]:
    if is_sqlite(url):
        file = sqlite_path(url)
        yield from (each.read_bytes() for each in sorted(file.parent.glob(f"{file.name}*")))
        return
    with psycopg.connect(as_superuser(url), autocommit=True, row_factory=dict_row) as connection:
        # What was committed is in the log first; a checkpoint writes it to the files.
        connection.execute("CHECKPOINT")
        row = connection.execute(
            "SELECT current_setting('data_directory') AS home, oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    for each in sorted(Path(row["home"], "base", str(row["oid"])).iterdir()):
        # The server replaces files of its own, such as what it caches of the catalog, whenever it likes.
        with suppress(FileNotFoundError):
            yield each.read_bytes()
