"""Imports directories of the original program: files unchanged, with use, vectors and the number of reflections.

API keys in its configuration are neither stored nor copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from everloom.clock import to_micros
from everloom.errors import EverloomError, NotFound
from everloom.graph.files.beside import (
    CONFIG,
    EMBEDDINGS,
    INDEX,
    STATE,
    KnownVectors,
    Reflections,
    credit_of,
    entries_in,
    name_credit,
    read_beside,
    reflections_in,
    settings_in,
    states_in,
    vectors_in,
)
from everloom.graph.files.changeset import FilePlan, Put
from everloom.graph.files.disk import Disk, FileEntry, digest
from everloom.graph.files.parser import ParsedFile, is_generated, read_file
from everloom.graph.git.usage import read_record
from everloom.graph.index.adoption import Agrees, follow_directory, newest_text, raise_reflections, take_vectors
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.executor import execute, sole_writer
from everloom.graph.index.scan import files_of
from everloom.graph.kinds import ACCESS, EPISODES, REFLECTION
from everloom.graph.operations.edges import repair
from everloom.graph.operations.publishing import write_json
from everloom.graph.results import Edge, FileProblem, GraphOptions, Imported, Memory, Reindexed
from everloom.kernel.trust.origin import OriginKind
from everloom.kernel.trust.review import HELD, hold
from everloom.store import Row


@dataclass(slots=True)
class _Beside:
    """What the files beside the memories of a directory say."""

    states: dict[str, tuple[int, int]] = field(default_factory=dict)
    vectors: KnownVectors = field(default_factory=KnownVectors)
    newest_text: int = 0
    reflections: Reflections = field(default_factory=Reflections)
    indexed: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Copied:
    """What became of the files: those to write, and what was left out or cannot be used."""

    puts: tuple[Put, ...] = ()
    skipped: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()


def import_directory(graph: OpenGraph, source: Path) -> Imported:
    """Import every file that is not in the graph yet; a second import changes nothing."""
    if not source.is_dir():
        raise NotFound(f"there is no directory {source}", hint="give the directory that contains `graph/`")
    graph = replace(graph, op=graph.op.at_most(f"{OriginKind.IMPORT}:{source.name}"))
    given = {"graph": graph.name, "source": str(source.absolute())}
    if (waiting := hold(graph.op, "graph.import_directory", given, f"the directory {source}")) is not None:
        return Imported(graph=graph.name, directory=str(graph.disk.root), held=f"{waiting}: {HELD}")
    # The reason why the graph could not be made, before the consequence.
    graph.op.must_write()
    graph.disk.must_exist()
    beside, disk = _read_beside(graph, source), Disk(source)
    copied = _attach(graph) if os.path.samefile(source, graph.disk.root) else _copy(graph, disk, beside)
    # After the files, because a vector can only be stored for a memory that is in the index.
    vectors, trouble = take_vectors(graph, beside.vectors, _agreement(graph, disk, beside.newest_text))
    with graph.op.write("graph.import") as transaction:
        raise_reflections(graph, transaction, beside.reflections)
    with graph.op.read() as unit:
        here = {row["uuid"] for row in unit.all("graph.memory_all", graph=graph.id)}
        edges = unit.all("graph.edge_count", graph=graph.id)[0]["count"]
    lost = len(beside.indexed - here)
    missing = [f"{lost} memories in its index have no file"] if lost else []
    return Imported(
        graph=graph.name,
        directory=str(graph.disk.root),
        files=len(copied.puts),
        memories=len(here),
        edges=edges,
        states=len(here & beside.states.keys()),
        vectors=vectors,
        reflections=beside.reflections.count,
        settings=beside.settings,
        skipped=tuple({each.path: each for each in (*copied.skipped, *beside.problems)}.values()),
        notices=(*copied.notices, *beside.notices, *trouble, *missing),
    )


def reindex(graph: OpenGraph, *, as_json: bool = False) -> Reindexed:
    """Read every file again, complete one-sided relations, and optionally write the JSON files for other programs."""
    followed = follow_directory(graph, anew=True)
    repaired, dangling = repair(graph)
    written = write_json(graph) if as_json else ()
    with graph.op.read() as unit:
        memories = unit.all("graph.memory_count", graph=graph.id)[0]["count"]
        edges = unit.all("graph.edge_count", graph=graph.id)[0]["count"]
    mended = {"repaired": tuple(repaired), "dangling": tuple(dangling)}
    return Reindexed(followed=followed, memories=memories, edges=edges, **mended, written=written)


def _attach(graph: OpenGraph) -> _Copied:
    """Follow a directory that is the graph's own: its files are in their place, and what is broken is named."""
    return _Copied(skipped=follow_directory(graph).problems)


def _copy(graph: OpenGraph, source: Disk, beside: _Beside) -> _Copied:
    """Copy the files of another directory, in one operation and one commit."""
    with sole_writer(graph):
        copied = _changes(graph, source)
        detail = {"from": str(source.root), "files": len(copied.puts)}
        message = f"import: {len(copied.puts)} files from {source.root.name}"
        notices = execute(graph, FilePlan("import", message, copied.puts, detail, beside.states))
    return _Copied(copied.puts, copied.skipped, notices)


