"""Writes a directory in the first system's exact format: three hundred files, fifteen of them broken, each differently.

Everything is chosen by a seeded generator, so that two runs write the same bytes. Nothing of the package is used: the
formats are the contract, and a test that wrote them with the code that reads them would prove nothing.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

MODEL = "nomic-embed-text"
DIMENSIONS = 768
KEY = "sk-test-never-to-be-copied-000000000000"
REFLECTIONS = 7
# All of it was written in the fortnight before `tests.graph.ground.NOW`, so that little of it has faded.
BEGAN = datetime(2026, 11, 1, 8, 0, tzinfo=UTC)
ENDED = datetime(2026, 11, 14, 20, 0, tzinfo=UTC)
GITIGNORE = "_state.json\n_index.json\n_embeddings.json\n_config.json\n"

_FOLDERS = {
    "solution": "graph/solutions",
    "fix": "graph/fixes",
    "decision": "graph/decisions",
    "configuration": "graph/configurations",
    "problem": "graph/problems",
    "workflow": "graph/workflows",
    "code_pattern": "graph/code-patterns",
    "error": "graph/errors",
    "general": "graph/general",
    "procedure": "graph/procedures",
    "insight": "graph/insights",
}
_RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
_PROJECTS = ("major-domo", "paper-dynasty", "homelab", "vagabond-rpg", "foundryvtt", "strat-gameplay-webapp")
_THINGS = ("redis", "docker", "discord", "postgres", "nginx", "python", "websocket", "backup", "certificate", "queue")
_TROUBLES = ("times out", "drops under load", "restarts at night", "loses messages", "fills the disk", "starts twice")
_EDGES, _MEMORIES, _PINNED, _DAYS = 45, 240, 8, 10


@dataclass(slots=True)
class _Page:
    """A memory before it is written."""

    id: str
    type: str
    title: str
    tags: list[str]
    importance: float
    created: str
    path: str
    body: str
    relations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def entry(self) -> dict[str, Any]:
        """What `_index.json` says about it."""
        names = ("title", "type", "tags", "importance")
        times = {"confidence": 0.8, "created": self.created, "updated": self.created}
        return {
            **{name: getattr(self, name) for name in names},
            **times,
            "path": self.path,
            "relations": self.relations,
        }


@dataclass(frozen=True, slots=True)
class Original:
    """What was written where: everything that a test may want to find again.

    `broken` says why each broken file cannot be used; `duplicates` names the file that its id belongs to, for the two
    that are only a second file of an id.
    """

    directory: Path
    memories: Mapping[str, str]
    edges: Mapping[str, str]
    titles: Mapping[str, str]
    broken: Mapping[str, str]
    duplicates: Mapping[str, str]
    accesses: Mapping[str, tuple[int, datetime]]
    vectors: Mapping[str, list[float]]

    def bytes_of(self) -> dict[str, bytes]:
        """Read every file of it that is not ours, to compare later."""
        return read_all(self.directory)


def read_all(directory: Path) -> dict[str, bytes]:
    """Read every file of a directory except those in our own corner and in git's."""
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in sorted(directory.rglob("*"))
        if file.is_file() and not {".everloom", ".git"} & set(file.relative_to(directory).parts)
    }


def write_original(directory: Path, *, model: str = MODEL, dimensions: int = DIMENSIONS) -> Original:
    """Write the directory with all that belongs to it."""
    chance = random.Random(300)
    pages = list(_pages(chance))
    edges = {each["id"]: each for each in _edges(chance, pages)}
    for page in pages:
        _write(directory, page.path, _memory_text(page))
    for edge in edges.values():
        _write(directory, edge["path"], _edge_text(edge))
    broken, duplicates = _break(directory, pages, edges)
    _write_diary(directory, pages)
    # One memory was written after the index; only the name of its file says which of two files it is.
    indexed = {page.id: page.entry for page in pages if page.path != list(duplicates.values())[1]}
    accesses = dict(_accesses(chance, pages))
    vectors = {page.id: [round(chance.uniform(-1, 1), 4) for _ in range(dimensions)] for page in pages}
    drawn = {each["id"]: {name: each[name] for name in _EDGE_ENTRY} for each in edges.values()}
    _write_json(directory, indexed, drawn, accesses, {"model": model, "updated": _iso(ENDED), "entries": vectors})
    _write(directory, "CORE.md", _core(pages))
    _write(directory, "REFLECTION.md", _reflection())
    _write(directory, ".gitignore", GITIGNORE)
    return Original(
        directory,
        {page.id: page.path for page in pages},
        {each["id"]: each["path"] for each in edges.values()},
        {page.id: page.title for page in pages},
        broken,
        duplicates,
        accesses,
        vectors,
    )


_EDGE_ENTRY = ("type", "from_id", "to_id", "strength", "path")


