"""JSON schemas of what verbs return: the shape that `kernel/encode.py` writes, read from the types.

Only what is said even when it is null or empty is required; all else may be left out of an answer. A class is
described once, by its name: no class name occurs twice in the package. Refuses to know any verb.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from everloom.wiring.wire.annotations import hints_of

COMPONENTS = "#/components/schemas/"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    NoneType: {"type": "null"},
}


def schema_of(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe a type; classes are added to `schemas`, and referred to by name."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _named(kind, schemas)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    return _composed(kind, get_args(kind), schemas)


def _composed(kind: Any, members: tuple[Any, ...], schemas: dict[str, Any]) -> dict[str, Any]:
    origin = get_origin(kind)
    if origin is Literal:
        return {"enum": list(members)}
    if origin in {Union, UnionType}:
        return {"anyOf": [schema_of(each, schemas) for each in members]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(members[1], schemas)}
    if isinstance(origin, type) and issubclass(origin, Sequence | Set):
        kinds = [each for each in dict.fromkeys(members) if each is not Ellipsis]
        inner = [schema_of(each, schemas) for each in kinds]
        return {"type": "array", "items": inner[0] if len(inner) == 1 else {"anyOf": inner}}
    # Whatever else there is, is written as its own text or is data of any shape.
    return {}


def _field(field: dataclasses.Field[Any], hint: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if "is_by_id" in field.metadata:
        ids = {"type": "object", "properties": {"id": _PLAIN[int]}, "required": ["id"]}
        return {"type": "array", "items": ids} if get_args(hint) else ids
    if "is_as_given" not in field.metadata:
        return schema_of(hint, schemas)
    # Entries that are written as they were given have the forms that their `as_json` returns.
    given = get_type_hints(get_args(hint)[0].as_json)["return"]
    return {"type": "array", "items": schema_of(given, schemas)}


def _named(kind: type, schemas: dict[str, Any]) -> dict[str, Any]:
    name = kind.__name__
    if name not in schemas:
        # Before its fields: a class may contain itself.
        schemas[name] = {}
        hints = hints_of(kind)
        fields = {each.name: _field(each, hints[each.name], schemas) for each in dataclasses.fields(kind)}
        summary = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
        said = [each.name for each in dataclasses.fields(kind) if "is_said" in each.metadata]
        required = {"required": said} if said else {}
        schemas[name] = {"type": "object", "description": summary, "properties": fields, **required}
    return {"$ref": f"{COMPONENTS}{name}"}
