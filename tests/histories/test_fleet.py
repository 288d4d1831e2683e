"""A fleet behind a balancer while its servers, its workers and its primary die: no promise is broken."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.engines import PostgresServer
from tests.histories.balancer import HAPROXY, Balancer, Haproxy, Relay
from tests.histories.faults import Failover, Fault, Kill, ServerFrozen, Stop, living
from tests.histories.fleet import Cut, Fleet, fleet, replicated
from tests.histories.surfaces import free_port
from tests.histories.trial import LENGTH, GoesOn, assert_kept, long_enough, note, run, seconds, struck
from tests.patience import wait_until

pytestmark = pytest.mark.xdist_group("histories")


def judged(whole: Fleet, faults: Sequence[Fault], seed: int, goes_on: GoesOn) -> None:
    """Let clients call a fleet through its balancer while one part after the other dies, and judge what they tell."""
    result = run(whole.surfaces, faults, seed=seed, goes_on=goes_on)
    # Nobody has given up: whoever lost the primary has found the other one.
    assert living(whole.programs) == whole.programs
    whole.chores.assert_done_once()
    assert_kept(result, whole.url, 40)
    whole.end()
    balancer = "a relay" if HAPROXY is None else "HAProxy"
    note(f"a fleet behind {balancer}: {whole.chores.made} patrols were due meanwhile, and each was done once")


# Most of it is starting and ending a dozen processes: half a minute on two busy cores.
@pytest.mark.long
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.fleet")
def test_a_fleet_that_loses_a_server_and_its_primary_keeps_every_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    with (
        replicated(private_postgres) as (standby, url),
        fleet(url, tmp_path, servers=2, workers=1, clients=4) as whole,
    ):
        faults: list[Fault] = [Failover(private_postgres, standby, whole.servers), Cut(whole.door), whole.chores]
        judged(whole, faults, 8, struck(faults, 20))


@pytest.mark.long
@long_enough
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.fleet")
def test_an_hour_of_faults_and_failovers_in_a_fleet_breaks_no_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    with (
        replicated(private_postgres) as (standby, url),
        fleet(url, tmp_path, servers=3, workers=2, clients=6) as whole,
    ):
        failover = Failover(private_postgres, standby, whole.programs, is_lasting=True)
        frozen = ServerFrozen(lambda: failover.standby)
        deaths = [Kill(whole.servers), Kill(whole.workers), Stop(whole.programs), Cut(whole.door), Cut(whole.door)]
        judged(whole, [failover, frozen, whole.chores, *deaths], int(time.time()), seconds(LENGTH))


class Ready(BaseHTTPRequestHandler):
    """Says that it can work."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def standing(port: int) -> Iterator[None]:
    """Let a server stand at a port."""
    with ThreadingHTTPServer(("127.0.0.1", port), Ready) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


BALANCERS = [
    pytest.param(lambda ports, _home: Relay(ports), id="relay"),
    pytest.param(Haproxy, id="haproxy", marks=pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed")),
]


@pytest.mark.parametrize("make", BALANCERS)
def test_a_balancer_leaves_out_servers_that_are_gone(
    make: Callable[[Sequence[int], Path], Balancer], tmp_path: Path
) -> None:
    first, second = free_port(), free_port()
    with closing(make((first, second), tmp_path)) as door:
        with standing(first):
            door.start()
            assert all(door.is_ready() for _ in range(4))
        wait_until(lambda: not door.is_ready(), "the balancer to notice that nobody is there")
        with standing(second):
            wait_until(door.is_ready, "the balancer to find the other server")
            door.cut()
            assert all(door.is_ready() for _ in range(4))
