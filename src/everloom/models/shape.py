"""Structured answers: the schema that a request includes, and finding the value in the reply.

Refuses to know providers. A model may wrap its JSON in prose, fences or reasoning; the first value that fits counts.
Each part of an answer is accepted by itself: see `fit` and `fit_parts`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, PrivateAttr, ValidationError

from everloom.models.text import shortened

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Schema = dict[str, Any]
_Steps = list[tuple[Any, Any]]
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


# A repair may reveal another error below it, such as the entries of what was no list. Answers are not nested deeper.
_MOST_REPAIRS = 8
# Stands for an entry or a field that is dropped, until all errors have been handled: the others keep their places.
_DROPPED = object()


class ModelAnswer(BaseModel):
    """The base of all answers that faculties ask for."""

    _dropped: tuple[str, ...] = PrivateAttr(default=())

    @property
    def dropped(self) -> tuple[str, ...]:
        """Which parts of the reply were dropped because they are invalid, and why; names places, quotes no text."""
        return self._dropped


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
    """Find the first value in `text` that is valid for `shape`.

    Nothing is lost of it: one entry stands for a list of one, lines for a text, null for what is left out.
    """
    complaints: list[str] = []
    for value in json_values(text):
        try:
            return _repaired(value, shape, None)
        except ValidationError as error:
            complaints.append(_complaint(error))
        except Misfit as misfit:
            complaints.append(str(misfit))
    # The first complaint is about the whole reply, if that was JSON: later ones are about its fragments.
    raise Misfit(complaints[0] if complaints else "there is no JSON value in it")


def fit_parts(text: str, shape: type[_ShapeT]) -> _ShapeT | None:
    """Find the first value in `text` of which at least one part is valid, without its invalid entries and fields.

    None if there is none, or if a field without a default is invalid.
    """
    for value in json_values(text):
        dropped: dict[str, str] = {}
        try:
            found = _repaired(value, shape, dropped)
        except (ValidationError, Misfit):
            continue
        if any(getattr(found, name) for name in found.model_fields_set):
            if isinstance(found, ModelAnswer):
                found._dropped = tuple(f"dropped {place}: {why}" for place, why in dropped.items())
            return found
    return None


def _repaired(value: Any, shape: type[_ShapeT], dropped: dict[str, str] | None) -> _ShapeT:
    """Validate a value, repaired where that loses nothing; if `dropped` is given, also drop what is invalid."""
    # A fragment of a longer value has other fields; with defaults for all of its own, the shape would accept it.
    if isinstance(value, dict) and value and not shape.model_fields.keys() & value.keys():
        raise Misfit(f"it has none of the fields {', '.join(shape.model_fields)}")
    first: ValidationError | None = None
    for _ in range(_MOST_REPAIRS):
        # Validated from JSON and not from Python values: a strict model then still accepts types that JSON does not
        # have, such as dates and tuples.
        try:
            return shape.model_validate_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except ValidationError as error:
            first = first or error
            if not _repair(value, error.errors(include_url=False, include_input=False), dropped):
                break
        except RecursionError:
            break
    raise first or Misfit("it is nested too deeply")


def _repair(value: Any, errors: Iterable[ErrorDetails], dropped: dict[str, str] | None) -> bool:
    """Repair in place what can be repaired; returns whether anything was."""
    holders: list[Any] = []
    for error in errors:
        steps = _steps_to(value, error["loc"])
        if steps and error["type"] != "missing" and _convert(*steps[-1], error["type"]):
            holders.append(steps[-1][0])
        elif steps and dropped is not None:
            dropped.setdefault(_drop(steps, error, holders), error["msg"])
    for holder in holders:
        if isinstance(holder, list):
            holder[:] = [each for each in holder if each is not _DROPPED]
        else:
            for key in [key for key, each in holder.items() if each is _DROPPED]:
                del holder[key]
    return bool(holders)


def _steps_to(value: Any, place: Iterable[int | str]) -> _Steps:
    """Follow the place of an error as far as it exists: each object or list on the way, with the key into it."""
    steps: _Steps = []
    for key in place:
        is_in_list = isinstance(value, list) and isinstance(key, int) and key < len(value)
        # What is not there is a missing field, or pydantic's name for a member of a union.
        if is_in_list or (isinstance(value, dict) and key in value):
            steps.append((value, key))
            value = value[key]
    return steps


def _convert(holder: Any, key: Any, kind: str) -> bool:
    """Convert a part of an answer where nothing is lost by it; returns whether it could be."""
    part = holder[key]
    if part is None and isinstance(holder, dict):
        holder[key] = _DROPPED
    elif kind == "list_type" and part is not None and part is not _DROPPED:
        holder[key] = [part]
    elif kind == "string_type" and isinstance(part, list) and all(isinstance(line, str) for line in part):
        holder[key] = "\n".join(part)
    else:
        return False
    return True


def _drop(steps: _Steps, error: ErrorDetails, holders: list[Any]) -> str:
    """Drop the innermost entry of a list that an error is in, or else the field of the answer; returns its place."""
    holder, key = steps[-1]
    if error["type"] == "too_long" and isinstance(holder[key], list):
        del holder[key][error["ctx"]["max_length"] :]
        holders.append(holder)
        return f"the end of {_name(steps)}"
    while len(steps) > 1 and not isinstance(steps[-1][0], list):
        steps = steps[:-1]
    holder, key = steps[-1]
    holder[key] = _DROPPED
    holders.append(holder)
    return _name(steps)


def _name(steps: _Steps) -> str:
    return ".".join(str(key) for _, key in steps)


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
