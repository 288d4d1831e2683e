"""A process that forks writers on demand, so that tests can kill many of them without paying for their imports.

Reads commands from its input, one a line; it and its writers answer on its output. A line of a writer is one write to
the pipe, so it is there whole or not at all when the writer is killed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from everloom.clock import SystemClock
from everloom.errors import EverloomError
from everloom.kernel.journal import append_event, count_access
from everloom.kernel.search import Standing
from everloom.loom import Loom, Workspace
from everloom.models.embed import EmbeddingTask
from everloom.models.static import multilingual as static
from everloom.store import Unit, migrations
from everloom.store.postgresql.unit import PostgresUnit
from everloom.store.sqlite.unit import SqliteUnit
from everloom.store.transfer import restore
from tests.patience import PATIENCE
from tests.store.ground import NOW, Child, insight, note, open_at, retire, revise

MEETING = 4
CODE = "from tests.store.nursery import main; main()"


def say(*words: object) -> None:
    """Write one line to the pipe, at once and whole."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def write_until_killed(url: str, seed: int) -> NoReturn:
    """Write through the API for ever, and acknowledge each operation when it has returned."""
    chance = random.Random(seed)
    with open_at(url, SystemClock()) as loom:
        while True:
            place = loom.workspace(chance.choice(["james", "audrey"]), session=f"writer {seed}")
            write_something(place, chance)


def write_something(place: Workspace, chance: random.Random) -> None:
    """Carry out one operation that touches several tables."""
    text = " ".join(chance.choices("tide harbour keel rope gull lamp fog chart mast anchor sail crew".split(), k=8))
    ids = place.add([note(f"{text} {number}") for number in range(chance.randint(1, 3))])
    say("added", place.info.id, *ids)
    match chance.randrange(4):
        case 0:
            revise(place, ids[0], note(f"revised {text}"))
            say("revised", place.info.id, ids[0])
        case 1:
            retire(place, ids[0])
            say("retired", place.info.id, ids[0])
        case 2:
            place.mark(ids[0], "useful")
            say("marked", place.info.id, ids[0])


def hammer(url: str, item: int, times: int) -> None:
    """Count accesses and write notes from four threads; say whatever goes wrong."""
    with open_at(url, SystemClock()) as loom:
        place = loom.workspace("james")

        def strike(_: int) -> None:
            for number in range(times):
                try:
                    with loom.store.write(place.info.id) as unit:
                        count_access(unit, [item], NOW)
                    if number % 4 == 0:
                        place.add([note(f"strike {number}")])
                    place.search("strike", limit=3)
                except EverloomError as error:
                    say("error", repr(error))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(strike, range(4)))


def die_at(url: str, step: int, *old: int) -> None:
    """Carry out one large operation and kill this process just before its statement number `step`."""
    with open_at(url) as loom:
        place = loom.workspace("james")
        prepared = loom.index.prepare([note("The storm took the mast."), insight("Storms take masts.")])
        with killing_at(step):
            whole_operation(loom, place, prepared, old)
    say("survived")


def whole_operation(loom: Loom, place: Workspace, prepared: Any, old: Sequence[int]) -> None:
    """Add, cover, retire and revise in one unit of work."""
    with loom.store.write(place.info.id) as unit:
        ids = loom.index.add(unit, prepared, NOW)
        loom.index.cover(unit, ids[1], [ids[0], old[0]])
        loom.index.retire(unit, [old[0]], ids[1], NOW)
        changed = loom.index.prepare([note("The calm came back.", standing=Standing.EVIDENCE)])
        loom.index.revise(unit, old[1], changed, NOW)
        count_access(unit, [old[1]], NOW)


@contextlib.contextmanager
def killing_at(step: int, *places: tuple[Any, str]) -> Iterator[Callable[[], int]]:
    """Let every statement count, or every call of `places`, and none be reached after the last one allowed."""
    left = step

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **kwargs)

        return call

    # What is sent waits at first: the process dies before it waits, before a round trip, and in the middle of one.
    statements: list[tuple[Any, str]] = [(SqliteUnit, "_execute"), (SqliteUnit, "many")]
    statements += [(PostgresUnit, "_wait_with"), (PostgresUnit, "_reach"), (psycopg.Cursor, "executemany")]
    for kind, name in places or statements:
        setattr(kind, name, counted(getattr(kind, name)))
    yield lambda: left


def chain(url: str, count: int) -> None:
    """Write events that each note the newest one before it."""
    with open_at(url) as loom:
        place = loom.workspace("james").info.id
        for _ in range(count):
            with loom.store.write(place) as unit:
                append_event(unit, "seen", {"newest": newest(unit)}, NOW, None)


def newest(unit: Unit) -> int:
    """Find the newest event that is committed."""
    rows = unit.all("kernel.event_recent", before=2**62, limit=1)
    return int(rows[0]["id"]) if rows else 0


def open_and_migrate(url: str) -> None:
    """Open a store as a program that knows one migration more."""
    from tests.store.test_migration import ADDITION, with_step

    migrations.steps = with_step(ADDITION)  # type: ignore[assignment]
    with open_at(url) as loom:
        say("opened", len(loom.workspaces.list()))


