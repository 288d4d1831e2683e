"""Which version of a memory or an edge a caller has seen, and whether it may change it.

A version is a hash of what the update verbs can change, so that a new relation does not make it another. Whoever
replaces a text or a list names the version, or has seen it as it is now; numbers, types and titles may also be set
unseen, unless they were seen and have changed since.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from everloom.errors import Conflict
from everloom.graph.files.changeset import FileChange, Put
from everloom.graph.files.frontmatter import UnreadableFile
from everloom.graph.files.parser import parse_bytes
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.kinds import LISTS
from everloom.graph.results import Edge, Memory

ContentT = TypeVar("ContentT", Memory, Edge)

_MEMORY = ("type", "title", "content", "tags", "importance", "confidence", *LISTS)
_EDGE = ("type", "strength", "description")
# What people add to, and what another's addition would be lost from.
_TEXTS = frozenset({"content", "tags", "description", *LISTS})
# 48 bits: two versions of one file that are alike by chance would take millions of changes.
_LENGTH = 12


def version_of(content: Memory | Edge) -> str:
    """Return the version of a memory or an edge."""
    return _hash(sorted(_state_of(content).items()))


def with_version(graph: OpenGraph, content: ContentT) -> ContentT:
    """Return what a caller is shown, with its version, and record that the caller has seen it."""
    saw(graph, content)
    return replace(content, version=version_of(content))


def version_planned(graph: OpenGraph, content: Memory | Edge, changes: Iterable[FileChange]) -> str:
    """Return the version that a memory or an edge will have once these changes are made; only a receipt needs it."""
    if graph.once.key is None:
        return ""
    # Read as `version_after` will read it, because the file may say the same in other words.
    for change in changes:
        if isinstance(change, Put) and change.path == content.path and change.data is not None:
            try:
                return version_of(parse_bytes(change.path, change.data))
            except UnreadableFile:
                return ""
    return version_of(content)


def version_after(graph: OpenGraph, content: Memory | Edge, known: Iterable[str] | None = None) -> str:
    """Return the version of what was just written; the caller knows these fields of it now, by default all."""
    # Read again: the file may say the same in other words, such as a list without its duplicates.
    try:
        written = graph.changeset().read(content.path, type(content))
    except UnreadableFile:
        return ""
    saw(graph, written, known)
    return version_of(written)


def saw(graph: OpenGraph, content: Memory | Edge, names: Iterable[str] | None = None) -> None:
    """Record that the caller knows a memory or an edge as it is now, or only some of its fields."""
    kind, state = _kind_of(graph, content), _state_of(content)
    if names is not None:
        state = {**(graph.op.seen_of(kind, content.id) or {}), **{name: state[name] for name in names}}
    graph.op.saw(kind, content.id, state)


def seen_fields(graph: OpenGraph, content: Memory | Edge, names: Iterable[str]) -> list[str]:
    """List those of the fields that the caller knows as they are now."""
    seen, state = graph.op.seen_of(_kind_of(graph, content), content.id) or {}, _state_of(content)
    return [name for name in names if seen.get(name) == state[name] or not getattr(content, name)]


def check_version(graph: OpenGraph, current: Memory | Edge, changed: Iterable[str], expected: str | None) -> None:
    """Refuse a change over what the caller has not seen; Conflict names the current version."""
    version = version_of(current)
    if expected is not None:
        if expected != version:
            hint = "read it again before you change it"
            raise Conflict(f"{_name(current)} is at version {version}, not {expected}", hint=hint, current=version)
        return
    seen, state = graph.op.seen_of(_kind_of(graph, current), current.id) or {}, _state_of(current)
    for name in changed:
        if name not in seen and name in _TEXTS and getattr(current, name):
            told = f"you have not read the {name} of {_name(current)}, which is at version {version}"
        elif name in seen and seen[name] != state[name]:
            told = f"the {name} of {_name(current)} has changed since you read it; it is at version {version}"
        else:
            continue
        hint = f"read it and change it again, pass expected_version {version}, or append"
        raise Conflict(told, hint=hint, current=version)


def _name(content: Memory | Edge) -> str:
    return repr(content.title) if isinstance(content, Memory) else f"the edge {content.id[:8]}"


def _kind_of(graph: OpenGraph, content: Memory | Edge) -> str:
    return f"{'memory' if isinstance(content, Memory) else 'edge'} of graph {graph.id}"


def _state_of(content: Memory | Edge) -> Mapping[str, str]:
    names = _MEMORY if isinstance(content, Memory) else _EDGE
    return {name: _hash(getattr(content, name)) for name in names}


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:_LENGTH]
