"""Scenes of an older store lose their dates from text and vector when the store is opened and the worker has run."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import psycopg
import pytest

from everloom.episodic import Episodic
from everloom.loom import Loom
from everloom.store.address import sqlite_path
from everloom.store.migrations import steps
from tests.episodic.ground import remember, scene
from tests.store.ground import as_superuser, is_sqlite, rows_of

OLD = "UPDATE document SET text = '[2026-01-01, 2026-02-01] ' || text WHERE kind = 'scene'"


def run(url: str, sql: str) -> None:
    """Change a database directly."""
    if is_sqlite(url):
        with closing(sqlite3.connect(sqlite_path(url))) as plain:
            plain.executescript(sql)
    else:
        with psycopg.connect(as_superuser(url), autocommit=True) as connection:
            connection.execute(sql.encode())


@pytest.mark.promise("episodic.dates")
def test_the_scenes_of_an_older_store_are_embedded_again(being: Episodic, loom: Loom, store_url: str) -> None:
    plain, felt = remember(being, scene("We went to Elba"), scene("James repaired the mast", feeling="proud"))
    place = loom.workspace("james")
    with loom.store.read(place.info.id) as unit:
        before = loom.embedding.held(unit, [plain, felt])
    run(store_url, OLD)
    (step,) = [each for each in steps("sqlite" if is_sqlite(store_url) else "postgresql") if each.name == "dates"]
    run(store_url, step.sql)
    kept = {row["item_id"]: row for row in rows_of(store_url, "SELECT * FROM document WHERE kind = 'scene'")}
    assert (kept[plain]["text"], kept[felt]["text"]) == ("We went to Elba", "James repaired the mast / proud")
    assert kept[plain]["embedded_by"] == 0
    place.sleep()
    assert all(row["embedded_by"] for row in rows_of(store_url, "SELECT * FROM document WHERE kind = 'scene'"))
    with loom.store.read(place.info.id) as unit:
        after = loom.embedding.held(unit, [plain, felt])
    assert all(np.array_equal(before[item], after[item]) for item in (plain, felt))


@pytest.mark.one_node("so old a store was never distributed")
def test_the_lives_of_the_scenes_of_an_older_store_are_kept(being: Episodic, store_url: str) -> None:
    first, second, _ = remember(being, scene("We went to Elba"), scene("We came back"), scene("James slept"))
    being.merge_nodes([first, second], "We went there and back")
    before = rows_of(store_url, "SELECT * FROM scene_life ORDER BY scene_id")
    (step,) = [each for each in steps("sqlite" if is_sqlite(store_url) else "postgresql") if each.name == "changes"]
    # The older table had no such columns; what they hold is new, and the step does not read it.
    run(store_url, "DROP TABLE scene_change; UPDATE scene_life SET placed = 1, split_from = scene_id;")
    run(store_url, step.sql)
    assert rows_of(store_url, "SELECT * FROM scene_life ORDER BY scene_id") == before
    assert {row["death"] for row in before} == {None, "absorbed"}
