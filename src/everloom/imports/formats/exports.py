"""What the exports of ChatGPT and Claude.ai share: `conversations.json`, as it is, in an archive or in a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from everloom.errors import Rejected
from everloom.imports.reading.archives import export_files
from everloom.imports.reading.arrays import json_elements
from everloom.imports.records import Part, Record, Step

_CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json\Z")
NOT_ONE = "an element that is no conversation"
# What a conversation is read as: its turns, and why other messages of it are left out.
Reading = tuple[tuple[Record, ...], tuple[str, ...]]


def conversation_files(path: Path) -> Iterator[Part | str]:
    """List the files with conversations of an export."""
    if path.is_file() and path.suffix == ".json":
        # Named as such, it may be called anything.
        yield from export_files(path, lambda _: True)
    else:
        yield from export_files(path, lambda name: _CONVERSATIONS.match(name) is not None)


def first_element(path: Path) -> Mapping[str, Any]:
    """Read the first conversation of an export, to recognise it; empty if there is none."""
    if path.is_file() and path.suffix not in (".json", ".zip"):
        return {}
    try:
        for part in conversation_files(path):
            if isinstance(part, Part):
                with part.open() as file:
                    first = next(json_elements(file), None)
                return first.value if first is not None and isinstance(first.value, dict) else {}
    except Rejected:
        return {}
    return {}


def read_conversations(part: Part, start: int, read: Callable[[Mapping[str, Any]], Reading]) -> Iterator[Step]:
    """Read the conversations of a file, one a step."""
    with part.open() as file:
        for element in json_elements(file, start):
            if isinstance(element.value, dict):
                yield Step(element.end, *read(element.value))
            else:
                yield Step(element.end, skipped=(NOT_ONE,))
