"""Real clients on every surface, real faults, and a checker: nothing acknowledged is lost, doubled or unseen."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from everloom.store.address import sqlite_path
from tests.conftest import Lend
from tests.engines import PostgresServer
from tests.histories.faults import Failover, Fault, Freeze, FullDisk, Kill, ServerFrozen, ServerGone, Switch, counts
from tests.histories.fleet import replicated
from tests.histories.history import check_damage, check_restore
from tests.histories.losses import Damage, Restore, altered, named_by_backup, named_by_doctor
from tests.histories.surfaces import CommandLine, HttpServer, JsonApi, McpHttp, McpStdio, PythonApi, Surface
from tests.histories.trial import (
    LENGTH,
    GoesOn,
    Result,
    assert_kept,
    calls,
    long_enough,
    note,
    read_final,
    run,
    seconds,
)
from tests.store.ground import assert_agreement, is_sqlite

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


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.damage-is-named")
def test_a_history_under_kills_freezes_a_full_disk_and_damage_keeps_every_promise(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'loom.db'}"
    with clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Freeze(hit), FullDisk(hit, sqlite_path(url))]
        result = damaged(url, surfaces, faults, 1, calls(20))
    assert_kept(result, url, 40)
    assert_named(url, tmp_path, result)


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.damage-is-named")
def test_a_history_under_restarts_of_the_server_and_damage_keeps_every_promise(
    private_postgres: PostgresServer, tmp_path: Path
) -> None:
    with private_postgres.database() as url:
        with clients(url, tmp_path) as (surfaces, server):
            hit = [*surfaces, server]
            faults: list[Fault] = [
                Kill(hit),
                Freeze(hit),
                ServerGone(private_postgres),
                ServerFrozen(lambda: private_postgres),
            ]
            result = damaged(url, surfaces, faults, 2, calls(20))
        assert_kept(result, url, 40)
        assert_named(url, tmp_path, result)


@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen")
def test_a_history_across_a_failover_keeps_every_promise(private_postgres: PostgresServer, tmp_path: Path) -> None:
    with replicated(private_postgres) as (standby, url):
        surfaces: list[Surface] = [PythonApi(url, tmp_path), PythonApi(url, tmp_path), McpStdio(url, tmp_path)]
        faults = [Failover(private_postgres, standby), Kill(surfaces)]
        result = run(surfaces, faults, seed=3, goes_on=calls(40))
        assert_kept(result, url, 40)


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
    forgotten = [call for call in result.calls if call.act == "forget"]
    gone = {call.word for call in forgotten}
    # The copy is older than the file, so ids that its clients remember may be given again: who forgets by such an id
    # means what had it in the old file, and forgets what has it now.
    named = {call.item for call in forgotten}
    gone |= {call.word for call in added if call.answer in named}
    old, new = (set(read_final(f"sqlite://{each}", tmp_path).counts["observation"]) | gone for each in (kept, file))
    before = {call.word for call in added if call.ended < switch.at}
    after = {call.word for call in added if call.began > switch.at}
    assert before
    assert after
    assert before <= old | new, "what was acknowledged before the switch is lost"
    assert after <= new, "what was acknowledged after the switch went into the old file"


def assert_named(url: str, home: Path, result: Result) -> None:
    """Prove that whatever has changed is named by doctor and by a backup, and nothing else is."""
    changed = altered(url)
    found = check_damage(changed, named_by_doctor(url, home))
    assert not found, "\n".join(map(str, found[:5]))
    code, said = named_by_backup(url, home, home / f"damaged {time.monotonic_ns()}.db")
    assert changed, result.line()
    assert code != 0, said
    assert "does not match its checksum" in said
    note(f"of those texts that were damaged, {len(changed)} were still changed at the end, and all of them were named")


def assert_restored(result: Result, restore: Restore, url: str, home: Path) -> None:
    """Prove that a restore under live writers lost nothing that was acknowledged."""
    new = set(read_final(url, home).counts["observation"])
    found = check_restore(result.calls, restore.ended, restore.former_words(), new)
    assert not found, "\n".join(map(str, found[:5]))
    added = [call for call in result.calls if call.act == "add" and call.kind == "observation" and call.outcome == "ok"]
    assert any(call.ended < restore.began for call in added), result.line()
    assert any(call.began > restore.ended for call in added), result.line()
    assert_agreement(url)
    engine, told = "SQLite file" if is_sqlite(url) else "PostgreSQL", result.outcomes()
    note(f"{engine}: a restore under live clients, {told['add ok']} writes acknowledged, none of them lost")


def restored(url: str, home: Path, calls_after: int, seed: int) -> None:
    """Let clients that come and go work while their store is replaced by a backup of it."""
    server = HttpServer(url, home)
    surfaces: list[Surface] = [CommandLine(url, home), CommandLine(url, home), JsonApi(url, home, server)]
    for surface in surfaces:
        # Notes and graphs lie beside the store, and a restore leaves them alone.
        surface.kinds = ("observation",)
    restore = Restore(url, home, server)
    server.start()
    try:
        result = run(surfaces, [restore], seed=seed, goes_on=restore.goes_on(calls_after))
    finally:
        server.close()
        for surface in surfaces:
            surface.close()
    assert_restored(result, restore, url, home)


def damaged(url: str, surfaces: list[Surface], faults: list[Fault], seed: int, goes_on: GoesOn) -> Result:
    """Let clients work while texts are damaged, and damage more when they are gone: nobody writes those again."""
    during, afterwards, chance = Damage(url), Damage(url), random.Random(seed)
    result = run(surfaces, [*faults, during], seed=seed, goes_on=goes_on)
    for _ in range(5):
        afterwards.strike(chance)
    assert afterwards.count, "no text could be damaged"
    return replace(result, faults=result.faults + counts([afterwards]))


@pytest.mark.promise("restore.loses-nothing")
def test_a_history_across_a_restore_loses_nothing(store_url: str, tmp_path: Path) -> None:
    restored(store_url, tmp_path, 4, seed=7)


@pytest.mark.long
@long_enough
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.damage-is-named")
def test_an_hour_of_faults_on_a_file_breaks_no_promise(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'loom.db'}"
    with clients(url, tmp_path) as (surfaces, server):
        hit = [*surfaces, server]
        faults: list[Fault] = [Kill(hit), Kill(hit), Freeze(hit), FullDisk(hit, sqlite_path(url))]
        result = damaged(url, surfaces, faults, int(time.time()), seconds(LENGTH))
    assert_kept(result, url, 100)
    assert_named(url, tmp_path, result)


@pytest.mark.long
@long_enough
@pytest.mark.promise("histories.nothing-lost-doubled-or-unseen", "histories.damage-is-named")
def test_an_hour_of_faults_on_a_server_breaks_no_promise(private_postgres: PostgresServer, tmp_path: Path) -> None:
    with private_postgres.database() as url:
        with clients(url, tmp_path) as (surfaces, server):
            hit = [*surfaces, server]
            faults: list[Fault] = [
                Kill(hit),
                Freeze(hit),
                ServerGone(private_postgres),
                ServerFrozen(lambda: private_postgres),
            ]
            result = damaged(url, surfaces, faults, int(time.time()), seconds(LENGTH))
        assert_kept(result, url, 100)
        assert_named(url, tmp_path, result)


@pytest.mark.long
@long_enough
@pytest.mark.promise("restore.loses-nothing")
def test_many_restores_under_live_writers_lose_nothing(lend_store_url: Lend, tmp_path: Path) -> None:
    goes_on, rounds = seconds(LENGTH / 10), 0
    while not rounds or goes_on(rounds):
        home = tmp_path / str(rounds)
        home.mkdir()
        with lend_store_url() as url:
            restored(url, home, 10, seed=time.monotonic_ns())
        rounds += 1
