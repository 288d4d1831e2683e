"""What tests of store and kernel stand on: looms with a clock they own, raw connections, dumps, proofs of agreement.

Raw connections see what is really in the tables, past every filter of the program: on PostgreSQL as its superuser.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg.rows import dict_row

from everloom.clock import Clock, ManualClock
from everloom.kernel.search import Document, Standing
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.store.address import sqlite_path
from everloom.store.contract import IndexedWords
from everloom.store.postings import item_of, postings_of, unpacked
from tests.forking import Popen
from tests.patience import finish, reading

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
SETTINGS = Settings.model_validate({"workspace": {"time_zone": "UTC"}})

Ask = Callable[..., list[dict[str, Any]]]
Dump = dict[str, list[tuple[Any, ...]]]

SQLITE_TABLES = """
SELECT m.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c
WHERE m.type = 'table' AND c.name = 'workspace_id' ORDER BY m.name"""
POSTGRES_TABLES = """
SELECT table_name AS name FROM information_schema.columns
WHERE table_schema = 'public' AND column_name = 'workspace_id' ORDER BY table_name"""


def open_at(url: str, clock: Clock | None = None) -> Loom:
    """Open a loom with settings that depend on no machine."""
    return open_loom(url, settings=SETTINGS, clock=clock or ManualClock(NOW))


def note(text: str, **fields: Any) -> Document:
    """Write a piece of evidence that happened just now, unless told otherwise."""
    return Document(**{"kind": "note", "text": text, "happened_at": NOW, **fields})


def insight(text: str, **fields: Any) -> Document:
    """Write a synthesis."""
    return note(text, kind="insight", standing=Standing.SYNTHESIS, **fields)


def days_ago(count: float) -> datetime:
    """Say when it was so many days ago."""
    return NOW - timedelta(days=count)


def revise(workspace: Workspace, item: int, document: Document) -> None:
    """Rewrite a document in place, as a faculty would."""
    prepared = workspace.loom.index.prepare([document])
    with workspace.loom.store.write(workspace.info.id) as unit:
        workspace.loom.index.revise(unit, item, prepared, workspace.loom.clock.now())


def retire(workspace: Workspace, *items: int) -> None:
    """Take documents out of the present."""
    with workspace.loom.store.write(workspace.info.id) as unit:
        workspace.loom.index.retire(unit, items, None, workspace.loom.clock.now())


def remove(workspace: Workspace, *items: int) -> None:
    """Erase documents."""
    with workspace.loom.store.write(workspace.info.id) as unit:
        workspace.loom.index.remove(unit, items)


def cover(workspace: Workspace, by: int, *items: int) -> None:
    """Say that one document already says what the others say."""
    with workspace.loom.store.write(workspace.info.id) as unit:
        workspace.loom.index.cover(unit, by, items)


def is_sqlite(url: str) -> bool:
    """Say which engine a url means."""
    return url.startswith("sqlite")


def as_superuser(url: str) -> str:
    """Reach the same PostgreSQL database past row-level security."""
    return url.replace("://loom@", "://postgres@")


@contextmanager
def asking(url: str) -> Iterator[Ask]:
    """Lend a way to ask a database directly; parameters are written `?`."""
    if is_sqlite(url):
        with closing(sqlite3.connect(sqlite_path(url))) as plain:
            plain.row_factory = sqlite3.Row
            yield lambda statement, *params: [dict(row) for row in plain.execute(statement, params)]
    else:
        with psycopg.connect(as_superuser(url), autocommit=True, row_factory=dict_row) as connection:
            yield lambda statement, *params: connection.execute(
                statement.replace("?", "%s").encode(), params or None
            ).fetchall()


def rows_of(url: str, statement: str, *params: Any) -> list[dict[str, Any]]:
    """Ask a database one thing directly."""
    with asking(url) as ask:
        return ask(statement, *params)


def dump(url: str, workspace: int) -> Dump:
    """Read every row of a workspace, table by table."""
    with asking(url) as ask:
        return read_all(ask, tables_of(url), workspace)


def fingerprint(url: str, ask: Ask, *workspaces: int) -> dict[str, Any]:
    """Sum up every row of some workspaces, table by table; PostgreSQL does it in one go."""
    places = ", ".join(map(str, workspaces))
    if is_sqlite(url):
        return {
            table: sorted(
                map(repr, map(tuple, map(dict.values, ask(f"SELECT * FROM {table} WHERE workspace_id IN ({places})"))))
            )
            for table in tables_of(url)
        }
    sums = (
        f"SELECT '{table}' AS name, md5(string_agg(t::text, ',' ORDER BY t::text)) AS sum "
        f"FROM {table} AS t WHERE workspace_id IN ({places})"
        for table in tables_of(url)
    )
    return {row["name"]: row["sum"] for row in ask(" UNION ALL ".join(sums))}


@cache
def tables_of(url: str) -> list[str]:
    """List the tables whose rows belong to a workspace."""
    tables = [row["name"] for row in rows_of(url, SQLITE_TABLES if is_sqlite(url) else POSTGRES_TABLES)]
    assert len(tables) > 15
    return tables


def read_all(ask: Ask, tables: Sequence[str], workspace: int) -> Dump:
    """Read every row of a workspace from some tables."""
    return {
        table: sorted(
            tuple(map(repr, row.values())) for row in ask(f"SELECT * FROM {table} WHERE workspace_id = ?", workspace)
        )
        for table in tables
    }


def assert_agreement(url: str) -> None:
    """Prove that words, counts and vectors say what the documents say, in every workspace."""
    with asking(url) as ask:
        documents = ask("SELECT * FROM document ORDER BY item_id")
        assert_vectors_agree(ask, documents)
        if is_sqlite(url):
            # SQLite indexes and counts the words of the newest documents later, many at a time.
            through = {row["workspace_id"]: row["counted_through"] for row in ask("SELECT * FROM tally")}
            documents = [row for row in documents if row["item_id"] <= through.get(row["workspace_id"], 0)]
            assert_file_is_sound(ask, documents)
        else:
            assert_postings_agree(ask, documents)
        assert_counts_agree(ask, documents)


def assert_counts_agree(ask: Ask, documents: Sequence[dict[str, Any]]) -> None:
    """Prove that terms and tallies are what counting the documents again would give."""
    holding: Counter[tuple[int, str]] = Counter()
    lengths: dict[int, list[int]] = {}
    for row in documents:
        text, context = row["words"].split(), row["context_words"].split()
        holding.update((row["workspace_id"], term) for term in {*text, *context})
        tally = lengths.setdefault(row["workspace_id"], [0, 0, 0])
        for place, count in enumerate((1, len(text), len(context))):
            tally[place] += count
    terms = {(row["workspace_id"], row["term"]): row["documents"] for row in ask("SELECT * FROM term")}
    assert {key: count for key, count in terms.items() if count} == dict(holding)
    tallies = {
        row["workspace_id"]: [row["documents"], row["words"], row["context_words"]]
        for row in ask("SELECT * FROM tally")
    }
    assert {key: tally for key, tally in tallies.items() if any(tally)} == lengths


def assert_vectors_agree(ask: Ask, documents: Sequence[dict[str, Any]]) -> None:
    """Prove that each document has the vectors of the model it names, and none that is of another time."""
    found: dict[tuple[int, int], dict[int, int]] = {}
    for row in ask("SELECT workspace_id, item_id, model_id, live FROM embedding"):
        found.setdefault((row["workspace_id"], row["item_id"]), {})[row["model_id"]] = row["live"]
    for row in documents:
        mine = found.pop((row["workspace_id"], row["item_id"]), {})
        if row["embedded_by"] > 0:
            assert row["embedded_by"] in mine, f"document {row['item_id']} has lost its vector"
        assert set(mine.values()) <= {int(row["retired_at"] is None)}, (
            f"a vector of {row['item_id']} is of another time"
        )
    assert found == {}, "a vector has no document"


def assert_file_is_sound(ask: Ask, documents: Sequence[dict[str, Any]]) -> None:
    """Prove that the file is whole and that its word index holds the marked words of every document, and no others."""
    assert ask("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert ask("PRAGMA foreign_key_check") == []
    ask("INSERT INTO words (words) VALUES ('integrity-check')")
    ask("CREATE VIRTUAL TABLE temp.instances USING fts5vocab (main, words, instance)")
    indexed = Counter(tuple(row.values()) for row in ask("SELECT doc, col, term FROM temp.instances"))
    expected: Counter[tuple[Any, ...]] = Counter()
    bases = {row["id"]: row["word_base"] for row in ask("SELECT id, word_base FROM workspace")}
    for row in documents:
        number = bases[row["workspace_id"]] + row["item_id"]
        mark = f"{row['workspace_id']}{'.' if row['retired_at'] is None else '~'}"
        for column, words in (("text", row["words"]), ("context", row["context_words"])):
            expected.update((number, column, mark + word) for word in words.split())
    assert indexed == expected


def assert_postings_agree(ask: Ask, documents: Sequence[dict[str, Any]]) -> None:
    """Prove that PostgreSQL's postings are what reading the documents again would give, each where it belongs."""
    expected: Counter[tuple[int, str, int]] = Counter()
    for row in documents:
        words = IndexedWords(row["item_id"], row["words"], row["context_words"], int(row["retired_at"] is None))
        expected.update((row["workspace_id"], term, each) for term, (each,) in postings_of([words]).items())
    # A part owns what is from its low end to that of the next part, the last one what is up to the word's `through`.
    bounded = (
        "SELECT workspace_id, term, 0::bigint AS low, NULL::bigint AS next, postings FROM term UNION ALL "
        "SELECT p.workspace_id, p.term, p.low, COALESCE(lead(p.low) OVER (PARTITION BY p.workspace_id, p.term "
        "ORDER BY p.low), t.through + 1), p.postings FROM posting AS p LEFT JOIN term AS t USING (workspace_id, term)"
    )
    found: Counter[tuple[int, str, int]] = Counter()
    for row in ask(bounded):
        held = unpacked(row["postings"])
        assert all(row["low"] <= item_of(each) for each in held)
        assert all(row["next"] is None or item_of(each) < row["next"] for each in held)
        found.update((row["workspace_id"], row["term"], each) for each in held)
    assert found == expected


class Child:
    """Another Python process that runs a piece of this test's code and is killed if need be."""

    def __init__(self, code: str, *arguments: str, source: Path = ROOT / "src", **options: Any) -> None:
        self._process = Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            # One thread each: many children share few cores, and threads do not outlive a fork.
            env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"},
            **options,
        )

    @property
    def _out(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def line(self) -> str:
        """Wait for the next line that it prints."""
        with reading(self._process, "a line from the child"):
            text = self._out.readline()
        if not text:
            _, errors = self._process.communicate()
            raise AssertionError(f"the child ended before it spoke: {errors}")
        return text.strip()

    def tell(self, line: str) -> None:
        """Write a line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def wait_until_dead(self) -> None:
        """Wait for a child that kills itself."""
        _, errors = finish(self._process, "the child to kill itself")
        assert self._process.returncode == -signal.SIGKILL, errors

    def finish(self) -> list[str]:
        """Wait until it ends well; the answer is what it printed."""
        out, errors = finish(self._process, "the child to end well")
        assert self._process.returncode == 0, errors
        return out.splitlines()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
