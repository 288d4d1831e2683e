"""Numbered, forward-only migrations that bring a database to the schema of this version.

Owns the step files, what each says that it is, and their translation into each engine's dialect; the engines run them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, cast

from everloom.errors import SchemaMismatch
from everloom.store.statements import Engine, render

_ONLY = re.compile(r"^-- only: (\w+)\n(.*?)^-- end\n", re.MULTILINE | re.DOTALL)
_SQLITE_TYPES = {"BIGINT": "INTEGER", "DOUBLE PRECISION": "REAL", "HALFVEC": "BLOB", "BYTEA": "BLOB"}
_WHOLE_TABLE = re.compile(r"^(CREATE TABLE \w+ \(.*?^\));( -- small)?", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^CREATE TABLE (\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
_DROPPED = re.compile(r"^DROP TABLE (\w+)", re.MULTILINE)
_ENGINES: tuple[Engine, ...] = ("sqlite", "postgresql")
# Steps up to this one were written before steps said what they are. It made the place for the oldest program.
FIRST_RECORDED = 40
_HEAD = re.compile(r"-- step: (?:(replace|expand|fill)|(contract) (\d+))\n")

# `replace` changes what programs of before rely on, so it stops them; `expand` only adds; `fill` completes older rows
# in the background; `contract` removes what only programs of before its step needed.
Kind = Literal["replace", "expand", "fill", "contract"]


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

    @property
    def kind(self) -> Kind:
        """What the first line says that it is; without such a line it is done whole, while nobody works."""
        head = self._head
        return "replace" if head is None else cast("Kind", head[1] or head[2])

    @property
    def oldest(self) -> int:
        """The lowest schema version that a program must know to use a store after this step; 0 if any may."""
        head = self._head
        return self.number if self.kind == "replace" else int(head[3] or 0) if head else 0

    @property
    def _head(self) -> re.Match[str] | None:
        return _HEAD.match(self.sql) if self.number > FIRST_RECORDED else None

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


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
    return _WHOLE_TABLE.sub(_close_table, kept)


def _close_table(table: re.Match[str]) -> str:
    """End a table definition with SQLite's options: strict types, and no rowid for a table of short rows."""
    return f"{table[1]} STRICT{', WITHOUT ROWID' if table[2] else ''};"


def latest_version(engine: Engine) -> int:
    """Return the schema version that this program expects."""
    return steps(engine)[-1].number


def missing_steps(engine: Engine, version: int, address: str, oldest: int | None = None) -> tuple[MigrationStep, ...]:
    """List the steps that a database at `version` still needs.

    A newer one is refused, unless programs that know no more than the step `oldest` may still use it.
    """
    if version > latest_version(engine):
        refuse_older(engine, version if oldest is None else oldest, address)
    return tuple(step for step in steps(engine) if step.number > version)


def refuse_older(engine: Engine, oldest: int, address: str) -> None:
    """Refuse a store that only programs may use that know the step `oldest`, if this one does not."""
    known = latest_version(engine)
    if oldest > known:
        raise SchemaMismatch(
            f"{address} was written by a newer everloom (schema {oldest}; this program knows {known})",
            hint="upgrade everloom, or open an older backup; nothing was changed",
        )


def refuse_partial(engine: Engine, version: int, address: str) -> None:
    """Refuse to copy a store that has more tables or columns than this program knows: the copy would lack them."""
    known = latest_version(engine)
    if version > known:
        raise SchemaMismatch(
            f"a newer everloom has added to {address} (schema {version}; this program knows {known})",
            hint="copy it with the newer one: a copy made by this one would lack what was added",
        )


def needed_steps(engine: Engine, version: int, address: str, oldest: int | None = None) -> tuple[MigrationStep, ...]:
    """List the steps without which this program cannot use a database; contract steps at the end can wait."""
    todo = [*missing_steps(engine, version, address, oldest)]
    while todo and todo[-1].kind == "contract":
        todo.pop()
    return tuple(todo)


def oldest_for(engine: Engine, version: int) -> int:
    """Return the lowest schema version that a program must know to use a database at `version`."""
    return max((step.oldest for step in steps(engine) if step.number <= version), default=0)


def open_fills(engine: Engine, version: int) -> tuple[MigrationStep, ...]:
    """List the steps of a database at `version` that complete rows, and that no later step has taken for complete."""
    open_: list[MigrationStep] = []
    for step in steps(engine):
        if FIRST_RECORDED < step.number <= version and step.kind != "expand":
            open_ = [*open_, step] if step.kind == "fill" else []
    return tuple(open_)


