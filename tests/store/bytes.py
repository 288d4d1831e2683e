"""Looks for words in the files of a store, past every table: in free pages, indexes and logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from everloom.store.address import sqlite_path
from tests.store.ground import as_superuser, is_sqlite

CITUS = "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL AS is_there"
PLACE = "SELECT current_setting('data_directory') AS home, oid FROM pg_database WHERE datname = current_database()"


def words_in_files(url: str, words: Iterable[str]) -> set[str]:
    """Find which of some words stand in the files of a store, in any case; on PostgreSQL in those of its tables.

    The nodes of a cluster are cleaned before, as whoever runs one is told to after a forgetting.
    """
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
    for node in _nodes(url):
        with closing(node):
            # What was committed is in the log first; a checkpoint writes it to the files.
            node.execute("CHECKPOINT")
            row = node.execute(PLACE).fetchone()
        assert row is not None
        files = Path(row["home"], "base", str(row["oid"]))
        if not files.exists():
            pytest.skip("the files of the server are on another machine")
        for each in sorted(files.iterdir()):
            # The server replaces files of its own, such as what it caches of the catalog, whenever it likes.
            with suppress(FileNotFoundError):
                yield each.read_bytes()


def _nodes(url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """Connect to the server, or to each node of a cluster, cleaned."""
    server = psycopg.connect(as_superuser(url), autocommit=True, row_factory=dict_row)
    if server.execute(CITUS).fetchone() == {"is_there": False}:
        yield server
        return
    with closing(server):
        nodes = server.execute("SELECT nodename AS host, nodeport AS port FROM pg_dist_node").fetchall()
    for each in nodes:
        node = psycopg.connect(as_superuser(url), autocommit=True, row_factory=dict_row, **each)
        node.execute("SET citus.enable_ddl_propagation = off")
        node.execute("VACUUM (FULL, ANALYZE)")
        node.execute("VACUUM FULL pg_statistic")
        yield node
