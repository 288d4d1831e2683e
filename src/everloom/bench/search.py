"""How fast search is at a given size, beside what plain words and plain vectors cost on the same texts in the same run.

Also what one durable write and one bulk import cost. Prints what it measures; asserts nothing.
"""

from __future__ import annotations

import resource
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from everloom.bench.texts import SampleMemory, memories
from everloom.kernel.search import Document
from everloom.kernel.texts import analyse
from everloom.loom import Loom, Workspace, open_loom
from everloom.models.embed import EmbeddingTask
from everloom.models.static.embed import StaticEmbedder
from everloom.settings import Settings

_BATCH = 1000
LIMIT = 10
_WRITES = 200


@dataclass(frozen=True, slots=True)
class _Timing:
    """How long one thing took, over many repetitions, in milliseconds."""

    system: str
    p50: float
    p95: float
    cpu: float
    hit_rate: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that one run measured."""

    items: int
    import_per_second: float
    write: _Timing
    bare_commit: _Timing
    searches: tuple[_Timing, ...]
    rss_mb: float
    store_mb: float


def measure(url: str, items: int, queries: int, progress: Callable[[int], None]) -> Measured:
    """Build a workspace of so many items and ask it so many questions."""
    asked = questions(items, queries)
    with open_loom(url, settings=Settings()) as loom:
        workspace = loom.workspace("bench")
        rate = fill(workspace, items, progress)
        loom.store.maintain(workspace.info.id)  # as a sleep does after a large import
        searches = [timed("everloom: words + vectors + ranking", asked, finder(workspace))]
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
        size = loom.store.health().bytes_used / 1e6
        write, bare = _durable_writes(loom, workspace)
    searches += _baselines(items, asked)
    return Measured(items, rate, write, bare, tuple(searches), rss, size)


def questions(items: int, count: int) -> list[SampleMemory]:
    """Choose questions from all over the texts."""
    chosen = set(Random(11).sample(range(items), min(count, items)))
    return [memory for place, memory in enumerate(memories(items)) if place in chosen]


def fill(workspace: Workspace, items: int, progress: Callable[[int], None]) -> float:
    """Import the texts in batches, embedded and searchable; the answer is items a second."""
    now, texts = datetime.now(UTC), memories(items)
    spent = 0.0
    while batch := [Document(kind="note", text=each.text, happened_at=now) for each in islice(texts, _BATCH)]:
        start = time.perf_counter()
        workspace.add(batch)
        spent += time.perf_counter() - start
        progress(len(batch))
    return items / spent


def finder(workspace: Workspace) -> Callable[[str], list[str]]:
    """Search as a user would, once beforehand so that the vectors are in memory."""
    workspace.search("anything at all")
    return lambda question: [hit.text for hit in workspace.search(question, limit=LIMIT)]


def timed(system: str, asked: Sequence[SampleMemory], ask: Callable[[str], Iterable[str]]) -> _Timing:
    """Ask every question once and note how long each took and whether the right text came back."""
    walls, hits = [], 0
    cpu = time.process_time()
    for memory in asked:
        start = time.perf_counter()
        found = ask(memory.question)
        walls.append((time.perf_counter() - start) * 1000)
        hits += memory.text in found
    spent = (time.process_time() - cpu) * 1000 / len(asked)
    return _timing(system, walls, spent, hits / len(asked))


def _timing(system: str, walls: Sequence[float], cpu: float = 0, hit_rate: float | None = None) -> _Timing:
    """Sum up how long each repetition took."""
    return _Timing(system, statistics.median(walls), percentile(walls, 95), cpu, hit_rate)


def percentile(values: Sequence[float], percent: int) -> float:
    """Find the value below which so many percent lie."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _durable_writes(loom: Loom, workspace: Workspace) -> tuple[_Timing, _Timing]:
    """Write one item a transaction, and beside it one bare row a transaction in a plain SQLite file, taking turns."""
    now = datetime.now(UTC)

    def write(memory: SampleMemory) -> float:
        return _clocked(lambda: workspace.add([Document(kind="note", text=memory.text, happened_at=now)]))

    ours, bare = "everloom: one durable write", "bare SQLite commit"
    if loom.store.engine != "sqlite":
        return _timing(ours, [write(memory) for memory in memories(_WRITES, seed=23)]), _Timing(bare, 0, 0, 0, None)
    plain = sqlite3.connect(Path(loom.store.address).with_name("bare.db"), isolation_level=None)
    plain.execute("PRAGMA journal_mode = WAL")
    plain.execute("PRAGMA synchronous = FULL")
    plain.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
    walls = []
    for memory in memories(_WRITES, seed=23):
        insert = partial(plain.execute, "INSERT INTO note (text) VALUES (?)", (memory.text,))
        walls.append((write(memory), _clocked(insert)))
    plain.close()
    return _timing(ours, [one for one, _ in walls]), _timing(bare, [other for _, other in walls])


def _clocked(work: Callable[[], object]) -> float:
    """Say how many milliseconds a piece of work took."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _baselines(items: int, asked: Sequence[SampleMemory]) -> list[_Timing]:
    """Ask the same questions of plain words and of plain vectors."""
    texts = [memory.text for memory in memories(items)]
    words = sqlite3.connect(":memory:")
    words.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')")
    words.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
    embedder = StaticEmbedder()
    rows = np.concatenate(
        [embedder.embed(texts[at : at + _BATCH], EmbeddingTask.DOCUMENT).rows for at in range(0, items, _BATCH)]
    )

    def by_words(question: str) -> list[str]:
        query = " OR ".join(f'"{word}"' for word in analyse(question))
        found = words.execute("SELECT text FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (query, LIMIT))
        return [row[0] for row in found]

    def by_vectors(question: str) -> list[str]:
        near = rows @ embedder.embed([question], EmbeddingTask.QUERY).rows[0]
        best = np.argpartition(-near, LIMIT)[:LIMIT] if items > LIMIT else range(items)
        return [texts[int(place)] for place in best]

    return [
        timed("plain FTS5, any word, bm25", asked, by_words),
        timed("plain vectors, numpy float32", asked, by_vectors),
    ]