def _changes(graph: OpenGraph, source: Disk) -> _Copied:
    """Choose the files to write; second files of an id come last, so that it belongs to the others."""
    puts: list[Put] = []
    later: list[Put] = []
    skipped: list[FileProblem] = []
    with graph.op.read() as unit:
        known = (unit.all(statement, graph=graph.id) for statement in ("graph.memory_all", "graph.edge_all"))
        ids = {row["uuid"] for rows in known for row in rows}
    found = list(_files_of(source, graph.options))
    files = [each for each in found if isinstance(each, ParsedFile)]
    skipped += [each for each in found if isinstance(each, FileProblem)]
    skipped += [each.content for each in files if isinstance(each.content, FileProblem)]
    seconds = _seconds(source, files)
    skipped += [problem for problem, _ in seconds.values()]
    for each in files:
        path, (_, may_come) = each.path, seconds.get(each.path, (None, True))
        data, here = _readable(source, path), graph.disk.read(path)
        if data is None or here == data or not may_come:
            continue
        if here is not None:
            skipped.append(FileProblem(path, None, "a different file of this name exists; it was not changed"))
        elif isinstance(each.content, Memory | Edge) and each.content.id in ids:
            skipped.append(FileProblem(path, None, f"a memory or edge with the id {each.content.id} exists already"))
        else:
            (later if path in seconds else puts).append(Put.of(path, None, data))
    return _Copied((*puts, *later), tuple(skipped))


def _seconds(source: Disk, files: Sequence[ParsedFile]) -> dict[str, tuple[FileProblem, bool]]:
    """Find the files whose id belongs to another file of the directory, and say whether they may be copied as well."""
    # A note without an id gets one of its own once it is here.
    named = (each for each in files if isinstance(each.content, Memory | Edge) and each.content.id)
    contents = {each.path: each.content.id for each in named if isinstance(each.content, Memory | Edge)}
    owners: dict[str, str] = {}
    for path, identity in contents.items():
        other = owners.setdefault(identity, path)
        if credit_of(source.root, path, identity) > credit_of(source.root, other, identity):
            owners[identity] = path
    seconds = {}
    for path, identity in contents.items():
        if (owner := owners[identity]) != path:
            # Where the index of the directory is not, only names speak for files: this one must not take over there.
            may_come = name_credit(path, identity) <= name_credit(owner, identity)
            fate = "give it another id, or delete it" if may_come else "it was not copied"
            seconds[path] = FileProblem(path, None, f"its id is also used by {owner}: {fate}"), may_come
    return seconds


def _agreement(graph: OpenGraph, source: Disk, newest: int) -> Agrees:
    """Make the check whether a memory's file is that of a directory, and is no newer than its vector can be."""
    with graph.op.read() as unit:
        hashes = {row["path"]: row["hash"] for row in unit.all("graph.file_all", graph=graph.id)}

    def agrees(row: Row) -> bool:
        try:
            found = source.look(row["path"])
        except EverloomError:
            return False
        return found is not None and found[0].mtime_ns <= newest and digest(found[1]) == hashes.get(row["path"])

    return agrees


def _files_of(source: Disk, options: GraphOptions) -> Iterator[ParsedFile | FileProblem]:
    """Read the files to import: memories, edges, the vault and the diary. CORE.md and REFLECTION.md are generated."""
    for entry in files_of(source, options):
        yield read_file(source, entry.path) if isinstance(entry, FileEntry) else entry
    folder = source.root / EPISODES
    if folder.is_dir():
        for name in sorted(os.listdir(folder)):
            # Other notes in that folder are memories, and listed above. A page of the diary is not read as one.
            if is_generated(path := f"{EPISODES}/{name}") and not (folder / name).is_symlink():
                yield ParsedFile(path, FileEntry(path, 0, 0), "", None)


def _readable(source: Disk, path: str) -> bytes | None:
    """Read a file; None if it cannot be read, which has been reported already."""
    try:
        return source.read(path)
    except EverloomError:
        return None


def _read_beside(graph: OpenGraph, directory: Path) -> _Beside:
    """Read the files beside the memories; one that cannot be read is reported and skipped."""
    found = _Beside()
    read = {name: read_beside(directory, name) for name in (STATE, EMBEDDINGS, INDEX, CONFIG, REFLECTION)}
    data = {name: None if file is None else file.data for name, file in read.items()}
    found.problems += [file.problem for file in read.values() if file is not None and file.problem is not None]
    found.states = states_in(data[STATE])
    if graph.options.access == "git":
        _join_uses(graph, directory, found)
    found.vectors = vectors_in(data[EMBEDDINGS])
    if (vectors := read[EMBEDDINGS]) is not None:
        found.newest_text = newest_text(found.vectors, vectors.entry)
    page = read[REFLECTION]
    found.reflections = reflections_in(None if page is None else page.text, graph.op.zone)
    found.indexed = frozenset(entries_in(data[INDEX]))
    found.settings, notices = settings_in(data[CONFIG])
    found.notices += notices
    return found


def _join_uses(graph: OpenGraph, directory: Path, found: _Beside) -> None:
    """Add what the record of use says that travels with a directory; the higher count and the later time hold."""
    try:
        record = read_record(Disk(directory).read(ACCESS) or b"")
    except EverloomError as error:
        found.problems.append(FileProblem(ACCESS, None, error.message))
        return
    for uuid, use in record.uses.items():
        if use.last is not None:
            count, at = found.states.get(uuid, (0, 0))
            # A clock that is wrong elsewhere must not keep a memory from fading here.
            found.states[uuid] = (max(count, use.count), max(at, to_micros(min(use.last, graph.op.now))))