def _pages(chance: random.Random) -> Iterator[_Page]:
    """Make the memories, of all types in turn; the first of some types are pinned."""
    for number in range(_MEMORIES):
        kind = list(_FOLDERS)[number % len(_FOLDERS)]
        thing, trouble = _THINGS[number % len(_THINGS)], _TROUBLES[number % len(_TROUBLES)]
        title = f'{kind.replace("_", " ").capitalize()} {number}: {thing} "{trouble}"'
        identity = str(UUID(int=chance.getrandbits(128), version=4))
        folder = "vault" if number < _PINNED else _FOLDERS[kind]
        slug = f"{kind.replace('_', '-')}-{number}-{thing}-{trouble.replace(' ', '-')}"
        yield _Page(
            identity,
            kind,
            title,
            [thing, _PROJECTS[number % len(_PROJECTS)], "fix" if number % 2 else "python"],
            round(chance.uniform(0.5, 1.0), 2),
            _iso(BEGAN + timedelta(hours=number)),
            f"{folder}/{slug}-{identity[:6]}.md",
            f"What there is to know of number {number}: the {thing} {trouble}.\n\nBackslash \\ and Ünïcode → stay.",
        )


def _edges(chance: random.Random, pages: list[_Page]) -> Iterator[dict[str, Any]]:
    """Relate memories, with both sides in their front matter."""
    for number in range(_EDGES):
        source, target = pages[number * 5], pages[number * 5 + 3]
        kind, strength = _RELATIONS[number % len(_RELATIONS)], round(chance.uniform(0.3, 0.9), 2)
        identity = str(UUID(int=chance.getrandbits(128), version=4))
        side = {"type": kind, "strength": strength, "context": f"Number {number}: one leads to the other"}
        source.relations.append({"target": target.id, "direction": "outgoing", **side, "edge_id": identity})
        target.relations.append({"target": source.id, "direction": "incoming", **side, "edge_id": identity})
        yield {
            "id": identity,
            "type": kind,
            "from_id": source.id,
            "from_title": source.title,
            "to_id": target.id,
            "to_title": target.title,
            "strength": strength,
            "created": source.created,
            "path": f"graph/edges/from-{number}--{kind}--to-{number}-{identity[:6]}.md",
        }


def _memory_text(page: _Page) -> str:
    """Write a memory as the first system does: titles and contexts quoted, tags on one line."""
    lines = [
        f"id: {page.id}",
        f"type: {page.type}",
        f"title: {json.dumps(page.title)}",
        f"tags: [{', '.join(page.tags)}]",
        f"importance: {page.importance}",
        "confidence: 0.8",
    ]
    if page.type == "procedure":
        lines += ["steps:", '  - "Run tests"', '  - "Build: the image"', "preconditions:", '  - "All tests pass"']
        lines += ["postconditions:", '  - "Service healthy"']
    lines += [f"created: {page.created}", f"updated: {page.created}"]
    if page.relations:
        lines.append("relations:")
    for each in page.relations:
        lines += [f"  - target: {each['target']}", f"    type: {each['type']}", f"    direction: {each['direction']}"]
        lines += [f"    strength: {each['strength']}", f"    context: {json.dumps(each['context'])}"]
        lines.append(f"    edge_id: {each['edge_id']}")
    return _fenced(lines, page.body)


def _edge_text(edge: Mapping[str, Any]) -> str:
    titles = {name: json.dumps(edge[name]) for name in ("from_title", "to_title")}
    shown = {**edge, **titles, "updated": edge["created"]}
    names = ("id", "type", "from_id", "from_title", "to_id", "to_title", "strength", "created", "updated")
    return _fenced([f"{name}: {shown[name]}" for name in names], f"Why it is so, told at length: {edge['type']}.")


def _fenced(lines: list[str], body: str) -> str:
    fields = "".join(f"{line}\n" for line in lines)
    return f"---\n{fields}---\n\n{body}\n"


