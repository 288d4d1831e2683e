"""Spreading the tables of a store over the nodes of a Citus cluster, each workspace whole on one of them.

Owns which table is distributed and which is the same on every node. Refuses to know how nodes are added: that is the
cluster's own business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from everloom.errors import StoreError
from everloom.store.migrations import tables

# Present without Citus, too, as no table at all.
_KNOWN = "SELECT to_regclass('pg_catalog.pg_dist_partition') AS catalog"
_SPREAD = """
SELECT c.relname AS name FROM pg_catalog.pg_dist_partition AS d JOIN pg_class AS c ON c.oid = d.logicalrelid
WHERE c.relnamespace = current_schema()::regnamespace AND d.partmethod IN ('h', 'n')
"""
_KEYS = """
SELECT t.relname AS owner, c.conname AS name, pg_get_constraintdef(c.oid) AS definition
FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid JOIN pg_class AS r ON r.oid = c.confrelid
WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace
    AND (t.relname = ANY(%(tables)s) OR r.relname = ANY(%(tables)s))
"""
_OTHERS_HERE = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
_OTHERS_ANYWHERE = "citus_stat_activity WHERE datname = current_database() AND global_pid <> citus_backend_gpid()"
_MIGRATION = "migration"


@dataclass(frozen=True, slots=True)
class Distributed:
    """The tables that were spread over the nodes now, and on how many nodes they are."""

    tables: tuple[str, ...]
    nodes: int


def is_distributed(connection: psycopg.Connection[dict[str, object]]) -> bool:
    """Say whether the tables of the store are spread over the nodes of a cluster."""
    return bool(_spread(connection))


def _spread(connection: psycopg.Connection[dict[str, object]]) -> set[str]:
    """List the tables that are spread over the nodes already."""
    if connection.execute(_KNOWN).fetchone() == {"catalog": None}:
        return set()
    return {str(row["name"]) for row in connection.execute(_SPREAD).fetchall()}


def need_citus(connection: psycopg.Connection[dict[str, object]], address: str) -> None:
    """Refuse a server that is no node of a cluster, or has no nodes to spread tables over."""
    if connection.execute(_KNOWN).fetchone() == {"catalog": None}:
        raise StoreError(
            f"{address} lacks the Citus extension",
            hint="install Citus on every node, run CREATE EXTENSION citus, and add the nodes with citus_add_node()",
        )
    _need_coordinator(connection, address)


def need_coordinator(connection: psycopg.Connection[dict[str, object]], address: str) -> None:
    """Refuse to change the tables of a cluster at a node that cannot."""
    if is_distributed(connection):
        _need_coordinator(connection, address)


def _need_coordinator(connection: psycopg.Connection[dict[str, object]], address: str) -> None:
    row = connection.execute("SELECT citus_is_coordinator() AS here").fetchone()
    if row != {"here": True}:
        raise StoreError(
            f"{address} is not the coordinator of its cluster, which alone can change its tables",
            hint="run this once, with the coordinator's address",
        )


def others_at(connection: psycopg.Connection[dict[str, object]]) -> str:
    """Name the list of all others who are connected to this database, at whatever node."""
    return _OTHERS_ANYWHERE if is_distributed(connection) else _OTHERS_HERE


def distribute_tables(connection: psycopg.Connection[dict[str, object]]) -> Distributed:
    """Spread what is not spread yet, inside the open transaction; nothing is moved twice."""
    fresh = undistributed(connection)
    if fresh:
        # Keys of one table may not refer to another that is still elsewhere, so they go first and come back last.
        change_in_sequence(connection)
        keys = connection.execute(_KEYS, {"tables": fresh}).fetchall()
        for key in keys:
            _alter(connection, key, "DROP CONSTRAINT {name}")
        before = _counts(connection, fresh)
        _spread_over(connection, fresh)
        if (after := _counts(connection, fresh)) != before:
            odd = next(name for name in fresh if after[name] != before[name])
            raise StoreError(f"{odd} has {after[odd]} of {before[odd]} rows on the nodes; nothing was changed")
        for key in keys:
            _alter(connection, key, f"ADD CONSTRAINT {{name}} {key['definition']}")
    return Distributed(tuple(fresh), count_nodes(connection))


def change_in_sequence(connection: psycopg.Connection[dict[str, object]]) -> None:
    """Change one shard after the other: what was changed side by side cannot be read in the same transaction."""
    connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")


def undistributed(connection: psycopg.Connection[dict[str, object]]) -> list[str]:
    """List the tables that are on one node only."""
    known = _spread(connection)
    return [name for name in _belongs() if name not in known]


def _belongs() -> dict[str, bool]:
    """List all tables in order of creation, each with whether its rows belong to workspaces."""
    return {_MIGRATION: False, **tables("postgresql")}


def count_nodes(connection: psycopg.Connection[dict[str, object]]) -> int:
    """Count the nodes that hold workspaces."""
    row = connection.execute("SELECT count(*) AS count FROM citus_get_active_worker_nodes()").fetchone()
    return int(str(row["count"])) if row else 0


def _spread_over(connection: psycopg.Connection[dict[str, object]], fresh: Sequence[str]) -> None:
    """Put every workspace on one node, and what belongs to no workspace on all of them."""
    known, belongs = _spread(connection), _belongs()
    beside = next((name for name, bound in belongs.items() if bound and name in known), None)
    for name in fresh:
        if not belongs[name]:
            connection.execute("SELECT create_reference_table(%s)", (name,))
        else:
            place = "SELECT create_distributed_table(%s, 'workspace_id', colocate_with => %s)"
            connection.execute(place, (name, beside or "none"))
            beside = beside or name


def _counts(connection: psycopg.Connection[dict[str, object]], names: Sequence[str]) -> dict[str, object]:
    """Count the rows of tables."""
    counted = {}
    for name in names:
        row = connection.execute(sql.SQL("SELECT count(*) AS count FROM {}").format(sql.Identifier(name))).fetchone()
        counted[name] = row["count"] if row else None
    return counted


def _alter(connection: psycopg.Connection[dict[str, object]], key: dict[str, object], change: str) -> None:
    owner, name = sql.Identifier(str(key["owner"])), sql.Identifier(str(key["name"]))
    connection.execute(sql.SQL("ALTER TABLE {owner} " + change).format(owner=owner, name=name))
