"""Writes memories and edges as files: a new file from scratch, or an existing one with only the changed lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from everloom.clock import clamped
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile
from everloom.graph.files.lenient import load_any
from everloom.graph.files.notes import is_relations
from everloom.graph.files.rewriting import ORDER, FieldValue, field_text, rewrite
from everloom.graph.kinds import LISTS
from everloom.graph.results import Edge, Memory, Relation


def render_file(content: Memory | Edge) -> bytes:
    """Write a new file, with the fields in the contract's order."""
    fields = _fields(content)
    head = "".join(field_text(name, fields[name], "\n") for name in sorted(fields, key=ORDER.index))
    text = _text(content).strip()
    body = f"\n{text}\n" if text else ""
    return f"---\n{head}---\n{body}".encode()


def revise_file(file: MarkdownFile, old: Memory | Edge, new: Memory | Edge) -> bytes:
    """Change a file from `old` to `new`; everything that did not change keeps its bytes."""
    fields = _fields(new)
    changes = {name: text for name, text in fields.items() if getattr(old, name) != getattr(new, name)}
    known = load_any(file.yaml)[0]
    # A note that gets its id now gets nothing else that it did without: the disk knows when it was changed.
    if "id" in changes and "updated" not in known:
        changes.pop("updated", None)
    # The list of relations is one field. Keys in it that only other programs know are not part of a Relation, so they
    # are copied from the file.
    if "relations" in changes and isinstance(old, Memory) and isinstance(new, Memory):
        changes["relations"] = _revised_relations(known.get("relations"), old.relations, new.relations)
    whole = file.with_fences() if changes else file
    result = replace(whole, yaml=rewrite(whole.yaml, changes, whole.newline))
    before, after = _text(old).strip(), _text(new).strip()
    return (result if before == after else result.with_content(after, before)).data


def _text(content: Memory | Edge) -> str:
    return content.content if isinstance(content, Memory) else content.description


def _fields(content: Memory | Edge) -> dict[str, FieldValue | None]:
    """Convert a memory or an edge to fields; None for a field that is left out."""
    times = {"created": timestamp(content.created), "updated": timestamp(content.updated)}
    if isinstance(content, Edge):
        names = ("id", "type", "from_id", "from_title", "to_id", "to_title")
        return {**{name: getattr(content, name) for name in names}, "strength": _number(content.strength), **times}
    return {
        **{name: list(getattr(content, name)) or None for name in LISTS},
        **{name: getattr(content, name) for name in ("id", "type", "title")},
        "tags": list(content.tags),
        **{name: _number(getattr(content, name)) for name in ("importance", "confidence")},
        "origin": content.origin,
        **times,
        "relations": [relation_fields(each) for each in content.relations] or None,
    }


def relation_fields(relation: Relation) -> dict[str, str]:
    """Convert one relation of a memory to fields."""
    fields = {name: value for name, value in asdict(relation).items() if value is not None}
    return {name: _number(value) if name == "strength" else value for name, value in fields.items()}


def _revised_relations(raw: Any, old: Iterable[Relation], new: Iterable[Relation]) -> list[Mapping[str, str]] | None:
    """Write relations so that those that stay keep their unknown fields."""
    if raw and not is_relations(raw):
        raise UnreadableFile("relations holds something else than relations: rename that field first")
    rows = [{**row} for row in raw] if isinstance(raw, list) else []
    # Old relations are matched with the file's rows by position. Each new relation then takes the row of an equal one
    # or, failing that, of one with the same key, so that keys that only other programs know stay where they are.
    kept = list(zip(old, rows, strict=False))
    wanted: list[Mapping[str, str]] = []
    for relation in new:
        same = next((pair for pair in kept if pair[0] == relation), None)
        near = same or next((pair for pair in kept if pair[0].key == relation.key), None)
        if near is None:
            wanted.append(relation_fields(relation))
            continue
        kept.remove(near)
        known = set(relation_fields(near[0]))
        unknown = {name: text for name, text in near[1].items() if name not in known}
        wanted.append(near[1] if same else {**relation_fields(relation), **unknown})
    return wanted or None


def _number(value: float) -> str:
    """Write a number with at most four decimals."""
    return repr(round(float(value), 4))


def timestamp(instant: datetime) -> str:
    """Write a time in the contract's format."""
    return clamped(instant).isoformat(timespec="seconds")
