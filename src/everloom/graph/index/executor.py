"""Applies a plan to files and index so that a crash at any moment leaves the state before or the state after.

The order of steps is the protocol. First, new contents are staged in the graph's directory. Then the intent is
committed to the store: before that nothing has happened, and after it the next process that writes to the graph
completes the plan. Then files are moved into place, one rename each. Index and journal follow in one transaction, which
also removes the intent, or marks that only the git commit is left. The commit comes last. Every step can be repeated,
because a process that crashed may have done it already. A change that somebody else makes in between is never
overwritten: both versions are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from everloom.clock import to_micros
from everloom.errors import Conflict, EverloomError
from everloom.graph.files.changeset import Append, Drop, FileChange, FilePlan, Put, plan_from
from everloom.graph.files.disk import Disk, conflict_name, digest
from everloom.graph.files.parser import is_indexed
from everloom.graph.git.clones import settle
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import Revivable, prepare_revival, update_archive
from everloom.graph.index.indexer import BATCH, IndexChanges, follow_files, prepare_changes, write_changes
from everloom.graph.index.progress import report
from everloom.graph.index.sharing import note_commit, share_use
from everloom.graph.kinds import GITIGNORE, IGNORE, MEMORIES
from everloom.kernel.operation import Transaction
from everloom.store.claims import CORNER
from everloom.store.files import check_space, locked

# What else belongs into the transaction that indexes the changed files.
Also = Callable[[Transaction], None]

# Directories whose .gitignore this process has looked at.
_ignoring: set[Path] = set()
# Above this number of files, one sync of the whole system is faster than an fsync for each file.
_MANY = 200


@contextmanager
def sole_writer(graph: OpenGraph) -> Iterator[None]:
    """Hold the directory's write lock, after completing what a crashed writer began."""
    graph.op.must_write()
    graph.disk.must_exist()
    graph.disk.prepare()
    with locked(graph.disk.root / CORNER / "lock", graph.op.patience):
        _recover(graph)
        yield


def nothing_else(_: Transaction) -> None:
    """Add nothing to a transaction."""


def execute(graph: OpenGraph, plan: FilePlan, also: Also = nothing_else) -> tuple[str, ...]:
    """Apply a plan as the sole writer; returns notices for people. A Conflict is raised once both versions are safe."""
    if not plan.changes and not plan.states:
        if plan.receipt is not None:
            with graph.op.write(f"graph.{plan.operation}") as transaction:
                _keep_receipt(graph, transaction, plan, ())
        return ()
    # Before the intent: once it is committed, every later writer would have to complete what cannot be done.
    for change in plan.changes:
        graph.disk.check_room(change.path)
    key = stage(graph, plan)
    # Committed before the first file changes. A crash after this line is completed by `_recover`, a crash before it
    # leaves only staged files, which `_recover` deletes.
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        intend(graph, transaction, key, plan)
        session_id = transaction.session_id
    notices, copies = complete(graph, key, plan, session_id, also)
    if copies:
        raise _changed_on_disk(plan, copies)
    return notices


def _changed_on_disk(plan: FilePlan, copies: Sequence[str]) -> Conflict:
    return Conflict(
        f"{', '.join(plan.paths[:3])} changed on disk at the same moment",
        hint=f"the version on disk was kept; compare it with {', '.join(copies)}",
        current=list(copies),
    )


def stage(graph: OpenGraph, plan: FilePlan) -> str:
    """Write the new contents of a plan aside, and return the key under which they are found."""
    key = uuid4().hex
    check_space(graph.disk.root, sum(_size_of(change) for change in plan.changes))
    try:
        _stage(graph.disk, key, plan.changes)
    except BaseException:
        graph.disk.clear(key)
        raise
    return key


def _size_of(change: FileChange) -> int:
    """Return how many bytes a change writes."""
    match change:
        case Put():
            return len(change.data or b"")
        case Append():
            return len(change.text.encode())
        case Drop():
            return 0


def intend(graph: OpenGraph, transaction: Transaction, key: str, plan: FilePlan) -> None:
    """Record the intent of a staged plan in a transaction; once that is committed, `complete` must be called."""
    at = to_micros(transaction.at)
    transaction.unit.send("graph.intent_add", graph=graph.id, key=key, plan=plan.as_json(), at=at)


def _recover(graph: OpenGraph) -> None:
    """Complete the operations of a process that crashed."""
    with graph.op.read() as unit:
        rows = unit.all("graph.intent_all", graph=graph.id)
    for row in rows:
        plan = plan_from(row["plan"])
        if row["stage"] == "files":
            complete(graph, row["key"], plan)
        else:
            _commit(graph, row["key"], plan, plan.paths)
    # Files that are staged without an intent belong to an operation that never began. This is safe only under the lock:
    # nobody else can be between staging and committing its intent.
    for key in graph.disk.staged_keys():
        graph.disk.clear(key)


def _stage(disk: Disk, key: str, changes: Sequence[FileChange]) -> None:
    durable = _is_durable_each(changes)
    for place, change in enumerate(changes):
        if isinstance(change, Put) and change.data is not None:
            disk.stage(key, str(place), change.data, durable=durable)
    if not durable:
        os.sync()


