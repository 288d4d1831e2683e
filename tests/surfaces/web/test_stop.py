"""How servers and workers end: what was begun is finished and answered, what comes is refused, within a limit."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everloom.clock import SystemClock
from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.store import open_store
from tests.forking import Popen
from tests.patience import PATIENCE, finish, wait_until
from tests.scripted.server import HeldServer
from tests.surfaces.mcp.ground import PROGRAM, SETTINGS, ServerProcess, environment

pytestmark = pytest.mark.xdist_group("a server process")

# Longer than any test waits, so that nothing but what is tested ends a wait.
EVER = str(PATIENCE * 10)
CALLS = 8
LOCAL = {"EVERLOOM_METRICS_ALLOW": "127.0.0.1"}
get = partial(httpx2.get, timeout=PATIENCE)


def in_flight(url: str) -> int:
    """Read how many requests the server answers now, beside this one."""
    found = re.search(r"^everloom_requests_in_flight (\d+)$", get(f"{url}/metrics").text, re.MULTILINE)
    assert found
    return int(found[1]) - 1


def remember(url: str, number: int) -> httpx2.Response:
    """Remember something through one of the doors: the API, and MCP of either era."""
    said = {"subject_names": ["James"], "content": f"James has sailed {number} miles."}
    if number % 3 == 0:
        return httpx2.post(f"{url}/api/v1/semantic/remember", json=said, timeout=PATIENCE)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": said}}
    headers = {"accept": "application/json, text/event-stream"}
    if number % 3 == 1:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        call["params"] = {"name": "remember", "arguments": said, "_meta": meta}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "remember"}
    return httpx2.post(f"{url}/mcp", json=call, headers=headers, timeout=PATIENCE)


def answer_in(response: httpx2.Response) -> dict[str, Any]:
    """Read what a call answered, through whichever door."""
    assert response.status_code == 200, response.text
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        (text,) = re.findall(r"^data: (\{.*\})", text, re.MULTILINE)
    found: dict[str, Any] = json.loads(text)
    return found["result"]["structuredContent"] if "result" in found else found


def is_refused(url: str) -> bool:
    """Say whether nobody listens any more."""
    try:
        get(f"{url}/health")
    except httpx2.ConnectError:
        return True
    except httpx2.TransportError:
        return False
    return False


@contextmanager
def writing(url: str) -> Iterator[None]:
    """Keep everybody else from writing into the workspace."""
    with open_loom(url, settings=SETTINGS) as loom:
        place = loom.workspace("default").info.id
    store = open_store(url, SystemClock())
    try:
        with store.write(place):
            yield
    finally:
        store.close()


@pytest.mark.promise("web.stops-in-order")
def test_a_server_that_stops_answers_every_call_that_it_has_begun(store_url: str, tmp_path: Path) -> None:
    limits = {"EVERLOOM_STORE_LOCK_SECONDS": EVER, "EVERLOOM_SERVER_STOP_SECONDS": "3600"}
    with ThreadPoolExecutor(CALLS) as clients:
        with writing(store_url):
            server = ServerProcess(tmp_path, store_url, "--port", "0", **LOCAL, **limits)
            url = server.wait_for_address()
            asked: list[Future[httpx2.Response]] = [clients.submit(remember, url, each) for each in range(CALLS)]
            wait_until(lambda: in_flight(url) >= CALLS, "all calls to be under way", process=server.process)
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: is_refused(url), "the door to be closed", process=server.process)
            assert server.process.poll() is None
            assert not any(each.done() for each in asked)
        ids = [answer_in(each.result())["id"] for each in asked]
        assert server.wait() == (0, "")
    with open_loom(store_url, settings=SETTINGS) as loom:
        stored = {each.id: each.content for each in loom.workspace("default").semantic.list_observations(["James"])}
    assert stored.keys() == set(ids)
    assert set(stored.values()) == {f"James has sailed {number} miles." for number in range(CALLS)}


@pytest.mark.promise("web.stops-in-order")
def test_a_server_that_stops_says_so_while_balancers_still_send(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, tmp_path / "loom.db", "--port", "0", EVERLOOM_SERVER_DRAIN_SECONDS="600")
    url = server.wait_for_address()
    before = get(f"{url}/api/v1/openapi.json")
    assert "connection" not in before.headers
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: get(f"{url}/ready").status_code == 503, "it to say that it stops", process=server.process)
    assert get(f"{url}/ready").json()["status"] == "stopping"
    during = get(f"{url}/api/v1/openapi.json")
    assert (during.status_code, during.headers["connection"]) == (200, "close")
    # Whoever says it again does not wait.
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == (0, "")


@pytest.mark.promise("web.stops-in-order")
def test_a_server_that_stops_ends_streams_that_carry_no_call(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, tmp_path / "loom.db", "--port", "0", EVERLOOM_SERVER_STOP_SECONDS="3600")
    url = server.wait_for_address()
    with open_loom(tmp_path / "loom.db", settings=SETTINGS) as loom:
        loom.workspace("default")
    with httpx2.stream("GET", f"{url}/api/v1/changes", timeout=PATIENCE) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        server.process.send_signal(signal.SIGTERM)
        # The end of the stream, and not of the connection in the midst of it, which would raise an error.
        assert not [line for line in lines if line.startswith("data:")]
    assert server.wait() == (0, "")


def test_what_does_not_end_in_time_is_given_up(store_url: str, tmp_path: Path) -> None:
    limits = {"EVERLOOM_STORE_LOCK_SECONDS": EVER, "EVERLOOM_SERVER_STOP_SECONDS": "0"}
    with ThreadPoolExecutor(1) as clients, writing(store_url):
        server = ServerProcess(tmp_path, store_url, "--port", "0", **LOCAL, **limits)
        url = server.wait_for_address()
        asked = clients.submit(remember, url, 0)
        wait_until(lambda: in_flight(url) >= 1, "the call to be under way", process=server.process)
        server.process.send_signal(signal.SIGTERM)
        told = asked.result()
        assert (told.status_code, told.headers["connection"]) == (503, "close")
        assert "the server stopped" in told.json()["detail"]
        # It ends although another writer is still in the way of the call.
        assert server.wait()[0] == 0


def worker(home: Path, url: str, **environ: str) -> subprocess.Popen[str]:
    """Start a worker that embeds and does nothing else."""
    command = [*PROGRAM, "worker", "--json", "--store", url, "--task", "embed", "--every", "0.1"]
    return Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home, **environ))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.promise("work.stops-in-order")
@pytest.mark.parametrize("limit", ["3600", "0"])
def test_a_worker_that_stops_ends_its_step_or_gives_it_back(store_url: str, tmp_path: Path, limit: str) -> None:
    with open_loom(store_url, settings=SETTINGS) as loom:
        loom.workspace("default").semantic.remember(["James"], "James sails.")
    with HeldServer() as model:
        environ = {"EVERLOOM_EMBED_MODELS": "ollama:held", "EVERLOOM_PROVIDER_OLLAMA_BASE": model.url}
        process = worker(tmp_path, store_url, **environ, EVERLOOM_SERVER_STOP_SECONDS=limit)
        assert model.asked.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        if limit != "0":
            model.may_answer.set()
        out, err = finish(process, "the worker to stop")
        model.may_answer.set()
        assert process.returncode == 0, err
        assert ("stays due" in err) == (limit == "0")
        # The audit, which finds what the other model left to do, and perhaps the step.
        assert json.loads(out)["result"]["done"] == (1 if limit == "0" else 2), out
        chosen = {"embed": {"models": ["ollama:held"]}, "provider": {"ollama_base": model.url}}
        with open_loom(store_url, settings=Settings.model_validate(chosen)) as loom:
            place = loom.workspace("default").info
            (job,) = [each for each in loom.work.jobs(place) if each.task == "embed"]
    assert (job.holder, job.failures) == (None, 0)
    assert bool(job.due) == (limit == "0")
