"""What is stored is checked: whatever changed since it was written is found and named."""

from __future__ import annotations

import os
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from everloom.clock import ManualClock
from everloom.errors import EverloomError, StoreError
from everloom.loom import Loom
from everloom.store import open_store, sqlite_url
from everloom.store.checksums import COLUMN, CONTENT, checksum_of, is_intact, sealed
from everloom.store.migrations import steps
from everloom.store.sqlite.checking import file_problems
from everloom.store.sqlite.versions import defects_of
from everloom.store.statements import Engine
from everloom.store.transfer import restore
from tests.engines import ROLE
from tests.store.ground import as_superuser, asking, is_sqlite, note, open_at, revise, rows_of

# The migration that gave rows their checksums.
BORN = next(step.number for step in steps("sqlite") if step.name == "checksums")


def taking_back(engine: Engine) -> list[str]:
    """Write how to take back the migrations after it: what they made, the newest first."""
    later = "\n".join(step.sql for step in steps(engine) if step.number > BORN)
    indexes = [f"DROP INDEX IF EXISTS {name}" for name in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", later)]
    # One that was dropped first was there before.
    rebuilt = re.findall(r"DROP TABLE (\w+)", later)
    tables = [name for name in re.findall(r"CREATE TABLE (\w+) \(", later) if name not in rebuilt]
    dropped = re.findall(r"ALTER TABLE (\w+) DROP COLUMN (\w+)", later)
    columns = [
        each
        for each in re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", later)
        if each[0] not in tables and each not in dropped
    ]
    sequences = re.findall(r"DROP SEQUENCE (\w+)", later)
    return [
        *indexes,
        *(f"DROP TABLE {table}" for table in reversed(tables)),
        *(f"ALTER TABLE {table} DROP COLUMN {name}" for table, name in reversed(columns)),
        *(f"CREATE SEQUENCE {name}; ALTER SEQUENCE {name} OWNER TO {ROLE}" for name in sequences),
    ]


# Tables of content that came with a migration after it.
YOUNGER = {
    name for step in steps("postgresql") if step.number > BORN for name in re.findall(r"CREATE TABLE (\w+)", step.sql)
}


def fill(loom: Loom) -> None:
    """Write something into every table of content, through what users have or through the faculties' own statements."""
    james = loom.workspace("james", session="a talk")
    semantic = james.semantic
    seen = semantic.remember(["James"], "James has 17 boats.")
    semantic.create_understanding(["James"], "James owns 17 boats.", "boats", source_observation_ids=[seen.id])
    james.mark(seen.id, "useful", "It was 17.")
    james.episodic.update_memory("knowledge", "append", "tides: High at 17:00.")
    james.episodic.update_memory("notes", "append", "Buy 17 ropes.")
    with loom.store.write(james.info.id) as unit:
        unit.run("kernel.receipt_add", key="k", operation="x", request_hash="h", answer="17", at=1)
        unit.run("mind.entry_add", position=1, exchange=None, role="user", blocks='["17"]', at=1)
    (item,) = james.add([note("The bell rang 17 times.")])
    revise(james, item, note("The bell rang 17 times, and once more."))
    with james.records("p").write() as writer:
        writer.put(("n",), "added", 17, data=b"17")
        writer.put(("n",), "changed", 16)
        writer.put(("n",), "changed", 17)


@pytest.fixture
def filled(store_url: str) -> str:
    with open_at(store_url) as loom:
        fill(loom)
        # SQLite counts the words of the newest documents later; here they are counted.
        for each in loom.workspaces.list():
            loom.store.maintain(each.id)
    return store_url


def change(url: str, statement: str, *params: Any) -> None:
    """Change a row past the program."""
    if is_sqlite(url):
        with closing(sqlite3.connect(url.removeprefix("sqlite://"), isolation_level=None)) as plain:
            plain.execute(statement, params)
    else:
        with asking(url) as ask:
            ask(f"{statement} RETURNING 1 AS one", *params)


@pytest.mark.promise("store.content-is-checked")
def test_a_digit_that_changed_in_a_stored_text_is_found_and_named(
    filled: str, tmp_path: Path, clock: ManualClock
) -> None:
    with closing(open_store(filled, clock, is_read_only=True)) as store:
        assert store.health(deep=True).problems == ()
        store.backup(tmp_path / "good.db")
    (row,) = rows_of(filled, "SELECT item_id FROM document WHERE text = 'James has 17 boats.'")
    change(filled, "UPDATE document SET text = 'James has 71 boats.' WHERE item_id = ?", row["item_id"])
    change(filled, "UPDATE receipt SET answer = '71'")
    expected = (
        "receipt k of workspace james does not match its checksum",
        f"document {row['item_id']} of workspace james does not match its checksum",
    )
    with open_at(filled) as loom:
        assert loom.store.health().problems == ()
        assert loom.store.health(deep=True).problems == expected
        with pytest.raises(StoreError, match="was written, but") as caught:
            loom.store.backup(tmp_path / "bad.db")
    assert all(each in caught.value.message for each in expected)
    assert file_problems(tmp_path / "good.db") == []
    assert file_problems(tmp_path / "bad.db") == [*expected]


@pytest.mark.promise("store.content-is-checked")
def test_checksums_go_with_their_rows_from_engine_to_engine(
    filled: str, tmp_path: Path, clock: ManualClock, lend_bare_url: Callable[[], AbstractContextManager[str]]
) -> None:
    change(filled, "UPDATE receipt SET answer = '71'")
    with open_at(filled) as loom, pytest.raises(StoreError):
        loom.store.backup(tmp_path / "bad.db")
    with lend_bare_url() as there:
        report = restore(tmp_path / "bad.db", there, clock)
        assert report.damaged == ("receipt k of workspace james does not match its checksum",)
        with open_at(there) as loom:
            assert loom.store.health(deep=True).problems == report.damaged


@pytest.mark.promise("store.content-is-checked")
def test_every_row_of_content_has_a_checksum(filled: str) -> None:
    empty = {
        "attachment",
        "held",
        "scene",
        "scene_change",
        "note",
        "subject_tag",
        "being",
        "message",
        "scheduled",
        "mind_note_version",
    }
    for table in CONTENT:
        rows = rows_of(filled, f"SELECT * FROM {table}")
        assert rows or table in empty, table
        for row in rows:
            assert row[COLUMN] is not None or table == "embedding", table
            if is_sqlite(filled):
                assert is_intact(table, row)


def test_a_statement_that_knows_content_only_in_part_leaves_its_row_without_a_checksum() -> None:
    part = "UPDATE document SET title = :title WHERE workspace_id = :workspace AND item_id = :id"
    assert sealed(part) == (part.replace("SET ", "SET checksum = NULL, "), None)
    made = "INSERT INTO item (workspace_id, id, kind, created_at) VALUES (:workspace, :id, lower(:kind), 0)"
    assert sealed(made) == (made, None)
    other = "UPDATE document SET retired_at = :at WHERE workspace_id = :workspace AND item_id = :id"
    assert sealed(other) == (other, None)


def test_a_checksum_tells_values_and_their_borders_apart() -> None:
    several: list[list[Any]] = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        ["a", "b", "c"],
        [1],
        ["1"],
        [1.0],
        [None],
        [""],
        [b"1"],
        [],
    ]
    assert len({checksum_of(each) for each in several}) == len(several)
    assert -(2**63) <= checksum_of(["x"]) < 2**63


