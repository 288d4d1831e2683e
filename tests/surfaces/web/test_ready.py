"""Whether a server is ready, told soon and in few words; what strangers read about a store that does not work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread

import httpx2
import psycopg
import pytest

from everloom.errors import Rejected, SchemaMismatch, StoreBusy, StoreConflict, StoreError
from everloom.loom import open_loom
from everloom.surfaces.mcp.app import make_app
from everloom.surfaces.web.admission import Rules
from everloom.surfaces.web.entrance import discreet
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from everloom.surfaces.web.serving import bind, make_server
from tests.patience import PATIENCE, wait_until
from tests.semantic.test_statements import counting
from tests.surfaces.mcp.ground import SETTINGS, over_http, refusal

# Two seconds are promised; the rest is for a busy machine.
SOON = 4.0


@contextmanager
def served(store: Path | str) -> Iterator[str]:
    """Serve the memory at a store in this process."""
    opening = LazyLoom(lambda: open_loom(store, settings=SETTINGS))
    server = make_server(make_app(opening, Process(None, "default"), "semantic", Rules()), lifespan="on")
    listener, address = bind("127.0.0.1", 0)
    thread = Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield address.url
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def readiness(url: str, **headers: str) -> tuple[int, dict[str, str], float]:
    began = time.monotonic()
    answer = httpx2.get(f"{url}/ready", timeout=PATIENCE, headers=headers)
    return answer.status_code, answer.json(), time.monotonic() - began


@pytest.mark.promise("web.health")
def test_a_store_that_does_not_answer_is_told_within_seconds_and_again_once_it_does(postgres_url: str) -> None:
    with served(postgres_url) as url:
        wait_until(lambda: readiness(url)[0] == 200, "the server to be ready")
        with psycopg.connect(postgres_url) as other:
            other.execute("LOCK TABLE store_identity, workspace, token IN ACCESS EXCLUSIVE MODE")
            # Several at once, and with a token that nobody can look up now.
            for headers in ({}, {}, {"authorization": "Bearer x"}):
                status, told, seconds = readiness(url, **headers)
                assert (status, told["status"], bool(told["reason"])) == (503, "not ready", True)
                assert seconds < SOON
                assert httpx2.get(f"{url}/health", timeout=PATIENCE).status_code == 200
            other.rollback()
        wait_until(lambda: readiness(url)[0] == 200, "the server to be ready again")


@pytest.mark.anyio
@pytest.mark.promise("web.discreet", "web.health")
async def test_nobody_is_told_where_a_broken_store_is(tmp_path: Path, mode: str) -> None:
    store = tmp_path / "a-secret-place" / "loom.db"
    store.parent.mkdir()
    store.write_bytes(b"this is no database, and never was one" * 100)
    with served(store) as url:
        wait_until(lambda: "opened" not in readiness(url)[1]["reason"], "the reason")
        status, told, _ = readiness(url)
        assert (status, told) == (503, {"status": "starting", "reason": "the store does not work"})
        refused = httpx2.post(f"{url}/mcp", headers={"authorization": "Bearer x"}, timeout=PATIENCE)
        assert refused.status_code >= 500
        async with over_http(url, mode) as client:
            text = await refusal(client, "orient")
    assert text.startswith("store_failed:")
    assert "everloom doctor" in text
    for each in (refused.text, text):
        assert "a-secret-place" not in each
        assert "loom.db" not in each


def test_only_what_is_said_about_the_store_is_left_out() -> None:
    for kind in (StoreError, StoreBusy, SchemaMismatch, StoreConflict):
        told = discreet(kind("postgresql://ann@db.internal/loom fails", hint="look into /var/lib/loom.db"))
        assert type(told) is kind
        assert "db.internal" not in str(told)
        assert "/var" not in str(told)
    error = Rejected("the limit is too large", hint="ask for less")
    assert discreet(error) is error


@pytest.mark.promise("web.health")
def test_whether_a_server_is_ready_takes_as_long_however_much_is_stored(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counting(store_url, monkeypatch) as told, closing(LazyLoom(partial(open_loom, store_url))) as opening:
        opening.check()

        def asked() -> list[str]:
            told.clear()
            opening.check()
            return list(told)

        few = asked()
        for number in range(30):
            opening.take().workspaces.create(f"place {number}")
        assert asked() == few
    # One workspace at most, by its id: that list grows.
    assert few
    assert not [text for text in few if "FROM workspace" in text]
