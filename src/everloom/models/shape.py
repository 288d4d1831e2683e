"""Structured answers: the schema that is asked for, and the value that is found in what came back.

Knows no provider. A model may wrap its JSON in prose, fences or thoughts; the first value that fits counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from everloom.models.text import shortened

Schema = dict[str, Any]
_ShapeT = TypeVar("_ShapeT", bound=BaseModel)
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_STARTS = 1_000  # openings tried in one text: bounds the work on a reply that is all brackets
# What strict modes cannot enforce; pydantic checks it afterwards.
_UNENFORCED = frozenset(
    {"default", "title", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"}
)
_NAMED = frozenset({"properties", "$defs"})  # their keys are names, not keywords


class Misfit(Exception):
    """A reply that holds no value of the wanted shape; its text tells the model what is wrong."""


def strict_schema(shape: type[BaseModel]) -> Schema:
    """Write a shape as the subset of JSON schema that every strict mode accepts."""
    strict: Schema = _strict(shape.model_json_schema())
    return strict


def _strict(node: Any, *, is_names: bool = False) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _strict(value, is_names=key in _NAMED and not is_names)
        for key, value in node.items()
        if is_names or key not in _UNENFORCED
    }
    return kept if is_names else _closed(kept)


def _closed(node: Schema) -> Schema:
    if "$ref" in node:  # a reference may have no neighbours
        return {key: node[key] for key in ("$ref", "$defs") if key in node}
    if "oneOf" in node:
        node["anyOf"] = node.pop("oneOf")
        node.pop("discriminator", None)
    if "properties" in node:
        node |= {"required": list(node["properties"]), "additionalProperties": False}
    return node


def fit(text: str, shape: type[_ShapeT]) -> _ShapeT:
    """Find the first value in `text` that is of the wanted shape."""
    # Validated from JSON and not from Python values: strict shapes then still take what JSON has no type for, dates
    # and tuples among them.
    complaints: list[str] = []
    for value in json_values(text):
        try:
            return shape.model_validate_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except ValidationError as error:
            complaints.append(_complaint(error))
    raise Misfit(complaints[0] if complaints else "there is no JSON value in it")


def json_values(text: str) -> Iterator[Any]:
    """Find the JSON objects and arrays in a text: all of it, what is fenced, what stands in the prose."""
    for whole in (text, *(fence[1] for fence in _FENCED.finditer(text))):
        try:
            yield json.loads(whole)
        except (ValueError, RecursionError):
            continue
    yield from _embedded(text)


def _embedded(text: str) -> Iterator[Any]:
    decoder, end = json.JSONDecoder(), 0
    for opening in islice(_OPENING.finditer(text), _STARTS):
        if opening.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        yield value


def _complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return shortened("; ".join(f"{'.'.join(map(str, one['loc'])) or 'value'}: {one['msg']}" for one in problems), 600)