@pytest.mark.promise("store.content-is-checked")
@pytest.mark.one_node("so old a store was never distributed")
def test_rows_from_before_there_were_checksums_get_them_when_the_store_is_migrated(filled: str) -> None:
    later = taking_back("sqlite" if is_sqlite(filled) else "postgresql")
    undoing = [*later, *(f"ALTER TABLE {table} DROP COLUMN {COLUMN}" for table in CONTENT if table not in YOUNGER)]
    if is_sqlite(filled):
        for statement in [f"PRAGMA user_version = {BORN - 1}", *undoing]:
            change(filled, statement)
    else:
        with psycopg.connect(as_superuser(filled), autocommit=True) as connection:
            connection.execute("DELETE FROM migration WHERE number >= %s", (BORN,))
            for statement in undoing:
                connection.execute(statement.encode())
    with open_at(filled) as loom:
        assert loom.store.health(deep=True).problems == ()
    for table in CONTENT:
        assert rows_of(filled, f"SELECT 1 AS one FROM {table} WHERE {COLUMN} IS NULL") == [], table
    change(filled, "UPDATE receipt SET answer = '71'")
    with open_at(filled) as loom:
        assert len(loom.store.health(deep=True).problems) == 1


@pytest.mark.promise("store.content-is-checked")
def test_every_one_of_many_damaged_rows_is_named(store_url: str) -> None:
    with open_at(store_url) as loom:
        ids = [*loom.workspace("james").add([note(f"The bell rang {number} times.") for number in range(150)])]
    change(store_url, "UPDATE document SET text = text || '!'")
    with open_at(store_url) as loom:
        problems = loom.store.health(deep=True).problems
    assert [f"document {item} of workspace james does not match its checksum" for item in ids] == list(problems)


