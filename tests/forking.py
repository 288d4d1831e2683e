"""Starts Python programs without paying for their imports: a process that has them all forks when it is asked.

`Popen` is that of `subprocess`, and what it starts is a process with its own memory, files and id, and a child of the
test. Not for tests of what a program imports or of how it starts: those use `subprocess`, as does whatever a fork could
not show truly (another interpreter, another source, a terminal).
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, AnyStr, NoReturn

import everloom
from everloom.kernel.search.judging.judge import told, wanted
from everloom.kernel.search.question import ask, is_question
from everloom.models.embed import EmbeddingTask
from everloom.models.static.multilingual import MultilingualStaticEmbedder
from everloom.semantic.recall.naming import name_keys, read_overview
from everloom.store.statements import statements
from everloom.wiring.faculties import FACULTIES

ROOT = Path(__file__).resolve().parents[1]
# What programs of ours import sooner or later, beside our own modules, and what tests run in processes of their own.
IMPORTS = (
    "anthropic",
    "anyio._backends._asyncio",
    "rich.logging",
    "safetensors",
    "tests.store.nursery",
    "tokenizers",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.websockets.auto",
)
# PR_SET_CHILD_SUBREAPER of prctl(2).
SUBREAPER = 36
_lock = threading.Lock()


class Popen(subprocess.Popen[AnyStr]):
    """A process that is forked where it can be, and started as usual where it cannot."""

    def _execute_child(self, *given: Any) -> None:
        """Start the process, as the names of what is given there have been since Python 3.11."""
        arguments, executable, preexec, close, passed, directory, environment, *rest = given
        environment = dict(os.environ if environment is None else environment)
        pipes, is_plain = rest[3:9], not (executable or preexec or passed or rest[2] or rest[14]) and close
        files = [own if theirs == -1 else theirs for own, theirs in enumerate(pipes[side] for side in (0, 3, 5))]
        if not (
            is_plain
            and rest[9]
            and {*rest[10:14], *rest[15:]} <= {None, -1}
            and _may_fork(arguments, environment, files)
        ):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        said = {"arguments": arguments[1:], "directory": str(directory or Path.cwd()), "environment": environment}
        self.pid = _forked(said, files)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _may_fork(arguments: Any, environment: dict[str, str], files: list[int]) -> bool:
    if sys.platform != "linux" or isinstance(arguments, str) or arguments[0] != sys.executable:
        return False
    places = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    is_usual = set(places) <= {str(ROOT), str(ROOT / "src")} and _started_with(environment) == _started_with(os.environ)
    return arguments[1] in ("-c", "-m") and is_usual and not any(map(os.isatty, files))


def _started_with(environment: Mapping[str, str]) -> dict[str, str]:
    """Choose what Python reads when it starts: a fork has started already, with what this process has."""
    read = ("PYTHON", "COVERAGE", "COV_", "LANG", "LC_")
    return {name: value for name, value in environment.items() if name.startswith(read) and name != "PYTHONPATH"}


@cache
def _original() -> socket.socket:
    """Start the process that forks; it ends when nothing more can come from this one."""
    ours, theirs = socket.socketpair()
    places = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    # Threads would not outlive a fork.
    environment = {**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from tests.forking import main; main()"]
    process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _forked(said: dict[str, Any], files: list[int]) -> int:
    """Have a process forked; it is a child of this one, whom the kernel gives it to when its own parent has ended."""
    with _lock, os.fdopen(os.memfd_create("request"), "w+b") as request:
        original = _original()
        request.write(json.dumps(said).encode())
        request.flush()
        control = ctypes.CDLL(None).prctl
        control(SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(original, [b"."], [request.fileno(), *files])
            return int.from_bytes(original.recv(8), "big")
        finally:
            control(SUBREAPER, 0, 0, 0, 0)


def main() -> None:
    """Fork for every request, and be what it asks for in the fork."""
    asked = socket.socket(fileno=os.dup(0))
    for name in (*IMPORTS, *_own_modules()):
        importlib.import_module(name)
    _warm()
    gc.freeze()
    while True:
        word, files, _, _ = socket.recv_fds(asked, 1, 4)
        if not word:
            return
        held, release = os.pipe()
        between = os.fork()
        if between == 0:
            os.close(release)
            if os.fork():
                os._exit(0)
            # Not before the process between is gone, or this one would have the wrong parent for a moment.
            os.read(held, 1)
            asked.send(os.getpid().to_bytes(8, "big"))
            asked.close()
            os.close(held)
            _end(_become(files))
        os.waitpid(between, 0)
        for each in (held, release, *files):
            os.close(each)


def _own_modules() -> Iterator[str]:
    """List all modules of ours but those that need what is not installed here."""
    for each in pkgutil.walk_packages(everloom.__path__, "everloom."):
        if not each.name.startswith("everloom.surfaces.adapters.") and each.name != "everloom.__main__":
            yield each.name


def _warm() -> None:
    """Make once what every program keeps that has made it."""
    for engine in ("sqlite", "postgresql"):
        statements(engine)
    for faculty in FACULTIES.values():
        assert faculty.verbs
    question = "How old is Ann, who sails?"
    MultilingualStaticEmbedder().embed([question], EmbeddingTask.QUERY)
    ask(question, 0)
    told(wanted(question), "Ann sails.")
    is_question(question)
    read_overview(question, dict.fromkeys(name_keys(question), 1))


def _become(files: list[int]) -> int:
    """Run what was asked for; gives the code to end with."""
    with os.fdopen(files[0], "rb") as request:
        request.seek(0)
        said = json.load(request)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(files[1 + number], number)
        os.close(files[1 + number])
        old, soon = getattr(sys, name), number == 2 or "PYTHONUNBUFFERED" in said["environment"]
        new = open(number, old.mode, 1 if soon else -1, old.encoding, old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
    os.chdir(said["directory"])
    os.environ.clear()
    os.environ.update(said["environment"])
    time.tzset()
    way, what, *rest = said["arguments"]
    sys.path[0] = "" if way == "-c" else said["directory"]
    sys.argv = [way, *rest]
    try:
        if way == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = program = types.ModuleType("__main__")
            exec(compile(what, "<string>", "exec"), vars(program))
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
        return int(ended.code is not None) if not isinstance(ended.code, int) else ended.code
    except BaseException:  # noqa: BLE001  as the interpreter does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End as the interpreter does, but for taking apart all that was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code & 0xFF)
