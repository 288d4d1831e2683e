"""Merges a file that two clones changed: git runs this module for the files of a graph (`clones.py` registers it).

Memories and edges are merged line by line if that works, and otherwise field by field: relations and tags of both sides
stay, numbers are those of the later change. Diaries get the entries of both, records of use are joined, and of two
generated pages the newer stays, until the next daily round writes it anew. What two people wrote differently into one
text is a conflict, marked as git does it; nothing of either is lost. Reads three files, and writes one of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from everloom.errors import EverloomError
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile, split_file
from everloom.graph.files.lenient import load_any, looks_like_fields
from everloom.graph.files.parser import is_edge, is_generated, is_indexed, parse_bytes
from everloom.graph.files.render import revise_file
from everloom.graph.files.rewriting import ORDER
from everloom.graph.git.repository import merge_lines
from everloom.graph.git.usage import join_records, read_record, write_record
from everloom.graph.kinds import ACCESS, CORE, EPISODES, LISTS, REFLECTION
from everloom.graph.results import Edge, Memory, Relation

# The status of a merge that a person has to complete; Python itself ends with 1 or 2 if something is wrong.
CONFLICT = 3
_ENTRY = re.compile(r"^## ", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\s)#.*", re.MULTILINE)
_TIMED = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
# Only the settings know the folder of the pages; elsewhere a note of somebody's may have such a name.
_GENERATED = re.compile(rb"# [A-Za-z ]+ \(auto-generated\)")
_DATED = re.compile(rb"^> Last updated: *([0-9-]+)", re.MULTILINE)
# Of these the later change counts; the titles are only copied from the memories.
_LATER = frozenset({"importance", "confidence", "strength", "from_title", "to_title"})
_TIMES = ("created", "updated")
_MEMORY = ("id", "type", "title", "tags", "importance", "confidence", "origin", *LISTS, "relations", *_TIMES, "content")
_EDGE = ("id", "type", "from_id", "to_id", "strength", "from_title", "to_title", *_TIMES, "description")
_RELATION = frozenset({"target", "type", "direction", "strength", "context", "edge_id"})


class _Unmergeable(Exception):
    """Two changes that only a person can bring together."""


@dataclass(frozen=True, slots=True)
class _Version:
    """One of the three versions of a memory or an edge."""

    file: MarkdownFile
    says: Memory | Edge


def main(arguments: Sequence[str]) -> int:
    """Merge the files that git names, into ours; returns 0, or `CONFLICT` if conflicts are left in it."""
    base, ours, theirs = (Path(each) for each in arguments[:3])
    marker, path = int(arguments[3]), arguments[4]
    known = [each.read_bytes() for each in (base, ours, theirs)]
    merged, is_clean = join(path, *known), True
    if merged is None:
        merged, is_clean = merge_lines(ours, base, theirs, marker)
        if is_indexed(path) and not (is_clean and _is_readable(path, merged)):
            by_fields = join_fields(path, *known)
            merged, is_clean = (merged, is_clean) if by_fields is None else (by_fields, True)
    ours.write_bytes(merged)
    return 0 if is_clean else CONFLICT


def _is_readable(path: str, data: bytes) -> bool:
    try:
        parse_bytes(path, data)
    except UnreadableFile:
        return False
    return True


def join(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge a page, a record of use or a page of the diary; None for any other file."""
    if path.rpartition("/")[2] in (CORE, REFLECTION) and all(_GENERATED.match(page) for page in (ours, theirs)):
        return max(ours, theirs, key=lambda page: (_date_of(page), page))
    if path == ACCESS:
        return write_record(join_records([read_record(ours), read_record(theirs)]))
    if path.startswith(f"{EPISODES}/") and is_generated(path):
        return _join_diary(base, ours, theirs)
    return None


def _date_of(page: bytes) -> bytes:
    found = _DATED.search(page)
    return b"" if found is None else found[1]


