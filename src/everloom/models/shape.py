"""Structured answers: the schema that a request includes, and finding the value in the reply.

Refuses to know providers. A model may wrap its JSON in prose, fences or reasoning; the first value that fits counts.
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
# How many brackets are tried in one text: each attempt may scan to its end, so a reply of nothing but brackets would
# take quadratic time.
_STARTS = 1_000
# Keywords that strict modes reject; pydantic checks them afterwards.
_UNENFORCED = frozenset(
    {"default", "title", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"}
)
_NAMED = frozenset({"properties", "$defs"})  # their keys are names, not keywords


class Misfit(Exception):
    """A reply that contains no valid value; the message tells the model what is wrong."""


def strict_schema(shape: type[BaseModel]) -> Schema:
    """Write a type as the subset of JSON Schema that every strict mode accepts."""
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
    # Strict modes reject a reference that has sibling keywords, and pydantic adds some, such as a description.
    if "$ref" in node:
        return {key: node[key] for key in ("$ref", "$defs") if key in node}
    # `oneOf` with a discriminator is how pydantic writes tagged unions; strict modes know only `anyOf`.
    if "oneOf" in node:
        node["anyOf"] = node.pop("oneOf")
        node.pop("discriminator", None)
    # Strict modes want every property required and no others, even those that have a default.
    if "properties" in node:
        node |= {"required": list(node["properties"]), "additionalProperties": False}
    return node


def fit(text: str, shape: type[_ShapeT]) -> _ShapeT:
    """Find the first value in `text` that is valid for `shape`."""
    # Validated from JSON and not from Python values: a strict model then still accepts types that JSON does not have,
    # such as dates and tuples.
    complaints: list[str] = []
    for value in json_values(text):
        try:
            return shape.model_validate_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except ValidationError as error:
            complaints.append(_complaint(error))
    # The first complaint is about the whole reply, if that was JSON: later ones are about its fragments.
    raise Misfit(complaints[0] if complaints else "there is no JSON value in it")


def json_values(text: str) -> Iterator[Any]:
    """Find the JSON values in a text: the whole text, fenced blocks, then objects and arrays within prose."""
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
