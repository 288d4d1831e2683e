"""The JSON form of every result of the Python API; all surfaces use it.

Refuses to know what a result means and who reads it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any

from everloom.jsontext import to_json

# The metadata of a field that is written even when it is null or empty, because that is the answer or is promised.
SAID = MappingProxyType({"is_said": True})
# The metadata of a field that is written by its ids alone, because the text of the same answer tells the rest.
BY_ID = MappingProxyType({"is_by_id": True})
# The metadata of a list whose entries are written as they were given, which only they know: by their `as_json`.
AS_GIVEN = MappingProxyType({"is_as_given": True})

_PLAIN = frozenset({str, int, bool})


def as_data(value: object, digits: int | None = None) -> Any:
    """Convert any value of the Python API to JSON types; with `digits`, round numbers to that many decimal places.

    A field of a result that is None or empty is left out, unless it is declared with `SAID`: whoever reads takes a
    field that is not there for null or empty. Mappings are data, and are written whole. Models pay for each digit, and
    the fifth digit of a score is of no use to them.
    """
    # Most values are plain, and asking for their type costs far less than asking what they can do.
    if value is None or type(value) in _PLAIN:
        return value
    match value:
        case Mapping():
            return {str(key): as_data(each, digits) for key, each in value.items()}
        case Set():
            return sorted((as_data(each, digits) for each in value), key=str)
        case Sequence() if not isinstance(value, str | bytes):
            return [as_data(each, digits) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        said = (
            (field.name, _as_declared(field, each))
            for field, each in fields
            if "is_said" in field.metadata or not _is_empty(each)
        )
        return {name: as_data(each, digits) for name, each in said}
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else _scalar(value, digits)


def written(value: object, digits: int | None = None) -> str:
    """Write a value as JSON without spare bytes."""

    return to_json(as_data(value, digits), separators=(",", ":"))


def as_object(value: object, digits: int | None = None) -> dict[str, Any]:
    """Convert a result to a JSON object; a list becomes its `result`, with what it says about itself beside it."""
    data, note = as_data(value, digits), note_of(value)
    whole: dict[str, Any] = data if isinstance(data, dict) else {"result": data}
    return whole if note is None else {**whole, "note": note}


def note_of(value: object) -> str | None:
    """Return what a list says about itself, which its JSON form has no place for."""
    note = getattr(value, "note", None) if isinstance(value, Sequence) else None
    return note if isinstance(note, str) else None


def _as_declared(field: dataclasses.Field[Any], value: Any) -> Any:
    if "is_by_id" in field.metadata:
        return _ids_of(value)
    return [each.as_json() for each in value] if "is_as_given" in field.metadata else value


def _ids_of(value: Any) -> Any:
    return [_ids_of(each) for each in value] if isinstance(value, Sequence) else {"id": value.id}


def _is_empty(value: object) -> bool:
    """Return whether a field tells nothing; zero, False and an empty text do tell something."""
    return value is None or (isinstance(value, Sequence | Mapping | Set) and not isinstance(value, str) and not value)


def _scalar(value: object, digits: int | None) -> str | int | float | None:
    match value:
        case Enum():
            return _scalar(value.value, digits)
        case float():
            return _number(value, digits)
        case datetime():
            # A model reads seconds; a program that asks for everything gets the microseconds, too.
            return value.isoformat(timespec="auto" if digits is None else "seconds")
        case None | str() | int():
            return value
    return str(value)


def _number(value: float, digits: int | None) -> float | None:
    # JSON has no infinity.
    if not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits)
