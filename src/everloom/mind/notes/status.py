"""The status: one JSON object whose fields are stamped with the time of their last change. Pure.

`updates` are merged level by level: an object is merged into the existing object, null removes a field, and any other
value, including a list, replaces the old one. `_updated` holds the stamps by dotted path, `last_updated` the newest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from everloom.errors import Conflict, Rejected
from everloom.jsontext import to_json
from everloom.kernel.texts import UNSTORABLE

STAMPS = "_updated"
# Fields that only this module writes; callers may not set them.
_LAST = "last_updated"
# In answers only: which version of the file they show.
VERSION = "_version"
RESERVED = (STAMPS, _LAST, VERSION)
_DEEPEST = 6
_LONGEST_KEY = 100
_LARGEST = 50_000
_EXAMPLE = 'give an object of fields, such as {"water": {"glasses": 3}}'


def parse_status(text: str) -> dict[str, Any]:
    """Parse a status; Conflict if it is not a JSON object."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"status.json is not valid JSON: {error}"
        raise Conflict(message, hint="it was not changed; fix it, or restore an earlier version") from error
    if not isinstance(found, dict):
        message = f"status.json contains {_name_kind(found)}, not an object"
        raise Conflict(message, hint="it was not changed; fix it, or restore an earlier version")
    return found


def _refuse_constant(word: str) -> None:
    """Refuse NaN and infinities, which JSON does not have but Python accepts."""
    raise ValueError(f"{word} is not a JSON number")


def check_updates(updates: object) -> Mapping[str, Any]:
    """Check that updates are an object with valid field names and values."""
    if not isinstance(updates, Mapping):
        raise Rejected(f"updates must be an object, not {_name_kind(updates)}", hint=_EXAMPLE)
    if not updates:
        raise Rejected("there is nothing to update", hint=_EXAMPLE)
    for key in updates:
        if key in RESERVED:
            raise Rejected(
                f"the field {key!r} is maintained automatically", hint="leave it out; every change is stamped"
            )
    _check_value(updates, (), _DEEPEST)
    return updates


def _check_value(value: object, path: tuple[str, ...], depth: int) -> None:
    """Refuse a value that JSON cannot represent, or that is nested too deeply."""
    where = ".".join(path) or "the status"
    if isinstance(value, Mapping | list | tuple):
        if depth == 0:
            raise Rejected(f"{where} goes more than {_DEEPEST} levels deep", hint="keep it flat")
        for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):
            step = _check_key(key, where) if isinstance(value, Mapping) else str(key)
            _check_value(each, (*path, step), depth - 1)
    else:
        _check_plain(value, where)


def _check_plain(value: object, where: str) -> None:
    """Refuse a single value that would not be the same when read again."""
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            raise Rejected(f"{where} contains a character that cannot be stored", hint="remove it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Rejected(f"{where} is not a finite number", hint="give a number, or null to remove it")
    elif isinstance(value, int):
        # Python reads any integer, but other readers of the file do not.
        if abs(value) >= 2**63:
            raise Rejected(f"{where} is too large a number", hint="write it as text")
    elif value is not None:
        raise Rejected(f"{where} is {_name_kind(value)}, which JSON does not have", hint=_EXAMPLE)


def _check_key(key: object, where: str) -> str:
    """Refuse a field name that is not text, is a number, or cannot be part of a dotted path."""
    if not isinstance(key, str):
        raise Rejected(f"{where} has the field {key!r}, which is not text", hint=_EXAMPLE)
    # A model that gives a string or a list where an object is expected may arrive here as {"0": …, "1": …}.
    if key.strip().lstrip("+-").isdecimal():
        raise Rejected(f"{where} has the field {key!r}; a field needs a name, not a number", hint=_EXAMPLE)
    is_odd = not key.strip() or len(key) > _LONGEST_KEY or not key.isprintable() or UNSTORABLE.search(key)
    if is_odd or "." in key:
        hint = f"use a short word without dots, of at most {_LONGEST_KEY} characters"
        raise Rejected(f"{where} has an invalid field name: {key[:_LONGEST_KEY]!r}", hint=hint)
    return key


def patch_status(text: str, updates: Mapping[str, Any], at: str) -> str:
    """Return the status with some fields changed and stamped; the same text if nothing changed."""
    before = parse_status(text)
    fields = {key: value for key, value in before.items() if key not in RESERVED}
    merged = merge(fields, updates)
    # 1 == 1.0 == True in Python, but not in JSON, so the JSON text is compared as well.
    if merged == fields and _spell(merged) == _spell(fields) and text.strip():
        return text
    old = before.get(STAMPS)
    stamps = _restamp(old if isinstance(old, dict) else {}, dict(leaves(fields)), dict(leaves(merged)), at)
    written = _written(merged, at, stamps)
    if len(written) > _LARGEST:
        hint = "keep only the current state in it, and move the rest to a note"
        raise Rejected(
            f"the status would have {len(written):,} characters, more than the {_LARGEST:,} allowed", hint=hint
        )
    return written


def restamp_edited(before: str, edited: str, at: str) -> str:
    """Return a status that a person edited by hand, with the fields that they changed stamped; as it is if it is none.

    A stamp that the person wrote themselves stays.
    """
    try:
        old, new = parse_status(before), parse_status(edited)
    except Conflict:
        return edited
    stamps = [each.get(STAMPS) for each in (old, new)]
    known, given = (each if isinstance(each, dict) else {} for each in stamps)
    was, now = (dict(leaves({key: value for key, value in each.items() if key not in RESERVED})) for each in (old, new))
    kept = {path: stamp for path, stamp in given.items() if isinstance(stamp, str)}
    own = {path: stamp for path, stamp in kept.items() if known.get(path) != stamp}
    wanted = {**_restamp(kept, was, now, at), **{path: stamp for path, stamp in own.items() if path in now}}
    if wanted == given or not edited.strip():
        return edited
    rest = {key: value for key, value in new.items() if key not in RESERVED}
    return _written(rest, at, wanted)


def _written(fields: Mapping[str, Any], at: str, stamps: Mapping[str, str]) -> str:
    return f"{to_json({**fields, _LAST: at, STAMPS: stamps}, indent=2)}\n"


def merge(present: Mapping[str, Any], updates: Mapping[str, Any]) -> dict[str, Any]:
    """Merge updates into a copy of an object, level by level."""
    merged = dict(present)
    for key, value in updates.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = merge(below if isinstance(below, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield each field that has no fields below it: its dotted path, and its value as JSON."""
    for key, each in value.items():
        if isinstance(each, Mapping) and each:
            yield from leaves(each, (*path, key))
        else:
            yield ".".join((*path, key)), _spell(each)


def _restamp(old: Mapping[str, Any], before: Mapping[str, str], after: Mapping[str, str], at: str) -> dict[str, str]:
    """Stamp new and changed fields; keep the other stamps, and drop those of removed fields."""
    stamps = {}
    for path, value in after.items():
        if before.get(path) != value:
            stamps[path] = at
        elif isinstance(old.get(path), str):
            stamps[path] = old[path]
    return stamps


def _spell(value: object) -> str:
    """Write a value as JSON, so that 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def _name_kind(value: object) -> str:
    """Name the JSON type of a value."""
    kinds = {str: "a text", list: "a list", tuple: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)
