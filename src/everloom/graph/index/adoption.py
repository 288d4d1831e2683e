"""Takes in what the original program keeps beside the memories of a graph, each time one of its files has changed.

However a directory is opened, it is followed, and that ends here: use is raised to what `_state.json` says, the number
of reflections to what REFLECTION.md says, and memories without a vector get the one that was made for them. All of it
only ever grows, so that taking it in twice is the same as once. The record of a file in the index says what was taken.
Refuses to know of other directories; `operations/importing.py` copies their files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from everloom.clock import from_micros, to_micros
from everloom.graph.files.beside import (
    BESIDE,
    CONFIG,
    EMBEDDINGS,
    INDEX,
    STATE,
    BesideFile,
    KnownVectors,
    Reflections,
    look_beside,
    read_beside,
    reflections_in,
    states_in,
    vectors_in,
)
from everloom.graph.files.disk import FileEntry, machine_micros
from everloom.graph.index.catalog import OpenGraph, problems
from everloom.graph.index.decay import RETIRED, States, is_archived, prepare_revival, restored_access, update_archive
from everloom.graph.index.scan import may_have_changed, scan
from everloom.graph.kinds import REFLECTION
from everloom.graph.results import Followed
from everloom.kernel.embedding import GENERAL, Made
from everloom.kernel.operation import Transaction
from everloom.secrets import logger_of
from everloom.store import Row
from everloom.store.contract import Value

log = logger_of(__name__)

# How many vectors are stored in one transaction, so that others can write in between.
_BATCH = 1_000
# A log line is read by people; `stats` names every file.
_MOST_NAMED = 20
# Says of a memory's row whether its text is the one that a vector was made from.
Agrees = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was taken in: for how many memories use was raised, and how many have the vector that was made for them."""

    states: int = 0
    vectors: int = 0


def follow_directory(graph: OpenGraph, *, anew: bool = False) -> Followed:
    """Update the index from the files, and take in what lies beside them; files that became unusable are logged."""
    with graph.op.read() as unit:
        before = {each.path for each in problems(graph, unit)}
    followed = scan(graph, anew=anew)
    # A memory that was not here when its use was read is found in the same files again.
    adopted = adopt(graph, anew=anew or bool(followed.added))
    with graph.op.read() as unit:
        known = problems(graph, unit)
    fresh = [each for each in known if each.path not in before]
    if fresh:
        named = "; ".join(f"{each.path}: {each.reason}" for each in fresh[:_MOST_NAMED])
        more = f"; and {len(fresh) - _MOST_NAMED} more" if len(fresh) > _MOST_NAMED else ""
        log.warning(
            "%d files of %s cannot be used and stay as they are (`everloom graph stats` lists them): %s%s",
            len(fresh),
            graph.disk.root,
            # Names of files may hold anything, and a log is read on terminals.
            "".join(sign if sign.isprintable() else "?" for sign in named),
            more,
        )
    taken = [f"the use of {adopted.states} memories was taken from {STATE}"] if adopted.states else []
    taken += [f"the vectors of {adopted.vectors} memories were taken from {EMBEDDINGS}"] if adopted.vectors else []
    return replace(followed, problems=known, notices=(*followed.notices, *taken))


def adopt(graph: OpenGraph, *, anew: bool = False) -> Adopted:
    """Take in what changed beside the memories since the last time, or all of it."""
    root = graph.disk.root
    with graph.op.read() as unit:
        known = {row["path"]: row for row in unit.all("graph.file_of", graph=graph.id, paths=sorted(BESIDE))}
    found = {}
    # Of the index and the settings, only whether they can be read; the index is asked where two files have one id.
    for name in (STATE, REFLECTION, INDEX, CONFIG):
        entry = look_beside(root, name)
        row = known.get(name)
        if entry is not None and (anew or row is None or may_have_changed(entry, row)):
            found[name] = read_beside(root, name)
    read = {name: file for name, file in found.items() if file is not None}
    gone = [name for name in known if look_beside(root, name) is None]
    raised = _take(graph, read, gone)
    return Adopted(raised, _adopt_vectors(graph, known.get(EMBEDDINGS), anew=anew))


def _take(graph: OpenGraph, read: Mapping[str, BesideFile], gone: Sequence[str]) -> int:
    """Write what the files say in one transaction with the record of them; returns for how many memories."""
    # What was read is recorded even if it says nothing new, so that it is not read again.
    if not read and not gone:
        return 0
    state, page = read.get(STATE), read.get(REFLECTION)
    raised = _raised(graph, states_in(state.data)) if state is not None else {}
    said = reflections_in(None if page is None else page.text, graph.op.zone)
    rows = [row for row, _ in raised.values()]
    states = {uuid: access for uuid, (_, access) in raised.items()}
    now = graph.op.now
    crossing = [
        row["id"] for row in rows if is_archived(row, now, restored_access(row, states)) != bool(row["archived"])
    ]
    ready = prepare_revival(graph, rows, states)
    with graph.op.write("graph.adopt") as transaction:
        unit = transaction.unit
        unit.many("graph.access_restore", [_restoring(row, access) for row, access in raised.values()])
        update_archive(unit, graph.op.index, crossing, transaction.at, ready)
        raise_reflections(graph, transaction, said)
        unit.many("graph.file_put", [record_of(graph.id, file) for file in read.values()])
        if gone:
            unit.send("graph.file_drop", graph=graph.id, paths=list(gone))
        if raised:
            transaction.event(graph=graph.id, states=len(raised))
    return len(raised)