@cache
def has_fills(engine: Engine) -> bool:
    """Return whether this program knows any step that completes rows."""
    return any(step.kind == "fill" for step in steps(engine) if step.number > FIRST_RECORDED)


def batch_of(engine: Engine, number: int) -> str:
    """Read the statement of a fill step, which completes up to `:limit` rows of a workspace."""
    (step,) = [each for each in steps(engine) if each.number == number and each.kind == "fill"]
    (statement,) = split_statements(step.sql)
    return render(statement, engine)


def split_statements(sql: str) -> list[str]:
    """Split a script into statements without comments; each ends with the line that ends with a semicolon."""
    plain = re.sub(r"--[^\n]*", "", sql)
    return [each.strip() for each in re.split(r";[ \t]*$", plain, flags=re.MULTILINE) if each.strip()]


@cache
def tables(engine: Engine) -> dict[str, bool]:
    """List the tables in order of creation, each with whether its rows belong to workspaces."""
    found: dict[str, bool] = {}
    for step in steps(engine):
        made = dict(_TABLE.findall(step.sql))
        for name in {*_DROPPED.findall(step.sql)} - made.keys():
            # One that only a step has, while it makes another, was never listed.
            found.pop(name, None)
        for name, body in made.items():
            found[name] = "workspace_id" in body
    return found


def workspace_tables(engine: Engine) -> list[str]:
    """List the tables whose rows belong to workspaces."""
    return [name for name, belongs in tables(engine).items() if belongs]


_TYPE = r"([A-Z]+(?: PRECISION)?)"
_COLUMN = re.compile(rf"^    (?!PRIMARY|UNIQUE|FOREIGN|CHECK)(\w+) {_TYPE}", re.MULTILINE)
_CHANGE = re.compile(
    r"^CREATE TABLE (?P<made>\w+) \((?P<body>.*?)^\)"
    r"|^ALTER TABLE (?P<grown>\w+) ADD COLUMN (?P<added>\w+) (?P<type>[A-Z]+(?: PRECISION)?)"
    r"|^ALTER TABLE (?P<shrunk>\w+) DROP COLUMN (?P<dropped>\w+)",
    re.MULTILINE | re.DOTALL,
)
_KEY = re.compile(r"^    PRIMARY KEY \(([^)]*)\)", re.MULTILINE)
_INLINE_KEY = re.compile(r"^    (\w+) \w+ PRIMARY KEY", re.MULTILINE)


@cache
def key_of(table: str) -> tuple[str, ...]:
    """List the columns of a table's primary key."""
    whole, inline = _KEY.search(_bodies()[table]), _INLINE_KEY.search(_bodies()[table])
    return tuple(whole[1].split(", ")) if whole else (inline[1],) if inline else ()


@cache
def columns_of_table(table: str, engine: Engine = "postgresql") -> dict[str, str]:
    """List the columns of a table in order, each with its type in an engine."""
    return _columns(engine).get(table) or dict(_COLUMN.findall(_bodies()[table]))


@cache
def _columns(engine: Engine) -> dict[str, dict[str, str]]:
    """Follow the columns of every table through all steps."""
    found: dict[str, dict[str, str]] = {}
    for step in steps(engine):
        for change in _CHANGE.finditer(step.sql):
            if change["made"]:
                found[change["made"]] = dict(_COLUMN.findall(change["body"]))
            elif change["added"]:
                found.setdefault(change["grown"], {})[change["added"]] = change["type"]
            else:
                found.setdefault(change["shrunk"], {}).pop(change["dropped"], None)
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


def read_table(table: str, engine: Engine) -> str:
    """Build the statement that reads a whole table, without what a newer program may have added to it."""
    columns = ", ".join(columns_of_table(_check_table(table), engine))
    return f"SELECT {columns} FROM {table}"  # noqa: S608  only names of our own tables pass


def fill_table(table: str, columns: Iterable[str], mark: str) -> str:
    """Build the statement that inserts a row into a table; `mark` is the driver's parameter syntax."""
    names = [*columns]
    marks = ", ".join(mark.format(name) for name in names)
    return f"INSERT INTO {_check_table(table)} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608


def clear_table(table: str, mark: str) -> str:
    """Build the statement that deletes one workspace's rows from a table."""
    return f"DELETE FROM {_check_table(table)} WHERE workspace_id = {mark}"  # noqa: S608
