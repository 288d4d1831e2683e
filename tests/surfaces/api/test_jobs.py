"""Long work over real HTTP: started without holding the request, followed as events, stopped and outlived by its id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.patience import PATIENCE, wait_until
from tests.scripted.server import ScriptedServer, slow
from tests.surfaces.mcp.ground import ServerProcess, call, over_http, server_process

pytestmark = pytest.mark.xdist_group("a server process")


def events_in(answer: httpx2.Response) -> Iterator[dict[str, Any]]:
    """Read the events of a stream until it ends: the id and the name of each, and what it tells."""
    told: dict[str, Any] = {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if not line and "data" in told:
            yield told
            told = {}
        elif name in ("id", "event", "data"):
            told[name] = json.loads(value) if name == "data" else value


def client(url: str) -> httpx2.Client:
    return httpx2.Client(base_url=f"{url}/api/v1", timeout=PATIENCE, headers={"x-memory-workspace": "james"})


def start(api: httpx2.Client, work: str) -> int:
    answer = api.post("/jobs/start", json={"work": work})
    assert answer.status_code == 200, answer.text
    found: int = answer.json()["id"]
    return found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    with server_process(home, home / "loom.db", "--tools", "episodic") as address:
        yield address


@pytest.mark.promise("api.jobs")
def test_a_job_is_followed_to_its_end_and_a_client_that_was_cut_off_goes_on(url: str) -> None:
    with client(url) as api:
        job = start(api, "patrol")
        with api.stream("GET", "/jobs/changes", params={"id": job}) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            told = list(events_in(answer))
        assert told[-1]["event"] == "done"
        assert told[-1]["data"]["report"]["patrol"]["is_through"]
        assert [each["data"]["id"] for each in told] == [job] * len(told)
        ids = [int(each["id"]) for each in told]
        assert ids == sorted(set(ids))
        assert api.get("/jobs/status", params={"id": job}).json() == told[-1]["data"]
        with api.stream("GET", "/jobs/changes", params={"id": job}, headers={"last-event-id": "1"}) as answer:
            assert [each["event"] for each in events_in(answer)] == ["done"]
        # What was told to the end is not told again: a browser that comes back by itself stops there.
        after = {"id": job, "after": told[-1]["id"]}
        assert api.get("/jobs/changes", params=after).status_code == 204
        assert api.get("/jobs/changes", params={"id": 4711}).status_code == 404
        assert api.get("/jobs/changes", params={"id": "x"}).status_code == 422
        with api.stream("GET", "/jobs/changes") as answer:
            assert next(events_in(answer))["data"]["id"] == job


@pytest.mark.anyio
@pytest.mark.promise("api.jobs")
async def test_a_job_that_was_started_over_mcp_is_known_everywhere(url: str) -> None:
    async with over_http(url, "auto", x_memory_workspace="mcp") as mcp:
        job = (await call(mcp, "start_job", work="sleep"))["id"]
        assert (await call(mcp, "job_status", id=job))["id"] == job
    headers = {"x-memory-workspace": "mcp"}
    found = httpx2.get(f"{url}/api/v1/jobs/status", params={"id": job}, headers=headers, timeout=PATIENCE)
    assert found.json()["work"] == "sleep"


@pytest.mark.promise("jobs.stop", "jobs.gone")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_server_that_ends_stops_its_jobs_and_the_next_one_tells_what_became_of_them(
    store_url: str, tmp_path: Path, is_killed: bool
) -> None:
    with ScriptedServer() as model:
        model.script(slow(2.0), slow(60.0 if is_killed else 2.0), slow(2.0), slow(2.0), slow(2.0))
        told = {"EVERLOOM_LLM_LARGE": "ollama:some-model", "EVERLOOM_PROVIDER_OLLAMA_BASE": model.url}
        server = ServerProcess(tmp_path, store_url, "--port", "0", **told)
        with client(server.wait_for_address()) as api:
            for name in ("James", "Audrey", "Alice"):
                body = {"subject_names": [name], "content": f"{name} sails."}
                assert api.post("/semantic/remember", json=body).status_code == 200
            job = start(api, "consolidate")
            assert start(api, "consolidate") == job
            wait_until(lambda: model.heard, "the model to be asked")
            with api.stream("GET", "/jobs/changes", params={"id": job}) as answer:
                events = events_in(answer)
                assert next(events)["event"] == "running"
                if is_killed:
                    server.process.kill()
                    server.wait()
                else:
                    code, _ = server.stop()
                    assert code == 0
                    assert all(each["event"] in ("running", "stopped") for each in events)
        with server_process(tmp_path, store_url) as url, client(url) as api:
            found = api.get("/jobs/status", params={"id": job}).json()
            assert found["state"] == ("gone" if is_killed else "stopped")
            assert "start it again" in found["error"]
            with api.stream("GET", "/jobs/changes", params={"id": job, "after": found["changed"] - 1}) as answer:
                assert [each["event"] for each in events_in(answer)] == [found["state"]]
