"""A checksum in every row of what people would miss, made in this process when the row is written.

Says which columns of which tables are content, adds the checksum to the statements that write them, and compares rows
with it: a bit that changed on the disk, in a copy or on the way is found, and named. Derived data has none; it is
compared with what it is derived from. Knows nothing about connections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from operator import itemgetter
from struct import pack
from typing import Any

COLUMN = "checksum"


@dataclass(frozen=True, slots=True)
class Content:
    """The columns that the checksum of a table covers: those that name a row, and those that nothing can restore."""

    key: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every covered column, in the order of the checksum."""
        return (*self.key, *self.columns)


_ITEM = ("workspace_id", "id")
# What a statement changes, it must know completely: columns that are changed one by one cannot share a checksum. So
# counters, states and pointers are left out, and so are texts that follow from others.
CONTENT: Mapping[str, Content] = {
    "workspace": Content(("id",), ("name", "description", "time_zone")),
    "item": Content(_ITEM, ("kind", "created_at")),
    "session": Content(_ITEM, ("label",)),
    "event": Content(_ITEM, ("detail",)),
    "receipt": Content(("workspace_id", "idempotency_key"), ("answer",)),
    "signal": Content(_ITEM, ("target_id", "verdict", "reason")),
    "perspective": Content(_ITEM, ("name", "instruction")),
    "document": Content(("workspace_id", "item_id"), ("title", "text", "context", "details", "happened_at")),
    "embedding": Content(("workspace_id", "item_id", "model_id", "perspective_id"), ("vector",)),
    "understanding": Content(_ITEM, ("kind", "reason")),
    "subject": Content(_ITEM, ("summary",)),
    "subject_name": Content(("workspace_id", "name_key"), ("name",)),
    "subject_tag": Content(("workspace_id", "tag_key", "subject_id"), ("tag",)),
    "being": Content(("workspace_id",), ("think_md",)),
    "scene": Content(_ITEM, ("action", "feeling", "themes", "body")),
    "scene_change": Content(("workspace_id", "id", "scene_id"), ("was", "became", "reason")),
    "note": Content(_ITEM, ("content",)),
    "entry": Content(_ITEM, ("title", "content", "detail")),
    "message": Content(_ITEM, ("text",)),
    "attachment": Content(("workspace_id", "message_id", "number"), ("hash", "name")),
    "array_entry": Content(("workspace_id", "position"), ("blocks",)),
    "mind_note_version": Content(("workspace_id", "note_id", "number"), ("body", "author")),
    "scheduled": Content(_ITEM, ("text",)),
    "held": Content(_ITEM, ("origin", "call", "arguments", "text")),
    "program_record": Content(("workspace_id", "space", "namespace", "key"), ("value", "data")),
}

_INSERT = re.compile(r"\s*INSERT INTO (\w+)\s*\(([^()]*)\)\s*VALUES\s*\(((?:[^()']|'[^']*'|\([^()]*\))*)\)", re.DOTALL)
_UPDATE = re.compile(r"\s*UPDATE (\w+)( AS \w+)? SET ", re.DOTALL)
_ASSIGNED = re.compile(r"\b(\w+) = (:\w+|'[^']*'|NULL|-?\d+)?")
_OVERWRITE = re.compile(r"\bDO UPDATE SET ")
_LITERAL = re.compile(r"(NULL)|'([^']*)'|(-?\d+)")
Source = Callable[[Mapping[str, Any]], Any]


def checksum_of(values: Iterable[Any]) -> int:
    """Compute the checksum of some values; it depends on their types, their order and every bit of them."""
    # One call on one piece: this runs for every row that is written.
    whole = b"".join([_ENCODERS.get(type(value), _bytes)(value) for value in values])
    return int.from_bytes(blake2b(whole, digest_size=8).digest(), "big", signed=True)


def _text(value: str) -> bytes:
    # A lone surrogate cannot be stored, but must not keep the statement from saying so.
    data = value.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(data), data)


def _bytes(value: Any) -> bytes:
    return b"b%d:%b" % (len(value), bytes(value))


_ENCODERS: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"n",
    str: _text,
    int: lambda value: b"i%d:" % value,
    bool: lambda value: b"i%d:" % value,
    float: lambda value: b"f" + pack(">d", value),
}


@dataclass(frozen=True, slots=True)
class Sealing:
    """How the checksum of the row that a statement writes follows from the statement's parameters."""

    table: str
    sources: tuple[Source, ...]

    def checksum(self, params: Mapping[str, Any]) -> int:
        """Compute the checksum of the row."""
        return checksum_of([source(params) for source in self.sources])


