"""What heavy writing costs a search: the same questions when it is quiet, and while four processes write.

Run by hand: `python benchmarks/writing.py --items 10000 100000`. Prints a table; asserts nothing but that every item
that was written is found by its words.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from datetime import UTC, datetime
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory

from everloom.bench.search import fill, finder, questions, timed
from everloom.bench.texts import memories
from everloom.kernel.search import Document
from everloom.loom import open_loom
from everloom.settings import Settings

WRITERS = 4
QUESTIONS = 300


def write(url: str, seed: int, stop: Event, ready: Event, counts: str) -> None:
    """Write one item after another into the same workspace until told to stop."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with open_loom(url, settings=Settings()) as loom:
        place = loom.workspace("bench")
        written = 0
        for memory in memories(1_000_000, seed=seed):
            place.add([Document(kind="note", text=memory.text, happened_at=datetime.now(UTC))])
            written += 1
            ready.set()
            if stop.is_set():
                break
    Path(counts, str(seed)).write_text(str(written))


def compare(url: str, items: int, pause: float) -> list[str]:
    """Fill a store, ask when quiet, ask while others write, and write one row of the table."""
    context = multiprocessing.get_context("spawn")
    asked = questions(items, QUESTIONS)
    with open_loom(url, settings=Settings()) as loom, TemporaryDirectory() as counts:
        place = loom.workspace("bench")
        fill(place, items, lambda _: None)
        search = finder(place)
        quiet = timed("quiet", asked, search)
        stop, ready = context.Event(), [context.Event() for _ in range(WRITERS)]
        writers = [
            context.Process(target=write, args=(url, 100 + number, stop, ready[number], counts))
            for number in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        for each in ready:
            each.wait()
        time.sleep(pause)
        began = time.perf_counter()
        busy = timed("busy", asked, search)
        took = time.perf_counter() - began
        stop.set()
        for writer in writers:
            writer.join()
        written = sum(int(file.read_text()) for file in Path(counts).iterdir())
        late = next(memories(1, seed=100))
        assert late.text in [hit.text for hit in place.search(late.text)]
    return [
        f"{items:,}",
        loom.store.engine,
        f"{quiet.p50:.1f} / {quiet.p95:.1f}",
        f"{busy.p50:.1f} / {busy.p95:.1f}",
        f"{busy.p50 / quiet.p50:.1f}",
        f"{busy.cpu / quiet.cpu:.1f}",
        f"{written / (took + pause):.0f}",
    ]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--store", help="an empty PostgreSQL database; else a SQLite file of its own")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds of writing before the first question")
    given = parser.parse_args()
    heads = [
        "items",
        "engine",
        "quiet p50 / p95 ms",
        "4 writers p50 / p95 ms",
        "p50 ratio",
        "CPU ratio",
        "writes a second",
    ]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n")
    for items in given.items:
        with TemporaryDirectory() as folder:
            row = compare(given.store or f"sqlite:///{folder}/loom.db", items, given.pause)
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
