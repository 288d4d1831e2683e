"""Search speed at a given size, compared with plain keywords and plain vectors on the same texts in the same run.

Also measures one durable write and a bulk import. Only measures; asserts nothing.
"""

from __future__ import annotations

import resource
import sqlite3
import statistics
import sys
import time
from collections import Counter, defaultdict
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
from everloom.models.static.multilingual import MultilingualStaticEmbedder
from everloom.settings import Settings

# As large as an import in practice: one transaction and one call of the embedder each.
_BATCH = 1000
LIMIT = 10
# Enough for a stable median; every write waits for the disk.
_WRITES = 200


@dataclass(frozen=True, slots=True)
class _Timing:
    """How long one operation took, in milliseconds, over many repetitions."""

    system: str
    p50: float
    p95: float
    cpu: float
    hit_rate: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of one run."""

    items: int
    import_per_second: float
    write: _Timing
    bare_commit: _Timing
    searches: tuple[_Timing, ...]
    rss_mb: float
    store_mb: float


def measure(url: str, items: int, queries: int, progress: Callable[[int], None]) -> Measured:
    """Fill a workspace with `items` texts and ask it `queries` questions."""
    asked = questions(items, queries)
    with open_loom(url, settings=Settings()) as loom:
        workspace = loom.workspace("bench")
        rate = fill(workspace, items, progress)
        # As `everloom sleep` does after a large import.
        loom.store.maintain(workspace.info.id)
        searches = [timed("everloom: words + vectors + ranking", asked, finder(workspace))]
        # Read before the baselines load their own texts and vectors. macOS counts bytes, Linux kilobytes.
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
        size = loom.store.health().bytes_used / 1e6
        write, bare = _durable_writes(loom, workspace)
    searches += _baselines(items, asked)
    return Measured(items, rate, write, bare, tuple(searches), rss, size)


def questions(items: int, count: int) -> list[SampleMemory]:
    """Choose questions about texts from the whole range, each with few enough answers for one page of hits.

    Names are made of few syllables: among a million texts, "who sold something in Kalo?" has dozens of right answers,
    and whether the one that it was made from is among the first ten says nothing about a search.
    """
    # A fixed seed: two runs, and two versions of the program, are asked the same questions.
    chosen = set(Random(11).sample(range(items), min(count, items)))
    asked = [memory for place, memory in enumerate(memories(items)) if place in chosen]
    shared = [_words(each.question) & _words(each.text) for each in asked]
    # Only texts that hold the longest of these words are looked at closely; most often it is a name.
    by_word: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(shared):
        by_word[max(words, key=lambda word: (word[0].isupper(), word))].append(place)
    answers = Counter[int]()
    for memory in memories(items):
        words = _words(memory.text)
        answers.update(place for word in words & by_word.keys() for place in by_word[word] if shared[place] <= words)
    return [each for place, each in enumerate(asked) if answers[place] <= LIMIT]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.replace("?", " ").replace(".", " ").split())


def fill(workspace: Workspace, items: int, progress: Callable[[int], None]) -> float:
    """Import the texts in batches, embedded and searchable; returns items per second."""
    now, texts = datetime.now(UTC), memories(items)
    spent = 0.0
    while batch := [Document(kind="note", text=each.text, happened_at=now) for each in islice(texts, _BATCH)]:
        start = time.perf_counter()
        workspace.add(batch)
        spent += time.perf_counter() - start
        progress(len(batch))
    return items / spent


def finder(workspace: Workspace) -> Callable[[str], list[str]]:
    """Search as a user would; one search beforehand loads the vectors into memory."""
    workspace.search("anything at all")
    return lambda question: [hit.text for hit in workspace.search(question, limit=LIMIT)]


def timed(system: str, asked: Sequence[SampleMemory], ask: Callable[[str], Iterable[str]]) -> _Timing:
    """Ask every question once; record how long each took and whether the right text was found."""
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
    """Summarise the durations of all repetitions."""
    return _Timing(system, statistics.median(walls), percentile(walls, 95), cpu, hit_rate)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value below which `percent` percent of the values lie."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _durable_writes(loom: Loom, workspace: Workspace) -> tuple[_Timing, _Timing]:
    """Time one item per transaction, alternating with one bare row per transaction in a plain SQLite file."""
    now = datetime.now(UTC)

    def write(memory: SampleMemory) -> float:
        return _clocked(lambda: workspace.add([Document(kind="note", text=memory.text, happened_at=now)]))

    ours, bare = "everloom: one durable write", "bare SQLite commit"
    if loom.store.engine != "sqlite":
        return _timing(ours, [write(memory) for memory in memories(_WRITES, seed=23)]), _Timing(bare, 0, 0, 0, None)
    # The same disk, journal and durability as the store; alternating, so that a busy disk slows both alike.
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
    """Return how many milliseconds a piece of work took."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _baselines(items: int, asked: Sequence[SampleMemory]) -> list[_Timing]:
    """Ask plain keywords and plain vectors the same questions."""
    # Generated again instead of kept from the import, so that they do not count towards its memory.
    texts = [memory.text for memory in memories(items)]
    words = sqlite3.connect(":memory:")
    words.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')")
    words.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
    embedder = MultilingualStaticEmbedder()
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
