"""What the fields of a file mean: memories and edges read from front matter and written back into it.

Reading is lenient where nothing is lost by it; what cannot be understood is told with its line. Pure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from everloom.graph.files.fields import loaded
from everloom.graph.files.frontmatter import Sheet, Unreadable
from everloom.graph.files.rewriting import ORDER, Value, field_text, rewritten
from everloom.graph.kinds import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, DEFAULT_STRENGTH, KINDS
from everloom.graph.results import Edge, Memory, Relation

NOTHING = frozenset({"", "null", "~", "Null", "NULL"})
LISTS = ("steps", "preconditions", "postconditions")
DEEPEST = 20
LONGEST_ID = 200


def read_memory(sheet: Sheet, path: str, modified: datetime) -> Memory:
    """Read a memory; without dates of its own it has the file's."""
    fields = loaded(sheet.yaml)
    kind = text_of(sheet, fields, "type", needed=True).lower()
    if kind not in KINDS:
        raise Unreadable(f"there is no memory type {kind!r}", sheet.line_of("type"))
    created = instant_of(sheet, fields, "created", modified)
    return Memory(
        id=identity_of(sheet, fields, "id"),
        type=kind,
        title=text_of(sheet, fields, "title", needed=True),
        content=sheet.body.strip(),
        tags=texts(fields.get("tags")),
        importance=share_of(sheet, fields, "importance", DEFAULT_IMPORTANCE),
        confidence=share_of(sheet, fields, "confidence", DEFAULT_CONFIDENCE),
        created=created,
        updated=instant_of(sheet, fields, "updated", created),
        relations=relations_of(sheet, fields),
        path=path,
        steps=texts(fields.get("steps")),
        preconditions=texts(fields.get("preconditions")),
        postconditions=texts(fields.get("postconditions")),
    )


def read_edge(sheet: Sheet, path: str, modified: datetime) -> Edge:
    """Read an edge."""
    fields = loaded(sheet.yaml)
    created = instant_of(sheet, fields, "created", modified)
    return Edge(
        id=identity_of(sheet, fields, "id"),
        type=text_of(sheet, fields, "type", needed=True).upper(),
        from_id=identity_of(sheet, fields, "from_id"),
        from_title=text_of(sheet, fields, "from_title"),
        to_id=identity_of(sheet, fields, "to_id"),
        to_title=text_of(sheet, fields, "to_title"),
        strength=share_of(sheet, fields, "strength", DEFAULT_STRENGTH),
        created=created,
        updated=instant_of(sheet, fields, "updated", created),
        description=sheet.body.strip(),
        path=path,
    )