@pytest.mark.promise("store.content-is-checked")
@pytest.mark.parametrize(
    "statement",
    ["UPDATE term SET documents = documents + 1 WHERE term = 'boat'", "UPDATE tally SET words = words + 1"],
)
def test_counts_that_do_not_fit_the_documents_are_found(filled: str, statement: str) -> None:
    change(filled, statement)
    with open_at(filled) as loom:
        (problem,) = loom.store.health(deep=True).problems
    assert "workspace james" in problem


@pytest.mark.promise("store.content-is-checked")
def test_a_word_index_that_does_not_fit_the_documents_is_found(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "loom.db")
    with open_at(url) as loom:
        fill(loom)
    change(url, "INSERT INTO words (rowid, text, context) VALUES (4711, '1.ghost', '')")
    with open_at(url) as loom:
        (problem,) = loom.store.health(deep=True).problems
    assert "word index" in problem


def logical(path: Path) -> dict[str, Any]:
    """Read all content and what search finds by, past the program."""
    found: dict[str, Any] = {}
    with closing(sqlite3.connect(path)) as plain:
        for table, content in CONTENT.items():
            found[table] = sorted(map(repr, plain.execute(f"SELECT {', '.join(content.all)} FROM {table}")))
        found["listed"] = sorted(map(repr, plain.execute("SELECT item_id, words, context_words FROM document")))
        plain.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab (main, words, instance)")
        found["words"] = sorted(map(repr, plain.execute("SELECT * FROM temp.instances")))
    return found


def is_noticed(path: Path) -> bool:
    try:
        with open_at(sqlite_url(path)) as loom:
            return bool(loom.store.health(deep=True).problems)
    except EverloomError:
        return True


def damages(size: int, count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.randrange(size - 16), chance.randbytes(16)


def assert_damage_is_noticed(path: Path, count: int, seed: int) -> int:
    """Damage 16 bytes at many places, one at a time: each is noticed, or changed nothing that anybody could read."""
    whole, before = path.read_bytes(), logical(path)
    noticed = 0
    for place, noise in damages(len(whole), count, seed):
        path.write_bytes(whole[:place] + noise + whole[place + 16 :])
        if is_noticed(path):
            noticed += 1
        else:
            assert logical(path) == before, f"{count} damages, seed {seed}: at {place}"
        for left in path.parent.glob("loom.db-*"):
            left.unlink()
    return noticed


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A file with hardly a byte that means nothing."""
    path = tmp_path / "loom.db"
    with open_at(sqlite_url(path)) as loom:
        fill(loom)
        words = "tide harbour keel rope gull lamp fog chart mast anchor sail crew".split()
        chance = random.Random(1)
        loom.workspace("james").add([note(" ".join(chance.choices(words, k=30)) + f" {n}") for n in range(400)])
        loom.store.backup(tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(path)
    return path


@pytest.mark.promise("store.content-is-checked")
def test_random_damage_is_noticed_or_changes_nothing(dense: Path) -> None:
    assert assert_damage_is_noticed(dense, 25, seed=7) > 3


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_much_random_damage_is_noticed_or_changes_nothing(dense: Path) -> None:
    assert assert_damage_is_noticed(dense, 2_000, seed=int.from_bytes(os.urandom(4), "big")) > 400


@pytest.mark.promise("store.sqlite-is-judged")
def test_versions_of_sqlite_with_known_defects_are_named() -> None:
    affected = [(3, 37, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 0), (3, 51, 2)]
    sound = [(3, 44, 6), (3, 44, 9), (3, 50, 7), (3, 51, 3), (3, 52, 0), (3, 53, 1), (4, 0, 0)]
    assert all(defects_of(version) for version in affected)
    assert not any(defects_of(version) for version in sound)
    assert all(each.source.startswith("https://") for version in affected for each in defects_of(version))
