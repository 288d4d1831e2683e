"""Behind a pooler, where two transactions of a process are seldom on one connection: nothing outlasts a transaction."""

from __future__ import annotations

import psycopg
import pytest

from everloom.clock import SystemClock
from everloom.errors import StoreBusy, StoreError
from everloom.store import open_store
from everloom.store.contract import Store, StoreLimits

_OURS = "SELECT count(*) AS count FROM pg_prepared_statements"


def prepared(url: str, limits: StoreLimits) -> int:
    """Count the statements that a connection has left prepared after many units."""
    store = open_store(url, SystemClock(), limits)
    try:
        ask(store)
        with store.read(1) as unit:
            row = unit._connection.execute(_OURS).fetchone()  # type: ignore[attr-defined]
            return int(row["count"])
    finally:
        store.close()


def ask(store: Store) -> None:
    """Ask the same thing until psycopg prepares it."""
    for _ in range(12):
        with store.read(1) as unit:
            unit.all("kernel.store_identity")


@pytest.mark.promise("store.pooled")
def test_no_statement_stays_prepared_if_the_settings_say_so(postgres_url: str) -> None:
    assert prepared(postgres_url, StoreLimits()) > 0
    assert prepared(postgres_url, StoreLimits(prepared_statements=False)) == 0


@pytest.mark.promise("store.pooled")
def test_nothing_that_a_unit_sets_outlasts_it(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as plain:
        usual = settings_of(plain)
    store = open_store(postgres_url, SystemClock())
    try:
        with store.write(1) as unit:
            connection = unit._connection  # type: ignore[attr-defined]
            assert settings_of(connection) != usual
        with store.read(1) as unit:
            assert unit._connection is connection  # type: ignore[attr-defined]
        assert settings_of(connection) == usual
    finally:
        store.close()


def settings_of(connection: psycopg.Connection[object]) -> list[str]:
    """Read what a unit sets."""
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "synchronous_commit")
    with connection.cursor(row_factory=psycopg.rows.scalar_row) as cursor:
        return [str(cursor.execute(f"SHOW {name}".encode()).fetchone()) for name in names]


@pytest.mark.promise("store.pooled")
def test_a_process_opens_no_more_connections_than_the_settings_say(postgres_url: str) -> None:
    store = open_store(postgres_url, SystemClock(), StoreLimits(connections=2, lock_seconds=0.2, statement_seconds=0.5))
    try:
        with store.read(1) as one, store.read(1) as other, store.read(1) as third:
            assert one.all("kernel.item_counts") == other.all("kernel.item_counts") == []
            with pytest.raises(StoreBusy, match="all 2 connections"):
                third.all("kernel.item_counts")
    finally:
        store.close()


@pytest.mark.promise("store.pooled")
def test_a_pooler_that_mixes_up_statements_is_named_with_what_to_do(postgres_url: str) -> None:
    store = open_store(postgres_url, SystemClock())
    try:
        with store.read(1) as unit:
            connection = unit._connection  # type: ignore[attr-defined]
        # What a pooler brings about when it hands out a connection on which somebody else has prepared something.
        connection.execute("PREPARE _pg3_0 AS SELECT 1", prepare=False)
        with pytest.raises(StoreError, match="pooler") as caught:
            ask(store)
    finally:
        store.close()
    assert "store.prepared_statements" in str(caught.value.hint)