def complete(
    graph: OpenGraph, key: str, plan: FilePlan, session_id: int | None = None, also: Also = nothing_else
) -> tuple[tuple[str, ...], list[str]]:
    """Do every step after the committed intent, for this process or for one that crashed.

    Returns what git reported, and the copies that were written because a file had changed on disk.
    """
    copies = _apply_all(graph.disk, key, plan.changes)
    paths = [*plan.paths, *copies]
    indexed = [path for path in paths if is_indexed(path, graph.options.pages)]
    # Earlier batches may be indexed in transactions of their own, because the intent stays until the last one is done.
    total = len(indexed)
    while len(indexed) > BATCH:
        follow_files(graph, indexed[:BATCH], session_id)
        indexed = indexed[BATCH:]
        report("indexing", total - len(indexed), total)
    changes = prepare_changes(graph, indexed, session_id, plan.states)
    ready = _prepare_states(graph, plan, changes)
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        touched = write_changes(graph, transaction, changes)
        touched += _restore_states(graph, transaction, plan)
        update_archive(transaction.unit, graph.op.index, touched, transaction.at, ready)
        transaction.event(graph=graph.id, **plan.detail)
        statement = "graph.intent_indexed" if _is_committed(graph, plan) else "graph.intent_drop"
        transaction.unit.send(statement, graph=graph.id, key=key)
        _keep_receipt(graph, transaction, plan, copies)
        also(transaction)
    # Only now, because a repeated run needs the staged contents. After a crash here `_recover` deletes them.
    graph.disk.clear(key)
    return _commit(graph, key, plan, paths), copies


def _keep_receipt(graph: OpenGraph, transaction: Transaction, plan: FilePlan, copies: Sequence[str]) -> None:
    """Keep the answer for whoever repeats the request; what failed then fails in the same way."""
    receipt = plan.receipt
    if receipt is None:
        return
    if copies:
        receipt = receipt.refused(_changed_on_disk(plan, copies))
    elif plan.operation == "store":
        # The id in the store of a new memory exists only now.
        rows = transaction.unit.all("graph.memory_by_uuid", graph=graph.id, uuids=[plan.detail["id"]])
        receipt = receipt.completed(item=rows[0]["id"] if rows else 0)
    receipt.keep_if_free(transaction.unit, transaction.at)


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
    settle(graph.git, graph.options)
    # Git keeps a link as a link: what was written is in its target.
    files = [*paths, *graph.disk.targets(paths), *_own_ignore(graph), *share_use(graph)]
    trouble = graph.git.commit(files, plan.message, graph.op.now)
    if trouble is None:
        note_commit(graph)
    with graph.op.write(f"graph.{plan.operation}") as transaction:
        transaction.unit.send("graph.intent_drop", graph=graph.id, key=key)
    return () if trouble is None else (trouble,)


def _own_ignore(graph: OpenGraph) -> tuple[str, ...]:
    """Name the .gitignore that was made for a graph, until a commit has it; one that a person wrote is theirs."""
    root = graph.disk.root
    if root in _ignoring:
        return ()
    _ignoring.add(root)
    try:
        is_ours = graph.disk.read(IGNORE) == GITIGNORE.encode()
    except EverloomError:
        # A link to a person's own, or one that cannot be read: theirs, and no reason to fail.
        is_ours = False
    return (IGNORE,) if is_ours and not graph.git.has_file(IGNORE) else ()


def _apply_all(disk: Disk, key: str, changes: Sequence[FileChange]) -> list[str]:
    """Make the changes of a plan; returns the paths of our copies."""
    durable = _is_durable_each(changes)
    copies = []
    for place, change in enumerate(changes):
        if copy := _apply(disk, key, place, change, durable=durable):
            copies.append(copy)
        if not durable and place % BATCH == 0:
            report("writing", place, len(changes))
    if not durable:
        os.sync()
    return copies


def _is_durable_each(changes: Sequence[FileChange]) -> bool:
    """Decide whether each change is made durable by itself, or all of them at the end."""
    return len(changes) <= _MANY or not hasattr(os, "sync")


def _apply(disk: Disk, key: str, place: int, change: FileChange, *, durable: bool) -> str | None:
    """Make one change unless it is already made; returns the path of our copy if the file changed on disk."""
    match change:
        case Put():
            return _put(disk, key, str(place), change, durable=durable)
        case Drop():
            return _drop(disk, change)
        case Append():
            # The text after the known size may be ours already, from a process that crashed after writing it.
            data = change.text.encode()
            if not _has_room(disk, change.path):
                copy = f"{MEMORIES}/{conflict_name(change.path, key[:6]).rsplit('/', 1)[-1]}"
                disk.append(copy, data)
                return copy
            if data not in (disk.read(change.path) or b"")[change.size :]:
                disk.append(change.path, data)
    return None


def _put(disk: Disk, key: str, name: str, change: Put, *, durable: bool) -> str | None:
    # The staged file is gone, so the rename was done before a crash.
    if not disk.is_staged(key, name):
        return None
    # Only the expected old bytes, or the new ones, may be replaced. Anything else is a change by a person or a program.
    if _has_room(disk, change.path) and digest(disk.read(change.path)) in (change.before, change.after):
        disk.put(key, name, change.path, durable=durable)
        return None
    copy = conflict_name(change.path, key[:6])
    if not _has_room(disk, copy):
        copy = f"{MEMORIES}/{copy.rsplit('/', 1)[-1]}"
    disk.put(key, name, copy)
    return copy


def _has_room(disk: Disk, path: str) -> bool:
    """Check whether a file can be where it was planned; somebody may have made a folder of that name since."""
    try:
        disk.check_room(path)
    except Conflict:
        return False
    return True


def _drop(disk: Disk, change: Drop) -> str | None:
    # A file that somebody changed is not removed; it is reported instead, and stays in the index.
    found = digest(disk.read(change.path))
    if found == change.before:
        disk.drop(change.path)
    return change.path if found not in (None, change.before) else None
