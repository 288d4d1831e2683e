"""Measure the memory graph at size: the first index, opening again, what changed, frequent verbs, one large import.

    python -m benchmarks.graph                        1,000 files beside 10,000
    python -m benchmarks.graph 1000 50000
    python -m benchmarks.graph 50000 --store postgresql://…

Each size is a directory of believable files under git, with its own store, in a temporary directory. Times are of the
processor, of this process and of the git that it runs, because others may use this machine, too; the last column of a
size is the time on the clock. PostgreSQL's own work is on the clock only.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count as counted
from itertools import islice
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.directory import furnish, questions, sentences
from everloom.graph import Graph
from everloom.graph.files.disk import Disk, FileEntry
from everloom.graph.index.watching import Watcher
from everloom.graph.results import Memory
from everloom.loom import Loom, open_loom
from everloom.semantic.arguments import NewObservation
from everloom.settings import Settings

QUESTIONS, ROUNDS, BATCH = 100, 9, 500
PATIENCE_SECONDS = 60


class Table:
    """What was measured of one size: for each name the milliseconds of the processor and on the clock."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[float, float] | str] = {}

    def time(self, name: str, *acts: Callable[[], object]) -> None:
        """Measure the median of some acts."""
        spent, passed = [], []
        for act in acts:
            used, began = processor_seconds(), time.perf_counter()
            act()
            spent.append(processor_seconds() - used)
            passed.append(time.perf_counter() - began)
        self.rows[name] = statistics.median(spent) * 1000, statistics.median(passed) * 1000
        self.show(name)

    def say(self, name: str, text: str) -> None:
        """Record something that is no time."""
        self.rows[name] = text
        self.show(name)

    def show(self, name: str) -> None:
        """Tell people who wait what was found so far."""
        sys.stderr.write(f"{name}: {self.cell(name)}\n")

    def cell(self, name: str) -> str:
        """Write one row's numbers."""
        found = self.rows.get(name, "–")
        return found if isinstance(found, str) else f"{found[0]:,.1f} / {found[1]:,.1f}"


