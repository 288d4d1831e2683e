"""Overwriting what was deleted from a PostgreSQL database: in tables, in indexes and in the planner's samples.

VACUUM alone leaves the bytes of deleted rows in their pages, so every table is rewritten. Each is locked while that
happens, one after the other; a table that stays busy is left for the next time. Refuses to know what the tables mean.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import psycopg

from everloom.store.contract import Scrubbed
from everloom.store.migrations import text_tables
from everloom.store.postgresql.opening import Connection

_SIZE = (
    "SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0)::bigint AS size FROM pg_class AS c "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
)
_FILLED = (
    "SELECT array_agg(c.relname::text) AS names, "
    "COALESCE(bool_and(pg_has_role(current_user, c.relowner, 'USAGE')), TRUE) AS are_own FROM pg_class AS c "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND pg_relation_size(c.oid) > 0"
)
# A rewritten table keeps the deleted rows that an older transaction might still see. Those are the writers of every
# database of the server, because the rewriting takes a snapshot itself, and the readers of this database, as far as
# this role may see them.
_NEWEST = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS newest"
_OLDER = (
    "SELECT pg_snapshot_xmin(pg_current_snapshot()) < '{newest}'::xid8 OR EXISTS (SELECT 1 FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND age(backend_xmin) > age('{newest}'::xid8::xid)) AS are_there"
)
# How long the rewriting waits for them each time, and how often it rewrites a table that kept rows all the same.
_OLDER_SECONDS = 5.0
_ROUNDS = 3
_STATISTICS = "pg_catalog.pg_statistic"
# How long the rewriting of a table waits for those who use it.
_LOCK_SECONDS = 10
_FOREIGN = "tables that this role does not own: let their owner run VACUUM FULL on them"
_SEEN = "deleted rows that an open transaction on this server might still see; the next cleaning removes them"
_ELSEWHERE = (
    "the server's write-ahead log, until it is recycled, and whatever copies it: archives, replicas and backups"
)
IN_USE = Scrubbed(is_done=False, remains=("tables that were in use; the next cleaning rewrites them", _ELSEWHERE))
# Only the server that holds a table can say what is left in it.
SPREAD = Scrubbed(
    is_done=False,
    remains=("tables on the nodes of the cluster: let their owner run VACUUM (FULL, ANALYZE) on them", _ELSEWHERE),
)
# ANALYZE leaves the samples of a table without rows as they were. Giving a column its own type again drops them, on
# every version of the server, and rewrites nothing. A table that was never analysed has none.
_EMPTIED = (
    "SELECT c.relname::text AS name, string_agg(format('ALTER COLUMN %I TYPE %s', a.attname, "
    "format_type(a.atttypid, a.atttypmod)), ', ') AS retyped FROM pg_class AS c "
    "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "AND format_type(a.atttypid, NULL) IN ('text', 'bytea', 'halfvec') "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.reltuples >= 0 "
    "AND pg_relation_size(c.oid) = 0 GROUP BY c.relname ORDER BY c.relname"
)


def scrub(connection: Connection, longest: float, at_most: int | None) -> Scrubbed:
    """Rewrite every table that holds texts or vectors, unless there is more of them than `at_most` bytes."""
    limits = f"SET lock_timeout = '{_LOCK_SECONDS}s'; SET statement_timeout = '{longest:.0f}s'"
    connection.execute(limits.encode(), prepare=False)
    if at_most is not None and (connection.execute(_SIZE.encode()).fetchone() or {"size": 0})["size"] > at_most:
        return Scrubbed(is_done=False, remains=(_ELSEWHERE,))
    found = connection.execute(_FILLED.encode()).fetchone()
    # The server would skip with a warning what this role does not own, and the words would stay.
    if found and not found["are_own"]:
        return Scrubbed(is_done=False, remains=(_FOREIGN, _ELSEWHERE))
    filled = [name for name in text_tables() if found and name in (found["names"] or ())]
    are_clean = _rewrite_until_clean(connection, "FULL, VERBOSE, ANALYZE", filled)
    for row in connection.execute(_EMPTIED.encode()).fetchall():
        if row["name"] in text_tables():
            connection.execute(f"ALTER TABLE {row['name']} {row['retyped']}".encode(), prepare=False)
    # The planner's samples of the old rows are rows themselves. Whoever owns the database may rewrite them, too; for
    # others the server leaves them alone, and replaces them in time.
    are_clean &= _rewrite_until_clean(connection, "FULL, VERBOSE", [_STATISTICS])
    if not are_clean:
        return Scrubbed(is_done=False, remains=(_SEEN, _ELSEWHERE))
    return Scrubbed(is_done=True, steps=("tables", "statistics"), remains=(_ELSEWHERE,))


def _rewrite_until_clean(connection: Connection, how: str, tables: Sequence[str]) -> bool:
    """Rewrite tables, again if they kept deleted rows, for as long as that may help; return whether they are clean."""
    left = list(tables)
    for _ in range(_ROUNDS):
        may_help = _outlast_older(connection)
        left = [name for name in left if not _rewrite_table(connection, how, name)]
        if not left or not may_help:
            break
    return not left


def _outlast_older(connection: Connection) -> bool:
    """Wait a while for the transactions that run now to end; return whether they did."""
    newest = connection.execute(_NEWEST.encode()).fetchone()
    older = _OLDER.format(newest=newest["newest"] if newest else 0).encode()
    deadline = time.monotonic() + _OLDER_SECONDS
    while (row := connection.execute(older, prepare=False).fetchone()) and row["are_there"]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _rewrite_table(connection: Connection, how: str, name: str) -> bool:
    """Rewrite a table; return whether the server says that it kept no deleted row, or may not be rewritten."""
    kept: list[str] = []

    def listen(told: psycopg.errors.Diagnostic) -> None:
        # "0 dead row versions cannot be removed yet.", in the language of the server. Gone when this function returns.
        if told.severity_nonlocalized == "INFO" and told.message_detail:
            kept.extend(re.findall(r"\d+", told.message_detail)[:1])

    connection.add_notice_handler(listen)
    try:
        connection.execute(f"VACUUM ({how}) {name}".encode(), prepare=False)
    finally:
        connection.remove_notice_handler(listen)
    # Nothing is told of the statistics if this role may not rewrite them.
    return set(kept) == {"0"} or (name == _STATISTICS and not kept)
