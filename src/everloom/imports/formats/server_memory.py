"""The file of the official memory server of MCP: entities with observations, and relations between them.

An entity becomes a subject, what is observed of it a fact, and a relation a fact about both.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from everloom.clock import from_seconds
from everloom.imports.reading.folders import files_in
from everloom.imports.reading.lines import BROKEN, json_lines
from everloom.imports.records import ForeignFact, Part, Record, Step

_NAMELESS = "an entity or a relation without names"
_LONGEST_KIND = 40


class ServerMemory:
    """The file of the official memory server."""

    name = "server-memory"
    about = "the official MCP memory server's memory.jsonl (or memory.json)"
    grows = False
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is such a file."""
        if not path.is_file() or path.suffix not in (".json", ".jsonl"):
            return False
        with path.open("rb") as file:
            first = next(json_lines(file, 0), None)
        value = None if first is None else first.value
        return value is not None and (
            (value.get("type") == "entity" and "entityType" in value)
            or (value.get("type") == "relation" and "relationType" in value)
        )

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the file."""
        return files_in(path, lambda name: name.endswith((".json", ".jsonl")))

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read entities and relations; they have no times, so that of the file is taken."""
        at = from_seconds(part.stamp / 1e9)
        with part.open() as file:
            for line in json_lines(file, start):
                if line.value is None:
                    yield Step(line.end, skipped=(line.problem or BROKEN,))
                else:
                    facts = tuple(_facts(line.value, at))
                    yield Step(line.end, facts, () if facts else (_NAMELESS,))


def _facts(value: dict[str, Any], at: datetime) -> Iterator[Record]:
    if value.get("type") == "relation":
        ends = [_name(value.get(end)) for end in ("from", "to")]
        if all(ends):
            said = f"{ends[0]} {_plain(value.get('relationType')) or 'is related to'} {ends[1]}."
            yield _fact((ends[0], ends[1]), said, "relation", at)
        return
    name, kind = _name(value.get("name")), _plain(value.get("entityType"))
    if not name:
        return
    if kind:
        yield _fact((name,), f"{name} is of the type {kind}.", "type", at)
    listed = value.get("observations")
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, str) and each.strip():
            # An observation says nothing of whom it is about, and two people may share its words.
            text = each.strip()
            yield _fact((name,), text if name.casefold() in text.casefold() else f"{name}: {text}", None, at)


def _fact(subjects: tuple[str, ...], text: str, kind: str | None, at: datetime) -> ForeignFact:
    return ForeignFact(key="\x00".join([*subjects, text]), subjects=subjects, text=text, at=at, kind=kind)


def _name(value: object) -> str:
    # Names are written like identifiers there; underscores and spaces are the same in ours.
    return " ".join(value.replace("_", " ").split())[:200] if isinstance(value, str) else ""


def _plain(value: object) -> str:
    return " ".join(value.replace("_", " ").split())[:_LONGEST_KIND] if isinstance(value, str) else ""
