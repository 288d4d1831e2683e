"""Bringing an existing directory in: its files as they are, its accesses, its vectors if the model is the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from everloom.errors import EverloomError, NotFound
from everloom.graph.files.disk import Disk, Entry
from everloom.graph.files.plan import Change, Plan, Put
from everloom.graph.files.reader import look
from everloom.graph.kinds import EPISODES
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.legacy import Remains, remains_of
from everloom.graph.results import Edge, Imported, Memory, Problem
from everloom.kernel.embedding import GENERAL, Embedding, Made


class Importing:
    """Imports into one graph."""

    def __init__(self, desk: Desk, embedding: Embedding, name: str) -> None:
        self._desk = desk
        self._embedding = embedding
        self._name = name

    def take(self, source: Path) -> Imported:
        """Bring in everything that is not here yet; doing it again changes nothing."""
        if not source.is_dir():
            raise NotFound(f"there is no directory {source}", hint="name the directory that holds `graph/`")
        desk = self._desk
        remains = remains_of(source)
        with desk.turn():
            changes, skipped = self._changes(Disk(source))
            detail = {"from": str(source), "files": len(changes)}
            message = f"import: {len(changes)} files from {source.name}"
            notices = desk.carrier.carry(Plan("import", message, tuple(changes), detail, remains.states))
        vectors, said = self._vectors(remains)
        return self._report(
            changes, [*skipped, *remains.problems], remains, vectors, [*notices, *remains.notices, *said]
        )

    def _changes(self, source: Disk) -> tuple[list[Change], list[Problem]]:
        if source.root == self._desk.disk.root:
            return [], []
        ids = self._ids()
        changes: list[Change] = []
        skipped: list[Problem] = []
        for path in files_of(source):
            if isinstance(path, Problem):
                skipped.append(path)
                continue
            content = look(source, path).content
            if isinstance(content, Problem) and path.startswith(f"{EPISODES}/"):
                content = None
            elif isinstance(content, Problem):
                skipped.append(content)
            data, held = readable(source, path), self._desk.disk.read(path)
            if data is None or held == data:
                continue
            if held is not None:
                skipped.append(Problem(path, None, "another file has this name here already; it was left as it is"))
            elif isinstance(content, Memory | Edge) and content.id in ids:
                skipped.append(Problem(path, None, f"its id {content.id} is here already"))
            else:
                changes.append(Put.of(path, None, data))
        return changes, skipped

    def _ids(self) -> set[str]:
        desk = self._desk
        with desk.ground.store.read(desk.ground.workspace) as unit:
            rows = [*desk.catalog.rows(unit), *desk.catalog.edges(unit)]
        return {row["uuid"] for row in rows}

    def _vectors(self, remains: Remains) -> tuple[int, list[str]]:
        """Take vectors over when the preferred embedder is the one that made them; vectors of two models never mix."""
        traits = self._embedding.chain.links[0]
        name = traits.name.partition(":")[2].removesuffix(":latest")
        if not remains.vectors:
            return 0, []
        size = len(next(iter(remains.vectors.values())))
        if name != remains.model.removesuffix(":latest") or traits.dim not in (None, size):
            return 0, [f"its vectors were made by {remains.model or 'an unknown model'}: {traits.name} makes them anew"]
        desk = self._desk
        with desk.ground.store.write(desk.ground.workspace) as unit:
            rows = unit.all("graph.memory_by_uuid", graph=desk.ground.graph, uuids=list(remains.vectors))
            fit = {row["id"]: row["uuid"] for row in rows if row["gone_at"] is None and not row["archived"]}
            if fit:
                matrix = np.stack([unit_length(remains.vectors[uuid]) for uuid in fit.values()])
                self._embedding.make_whole(unit, list(fit), Made(traits.name, {GENERAL: matrix}), desk.now)
        return len(fit), []

    def _report(
        self, changes: Sequence[Change], skipped: list[Problem], remains: Remains, vectors: int, notices: list[str]
    ) -> Imported:
        desk = self._desk
        with desk.ground.store.read(desk.ground.workspace) as unit:
            rows = desk.catalog.rows(unit)
            edges = len(desk.catalog.edges(unit))
        here = {row["uuid"] for row in rows}
        lost = remains.indexed - here
        if lost:
            notices.append(f"{len(lost)} memories of its index have no file")
        return Imported(
            graph=self._name,
            directory=str(desk.disk.root),
            files=len(changes),
            memories=len(rows),
            edges=edges,
            states=len(here & remains.states.keys()),
            vectors=vectors,
            skipped=tuple(dict.fromkeys(skipped)),
            notices=tuple(notices),
        )


def files_of(source: Disk) -> Iterator[str | Problem]:
    """List what is worth taking: memories, edges, the vault and the diary. CORE and REFLECTION are made anew."""
    for entry in source.walk():
        yield entry.path if isinstance(entry, Entry) else entry
    folder = source.root / EPISODES
    if folder.is_dir():
        for name in sorted(os.listdir(folder)):
            if name.endswith(".md") and not (folder / name).is_symlink():
                yield f"{EPISODES}/{name}"


def readable(source: Disk, path: str) -> bytes | None:
    """Read a file, unless something is wrong with it, which was told already."""
    try:
        return source.read(path)
    except EverloomError:
        return None


def unit_length(row: Sequence[float]) -> npt.NDArray[np.float32]:
    """Scale a vector to length one."""
    vector = np.asarray(row, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
