"""Reads the arguments of a verb from JSON, and describes them as a JSON schema.

One reader for the command line, MCP and the agent's own tools: unknown names are refused, times are read in the
workspace's time zone, and objects become the faculty's own dataclasses. Refuses to know any faculty.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cached_property, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)
from pydantic_core import PydanticCustomError

from everloom.clock import read_instant
from everloom.errors import Rejected
from everloom.kernel.verbs import REQUIRED, Parameter, Says

# More errors at once help nobody: a model that got five arguments wrong has to read the schema again anyway.
_MOST_FAULTS = 5
_EMPTY: tuple[object, ...] = (None, [], {})


class Arguments:
    """The arguments of one verb as JSON: their schema, and how they are turned into the verb's own types."""

    def __init__(self, name: str, parameters: Sequence[Parameter]) -> None:
        self._name = name
        self._parameters = {each.name: each for each in parameters}
        self._model = _model_of(name, {each.name: (each.type, each.says, each.default) for each in parameters})

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Describe the arguments in as few words as possible; plumbing is left out."""
        # A model reads this with every request, so it is paid for by the token. `read` refuses unknown names whether or
        # not the schema says so.
        known: dict[str, Any] = _lean(self._model.model_json_schema())
        known.pop("additionalProperties", None)
        shown = {
            name: each
            for name, each in known.get("properties", {}).items()
            if not self._parameters[name].says.is_plumbing
        }
        return {**known, "properties": shown}

    def read(self, given: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
        """Check the given arguments and convert them to the verb's types; the others are left to its defaults."""
        if unknown := sorted(given.keys() - self._parameters.keys()):
            known = ", ".join(sorted(self.schema["properties"])) or "none"
            raise Rejected(f"{self._name} takes no {', '.join(unknown)[:200]}", hint=f"its arguments are {known}")
        unpacked = {
            name: _unpack(value, self._parameters[name])
            for name, value in given.items()
            if value is not None or not self._is_left_out_by_null(name)
        }
        try:
            read = self._model.model_validate(unpacked, context=zone)
        except ValidationError as error:
            # Names the arguments that do not fit without repeating their values, which may be long or private.
            faults = error.errors(include_url=False, include_input=False)[:_MOST_FAULTS]
            text = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults)
            raise Rejected(text, hint=self._hint_for({each["loc"][0] for each in faults if each["loc"]})) from None
        return {name: getattr(read, name) for name in read.model_fields_set}

    def _is_left_out_by_null(self, name: str) -> bool:
        """Say whether null stands for an argument that was not given."""
        # Models write null for what they leave out; where null is a value of its own, the type says so.
        each = self._parameters[name]
        return not each.is_required and NoneType not in get_args(each.type)

    def _hint_for(self, faulty: AbstractSet[object]) -> str:
        """Explain what the faulty arguments mean, so that the next call can be right."""
        known = [each for each in self._parameters.values() if each.name in faulty and each.says.text]
        meanings = "; ".join(f"{each.name}: {each.says.text}" for each in known)
        return meanings or "correct these arguments and call again"


def _model_of(name: str, fields: Mapping[str, tuple[Any, Says, Any]], text: str | None = None) -> type[BaseModel]:
    shapes: dict[str, Any] = {}
    for field, (kind, says, default) in fields.items():
        given = ... if default is REQUIRED else default
        description = says.text if says.text and not says.is_plain else None
        shapes[field] = (_readable(kind, says), Field(given, description=description))
    return create_model(name, __config__=ConfigDict(extra="forbid"), __doc__=text, **shapes)


def _readable(kind: Any, says: Says) -> Any:
    """Rewrite a type so that pydantic can read it from JSON."""
    if kind is datetime:
        return Annotated[datetime, BeforeValidator(_instant_reader(says)), WithJsonSchema({"type": "string"})]
    if kind is bool:
        return Annotated[bool, BeforeValidator(_switch)]
    if kind in {int, float}:
        # The bounds come before the check: pydantic writes bounds around a validator as "ge" into the schema, which
        # no client understands.
        return Annotated[kind, Field(ge=says.least, le=says.most), BeforeValidator(_number)]
    if dataclasses.is_dataclass(kind):
        return _record(kind)
    members = get_args(kind)
    match get_origin(kind):
        case origin if origin in {Union, UnionType}:
            kind = reduce(or_, (_readable(each, says) for each in members))
        case origin if origin is Sequence:
            kind = list.__class_getitem__(_readable(members[0], says))
        case origin if origin is Mapping:
            kind = dict.__class_getitem__(members)
        case origin if origin is tuple and Ellipsis not in members:
            # As a list of fixed length, which every client understands; not all understand JSON Schema's `prefixItems`.
            size = Field(min_length=len(members), max_length=len(members))
            kind = Annotated[list.__class_getitem__(members[0]), size, AfterValidator(tuple)]
    return kind


def _record(kind: Any) -> Any:
    """Read an object as a dataclass of a faculty."""
    hints = get_type_hints(kind, include_extras=True)
    fields: dict[str, tuple[Any, Says, Any]] = {}
    for each in dataclasses.fields(kind):
        bare, *notes = get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else (hints[each.name],)
        says = next((note for note in notes if isinstance(note, Says)), Says())
        is_required = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        fields[each.name] = (bare, says, REQUIRED if is_required else None)
    model = _model_of(kind.__name__, fields, kind.__doc__)

    def build(read: BaseModel) -> Any:
        return kind(**{name: getattr(read, name) for name in read.model_fields_set})

    return Annotated[model, AfterValidator(build)]


def _instant_reader(says: Says) -> Any:
    def read(value: object, info: ValidationInfo) -> datetime:
        if isinstance(value, datetime):
            return value
        if not isinstance(value, str):
            raise ValueError("Input should be a valid string")
        return read_instant(value, cast("ZoneInfo", info.context), end_of_day=says.ends_day)

    return read


def _switch(value: object) -> bool:
    """Read a boolean, or the word true or false."""
    # Pydantic also takes "yes", "on" and 1 for true, and `replace` lets a note lose most of its text.
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    raise PydanticCustomError("switch", "Input should be true or false")


def _number(value: object) -> object:
    """Refuse a boolean where a number is expected."""
    # To pydantic, true is 1: cancelling the message true would cancel message 1.
    if isinstance(value, bool):
        raise PydanticCustomError("number", "Input should be a number")
    return value


def _unpack(value: Any, parameter: Parameter) -> Any:
    """Parse a string that holds JSON where a list is expected: some clients send lists that way.

    Where a string is allowed too it stays a string (the note "null" would be lost), unless it holds a list of strings.
    """
    if not isinstance(value, str) or parameter.list_kind is None:
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if str in parameter.kinds:
        return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else value
    return found if isinstance(found, list | dict | NoneType) else value


def _lean(schema: Any) -> Any:
    """Remove from a schema what tells a model nothing: titles, empty defaults, and that optional values may be null."""
    if isinstance(schema, list):
        return [_lean(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: {name: _lean(each) for name, each in value.items()} if key in {"properties", "$defs"} else _lean(value)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value in _EMPTY)
    }
    choices = [each for each in kept.pop("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **kept}
    return {**kept, "anyOf": choices} if choices else kept
