"""What an expand step may consist of: new tables, new columns, new indexes, each of a form that older programs survive.

An older program does not name a new column when it writes, and deletes nothing from a new table. So a column needs no
value, or has a constant one, and rows of a new table go with the rows that they belong to. Nothing here reads a whole
table under a lock. Knows no connection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from everloom.store.migrations import MigrationStep, split_statements

_TABLE = re.compile(r"CREATE TABLE (\w+) \(", re.IGNORECASE)
_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) [A-Z]+(?: PRECISION)?(.*)", re.DOTALL)
_INDEX = re.compile(r"CREATE INDEX (\w+) ON (\w+) ")
# Nothing, or a constant: PostgreSQL then changes its catalogue and no row.
_HARMLESS = re.compile(r"(?: NOT NULL)? DEFAULT (?:-?\d+(?:\.\d+)?|'[^']*')|")
_REFERENCE = re.compile(r"REFERENCES \w+ \([^)]*\)(?! ON DELETE (?:CASCADE|SET NULL))")


@dataclass(frozen=True, slots=True)
class Addition:
    """One statement of an expand step: what it adds, under which name, to which table."""

    what: Literal["table", "column", "index"]
    name: str
    table: str
    sql: str


def additions(step: MigrationStep) -> tuple[Addition, ...]:
    """List what an expand step adds; ValueError for a statement that does more than that."""
    return tuple(_additions(step))


def _additions(step: MigrationStep) -> Iterator[Addition]:
    for sql in split_statements(step.sql):
        if (table := _TABLE.match(sql)) and not _REFERENCE.search(sql):
            yield Addition("table", table[1], table[1], sql)
        elif (column := _COLUMN.fullmatch(sql)) and _HARMLESS.fullmatch(column[3].rstrip()):
            yield Addition("column", column[2], column[1], sql)
        elif index := _INDEX.match(sql):
            yield Addition("index", index[1], index[2], sql)
        else:
            raise ValueError(f"step {step} is no expand step, because of: {sql.splitlines()[0]}")
