"""The form of an answer from which its result can be made again exactly: nothing left out, every record named.

For programs that hold the same types, such as this one's own client; what people, models and other programs read is
`encode.py`. Refuses to know what a result means and how it is made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from typing import Any

from everloom.jsontext import to_json
from everloom.kernel.answer.encode import as_data, note_of

# The key under which a record tells its class. No class name occurs twice in the package.
CLASS = "@"


def whole_answer(value: object, secrets: Sequence[object] = ()) -> str:
    """Write a result, what a list says about itself, and the secrets that were recognised, as JSON."""
    answer = {"result": as_whole(value), "note": note_of(value), "secrets": [as_whole(each) for each in secrets]}
    return to_json(answer, separators=(",", ":"))


def as_whole(value: object) -> Any:
    """Convert a value to JSON types without leaving anything out."""
    match value:
        case Mapping():
            return {str(key): as_whole(each) for key, each in value.items()}
        case Set():
            return sorted((as_whole(each) for each in value), key=str)
        case Sequence() if not isinstance(value, str | bytes):
            return [as_whole(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {each.name: as_whole(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
        return {CLASS: type(value).__name__, **held}
    return as_data(value)
