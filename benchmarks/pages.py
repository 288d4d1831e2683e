"""What one durable write changes in a SQLite file, page by page, and what the first search after opening costs.

Run by hand: `python benchmarks/pages.py --items 100000`. Counts the frames that each commit appends to the log, and
names the table or index that each page belongs to; both are the same on a busy machine and on an idle one.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from everloom.bench.search import fill
from everloom.bench.texts import SampleMemory, memories
from everloom.kernel.search import Document
from everloom.loom import Workspace, open_loom
from everloom.semantic.arguments import NewObservation
from everloom.settings import Settings

WRITES = 100
# Before the first one that counts: subjects and sessions are known by then.
WARM = 20
BATCH = 500
PEOPLE, PLACES = 3_000, 1_000
FRAME, HEADER = 24, 32


def about(number: int) -> tuple[str, str]:
    """Choose the two subjects of an observation."""
    return f"Person {number * 7919 % PEOPLE}", f"Place {number * 104729 % PLACES}"


def fill_observations(place: Workspace, items: int) -> None:
    """Remember many texts, each about two of a few thousand subjects."""
    texts, at = memories(items), 0
    while batch := list(islice(texts, BATCH)):
        place.semantic.add_observations(
            [NewObservation(subject_names=about(at + number), content=each.text) for number, each in enumerate(batch)]
        )
        at += len(batch)


def adding(place: Workspace) -> Callable[[int, SampleMemory], object]:
    """Add a document, as an import does."""
    now = datetime.now(UTC)
    return lambda _, memory: place.add([Document(kind="note", text=memory.text, happened_at=now)])


def remembering(place: Workspace) -> Callable[[int, SampleMemory], object]:
    """Remember an observation about subjects that exist."""
    return lambda number, memory: place.semantic.remember(list(about(number)), memory.text)


def frames(path: Path, size: int) -> Iterator[int]:
    """List the pages in the log of a file, each as often as it was written."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    for at in range(HEADER, len(log) - size, FRAME + size):
        if log[at + 8 : at + 16] == log[16:24]:
            yield struct.unpack(">I", log[at : at + 4])[0]


def changed(path: Path, write: Callable[[int, SampleMemory], object]) -> tuple[list[int], Counter[str], int]:
    """Write one at a time; return the pages of each, how often each table was among them, and the size of a page."""
    texts = list(memories(WARM + WRITES, seed=23))
    with closing(sqlite3.connect(path, isolation_level=None)) as beside:
        size = int(beside.execute("PRAGMA page_size").fetchone()[0])
        for number in range(WARM):
            write(number, texts[number])
        written = []
        for number in range(WARM, WARM + WRITES):
            beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            write(number, texts[number])
            written.append([*frames(path, size)])
        names = dict(beside.execute("SELECT pageno, name FROM dbstat").fetchall())
    return [*map(len, written)], Counter(names.get(page, "free") for pages in written for page in pages), size


def first_search(path: Path) -> float:
    """Open the file and search; return the CPU seconds of that search, with the model loaded before."""
    with open_loom(f"sqlite://{path}", settings=Settings()) as loom:
        loom.workspace("empty").search("anything at all")
        begin = time.process_time()
        loom.workspace("bench").search("anything at all")
        return time.process_time() - begin


def main() -> None:
    """Read the command line, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    items = parser.parse_args().items
    for what, filling, writing in (
        ("add", lambda place: fill(place, items, lambda _: None), adding),
        ("remember", lambda place: fill_observations(place, items), remembering),
    ):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "loom.db"
            with open_loom(f"sqlite://{path}", settings=Settings()) as loom:
                place = loom.workspace("bench", session="today" if what == "remember" else None)
                filling(place)
                loom.store.maintain(place.info.id)
                each, owners, size = changed(path, writing(place))
            sys.stdout.write(f"{what}: {statistics.mean(each):.1f} pages of {size} bytes a write\n")
            for name, count in owners.most_common():
                sys.stdout.write(f"  {count / WRITES:6.2f} {name}\n")
            sys.stdout.write(f"  first search after opening: {first_search(path):.2f} s of CPU\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
