"""Patrols under real servers: no call waits for one, and what a server that ended leaves, the next one goes on with."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.to_thread import run_sync
from mcp import Client

from everloom.episodic.patrol.task import STEPS
from tests.patience import PATIENCE, wait_until
from tests.scripted.server import HeldServer
from tests.store.ground import assert_agreement, rows_of
from tests.surfaces.mcp.ground import ServerProcess, call, over_stdio, server_process

pytestmark = pytest.mark.xdist_group("a server process")

ENDED = "SELECT id FROM patrol WHERE ended_at IS NOT NULL"
SCENES: list[dict[str, Any]] = [{"action": f"James sailed to island {number}."} for number in range(10)]


@pytest.fixture
def model() -> Iterator[HeldServer]:
    with HeldServer() as server:
        yield server
        server.may_answer.set()


def asking(model: HeldServer) -> dict[str, str]:
    """Name the model in the environment of a server."""
    return {"EVERLOOM_LLM_LARGE": "ollama:thinker", "EVERLOOM_PROVIDER_OLLAMA_BASE": model.url}


def assert_one_whole_patrol(url: str) -> None:
    """Prove that every step was done once, and that every scene is there and was aged once."""
    assert len(rows_of(url, "SELECT id FROM patrol")) == 1
    done = Counter(row["step"] for row in rows_of(url, "SELECT step FROM patrol_step"))
    # The page of a patrol stays due if the model answers nothing that can be used.
    assert done | Counter({"reflect": 1}) == Counter([*STEPS])
    assert [row["session_count"] for row in rows_of(url, "SELECT session_count FROM scene_life")] == [1] * len(SCENES)
    assert_agreement(url)


@pytest.mark.anyio
@pytest.mark.promise("episodic.background")
async def test_a_stdio_server_answers_at_once_and_the_next_goes_on_after_its_client_ended_it(
    tmp_path: Path, model: HeldServer
) -> None:
    store = tmp_path / "loom.db"
    async with Client(over_stdio(tmp_path, store, "--tools", "episodic", **asking(model))) as client:
        kept = await call(client, "update_notes", scenes=SCENES)
        assert kept["patrol"] == "started"
        assert await run_sync(model.asked.wait, PATIENCE), "no patrol began"
        known = await call(client, "job_status", id=kept["job"])
        assert (known["work"], known["state"]) == ("patrol", "running")
        again = await call(client, "trigger_patrol")
        assert (again["status"], again["job"]) == ("already_running", kept["job"])
        assert not model.may_answer.is_set()
    model.may_answer.set()
    async with Client(over_stdio(tmp_path, store, "--tools", "episodic", **asking(model))) as client:
        # Any call shows the new server which workspace is used.
        assert (await call(client, "job_status", id=kept["job"]))["state"] in ("stopped", "gone")
        await run_sync(lambda: wait_until(lambda: rows_of(f"sqlite://{store}", ENDED), "the end of the patrol"))
    assert_one_whole_patrol(f"sqlite://{store}")


@pytest.mark.promise("episodic.background")
def test_a_server_that_is_stopped_ends_its_patrol_between_two_steps(tmp_path: Path, model: HeldServer) -> None:
    store_url = f"sqlite://{tmp_path}/loom.db"
    server = ServerProcess(tmp_path, store_url, "--port", "0", **asking(model))
    with httpx2.Client(base_url=f"{server.wait_for_address()}/api/v1", timeout=PATIENCE) as api:
        kept = api.post("/episodic/update_notes", json={"scenes": SCENES}).json()
        assert kept["patrol"] == "started"
        assert model.asked.wait(PATIENCE), "no patrol began"
        assert api.get("/jobs/status", params={"id": kept["job"]}).json()["state"] == "running"
        # The model answers while the server waits for the step.
        answering = threading.Timer(2.0, model.may_answer.set)
        answering.start()
        code, errors = server.stop()
        answering.join()
    assert (code, errors) == (0, "")
    steps = {
        row["step"]: json.loads(row["report"]) for row in rows_of(store_url, "SELECT step, report FROM patrol_step")
    }
    assert steps["take_in"]["counts"]["taken_in"] == len(SCENES)
    with (
        server_process(tmp_path, store_url, **asking(model)) as url,
        httpx2.Client(base_url=f"{url}/api/v1", timeout=PATIENCE) as api,
    ):
        # On a slow machine it came to its end before it was asked to stop.
        assert api.get("/jobs/status", params={"id": kept["job"]}).json()["state"] in ("stopped", "done")
        wait_until(lambda: rows_of(store_url, ENDED), "the end of the patrol")
    assert_one_whole_patrol(store_url)
