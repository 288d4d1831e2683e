"""Imports directories of the original program, with accesses and vectors, and writes its JSON files for it.

Files are copied unchanged. API keys in its configuration are neither stored nor copied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from everloom.clock import from_micros, to_micros
from everloom.errors import EverloomError, NotFound
from everloom.graph.files.changeset import FileChange, FilePlan, Put
from everloom.graph.files.disk import Disk, FileEntry
from everloom.graph.files.parser import parse_number, read_file
from everloom.graph.files.render import relation_fields, timestamp
from everloom.graph.index.catalog import OpenGraph, edge_from, relation_from
from everloom.graph.index.decay import strength_of
from everloom.graph.index.executor import execute, sole_writer
from everloom.graph.index.scan import scan
from everloom.graph.kinds import EPISODES
from everloom.graph.operations.edges import repair
from everloom.graph.results import Edge, FileProblem, Imported, Memory, Reindexed
from everloom.kernel.embedding import GENERAL, Made
from everloom.kernel.trust.origin import OriginKind
from everloom.kernel.trust.review import HELD, hold
from everloom.store import Row

_INDEX, _STATE, _EMBEDDINGS, _CONFIG = "_index.json", "_state.json", "_embeddings.json", "_config.json"
# A larger JSON file is skipped, because parsing it would need several times its size in memory.
_LARGEST = 500_000_000


def import_directory(graph: OpenGraph, source: Path) -> Imported:
    """Import every file that is not in the graph yet; a second import changes nothing."""
    if not source.is_dir():
        raise NotFound(f"there is no directory {source}", hint="give the directory that contains `graph/`")
    graph = graph.told_by(f"{OriginKind.IMPORT}:{source.name}")
    given = {"graph": graph.name, "source": str(source.absolute())}
    if (waiting := hold(graph.op, "graph.import_directory", given, f"the directory {source}")) is not None:
        return Imported(graph=graph.name, directory=str(graph.disk.root), held=f"{waiting}: {HELD}")
    legacy = _read_legacy(source)
    with sole_writer(graph):
        changes, skipped = _changes(graph, Disk(source))
        detail = {"from": str(source), "files": len(changes)}
        message = f"import: {len(changes)} files from {source.name}"
        notices = execute(graph, FilePlan("import", message, tuple(changes), detail, legacy.states))
    # After the files, because a vector can only be stored for a memory that is in the index.
    vectors, trouble = _take_vectors(graph, legacy)
    with graph.op.read() as unit:
        here = {row["uuid"] for row in unit.all("graph.memory_all", graph=graph.id)}
        edges = len(unit.all("graph.edge_all", graph=graph.id))
    lost = len(legacy.indexed - here)
    missing = [f"{lost} memories in its index have no file"] if lost else []
    return Imported(
        graph=graph.name,
        directory=str(graph.disk.root),
        files=len(changes),
        memories=len(here),
        edges=edges,
        states=len(here & legacy.states.keys()),
        vectors=vectors,
        skipped=tuple(dict.fromkeys([*skipped, *legacy.problems])),
        notices=(*notices, *legacy.notices, *trouble, *missing),
    )


def reindex(graph: OpenGraph, *, as_json: bool = False) -> Reindexed:
    """Read every file again, complete one-sided relations, and optionally write the JSON files for other programs."""
    followed = scan(graph, anew=True)
    repaired, dangling = repair(graph)
    written = _write_json(graph) if as_json else ()
    with graph.op.read() as unit:
        memories = len(unit.all("graph.memory_all", graph=graph.id))
        edges = len(unit.all("graph.edge_all", graph=graph.id))
    mended = {"repaired": tuple(repaired), "dangling": tuple(dangling)}
    return Reindexed(followed=followed, memories=memories, edges=edges, **mended, written=written)


def _write_json(graph: OpenGraph) -> tuple[str, ...]:
    """Write `_index.json` and `_state.json` for programs that read them; they are not committed."""
    now = graph.op.now
    with sole_writer(graph):
        with graph.op.read() as unit:
            rows, sides = unit.all("graph.memory_all", graph=graph.id), unit.all("graph.relation_all", graph=graph.id)
            edges = [edge_from(row) for row in unit.all("graph.edge_all", graph=graph.id)]
        pages = {_INDEX: _index_json(rows, sides, edges, now), _STATE: _state_json(rows, now)}
        puts = tuple(Put.of(path, graph.disk.read(path), data) for path, data in pages.items())
        execute(graph, FilePlan("reindex", "reindex", puts, is_committed=False))
    return tuple(pages)


def _changes(graph: OpenGraph, source: Disk) -> tuple[list[FileChange], list[FileProblem]]:
    changes: list[FileChange] = []
    skipped: list[FileProblem] = []
    # A directory that is attached in place has its files already; only accesses and vectors are imported.
    if source.root == graph.disk.root:
        return changes, skipped
    with graph.op.read() as unit:
        known = (unit.all(statement, graph=graph.id) for statement in ("graph.memory_all", "graph.edge_all"))
        ids = {row["uuid"] for rows in known for row in rows}
    for path in _files_of(source):
        if isinstance(path, FileProblem):
            skipped.append(path)
            continue
        content = None if path.startswith(f"{EPISODES}/") else read_file(source, path).content
        if isinstance(content, FileProblem):
            skipped.append(content)
        data, here = _readable(source, path), graph.disk.read(path)
        if data is None or here == data:
            continue
        if here is not None:
            skipped.append(FileProblem(path, None, "a different file of this name exists; it was not changed"))
        elif isinstance(content, Memory | Edge) and content.id in ids:
            skipped.append(FileProblem(path, None, f"a memory or edge with the id {content.id} exists already"))
        else:
            changes.append(Put.of(path, None, data))
    return changes, skipped


def _take_vectors(graph: OpenGraph, legacy: _LegacyState) -> tuple[int, list[str]]:
    """Import vectors if the preferred embedder made them; vectors of two models must not be mixed."""
    if not legacy.vectors:
        return 0, []
    embedding = graph.op.embedding
    traits = embedding.chain.links[0]
    # Ollama adds ":latest" to a model without a tag; the two names mean the same model.
    name = traits.name.partition(":")[2].removesuffix(":latest")
    size = len(next(iter(legacy.vectors.values())))
    if name != legacy.model.removesuffix(":latest") or traits.dim not in (None, size):
        return 0, [f"its vectors were made by {legacy.model or 'an unknown model'}; {traits.name} will make new ones"]
    with graph.op.write("graph.import") as transaction:
        unit = transaction.unit
        rows = unit.all("graph.memory_by_uuid", graph=graph.id, uuids=list(legacy.vectors))
        fit = {row["id"]: row["uuid"] for row in rows if row["gone_at"] is None and not row["archived"]}
        if fit:
            matrix = np.stack([_unit_length(legacy.vectors[uuid]) for uuid in fit.values()])
            embedding.make_whole(unit, list(fit), Made(traits.name, {GENERAL: matrix}), transaction.at)
    return len(fit), []


def _files_of(source: Disk) -> Iterator[str | FileProblem]:
    """List the files to import: memories, edges, the vault and the diary. CORE.md and REFLECTION.md are generated."""
    for entry in source.walk():
        yield entry.path if isinstance(entry, FileEntry) else entry
    folder = source.root / EPISODES
    if folder.is_dir():
        for name in sorted(os.listdir(folder)):
            if name.endswith(".md") and not (folder / name).is_symlink():
                yield f"{EPISODES}/{name}"


def _readable(source: Disk, path: str) -> bytes | None:
    """Read a file; None if it cannot be read, which has been reported already."""
    try:
        return source.read(path)
    except EverloomError:
        return None


def _unit_length(row: Sequence[float]) -> npt.NDArray[np.float32]:
    """Scale a vector to length one."""
    vector = np.asarray(row, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


@dataclass(slots=True)
class _LegacyState:
    """The contents of the JSON files in a directory."""

    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    model: str = ""
    indexed: frozenset[str] = frozenset()
    notices: list[str] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)


def _read_legacy(directory: Path) -> _LegacyState:
    """Read the JSON files; one that cannot be read is reported and skipped."""
    found = _LegacyState()
    found.states = _states(_read_json(directory, _STATE, found))
    embeddings = _read_json(directory, _EMBEDDINGS, found)
    found.model = str(embeddings.get("model") or "")
    found.vectors = _vectors(embeddings)
    found.indexed = frozenset(_entries(_read_json(directory, _INDEX, found)))
    found.notices += _config_notices(_read_json(directory, _CONFIG, found))
    return found


def _read_json(directory: Path, name: str, found: _LegacyState) -> Mapping[str, Any]:
    """Read one JSON file that contains an object."""
    file = directory / name
    if not file.is_file() or file.is_symlink() or file.stat().st_size > _LARGEST:
        return {}
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        found.problems.append(FileProblem(name, line, "the file is not valid JSON; it was skipped"))
        return {}
    return data if isinstance(data, dict) else {}


def _entries(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entries of a file."""
    entries = data.get("entries")
    return entries if isinstance(entries, dict) else {}


