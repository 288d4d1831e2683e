"""Measure the memory graph at size: opening and scanning, scanning again, recall, decay, CORE.md.

    python -m benchmarks.graph [COUNT]

Writes COUNT memories (10,000 unless told) as files a person could have written, into a temporary directory.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from everloom.graph.files.disk import Disk, FileEntry
from everloom.graph.files.render import render_file
from everloom.graph.kinds import KINDS
from everloom.graph.results import Memory
from everloom.loom import open_loom
from everloom.settings import Settings

SYLLABLES = "re dis time out keep live sock et dock er de ploy post gres in dex que ry cache work back off".split()


def vocabulary(size: int = 5_000) -> list[str]:
    """Make words; how often each is used falls with its rank, as in any language."""
    chance = random.Random(5)
    return list(dict.fromkeys("".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(size)))


WORDS = vocabulary()
RANKS = [1 / (rank + 10) for rank in range(len(WORDS))]
QUESTIONS = 200


def furnish(root: Path, count: int) -> None:
    """Write memories of the last two months."""
    chance = random.Random(7)
    now = datetime.now(UTC).replace(microsecond=0)
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        title = f"{' '.join(chance.choices(WORDS, RANKS, k=5))} {number}"
        at = now - timedelta(hours=chance.randrange(1, 24 * 60))
        memory = Memory(
            id=str(UUID(int=chance.getrandbits(128))),
            type=kind,
            title=title,
            content=" ".join(chance.choices(WORDS, RANKS, k=60)),
            tags=tuple(set(chance.choices(WORDS, RANKS, k=3))),
            importance=round(chance.uniform(0.3, 1.0), 2),
            created=at,
            updated=at,
        )
        file = root / KINDS[kind].directory / f"m-{number:06}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(render_file(memory))
        os.utime(file, (at.timestamp(), at.timestamp()))


@contextmanager
def counting_reads() -> Iterator[list[int]]:
    """Count how often a file is read."""
    count, original = [0], Disk.look

    def look(self: Disk, path: str) -> tuple[FileEntry, bytes] | None:
        count[0] += 1
        return original(self, path)

    Disk.look = look  # type: ignore[method-assign]
    try:
        yield count
    finally:
        Disk.look = original  # type: ignore[method-assign]


def timed(act: Callable[[], object]) -> float:
    """Say how many seconds of the processor something takes: others may use this machine, too."""
    started = time.process_time()
    act()
    return time.process_time() - started


def main() -> None:
    """Measure, and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memories"
        furnish(root, count)
        settings = Settings.model_validate({"graph": {"directory": str(root)}})
        url = f"sqlite:///{folder}/loom.db"
        with open_loom(url, settings=settings) as loom:
            loom.embedding.probe("warm")
            rows = [("open and scan, first time", timed(lambda: loom.workspace().graph))]
        with open_loom(url, settings=settings) as loom, counting_reads() as reads:
            loom.embedding.probe("warm")
            rows.append(("open and scan, nothing changed", timed(lambda: loom.workspace().graph)))
            graph = loom.workspace().graph
            rows.append(("scan again", statistics.median(timed(graph.follow) for _ in range(5))))
            chance = random.Random(11)
            cues = [" ".join(chance.choices(WORDS, RANKS, k=5)) for _ in range(QUESTIONS)]
            graph.recall("warm up the shelf")
            times = [timed(lambda cue=cue: graph.recall(cue)) for cue in cues]  # type: ignore[misc]
            rows += [("recall, median", statistics.median(times)), ("recall, 95th percentile", sorted(times)[-10])]
            assert reads[0] == 0, "a file was read although nothing changed"
            rows.append(("decay", timed(graph.decay)))
            rows.append(("CORE.md", timed(graph.core)))
            rows.append(("REFLECTION.md", timed(graph.reflection)))
    print(f"| {count:,} memories | ms of CPU |\n|---|---|")  # noqa: T201
    for name, seconds in rows:
        print(f"| {name} | {seconds * 1000:,.1f} |")  # noqa: T201


if __name__ == "__main__":
    main()
