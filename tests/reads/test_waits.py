"""Every wait has an end: for locks, for statements, and for a server that has stopped answering."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import psycopg
import pytest

from everloom.errors import StoreBusy
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from everloom.store.postgresql import store
from everloom.surfaces.web.lazy import LazyLoom
from tests.engines import PostgresServer
from tests.patience import FACTOR, wait_until
from tests.reads.test_unwritable import stuck_writer
from tests.store.ground import as_superuser, note

IMPATIENT = Settings.model_validate(
    {"store": {"connect_seconds": 2, "lock_seconds": 0.5, "statement_seconds": 1}, "workspace": {"time_zone": "UTC"}}
)
# A statement of one second, two seconds of grace, and what a busy machine adds.
MOST_SECONDS = 8.0 * FACTOR


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """Stop every process of a server in its tracks: it keeps its connections and answers nothing."""
    parent = psutil.Process(server.pid)
    stopped = [parent, *parent.children(recursive=True)]
    for each in stopped:
        each.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for each in stopped:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGCONT)


@pytest.mark.promise("trust.every-wait-ends")
def test_a_write_behind_a_writer_that_hangs_gives_up(store_url: str) -> None:
    with open_loom(store_url, settings=IMPATIENT) as loom:
        place = loom.workspace()
        with stuck_writer(store_url), within(MOST_SECONDS), pytest.raises(StoreBusy) as caught:
            place.add([note("It has to wait.")])
        assert "try again" in str(caught.value.hint)
        assert place.add([note("It is its turn.")])


@pytest.mark.promise("trust.every-wait-ends")
def test_a_read_behind_a_locked_table_gives_up(postgres_url: str) -> None:
    with open_loom(postgres_url, settings=IMPATIENT) as loom:
        place = loom.workspace()
        place.semantic.remember(["James"], "James sails in anything.")
        with psycopg.connect(as_superuser(postgres_url)) as other:
            other.execute("LOCK TABLE document IN ACCESS EXCLUSIVE MODE")
            with within(MOST_SECONDS), pytest.raises(StoreBusy) as caught:
                place.search("anything")
            assert caught.value.hint
        assert len(place.search("anything")) == 1


# What a client gives up, the server would go on with: it notices a closed connection only when it next writes to it.
@pytest.mark.promise("trust.every-wait-ends")
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("statement", ["SELECT pg_sleep(3600)", "LOCK TABLE receipt IN ACCESS SHARE MODE"])
def test_the_server_ends_by_itself_what_took_too_long(
    postgres_url: str, writes: bool, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A statement that writes may take a minute, for which nobody waits here.
    monkeypatch.setattr(store, "_WRITE_SECONDS", 1.0)
    with open_loom(postgres_url, settings=IMPATIENT) as loom, psycopg.connect(as_superuser(postgres_url)) as other:
        here = loom.workspace().info.id
        other.execute("LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreBusy), (loom.store.write if writes else loom.store.read)(here) as unit:
            unit._connection.execute(statement.encode())  # type: ignore[attr-defined]
        going_on = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )

        def is_over() -> bool:
            # Within a transaction the server shows what it showed before.
            other.execute("SELECT pg_stat_clear_snapshot()")
            return other.execute(going_on).fetchone() == (0,)

        # The answer is on its way a moment before the server says that it is idle.
        wait_until(is_over, "the server to end what took too long")


@pytest.mark.promise("trust.every-wait-ends")
def test_a_frozen_server_is_given_up_and_taken_back_when_it_thaws(private_postgres: PostgresServer) -> None:
    with private_postgres.database() as url, open_loom(url, settings=IMPATIENT) as loom:
        place = loom.workspace()
        place.add([note("The harbour froze.")])
        opening = LazyLoom(lambda: loom)
        opening.check()
        with frozen(private_postgres):
            with within(MOST_SECONDS), pytest.raises(StoreBusy, match="did not answer") as caught:
                place.search("harbour")
            assert caught.value.hint
            # On a connection that has to be made anew.
            with within(MOST_SECONDS), pytest.raises(StoreBusy):
                place.search("harbour")
            for _ in range(3):
                with within(2.0 * FACTOR), pytest.raises(StoreBusy):
                    opening.check()
            with within(MOST_SECONDS), pytest.raises(StoreBusy):
                open_loom(url, settings=IMPATIENT)
        found = wait_until(lambda: _found(loom), "the server to answer again")
        assert found == ("The harbour froze.",)
        opening.check()


def _found(loom: Loom) -> tuple[str, ...]:
    with suppress(StoreBusy):
        return tuple(hit.text for hit in loom.workspace().search("harbour"))
    return ()


@pytest.mark.promise("trust.every-wait-ends")
def test_whether_a_store_is_ready_takes_no_longer_with_more_in_it(store_url: str) -> None:
    with open_loom(store_url, settings=IMPATIENT) as loom:
        for number in range(3):
            loom.workspaces.create(f"number {number}")
        opening = LazyLoom(lambda: loom)
        asked: list[str] = []
        with loom.store.read(0) as unit:
            kind = type(unit)
        plain = kind.all

        def noted(self: object, name: str, /, **params: object) -> object:
            asked.append(name)
            return plain(self, name, **params)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kind, "all", noted)
            opening.check()
        assert asked == ["kernel.store_identity"]
