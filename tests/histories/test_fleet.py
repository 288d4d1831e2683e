"""A fleet behind a balancer while its servers, its workers and its primary die: no promise is broken."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engines import PostgresServer
from tests.histories.balancer import HAPROXY, relay
from tests.histories.faults import Failover, Fault, Kill, ServerFrozen, Stop, living
from tests.histories.fleet import Chores, fleet, replicated
from tests.histories.surfaces import HttpServer
from tests.histories.trial import LENGTH, GoesOn, assert_kept, long_enough, note, run, seconds, struck

pytestmark = pytest.mark.xdist_group("histories")


def tried(primary: PostgresServer, home: Path, seed: int, goes_on: Callable[[list[Fault]], GoesOn]) -> None:
    """Let clients call a fleet through its balancer while one part after the other dies, and judge what they tell."""
    with replicated(primary) as (standby, url), fleet(url, home, servers=3, workers=2, clients=6) as whole:
        failover = Failover(primary, standby, whole.programs, is_lasting=True)
        chores = Chores(url)
        faults: list[Fault] = [
            failover,
            chores,
            Kill(whole.servers),
            Kill(whole.workers),
            Stop(whole.programs),
            ServerFrozen(lambda: failover.standby),
        ]
        result = run(whole.surfaces, faults, seed=seed, goes_on=goes_on(faults))
        # Nobody has given up: whoever lost the primary has found the other one.
        assert living(whole.programs) == whole.programs
        chores.assert_done_once()
        assert_kept(result, url, 40)
        for program in whole.programs:
            program.end()
    note(f"a fleet behind {'a relay' if HAPROXY is None else 'HAProxy'}: {chores.made} patrols, each done once")


@pytest.mark.long
@long_enough
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.fleet")
def test_an_hour_of_faults_and_failovers_in_a_fleet_breaks_no_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    tried(private_postgres, tmp_path, int(time.time()), lambda _faults: seconds(LENGTH))


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.fleet")
def test_a_fleet_whose_servers_workers_and_primary_die_keeps_every_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    tried(private_postgres, tmp_path, 8, lambda faults: struck(faults, 1))


def test_a_relay_leaves_out_servers_that_are_gone(tmp_path: Path) -> None:
    servers = [HttpServer(f"sqlite://{tmp_path / 'loom.db'}", tmp_path) for _ in range(2)]
    try:
        servers[0].start()
        with relay(servers) as door:
            assert all(door.is_ready() for _ in range(4))
            servers[0].kill()
            assert not door.is_ready()
            servers[1].start()
            assert all(door.is_ready() for _ in range(4))
    finally:
        for server in servers:
            server.close()
