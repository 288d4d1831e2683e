"""Real clients on every surface, real faults, and a checker: nothing acknowledged is lost, doubled or unseen."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everloom.store.address import sqlite_path
from tests.engines import PostgresServer
from tests.histories.faults import Fault, Freeze, FullDisk, Kill, ServerFrozen, ServerGone
from tests.histories.surfaces import CommandLine, HttpServer, McpHttp, McpStdio, PythonApi, Surface
from tests.histories.trial import GoesOn, Result, run
from tests.store.ground import assert_agreement

pytestmark = pytest.mark.xdist_group("histories")


@contextmanager
def clients(url: str, home: Path) -> Iterator[tuple[list[Surface], HttpServer]]:
    """Lend a client on each surface, two of them of one HTTP server."""
    server = HttpServer(url, home)
    surfaces: list[Surface] = [
        PythonApi(url, home),
        PythonApi(url, home),
        McpStdio(url, home),
        McpHttp(url, home, server),
        McpHttp(url, home, server),
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
        result = run(surfaces, faults, seed=1, goes_on=calls(25))
    assert_kept(result, url, 40)


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_a_history_under_restarts_of_the_server_keeps_every_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    with private_postgres.database() as url, clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Freeze(hit), ServerGone(private_postgres), ServerFrozen(private_postgres)]
        result = run(surfaces, faults, seed=2, goes_on=calls(25))
        assert_kept(result, url, 40)


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