def sealed(sql: str) -> tuple[str, Sealing | None]:
    """Add the checksum to a statement that writes content; others stay as they are.

    A statement that does not know all of what it writes leaves the row without a checksum. A test allows that only
    where the statement itself says so.
    """
    if match := _INSERT.match(sql):
        return _sealed_insert(sql, match)
    if match := _UPDATE.match(sql):
        return _sealed_update(sql, match)
    return sql, None


def _sealed_insert(sql: str, match: re.Match[str]) -> tuple[str, Sealing | None]:
    table, content = match[1], CONTENT.get(match[1])
    if content is None:
        return sql, None
    columns = [each.strip() for each in match[2].split(",")]
    values = dict(zip(columns, _split(match[3]), strict=True))
    sources = [_source(values.get(column, "NULL")) for column in content.all]
    rest = _OVERWRITE.sub(f"DO UPDATE SET {COLUMN} = excluded.{COLUMN}, ", sql[match.end() :])
    if None in sources:
        return sql[: match.end()] + rest, None
    text = f"{sql[: match.end(2)]}, {COLUMN}{sql[match.end(2) : match.end(3)]}, :{COLUMN}){rest}"
    return text, Sealing(table, tuple(each for each in sources if each))


def _sealed_update(sql: str, match: re.Match[str]) -> tuple[str, Sealing | None]:
    table, content = match[1], CONTENT.get(match[1])
    if content is None:
        return sql, None
    before, _, after = sql[match.end() :].partition("WHERE ")
    written = _assigned(before)
    if not written.keys() & {*content.columns}:
        return sql, None
    head, tail = sql[: match.end()], sql[match.end() :]
    if f"{COLUMN} = NULL" in before:
        return sql, None
    place = _assigned(after)
    sources = [
        *(_source(place.get(column, "")) for column in content.key),
        *(_source(written.get(column, "")) for column in content.columns),
    ]
    if None in sources:
        return f"{head}{COLUMN} = NULL, {tail}", None
    return f"{head}{COLUMN} = :{COLUMN}, {tail}", Sealing(table, tuple(each for each in sources if each))


def _split(values: str) -> list[str]:
    """Split a list of expressions at its commas, not at those of a call or a text."""
    return [each.strip() for each in re.findall(r"(?:[^,()']+|'[^']*'|\([^()]*\))+", values)]


def _assigned(clauses: str) -> dict[str, str]:
    """Read which columns are set or compared to what; what only the database can compute is left empty."""
    # The first one of each: a later one is in a subquery.
    return dict(reversed(_ASSIGNED.findall(clauses)))


def _source(expression: str) -> Source | None:
    """Say where the value of a column comes from: a parameter, or a literal; None if only the database knows."""
    if expression.startswith(":"):
        return itemgetter(expression[1:])
    if literal := _LITERAL.fullmatch(expression):
        value = None if literal[1] else literal[2] if literal[2] is not None else int(literal[3])
        return lambda _params: value
    return None


def is_intact(table: str, row: Mapping[str, Any]) -> bool:
    """Compare a row with its checksum; one without a checksum cannot be judged."""
    return row[COLUMN] is None or row[COLUMN] == checksum_of(row[column] for column in CONTENT[table].all)


def complaint(table: str, row: Mapping[str, Any], workspace: str) -> str:
    """Name a row that does not match its checksum, so that a person finds it."""
    key = ", ".join(f" {row[column]}" for column in CONTENT[table].key if column != "workspace_id")
    return f"{table}{key} of workspace {workspace} does not match its checksum"


def unsealed_rows(table: str) -> str:
    """Build the statement that reads the rows of a table without a checksum."""
    return f"SELECT {', '.join(CONTENT[table].all)} FROM {table} WHERE {COLUMN} IS NULL"  # noqa: S608  our own tables


def seal_row(table: str, mark: str) -> str:
    """Build the statement that gives a row its checksum; `mark` is the driver's parameter syntax."""
    place = " AND ".join(f"{column} = {mark.format(column)}" for column in CONTENT[table].key)
    return f"UPDATE {table} SET {COLUMN} = {mark.format(COLUMN)} WHERE {place}"  # noqa: S608


def sealed_rows(table: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Compute the checksums of rows, as parameters for `seal_row`."""
    content = CONTENT[table]
    for row in rows:
        key = {column: row[column] for column in content.key}
        yield {**key, COLUMN: checksum_of(row[column] for column in content.all)}
