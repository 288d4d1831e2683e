"""Rows of a table as lines of JSON, and lines as rows again.

The same row is the same line on every engine. What is written with the name of a model in one store finds the number
of that model in another. Refuses to know where lines come from and go to.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from everloom.errors import Rejected
from everloom.exports.shape import STAND_INS, exported_columns
from everloom.jsontext import to_json
from everloom.kernel.trust.origin import IMPORT as _IMPORTED
from everloom.kernel.trust.origin import read_origin
from everloom.secrets import masked
from everloom.store.checksums import COLUMN, CONTENT, checksum_of, is_intact
from everloom.store.contract import Value

_TYPES: Mapping[str, tuple[type, ...]] = {
    "BIGINT": (int,),
    "TEXT": (str,),
    "DOUBLE PRECISION": (int, float),
    "HALFVEC": (str,),
    "BYTEA": (str,),
}
# Says that a row did not match its checksum where it came from; it does not match where it goes either.
_DAMAGED = "_damaged"
_LARGEST = 2**63
# The name and the dimension of an embedding model.
Model = tuple[str, int]


class RowWriter:
    """Writes rows as lines; counts the secrets that it masked, and names rows that are damaged."""

    def __init__(self, models: Mapping[int, Model], *, vectors: bool, with_secrets: bool) -> None:
        self._models = models
        self._vectors = vectors
        self._with_secrets = with_secrets
        self.masked = 0
        self.damaged: list[str] = []

    def line(self, table: str, row: Mapping[str, Value]) -> bytes:
        """Write a row."""
        told: dict[str, Any] = {name: row[name] for name in exported_columns(table)}
        if not self._with_secrets:
            told = {name: self.mask(value) if isinstance(value, str) else value for name, value in told.items()}
        told = {name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in told.items()}
        if self._vectors:
            self._add_vectors(table, row, told)
        if table in CONTENT and not is_intact(table, row):
            told[_DAMAGED] = True
            key = [str(row[name]) for name in CONTENT[table].key if name != "workspace_id"]
            self.damaged.append(" ".join([table, *key]))
        return (to_json(told, separators=(",", ":")) + "\n").encode()

    def mask(self, text: str) -> str:
        """Replace the secrets in a text by marks; JSON inside it stays JSON."""
        if self._with_secrets or len(text) < 8:
            return text
        kept = masked(text)
        if kept == text:
            return text
        self.masked += 1
        if text[0] in "{[":
            try:
                return to_json(_mask_within(json.loads(text)))
            except ValueError:
                return kept
        return kept

    def _add_vectors(self, table: str, row: Mapping[str, Any], told: dict[str, Any]) -> None:
        if table == "document":
            number = row["embedded_by"]
            told["embedded_by"] = self._named(abs(number))
            told["embedding_refused"] = number < 0
        elif table == "cluster":
            told["vector"] = None if row["vector"] is None else b64encode(row["vector"]).decode()
            told["vector_model"] = self._named(row["vector_model"])
        elif table == "embedding":
            told["model"] = self._named(row["model_id"])
            told["vector"] = b64encode(row["vector"]).decode()

    def _named(self, number: int) -> list[str | int] | None:
        return [*self._models[number]] if number in self._models else None


def _mask_within(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        return [_mask_within(each) for each in value]
    if isinstance(value, dict):
        return {key: _mask_within(each) for key, each in value.items()}
    return value


class RowReader:
    """Reads lines as rows of one workspace; refuses what is no row of its table."""

    def __init__(
        self,
        workspace: int,
        number_of: Callable[[str, int], int],
        directory_of: Callable[[Mapping[str, Any]], str],
        *,
        is_older: bool = False,
        is_own: bool = True,
    ) -> None:
        self._is_own = is_own
        self._workspace = workspace
        self._is_older = is_older
        self._number_of = number_of
        self._directory_of = directory_of

    def row(self, table: str, said: Any, where: str) -> dict[str, Any]:
        """Read a row; columns that a later version added have their default, unknown ones are refused."""
        if not isinstance(said, dict):
            raise _no_row(where, "it is no object")
        told = dict(said)
        is_damaged = told.pop(_DAMAGED, False)
        more = self._vectors_from(table, told, where)
        columns = exported_columns(table)
        if odd := next((name for name in told if name not in columns), None):
            raise _no_row(where, f"this version knows no column {odd!r} of {table}")
        if not self._is_older and (missing := next((name for name in columns if name not in {*told, *more}), None)):
            raise _no_row(where, f"it has no {missing!r}")
        for name, value in told.items():
            _check(value, columns[name], f"{where}, {name}")
        if not self._is_own:
            _lower(table, told)
        raw = {
            name: _bytes_of(value, where)
            for name, value in told.items()
            if columns[name] == "BYTEA" and value is not None
        }
        row = {"workspace_id": self._workspace, **told, **raw, **STAND_INS.get(table, {}), **more}
        if table == "graph":
            row["directory"] = self._directory_of(row)
        if table in CONTENT:
            row[COLUMN] = _seal(table, row, where) ^ int(bool(is_damaged))
        return row

    def _vectors_from(self, table: str, told: dict[str, Any], where: str) -> dict[str, Any]:
        if table == "document":
            number = self._numbered(told.pop("embedded_by", None), where)
            return {"embedded_by": -number if told.pop("embedding_refused", False) else number}
        if table == "cluster" and "vector_model" in told:
            vector = told.pop("vector", None)
            number = self._numbered(told.pop("vector_model"), where)
            return {"vector": None if vector is None else _bytes_of(vector, where), "vector_model": number}
        if table == "embedding":
            return {
                "model_id": self._numbered(told.pop("model", None), where),
                "vector": _bytes_of(told.pop("vector", None), where),
                "revision": 0,
            }
        return {}

    def _numbered(self, model: Any, where: str) -> int:
        if model is None:
            return 0
        if not isinstance(model, list) or [type(each) for each in model] != [str, int]:
            raise _no_row(where, "a model is written as its name and its dimension")
        return self._number_of(model[0], model[1])


def _lower(table: str, told: dict[str, Any]) -> None:
    """Trust what a row says no more than an import; where it comes from is kept as history."""
    if table == "document":
        told["trust"] = max(_IMPORTED.kind.rank, told.get("trust") or 0)
    elif table == "note" and told.get("patrol_id") is None:
        # It becomes a scene later, whose trust follows from this.
        known = told.get("origin")
        if known is None or read_origin(known).kind.rank < _IMPORTED.kind.rank:
            told["origin"] = str(_IMPORTED)


def _seal(table: str, row: Mapping[str, Any], where: str) -> int:
    try:
        return checksum_of(row[name] for name in CONTENT[table].all)
    except KeyError as error:
        raise _no_row(where, f"it has no column {error.args[0]!r}") from None


def _check(value: Any, kind: str, where: str) -> None:
    """Refuse a value of another type than its column has, before an engine would."""
    if value is None:
        return
    if type(value) not in _TYPES[kind] or (type(value) is int and abs(value) >= _LARGEST):
        raise _no_row(where, f"{str(value)[:40]!r} does not fit")
    if isinstance(value, float) and not isfinite(value):
        raise _no_row(where, "it is no number")
    if isinstance(value, str) and ("\x00" in value or not _is_text(value)):
        raise _no_row(where, "it contains a character that not every engine can store")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes_of(value: Any, where: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise _no_row(where, "its bytes are not in base64") from None


def _no_row(where: str, why: str) -> Rejected:
    return Rejected(
        f"{where}: {why}", hint="the folder was changed, or a newer everloom wrote it; nothing was imported"
    )
