"""The JSON files of the first system: what they tell is taken in, and they are written for tools that read them.

Keys and secrets in them are neither kept nor copied.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from everloom.clock import from_micros, to_micros
from everloom.graph.files.parser import number_in, relation_fields, timestamp
from everloom.graph.index.decay import strength_of
from everloom.graph.results import Edge, Problem, Relation
from everloom.store import Row

INDEX, STATE, EMBEDDINGS, CONFIG = "_index.json", "_state.json", "_embeddings.json", "_config.json"
LARGEST = 500_000_000


@dataclass(slots=True)
class Remains:
    """What the JSON files of a directory tell."""

    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    model: str = ""
    indexed: frozenset[str] = frozenset()
    notices: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def remains_of(directory: Path) -> Remains:
    """Read what there is; a file that cannot be read is told and passed over."""
    found = Remains()
    found.states = states_in(read(directory, STATE, found))
    embeddings = read(directory, EMBEDDINGS, found)
    found.model = str(embeddings.get("model") or "")
    found.vectors = vectors_in(embeddings)
    found.indexed = frozenset(entries_of(read(directory, INDEX, found)))
    found.notices += config_notices(read(directory, CONFIG, found))
    return found


def read(directory: Path, name: str, found: Remains) -> Mapping[str, Any]:
    """Read one JSON file that holds an object."""
    file = directory / name
    if not file.is_file() or file.is_symlink() or file.stat().st_size > LARGEST:
        return {}
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        found.problems.append(Problem(name, line, "this is not JSON; it was passed over"))
        return {}
    return data if isinstance(data, dict) else {}


def entries_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find the entries of a file."""
    entries = data.get("entries")
    return entries if isinstance(entries, dict) else {}


def states_in(data: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Read how often and when memories were accessed."""
    found = {}
    for uuid, entry in entries_of(data).items():
        count = entry.get("access_count") if isinstance(entry, dict) else None
        at = instant(entry.get("last_accessed")) if isinstance(entry, dict) else None
        if isinstance(count, int) and count > 0 and at is not None:
            found[str(uuid)] = (min(count, 2**31), to_micros(at))
    return found


def instant(value: object) -> datetime | None:
    """Read a time; None when it is none."""
    try:
        parsed = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


def vectors_in(data: Mapping[str, Any]) -> dict[str, list[float]]:
    """Read vectors, all of one length."""
    rows = {str(uuid): row for uuid, row in entries_of(data).items() if isinstance(row, list) and row}
    sizes = {len(row) for row in rows.values()}
    if len(sizes) != 1:
        return {}
    return {uuid: row for uuid, row in rows.items() if all(number_in(value) is not None for value in row)}


def config_notices(data: Mapping[str, Any]) -> list[str]:
    """Say what a configuration asks for; a key is only pointed at."""
    notices = []
    provider = data.get("embedding_provider")
    if isinstance(provider, str) and isinstance(model := data.get(f"{provider}_model"), str):
        notices.append(f"it was embedded by {provider}:{model}: `everloom config set embed.models` chooses that again")
    if data.get("openai_api_key"):
        notices.append(
            f"{CONFIG} holds an API key: it was not taken over; set OPENAI_API_KEY and remove it from the file"
        )
    return notices


def index_json(rows: Sequence[Row], sides: Sequence[Row], edges: Sequence[Edge], now: datetime) -> bytes:
    """Write `_index.json`, version 2."""
    relations: dict[str, list[dict[str, Any]]] = {}
    for side in sides:
        relations.setdefault(side["uuid"], []).append(relation_row(side))
    entries = {row["uuid"]: {**entry_of(row), "relations": relations.get(row["uuid"], [])} for row in rows}
    drawn = {
        edge.id: {
            "type": edge.type,
            "from_id": edge.from_id,
            "to_id": edge.to_id,
            "strength": edge.strength,
            "path": edge.path,
        }
        for edge in edges
    }
    return as_bytes({"version": 2, "updated": timestamp(now), "count": len(rows), "edges": drawn, "entries": entries})


def relation_row(side: Row) -> dict[str, Any]:
    """Write one side of a relation as JSON."""
    relation = Relation(
        target=side["target"],
        type=side["type"],
        direction=side["direction"],
        context=side["context"],
        edge_id=side["edge_uuid"],
    )
    fields: dict[str, Any] = dict(relation_fields(relation))
    return fields if side["strength"] is None else {**fields, "strength": side["strength"]}


def entry_of(row: Row) -> dict[str, Any]:
    """Write a memory's front matter as JSON."""
    return {
        "title": row["title"],
        "type": row["type"],
        "tags": json.loads(row["tags"]),
        "importance": row["importance"],
        "confidence": row["confidence"],
        "created": timestamp(from_micros(row["created"])),
        "updated": timestamp(from_micros(row["updated"])),
        "path": row["path"],
    }


def state_json(rows: Sequence[Row], now: datetime) -> bytes:
    """Write `_state.json`."""
    entries = {
        row["uuid"]: {
            "access_count": row["count"] or 0,
            "last_accessed": timestamp(from_micros(row["last_at"] if row["count"] else row["created"])),
            "decay_score": round(strength_of(row, now), 4),
        }
        for row in rows
    }
    return as_bytes({"version": 1, "updated": timestamp(now), "entries": entries})


def as_bytes(data: object) -> bytes:
    """Write JSON for people and programs."""
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
