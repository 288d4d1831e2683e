"""What happens to the processes and the store of a trial: kills, freezes, a disk without room, servers that go away.

A fault begins, lasts for a moment and ends; what was stopped goes on, what was killed is started again.
"""

from __future__ import annotations

import random
import resource
import signal
import sqlite3
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

import psutil

from tests.engines import PostgresServer
from tests.histories.surfaces import HttpServer, Program
from tests.patience import wait_until


class Fault(ABC):
    """One kind of misfortune; `count` says how often it has struck."""

    def __init__(self) -> None:
        self.count = 0

    @abstractmethod
    def strike(self, chance: random.Random) -> None:
        """Let it happen once, and end."""


def living(programs: Sequence[Program]) -> list[Program]:
    """List the programs whose process runs now."""
    return [each for each in programs if each.process is not None and each.process.poll() is None]


class Kill(Fault):
    """`kill -9` of a client's process, of a worker, or of a server that several clients share."""

    def __init__(self, programs: Sequence[Program]) -> None:
        super().__init__()
        self._programs = programs

    def strike(self, chance: random.Random) -> None:
        """Kill one process at any moment of its work."""
        time.sleep(chance.uniform(0.0, 0.05))
        targets = living(self._programs)
        if not targets:
            return
        target = chance.choice(targets)
        target.kill()
        self.count += 1
        target.revive()


class Stop(Fault):
    """SIGTERM to a server or a worker: it ends what it has begun, and somebody starts it again."""

    def __init__(self, programs: Sequence[Program]) -> None:
        super().__init__()
        self._programs = programs

    def strike(self, chance: random.Random) -> None:
        """Stop one process and start it again."""
        target = chance.choice(self._programs)
        target.end()
        self.count += 1
        target.revive()


class Freeze(Fault):
    """A process that stops in the middle of its work, perhaps while it holds a lock, and goes on later."""

    def __init__(self, programs: Sequence[Program]) -> None:
        super().__init__()
        self._programs = programs

    def strike(self, chance: random.Random) -> None:
        """Stop one process for a moment."""
        targets = living(self._programs)
        if not targets:
            return
        process = chance.choice(targets).process
        assert process is not None
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGSTOP)
            try:
                time.sleep(chance.uniform(0.1, 0.6))
            finally:
                process.send_signal(signal.SIGCONT)
        self.count += 1


class FullDisk(Fault):
    """No file of the store may grow: what a full disk does to every process that has it open."""

    def __init__(self, programs: Sequence[Program], file: Path) -> None:
        super().__init__()
        self._programs = programs
        self._file = file

    def strike(self, chance: random.Random) -> None:
        """Take the room away from all processes for a moment."""
        # The limit is on each file, so the smaller one, which is the log as a rule, decides.
        log = self._file.with_name(f"{self._file.name}-wal")
        most = log.stat().st_size if log.exists() else self._file.stat().st_size
        targets = [each.process for each in living(self._programs) if each.process is not None]
        for process in targets:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        time.sleep(chance.uniform(0.2, 0.6))
        for process in targets:
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.count += 1


class Switch(Fault):
    """The file is moved aside with its log, and a copy of an hour ago put in its place; it happens once.

    Clients that have it open must not go on writing into the file that nobody will look at any more.
    """

    def __init__(self, file: Path, kept: Path, server: HttpServer) -> None:
        super().__init__()
        self._file = file
        self._kept = kept
        self._server = server
        self.at = 0.0

    def strike(self, chance: random.Random) -> None:
        """Switch the files after a while."""
        if self.count:
            return
        copy = self._file.with_name("copy.db")
        with closing(sqlite3.connect(self._file)) as reader:
            reader.execute("VACUUM INTO ?", (str(copy),))
        time.sleep(chance.uniform(1.0, 2.0))
        # Held during the switch, so that no write is half done; whoever comes next finds another file.
        with closing(sqlite3.connect(self._file, timeout=60, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            for tail in ("-wal", "-shm", ""):
                part = self._file.with_name(self._file.name + tail)
                if part.exists():
                    part.rename(self._kept.with_name(self._kept.name + tail))
            copy.rename(self._file)
            self.at = time.monotonic()
            holder.execute("ROLLBACK")
        self.count += 1
        # It says that it is not ready any more, and whoever runs it starts it again.
        wait_until(lambda: not self._server.is_ready(), "the server to notice")
        self._server.start()


class ServerGone(Fault):
    """PostgreSQL is restarted, crashes, or is killed, and comes back."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__()
        self._server = server

    def strike(self, chance: random.Random) -> None:
        """Take the server away and bring it back."""
        ways: list[Callable[[], None]] = [
            lambda: self._server.stop("fast"),
            lambda: self._server.stop("immediate"),
            self._server.kill,
        ]
        chance.choice(ways)()
        self._server.start()
        self.count += 1


class Failover(Fault):
    """The primary of PostgreSQL is killed for good, and its synchronous standby takes over.

    With `programs`, one of them is killed at the same time, and starts when there is a primary again. With `is_lasting`
    the place of the former primary is taken by a new standby, so that it can happen again; otherwise it happens once.
    """

    def __init__(
        self,
        primary: PostgresServer,
        standby: PostgresServer,
        programs: Sequence[Program] = (),
        *,
        is_lasting: bool = False,
    ) -> None:
        super().__init__()
        self.primary = primary
        self.standby = standby
        self._programs = programs
        self._is_lasting = is_lasting

    def strike(self, chance: random.Random) -> None:
        """Let the standby take over after a while."""
        if self.count and not self._is_lasting:
            return
        # A standby that hangs for a moment confirms nothing, and nothing may be acknowledged that only the primary has.
        with frozen(self.standby) if chance.random() < 0.5 else nullcontext():
            time.sleep(chance.uniform(0.5, 1.5))
            self.primary.kill()
        victims = chance.sample(living(self._programs), min(1, len(self._programs)))
        for victim in victims:
            victim.kill()
        self.standby.promote()
        for victim in victims:
            victim.revive()
        self.count += 1
        if self._is_lasting:
            former = self.primary
            self.primary = self.standby
            former.remove()
            self.standby = self.primary.make_standby(former.home)


class ServerFrozen(Fault):
    """All processes of PostgreSQL stop for a moment, with their connections open."""

    def __init__(self, server: Callable[[], PostgresServer]) -> None:
        super().__init__()
        self._server = server

    def strike(self, chance: random.Random) -> None:
        """Stop the server for a moment."""
        with frozen(self._server()):
            time.sleep(chance.uniform(0.1, 0.5))
        self.count += 1


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """Stop all processes of a server, and let them go on afterwards."""
    postmaster = psutil.Process(server.pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in reversed(processes):
            with suppress(psutil.NoSuchProcess):
                process.resume()


def counts(faults: Sequence[Fault]) -> Counter[str]:
    """Say how often each kind has struck."""
    found: Counter[str] = Counter()
    for fault in faults:
        found[type(fault).__name__] += fault.count
    return found
