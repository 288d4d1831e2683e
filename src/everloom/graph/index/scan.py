"""Detects what people, editors and git changed in the files, and updates the index.

A file whose time and size are unchanged is not read, unless its time is so recent that a later write could have left it
the same. Refuses to know when to look: `watching` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from everloom.errors import Conflict
from everloom.graph.files.beside import BESIDE
from everloom.graph.files.disk import Disk, FileEntry, digest, machine_micros
from everloom.graph.files.parser import is_generated, is_indexed
from everloom.graph.index.catalog import OpenGraph, problems
from everloom.graph.index.executor import sole_writer
from everloom.graph.index.indexer import BATCH, follow_files
from everloom.graph.index.progress import report
from everloom.graph.index.sharing import adopt_use
from everloom.graph.kinds import MEMORIES
from everloom.graph.results import FileProblem, Followed, GraphOptions
from everloom.kernel.trust.origin import PERSON
from everloom.store import Row, Unit
from everloom.store.contract import Value

T = TypeVar("T")

# FAT, the coarsest file system in use, stores times in steps of two seconds: a second write within the same step leaves
# time and, often, size unchanged.
_YOUNG_MICROS = 2_000_000


@dataclass(frozen=True, slots=True)
class _Differences:
    """The differences between directory and index; `strays` are what cannot be followed."""

    suspects: tuple[FileEntry, ...]
    gone: tuple[str, ...]
    strays: tuple[FileProblem, ...]


def scan(graph: OpenGraph, *, anew: bool = False) -> Followed:
    """Update the index with every change since the last scan, in batches, so that others can write in between."""
    with sole_writer(graph):
        differences = _compare(graph, anew=anew)
    whole = _follow(graph, differences, anew=anew)
    _record(graph, differences.strays)
    adopt_use(graph, anew=bool(whole.added))
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


def scan_some(graph: OpenGraph, paths: Collection[str]) -> Followed:
    """Update the index with the changes of some files and folders; what it costs depends on them, and on no others."""
    disk, ignored, pages = graph.disk, graph.options.ignore, graph.options.pages
    disk.must_exist()
    walked = (path for path in dict.fromkeys(paths) if disk.is_walked(path, ignored))
    named = [path for path in walked if not is_generated(path, pages)]
    # A name that is not a memory's is that of a folder, or nothing to us.
    folders = [path for path in named if not is_indexed(path, pages) or (disk.root / path).is_dir()]
    with graph.op.read() as unit:
        # What is wrong with a file may be due to another one: a copy is read once its original is gone.
        troubled = (row["path"] for row in unit.all("graph.file_problems", graph=graph.id))
        broken = [path for path in troubled if is_indexed(path, pages)]
        files = [path for path in dict.fromkeys([*named, *broken]) if path not in folders]
        known = _rows_of(graph, unit, files)
        # A name that is neither known nor there may have been that of a folder.
        lost = [path for path in files if path not in known and not (disk.root / path).exists()]
        for folder in [*folders, *lost]:
            below = unit.all("graph.file_below", graph=graph.id, low=f"{folder}/", high=f"{folder}0")
            known |= {row["path"]: row for row in below}
    found = [entry for path in files if (entry := disk.entry(path, ignored)) is not None]
    found += [entry for folder in folders for entry in _memories(disk.below(folder, ignored), pages)]
    if any(isinstance(each, FileEntry) and disk.is_link(each.path) for each in found):
        # Another link elsewhere may lead to the same file, which is listed once.
        return scan(graph)
    differences = _differences(found, known)
    if differences.gone and not (disk.root / MEMORIES).is_dir():
        # A disk that is being unmounted, perhaps; the whole scan knows what to say of it.
        return scan(graph)
    return _follow(graph, differences)


def _compare(graph: OpenGraph, *, anew: bool) -> _Differences:
    """Find the files that may have changed since the last scan, or all of them."""
    root, entries = graph.disk.root, list(files_of(graph.disk, graph.options))
    with graph.op.read() as unit:
        # What lies beside the memories is no memory, and no scan meets it.
        stamps = unit.all("graph.file_stamps", graph=graph.id)
    known = {row["path"]: row for row in stamps if row["path"] not in BESIDE}
    # An unmounted disk looks like an empty directory; indexing that would remove every memory.
    if known and not entries and not (root / MEMORIES).is_dir():
        raise Conflict(
            f"{root} had {len(known)} files and now has no {MEMORIES} directory",
            hint=f"mount the disk again; if everything was removed on purpose, create an empty {MEMORIES} directory",
        )
    return _differences(entries, known, anew=anew)


def _differences(
    entries: Sequence[FileEntry | FileProblem], known: Mapping[str, Row], *, anew: bool = False
) -> _Differences:
    strays = tuple(entry for entry in entries if isinstance(entry, FileProblem))
    # Nothing is known about the files of a folder that could not be listed, so they are not gone.
    unseen = tuple("" if stray.path == "." else f"{stray.path}/" for stray in strays)
    odd = {stray.path for stray in strays}
    there = {entry.path: entry for entry in entries if isinstance(entry, FileEntry)}
    return _Differences(
        tuple(entry for path, entry in there.items() if anew or _is_suspect(entry, known.get(path))),
        tuple(path for path in known if path not in there and path not in odd and not path.startswith(unseen)),
        strays,
    )


def _follow(graph: OpenGraph, differences: _Differences, *, anew: bool = False) -> Followed:
    """Take in the differences, a batch in each transaction."""
    # Whoever changed these files did it by hand, or with a program that a person chose.
    graph = replace(graph, op=graph.op.with_origin(PERSON))
    whole, done = Followed(), 0
    suspects, gone = differences.suspects, differences.gone
    total = len(suspects) + len(gone)
    for batch in _batches(suspects):
        with sole_writer(graph):
            whole = _joined(whole, _take(graph, batch, anew=anew))
        report("indexing", done := done + len(batch), total)
    # Afterwards, so that a file that was moved is known by its new path when its old one is found to be gone.
    for paths in _batches(gone):
        with sole_writer(graph):
            whole = _joined(
                whole, follow_files(graph, paths, unread=[each for each in paths if _is_left_out(graph, each)])
            )
        report("indexing", done := done + len(paths), total)
    return whole


def _is_left_out(graph: OpenGraph, path: str) -> bool:
    """Check whether a file that was a memory may still be there and yet be none, because the settings say so now."""
    disk, ignored = graph.disk, graph.options.ignore
    return is_generated(path, graph.options.pages) or not disk.is_walked(path, ignored) or disk.is_alias(path, ignored)


def _batches(whole: Sequence[T]) -> Iterator[Sequence[T]]:
    return (whole[start : start + BATCH] for start in range(0, len(whole), BATCH))


def _rows_of(graph: OpenGraph, unit: Unit, paths: Iterable[str]) -> dict[str, Row]:
    return {row["path"]: row for row in unit.all("graph.file_of", graph=graph.id, paths=list(paths))}


def files_of(disk: Disk, options: GraphOptions) -> Iterator[FileEntry | FileProblem]:
    """List the files of memories and edges, without the pages that are generated and the diary."""
    return _memories(disk.walk(options.ignore), options.pages)


def _memories(entries: Iterable[FileEntry | FileProblem], pages: str) -> Iterator[FileEntry | FileProblem]:
    return (each for each in entries if isinstance(each, FileProblem) or not is_generated(each.path, pages))


def _is_suspect(entry: FileEntry, row: Row | None) -> bool:
    return row is None or row["problem"] is not None or may_have_changed(entry, row)


def may_have_changed(entry: FileEntry, row: Row) -> bool:
    """Say whether a file may have changed since it was recorded."""
    if (entry.mtime_ns, entry.size) != (row["mtime_ns"], row["size"]):
        return True
    return bool(entry.mtime_ns // 1000 >= row["checked_at"] - _YOUNG_MICROS)


def _take(graph: OpenGraph, suspects: Sequence[FileEntry], *, anew: bool) -> Followed:
    if anew:
        return follow_files(graph, [entry.path for entry in suspects])
    with graph.op.read() as unit:
        known = _rows_of(graph, unit, [entry.path for entry in suspects])
    # Compared again, now as the sole writer: whoever wrote since the first look has indexed those files already.
    paths = [entry.path for entry in suspects if _is_suspect(entry, known.get(entry.path))]
    # A checkout or a touch changes only times, so the bytes decide.
    changed = _really_changed(graph, paths, known)
    unchanged = Followed(read=len(paths) - len(changed))
    return _joined(follow_files(graph, changed), unchanged) if changed else unchanged


def _really_changed(graph: OpenGraph, paths: Sequence[str], known: Mapping[str, Row]) -> list[str]:
    """Read the files that are known; for those with unchanged bytes, only the times are updated."""
    same: dict[str, FileEntry] = {}
    for path in paths:
        row = known.get(path)
        found = graph.disk.look(path) if row is not None and row["problem"] is None else None
        if row is not None and found is not None and digest(found[1]) == row["hash"]:
            same[path] = found[0]
    if same:
        checked = {"graph": graph.id, "checked_at": machine_micros()}
        with graph.op.write("graph.follow") as transaction:
            transaction.unit.many("graph.file_touch", [{**checked, **asdict(entry)} for entry in same.values()])
    return [path for path in paths if path not in same]


def _joined(one: Followed, other: Followed) -> Followed:
    """Add up the counts of two reports; the caller reads the problems once at the end."""
    names = ("read", "added", "changed", "removed")
    return Followed(**{name: getattr(one, name) + getattr(other, name) for name in names})
