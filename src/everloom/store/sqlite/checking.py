"""Looking for damage in a SQLite file: in its structure, in its content, and in its word index.

FTS5 itself only knows whether its index is sound inside, not whether it holds the words of the documents.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from everloom.store.checksums import CONTENT, complaint, is_intact
from everloom.store.migrations import read_table
from everloom.store.sqlite.faults import FAULTS

_INSTANCES = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab (main, words, instance)"
_FOUND = "SELECT doc, col, term FROM temp.instances"
_EXPECTED = """
    SELECT d.workspace_id, d.item_id + w.word_base AS number, d.retired_at, d.words, d.context_words
    FROM document AS d JOIN workspace AS w ON w.id = d.workspace_id
    JOIN tally AS t ON t.workspace_id = d.workspace_id AND d.item_id <= t.counted_through
"""
_SUMS = 2**64
_NAMED = 20


def structure_problems(connection: sqlite3.Connection) -> list[str]:
    """Say what is wrong with pages, indexes and references."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
    return problems + [f"a row of {row[0]} refers to a missing row of {row[2]}" for row in dangling[:_NAMED]]


def file_problems(path: Path) -> list[str]:
    """Check a file that nobody writes, such as a backup: its structure, and all content against its checksums."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            names = {row["id"]: str(row["name"]) for row in connection.execute("SELECT id, name FROM workspace")}
            return [*structure_problems(connection), *_content_problems(connection, names)]
        except FAULTS as error:
            return [str(error)]


def _content_problems(connection: sqlite3.Connection, names: dict[int, str]) -> Iterator[str]:
    for table in CONTENT:
        for row in map(dict, connection.execute(read_table(table, "sqlite"))):
            if not is_intact(table, row):
                place = row["id"] if table == "workspace" else row["workspace_id"]
                yield complaint(table, row, names.get(place, str(place)))


def marked(workspace: int, word: str, *, is_live: bool) -> str:
    """Write a word as the index holds it, with its workspace and whether its document is current."""
    return f"{workspace}{'.' if is_live else '~'}{word}"


def word_index_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Say whether the index holds the words of the documents, and no others; inside a transaction."""
    try:
        connection.execute(_INSTANCES)
        # Sums instead of sets, because a large store has millions of words.
        found = sum(map(hash, map(tuple, connection.execute(_FOUND)))) % _SUMS
    except FAULTS as error:
        yield f"the word index cannot be read: {error}"
        return
    expected = sum(map(hash, _expected(connection))) % _SUMS
    if found != expected:
        yield "the word index does not match the documents; backing up and restoring builds it anew"


def _expected(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str]]:
    for row in connection.execute(_EXPECTED):
        for column, words in (("text", row["words"]), ("context", row["context_words"])):
            for word in words.split():
                yield row["number"], column, marked(row["workspace_id"], word, is_live=row["retired_at"] is None)
