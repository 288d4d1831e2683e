"""Carrying out a plan on files and index so that a crash at any moment leaves the state before or the state after.

The order is the protocol. New contents are staged beside the files. The intent is committed in the store: until then
nothing happened, from then on whoever opens the graph next ends what was begun. Files take their places, one rename
each. Index and journal follow in one transaction, which also ends the intent or leaves only git to do. Then git. Every
step can be repeated, for a dead process may have done it already. Somebody else's change in between is never
overwritten: both versions are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.graph.files.changeset import Append, Drop, FileChange, FilePlan, Put, plan_from
from everloom.graph.files.disk import HIDDEN, Disk, conflict_name, digest
from everloom.graph.files.parser import is_indexed
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import Revivable, prepare_revival, update_archive
from everloom.graph.index.indexer import BATCH, IndexChanges, follow_files, prepare_changes, write_changes
from everloom.kernel.operation import Transaction
from everloom.store.files import locked

# More files than this are made durable by one sync of the system instead of one each.
_MANY = 200


@contextmanager
def sole_writer(graph: OpenGraph) -> Iterator[None]:
    """Be the only writer in the directory, after ending what a dead one began."""
    graph.disk.must_exist()
    graph.disk.prepare()
    with locked(graph.disk.root / HIDDEN / "lock"):
        _recover(graph)
        yield


def execute(graph: OpenGraph, plan: FilePlan) -> tuple[str, ...]:
    """Carry out a plan as the sole writer; a conflict is raised when everything is safe. The answer is for people."""
    if not plan.changes and not plan.states:
        return ()
    key = uuid4().hex
    _stage(graph.disk, key, plan.changes)
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        at = to_micros(transaction.at)
        transaction.unit.run("graph.intent_add", graph=graph.id, key=key, plan=plan.as_json(), at=at)
        session_id = transaction.session_id
    notices, copies = _finish(graph, key, plan, session_id)
    if copies:
        raise Conflict(
            f"somebody else changed {', '.join(plan.paths[:3])} at the same moment",
            hint=f"their version was kept, ours is next to it: compare {', '.join(copies)}",
            current=copies,
        )
    return notices


def _recover(graph: OpenGraph) -> None:
    """End what was begun by somebody who died."""
    with graph.op.read() as unit:
        rows = unit.all("graph.intent_all", graph=graph.id)
    for row in rows:
        plan = plan_from(row["plan"])
        if row["stage"] == "files":
            _finish(graph, row["key"], plan)
        else:
            _commit(graph, row["key"], plan, plan.paths)
    # What is staged without an intent was never begun.
    for key in graph.disk.staged_keys():
        graph.disk.clear(key)


def _stage(disk: Disk, key: str, changes: Sequence[FileChange]) -> None:
    durable = len(changes) <= _MANY
    for place, change in enumerate(changes):
        if isinstance(change, Put) and change.data is not None:
            disk.stage(key, str(place), change.data, durable=durable)
    if not durable and hasattr(os, "sync"):
        os.sync()


def _finish(
    graph: OpenGraph, key: str, plan: FilePlan, session_id: int | None = None
) -> tuple[tuple[str, ...], list[str]]:
    """Do everything behind the committed intent; also what a dead process did not get to.

    The answer is what git said, and which of our versions had to be put beside somebody else's.
    """
    copies = [copy for place, change in enumerate(plan.changes) if (copy := _apply(graph.disk, key, place, change))]
    paths = [*plan.paths, *copies]
    indexed = [path for path in paths if is_indexed(path)]
    # All but the last batch may be indexed on their own: the intent stays until the last one is in.
    while len(indexed) > BATCH:
        follow_files(graph, indexed[:BATCH], session_id)
        indexed = indexed[BATCH:]
    changes = prepare_changes(graph, indexed, session_id, plan.states)
    ready = _prepare_states(graph, plan, changes)
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        touched = write_changes(graph, transaction, changes)
        touched += _restore_states(graph, transaction, plan)
        update_archive(transaction.unit, graph.op.index, touched, transaction.at, ready)
        transaction.event(graph=graph.id, **plan.detail)
        statement = "graph.intent_indexed" if _is_committed(graph, plan) else "graph.intent_drop"
        transaction.unit.run(statement, graph=graph.id, key=key)
    # Staged contents are needed until the index has them; a crash before this line leaves them to `_recover`.
    graph.disk.clear(key)
    return _commit(graph, key, plan, paths), copies


def _prepare_states(graph: OpenGraph, plan: FilePlan, changes: IndexChanges) -> Revivable:
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_by_uuid", graph=graph.id, uuids=list(plan.states))
    untouched = [row for row in rows if row["gone_at"] is None and row["id"] not in changes.rewritten]
    return prepare_revival(graph, untouched, plan.states)


def _restore_states(graph: OpenGraph, transaction: Transaction, plan: FilePlan) -> list[int]:
    rows = transaction.unit.all("graph.memory_by_uuid", graph=graph.id, uuids=list(plan.states))
    states = [(row["id"], *plan.states[row["uuid"]]) for row in rows]
    transaction.unit.many("graph.access_restore", ({"item": item, "count": n, "at": at} for item, n, at in states))
    return [item for item, *_ in states]


def _is_committed(graph: OpenGraph, plan: FilePlan) -> bool:
    return graph.options.auto_commit and plan.is_committed and graph.git.is_repository


def _commit(graph: OpenGraph, key: str, plan: FilePlan, paths: Sequence[str]) -> tuple[str, ...]:
    if not _is_committed(graph, plan):
        return ()
    trouble = graph.git.commit(paths, plan.message)
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        transaction.unit.run("graph.intent_drop", graph=graph.id, key=key)
    return () if trouble is None else (trouble,)


def _apply(disk: Disk, key: str, place: int, change: FileChange) -> str | None:
    """Make one change, unless it is made already; the answer is where our version went if somebody was faster."""
    match change:
        case Put():
            return _put(disk, key, str(place), change)
        case Drop():
            return _drop(disk, change)
        case Append():
            # What is behind the known size may be ours, from a process that died after writing it.
            data = change.text.encode()
            if data not in (disk.read(change.path) or b"")[change.size :]:
                disk.append(change.path, data)
    return None


def _put(disk: Disk, key: str, name: str, change: Put) -> str | None:
    # The rename took the staged file away: this change was made before a crash.
    if not disk.is_staged(key, name):
        return None
    if digest(disk.read(change.path)) in (change.before, change.after):
        disk.put(key, name, change.path)
        return None
    copy = conflict_name(change.path, key[:6])
    disk.put(key, name, copy)
    return copy


def _drop(disk: Disk, change: Drop) -> str | None:
    found = digest(disk.read(change.path))
    if found == change.before:
        disk.drop(change.path)
    return change.path if found not in (None, change.before) else None
