"""Lets the record of use travel with the files: writes it beside them for other clones, and adopts what those wrote.

Calm: it is written with a commit that is made anyway, at most once a day, and only if it says something new. Whoever
chose that the record stays in the store has neither.
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from everloom.clock import from_micros, to_micros
from everloom.errors import EverloomError
from everloom.graph.files.disk import digest
from everloom.graph.git.usage import Use, UseRecord, join_records, read_record, write_record
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.decay import update_archive
from everloom.graph.index.inputs import is_made_from, note_inputs
from everloom.graph.kinds import ACCESS
from everloom.secrets import logger_of
from everloom.store import Row

log = logger_of(__name__)

_MICROS_A_DAY = 86_400_000_000
# So many fit into a file that can be read again; of more memories, those that were read last.
_MOST = 40_000
_NEVER = datetime.min.replace(tzinfo=UTC)
# Graphs whose record was written and is not committed yet, by store and graph: git may be busy, or in a merge.
_uncommitted: set[tuple[str, int, int]] = set()
# The time and size that the file had when this process adopted it: scans are frequent.
_adopted: dict[tuple[str, int, int], tuple[int, int]] = {}


def share_use(graph: OpenGraph) -> list[str]:
    """Write the record of use if that is due; returns what is to be committed along."""
    if graph.options.access != "git":
        return []
    try:
        if _share(graph):
            _uncommitted.add(_key(graph))
        return [ACCESS] if _key(graph) in _uncommitted else []
    except (EverloomError, OSError) as error:
        # What is being committed is done; the record can wait for the next commit.
        log.warning("%s was not written: %s", ACCESS, error)
        return []


def note_commit(graph: OpenGraph) -> None:
    """Note that what was to be committed along has been; until then every commit tries again."""
    _uncommitted.discard(_key(graph))


def _key(graph: OpenGraph) -> tuple[str, int, int]:
    return graph.op.store.address, graph.op.workspace.id, graph.id


def _share(graph: OpenGraph) -> bool:
    today, data = graph.op.local().date(), graph.disk.read(ACCESS)
    known = read_record(data or b"")
    if data is not None and known.written >= today:
        return False
    with graph.op.read() as unit:
        rows = {row["uuid"]: row for row in unit.all("graph.memory_strengths", graph=graph.id)}
    # Of memories that are gone nothing is kept.
    still = {uuid: use for uuid, use in known.uses.items() if uuid in rows}
    used = {uuid: use for uuid, row in rows.items() if (use := _use_of(row)).count or use.lent}
    whole = join_records([UseRecord(today, still), UseRecord(today, used)])
    if whole.uses == known.uses:
        return False
    newest = sorted(whole.uses.items(), key=lambda each: each[1].last or _NEVER, reverse=True)[:_MOST]
    _write(graph, write_record(UseRecord(today, dict(newest))))
    return True


def _write(graph: OpenGraph, data: bytes) -> None:
    key = uuid4().hex
    try:
        graph.disk.stage(key, ACCESS, data)
        graph.disk.put(key, ACCESS, ACCESS)
    finally:
        graph.disk.clear(key)
    with graph.op.write("graph.share") as transaction:
        note_inputs(transaction.unit, graph.id, "access", digest(data) or "")


def adopt_use(graph: OpenGraph, *, anew: bool = False) -> None:
    """Adopt how other clones used the memories, if the file has changed; `anew` if there are new memories."""
    key = _key(graph)
    try:
        status = graph.disk.place(ACCESS).stat()
    except (OSError, EverloomError):
        return
    if graph.options.access != "git" or (_adopted.get(key) == (status.st_mtime_ns, status.st_size) and not anew):
        return
    try:
        data = graph.disk.read(ACCESS)
    except EverloomError as error:
        log.warning("%s was not read: %s", ACCESS, error)
        return
    if data is not None and (anew or not is_made_from(graph, "access", digest(data) or "")):
        _adopt(graph, data)
    _adopted[key] = (status.st_mtime_ns, status.st_size)


def _adopt(graph: OpenGraph, data: bytes) -> None:
    uses, now = read_record(data).uses, graph.op.now
    with graph.op.read() as unit:
        rows = unit.all("graph.memory_strengths", graph=graph.id)
    news = []
    for row in rows:
        own, other = _use_of(row), uses.get(row["uuid"])
        if other is not None and (not own.count or own.joined(other) != own):
            # A clock that is wrong elsewhere must not keep a memory from fading here.
            at = 0 if other.last is None else to_micros(min(other.last, now))
            lent = int(other.lent * _MICROS_A_DAY)
            news.append({"item": row["id"], "count": other.count, "at": at, "lent": lent})
    with graph.op.write("graph.follow") as transaction:
        transaction.unit.many("graph.access_join", news)
        update_archive(transaction.unit, graph.op.index, [each["item"] for each in news], transaction.at)
        note_inputs(transaction.unit, graph.id, "access", digest(data) or "")


def _use_of(row: Row) -> Use:
    """Describe the use of a memory by its row; in whole seconds, as the file writes them."""
    last = from_micros(row["last_at"]).replace(microsecond=0) if row["last_at"] else None
    return Use(last, round((row["lent"] or 0) / _MICROS_A_DAY, 4), row["count"] or 0)
