"""Reads files from the disk and parses their fields as memories and edges.

A memory is read leniently (`notes.py`), an edge strictly; what cannot be understood at all is reported with its line.
Refuses to change anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from everloom.clock import from_seconds, instant_in
from everloom.errors import EverloomError, Rejected
from everloom.graph.files.disk import CONFLICT, Disk, FileEntry, digest
from everloom.graph.files.fields import NOTHING, field_text, parse_list, parse_number
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile, load_fields, split_file
from everloom.graph.files.lenient import load_any, looks_like_fields
from everloom.graph.files.mentions import mentions_in
from everloom.graph.files.notes import NoteReader
from everloom.graph.kinds import CORE, DEFAULT_STRENGTH, EDGES, EPISODES, LISTS, MEMORIES, REFLECTION, VAULT
from everloom.graph.results import Edge, FileProblem, Memory, Relation
from everloom.kernel.trust.origin import read_origin

# The contract uses uuids, but a person may choose any id; the store indexes it, so its length is limited.
LONGEST_ID = 200
_DIARY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md")


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file as it was read; `content` is None if the file does not exist."""

    path: str
    entry: FileEntry
    hash: str
    content: Memory | Edge | FileProblem | None


def read_file(disk: Disk, path: str) -> ParsedFile:
    """Read and parse a file; a problem with it is returned as its content."""
    try:
        found = disk.look(path)
    except EverloomError as error:
        return ParsedFile(path, FileEntry(path, 0, 0), "", FileProblem(path, None, error.message))
    if found is None:
        return no_file(path)
    entry, data = found
    content: Memory | Edge | FileProblem
    if CONFLICT in PurePosixPath(path).name:
        content = FileProblem(path, None, "two changes conflicted: compare this copy with the original, then remove it")
    else:
        try:
            content = _parse(entry, data)[1]
        except UnreadableFile as error:
            content = FileProblem(path, error.line, error.reason)
    return ParsedFile(path, entry, digest(data) or "", content)


def no_file(path: str) -> ParsedFile:
    """Describe a file that does not exist, or that does not count."""
    return ParsedFile(path, FileEntry(path, 0, 0), "", None)


def open_file(disk: Disk, path: str) -> tuple[bytes, MarkdownFile, Memory | Edge]:
    """Read a file that is about to be changed; fail if it is missing or unreadable."""
    found = disk.look(path)
    if found is None:
        raise UnreadableFile(f"{path} no longer exists")
    entry, data = found
    try:
        return data, *_parse(entry, data)
    except UnreadableFile as error:
        raise UnreadableFile(f"{path}: {error.reason}", error.line) from None


def parse_bytes(path: str, data: bytes) -> Memory | Edge:
    """Parse what is about to be written to a file."""
    return _parse(FileEntry(path, len(data), 0), data)[1]


def is_edge(path: str) -> bool:
    """Check whether a path belongs to an edge."""
    return path.startswith(f"{EDGES}/")


def in_vault(path: str) -> bool:
    """Check whether a file is in the vault, where nothing decays."""
    return path.startswith(f"{VAULT}/")


def in_graph(path: str) -> bool:
    """Check whether a file is in one of the graph's own folders for types."""
    return path.startswith(f"{MEMORIES}/")


def is_indexed(path: str, pages: str = "") -> bool:
    """Check whether a file belongs in the index: every markdown file, except what is generated and the diary.

    `pages` is the folder of the generated pages.
    """
    parts = path.split("/")
    if not path.endswith(".md") or any(part.startswith(".") for part in parts):
        return False
    return not is_generated(path, pages)


def is_generated(path: str, pages: str = "") -> bool:
    """Check whether a file is a page that is written anew, or a day of the diary."""
    folder, _, name = path.rpartition("/")
    if name in (CORE, REFLECTION):
        return folder in ("", pages)
    return folder == EPISODES and _DIARY.fullmatch(name) is not None


