"""Writing a workspace as a COGX archive, the exchange format of cognee: a manifest and one JSONL file for each kind.

Subjects become entities, observations and understandings memories, relations facts, the conversation episodes, graphs
and notes documents. What COGX has no place for is told in the notes of its manifest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Any

from everloom.clock import from_micros
from everloom.exports.folder import new_folder
from everloom.exports.pages import paged, pairs
from everloom.exports.results import ExportReport, Told, say_nothing
from everloom.exports.rows import RowWriter
from everloom.jsontext import to_json
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom
from everloom.store import Row, Unit

VERSION = "0.1"
_SYSTEM = "everloom"
_FILES = {
    "document": "documents.jsonl",
    "episode": "episodes.jsonl",
    "entity": "entities.jsonl",
    "fact": "facts.jsonl",
    "memory": "memories.jsonl",
    "memory_block": "memory_blocks.jsonl",
}
_LOST = (
    "earlier versions, sessions, events, verdicts, patrols and usage",
    "what was forgotten, and by what it is recognised",
)
_BLOCKS = frozenset({"soul", "protocol", "orientation"})


def write_cogx(
    loom: Loom, folder: str | Path, workspace: str, *, with_secrets: bool = False, told: Told = say_nothing
) -> ExportReport:
    """Write a workspace as a COGX archive into a new folder."""
    info = loom.workspaces.get(workspace)
    writer = RowWriter({}, vectors=False, with_secrets=with_secrets)
    counts: dict[str, int] = {}
    with new_folder(Path(folder)) as sink, loom.store.read(info.id) as unit:
        for kind, file in _FILES.items():
            records = _records(unit, info, kind)
            first = next(records, None)
            if first is None:
                continue
            with sink.writing(file) as put:
                for record in _again(first, records):
                    put((to_json(_masked(record, writer)) + "\n").encode())
                    counts[kind] = counts.get(kind, 0) + 1
                    told(kind, 1)
        manifest = {
            "cogx_version": VERSION,
            "source_system": _SYSTEM,
            "exported_at": loom.clock.now().astimezone(UTC).isoformat(),
            "counts": counts,
            "notes": [f"left out: {each}" for each in _LOST],
        }
        with sink.writing("manifest.json") as put:
            put((to_json(manifest, indent=2) + "\n").encode())
    size = sum(each.bytes for each in sink.sums.values())
    return ExportReport(Path(folder), "cogx", {info.name: counts}, len(sink.sums), size, writer.masked, _LOST)


def _again(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _masked(value: Any, writer: RowWriter) -> Any:
    if isinstance(value, str):
        return writer.mask(value)
    if isinstance(value, list):
        return [_masked(each, writer) for each in value]
    return {key: _masked(each, writer) for key, each in value.items()} if isinstance(value, dict) else value


def _records(unit: Unit, info: WorkspaceInfo, kind: str) -> Iterator[dict[str, Any]]:
    makers = {
        "document": _documents,
        "episode": _episodes,
        "entity": _entities,
        "fact": _facts,
        "memory": _memories,
        "memory_block": _blocks,
    }
    for record in makers[kind](unit):
        whole = {"kind": kind, "external_system": _SYSTEM, "scope": {"agent_id": info.name}, **record}
        yield {name: value for name, value in whole.items() if value is not None}


def _documents(unit: Unit) -> Iterator[dict[str, Any]]:
    for row in paged(unit, "exports.memory_page"):
        yield {
            "external_id": str(row["uuid"]),
            "content": row["text"],
            "title": row["title"],
            "mime_type": "text/markdown",
            "created_at": _moment(row["created"]),
            "updated_at": _moment(row["updated"]),
            "metadata": {"type": row["type"]},
        }
    for row in paged(unit, "exports.note_page"):
        yield {
            "external_id": f"note-{row['id']}",
            "content": row["body"],
            "title": row["name"],
            "mime_type": "text/markdown",
            "updated_at": _moment(row["at"]),
        }


def _episodes(unit: Unit) -> Iterator[dict[str, Any]]:
    """Give the conversation day by day."""
    messages = paged(unit, "exports.message_page")
    for day, said in groupby(messages, key=lambda row: from_micros(row["at"]).astimezone(UTC).date().isoformat()):
        turns = [
            {
                "role": "assistant" if row["direction"] == "out" else "user",
                "content": row["text"],
                "occurred_at": _moment(row["at"]),
            }
            for row in said
        ]
        yield {
            "external_id": f"conversation-{day}",
            "title": day,
            "created_at": turns[0]["occurred_at"],
            "turns": turns,
        }


def _entities(unit: Unit) -> Iterator[dict[str, Any]]:
    for row in paged(unit, "exports.subject_page"):
        names = [each["name"] for each in unit.all("exports.name_all", subject=row["id"])]
        tags = [each["tag"] for each in unit.all("exports.tag_all", subject=row["id"])]
        yield {
            "external_id": f"subject-{row['id']}",
            "name": row["name"],
            "entity_type": tags[0] if tags else None,
            "description": row["summary"] or row["single"],
            "aliases": names,
            "attributes": {"tags": tags},
        }


def _facts(unit: Unit) -> Iterator[dict[str, Any]]:
    for row in pairs(unit):
        yield {
            "external_id": f"together-{row['subject_a']}-{row['subject_b']}",
            "subject_ref": f"subject-{row['subject_a']}",
            "predicate": "observed_together_with",
            "object_ref": f"subject-{row['subject_b']}",
            "fact_text": row["text"] or f"{row['first']} and {row['second']} occur together.",
        }
    for row in paged(unit, "exports.edge_page"):
        yield {
            "external_id": f"edge-{row['id']}",
            "subject_ref": str(row["from_uuid"]),
            "predicate": row["type"],
            "object_ref": str(row["to_uuid"]),
            "fact_text": row["description"] or f"{row['from_title']} {row['type']} {row['to_title']}",
            "created_at": _moment(row["created"]),
            "updated_at": _moment(row["updated"]),
        }


def _memories(unit: Unit) -> Iterator[dict[str, Any]]:
    for row in paged(unit, "exports.all_observations"):
        subjects = [f"subject-{number}" for number in str(row["subject_set"]).split(",") if number]
        yield {
            **_memory(row, ["observation", *([row["kind"]] if row["kind"] else [])]),
            "metadata": _about(row, subjects),
        }
    for row in paged(unit, "exports.understanding_page"):
        if row["kind"] not in _BLOCKS:
            subjects = [f"subject-{number}" for number in str(row["subject_set"]).split(",") if number]
            yield {**_memory(row, ["understanding", row["kind"]]), "metadata": _about(row, subjects)}
    for row in paged(unit, "exports.scene_page"):
        text = "\n".join(filter(None, (row["action"], row["feeling"])))
        yield {**_memory({**_as_dict(row), "text": text}, ["scene"]), "metadata": _about(row, [])}
    for row in paged(unit, "exports.entry_page"):
        yield {
            "external_id": str(row["id"]),
            "content": row["content"],
            "categories": [row["target"]],
            "updated_at": _moment(row["updated_at"]),
            "metadata": {"title": row["title"], "key": row["entry_key"]},
        }


def _memory(row: Any, categories: list[str]) -> dict[str, Any]:
    return {
        "external_id": str(row["id"]),
        "content": row["text"],
        "categories": categories,
        "created_at": _moment(row["happened_at"]),
    }


def _as_dict(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "happened_at", "action", "feeling")}


def _about(row: Row, subjects: list[str]) -> dict[str, Any]:
    return {"subjects": subjects, **({"origin": row["origin"]} if row["origin"] else {})}


def _blocks(unit: Unit) -> Iterator[dict[str, Any]]:
    for row in paged(unit, "exports.understanding_page"):
        if row["kind"] in _BLOCKS:
            yield {
                "external_id": str(row["id"]),
                "label": row["kind"],
                "value": row["text"],
                "created_at": _moment(row["happened_at"]),
            }


def _moment(micros: int) -> str:
    return from_micros(micros).astimezone(UTC).isoformat()
