"""Following what people, editors and git do to the files: a look at names, times and sizes, then only at what changed.

A file whose time and size are as they were is not read. A time so young that a later write could have left it the same
does not count as known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from everloom.errors import Conflict
from everloom.graph.files.disk import Entry, digest, machine_micros
from everloom.graph.index.catalog import Catalog, Ground
from everloom.graph.kinds import MEMORIES
from everloom.graph.operations.executor import BATCH, Carrier
from everloom.graph.results import Followed, Problem
from everloom.store import Row
from everloom.store.contract import Value

# The coarsest clock of a file system in use (FAT).
YOUNG_MICROS = 2_000_000


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between the directory and the index."""

    suspects: tuple[str, ...]
    gone: tuple[str, ...]
    strays: tuple[Problem, ...]


def compare(entries: Sequence[Entry | Problem], rows: Sequence[Row]) -> Differences:
    """Find the files that may have changed since they were last looked at."""
    known = {row["path"]: row for row in rows}
    there = {entry.path: entry for entry in entries if isinstance(entry, Entry)}
    strays = tuple(entry for entry in entries if isinstance(entry, Problem))
    suspects = tuple(path for path, entry in there.items() if is_suspect(entry, known.get(path)))
    gone = tuple(path for path in known if path not in there)
    return Differences(suspects, gone, strays)


def is_suspect(entry: Entry, row: Row | None) -> bool:
    """Say whether a file must be looked at again."""
    if row is None or row["problem"] is not None:
        return True
    if (entry.mtime_ns, entry.size) != (row["mtime_ns"], row["size"]):
        return True
    return bool(entry.mtime_ns // 1000 >= row["checked_at"] - YOUNG_MICROS)


class Scanner:
    """What keeps the index of one graph true to its directory."""

    def __init__(self, ground: Ground, catalog: Catalog, carrier: Carrier) -> None:
        self._ground = ground
        self._catalog = catalog
        self._carrier = carrier

    def scan(self, *, anew: bool = False, progress: Callable[[int], None] = lambda _: None) -> Followed:
        """Follow every change since the last scan, some files a turn, so that others can write in between."""
        whole = Followed()
        offered: set[str] = set()
        while True:
            with self._carrier.turn():
                differences = self._differences()
                suspects = [path for path in self._candidates(differences, anew) if path not in offered][:BATCH]
                part = self._take(suspects, differences.gone, anew=anew)
            offered.update(suspects)
            progress(len(suspects))
            whole = joined(whole, part)
            if len(suspects) < BATCH:
                with self._ground.store.read(self._ground.workspace) as unit:
                    problems = self._catalog.problems(unit)
                return joined(whole, Followed(), problems + differences.strays)

    def _differences(self) -> Differences:
        ground = self._ground
        entries = list(ground.disk.walk())
        with ground.store.read(ground.workspace) as unit:
            rows = unit.all("graph.file_all", graph=ground.graph)
        if rows and not entries and not (ground.disk.root / MEMORIES).is_dir():
            raise Conflict(
                f"{ground.disk.root} held {len(rows)} files and has no {MEMORIES} directory now",
                hint="mount it again; if all was removed on purpose, make an empty one",
            )
        return compare(entries, rows)

    def _candidates(self, differences: Differences, anew: bool) -> Sequence[str]:
        if not anew:
            return differences.suspects
        return [entry.path for entry in self._ground.disk.walk() if isinstance(entry, Entry)]

    def _take(self, suspects: Sequence[str], gone: Sequence[str], *, anew: bool) -> Followed:
        changed = suspects if anew else self._really_changed(suspects)
        if not changed and not gone:
            return Followed(read=len(suspects))
        part = self._catalog.follow([*gone, *changed])
        return joined(part, Followed(read=len(suspects) - len(changed)))

    def _really_changed(self, suspects: Sequence[str]) -> list[str]:
        """Read the suspects; those whose bytes are the same only get their new times."""
        ground = self._ground
        with ground.store.read(ground.workspace) as unit:
            rows = {row["path"]: row for row in unit.all("graph.file_of", graph=ground.graph, paths=list(suspects))}
        same: list[Entry] = []
        for path in suspects:
            row = rows.get(path)
            if row is not None and row["problem"] is None:
                found = ground.disk.look(path)
                if found is not None and digest(found[1]) == row["hash"]:
                    same.append(found[0])
        if same:
            with ground.store.write(ground.workspace) as unit:
                unit.many("graph.file_touch", [touched(ground.graph, entry) for entry in same])
        kept = {entry.path for entry in same}
        return [path for path in suspects if path not in kept]


def touched(graph: int, entry: Entry) -> dict[str, Value]:
    """Write a file's new times."""
    return {
        "graph": graph,
        "path": entry.path,
        "mtime_ns": entry.mtime_ns,
        "size": entry.size,
        "checked_at": machine_micros(),
    }


def joined(one: Followed, other: Followed, problems: tuple[Problem, ...] | None = None) -> Followed:
    """Add up two reports; the problems are those of the last look."""
    return Followed(
        read=one.read + other.read,
        added=one.added + other.added,
        changed=one.changed + other.changed,
        removed=one.removed + other.removed,
        problems=problems if problems is not None else (),
    )
