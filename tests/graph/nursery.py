"""A process that forks workers which die at a chosen step, so that tests can kill many without paying for imports.

Every step counts: each change of a file, each statement of a unit of work. A line of a worker is one write to the pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from everloom.graph import Graph
from everloom.graph.files.disk import Disk
from everloom.models.embed import EmbeddingTask
from everloom.models.static.multilingual import MultilingualStaticEmbedder
from everloom.store.postgresql.unit import PostgresUnit
from everloom.store.sqlite.unit import SqliteUnit
from tests.graph.ground import keep, open_with
from tests.store.ground import Child

CODE = "from tests.graph.nursery import main; main()"
FILE_STEPS = ("stage", "put", "drop", "append", "clear")
# A transaction is all or nothing, which the store's own tests prove: one statement of each is enough, unless all are
# wanted.
TELLING = ("graph.intent_add", "graph.intent_indexed", "graph.intent_drop", "kernel.event_add", "kernel.receipt_add")


def first(graph: Graph, title: str) -> str:
    return next(each.id for each in graph.recent(limit=100) if each.title == title)


def operations(source: str) -> dict[str, Callable[[Graph], object]]:
    """Name the operations that are killed."""
    return {
        "store": lambda graph: keep(graph, "New solution of the keel", "solution", connect=True, tags=("keel",)),
        "relate": lambda graph: graph.relate(first(graph, "Anchor"), first(graph, "Chart"), "REQUIRES", context="c"),
        "delete": lambda graph: graph.delete(first(graph, "Keel")),
        "update": lambda graph: graph.update(first(graph, "Keel"), title="Keel renamed", type="decision"),
        "merge": lambda graph: graph.merge(first(graph, "Chart"), first(graph, "Keel")),
        "import": lambda graph: graph.import_directory(Path(source)),
        "pin": lambda graph: graph.pin(first(graph, "Keel")),
        "keyed store": lambda graph: keep(graph, "Rudder", connect=True, tags=("keel",), idempotency_key="k"),
        "keyed append": lambda graph: graph.append(first(graph, "Keel"), content="Once more.", idempotency_key="k"),
        "keyed episode": lambda graph: graph.episode("Sailed out", idempotency_key="k"),
    }


@contextlib.contextmanager
def killing_at(step: int, *, every_statement: bool) -> Iterator[None]:
    """Let every step count, and none be reached after the last one allowed."""
    left = step

    def counted(method: Callable[..., Any], *, is_statement: bool) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= int(not is_statement or every_statement or args[1] in TELLING)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*args, **kwargs)

        return call

    for name in FILE_STEPS:
        setattr(Disk, name, counted(getattr(Disk, name), is_statement=False))
    for kind in (SqliteUnit, PostgresUnit):
        for name in ("_execute", "many"):
            setattr(kind, name, counted(getattr(kind, name), is_statement=True))
    yield


def perform(url: str, directory: str, source: str, operation: str, step: int) -> None:
    """Carry out one operation and die just before its step number `step`."""
    with open_with(url, Path(directory)) as loom:
        graph = loom.workspace().graph
        name, mark, _ = operation.partition("!")
        act = operations(source)[name]
        with killing_at(step, every_statement=bool(mark)):
            act(graph)
    os.write(1, b"survived\n")


def main() -> None:
    """Fork a worker for each command, and say when it has ended."""
    MultilingualStaticEmbedder().embed(["warm"], EmbeddingTask.DOCUMENT)
    with tempfile.TemporaryDirectory() as folder, open_with(f"sqlite:///{folder}/loom.db", Path(folder) / "g") as loom:
        # Whatever is loaded when it is first used is loaded here, once.
        keep(loom.workspace().graph, "Warm", connect=True)
    os.write(1, b"ready\n")
    for line in sys.stdin:
        *words, step = line.rstrip("\n").split("\t")
        worker = os.fork()
        if not worker:
            try:
                url, directory, source, operation = words
                perform(url, directory, source, operation, int(step))
                os._exit(0)
            except BaseException as error:  # noqa: BLE001  whatever it is, the test must hear of it
                os.write(1, f"error {error!r}\n".encode())
                os._exit(1)
        os.waitpid(worker, 0)
        os.write(1, b"ended\n")


class Nursery:
    """The test's end of that process."""

    def __init__(self) -> None:
        self._child = Child(CODE)
        assert self._child.line() == "ready"

    def kill(self, url: str, directory: Path, source: Path, operation: str, step: int) -> list[str]:
        """Have an operation killed at a step; the answer is what the worker said."""
        self._child.tell("\t".join([url, str(directory), str(source), operation, str(step)]))
        said = []
        while (line := self._child.line()) != "ended":
            said.append(line)
        return said

    def close(self) -> None:
        """End it."""
        self._child.__exit__()
