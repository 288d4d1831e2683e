"""Detects what people, editors and git changed in the files, and updates the index.

A file whose time and size are unchanged is not read, unless its time is so recent that a later write could have left it
the same. Refuses to know when to look: `watching` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from everloom.errors import Conflict
from everloom.graph.files.beside import BESIDE
from everloom.graph.files.disk import FileEntry, digest, machine_micros
from everloom.graph.index.catalog import OpenGraph, problems
from everloom.graph.index.executor import sole_writer
from everloom.graph.index.indexer import BATCH, follow_files
from everloom.graph.kinds import MEMORIES
from everloom.graph.results import FileProblem, Followed
from everloom.kernel.trust.origin import PERSON
from everloom.secrets import logger_of
from everloom.store import Row
from everloom.store.contract import Value

log = logger_of(__name__)

# FAT, the coarsest file system in use, stores times in steps of two seconds: a second write within the same step leaves
# time and, often, size unchanged.
_YOUNG_MICROS = 2_000_000


@dataclass(frozen=True, slots=True)
class _Differences:
    """The differences between directory and index; `strays` are what cannot be followed."""

    there: tuple[str, ...]
    suspects: tuple[str, ...]
    gone: tuple[str, ...]
    strays: tuple[FileProblem, ...]


def scan(graph: OpenGraph, *, anew: bool = False, progress: Callable[[int], None] = lambda _: None) -> Followed:
    """Update the index with every change since the last scan, in batches, so that others can write in between."""
    # Whoever changed these files did it by hand, or with a program that a person chose.
    graph = graph.told_by(PERSON)
    whole = Followed()
    offered: set[str] = set()
    while True:
        # Compare again in each round: somebody who wrote in between has already indexed those files. `offered` ensures
        # an end, even if a file changes faster than it is read.
        with sole_writer(graph):
            differences = _compare(graph)
            candidates = differences.there if anew else differences.suspects
            suspects = [path for path in candidates if path not in offered][:BATCH]
            part = _take(graph, suspects, differences.gone, anew=anew)
        offered.update(suspects)
        progress(len(suspects))
        whole = _joined(whole, part)
        if len(suspects) < BATCH:
            _record(graph, differences.strays)
            with graph.op.read() as unit:
                return replace(whole, problems=problems(graph, unit))


def _record(graph: OpenGraph, strays: Sequence[FileProblem]) -> None:
    """Record what cannot be followed like a file that cannot be read, so that whoever asks later hears of it."""
    with graph.op.read() as unit:
        rows = unit.all("graph.file_of", graph=graph.id, paths=[stray.path for stray in strays])
    known = {row["path"]: row["problem"] for row in rows}
    # The memory that such a file held stays as it was last known.
    items = {row["path"]: row["item_id"] for row in rows}
    fresh = [stray for stray in strays if known.get(stray.path) != stray.reason]
    if not fresh:
        return
    blank: dict[str, Value] = {
        "graph": graph.id,
        "mtime_ns": 0,
        "size": 0,
        "hash": "",
        "checked_at": machine_micros(),
        "line": None,
    }
    with graph.op.write("graph.follow") as transaction:
        transaction.unit.many(
            "graph.file_put",
            [{**blank, "path": each.path, "problem": each.reason, "item": items.get(each.path)} for each in fresh],
        )


def _compare(graph: OpenGraph) -> _Differences:
    """Find the files that may have changed since the last scan."""
    root, entries = graph.disk.root, list(graph.disk.walk())
    with graph.op.read() as unit:
        rows = unit.all("graph.file_all", graph=graph.id)
    # What lies beside the memories is no memory, and no scan meets it.
    rows = [row for row in rows if row["path"] not in BESIDE]
    # An unmounted disk looks like an empty directory; indexing that would remove every memory.
    if rows and not entries and not (root / MEMORIES).is_dir():
        raise Conflict(
            f"{root} had {len(rows)} files and now has no {MEMORIES} directory",
            hint=f"mount the disk again; if everything was removed on purpose, create an empty {MEMORIES} directory",
        )
    known = {row["path"]: row for row in rows}
    strays = tuple(entry for entry in entries if isinstance(entry, FileProblem))
    # Nothing is known about the files of a folder that could not be listed, so they are not gone.
    unseen = tuple(f"{stray.path}/" for stray in strays)
    odd = {stray.path for stray in strays}
    there = {entry.path: entry for entry in entries if isinstance(entry, FileEntry)}
    return _Differences(
        tuple(there),
        tuple(path for path, entry in there.items() if _is_suspect(entry, known.get(path))),
        tuple(path for path in known if path not in there and path not in odd and not path.startswith(unseen)),
        strays,
    )


def _is_suspect(entry: FileEntry, row: Row | None) -> bool:
    return row is None or row["problem"] is not None or may_have_changed(entry, row)


def may_have_changed(entry: FileEntry, row: Row) -> bool:
    """Say whether a file may have changed since it was recorded."""
    if (entry.mtime_ns, entry.size) != (row["mtime_ns"], row["size"]):
        return True
    return bool(entry.mtime_ns // 1000 >= row["checked_at"] - _YOUNG_MICROS)


def _take(graph: OpenGraph, suspects: Sequence[str], gone: Sequence[str], *, anew: bool) -> Followed:
    # A checkout or a touch changes only times, so the bytes decide.
    changed = suspects if anew else _really_changed(graph, suspects)
    if not changed and not gone:
        return Followed(read=len(suspects))
    part = follow_files(graph, [*gone, *changed])
    return _joined(part, Followed(read=len(suspects) - len(changed)))


def _really_changed(graph: OpenGraph, suspects: Sequence[str]) -> Sequence[str]:
    """Read the suspects; for those with unchanged bytes, only the times are updated."""
    with graph.op.read() as unit:
        rows = unit.all("graph.file_of", graph=graph.id, paths=list(suspects))
    same: dict[str, FileEntry] = {}
    for row in rows:
        found = graph.disk.look(row["path"]) if row["problem"] is None else None
        if found is not None and digest(found[1]) == row["hash"]:
            same[row["path"]] = found[0]
    if same:
        checked = {"graph": graph.id, "checked_at": machine_micros()}
        with graph.op.write("graph.follow") as transaction:
            transaction.unit.many("graph.file_touch", [{**checked, **asdict(entry)} for entry in same.values()])
    return [path for path in suspects if path not in same]


def _joined(one: Followed, other: Followed) -> Followed:
    """Add up the counts of two reports; the caller reads the problems once at the end."""
    names = ("read", "added", "changed", "removed")
    return Followed(**{name: getattr(one, name) + getattr(other, name) for name in names})
