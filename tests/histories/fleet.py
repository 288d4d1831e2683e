"""A fleet as docs/deploy.md describes it: servers behind a balancer, workers, a PostgreSQL primary and its standby.

Owns how they are started, and the work that waits for the workers. What happens to them is in `faults`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.engines import ROLE, PostgresServer
from tests.histories.balancer import Balancer, balancer_of
from tests.histories.faults import Fault
from tests.histories.surfaces import Door, HttpServer, JsonApi, McpHttp, Program, Surface
from tests.kernel.crew import SCENES, assert_patrols_were_done_once, settle
from tests.patience import wait_until
from tests.store.ground import asking
from tests.surfaces.mcp.ground import PROGRAM

# As in deploy/compose.yaml; longer than HAProxy needs to see that a server is not ready any more.
SETTINGS = {
    "EVERLOOM_SERVER_PROXIES": "127.0.0.1",
    "EVERLOOM_SERVER_DRAIN_SECONDS": "2",
    "EVERLOOM_SERVER_STOP_SECONDS": "30",
    "EVERLOOM_EPISODIC_PATROL": "worker",
    "EVERLOOM_EPISODIC_PATROL_AT": str(SCENES),
}
# Workspaces with a patrol that waits, made at a time.
CHORES = 3


class Worker(Program):
    """`everloom worker`, which says on a port of its own that it is up."""

    def __init__(self, url: str, home: Path, **settings: str) -> None:
        self._door = Door()
        super().__init__(url, home, **settings, EVERLOOM_METRICS_WORKER_PORT=str(self._door.port))

    def revive(self) -> None:
        """Start it, again if it was killed, and wait until it works."""
        self.close()
        self.process = self.spawn(*PROGRAM, "worker", "--store", self.url, "--every", "0.5")
        wait_until(lambda: self._door.is_ready("/health"), "the worker to be up", process=self.process)


class Chores(Fault):
    """Workspaces come with work that waits for a worker: no misfortune by itself, but work during which some strike."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def strike(self, chance: random.Random) -> None:
        """Make a few workspaces whose scenes wait for a patrol."""
        del chance
        settle(self._url, CHORES, first=self.made, graphs=0)
        self.count += 1

    @property
    def made(self) -> int:
        """How many workspaces there are by now."""
        return self.count * CHORES

    def assert_done_once(self) -> None:
        """Prove that the workers have done all of it, and none of it twice."""
        with asking(self._url) as ask:
            ended = "SELECT COUNT(*) AS n FROM patrol WHERE ended_at IS NOT NULL"
            wait_until(lambda: ask(ended)[0]["n"] >= self.made, "the workers to have done everything", step=0.1)
            bare = "SELECT COUNT(*) AS n FROM document WHERE embedded_by <= 0"
            wait_until(lambda: not ask(bare)[0]["n"], "the workers to have embedded everything", step=0.1)
            assert_patrols_were_done_once(ask, self.made)


class Cut(Fault):
    """The balancer dies and is there again: answers that were on their way are lost, whatever the servers have done."""

    def __init__(self, door: Balancer) -> None:
        super().__init__()
        self._door = door

    def strike(self, chance: random.Random) -> None:
        """Break every connection at any moment."""
        time.sleep(chance.uniform(0.0, 0.05))
        self._door.cut()
        self.count += 1


@dataclass(frozen=True)
class Fleet:
    """What a trial of a fleet consists of."""

    url: str
    servers: Sequence[HttpServer]
    workers: Sequence[Worker]
    surfaces: Sequence[Surface]
    door: Balancer
    chores: Chores

    @property
    def programs(self) -> list[Program]:
        """Everything that may be killed and stopped."""
        return [*self.servers, *self.workers]

    def end(self) -> None:
        """Tell all of it to stop, and wait until it has."""
        with ThreadPoolExecutor() as threads:
            list(threads.map(Program.end, self.programs))


@contextmanager
def replicated(primary: PostgresServer) -> Iterator[tuple[PostgresServer, str]]:
    """Give a server a synchronous standby; lends it, and the address of a new database on whichever of them writes."""
    name = primary.create_database()
    standby = primary.make_standby(primary.home.with_name(f"{primary.home.name}s"))
    hosts = ",".join(quote(str(each.home), safe="") for each in (primary, standby))
    try:
        yield standby, f"postgresql://{ROLE}@/{name}?host={hosts}&target_session_attrs=read-write"
    finally:
        standby.remove()


@contextmanager
def fleet(url: str, home: Path, *, servers: int, workers: int, clients: int) -> Iterator[Fleet]:
    """Start servers, workers and a balancer, and lend clients that call through it."""
    serving = [HttpServer(url, home, **SETTINGS) for _ in range(servers)]
    working = [Worker(url, home, **SETTINGS) for _ in range(workers)]
    with ExitStack() as stack:
        for program in (*serving, *working):
            stack.callback(program.close)
        # The first makes the store.
        serving[0].start()
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda program: program.revive(), [*serving[1:], *working]))
        door = balancer_of([each.port for each in serving], home)
        stack.callback(door.close)
        door.start()
        kinds = [McpHttp, JsonApi]
        surfaces = [kinds[number % 2](url, home, door) for number in range(clients)]
        for surface in surfaces:
            stack.callback(surface.close)
        yield Fleet(url, serving, working, surfaces, door, Chores(url))
