"""The figures of a process: in the format that Prometheus reads, moved by real calls, for those who may see them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from everloom.loom import open_loom
from everloom.surfaces.web.metrics import Family, HistogramData, exposition, sample
from tests.forking import Popen
from tests.patience import PATIENCE, finish, reading
from tests.surfaces.mcp.ground import PROGRAM, SETTINGS, environment, server_process
from tests.surfaces.web.exposition import ReadFamily, read, value_of

pytestmark = pytest.mark.xdist_group("a server process")

SECRET = "the-unspeakable"


def figures(url: str, **headers: str) -> dict[str, ReadFamily]:
    answer = httpx2.get(f"{url}/metrics", timeout=PATIENCE, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert SECRET not in answer.text
    return read(answer.text)


@pytest.mark.promise("metrics.move")
def test_real_calls_move_the_figures_of_a_server(store_url: str, tmp_path: Path) -> None:
    with open_loom(store_url, settings=SETTINGS) as loom:
        loom.workspace(SECRET)
    named = {"X-Memory-Workspace": SECRET}
    verb = {"route": "/api/v1/semantic/remember", "verb": "semantic.remember"}
    with server_process(tmp_path, store_url, EVERLOOM_METRICS_ALLOW="127.0.0.1") as url:
        before = figures(url)
        api = httpx2.Client(base_url=f"{url}/api/v1/semantic/", headers=named, timeout=PATIENCE)
        for number in range(3):
            said = {"subject_names": [SECRET], "content": f"{SECRET} {number}"}
            assert api.post("remember", json=said).status_code == 200
        assert api.post("remember", json={"nonsense": 1}).status_code == 422
        assert api.get(f"{SECRET}/nowhere").status_code == 404
        after = figures(url)
        api.close()
    assert value_of(before, "everloom_requests_total", **verb) == 0
    assert value_of(after, "everloom_requests_total", **verb, method="POST", status="2xx") == 3
    assert value_of(after, "everloom_requests_total", **verb, method="POST", status="4xx") == 1
    assert value_of(after, "everloom_request_seconds", **verb) == 4
    assert value_of(after, "everloom_requests_total", route="/api/v1/{rest:path}", status="4xx") == 1
    assert value_of(after, "everloom_requests_in_flight") == 1
    engine = "sqlite" if store_url.startswith("sqlite") else "postgresql"
    assert value_of(after, "everloom_info", engine=engine) == 1
    assert value_of(after, "everloom_store_writes_total") > value_of(before, "everloom_store_writes_total")
    assert value_of(after, "everloom_store_connections", state="idle") >= 1
    for name in ("everloom_footprints_total", "everloom_tasks_total", "everloom_model_calls_total"):
        assert name in after


@pytest.mark.promise("metrics.private")
def test_figures_are_for_those_alone_whom_the_settings_name(tmp_path: Path) -> None:
    with server_process(tmp_path, tmp_path / "a.db") as url:
        assert httpx2.get(f"{url}/metrics", timeout=PATIENCE).status_code == 404
    allowed = {"EVERLOOM_METRICS_ALLOW": "127.0.0.1, 192.0.2.0/24", "EVERLOOM_SERVER_PROXIES": "127.0.0.1"}
    with server_process(tmp_path, tmp_path / "b.db", **allowed) as url:
        figures(url)
        figures(url, **{"x-forwarded-for": "192.0.2.7"})
        refused = httpx2.get(f"{url}/metrics", headers={"x-forwarded-for": "203.0.113.7"}, timeout=PATIENCE)
        assert refused.status_code == 404


@pytest.mark.promise("metrics.private")
def test_a_proxy_that_nobody_has_named_does_not_open_them(tmp_path: Path) -> None:
    with server_process(tmp_path, tmp_path / "loom.db", EVERLOOM_METRICS_ALLOW="127.0.0.1") as url:
        for header in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
            answer = httpx2.get(f"{url}/metrics", headers={header: "127.0.0.1"}, timeout=PATIENCE)
            assert answer.status_code == 404


@pytest.mark.promise("metrics.move")
def test_a_worker_offers_its_figures_on_a_port_of_its_own(store_url: str, tmp_path: Path) -> None:
    with open_loom(store_url, settings=SETTINGS) as loom:
        loom.workspace(SECRET)
    command = [*PROGRAM, "worker", "--json", "--store", store_url, "--every", "0.1"]
    environ = environment(tmp_path, EVERLOOM_METRICS_WORKER_PORT="0")
    process = Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
    assert process.stderr is not None
    with reading(process, "the worker to say where its figures are"):
        url = next(found[1] for line in process.stderr if (found := re.search(r"figures at (http\S+)/metrics", line)))
    told = figures(url)
    health = httpx2.get(f"{url}/health", timeout=PATIENCE)
    nothing = httpx2.get(f"{url}/elsewhere", timeout=PATIENCE)
    process.send_signal(signal.SIGTERM)
    out, _ = finish(process, "the worker to stop")
    assert (health.json(), nothing.status_code) == ({"status": "up"}, 404)
    assert "everloom_worker_tasks_due" in told
    assert value_of(told, "everloom_info") == 1
    assert json.loads(out)["result"]["looks"] >= value_of(told, "everloom_worker_looks_total")


def test_whatever_a_label_holds_the_text_stays_readable() -> None:
    odd = 'a "quoted"\\ line\nand another'
    took = HistogramData((0.1, 1.0))
    for place, value in ((0, 0.05), (1, 0.5), (2, 5.0)):
        took.add(place, value)
    families = [
        Family("a_total", "counter", odd, (sample(3, {"x": odd}), sample(4.5))),
        Family("b_seconds", "histogram", "b", tuple(took.samples({"x": odd}))),
    ]
    found = read(exposition(families))
    assert value_of(found, "a_total") == 7.5
    assert value_of(found, "b_seconds") == 3
    assert {value for (part, _), value in found["b_seconds"].samples.items() if part == "b_seconds_bucket"} == {1, 2, 3}
