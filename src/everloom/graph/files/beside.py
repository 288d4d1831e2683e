"""What the original program keeps beside its memories: index, use, vectors, settings, and the head of REFLECTION.md.

Reads a directory that anybody may have written; what is not as it should be is left out and named. Refuses to know what
becomes of it, and never reads a key.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from everloom.clock import instant_in, to_micros
from everloom.graph.files.disk import FileEntry, digest
from everloom.graph.files.fields import parse_number
from everloom.graph.files.parser import LONGEST_ID
from everloom.graph.kinds import REFLECTION
from everloom.graph.results import FileProblem

INDEX, STATE, EMBEDDINGS, CONFIG = "_index.json", "_state.json", "_embeddings.json", "_config.json"
# None of these is a memory, so that no scan may take one for a file that is gone.
BESIDE = frozenset({INDEX, STATE, EMBEDDINGS, CONFIG, REFLECTION})
# A larger file is left out, because parsing it would need several times its size in memory.
LARGEST_BESIDE = 500_000_000
_REFLECTIONS = re.compile(r"Total reflections: (\d{1,9})\b")
_REFLECTED = re.compile(r"Last reflection: (\d{4}-\d{2}-\d{2})\b")
# The contract's file names end in at least this much of the id.
_SHORTEST_SUFFIX = 6
# A count from a file that anybody may have edited; a larger one could overflow the column.
_MOST = 2**31


@dataclass(frozen=True, slots=True)
class BesideFile:
    """One of these files as it was read; what cannot be read is empty and has a problem."""

    entry: FileEntry
    hash: str
    text: bytes = b""
    data: Mapping[str, Any] | None = None
    problem: FileProblem | None = None


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """The vectors of a directory by id: the model that made them, and when."""

    model: str = ""
    made_at: datetime | None = None
    rows: Mapping[str, list[float]] | None = None


@dataclass(frozen=True, slots=True)
class Reflections:
    """How often was reflected on a directory, and when last."""

    count: int = 0
    last: datetime | None = None


def look_beside(root: Path, name: str) -> FileEntry | None:
    """Look for one of these files, without reading it; a link is none."""
    try:
        found = (root / name).lstat()
    except OSError:
        return None
    return FileEntry(name, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) else None


def read_beside(root: Path, name: str) -> BesideFile | None:
    """Read one of these files; None if there is none."""
    # The time before the bytes, as everywhere: a write in between is then seen by the next look.
    entry = look_beside(root, name)
    if entry is None:
        return None
    if entry.size > LARGEST_BESIDE:
        return BesideFile(entry, "", problem=FileProblem(name, None, f"it is larger than {LARGEST_BESIDE:,} bytes"))
    try:
        text = (root / name).read_bytes()
    except OSError as error:
        return BesideFile(entry, "", problem=FileProblem(name, None, f"it cannot be read: {error.strerror}"))
    mark = digest(text) or ""
    if not name.endswith(".json"):
        return BesideFile(entry, mark, text)
    data, problem = _parsed(name, text)
    return BesideFile(entry, mark, text, data, problem)


def _parsed(name: str, text: bytes) -> tuple[Mapping[str, Any] | None, FileProblem | None]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        return None, FileProblem(name, line, "the file is not valid JSON; nothing was taken from it")
    if isinstance(data, dict):
        return data, None
    return None, FileProblem(name, 1, "the file is not a JSON object; nothing was taken from it")


def entries_in(data: Mapping[str, Any] | None, section: str = "entries") -> Mapping[str, Any]:
    """Return the entries of a file, by id."""
    entries = None if data is None else data.get(section)
    return entries if isinstance(entries, dict) else {}


def states_in(data: Mapping[str, Any] | None) -> dict[str, tuple[int, int]]:
    """Read how often each memory was used and when last, in microseconds; one that never was has a time as well."""
    found = {}
    for uuid, entry in entries_in(data).items():
        count = entry.get("access_count") if isinstance(entry, dict) else None
        at = _instant(entry.get("last_accessed")) if isinstance(entry, dict) else None
        # An id that no file can have could not even be looked up.
        is_sound = len(uuid) <= LONGEST_ID and uuid.isprintable()
        if is_sound and isinstance(count, int) and count >= 0 and at is not None:
            found[uuid] = (min(int(count), _MOST), to_micros(at))
    return found


def vectors_in(data: Mapping[str, Any] | None) -> KnownVectors:
    """Read the vectors; none if they differ in length."""
    rows = {str(uuid): row for uuid, row in entries_in(data).items() if isinstance(row, list) and row}
    if data is None or len({len(row) for row in rows.values()}) != 1:
        return KnownVectors()
    whole = {uuid: row for uuid, row in rows.items() if all(parse_number(value) is not None for value in row)}
    return KnownVectors(str(data.get("model") or ""), _instant(data.get("updated")), whole)


def reflections_in(page: bytes | None, zone: ZoneInfo) -> Reflections:
    """Read from the head of REFLECTION.md how often was reflected; a day counts from its beginning."""
    head = "" if page is None else page[:2_000].decode("utf-8", "replace")
    count, day = _REFLECTIONS.search(head), _REFLECTED.search(head)
    try:
        last = None if day is None else instant_in(day[1], zone)
    except ValueError:
        last = None
    return Reflections(0 if count is None else int(count[1]), last)


def settings_in(data: Mapping[str, Any] | None) -> tuple[dict[str, str], list[str]]:
    """Read the settings that are known here, by their names here, and say what was left out; a key is never read."""
    known: dict[str, str] = {}
    left: list[str] = []
    given = {} if data is None else data
    provider = given.get("embedding_provider")
    model = given.get(f"{provider}_model")
    if provider in ("ollama", "openai") and isinstance(model, str) and model:
        known["embed.models"] = f"{provider}:{model}"
    elif provider is not None:
        left.append(f"{CONFIG}: the embedding_provider {provider!r} has no model that is known here")
    if isinstance(given.get("auto_commit"), bool):
        known["graph.auto_commit"] = str(given["auto_commit"]).lower()
    projects = given.get("known_projects")
    if isinstance(projects, list) and all(isinstance(each, str) for each in projects):
        known["graph.known_projects"] = ",".join(projects)
    if given.get("openai_api_key"):
        advice = "set OPENAI_API_KEY and remove it from the file"
        left.append(f"{CONFIG} contains an API key, which was not imported: {advice}")
    return known, left


def credit_of(root: Path, path: str, identity: str) -> int:
    """Weigh what speaks for a file being the one that an id belongs to: the index 2, its own name 1, nothing 0."""
    if _paths_in_index(root, look_beside(root, INDEX)).get(identity) == path:
        return 2
    return name_credit(path, identity)


def name_credit(path: str, identity: str) -> int:
    """Weigh the name of a file alone: 1 if it ends in the beginning of the id, as the contract's names do."""
    suffix = PurePosixPath(path).stem.rpartition("-")[2].casefold()
    letters = identity.replace("-", "").casefold()
    return int(len(suffix) >= _SHORTEST_SUFFIX and letters.startswith(suffix))


@lru_cache(maxsize=4)
def _paths_in_index(root: Path, entry: FileEntry | None) -> Mapping[str, str]:
    """Read which file each id belongs to. Cached as long as the file has its time and size."""
    found = None if entry is None else read_beside(root, INDEX)
    data = None if found is None else found.data
    both = {**entries_in(data, "edges"), **entries_in(data)}
    paths = ((uuid, each.get("path")) for uuid, each in both.items() if isinstance(each, dict))
    return {uuid: path for uuid, path in paths if isinstance(path, str)}


def _instant(value: object) -> datetime | None:
    """Read a time; None if it is not one."""
    try:
        return instant_in(str(value))
    except ValueError:
        return None
