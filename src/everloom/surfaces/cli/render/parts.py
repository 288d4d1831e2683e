"""What the renderers of all faculties share: choosing one by type, and a table of fields for all other results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import shown
from everloom.surfaces.cli.runtime.output import Table, fields_of

Part = str | Table
Renderer = Callable[[Any, ZoneInfo], Iterable[Part]]

# Shown after the result itself, or not at all: they are about other sessions, not about what was asked.
_ASIDE = frozenset({"workspace_activity", "compaction_note", "notices", "note"})
_EMPTY: tuple[object, ...] = (None, "", (), {}, [])


def render(renderers: Mapping[type, Renderer], value: Any, zone: ZoneInfo) -> list[Part]:
    """Write a result with the renderer of its type, or as its fields; then other sessions' activity, and notices."""
    if isinstance(value, list | tuple):
        parts = list(_render_all(renderers, value, zone))
    else:
        parts = list(renderers.get(type(value), render_fields)(value, zone))
    # A renderer decides whether and where it writes the note of a result; what was left off is said in any case.
    note = getattr(value, "note", None)
    if note and "max_tokens" in note and not any(note in part for part in parts if isinstance(part, str)):
        parts.append(f"Note: {note}")
    if others := getattr(value, "workspace_activity", None):
        parts += ["\nMeanwhile:", *(f"  {each.id}  {each.preview}" for each in others)]
    return [*parts, *(f"Note: {notice}" for notice in getattr(value, "notices", ()))]


def _render_all(renderers: Mapping[type, Renderer], values: Sequence[Any], zone: ZoneInfo) -> Iterator[Part]:
    if not values:
        yield "none"
    elif (renderer := renderers.get(type(values[0]))) is not None:
        for value in values:
            yield from renderer(value, zone)
    elif dataclasses.is_dataclass(values[0]):
        names = [name for name in fields_of(values[0]) if name not in _ASIDE]
        rows = [[_cell(name, getattr(each, name), zone) for name in names] for each in values]
        yield Table(rows, [_words(name) for name in names])
    else:
        yield from map(str, values)


def render_fields(value: Any, zone: ZoneInfo) -> Iterator[Part]:
    """Write the fields of a result that are not empty."""
    fields = value if isinstance(value, Mapping) else fields_of(value)
    told = {name: each for name, each in fields.items() if name not in _ASIDE and each not in _EMPTY}
    yield Table([(_words(name), _cell(name, each, zone)) for name, each in told.items()])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(name: str, value: Any, zone: ZoneInfo) -> object:
    """Write one field on one line."""
    if isinstance(value, datetime):
        return shown(value, zone)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return [_cell(name, each, zone) for each in value]
    if dataclasses.is_dataclass(value):
        return getattr(value, "summary", None) or getattr(value, "name", None) or str(getattr(value, "id", ""))
    # Ids as they are typed, counts with thousands separators; both are integers, and only the name tells them apart.
    is_id = name == "id" or name.endswith(("_id", "_ids", "_by", "generation", "token"))
    return str(value) if is_id and isinstance(value, int) else value
