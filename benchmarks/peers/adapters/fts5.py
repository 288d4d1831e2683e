"""Plain SQLite FTS5 with its porter stemmer: any word of the question, by its own BM25. Needs no environment."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters.loop import Item, serve

# Words that say nothing about what is asked; few, so that the list itself is no method.
STOP_WORDS = frozenset(
    """a an and are as at be been by did do does for from had has have he her him his how i in is it its of on or she
    that the their them they this to was were what when where which who whom whose why will with you your""".split()
)
SCHEMA = "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')"


class Words:
    """One database file for each collection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, sqlite3.Connection] = {}

    def add(self, collection: str, items: Sequence[Item]) -> int:
        """Insert the texts in one transaction."""
        connection = self._collection(collection)
        with connection:
            connection.executemany("INSERT INTO words VALUES (:id, :text)", items)
        return len(items)

    def search(self, collection: str, query: str, limit: int) -> list[str]:
        """Match any word that is not a stop word."""
        words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        statement = "SELECT id FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._collection(collection).execute(statement, (match, limit))]

    def stats(self) -> dict[str, Any]:
        """Tell the version of SQLite."""
        return {"version": sqlite3.sqlite_version}

    def _collection(self, name: str) -> sqlite3.Connection:
        if name not in self._open:
            self._open[name] = sqlite3.connect(self._folder / f"{name}.db")
            self._open[name].execute(SCHEMA)
        return self._open[name]


if __name__ == "__main__":
    serve(Words)
