"""Real clients on every surface, real faults, and a checker: nothing acknowledged is lost, doubled or unseen."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from everloom.store.address import sqlite_path
from tests.engines import PostgresServer
from tests.histories.faults import Failover, Fault, Freeze, FullDisk, Kill, ServerFrozen, ServerGone, Switch
from tests.histories.surfaces import CommandLine, HttpServer, JsonApi, McpHttp, McpStdio, PythonApi, Surface
from tests.histories.trial import GoesOn, Result, read_final, run
from tests.store.ground import assert_agreement

pytestmark = pytest.mark.xdist_group("histories")


@contextmanager
def clients(url: str, home: Path) -> Iterator[tuple[list[Surface], HttpServer]]:
    """Lend a client on each surface, two of them on one HTTP server."""
    server = HttpServer(url, home)
    surfaces: list[Surface] = [
        PythonApi(url, home),
        PythonApi(url, home),
        McpStdio(url, home),
        McpHttp(url, home, server),
        JsonApi(url, home, server),
        CommandLine(url, home),
    ]
    server.start()
    try:
        yield surfaces, server
    finally:
        server.close()
        for surface in surfaces:
            surface.close()


def calls(most: int) -> GoesOn:
    """Let every client make so many calls."""
    return lambda made: made < most


def seconds(length: float) -> GoesOn:
    """Let every client call for so long."""
    end = time.monotonic() + length
    return lambda _made: time.monotonic() < end


def assert_kept(result: Result, url: str, least: int) -> None:
    """Prove that no promise is broken, and that the trial was one: calls were answered, and faults struck."""
    assert not result.violations, "\n".join(map(str, result.violations[:5]))
    outcomes = result.outcomes()
    assert outcomes["add ok"] > least, result.line()
    assert outcomes["look ok"] > least // 4, result.line()
    assert all(result.faults.values()), result.line()
    assert_agreement(url)
    logging.getLogger(__name__).info("%s", result.line())


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_a_history_under_kills_freezes_and_a_full_disk_keeps_every_promise(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'loom.db'}"
    with clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Kill(hit), Freeze(hit), FullDisk(hit, sqlite_path(url))]
        result = run(surfaces, faults, seed=1, goes_on=calls(20))
    assert_kept(result, url, 40)


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_a_history_under_restarts_of_the_server_keeps_every_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    with private_postgres.database() as url, clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Freeze(hit), ServerGone(private_postgres), ServerFrozen(private_postgres)]
        result = run(surfaces, faults, seed=2, goes_on=calls(20))
        assert_kept(result, url, 40)


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_a_history_across_a_failover_keeps_every_promise(private_postgres: PostgresServer, tmp_path: Path) -> None:
    name = private_postgres.create_database()
    standby = private_postgres.make_standby(private_postgres.home.with_name(f"{private_postgres.home.name}s"))
    hosts = ",".join(quote(str(each.home), safe="") for each in (private_postgres, standby))
    url = f"postgresql://loom@/{name}?host={hosts}&target_session_attrs=read-write"
    try:
        surfaces: list[Surface] = [PythonApi(url, tmp_path), PythonApi(url, tmp_path), McpStdio(url, tmp_path)]
        faults = [Failover(private_postgres, standby), Kill(surfaces)]
        result = run(surfaces, faults, seed=3, goes_on=calls(40))
        assert_kept(result, standby.url(name), 40)
    finally:
        standby.remove()


def test_a_file_that_is_replaced_under_its_writers_swallows_nothing(tmp_path: Path) -> None:
    """What is acknowledged before the switch is in the old file, and what is asked for after it in the new one."""
    file, kept = tmp_path / "loom.db", tmp_path / "kept.db"
    url = f"sqlite://{file}"
    with clients(url, tmp_path) as (every, server):
        surfaces = [each for each in every if not isinstance(each, CommandLine)]
        switch = Switch(file, kept, server)
        result = run(surfaces, [switch], seed=4, goes_on=calls(40))
        server.close()
    added = [call for call in result.calls if call.act == "add" and call.kind == "observation" and call.outcome == "ok"]
    gone = {call.word for call in result.calls if call.act == "forget"}
    old, new = (set(read_final(f"sqlite://{each}", tmp_path).counts["observation"]) | gone for each in (kept, file))
    before = {call.word for call in added if call.ended < switch.at}
    after = {call.word for call in added if call.began > switch.at}
    assert before
    assert after
    assert before <= old | new, "what was acknowledged before the switch is lost"
    assert after <= new, "what was acknowledged after the switch went into the old file"


# An hour in all; EVERLOOM_TEST_HISTORY_SECONDS makes each of the two shorter or longer.
LENGTH = float(os.environ.get("EVERLOOM_TEST_HISTORY_SECONDS", "1750"))


@pytest.mark.long
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_half_an_hour_of_faults_on_a_file_breaks_no_promise(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'loom.db'}"
    with clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Kill(hit), Freeze(hit), FullDisk(hit, sqlite_path(url))]
        result = run(surfaces, faults, seed=int(time.time()), goes_on=seconds(LENGTH))
    assert_kept(result, url, 100)


@pytest.mark.long
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_half_an_hour_of_faults_on_a_server_breaks_no_promise(private_postgres: PostgresServer, tmp_path: Path) -> None:
    with private_postgres.database() as url, clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Freeze(hit), ServerGone(private_postgres), ServerFrozen(private_postgres)]
        result = run(surfaces, faults, seed=int(time.time()), goes_on=seconds(LENGTH))
        assert_kept(result, url, 100)