def text_of(sheet: Sheet, fields: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    """Read a field that is a text."""
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise Unreadable(f"{key} is not a text", sheet.line_of(key))
    if needed and value.strip() in NOTHING:
        raise Unreadable(f"{key} is missing", sheet.line_of(key))
    return " ".join(value.split())


def identity_of(sheet: Sheet, fields: Mapping[str, Any], key: str) -> str:
    """Read a field that names a memory or an edge."""
    value = text_of(sheet, fields, key, needed=True)
    if len(value) > LONGEST_ID or not value.isprintable():
        raise Unreadable(f"{key} cannot be an id", sheet.line_of(key))
    return value


def share_of(sheet: Sheet, fields: Mapping[str, Any], key: str, default: float) -> float:
    """Read a field that is a number from 0 to 1."""
    text = text_of(sheet, fields, key)
    if text in NOTHING:
        return default
    number = number_in(text)
    if number is None or not 0.0 <= number <= 1.0:
        raise Unreadable(f"{key} is {text!r}, not a number from 0 to 1", sheet.line_of(key))
    return number


def number_in(text: object) -> float | None:
    """Read a number; None when it is none."""
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def instant_of(sheet: Sheet, fields: Mapping[str, Any], key: str, default: datetime) -> datetime:
    """Read a field that is a time; one without an offset is UTC."""
    text = text_of(sheet, fields, key)
    if text in NOTHING:
        return default
    try:
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable(f"{key} is {text!r}, not an ISO 8601 time", sheet.line_of(key)) from None


def texts(value: Any, depth: int = 0) -> tuple[str, ...]:
    """Read a list of texts, also one that was written as JSON in a string, however often it was quoted."""
    if value is None or depth > DEEPEST:
        return ()
    if isinstance(value, str):
        return unwrapped(value.strip(), depth)
    if isinstance(value, Mapping):
        return ()
    found = [text for item in value for text in texts_in(item, depth)]
    return tuple(dict.fromkeys(found))


def texts_in(item: Any, depth: int) -> tuple[str, ...]:
    """Read one item of a list; only what is a list again is taken apart."""
    if isinstance(item, str) and not item.strip().startswith("["):
        return (item.strip(),) if item.strip() else ()
    return texts(item if isinstance(item, str | list | tuple) else str(item), depth + 1)


def unwrapped(text: str, depth: int) -> tuple[str, ...]:
    """Read a list out of a string: as JSON, or parted by commas."""
    if text in NOTHING:
        return ()
    # What some writer escaped again at every turn is read as often as it was written.
    for attempt in (text, text.replace('\\"', '"')):
        try:
            found = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            return texts(found, depth + 1)
        if isinstance(found, str) and found != text:
            return texts(found, depth + 1)
    if text.startswith("["):
        text = text.strip("[]").replace("\\", "").replace('"', "")
    return tuple(dict.fromkeys(part for each in text.split(",") if (part := each.strip().strip("'\""))))


def relations_of(sheet: Sheet, fields: Mapping[str, Any]) -> tuple[Relation, ...]:
    """Read a memory's sides of its relations."""
    found = fields.get("relations")
    if found is None or (isinstance(found, str) and found.strip() in NOTHING):
        return ()
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise Unreadable("relations is not a list of relations", sheet.line_of("relations"))
    return tuple(relation_of(sheet, item) for item in found)


def relation_of(sheet: Sheet, item: Mapping[str, Any]) -> Relation:
    """Read one side of a relation."""
    target, kind = item.get("target"), item.get("type")
    direction = item.get("direction", "outgoing")
    if not isinstance(target, str) or not isinstance(kind, str) or direction not in ("outgoing", "incoming"):
        raise Unreadable("a relation needs target, type and direction", sheet.line_of("relations"))
    strength = number_in(item.get("strength"))
    return Relation(
        target=target,
        type=kind.upper(),
        direction=direction,
        strength=strength if strength is not None and 0.0 <= strength <= 1.0 else None,
        context=item.get("context") if isinstance(item.get("context"), str) else None,
        edge_id=item.get("edge_id") if isinstance(item.get("edge_id"), str) else None,
    )


def written_memory(memory: Memory) -> bytes:
    """Write a new memory's file."""
    return fresh(memory_fields(memory), memory.content)


def written_edge(edge: Edge) -> bytes:
    """Write a new edge's file."""
    return fresh(edge_fields(edge), edge.description)


def fresh(fields: Mapping[str, Value | None], content: str) -> bytes:
    """Write a file from nothing, in the order of the contract."""
    ordered = sorted(fields, key=ORDER.index)
    head = "".join(field_text(name, fields[name], "\n") for name in ordered)
    body = f"\n{content.strip()}\n" if content.strip() else ""
    return f"---\n{head}---\n{body}".encode()


def memory_fields(memory: Memory) -> dict[str, Value | None]:
    """Write a memory as fields; None where a field has nothing to say."""
    return {
        "id": memory.id,
        "type": memory.type,
        "title": memory.title,
        "tags": list(memory.tags),
        "importance": number(memory.importance),
        "confidence": number(memory.confidence),
        "created": timestamp(memory.created),
        "updated": timestamp(memory.updated),
        "relations": [relation_fields(each) for each in memory.relations] or None,
        **{name: list(getattr(memory, name)) or None for name in LISTS},
    }


def edge_fields(edge: Edge) -> dict[str, Value | None]:
    """Write an edge as fields."""
    return {
        "id": edge.id,
        "type": edge.type,
        "from_id": edge.from_id,
        "from_title": edge.from_title,
        "to_id": edge.to_id,
        "to_title": edge.to_title,
        "strength": number(edge.strength),
        "created": timestamp(edge.created),
        "updated": timestamp(edge.updated),
    }


def relation_fields(relation: Relation) -> dict[str, str]:
    """Write one side of a relation."""
    fields = {
        "target": relation.target,
        "type": relation.type,
        "direction": relation.direction,
        "strength": None if relation.strength is None else number(relation.strength),
        "context": relation.context,
        "edge_id": relation.edge_id,
    }
    return {name: text for name, text in fields.items() if text is not None}


def revised(sheet: Sheet, old: Memory, new: Memory) -> Sheet:
    """Change a memory's file to say what `new` says; what did not change keeps its bytes."""
    names = [*LISTS, "type", "title", "tags", "importance", "confidence", "created", "updated"]
    fields = memory_fields(new)
    changes = {name: fields[name] for name in names if getattr(old, name) != getattr(new, name)}
    if old.relations != new.relations:
        changes["relations"] = mended_relations(loaded(sheet.yaml).get("relations"), old.relations, new.relations)
    return changed(sheet, changes, old.content, new.content)


def mended_relations(raw: Any, old: Iterable[Relation], new: Iterable[Relation]) -> list[Mapping[str, str]] | None:
    """Write relations so that those which stay keep even what we do not know of them."""
    rows = [{**row} for row in raw] if isinstance(raw, list) else []
    kept = list(zip(old, rows, strict=False))
    wanted: list[Mapping[str, str]] = []
    for relation in new:
        same = next((pair for pair in kept if pair[0] == relation), None)
        near = same or next((pair for pair in kept if is_same_side(pair[0], relation)), None)
        if near is None:
            wanted.append(relation_fields(relation))
            continue
        kept.remove(near)
        known = set(relation_fields(near[0]))
        unknown = {name: text for name, text in near[1].items() if name not in known}
        wanted.append(near[1] if same else {**relation_fields(relation), **unknown})
    return wanted or None


def is_same_side(one: Relation, other: Relation) -> bool:
    """Say whether two entries are about the same relation."""
    return (one.target, one.type, one.direction) == (other.target, other.type, other.direction)


def revised_edge(sheet: Sheet, old: Edge, new: Edge) -> Sheet:
    """Change an edge's file to say what `new` says."""
    fields = edge_fields(new)
    changes = {name: fields[name] for name in fields if getattr(old, name) != getattr(new, name)}
    return changed(sheet, changes, old.description, new.description)


def changed(sheet: Sheet, changes: Mapping[str, Value | None], old_content: str, new_content: str) -> Sheet:
    """Change fields and, if it is another one, the body."""
    result = sheet.with_yaml(rewritten(sheet.yaml, changes, sheet.newline))
    return result if new_content.strip() == old_content.strip() else result.with_content(new_content)


def number(value: float) -> str:
    """Write a number without spare digits."""
    return repr(round(float(value), 4))


def timestamp(instant: datetime) -> str:
    """Write a time as the contract does."""
    return instant.astimezone(UTC).isoformat(timespec="seconds")


def touched(memory: Memory, now: datetime, **changes: Any) -> Memory:
    """Change a memory and say when."""
    return replace(memory, **changes, updated=now.replace(microsecond=0))
