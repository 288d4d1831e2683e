"""Writing a workspace in the format of the official MCP memory server: entities with observations, and relations.

That format has names and sentences, and no times, origins or versions: much stays behind, and the report says what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from everloom.exports.folder import new_folder
from everloom.exports.pages import paged, pairs
from everloom.exports.results import ExportReport, Told, say_nothing
from everloom.exports.rows import RowWriter
from everloom.jsontext import to_json
from everloom.loom import Loom
from everloom.store import Row, Unit

FILE = "memory.jsonl"
_TOGETHER = "observed_together_with"
_LOST = (
    "understandings, scenes, entries, notes and the conversation",
    "times, origins, sessions, verdicts and what no longer holds",
)


def write_server_memory(
    loom: Loom, folder: str | Path, workspace: str, *, with_secrets: bool = False, told: Told = say_nothing
) -> ExportReport:
    """Write the subjects of a workspace and the memories of its graphs to `memory.jsonl` in a new folder."""
    info = loom.workspaces.get(workspace)
    writer = RowWriter({}, vectors=False, with_secrets=with_secrets)
    counts = {"entity": 0, "relation": 0}
    with new_folder(Path(folder)) as sink, loom.store.read(info.id) as unit, sink.writing(FILE) as put:
        names: set[str] = set()
        memories: dict[str, str] = {}
        for subject in paged(unit, "exports.subject_page"):
            tags = unit.all("exports.tag_all", subject=subject["id"])
            names.add(subject["name"])
            kind = tags[0]["tag"] if tags else "subject"
            _put_entity(put, writer.mask, subject["name"], kind, _observations(unit, subject))
            counts["entity"] += 1
            told("entities", 1)
        for memory in paged(unit, "exports.memory_page"):
            name = _free(memory["title"] or memory["uuid"], str(memory["uuid"]), names)
            names.add(name)
            memories[memory["uuid"]] = name
            _put_entity(put, writer.mask, name, memory["type"], iter([memory["text"]]))
            counts["entity"] += 1
            told("entities", 1)
        for first, kind, second in _relations(unit, memories):
            line = {"type": "relation", "from": first, "to": second, "relationType": kind}
            put((to_json(line) + "\n").encode())
            counts["relation"] += 1
            told("relations", 1)
    size = sum(each.bytes for each in sink.sums.values())
    return ExportReport(Path(folder), "server-memory", {info.name: counts}, 1, size, writer.masked, _LOST)


def _observations(unit: Unit, subject: Row) -> Iterator[str]:
    """Give what is said of a subject and still holds."""
    if subject["summary"]:
        yield str(subject["summary"])
    for row in paged(unit, "exports.observation_page", subject=subject["id"]):
        if row["superseded_at"] is None:
            yield str(row["text"])


def _put_entity(
    put: Callable[[bytes], None], mask: Callable[[str], str], name: str, kind: str, texts: Iterator[str]
) -> None:
    """Write an entity piece by piece: a subject may have very many observations."""
    head = to_json({"type": "entity", "name": name, "entityType": kind})
    put(f'{head[:-1]}, "observations": ['.encode())
    for place, text in enumerate(texts):
        put((", " if place else "").encode() + to_json(mask(text)).encode())
    put(b"]}\n")


def _relations(unit: Unit, memories: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for row in pairs(unit):
        yield row["first"], _TOGETHER, row["second"]
    for row in paged(unit, "exports.edge_page"):
        # An edge may lead to a memory whose file is gone; the server knows no relation to nothing.
        if row["from_uuid"] in memories and row["to_uuid"] in memories:
            yield memories[row["from_uuid"]], row["type"], memories[row["to_uuid"]]


def _free(name: str, identity: str, names: set[str]) -> str:
    """Choose a name that no other entity has: there, the name is the identity."""
    return (
        name
        if name not in names
        else f"{name} ({identity[:8]})"
        if f"{name} ({identity[:8]})" not in names
        else identity
    )
