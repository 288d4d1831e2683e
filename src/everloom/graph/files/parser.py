"""Reads files from the disk and parses their fields as memories and edges.

Parsing is lenient as long as nothing is lost; anything that cannot be understood is reported with its line. Refuses to
change anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from everloom.errors import EverloomError, Rejected
from everloom.graph.files.disk import CONFLICT, Disk, FileEntry, digest
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile, load_fields, split_file
from everloom.graph.kinds import DEFAULT_STRENGTH, EDGES, KINDS, LISTS, MEMORIES, VAULT
from everloom.graph.results import Edge, FileProblem, Memory, Relation
from everloom.kernel.trust.origin import read_origin

_NOTHING = frozenset({"", "null", "~", "Null", "NULL"})
# A faulty writer may have quoted a list again at every write; nesting deeper than this is ignored.
_DEEPEST = 20
# The contract uses uuids, but a person may choose any id; the store indexes it, so its length is limited.
LONGEST_ID = 200
_LONGEST_TAG = 100
_MOST_TAGS = 50


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
        return ParsedFile(path, FileEntry(path, 0, 0), "", None)
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


def is_indexed(path: str) -> bool:
    """Check whether a file belongs in the index."""
    return path.endswith(".md") and path.startswith((f"{MEMORIES}/", f"{VAULT}/"))


def _parse(entry: FileEntry, data: bytes) -> tuple[MarkdownFile, Memory | Edge]:
    file = split_file(data)
    modified = datetime.fromtimestamp(entry.mtime_ns // 1_000_000_000, UTC)
    return file, (_parse_edge if is_edge(entry.path) else _parse_memory)(file, entry.path, modified)


def _parse_memory(file: MarkdownFile, path: str, modified: datetime) -> Memory:
    """Parse a memory; if it has no dates, the file's time is used."""
    fields = load_fields(file.yaml)
    kind = _text(file, fields, "type", needed=True).lower()
    if kind not in KINDS:
        raise UnreadableFile(f"there is no memory type {kind!r}", file.line_of("type"))
    created = _instant(file, fields, "created", modified)
    lists: dict[str, Any] = {name: parse_list(fields.get(name)) for name in ("tags", *LISTS)}
    # A file that a person writes by hand needs only a type, an id and a title; everything else has a default.
    return Memory(
        id=_identity(file, fields, "id"),
        type=kind,
        title=_text(file, fields, "title", needed=True),
        content=file.body.strip(),
        importance=_share(file, fields, "importance", 0.5),
        confidence=_share(file, fields, "confidence", 0.8),
        origin=_origin(fields.get("origin")),
        created=created,
        updated=_instant(file, fields, "updated", created),
        relations=_relations(file, fields),
        path=path,
        **lists,
    )


def _parse_edge(file: MarkdownFile, path: str, modified: datetime) -> Edge:
    """Parse an edge."""
    fields = load_fields(file.yaml)
    created = _instant(file, fields, "created", modified)
    return Edge(
        id=_identity(file, fields, "id"),
        type=_text(file, fields, "type", needed=True).upper(),
        from_id=_identity(file, fields, "from_id"),
        from_title=_text(file, fields, "from_title"),
        to_id=_identity(file, fields, "to_id"),
        to_title=_text(file, fields, "to_title"),
        strength=_share(file, fields, "strength", DEFAULT_STRENGTH),
        created=created,
        updated=_instant(file, fields, "updated", created),
        description=file.body.strip(),
        path=path,
    )


