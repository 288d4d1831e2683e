"""Reads single fields of front matter: texts, numbers, lists. Pure; refuses to know what a field is for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from everloom.errors import Rejected
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile

NOTHING = frozenset({"", "null", "~", "Null", "NULL"})
# A faulty writer may have quoted a list again at every write; nesting deeper than this is ignored.
_DEEPEST = 20
_LONGEST_TAG = 100
_MOST_TAGS = 50


def field_text(file: MarkdownFile, fields: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    """Read a text field, with runs of white space reduced to one space."""
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise UnreadableFile(f"{key} is not text", file.line_of(key))
    if needed and value.strip() in NOTHING:
        raise UnreadableFile(f"{key} is missing", file.line_of(key))
    return " ".join(value.split())


def parse_number(text: object) -> float | None:
    """Read a finite number; None if it is not one."""
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_list(value: Any, depth: int = 0) -> tuple[str, ...]:
    """Read a list of texts, even if it was written as JSON in a string and quoted several times."""
    if value is None or depth > _DEEPEST:
        return ()
    if isinstance(value, str):
        return _unwrap(value.strip(), depth)
    if isinstance(value, Mapping):
        return ()
    found = [text for item in value for text in _parse_item(item, depth)]
    return tuple(dict.fromkeys(found))


def checked_tags(tags: object) -> tuple[str, ...]:
    """Check tags given as a list, a list written as JSON, or words separated by commas."""
    if tags is None or tags == "":
        return ()
    if not isinstance(tags, str | list | tuple):
        raise Rejected("tags must be a list of texts", hint='for example ["redis", "timeout"]')
    found = tuple(dict.fromkeys(" ".join(tag.split()) for tag in parse_list(tags)))
    if len(found) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in found):
        hint = f"give at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters"
        raise Rejected("there are too many tags, or one is too long", hint=hint)
    return found


def _parse_item(item: Any, depth: int) -> tuple[str, ...]:
    """Read one item of a list; only an item that is itself a list is split."""
    if isinstance(item, str) and not item.strip().startswith("["):
        return (item.strip(),) if item.strip() else ()
    return parse_list(item if isinstance(item, str | list | tuple) else str(item), depth + 1)


def _unwrap(text: str, depth: int) -> tuple[str, ...]:
    """Read a list from a string: as JSON, or separated by commas."""
    if text in NOTHING:
        return ()
    # A writer that treats a list as text escapes its quotes again at every write: ["a"] becomes "[\"a\"]", and so on.
    # Each call undoes one level.
    for attempt in (text, text.replace('\\"', '"')):
        try:
            found = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) or (isinstance(found, str) and found != text):
            return parse_list(found, depth + 1)
    if text.startswith("["):
        text = text.strip("[]").replace("\\", "").replace('"', "")
    return tuple(dict.fromkeys(part for each in text.split(",") if (part := each.strip().strip("'\""))))