def _join_diary(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Put the entries of both into one page, in order of time; None if somebody changed what was there before."""
    try:
        before, mine, other = (_ENTRY.split(each.decode()) for each in (base, ours, theirs))
    except UnicodeDecodeError:
        return None
    known, here, there = ({entry.strip(): None for entry in part[1:]} for part in (before, mine, other))
    heads = {part[0].strip() for part in (before, mine, other)} - {""}
    if not known.keys() <= here.keys() & there.keys() or len(heads) > 1:
        return None
    entries = [*{**here, **there}]
    if all(_TIMED.match(entry) for entry in entries):
        entries.sort(key=lambda entry: entry[:5])
    head = next(iter(heads), "")
    return ((f"{head}\n\n" if head else "") + "\n".join(f"## {entry}\n" for entry in entries)).encode()


def join_fields(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge a memory or an edge field by field; None if that would lose something of either side."""
    try:
        versions = [
            _Version(split_file(data, looks_like_fields=looks_like_fields), parse_bytes(path, data))
            for data in (base, ours, theirs)
        ]
        _refuse_unknown_changes(versions)
        merged = _merged(*(each.says for each in versions))
        data = revise_file(versions[1].file, versions[1].says, merged)
        # Read again before it counts: what is written must say what was meant.
        again = parse_bytes(path, data)
        return data if all(getattr(again, name) == getattr(merged, name) for name in _names(path)) else None
    except (UnreadableFile, _Unmergeable, EverloomError):
        return None


def _refuse_unknown_changes(versions: Sequence[_Version]) -> None:
    """Refuse a merge in which theirs changed something that is not part of a memory: ours would silently win."""
    # A file that is new on both sides, or whose fields one of them took away, is for a person to look at.
    if not versions[0].file.data.strip() or not all(each.file.yaml.strip() for each in versions[1:]):
        raise _Unmergeable
    if _COMMENT.findall(versions[0].file.yaml) != _COMMENT.findall(versions[2].file.yaml):
        raise _Unmergeable
    base, _, theirs = (load_any(each.file.yaml)[0] for each in versions)
    names = (base.keys() | theirs.keys()) - set(ORDER)
    if any(base.get(name) != theirs.get(name) for name in names):
        raise _Unmergeable
    sides = theirs.get("relations")
    if isinstance(sides, list) and any(isinstance(side, dict) and side.keys() - _RELATION for side in sides):
        raise _Unmergeable


def _names(path: str) -> tuple[str, ...]:
    return _EDGE if is_edge(path) else _MEMORY


def _merged(base: Any, ours: Any, theirs: Any) -> Memory | Edge:
    # A note has no id until one of the clones first changes it.
    known = {each.id for each in (base, ours, theirs)} - {""}
    if len(known) > 1:
        raise _Unmergeable
    later = max(ours, theirs, key=lambda each: each.updated)
    changes: dict[str, Any] = {
        name: _field(name, (getattr(base, name), getattr(ours, name), getattr(theirs, name)), getattr(later, name))
        for name in _names(ours.path)
        if name != "id"
    }
    whole: Memory | Edge = replace(ours, id=next(iter(known), ""), **changes)
    return whole


def _field(name: str, values: tuple[Any, Any, Any], later: Any) -> Any:
    """Merge one field; `later` is the value of the side that was changed last."""
    base, ours, theirs = values
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if name in _LATER:
        return later
    if name not in _JOINED:
        raise _Unmergeable
    return _JOINED[name](base, ours, theirs)


def _join_tags(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    gone = {tag for tag in base if tag not in ours or tag not in theirs}
    return tuple(tag for tag in dict.fromkeys([*ours, *theirs]) if tag not in gone)


def _join_relations(base: Sequence[Relation], ours: Sequence[Relation], theirs: Sequence[Relation]) -> Any:
    """Keep the relations that either side added or changed, and drop those that one side removed."""
    # By its edge, because either may have changed its type; one written by hand has none.
    before, mine, other = ({side.edge_id or side.key: side for side in sides} for sides in (base, ours, theirs))
    kept: dict[object, Relation] = {}
    for identity in dict.fromkeys([*mine, *other]):
        one, two, old = mine.get(identity), other.get(identity), before.get(identity)
        side = _join_side(old, one, two) if one and two else one or two
        if side is not None and (side != old or (one and two)):
            # Both may have related the same two memories; one side says it for both edges.
            kept.setdefault(side.key, side)
    return tuple(kept.values())


def _join_side(base: Relation | None, ours: Relation, theirs: Relation) -> Relation:
    """Merge one relation that both have; what only theirs changed is theirs."""
    if base is None:
        return ours
    names = ("type", "strength", "context")
    return replace(
        ours, **{name: getattr(theirs, name) for name in names if getattr(ours, name) == getattr(base, name)}
    )


def _join_bodies(base: str, ours: str, theirs: str) -> str:
    """Merge two texts line by line."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for file, text in zip(files, (ours, base, theirs), strict=True):
            file.write_text(f"{text}\n", encoding="utf-8", newline="")
        data, is_clean = merge_lines(files[0], files[1], files[2], 7)
    if not is_clean:
        raise _Unmergeable
    return data.decode().strip()


_JOINED: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "created": lambda _, ours, theirs: min(ours, theirs),
    "updated": lambda _, ours, theirs: max(ours, theirs),
    "tags": _join_tags,
    "relations": _join_relations,
    "content": _join_bodies,
    "description": _join_bodies,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
