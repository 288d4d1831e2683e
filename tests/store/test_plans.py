"""What is asked for by id is found by id: no statement reads a workspace whole to find a few rows in it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import psycopg
import pytest
from pgvector import HalfVector

from everloom.clock import SystemClock
from everloom.store import open_store
from everloom.store.statements import statements
from tests.store.ground import note, open_at

PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
WHOLE_WORKSPACE = re.compile(r"\(workspace_id=\?\)$")
# These are asked for all there is of a kind, or of words.
WHOLE_BY_NATURE = {"episodic.history", "words.find_within"}
BY_ID = sorted(name for name, sql in statements("sqlite").items() if "json_each" in sql and name not in WHOLE_BY_NATURE)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    """A connection to a store that nobody has analysed."""
    path: Path = tmp_path_factory.mktemp("plans") / "loom.db"
    open_store(f"sqlite://{path}", SystemClock()).close()
    return sqlite3.connect(path)


@pytest.mark.promise("store.finds-by-id")
@pytest.mark.parametrize("name", BY_ID)
def test_a_statement_that_names_items_reads_only_those(connection: sqlite3.Connection, name: str) -> None:
    sql = statements("sqlite")[name]
    values = {each: "[1, 2]" if f"json_each(:{each})" in sql else 1 for each in PARAMETER.findall(sql)}
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert not [step for step in plan if WHOLE_WORKSPACE.search(step)]


@pytest.mark.promise("store.finds-by-id")
def test_vectors_are_found_by_id_before_postgresql_knows_how_many_there_are(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        ids = list(place.add([note(f"Island {number} has a harbour.") for number in range(600)]))
        cue = loom.embedding.probe("harbour")
        with loom.store.read(place.info.id) as unit:
            probe = loom.embedding.aimed(unit, cue)
            assert probe is not None
            ((perspective, vector),) = probe.vectors.items()
            values = {"workspace": place.info.id, "model": probe.model_id, "perspective": perspective, "ids": ids[:60]}
            asked = {**values, "probe": str(HalfVector(vector).to_list())}
    with psycopg.connect(postgres_url) as server:
        server.execute(f"SET everloom.workspace = '{place.info.id}'")
        for name in ("vectors.of_items", "vectors.similarities"):
            sql = f"EXPLAIN {statements('postgresql')[name]}".encode()
            plan = "\n".join(row[0] for row in server.execute(sql, asked))
            assert "embedding_pkey" in plan, plan
            assert "Filter: (item_id" not in plan
