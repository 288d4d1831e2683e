"""Numbered, forward-only migrations that bring a database to the schema of this version.

Owns the step files and their translation into each engine's dialect; the engines run them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable

from everloom.errors import SchemaMismatch
from everloom.store.statements import Engine

_ONLY = re.compile(r"^-- only: (\w+)\n(.*?)^-- end\n", re.MULTILINE | re.DOTALL)
_SQLITE_TYPES = {"BIGINT": "INTEGER", "DOUBLE PRECISION": "REAL", "HALFVEC": "BLOB", "BYTEA": "BLOB"}
_TABLE_END = re.compile(r"^\);( -- small)?", re.MULTILINE)
_TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
_ENGINES: tuple[Engine, ...] = ("sqlite", "postgresql")
_VIRTUAL = re.compile(r"CREATE VIRTUAL TABLE.*?^\);", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One migration: its number, its name, and what reads its SQL in one dialect.

    Most programs find a store that needs none, and read none.
    """

    number: int
    name: str
    read: Callable[[], str]

    @property
    def sql(self) -> str:
        """The statements, in the engine's dialect."""
        return self.read()


@cache
def steps(engine: Engine) -> tuple[MigrationStep, ...]:
    """List every migration of an engine, in order."""
    found = []
    for file in resources.files(__name__).iterdir():
        if file.name.endswith(".sql"):
            number, name = file.name.removesuffix(".sql").split("_", 1)
            found.append(MigrationStep(int(number), name, partial(_read, file, engine)))
    return tuple(sorted(found, key=lambda step: step.number))


def _read(file: Traversable, engine: Engine) -> str:
    return translate(file.read_text(encoding="utf-8"), engine)


def translate(text: str, engine: Engine) -> str:
    """Keep the lines meant for one engine, and map the column types to its own."""
    kept = _ONLY.sub(lambda match: match[2] if match[1] == engine else "", text)
    if engine == "postgresql":
        return kept
    for wanted, native in _SQLITE_TYPES.items():
        kept = re.sub(rf"\b{wanted}\b", native, kept)
    # A virtual table takes no options, but its end looks like that of any other: the options are removed again.
    virtual = _VIRTUAL.findall(kept)
    kept = _TABLE_END.sub(_close_table, kept)
    for table in virtual:
        kept = kept.replace(_TABLE_END.sub(_close_table, table), table)
    return kept


def _close_table(end: re.Match[str]) -> str:
    """End a table definition with SQLite's options: strict types, and no rowid for a table of short rows."""
    return ") STRICT, WITHOUT ROWID;" if end[1] else ") STRICT;"


def latest_version(engine: Engine) -> int:
    """Return the schema version that this program expects."""
    return steps(engine)[-1].number


def missing_steps(engine: Engine, version: int, address: str) -> tuple[MigrationStep, ...]:
    """List the steps that a database at `version` still needs; refuse a version newer than this program's."""
    known = latest_version(engine)
    if version > known:
        raise SchemaMismatch(
            f"{address} was written by a newer everloom (schema {version}; this program knows {known})",
            hint="upgrade everloom, or open an older backup; nothing was changed",
        )
    return tuple(step for step in steps(engine) if step.number > version)


@cache
def tables(engine: Engine) -> dict[str, bool]:
    """List the tables in order of creation, each with whether its rows belong to workspaces."""
    found = {}
    for step in steps(engine):
        for name, body in _TABLE.findall(step.sql):
            found[name] = "workspace_id" in body
    return found


def workspace_tables(engine: Engine) -> list[str]:
    """List the tables whose rows belong to workspaces."""
    return [name for name, belongs in tables(engine).items() if belongs]


_TYPE = r"([A-Z]+(?: PRECISION)?)"
_COLUMN = re.compile(rf"^    (?!PRIMARY|UNIQUE|FOREIGN|CHECK)(\w+) {_TYPE}", re.MULTILINE)
_KEY = re.compile(r"^    PRIMARY KEY \(([^)]*)\)", re.MULTILINE)
_INLINE_KEY = re.compile(r"^    (\w+) \w+ PRIMARY KEY", re.MULTILINE)


@cache
def key_of(table: str) -> tuple[str, ...]:
    """List the columns of a table's primary key."""
    whole, inline = _KEY.search(_bodies()[table]), _INLINE_KEY.search(_bodies()[table])
    return tuple(whole[1].split(", ")) if whole else (inline[1],) if inline else ()


@cache
def columns_of_table(table: str) -> dict[str, str]:
    """List the columns of a table in order, each with its type in PostgreSQL."""
    found = dict(_COLUMN.findall(_bodies()[table]))
    added = re.compile(rf"^ALTER TABLE {table} ADD COLUMN (\w+) {_TYPE}", re.MULTILINE)
    for step in steps("postgresql"):
        found.update(added.findall(step.sql))
    return found


def refers_to_itself(table: str) -> bool:
    """Say whether rows of a table may refer to later rows of the same table."""
    return f"REFERENCES {table} (" in _bodies()[table]


@cache
def _bodies() -> dict[str, str]:
    """Read how each table was created; types are PostgreSQL's where it has the table."""
    found: dict[str, str] = {}
    for engine in _ENGINES:
        for step in steps(engine):
            found.update(_TABLE.findall(step.sql))
    return found


def text_tables() -> list[str]:
    """List the tables of PostgreSQL whose rows belong to workspaces and hold texts, vectors or other bytes."""
    return [name for name in workspace_tables("postgresql") if name in _holding_texts()]


@cache
def _holding_texts() -> frozenset[str]:
    return frozenset(
        name
        for step in steps("postgresql")
        for name, body in _TABLE.findall(step.sql)
        if re.search(r" (TEXT|HALFVEC|BYTEA)\b", body)
    )


def _check_table(table: str) -> str:
    """Return the name if it is one of our tables; nothing else may become part of a statement."""
    if table not in tables("sqlite") | tables("postgresql"):
        raise ValueError(f"{table} is not one of our tables")
    return table


def read_table(table: str) -> str:
    """Build the statement that reads a whole table."""
    return f"SELECT * FROM {_check_table(table)}"  # noqa: S608  only names of our own tables pass


def fill_table(table: str, columns: Iterable[str], mark: str) -> str:
    """Build the statement that inserts a row into a table; `mark` is the driver's parameter syntax."""
    names = [*columns]
    marks = ", ".join(mark.format(name) for name in names)
    return f"INSERT INTO {_check_table(table)} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608


def clear_table(table: str, mark: str) -> str:
    """Build the statement that deletes one workspace's rows from a table."""
    return f"DELETE FROM {_check_table(table)} WHERE workspace_id = {mark}"  # noqa: S608
