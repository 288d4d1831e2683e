"""A process that forks travellers on demand and kills each with -9 after a number of transactions, or at a step.

Reads commands from its input, one a line of JSON, and answers when the fork has ended: `killed`, `done`, or an error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everloom.exports import move, read
from everloom.kernel.travel import Travel
from everloom.store.postgresql.store import PostgresStore
from everloom.store.sqlite.store import SqliteStore
from everloom.wiring.places import Places
from tests.exports.ground import open_there
from tests.forking import Popen
from tests.patience import reading

CODE = "from tests.exports.doomed import main; main()"
STEPS: dict[str, type] = {"leave": Travel, "show": Travel, "depart": Travel, "remove": Places}


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _doom(after: int | None, step: str | None) -> None:
    """Die when so many transactions have been begun, or after a step."""
    begun = 0
    for kind in (SqliteStore, PostgresStore):
        original: Callable[..., Any] = kind.write

        @contextmanager
        def write(self: Any, *args: Any, original: Callable[..., Any] = original, **named: Any) -> Iterator[Any]:
            nonlocal begun
            begun += 1
            with original(self, *args, **named) as unit:
                yield unit
                if begun == after:
                    _die()

        kind.write = write  # type: ignore[method-assign]
    if step is not None:
        name, _, when = step.partition(" ")
        whole = getattr(STEPS[name], name)

        def stepping(self: Any, *args: Any, **named: Any) -> Any:
            if when == "before":
                _die()
            done = whole(self, *args, **named)
            _die()
            return done

        setattr(STEPS[name], name, stepping)


def _travel(said: dict[str, Any]) -> None:
    _doom(said.get("after"), said.get("step"))
    if said["do"] == "read":
        with open_there(said["to"]) as loom:
            read(loom, said["folder"], own=True)
    else:
        with open_there(said["from"]) as loom, open_there(said["to"]) as target:
            move(loom, said["workspace"], target)


def main() -> None:
    """Answer each command."""
    for line in sys.stdin:
        number = os.fork()
        if number == 0:
            try:
                _travel(json.loads(line))
                os._exit(0)
            except BaseException as error:  # noqa: BLE001  said to whoever started it
                sys.stderr.write(f"{error!r}\n")
                sys.stderr.flush()
                os._exit(1)
        _, status = os.waitpid(number, 0)
        said = "killed" if os.WIFSIGNALED(status) else "done" if status == 0 else "failed"
        os.write(1, f"{said}\n".encode())


class Doomed:
    """Starts travellers and says what became of them."""

    def __init__(self) -> None:
        self._process = Popen(
            [sys.executable, "-c", CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def go(self, **said: Any) -> str:
        """Let one travel, and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()
        with reading(self._process, "a traveller to end"):
            return self._process.stdout.readline().strip()

    def end(self) -> None:
        """Stop."""
        self._process.kill()
        self._process.communicate()
