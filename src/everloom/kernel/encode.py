"""The JSON form of every result of the Python API; all surfaces use it.

Refuses to know what a result means and who reads it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from typing import Any

# Empty, these fields tell a model nothing and cost tokens; programs always get every field.
_SPARED = frozenset({"workspace_activity"})


def as_data(value: object, digits: int | None = None) -> Any:
    """Convert any value of the Python API to JSON types; with `digits`, round numbers to that many decimal places.

    Models pay for each digit, and the fifth digit of a score is of no use to them.
    """
    match value:
        case Mapping():
            return {str(key): as_data(each, digits) for key, each in value.items()}
        case Set():
            return sorted((as_data(each, digits) for each in value), key=str)
        case Sequence() if not isinstance(value, str | bytes):
            return [as_data(each, digits) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        is_spare = digits is not None
        return {name: as_data(each, digits) for name, each in fields if each or not (is_spare and name in _SPARED)}
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump else _scalar(value, digits)


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
