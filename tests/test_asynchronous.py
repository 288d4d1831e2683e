"""The memory for programs with an event loop: every verb, here and elsewhere, and what cancelling leaves behind."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from everloom import AsyncLoom, open_async_loom, open_loom
from everloom.asynchronous import AsyncWorkspace
from everloom.errors import NotFound, Rejected, StoreError
from everloom.settings import Settings
from tests.patience import PATIENCE, wait_until
from tests.remote.examples import EXAMPLES
from tests.remote.ground import INFO, SILENCE, Scripted, served, whole
from tests.remote.test_same import prepare, same

pytestmark = pytest.mark.xdist_group("a server in a thread")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as made:
        yield made


class Blocking:
    """An object whose awaitable methods are waited for, so that examples for threads can be used."""

    def __init__(self, held: Any, portal: BlockingPortal) -> None:
        self._held = held
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._held, name)
        if not (inspect.ismethod(found) or inspect.isfunction(found)):
            return Blocking(found, self._portal)

        def call(*args: Any, **named: Any) -> Any:
            async def wait() -> Any:
                return await found(*args, **named)

            return self._portal.call(wait)

        return call


SETTINGS = Settings.model_validate({"llm": {"large": "scripted:echo"}, "workspace": {"time_zone": "Europe/Paris"}})


@pytest.mark.promise("async.same-verbs")
@pytest.mark.parametrize("is_far", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("faculty", EXAMPLES)
def test_every_verb_can_be_awaited(
    faculty: str,
    is_far: bool,
    store_url: str,
    tmp_path: Path,
    portal: BlockingPortal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_loom(store_url, settings=SETTINGS) as loom:
        got = prepare(loom.workspace("james", session="monday"), faculty, tmp_path)
    with served(store_url, SETTINGS, monkeypatch) as server:
        made = open_async_loom(server.url, token=None) if is_far else open_async_loom(store_url, settings=SETTINGS)
        with portal.wrap_async_context_manager(made) as opened:
            place = portal.call(lambda: opened.workspace("james", session="monday"))
            for name, example in EXAMPLES[faculty].items():
                got[name] = example(Blocking(place, portal), got)
                if is_far and name != "run_due":
                    called, value = server.results[-1]
                    assert called == f"{faculty}.{name}"
                    same(value, got[name])


@pytest.fixture
def far(store_url: str) -> Iterator[str]:
    with served(store_url, Settings()) as server:
        yield server.url


Opening = Callable[[], AsyncLoom]


@pytest.fixture(params=["here", "elsewhere"])
def opening(request: pytest.FixtureRequest, store_url: str) -> Opening:
    """How to open one store: here, or elsewhere."""
    if request.param == "here":
        return lambda: open_async_loom(store_url)
    url: str = request.getfixturevalue("far")
    return lambda: open_async_loom(url, token=None)


@pytest.mark.anyio
@pytest.mark.promise("async.same-verbs")
async def test_many_tasks_share_one_loom(opening: Opening) -> None:
    async with opening() as loom:
        place = await loom.workspace("james", session="tasks")
        await asyncio.gather(*(place.semantic.remember(["James"], f"James sails boat {n}.") for n in range(20)))
        found = await place.search("who sails?", limit=5)
        assert len(found) == 5
        assert (await place.semantic.get_stats()).observation_count == 20
        with pytest.raises(NotFound):
            await place.show(4711)
        graph = place.graphs.open("nothing")
        with pytest.raises(NotFound):
            await graph.recall("x")
        assert isinstance(place, AsyncWorkspace)
    with pytest.raises(StoreError):
        await place.semantic.get_stats()


@pytest.mark.anyio
@pytest.mark.promise("remote.changes")
async def test_changes_are_followed(opening: Opening) -> None:
    async with opening() as loom:
        place = await loom.workspace("james")
        await place.semantic.remember(["James"], "James sails.")
        told: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                async for event in place.changes():
                    told.append(event.operation)
                    if len(told) == 2:
                        return

            tasks.start_soon(follow)
            await anyio.sleep(0.2)
            with anyio.fail_after(PATIENCE):
                while len(told) < 2:
                    await place.semantic.remember(["James"], f"James rows {time.monotonic()}.")
                    await anyio.sleep(0.1)
        assert told == ["remember", "remember"]
        events = await place.events()
        first = [event async for event in _taken(place.changes(after=0), len(events))]
        assert [event.id for event in first] == [event.id for event in reversed(events)]


async def _taken(events: Any, count: int) -> Any:
    taken = 0
    async for event in events:
        yield event
        taken += 1
        if taken == count:
            await events.aclose()
            return


@pytest.mark.anyio
@pytest.mark.promise("async.cancellable")
async def test_a_cancelled_write_here_is_whole_or_not_there(made_file: Path, tmp_path: Path) -> None:
    store = tmp_path / "loom.db"
    store.write_bytes(made_file.read_bytes())
    async with open_async_loom(store, settings=Settings()) as loom:
        place = await loom.workspace("james")
        await place.semantic.remember(["James"], "James sails.")
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with anyio.move_on_after(0.5) as scope:
                await place.semantic.remember(["Audrey"], "Audrey rows.")
            assert scope.cancelled_caught
            assert time.monotonic() - began < 10, "whoever waits is released at once"
            # A second cancelled call, to see that the threads of abandoned calls do not block the others.
            with anyio.move_on_after(0.2):
                await place.semantic.remember(["Bern"], "Bern is old.")
            assert (await place.semantic.get_stats()).observation_count == 1
            other.execute("ROLLBACK")
    # Closing has waited for the threads, which have finished what they had begun.
    with open_loom(store, settings=Settings()) as here:
        mine = here.workspace("james").semantic
        assert mine.get_stats().observation_count == 3
        assert [each.name for each in mine.get_subjects(["Audrey", "Bern"])] == ["Audrey", "Bern"]


@pytest.mark.anyio
@pytest.mark.promise("async.cancellable")
async def test_a_cancelled_request_is_closed() -> None:
    with Scripted(INFO, SILENCE) as server:
        async with open_async_loom(server.url, token=None) as loom:
            place = await loom.workspace("james")
            began = time.monotonic()
            with anyio.move_on_after(0.3) as scope:
                await place.semantic.recall("James")
            assert scope.cancelled_caught
            assert time.monotonic() - began < 10
            await anyio.to_thread.run_sync(lambda: wait_until(server.closed.is_set, "the request to be closed"))
        assert len(server.requests) == 2


@pytest.mark.anyio
@pytest.mark.promise("remote.retries-are-safe")
async def test_a_broken_connection_is_tried_again_by_tasks_too() -> None:
    with Scripted(INFO, None, None, whole([])) as server:
        async with open_async_loom(server.url, token=None) as loom:
            assert await (await loom.workspace("james")).jobs() == []
        assert len(server.requests) == 4
    with Scripted(INFO, None, whole(None)) as server:
        async with open_async_loom(server.url, token=None) as loom:
            await (await loom.workspace("james")).pin(1)
        bodies = [each.partition(b"\r\n\r\n")[2] for each in server.requests[1:]]
        assert bodies[0] == bodies[1]
        assert b"idempotency_key" in bodies[0]


@pytest.mark.anyio
async def test_a_loom_that_is_not_open_says_so(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/loom.db", "http://127.0.0.1:1"):
        with pytest.raises(StoreError, match="not open"):
            await open_async_loom(url).workspace("james")
    with pytest.raises(Rejected, match="a token is for a server"):
        await open_async_loom(tmp_path / "loom.db", token="x").open()