def _states(data: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Read the access counts and last accesses of memories."""
    found = {}
    for uuid, entry in _entries(data).items():
        count = entry.get("access_count") if isinstance(entry, dict) else None
        at = _instant(entry.get("last_accessed")) if isinstance(entry, dict) else None
        if isinstance(count, int) and count > 0 and at is not None:
            # The count comes from a file that anybody may have edited; a larger one could overflow the column.
            found[str(uuid)] = (min(count, 2**31), to_micros(at))
    return found


def _instant(value: object) -> datetime | None:
    """Read a time; None if it is not one."""
    try:
        parsed = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


def _vectors(data: Mapping[str, Any]) -> dict[str, list[float]]:
    """Read the vectors, if all have the same length."""
    rows = {str(uuid): row for uuid, row in _entries(data).items() if isinstance(row, list) and row}
    sizes = {len(row) for row in rows.values()}
    if len(sizes) != 1:
        return {}
    return {uuid: row for uuid, row in rows.items() if all(parse_number(value) is not None for value in row)}


def _config_notices(data: Mapping[str, Any]) -> list[str]:
    """Report the configured embedder, and that a key is present; the key itself is never shown."""
    notices = []
    provider = data.get("embedding_provider")
    if isinstance(provider, str) and isinstance(model := data.get(f"{provider}_model"), str):
        notices.append(
            f"it was embedded with {provider}:{model}; `everloom config set embed.models` selects that again"
        )
    if data.get("openai_api_key"):
        advice = "set OPENAI_API_KEY and remove it from the file"
        notices.append(f"{_CONFIG} contains an API key, which was not imported: {advice}")
    return notices


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
            "last_accessed": timestamp(from_micros(row["last_at"] if row["count"] else row["created"])),
            "decay_score": round(strength_of(row, now), 4),
        }
        for row in rows
    }
    return _as_bytes({"version": 1, "updated": timestamp(now), "entries": entries})


def _as_bytes(data: object) -> bytes:
    """Encode JSON, indented."""
    return (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
