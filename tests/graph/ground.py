"""What the graph tests stand on: opening, storing, reading files, git, and the proof that files and index agree."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from everloom.clock import Clock, ManualClock
from everloom.graph import Graph
from everloom.graph.files.disk import Disk, FileEntry
from everloom.graph.files.parser import read_file
from everloom.graph.index.scan import files_of
from everloom.graph.kinds import path_id
from everloom.graph.parameters import MemoryType
from everloom.graph.results import Edge, GraphOptions, Memory, Stored
from everloom.loom import Loom, open_loom
from everloom.settings import Settings

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def open_with(url: str, directory: Path, clock: Clock | None = None, **graph: Any) -> Loom:
    """Open a loom whose default graph lies in a directory."""
    chosen = {"directory": str(directory), **graph}
    settings = Settings.model_validate({"workspace": {"time_zone": "UTC"}, "graph": chosen})
    return open_loom(url, settings=settings, clock=clock or ManualClock(NOW))


def keep(graph: Graph, title: str, kind: MemoryType = "general", *, connect: bool = False, **fields: Any) -> Stored:
    """Store a memory, without relations unless asked."""
    content = fields.pop("content", f"{title}: what there is to know.")
    return graph.store(type=kind, title=title, content=content, **fields, connect=connect)


def text_of(graph: Graph, path: str) -> str:
    """Read a file of a graph."""
    return (graph.directory / path).read_text(encoding="utf-8")


def write(graph: Graph, path: str, text: str, *, age: float = 100.0) -> None:
    """Write a file as a person would, some seconds ago."""
    file = graph.directory / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    before = datetime.now(UTC).timestamp() - age
    os.utime(file, (before, before))


def memory_text(
    identity: str, title: str = "By hand", kind: str = "general", more: str = "", body: str = "Text."
) -> str:
    """Write a memory's file by hand."""
    return f"---\nid: {identity}\ntype: {kind}\ntitle: {title}\nimportance: 0.6\n{more}---\n\n{body}\n"


def git(directory: Path, *arguments: str) -> str:
    """Run git as somebody."""
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout


def commits(directory: Path) -> list[str]:
    """List the subjects of all commits, oldest first."""
    return git(directory, "log", "--reverse", "--format=%s").splitlines()


def files_say(directory: Path) -> dict[str, Any]:
    """Read all memories and edges from the files alone."""
    disk = Disk(directory)
    listed = files_of(disk, GraphOptions())
    seen = [read_file(disk, entry.path).content for entry in listed if isinstance(entry, FileEntry)]
    # A note without an id is known by its path, unless it was renamed.
    return {each.id or path_id(each.path): each for each in seen if isinstance(each, Memory | Edge)}


def assert_agreement(loom: Loom, graph: Graph) -> None:
    """Prove that the index says what the files say, no more and no less, and that nothing is under way."""
    said = files_say(graph.directory)
    with loom.store.read(loom.workspace().info.id) as unit:
        graph_id = unit.all("graph.graph_all")[0]["id"]
        rows = {row["uuid"]: row for row in unit.all("graph.memory_all", graph=graph_id)}
        edges = {row["uuid"]: row for row in unit.all("graph.edge_all", graph=graph_id)}
        sides = unit.all("graph.relation_all", graph=graph_id)
        documents = {
            row["item_id"]: row for row in unit.all("words.document_of", ids=[row["id"] for row in rows.values()])
        }
        assert unit.all("graph.intent_all", graph=graph_id) == []
    memories = {uuid: each for uuid, each in said.items() if isinstance(each, Memory)}
    assert rows.keys() == memories.keys()
    assert edges.keys() == said.keys() - memories.keys()
    for uuid, memory in memories.items():
        row = rows[uuid]
        assert (row["title"], row["type"], row["path"], row["importance"]) == (
            memory.title,
            memory.type,
            memory.path,
            memory.importance,
        )
        assert json.loads(row["tags"]) == list(memory.all_tags)
        assert documents[row["id"]]["title"] == memory.title
        assert documents[row["id"]]["text"].startswith(memory.content)
        own = [side for side in sides if side["uuid"] == uuid]
        assert [(side["target"], side["type"], side["direction"]) for side in own] == [
            (side.target, side.type, side.direction) for side in memory.relations
        ]


def assert_two_sided(graph: Graph) -> None:
    """Prove that every relation has both sides and every edge both memories."""
    said = files_say(graph.directory)
    memories = {each.id: each for each in said.values() if isinstance(each, Memory)}
    sides = {(each.id, side.target, side.type, side.direction) for each in memories.values() for side in each.relations}
    for owner, target, kind, direction in sides:
        back = "incoming" if direction == "outgoing" else "outgoing"
        assert (target, owner, kind, back) in sides
    for edge in (each for each in said.values() if isinstance(each, Edge)):
        assert (edge.from_id, edge.to_id, edge.type, "outgoing") in sides
