"""Speaking with an adapter: a process of its own, a line of JSON each way, and an end of patience.

Knows no memory and no measure.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import psutil

from benchmarks.peers.environment import Environment
from benchmarks.peers.roster import ROOT, Peer

# What must not leak from the harness into a memory's environment.
OWN = ("PYTHON", "VIRTUAL_ENV", "EVERLOOM_", "MCP_", "MEM0_", "XDG_")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


class Failed(Exception):
    """A memory that could not do what was asked."""


class OutOfTime(Failed):
    """A memory that took longer than it was given."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an adapter answered, and how long the memory took for it."""

    seconds: float
    value: Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """What every memory may use alike: seconds for one corpus, and threads for its arithmetic (None: its choice)."""

    seconds: float
    threads: int | None = None

    def variables(self) -> dict[str, str]:
        """Say it in the words of the libraries that calculate."""
        return {} if self.threads is None else dict.fromkeys(THREADS, str(self.threads))


class Dialogue:
    """A running adapter over a folder. Use it as a context manager; whatever runs still is ended with it."""

    def __init__(self, peer: Peer, environment: Environment, bounds: Bounds, folder: Path) -> None:
        self.began = time.perf_counter()
        self._ends = self.began + bounds.seconds
        self._bounds = bounds
        self._log = folder / "adapter.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [environment.python, "-m", f"benchmarks.peers.adapters.{peer.adapter}", str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env={**variables(peer, environment, folder), **bounds.variables()},
                text=True,
                encoding="utf-8",
            )
        if self._process.stdin is None or self._process.stdout is None:
            raise Failed("no pipes")
        self._requests: IO[str] = self._process.stdin
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def ask(self, do: str, **arguments: Any) -> Reply:
        """Ask for one thing and wait for its answer."""
        try:
            self._requests.write(json.dumps({"do": do, **arguments}) + "\n")
            self._requests.flush()
            line = self._lines.get(timeout=max(0.001, self.left))
        except queue.Empty:
            raise OutOfTime(f"cut after {self._bounds.seconds:.0f} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"].splitlines()[0])
        return Reply(answer["seconds"], answer["value"])

    @property
    def left(self) -> float:
        """Say how many seconds are left."""
        return self._ends - time.perf_counter()

    def resident_mb(self, in_children: bool) -> float:
        """Sum up the memory of the processes that hold the texts."""
        process = psutil.Process(self._process.pid)
        children = process.children(recursive=True)
        counted = children if in_children else [process, *children]
        return float(sum(each.memory_info().rss for each in counted)) / 1e6

    def cpu_seconds(self) -> float:
        """Sum up the processor's time of the adapter and of what it started."""
        process = psutil.Process(self._process.pid)
        spent = [each.cpu_times() for each in (process, *process.children(recursive=True))]
        return float(sum(each.user + each.system for each in spent))

    def __enter__(self) -> Dialogue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        children = psutil.Process(self._process.pid).children(recursive=True) if self._process.poll() is None else []
        try:
            # The end of its input is what ends an adapter; one that failed is not waited for.
            self._requests.close()
            self._process.wait(timeout=0.1 if error else 20)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        for child in children:
            if child.is_running():
                child.kill()
        self._reader.join()

    def _read(self, answers: IO[str]) -> None:
        with answers:
            for line in answers:
                self._lines.put(line)
        self._lines.put("")

    def _last_words(self) -> str:
        said = [line for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        return said[-1] if said else f"ended with {self._process.poll()}"


def variables(peer: Peer, environment: Environment, folder: Path) -> Mapping[str, str]:
    """Lay out the variables of an adapter: a home of its own, no hub, nothing of the harness."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    return {
        **kept,
        "HOME": str(folder),
        "PEERS_HOME": environment.home,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "ANONYMIZED_TELEMETRY": "False",
        **peer.variables,
    }
