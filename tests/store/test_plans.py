"""What is asked for by id is found by id: no statement reads a workspace whole to find a few rows in it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

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
# A perspective is forgotten rarely, and an index of vectors by their perspective would cost every write.
WHOLE_BY_NATURE.add("forgetting.perspective_vectors_drop")
RARELY = ("embedding", ("workspace_id", "perspective_id"))
DELETED_BY_ID = re.compile(r"^DELETE FROM (\w+) .*json_each", re.DOTALL)
# What forgetting asks for by what it refers to, with the index that answers.
BY_REFERENCE = {
    "episodic.absorbed_by": "scene_life_by_absorber",
    "episodic.note_behind": "note_by_scene",
    "forgetting.digest_drop": "tombstone_digest_by_item",
    "forgetting.unretire": "document_by_replacement",
    "mind.entry_drop": "array_entry_by_exchange",
    "mind.entry_places": "array_entry_by_exchange",
    "mind.entry_texts": "array_entry_by_exchange",
    "semantic.intersection_unpoint_all": "intersection_by_understanding",
    "semantic.observation_unreplace": "observation_by_replacement",
    "semantic.session_undescribe": "session_state_by_understanding",
}
# What the work list reads, with the index that lets it stop at its limit.
OF_THE_WORK_LIST = {
    "semantic.subject_waiting_some": "subject_waiting",
    "semantic.subject_waiting_latest": "subject_by_observed",
    "semantic.subject_waiting_capped": "subject_waiting",
    "semantic.intersection_waiting_some": "intersection_waiting",
    "semantic.intersection_waiting_largest": "intersection_unwritten",
    "semantic.intersection_waiting_capped": "intersection_waiting",
    "semantic.observation_unlinked_capped": "observation_unplaced",
    "semantic.session_waiting_some": "session_state_waiting",
    # What every call of a session reads: the news since its last one.
    "semantic.activity": "sqlite_autoindex_document_1",
}
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


@pytest.mark.promise("page.bounded")
@pytest.mark.parametrize("name", OF_THE_WORK_LIST)
def test_the_work_list_is_read_in_the_order_of_an_index_up_to_its_limit(
    connection: sqlite3.Connection, name: str
) -> None:
    sql = statements("sqlite")[name]
    values = dict.fromkeys(PARAMETER.findall(sql), 1)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    first = next(step for step in plan if step.startswith("SEARCH"))
    assert f"INDEX {OF_THE_WORK_LIST[name]} " in first
    inner = plan[: plan.index(first) + 2]
    assert not [step for step in inner if "TEMP B-TREE" in step], plan


@pytest.mark.promise("store.finds-by-id")
def test_what_refers_to_a_row_that_is_deleted_is_found_by_that_row(connection: sqlite3.Connection) -> None:
    """An engine looks for such references by itself, in a statement that no plan shows."""
    deleted = {match[1] for sql in statements("sqlite").values() if (match := DELETED_BY_ID.search(sql))}
    assert {"item", "understanding", "scene", "exchange"} <= deleted
    read_whole = []
    for table, columns in references(connection, deleted):
        sql = f"SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = 1' for column in columns)}"
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        if any(WHOLE_WORKSPACE.search(step) for step in plan):
            read_whole.append((table, columns))
    assert read_whole == [RARELY]


def references(connection: sqlite3.Connection, targets: set[str]) -> list[tuple[str, tuple[str, ...]]]:
    """List the columns that refer to some tables, in tables that hold more than one row of a workspace."""
    found = []
    for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        keys: dict[int, list[str]] = {}
        for number, _, target, column, *_ in connection.execute(f"PRAGMA foreign_key_list('{table}')"):
            if target in targets:
                keys.setdefault(number, []).append(column)
        primary = {row[1] for row in connection.execute(f"PRAGMA table_info('{table}')") if row[5]}
        if primary != {"workspace_id"}:
            found += [(table, tuple(columns)) for columns in keys.values()]
    return found


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


@pytest.mark.promise("store.finds-by-id")
def test_postgresql_can_find_what_refers_to_forgotten_items_by_those(postgres_url: str) -> None:
    open_at(postgres_url).close()
    with psycopg.connect(postgres_url) as server:
        # Empty tables are read whole unless that is made dear: then an index is left out only if it cannot answer.
        server.execute("SET enable_seqscan = off")
        for name, index in BY_REFERENCE.items():
            sql = f"EXPLAIN {statements('postgresql')[name]}".encode()
            plan = "\n".join(row[0] for row in server.execute(sql, {"workspace": 1, "ids": [1, 2]}))
            assert index in plan, plan
            # The guard of the workspace is checked once, before any row.
            assert "Filter:" not in plan.replace("One-Time Filter:", ""), plan


# What pages read however large a workspace is, each with the index that bounds it.
BOUNDED = {
    "episodic.cluster_newest": "sqlite_autoindex_cluster_1",
    "episodic.cluster_recent": "scene_life_recent",
    "episodic.cluster_size": "scene_life_by_cluster",
    "episodic.scene_felt": "sqlite_autoindex_scene_1",
    "episodic.scene_inside": "scene_life_by_cluster",
    "episodic.scene_newest": "sqlite_autoindex_scene_1",
    "graph.memory_newest": "memory_by_time",
}


@pytest.mark.promise("store.finds-by-id")
@pytest.mark.parametrize("name", BOUNDED)
def test_a_picture_reads_as_many_rows_as_it_asks_for(connection: sqlite3.Connection, name: str) -> None:
    sql = statements("sqlite")[name]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", dict.fromkeys(PARAMETER.findall(sql), 1))]
    assert any(BOUNDED[name] in step or "PRIMARY KEY" in step for step in plan), plan
    # Sorting would read all rows before the first is given; the order of equal times may be found among these.
    assert not [step for step in plan if "TEMP B-TREE FOR ORDER BY" in step], plan


# What a page looks at, with values for its parameters and the index along which it is found.
LOOKED_AT: dict[str, tuple[str, dict[str, Any]]] = {
    "regions.subject_page": ("subject_by_observed", {"observed": 9, "id": 9, "limit": 9}),
    "regions.subject_tagged": ("subject_tag", {"tag_key": "a", "before": 9, "limit": 9}),
    "regions.name_page": ("subject_name", {"begin": "a", "end": "b", "limit": 9}),
    "regions.name_holding": ("subject_name", {"pattern": "a", "window": 9, "limit": 9}),
    "regions.observations": (
        "observation_subject_by_subject",
        {"subject": 1, "others": [1], "outside": [1], "since": 9, "id": 9, "window": 9},
    ),
    "regions.shared": ("observation_subject_by_subject", {"subject": 1, "others": [1], "count": 1, "window": 9}),
    "regions.understandings": (
        "understanding_subject_by_subject",
        {"subject": 1, "others": [1], "outside": [1], "window": 9},
    ),
    "timeline.bounds": ("document_by_time", {"kinds": '["scene"]'}),
    "timeline.counts": ("document_by_time", {"kinds": '["scene"]', "spans": "[[1, 2]]", "most": 9}),
    "timeline.page": ("document_by_time", {"kind": "a", "at": 1, "id": 1, "end": 9, "limit": 9, "longest": 9}),
    "timeline.sessions": ("session_by_start", {"begin": 1, "end": 9, "limit": 9}),
}


@pytest.mark.promise("page.looks-are-bounded")
@pytest.mark.parametrize("name", sorted(LOOKED_AT))
def test_what_a_page_looks_at_follows_an_index_without_sorting(connection: sqlite3.Connection, name: str) -> None:
    index, values = LOOKED_AT[name]
    sql = statements("sqlite")[name]
    given = {key: str(value) if isinstance(value, list) else value for key, value in values.items()}
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", {**given, "workspace": 1})]
    assert any(index in step for step in plan), plan
    # A window may be brought into order, but never what the window is cut out of: that would have to be read whole.
    inner = [step for step in plan if "TEMP B-TREE" in step]
    assert len(inner) <= (1 if "window" in values else 0), plan


@pytest.mark.promise("page.looks-are-bounded")
def test_postgresql_can_follow_the_same_indexes(postgres_url: str) -> None:
    open_at(postgres_url).close()
    with psycopg.connect(postgres_url) as server:
        server.execute("SET enable_seqscan = off")
        server.execute("SET enable_bitmapscan = off")
        for name, (index, values) in LOOKED_AT.items():
            sql = f"EXPLAIN {statements('postgresql')[name]}".encode()
            plan = "\n".join(row[0] for row in server.execute(sql, {**values, "workspace": 1}))
            expected = "subject_name_by_spelling" if index == "subject_name" else index
            assert expected in plan, f"{name}\n{plan}"


def test_all_vectors_are_read_in_the_order_in_which_they_lie(connection: sqlite3.Connection) -> None:
    sql = statements("sqlite")["vectors.every"]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", dict.fromkeys(PARAMETER.findall(sql), 1))]
    assert plan == ["SEARCH embedding USING PRIMARY KEY (workspace_id=?)"]
