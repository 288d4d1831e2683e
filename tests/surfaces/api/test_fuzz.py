"""The description is valid, and whatever is asked by it is answered as it says, on both engines."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator

from everloom.loom import open_loom
from everloom.surfaces.api.description import describe
from tests.patience import PATIENCE
from tests.reads.ground import furnish
from tests.surfaces.api.fuzzing import Fuzzer, Operation
from tests.surfaces.mcp.ground import SETTINGS, server_process

pytestmark = pytest.mark.xdist_group("a server process")

FEW = 200
MANY = int(os.environ.get("EVERLOOM_TEST_FUZZ_CASES", "10000"))
WORDS = ("James", "Audrey", "the red boat", "plans.md", "SOLVES", "2026-01-01", "general", "terminal")


@pytest.mark.promise("api.described")
def test_the_description_is_valid_openapi() -> None:
    assert list(OpenAPIV31SpecValidator(describe()).iter_errors()) == []


class Target:
    """A server with something in every faculty, and requests drawn from its own description."""

    def __init__(self, url: str, ids: list[int | str]) -> None:
        self.http = httpx2.Client(base_url=url, timeout=PATIENCE, headers={"x-memory-workspace": "default"})
        self.fuzzer = Fuzzer(self.http.get("/api/v1/openapi.json").json(), [*ids, *WORDS])
        self.operations = self.fuzzer.operations()
        self.counts: Counter[int] = Counter()

    def _answered(self, operation: Operation, headers: dict[str, str], request: dict[str, Any]) -> httpx2.Response:
        """Ask; where too much was asked, wait and ask again."""
        while True:
            answer = self.http.request(operation.method.upper(), operation.path, headers=headers, **request)
            if answer.status_code != 429:
                return answer
            time.sleep(float(answer.headers["retry-after"]))

    def probe(self, data: st.DataObject) -> None:
        """Send one request, and judge its answer."""
        operation = data.draw(st.sampled_from(self.operations), label="operation")
        request = data.draw(self.fuzzer.request(operation), label="request")
        headers = {**request.pop("headers"), "content-type": "application/json"}
        # Another workspace, a reader's rights or no place in the rate limit would answer for the verb.
        for name in ("X-Memory-Workspace", "X-Memory-Readonly"):
            headers.pop(name, None)
        answer = self._answered(operation, headers, request)
        self.counts[answer.status_code] += 1
        # 502: no model is configured here that could answer badly; 500 is what must not happen.
        assert answer.status_code < 500, (operation.path, request, answer.text)
        kind = answer.headers["content-type"].partition(";")[0]
        faults = self.fuzzer.faults(operation, answer.status_code, kind, answer.content)
        assert not faults, (operation.path, request, answer.text[:500], faults)


@pytest.fixture
def target(store_url: str, tmp_path: Path) -> Iterator[Target]:
    with server_process(tmp_path, store_url) as url:
        ids: list[int | str] = []
        with open_loom(store_url, settings=SETTINGS) as loom:
            held = furnish(loom.workspace("default", session="before"))
            ids += [held.observation, held.understanding, *held.scenes, held.memory, held.other, held.edge]
            ids += [held.scheduled, held.agreed, held.waiting, held.job]
        found = Target(url, ids)
        with closing(found.http):
            yield found


def run(target: Target, cases: int) -> None:
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def probe(data: st.DataObject) -> None:
        target.probe(data)

    probe()
    # A fuzzer whose requests are all refused proves nothing.
    assert target.counts[200] > cases / 10, target.counts


@pytest.mark.promise("api.described")
def test_whatever_is_asked_by_the_description_is_answered_as_it_says(target: Target) -> None:
    run(target, FEW)


@pytest.mark.long
@pytest.mark.promise("api.described")
def test_whatever_is_asked_for_long_is_answered_as_it_says(target: Target) -> None:
    run(target, MANY)
