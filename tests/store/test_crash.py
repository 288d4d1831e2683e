"""Nothing acknowledged is lost and nothing is half written, whenever whoever is killed; nobody hears of locks."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import SystemClock
from everloom.errors import StoreBusy
from everloom.loom import Loom
from tests.engines import PostgresServer
from tests.patience import wait_until
from tests.store.ground import NOW, asking, assert_agreement, fingerprint, note, open_at, rows_of
from tests.store.nursery import Nursery

pytestmark = pytest.mark.xdist_group("crash")


def kill_at_random(nursery: Nursery, url: str, seed: int) -> list[list[str]]:
    """Let four processes write, kill each at some moment, and hear what they had acknowledged."""
    chance = random.Random(seed)
    writers = [nursery.start("write", url, seed * 4 + number) for number in range(4)]
    chance.shuffle(writers)
    for writer in writers:
        if seed % 4:  # else they may well be killed before they have written anything
            nursery.hear(chance.randint(1, 8))
        time.sleep(chance.uniform(0.0, 0.02))  # killed at any moment, not only between two words
        os.kill(writer, signal.SIGKILL)
    return nursery.reap()


def key_of(row: dict[str, Any]) -> tuple[str, str]:
    return str(row["workspace_id"]), str(row["item_id"])


def assert_all_is_there(url: str, acknowledged: list[list[str]]) -> None:
    """Prove that every acknowledged operation is kept, and that every operation in the journal is whole."""
    documents = {key_of(row): row for row in rows_of(url, "SELECT * FROM document")}
    useful = {key_of(row) for row in rows_of(url, "SELECT workspace_id, item_id FROM access WHERE useful > 0")}
    for verb, place, *ids in acknowledged:
        for item in ids:
            row = documents[place, item]
            assert verb != "revised" or row["text"].startswith("revised")
            assert verb != "retired" or row["retired_at"] is not None
            assert verb != "marked" or (place, item) in useful
    counted = rows_of(url, "SELECT detail FROM event WHERE operation = 'add'")
    assert sum(int(row["detail"].removeprefix('{"count": ').removesuffix("}")) for row in counted) == len(documents)


def survive(nursery: Nursery, url: str, rounds: int, checks: int) -> None:
    acknowledged: list[list[str]] = []
    for number in range(rounds):
        acknowledged += kill_at_random(nursery, url, number)
        assert [said for said in acknowledged if said[0] == "error"] == []
        if number % (rounds // checks) == 0 or number == rounds - 1:
            open_at(url).close()  # the first writers may have died before there was anything
            assert_all_is_there(url, acknowledged)
            assert_agreement(url)
    assert len(acknowledged) > rounds


@pytest.mark.promise("store.nothing-acknowledged-is-lost")
def test_what_was_acknowledged_survives_the_killing_of_four_writers(nursery: Nursery, store_url: str) -> None:
    survive(nursery, store_url, rounds=10, checks=5)


@pytest.mark.long
@pytest.mark.promise("store.nothing-acknowledged-is-lost")
def test_what_was_acknowledged_survives_two_hundred_killings(nursery: Nursery, store_url: str) -> None:
    survive(nursery, store_url, rounds=200, checks=10)


@pytest.mark.promise("store.nothing-half-written")
def test_a_process_killed_between_any_two_statements_leaves_all_or_nothing(nursery: Nursery, store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        old = place.add([note("A calm sea."), note("The sea was grey at dawn.")])
    with asking(store_url) as ask:
        kill_before_each_statement(nursery, store_url, old, lambda: fingerprint(store_url, ask, place.info.id))
    assert_agreement(store_url)


def kill_before_each_statement(
    nursery: Nursery, url: str, old: Sequence[int], state: Callable[[], dict[str, Any]]
) -> None:
    before, step = state(), 0
    while True:
        step += 1
        nursery.start("die", url, step, *old)
        if heard := nursery.reap():
            assert heard == [["survived"]]
            break
        assert state() == before, f"killed before statement {step}"
    assert step > 15
    assert state() != before


@pytest.mark.promise("store.no-lock-reaches-a-caller")
def test_eight_processes_of_four_threads_share_one_store(nursery: Nursery, store_url: str) -> None:
    with open_at(store_url) as loom:
        place = loom.workspace("james")
        (item,) = place.add([note("The one that everybody reads.")])
        for _ in range(8):
            nursery.start("hammer", store_url, item, 8)
        assert nursery.reap() == []
        assert place.show(item).access.count == 8 * 4 * 8
    assert_agreement(store_url)


@pytest.mark.promise("store.survives-a-restart-of-the-server")
@pytest.mark.parametrize("mode", ["fast", "immediate", "killed"])
def test_a_server_that_restarts_in_mid_traffic_loses_nothing(private_postgres: PostgresServer, mode: str) -> None:
    with private_postgres.database() as url, open_at(url, SystemClock()) as loom:
        acknowledged: list[int] = []
        stop = threading.Event()
        writers = [threading.Thread(target=write_on, args=(loom, acknowledged, stop)) for _ in range(4)]
        for writer in writers:
            writer.start()
        wait_until(lambda: len(acknowledged) >= 20, "20 notes to be written")
        if mode == "killed":
            private_postgres.kill()
            private_postgres.start()
        else:
            private_postgres.restart("immediate" if mode == "immediate" else "fast")
        more = len(acknowledged) + 40
        wait_until(lambda: len(acknowledged) >= more, "notes to be written after the restart")
        stop.set()
        for writer in writers:
            writer.join()
        kept = {row["item_id"] for row in rows_of(url, "SELECT item_id FROM document")}
        assert set(acknowledged) <= kept
        assert_agreement(url)


def write_on(loom: Loom, acknowledged: list[int], stop: threading.Event) -> None:
    place = loom.workspace("james")
    while not stop.is_set():
        with suppress(StoreBusy):
            acknowledged.extend(place.add([note("One more wave.", happened_at=NOW)]))


@pytest.mark.promise("store.survives-a-restart-of-the-server")
def test_idle_connections_that_died_are_replaced_before_a_caller_notices(private_postgres: PostgresServer) -> None:
    with private_postgres.database() as url, open_at(url) as loom:
        place = loom.workspace("james")
        place.add([note("The storm came at noon.")])
        private_postgres.restart()
        assert [hit.text for hit in place.search("storm")] == ["The storm came at noon."]
        private_postgres.restart()
        place.add([note("A second storm broke the mast.")])
        assert len(place.search("storm")) == 2


@pytest.mark.promise("store.nothing-half-written")
def test_a_killed_first_opener_leaves_a_file_that_opens(nursery: Nursery, tmp_path: Path) -> None:
    for number in range(12):
        url = f"sqlite:///{tmp_path}/{number}/loom.db"
        writer = nursery.start("write", url, number)
        time.sleep(number * 0.002)  # a little later each time
        os.kill(writer, signal.SIGKILL)
        acknowledged = nursery.reap()
        with open_at(url) as loom:
            loom.workspace("james").add([note("It opens.")])
        assert_all_is_there(url, acknowledged)
        assert_agreement(url)