def meet(url: str, folder: str, me: int, items: int) -> None:
    """Write items and announce each once it is committed; look at once for each that another process announces."""
    with open_at(url, SystemClock()) as loom:
        place = loom.workspace("james")
        others = [heard(Path(folder, str(each))) for each in range(MEETING) if each != me]
        looked, written, end = 0, 0, time.monotonic() + PATIENCE
        with Path(folder, str(me)).open("ab", buffering=0) as mine:
            while (written < items or looked < items * len(others)) and time.monotonic() < end:
                if written < items:
                    word = f"qu{me}x{written}"
                    (item,) = place.add([note(f"The boat {word} is moored where the tide turns.")])
                    mine.write(f"{item} {word}\n".encode())
                    written += 1
                announced = [*itertools.chain.from_iterable(next(each) for each in others)]
                time.sleep(0.0 if announced or written < items else 0.002)
                for item, word in announced:
                    looked += 1
                    if item not in [hit.id for hit in place.search(f"where does the boat {word} lie?", limit=3)]:
                        say("missing", item, word)
    say("looked", looked)


def heard(file: Path) -> Iterator[list[tuple[int, str]]]:
    """Read again and again what was announced since the last time; a line is one write, so it is there whole."""
    place = 0
    while True:
        text = file.read_bytes()[place:] if file.exists() else b""
        place += len(text)
        yield [(int(item), word) for item, word in map(str.split, text.decode().splitlines())]


def visit(url: str, end: str) -> None:
    """Open the store, add one note and close it, until a file exists; acknowledge each note that was taken."""
    deadline, chance = time.monotonic() + PATIENCE, random.Random(os.getpid())
    while not Path(end).exists() and time.monotonic() < deadline:
        # Away more often than here: a restore waits for a moment when nobody is.
        time.sleep(chance.uniform(0.05, 0.5))
        word = f"visit{os.getpid()}x{time.monotonic_ns()}"
        try:
            with open_at(url, SystemClock()) as loom:
                loom.workspace("james").add([note(word)])
        except EverloomError as error:
            say("refused", type(error).__name__)
        else:
            say("added", word)


def restore_and_die(source: str, url: str, step: int) -> None:
    """Restore a backup, and kill this process at step number `step` of making, moving or syncing files or rows."""
    with killing_at(step, (os, "link"), (os, "replace"), (os, "fsync"), (psycopg.Connection, "execute")) as left:
        restore(Path(source), url, SystemClock(), force=True, wait=PATIENCE)
    say("survived", step - left())


def forget_and_die(url: str, item: int, step: int) -> None:
    """Forget an item, and kill this process before statement number `step` of it."""
    with open_at(url) as loom:
        place = loom.workspace("james")
        token = place.forget([item]).confirm
        with killing_at(step):
            place.forget([item], confirm=token)
    say("survived")


TASKS: dict[str, Callable[..., object]] = {
    "visit": visit,
    "restore": restore_and_die,
    "meet": meet,
    "write": write_until_killed,
    "hammer": hammer,
    "die": die_at,
    "forget": forget_and_die,
    "chain": chain,
    "migrate": open_and_migrate,
}


def main() -> None:
    """Fork a writer for each command, and say its process id; an empty command waits for all of them to end."""
    embedder = static.MultilingualStaticEmbedder()
    embedder.embed(["warm"], EmbeddingTask.DOCUMENT)
    static.MultilingualStaticEmbedder = lambda: embedder  # type: ignore[assignment, misc]
    writers: list[int] = []
    say("ready")
    for line in sys.stdin:
        task, *words = line.split()
        if task == "reap":
            for writer in writers:
                os.waitpid(writer, 0)
            writers.clear()
            say("reaped")
            continue
        writer = os.fork()
        if not writer:
            run(task, words)
        writers.append(writer)
        say("forked", writer)


def run(task: str, words: list[str]) -> NoReturn:
    """Do what was asked and end, without anything of the parent's."""
    try:
        TASKS[task](*(int(word) if word.isdecimal() else word for word in words))
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  whatever it is, the test must hear of it
        say("error", repr(error))
        os._exit(1)


class Nursery:
    """The test's end of that process."""

    def __init__(self) -> None:
        self._child = Child(CODE)
        assert self._child.line() == "ready"
        self._heard: list[list[str]] = []

    def start(self, task: str, *words: object) -> int:
        """Have a writer started; the answer is its process id."""
        self._child.tell(" ".join(map(str, [task, *words])))
        return int(self._until("forked")[1])

    def reap(self) -> list[list[str]]:
        """Wait until every writer has ended; the answer is all that they said since the last time."""
        self._child.tell("reap")
        self._until("reaped")
        heard, self._heard = self._heard, []
        return heard

    def hear(self, count: int) -> None:
        """Wait until the writers have said so much more."""
        for _ in range(count):
            self._heard.append(self._child.line().split())

    def _until(self, word: str) -> list[str]:
        while True:
            said = self._child.line().split()
            if said[0] == word:
                return said
            self._heard.append(said)

    def close(self) -> None:
        """End it."""
        self._child.__exit__()
