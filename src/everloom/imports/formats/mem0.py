"""Memories of mem0 as its `get_all` and its exports write them: one short statement each.

A memory becomes a fact about the person, agent or run that it belongs to, and a relation a fact about both ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from everloom.clock import from_seconds
from everloom.imports.reading.arrays import json_elements
from everloom.imports.reading.dates import moment
from everloom.imports.reading.folders import files_in
from everloom.imports.records import ForeignFact, Part, Record, Step

_TEXTS = ("memory", "text", "content", "data")
_OWNERS = ("user_id", "agent_id", "run_id", "app_id")
# Whom a memory is about that says nothing of it.
_SOMEBODY = "the person"
_NO_MEMORY = "an element that is no memory"
_LISTS = ("results", "memories")


class Mem0:
    """Memories of mem0."""

    name = "mem0"
    about = "mem0: the JSON of get_all() or of an export"
    grows = False
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path holds memories of mem0."""
        if not path.is_file() or path.suffix != ".json":
            return False
        with path.open("rb") as file:
            first = next(json_elements(file), None)
        value = {} if first is None else first.value
        return any(_is_memory(each) for each in _listed(value)[:1])

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the file."""
        return files_in(path, lambda name: name.endswith(".json"))

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read memories."""
        at = from_seconds(part.stamp / 1e9)
        with part.open() as file:
            for element in json_elements(file, start):
                read = [_fact(each, at) for each in _listed(element.value)]
                related = element.value.get("relations") if isinstance(element.value, dict) else None
                read += [_relation(each, at) for each in (related if isinstance(related, list) else [])]
                records: tuple[Record, ...] = tuple(each for each in read if each is not None)
                yield Step(element.end, records, (_NO_MEMORY,) * (len(read) - len(records)))


def _listed(value: object) -> list[object]:
    """Return the memories in an element: itself, or the list that it holds."""
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(found := value.get(name), list):
                return found
    return [value]


def _is_memory(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str) and ("id" in value or "hash" in value)


def _fact(value: object, at: datetime) -> ForeignFact | None:
    if not isinstance(value, dict):
        return None
    text = next((found.strip() for name in _TEXTS if isinstance(found := value.get(name), str) and found.strip()), "")
    if not text:
        return None
    known = str(value.get("id") or value.get("hash") or "")
    # A memory keeps its id when it is changed; what it says now is another statement.
    key = f"{known}:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
    said = moment(value.get("updated_at")) or moment(value.get("created_at")) or at
    return ForeignFact(key=key, subjects=(_owner(value),), text=text, at=said)


def _owner(value: Mapping[str, Any]) -> str:
    owner = next((found for name in _OWNERS if isinstance(found := value.get(name), str) and found.strip()), _SOMEBODY)
    return " ".join(owner.split())[:200]


def _relation(value: object, at: datetime) -> ForeignFact | None:
    if not isinstance(value, dict):
        return None
    ends = [value.get("source"), value.get("destination") or value.get("target")]
    names = [" ".join(each.replace("_", " ").split())[:200] for each in ends if isinstance(each, str) and each.strip()]
    if len(names) != len(ends):
        return None
    how = str(value.get("relationship") or value.get("relation") or "is related to").replace("_", " ")
    text = f"{names[0]} {how} {names[1]}."
    return ForeignFact(key=text, subjects=tuple(names), text=text, at=at, kind="relation")
