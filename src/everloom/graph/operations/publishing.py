"""Writes `_index.json` and `_state.json`, from which other programs on the same directory read what the index knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from everloom.clock import from_micros
from everloom.graph.files.beside import INDEX, STATE
from everloom.graph.files.changeset import FilePlan, Put
from everloom.graph.files.render import relation_fields, timestamp
from everloom.graph.index.catalog import OpenGraph, edge_from, relation_from
from everloom.graph.index.decay import read_at, strength_of
from everloom.graph.index.executor import execute, sole_writer
from everloom.graph.results import Edge
from everloom.jsontext import to_json
from everloom.store import Row


def write_json(graph: OpenGraph) -> tuple[str, ...]:
    """Write `_index.json` and `_state.json` for programs that read them; they are not committed."""
    now = graph.op.now
    with sole_writer(graph):
        with graph.op.read() as unit:
            rows, sides = unit.all("graph.memory_all", graph=graph.id), unit.all("graph.relation_all", graph=graph.id)
            edges = [edge_from(row) for row in unit.all("graph.edge_all", graph=graph.id)]
        pages = {INDEX: _index_json(rows, sides, edges, now), STATE: _state_json(rows, now)}
        puts = tuple(Put.of(path, graph.disk.read(path), data) for path, data in pages.items())
        execute(graph, FilePlan("reindex", "reindex", puts, is_committed=False))
    return tuple(pages)


def _index_json(rows: Sequence[Row], sides: Sequence[Row], edges: Sequence[Edge], now: datetime) -> bytes:
    """Build `_index.json`, version 2."""
    relations: dict[str, list[dict[str, Any]]] = {}
    for side in sides:
        fields: dict[str, Any] = dict(relation_fields(relation_from(side)))
        if side["strength"] is not None:
            # `relation_fields` writes numbers as text, for front matter; JSON needs a number.
            fields["strength"] = side["strength"]
        relations.setdefault(side["uuid"], []).append(fields)
    entries = {row["uuid"]: {**_entry(row), "relations": relations.get(row["uuid"], [])} for row in rows}
    names = ("type", "from_id", "to_id", "strength", "path")
    drawn = {edge.id: {name: getattr(edge, name) for name in names} for edge in edges}
    return _as_bytes({"version": 2, "updated": timestamp(now), "count": len(rows), "edges": drawn, "entries": entries})


def _entry(row: Row) -> dict[str, Any]:
    """Build a memory's entry in `_index.json`."""
    names = ("title", "type", "tags", "importance", "confidence", "created", "updated", "path")
    times = {name: timestamp(from_micros(row[name])) for name in ("created", "updated")}
    return {**{name: row[name] for name in names}, "tags": json.loads(row["tags"]), **times}


def _state_json(rows: Sequence[Row], now: datetime) -> bytes:
    """Build `_state.json`."""
    entries = {
        row["uuid"]: {
            "access_count": row["count"] or 0,
            "last_accessed": timestamp(from_micros(read_at(row))),
            "decay_score": round(strength_of(row, now), 4),
        }
        for row in rows
    }
    return _as_bytes({"version": 1, "updated": timestamp(now), "entries": entries})


def _as_bytes(data: object) -> bytes:
    """Encode JSON, indented."""
    return (to_json(data, indent=2) + "\n").encode()