def _parse(entry: FileEntry, data: bytes) -> tuple[MarkdownFile, Memory | Edge]:
    # An edge is nobody's note: it has the graph's own format, or is a mistake.
    file = split_file(data) if is_edge(entry.path) else split_file(data, looks_like_fields=looks_like_fields)
    modified = from_seconds(entry.mtime_ns // 1_000_000_000)
    return file, (_parse_edge if is_edge(entry.path) else _parse_memory)(file, entry.path, modified)


def _parse_memory(file: MarkdownFile, path: str, modified: datetime) -> Memory:
    """Parse a memory; whatever a file leaves out has a default, and its id is empty if it has none."""
    fields, assumed = load_any(file.yaml)
    note = NoteReader(file, path, fields, assumed)
    seen = mentions_in(f"{file.yaml}\n{file.body}" if "[[" in file.yaml else file.body)
    lists: dict[str, Any] = {name: parse_list(fields.get(name)) for name in LISTS}
    content, identity = file.body.strip(), note.identity()
    created = note.instant(("created", "date"), modified, from_name=True)
    return Memory(
        id=identity,
        type=note.type(),
        title=note.title(),
        content=content,
        tags=note.tags(),
        aliases=note.aliases(),
        body_tags=mentions_in(content).tags if "[[" in file.yaml else seen.tags,
        links=seen.links,
        importance=note.share("importance", 0.5),
        confidence=note.share("confidence", 0.8),
        origin=_origin(fields.get("origin")),
        created=created,
        # The contract's files say when they were changed; of a note that nobody else keeps, the disk knows it.
        updated=note.instant(("updated", "modified"), created if identity else modified),
        relations=tuple(_relation(item) for item in note.relations()),
        path=path,
        assumed=note.assumed,
        **lists,
    )


def _parse_edge(file: MarkdownFile, path: str, modified: datetime) -> Edge:
    """Parse an edge."""
    fields = load_fields(file.yaml)
    created = _instant(file, fields, "created", modified)
    return Edge(
        id=_identity(file, fields, "id"),
        type=field_text(file, fields, "type", needed=True).upper(),
        from_id=_identity(file, fields, "from_id"),
        from_title=field_text(file, fields, "from_title"),
        to_id=_identity(file, fields, "to_id"),
        to_title=field_text(file, fields, "to_title"),
        strength=_share(file, fields, "strength", DEFAULT_STRENGTH),
        created=created,
        updated=_instant(file, fields, "updated", created),
        description=file.body.strip(),
        path=path,
    )


def _identity(file: MarkdownFile, fields: Mapping[str, Any], key: str) -> str:
    """Read a field that holds the id of a memory or an edge."""
    value = field_text(file, fields, key, needed=True)
    if len(value) > LONGEST_ID or not value.isprintable():
        raise UnreadableFile(f"{key} is not a valid id", file.line_of(key))
    return value


def _share(file: MarkdownFile, fields: Mapping[str, Any], key: str, default: float) -> float:
    """Read a field that holds a number from 0 to 1."""
    text = field_text(file, fields, key)
    if text in NOTHING:
        return default
    number = parse_number(text)
    if number is None or not 0.0 <= number <= 1.0:
        raise UnreadableFile(f"{key} is {text!r}, not a number from 0 to 1", file.line_of(key))
    return number


def _instant(file: MarkdownFile, fields: Mapping[str, Any], key: str, default: datetime) -> datetime:
    """Read a field that holds a time; without an offset it is UTC."""
    text = field_text(file, fields, key)
    if text in NOTHING:
        return default
    try:
        return instant_in(text)
    except ValueError:
        raise UnreadableFile(f"{key} is {text!r}, not an ISO 8601 time", file.line_of(key)) from None


def _relation(item: Mapping[str, Any]) -> Relation:
    """Parse one relation of a memory."""
    # An invalid strength or context is ignored here and stays in the file, because only changed fields are rewritten.
    strength = parse_number(item.get("strength"))
    share = strength if strength is not None and 0.0 <= strength <= 1.0 else None
    texts = {name: item[name] for name in ("context", "edge_id") if isinstance(item.get(name), str)}
    way = item.get("direction", "outgoing")
    return Relation(target=item["target"], type=item["type"].upper(), direction=way, strength=share, **texts)


def _origin(written: object) -> str | None:
    """Read where a file says that its memory comes from; anything else under that key belongs to another program."""
    try:
        return str(read_origin(written)) if isinstance(written, str) else None
    except Rejected:
        return None