def _raised(graph: OpenGraph, states: States) -> dict[str, tuple[Row, tuple[int, int]]]:
    """Find the memories that were used more, or later, than is known here."""
    if not states:
        return {}
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_strengths", graph=graph.id)
    known = ((row, restored_access(row, states)) for row in rows if row["uuid"] in states)
    return {
        row["uuid"]: (row, access)
        for row, access in known
        if access is not None and access != (row["count"], row["last_at"])
    }


def _restoring(row: Row, access: tuple[int, int]) -> dict[str, int]:
    return {"item": row["id"], "count": access[0], "at": access[1]}


def raise_reflections(graph: OpenGraph, transaction: Transaction, said: Reflections) -> None:
    """Let the number of reflections go on from what a directory says, if that is more than is known here."""
    row = transaction.unit.one("graph.graph_get", id=graph.id)
    if row is None or (said.count <= row["reflections"] and said.last is None):
        return
    last = max((at for at in (row["reflected_at"], said.last and to_micros(said.last)) if at), default=None)
    count = max(row["reflections"], said.count)
    if (count, last) != (row["reflections"], row["reflected_at"]):
        transaction.unit.send("graph.graph_reflections", id=graph.id, reflections=count, at=last)


def record_of(graph: int, file: BesideFile, mark: str | None = None) -> dict[str, Value]:
    """Describe a file beside the memories for the index."""
    problem = file.problem
    return {
        **asdict(file.entry),
        "graph": graph,
        "hash": file.hash if mark is None else mark,
        "checked_at": machine_micros(),
        "item": None,
        "problem": None if problem is None else problem.reason,
        "line": None if problem is None else problem.line,
    }


def _adopt_vectors(graph: OpenGraph, row: Row | None, *, anew: bool) -> int:
    """Take vectors in if some are missing; a large file is not parsed again until it or the preferred model changes."""
    preferred, root = graph.op.embedding.preferred, graph.disk.root
    entry = look_beside(root, EMBEDDINGS)
    if entry is None:
        return 0
    is_known = row is not None and row["hash"] == preferred and not may_have_changed(entry, row)
    with graph.op.read() as unit:
        waiting = graph.op.embedding.backlog(unit)
    if (is_known and not anew) or not (waiting.unembedded or waiting.by_others):
        return 0
    file = read_beside(root, EMBEDDINGS)
    if file is None:
        return 0
    with graph.op.read() as unit:
        times = {row["path"]: row["mtime_ns"] for row in unit.all("graph.file_all", graph=graph.id)}
    vectors = vectors_in(file.data)
    limit = newest_text(vectors, file.entry)
    taken, _ = take_vectors(graph, vectors, lambda row: times.get(row["path"], limit + 1) <= limit)
    with graph.op.write("graph.adopt") as transaction:
        transaction.unit.many("graph.file_put", [record_of(graph.id, file, preferred)])
    return taken


def newest_text(vectors: KnownVectors, entry: FileEntry) -> int:
    """Return the latest time, in nanoseconds, of a file from which one of these vectors can have been made."""
    made = 0 if vectors.made_at is None else to_micros(vectors.made_at) * 1000
    return max(made, entry.mtime_ns)


def take_vectors(graph: OpenGraph, vectors: KnownVectors, agrees: Agrees) -> tuple[int, list[str]]:
    """Store the vectors that the preferred embedder made from the texts as they are; returns how many, and why not."""
    if not vectors.rows:
        return 0, []
    traits = graph.op.embedding.chain.links[0]
    # Ollama adds ":latest" to a model without a tag; the two names mean the same model.
    name = traits.name.partition(":")[2].removesuffix(":latest")
    size = len(next(iter(vectors.rows.values())))
    if name != vectors.model.removesuffix(":latest") or traits.dim not in (None, size):
        return 0, [f"its vectors were made by {vectors.model or 'an unknown model'}; {traits.name} will make new ones"]
    with graph.op.read() as unit:
        known = {row["dim"] for row in unit.all("vectors.model_all") if row["name"] == traits.name}
        # What is archived is not searched by its vector until it is active again.
        rows = [row for row in unit.all("graph.memory_all", graph=graph.id) if row["archived"] != RETIRED]
    if known and size not in known:
        return 0, [
            f"its vectors have {size} dimensions, and those of {traits.name} have {max(known)}; new ones are made"
        ]
    made_at = vectors.made_at
    fit = [row for row in rows if row["uuid"] in vectors.rows and _is_older(row, made_at) and agrees(row)]
    for start in range(0, len(fit), _BATCH):
        _keep(graph, fit[start : start + _BATCH], vectors.rows, traits.name)
    later = sum(row["uuid"] in vectors.rows for row in rows) - len(fit)
    left = f"{later} vectors were left out, because their files changed after they were made; new ones will be made"
    return len(fit), [left] if later else []


def _is_older(row: Row, made_at: datetime | None) -> bool:
    return made_at is None or from_micros(row["updated"]) <= made_at


def _keep(graph: OpenGraph, rows: Sequence[Row], vectors: Mapping[str, list[float]], model: str) -> None:
    """Store the vectors of memories that have none of this model yet."""
    embedding = graph.op.embedding
    with graph.op.write("graph.adopt") as transaction:
        unit = transaction.unit
        held = embedding.held(unit, [row["id"] for row in rows])
        scaled = {row["id"]: _unit_length(vectors[row["uuid"]]) for row in rows if row["id"] not in held}
        lacking = {item: vector for item, vector in scaled.items() if vector is not None}
        if lacking:
            made = Made(model, {GENERAL: np.stack(list(lacking.values()))})
            embedding.make_whole(unit, list(lacking), made, transaction.at)


def _unit_length(row: Sequence[float]) -> npt.NDArray[np.float32] | None:
    """Scale a vector to length one; None if it has no length."""
    vector = np.asarray(row, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return vector / length if length and np.isfinite(length) else None