def _break(
    directory: Path, pages: list[_Page], edges: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Write the files that cannot be used, each broken in another way; returns why, and which are second files."""
    whole = _fenced(["id: PLACE", "type: general", 'title: "A broken one"', "importance: 0.5"], "Not to be lost.")
    edge = _edge_text(next(iter(edges.values())))
    markers = "<<<<<<< HEAD\n{0}\n=======\n{0} of theirs\n>>>>>>> theirs\n"
    # The second file of an id: one sorts before the file that the index names, one has no id in its name.
    listed, unlisted = pages[20], pages[31]
    copies = {
        f"{Path(listed.path).parent}/a-copy-{listed.id[:6]}.md": listed.path,
        f"{Path(unlisted.path).parent}/a-copy.md": unlisted.path,
    }
    texts = {
        "graph/general/unclosed-list-b00001.md": whole.replace("importance", "tags: [redis, timeout\nimportance"),
        "graph/general/tab-b00002.md": whole.replace("importance: 0.5", "relations:\n\t- target: x"),
        "graph/general/cut-off-b00003.md": whole[:40],
        "graph/general/conflict-in-fields-b00004.md": whole.replace("type", f"{markers.format('tags: [a]')}type"),
        "graph/general/conflict-in-text-b00005.md": whole + markers.format("A line"),
        "graph/general/no-fields-b00006.md": "---\n- one\n- two\n---\n\nA list where fields should be.\n",
        "graph/edges/empty-b00007.md": "",
        "graph/edges/no-id-b00008.md": edge.replace("id: ", "number: ", 1),
        "graph/edges/no-target-b00009.md": edge.replace("to_id: ", "to: ", 1),
        **{copy: _memory_text(page) for copy, page in zip(copies, (listed, unlisted), strict=True)},
    }
    for path, text in texts.items():
        _write(directory, path, text.replace("PLACE", f"{Path(path).stem[-6:]}00-0000-4000-8000-000000000000"))
    latin, wide, zeros = (f"graph/errors/{name}-b0001{number}.md" for number, name in enumerate(_ENCODINGS))
    (directory / latin).write_bytes(whole.replace("lost", "verloren für immer").encode("latin-1"))
    (directory / wide).write_bytes(whole.encode("utf-16"))
    (directory / zeros).write_bytes(bytes(200))
    link = "graph/errors/link-b00013.md"
    os.symlink("/etc/hostname", directory / link)
    reasons = [
        *("YAML", "YAML", "does not end", "merge conflict", "merge conflict", "list of fields", "no front matter"),
        *("id is missing", "to_id is missing", "its id is also used by", "its id is also used by"),
    ]
    encodings = {latin: "not UTF-8", wide: "not UTF-8", zeros: "null character", link: "a link to a place outside"}
    return {**dict(zip(texts, reasons, strict=True)), **encodings}, copies


_ENCODINGS = ("latin", "wide", "zeros")


def _accesses(chance: random.Random, pages: list[_Page]) -> Iterator[tuple[str, tuple[int, datetime]]]:
    """Say how often each memory was read; some never were, and have the time at which they were stored."""
    for number, page in enumerate(pages):
        count = number % 4
        stored = datetime.fromisoformat(page.created)
        yield page.id, (count, stored + timedelta(minutes=chance.randrange(60)) if count else stored)


def _write_json(
    directory: Path,
    indexed: Mapping[str, Any],
    edges: Mapping[str, Any],
    accesses: Mapping[str, tuple[int, datetime]],
    embeddings: Mapping[str, Any],
) -> None:
    """Write the four JSON files."""
    states = {
        identity: {"access_count": count, "last_accessed": _iso(at), "decay_score": 0.75}
        for identity, (count, at) in accesses.items()
    }
    head = {"version": 2, "updated": _iso(ENDED), "count": len(indexed)}
    pages: dict[str, Mapping[str, Any]] = {
        "_index.json": {**head, "edges": edges, "entries": indexed},
        "_state.json": {"version": 1, "updated": _iso(ENDED), "entries": states},
        "_embeddings.json": embeddings,
        "_config.json": {
            "embedding_provider": "ollama",
            "openai_api_key": KEY,
            "ollama_model": embeddings["model"],
            "openai_model": "text-embedding-3-small",
        },
    }
    for name, content in pages.items():
        _write(directory, name, json.dumps(content, indent=None if name == "_embeddings.json" else 2))


def _write_diary(directory: Path, pages: list[_Page]) -> None:
    for day in range(_DAYS):
        date, page = BEGAN + timedelta(days=day), pages[day * 24]
        entry = (
            f"## 10:30 - {page.title}\n- **Type:** {page.type}\n- **Tags:** {', '.join(page.tags)}\n"
            f"- **Memory:** [{Path(page.path).stem[:-7]}](../{page.path})\n- **Summary:** It was noted\n"
        )
        merged = (
            "\n## 18:00 - Merged two memories\n- **Type:** general\n- **Summary:** One is left\n" if day == 1 else ""
        )
        _write(directory, f"episodes/{date:%Y-%m-%d}.md", f"# {date:%Y-%m-%d}\n\n{entry}{merged}")


def _core(pages: list[_Page]) -> str:
    found = [page for page in pages if page.type == "solution"][:15]
    lines = "".join(f"- [{page.title}]({page.path}) ({', '.join(page.tags)})\n" for page in found)
    head = f"> Last updated: {ENDED:%Y-%m-%d} | Active memories: 180/{len(pages)} | Next refresh: daily (systemd timer)"
    return f"# Memory Core (auto-generated)\n{head}\n\n## Critical Solutions\n{lines}"


def _reflection() -> str:
    day = f"{ENDED:%Y-%m-%d}"
    head = f"> Last updated: {day} | Last reflection: {day} | Total reflections: {REFLECTIONS}"
    history = "## Consolidation History\n\n- Total merges performed: 1\n"
    return f"# Reflection Summary (auto-generated)\n{head}\n\n## Themes\n\n{history}"


def _write(directory: Path, path: str, text: str) -> None:
    file = directory / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