def processor_seconds() -> float:
    """Add up the processor's time of this process and of those that it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def counting_reads() -> Iterator[set[str]]:
    """Collect the files that are read."""
    plain = Disk.look
    found: set[str] = set()

    def look(self: Disk, path: str) -> tuple[FileEntry, bytes] | None:
        found.add(path)
        return plain(self, path)

    Disk.look = look  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Disk.look = plain  # type: ignore[method-assign]


def opened(url: str, directory: Path) -> Loom:
    """Open a store whose default graph is in a directory, with the embedder loaded."""
    loom = open_loom(url, settings=Settings.model_validate({"graph": {"directory": str(directory)}}))
    loom.embedding.probe("warm")
    return loom


def measure_opening(table: Table, url: str, root: Path, files: int) -> None:
    """Index for the first time, open again, and open after changes."""
    with opened(url, root) as loom:
        began = processor_seconds()
        table.time("first index of all files", lambda: loom.workspace().graph)
        table.say("… files a second of the processor", f"{files / (processor_seconds() - began):,.0f}")
        table.say("… largest memory of the process, MB", f"{largest_memory():,.0f}")
    open_again(table, "open, nothing changed", url, root, 0)
    paths = sorted(root.glob("graph/*/*.md"))
    chance = random.Random(3)
    for changed in (1, 100, 1_000):
        for path in chance.sample(paths, min(changed, len(paths) // 2)):
            alter(path)
        open_again(table, f"open, {changed:,} files changed", url, root, changed)
    chosen = chance.sample(paths, min(1_000, len(paths) // 2))
    for number, path in enumerate(chosen):
        # Ten of a hundred are deleted, the others are moved.
        path.unlink() if number % 10 == 0 else move(path)
    # Where a moved file was before is looked at as well.
    open_again(table, "open, 1,000 files moved or deleted", url, root, 2 * len(chosen))


def open_again(table: Table, name: str, url: str, root: Path, changed: int) -> None:
    """Open in a new loom, and make sure that no more files are read than have changed."""
    with opened(url, root) as loom, counting_reads() as reads:
        table.time(name, lambda: loom.workspace().graph)
        assert len(reads) <= changed, f"{len(reads)} files were read although {changed} changed"


def alter(path: Path) -> None:
    """Change a file as a person would, some time ago."""
    path.write_bytes(path.read_bytes() + b"\nAdded by hand.\n")
    before = time.time() - 100
    os.utime(path, (before, before))


def move(path: Path) -> None:
    """Put a file into a folder of the same folder."""
    target = path.parent / "older"
    target.mkdir(exist_ok=True)
    path.rename(target / path.name)


def measure_watching(table: Table, graph: Graph, root: Path) -> None:
    """Edit a file by hand while a server would run, and wait until a list shows it."""
    watcher = Watcher(graph).start()
    try:
        # The thread looks at everything once, some seconds after it began to watch.
        time.sleep(8)
        passed = []
        for number in range(3):
            shown = graph.recent(limit=1)[0]
            file, title = root / shown.path, f"{number} {shown.title}"
            text = file.read_text().replace(shown.title, title, 1)
            used, began = processor_seconds(), time.perf_counter()
            file.write_text(text)
            while title not in [each.title for each in graph.recall(title, limit=3).memories]:
                assert time.perf_counter() - began < PATIENCE_SECONDS
                time.sleep(0.02)
            passed.append((processor_seconds() - used, time.perf_counter() - began))
        spent, seconds = (statistics.median(column) * 1000 for column in zip(*passed, strict=True))
        table.rows["an edit by hand until recall shows it, while watched"] = spent, seconds
        table.show("an edit by hand until recall shows it, while watched")
    finally:
        watcher.stop()


def measure_reading(table: Table, loom: Loom, graph: Graph, known: Sequence[Memory]) -> None:
    """Ask, list and follow; beside it the plain search of a workspace with as many texts."""
    asked = questions(3 * QUESTIONS)
    graph.recall("warm up")
    table.time("recall", *(partial(graph.recall, cue) for cue in asked[:QUESTIONS]))
    other, texts = loom.workspace("other"), sentences(len(known))
    while batch := [NewObservation(subject_names=[each.split()[0]], content=each) for each in islice(texts, BATCH)]:
        other.semantic.add_observations(batch)
    other.search("warm up")
    beside: dict[str, Callable[..., object]] = {
        "… semantic search of as many observations": other.semantic.search,
        "… search of that workspace": other.search,
    }
    for name, ask in beside.items():
        table.time(name, *(partial(ask, cue, limit=10) for cue in asked[:QUESTIONS]))
    table.time("search with words", *(partial(graph.search, query=cue) for cue in asked[QUESTIONS : 2 * QUESTIONS]))
    hub = max(known, key=lambda each: len(each.relations)).id
    repeated: dict[str, Callable[[], object]] = {
        "list of one type": lambda: graph.search(types=["fix"]),
        "recent": graph.recent,
        "get": lambda: graph.get(hub),
        "related, 2 hops": lambda: graph.related(hub, hops=2),
        "edges of a memory": lambda: graph.edge_search(memory_id=hub),
        "edges, newest first": graph.edge_search,
        "edges by words": lambda: graph.edge_search(query="Redis cache umlauts"),
        "tags": graph.tags,
        "tags suggested for a memory": lambda: graph.tags(action="suggest", id=hub),
        "stats": graph.stats,
    }
    for name, act in repeated.items():
        table.time(name, *[act] * ROUNDS)


def measure_writing(table: Table, graph: Graph, known: Sequence[Memory]) -> None:
    """Store, relate and append, each with a commit, then the daily work."""
    numbers = counted()

    def store(*, connect: bool) -> None:
        title = f"{known[next(numbers)].title} again"
        graph.store(type="fix", title=title, content=title, tags=["redis"], connect=connect)

    table.time("store, related to others by itself", *[lambda: store(connect=True)] * ROUNDS)
    table.time("store alone", *[lambda: store(connect=False)] * ROUNDS)
    pairs = [(known[next(numbers)].id, known[next(numbers)].id) for _ in range(ROUNDS)]
    table.time("relate", *(partial(graph.relate, one, other, "FOLLOWS") for one, other in pairs))
    table.time("append", *(partial(graph.append, one, content="More.") for one, _ in pairs))
    daily: dict[str, Callable[[], object]] = {
        "decay": graph.decay,
        "CORE.md": graph.core,
        "REFLECTION.md": graph.reflection,
        "reflect, nothing written": partial(graph.reflect, dry_run=True),
        "reindex, every file read": graph.reindex,
    }
    for name, act in daily.items():
        table.time(name, act)


def measure_import(table: Table, url: str, root: Path, target: Path) -> None:
    """Import the whole directory into an empty graph under git: one commit."""
    with opened(url, target) as loom:
        graph = loom.workspace().graph
        graph.keep_history()
        table.time("import of all files, one commit", lambda: graph.import_directory(root))
        commits = git(target, "rev-list", "--count", "HEAD")
        loose = git(target, "count-objects").split(" ", 1)[0]
        table.say("… commits, object files", f"{commits}, {loose}")
        changed = git(target, "status", "--porcelain", "--untracked-files=no")
        assert not changed, changed[:1000]
        table.say("… largest memory of the process, MB, with all of the above", f"{largest_memory():,.0f}")


def git(directory: Path, *arguments: str) -> str:
    """Run git as somebody."""
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "gc.auto=0")
    done = subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def largest_memory() -> float:
    """Read the largest memory of this process in MB; macOS counts bytes, Linux kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def measure(files: int, store: str | None) -> Table:
    """Measure one size."""
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memories"
        url = store or f"sqlite:///{folder}/loom.db"
        known: list[Memory] = []
        table.time("writing the files", lambda: known.extend(furnish(root, files)))
        git(root, "init", "-q", "--initial-branch=main")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "all of it")
        measure_opening(table, url, root, files)
        with opened(url, root) as loom:
            graph = loom.workspace().graph
            there = [each for each in known if (root / each.path).exists()]
            measure_reading(table, loom, graph, there)
            measure_writing(table, graph, there)
            measure_watching(table, graph, root)
        if store is None:
            shutil.rmtree(root / ".everloom")
            measure_import(table, f"sqlite:///{folder}/import.db", root, Path(folder) / "imported")
    return table


def main() -> None:
    """Read the command line, measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--store", metavar="URL", help="an empty PostgreSQL database, for one size")
    given = parser.parse_args()
    tables = {files: measure(files, given.store) for files in given.files}
    names = list(dict.fromkeys(name for table in tables.values() for name in table.rows))
    lines = [f"| ms of CPU / on the clock | {' | '.join(f'{files:,} files' for files in tables)} |"]
    lines.append(f"|---|{'---|' * len(tables)}")
    lines += [f"| {name} | {' | '.join(table.cell(name) for table in tables.values())} |" for name in names]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
