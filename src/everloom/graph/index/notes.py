"""What the index knows about notes that people wrote for themselves: their ids, names and links.

A note without an id is known by one that is made from its path; it keeps it when the file is renamed with the same
bytes, and gets it written when the file is first changed here. Refuses to know where a link leads: `links.py` does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from everloom.graph.files.disk import Disk
from everloom.graph.files.mentions import link_target, name_key
from everloom.graph.files.parser import ParsedFile
from everloom.graph.kinds import path_id
from everloom.graph.results import Memory
from everloom.kernel.forgetting.tombstones import recognised
from everloom.store import Row, Unit

# Longer than any file name; the key of a long title would only fill the index.
_LONGEST_KEY = 300


def file_key(kind: str, uuid: str) -> str:
    """Make the key by which a forgotten file is recognised when it comes back."""
    return f"{kind} {uuid}"


def identified(unit: Unit, graph: int, files: Sequence[ParsedFile], disk: Disk) -> list[ParsedFile]:
    """Give each note without an id the one by which it is known, or one that is made from its path."""
    bare = [each for each in files if isinstance(each.content, Memory) and not each.content.id]
    if not bare:
        return list(files)
    chooser = _IdChooser(unit, graph, files, bare, disk)
    given = {each.path: chooser.id_for(each) for each in bare}
    return [
        replace(each, content=replace(each.content, id=given[each.path]))
        if each.path in given and isinstance(each.content, Memory)
        else each
        for each in files
    ]


@dataclass(slots=True)
class _Place:
    """Where a known id is: the path of its memory, and whether the file there is gone."""

    path: str
    is_gone: bool


class _IdChooser:
    """Chooses the ids of a batch of notes, each id once."""

    def __init__(
        self, unit: Unit, graph: int, files: Sequence[ParsedFile], bare: Sequence[ParsedFile], disk: Disk
    ) -> None:
        self._unit, self._graph, self._disk = unit, graph, disk
        self._taken = {each.content.id for each in files if isinstance(each.content, Memory) and each.content.id}
        paths = [each.path for each in bare]
        rows = unit.all("graph.file_of", graph=graph, paths=paths)
        former = {row["path"]: row["item_id"] for row in rows if row["item_id"] is not None}
        known = {row["id"]: row for row in unit.all("graph.memory_of", ids=list(former.values()))}
        self._here: Mapping[str, str] = {
            path: known[item]["uuid"] for path, item in former.items() if item in known and known[item]["path"] == path
        }
        self._alike: dict[str, list[Row]] = {}
        hashes = sorted({each.hash for each in bare})
        for row in unit.all("graph.note_by_hash", graph=graph, hashes=hashes):
            self._alike.setdefault(row["hash"], []).append(row)
        made = [path_id(path) for path in paths]
        self._places = {
            row["uuid"]: _Place(row["path"], row["gone_at"] is not None)
            for row in unit.all("graph.memory_by_uuid", graph=graph, uuids=made)
        }
        self._forgotten = recognised(unit, [file_key("memory", uuid) for uuid in made])

    def id_for(self, file: ParsedFile) -> str:
        """Choose the id of one note: the one it has here, that of the file it was renamed from, or a new one."""
        known = self._here.get(file.path)
        if known is None or known in self._taken:
            known = self._moved_from(file) or self._made(file)
        self._taken.add(known)
        return known

    def _moved_from(self, file: ParsedFile) -> str | None:
        # Many notes are empty; that two of them are alike says nothing.
        if not isinstance(file.content, Memory) or not file.content.content:
            return None
        for row in self._alike.get(file.hash, ()):
            if row["uuid"] not in self._taken and (row["gone_at"] is not None or not self._disk.exists(row["path"])):
                return str(row["uuid"])
        return None

    def _made(self, file: ParsedFile) -> str:
        first = path_id(file.path)
        place = self._places.get(first)
        is_free = place is None or place.is_gone or place.path == file.path or not self._disk.exists(place.path)
        # The id of something forgotten must not come back with another text.
        if is_free and first not in self._taken and file_key("memory", first) not in self._forgotten:
            return first
        salted = path_id(file.path, f"\n{file.hash}")
        return salted if salted not in self._taken else path_id(file.path, f"\n{file.hash}\n{len(self._taken)}")


def write_notes(
    unit: Unit, graph: int, memories: Sequence[Memory], items: Mapping[str, int], hashes: Mapping[str, str]
) -> None:
    """Record what was assumed about memories, by which names links find them, and the links in their texts."""
    ids = [items[each.path] for each in memories]
    unit.send("graph.note_drop", ids=ids)
    drop_mentions(unit, ids)
    unit.many("graph.note_put", [_note(graph, each, items, hashes) for each in memories if each.assumed])
    unit.many(
        "graph.name_add",
        [
            {"memory": items[each.path], "graph": graph, "key": key, "rank": rank}
            for each in memories
            for key, rank in _names(each).items()
        ],
    )
    unit.many(
        "graph.link_add",
        [
            {"memory": items[each.path], "graph": graph, "position": place, "key": link_key(link), "link": link}
            for each in memories
            for place, link in enumerate(each.links)
        ],
    )


def drop_mentions(unit: Unit, ids: Collection[int]) -> None:
    """Remove the names and links of memories."""
    unit.send("graph.name_drop", ids=list(ids))
    unit.send("graph.link_drop", ids=list(ids))


def link_key(link: str) -> str:
    """Return the key of the note that a link names."""
    return name_key(link_target(link))[:_LONGEST_KEY]


def _note(graph: int, memory: Memory, items: Mapping[str, int], hashes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "memory": items[memory.path],
        "graph": graph,
        "hash": hashes[memory.path],
        "has_id": int(memory.has_own_id),
        "assumed": json.dumps([[each.field, each.reason] for each in memory.assumed], ensure_ascii=False),
    }


def _names(memory: Memory) -> dict[str, int]:
    """List the names of a memory, each with its rank; the first that has a name keeps it."""
    given = [(PurePosixPath(memory.path).stem, 0), (memory.title, 1), *((alias, 2) for alias in memory.aliases)]
    found: dict[str, int] = {}
    for name, rank in given:
        if key := name_key(name)[:_LONGEST_KEY]:
            found.setdefault(key, rank)
    return found
