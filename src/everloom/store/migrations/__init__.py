"""The numbered steps that make a database what this version expects, forward only.

Owns the step files and their translation into each engine's dialect; running them belongs to the engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from everloom.errors import SchemaMismatch
from everloom.store.statements import Engine

ONLY = re.compile(r"^-- only: (\w+)\n(.*?)^-- end\n", re.MULTILINE | re.DOTALL)
SQLITE_TYPES = {"BIGINT": "INTEGER", "DOUBLE PRECISION": "REAL", "HALFVEC": "BLOB", "BYTEA": "BLOB"}
TABLE_END = re.compile(r"^\);( -- small)?", re.MULTILINE)
TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
VIRTUAL = re.compile(r"CREATE VIRTUAL TABLE.*?^\);", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One migration: its number, its name, its SQL in one dialect."""

    number: int
    name: str
    sql: str


@cache
def steps(engine: Engine) -> tuple[Step, ...]:
    """Read every migration in an engine's dialect, in order."""
    found = []
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".sql"):
            number, name = file.name.removesuffix(".sql").split("_", 1)
            found.append(Step(int(number), name, in_dialect(file.read_text(encoding="utf-8"), engine)))
    return tuple(sorted(found, key=lambda step: step.number))


def in_dialect(text: str, engine: Engine) -> str:
    """Keep one engine's lines and write the types it knows."""
    kept = ONLY.sub(lambda match: match[2] if match[1] == engine else "", text)
    if engine == "postgresql":
        return kept
    for wanted, native in SQLITE_TYPES.items():
        kept = re.sub(rf"\b{wanted}\b", native, kept)
    virtual = VIRTUAL.findall(kept)
    kept = TABLE_END.sub(strict, kept)
    for table in virtual:
        kept = kept.replace(TABLE_END.sub(strict, table), table)
    return kept


def strict(end: re.Match[str]) -> str:
    """Write the end of a table as SQLite keeps types, and short rows, strictly."""
    return ") STRICT, WITHOUT ROWID;" if end[1] else ") STRICT;"


def latest(engine: Engine) -> int:
    """Say which version this program expects."""
    return steps(engine)[-1].number


def missing(engine: Engine, version: int, address: str) -> tuple[Step, ...]:
    """List the steps that a database of `version` still needs; refuse one from the future."""
    if version > latest(engine):
        raise SchemaMismatch(
            f"{address} was written by a newer everloom (schema {version}; this program knows {latest(engine)})",
            hint="upgrade everloom, or open an older backup; nothing was changed",
        )
    return tuple(step for step in steps(engine) if step.number > version)


@cache
def tables(engine: Engine) -> dict[str, bool]:
    """List the tables in the order in which they were made, each with whether its rows belong to workspaces."""
    found = {}
    for step in steps(engine):
        for name, body in TABLE.findall(step.sql):
            found[name] = "workspace_id" in body
    return found


def workspace_tables(engine: Engine) -> list[str]:
    """List the tables whose rows belong to workspaces."""
    return [name for name, belongs in tables(engine).items() if belongs]


def known(table: str) -> str:
    """Accept the name of a table of ours, and nothing else, as part of a statement."""
    if table not in tables("sqlite") | tables("postgresql"):
        raise ValueError(f"{table} is no table of ours")
    return table


def read_table(table: str) -> str:
    """Write the statement that reads a table whole."""
    return f"SELECT * FROM {known(table)}"  # noqa: S608  only names of our own tables pass


def fill_table(table: str, columns: Iterable[str], mark: str) -> str:
    """Write the statement that fills a table; `mark` is how the driver writes a parameter."""
    names = [*columns]
    marks = ", ".join(mark.format(name) for name in names)
    return f"INSERT INTO {known(table)} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608


def clear_table(table: str, mark: str) -> str:
    """Write the statement that erases one workspace's rows of a table."""
    return f"DELETE FROM {known(table)} WHERE workspace_id = {mark}"  # noqa: S608