def _text(file: MarkdownFile, fields: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    """Read a text field, with runs of white space reduced to one space."""
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise UnreadableFile(f"{key} is not text", file.line_of(key))
    if needed and value.strip() in _NOTHING:
        raise UnreadableFile(f"{key} is missing", file.line_of(key))
    return " ".join(value.split())


def _identity(file: MarkdownFile, fields: Mapping[str, Any], key: str) -> str:
    """Read a field that holds the id of a memory or an edge."""
    value = _text(file, fields, key, needed=True)
    if len(value) > LONGEST_ID or not value.isprintable():
        raise UnreadableFile(f"{key} is not a valid id", file.line_of(key))
    return value


def _share(file: MarkdownFile, fields: Mapping[str, Any], key: str, default: float) -> float:
    """Read a field that holds a number from 0 to 1."""
    text = _text(file, fields, key)
    if text in _NOTHING:
        return default
    number = parse_number(text)
    if number is None or not 0.0 <= number <= 1.0:
        raise UnreadableFile(f"{key} is {text!r}, not a number from 0 to 1", file.line_of(key))
    return number


def parse_number(text: object) -> float | None:
    """Read a finite number; None if it is not one."""
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _instant(file: MarkdownFile, fields: Mapping[str, Any], key: str, default: datetime) -> datetime:
    """Read a field that holds a time; without an offset it is UTC."""
    text = _text(file, fields, key)
    if text in _NOTHING:
        return default
    try:
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UnreadableFile(f"{key} is {text!r}, not an ISO 8601 time", file.line_of(key)) from None


def parse_list(value: Any, depth: int = 0) -> tuple[str, ...]:
    """Read a list of texts, even if it was written as JSON in a string and quoted several times."""
    if value is None or depth > _DEEPEST:
        return ()
    if isinstance(value, str):
        return _unwrap(value.strip(), depth)
    if isinstance(value, Mapping):
        return ()
    found = [text for item in value for text in _parse_item(item, depth)]
    return tuple(dict.fromkeys(found))


def checked_tags(tags: object) -> tuple[str, ...]:
    """Check tags given as a list, a list written as JSON, or words separated by commas."""
    if tags is None or tags == "":
        return ()
    if not isinstance(tags, str | list | tuple):
        raise Rejected("tags must be a list of texts", hint='for example ["redis", "timeout"]')
    found = tuple(dict.fromkeys(" ".join(tag.split()) for tag in parse_list(tags)))
    if len(found) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in found):
        hint = f"give at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters"
        raise Rejected("there are too many tags, or one is too long", hint=hint)
    return found


def _parse_item(item: Any, depth: int) -> tuple[str, ...]:
    """Read one item of a list; only an item that is itself a list is split."""
    if isinstance(item, str) and not item.strip().startswith("["):
        return (item.strip(),) if item.strip() else ()
    return parse_list(item if isinstance(item, str | list | tuple) else str(item), depth + 1)


def _unwrap(text: str, depth: int) -> tuple[str, ...]:
    """Read a list from a string: as JSON, or separated by commas."""
    if text in _NOTHING:
        return ()
    # A writer that treats a list as text escapes its quotes again at every write: ["a"] becomes "[\"a\"]", and so on.
    # Each call undoes one level.
    for attempt in (text, text.replace('\\"', '"')):
        try:
            found = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) or (isinstance(found, str) and found != text):
            return parse_list(found, depth + 1)
    if text.startswith("["):
        text = text.strip("[]").replace("\\", "").replace('"', "")
    return tuple(dict.fromkeys(part for each in text.split(",") if (part := each.strip().strip("'\""))))


def _relations(file: MarkdownFile, fields: Mapping[str, Any]) -> tuple[Relation, ...]:
    """Parse the relations that a memory lists."""
    found = fields.get("relations")
    if found is None or (isinstance(found, str) and found.strip() in _NOTHING):
        return ()
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise UnreadableFile("relations is not a list of relations", file.line_of("relations"))
    return tuple(_relation(file, item) for item in found)


def _relation(file: MarkdownFile, item: Mapping[str, Any]) -> Relation:
    """Parse one relation of a memory."""
    target, kind = item.get("target"), item.get("type")
    direction = item.get("direction", "outgoing")
    if not isinstance(target, str) or not isinstance(kind, str) or direction not in ("outgoing", "incoming"):
        raise UnreadableFile("a relation needs target, type and direction", file.line_of("relations"))
    # An invalid strength or context is ignored here and stays in the file, because only changed fields are rewritten.
    strength = parse_number(item.get("strength"))
    share = strength if strength is not None and 0.0 <= strength <= 1.0 else None
    texts = {name: item[name] for name in ("context", "edge_id") if isinstance(item.get(name), str)}
    return Relation(target=target, type=kind.upper(), direction=direction, strength=share, **texts)


def _origin(written: object) -> str | None:
    """Read where a file says that its memory comes from; anything else under that key belongs to another program."""
    try:
        return str(read_origin(written)) if isinstance(written, str) else None
    except Rejected:
        return None
