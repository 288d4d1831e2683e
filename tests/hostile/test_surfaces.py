"""The same values over the JSON API and over MCP: an answer, or a named error that blames whoever can act."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields
from typing import Any

import pytest
from mcp import Client
from starlette.applications import Starlette
from starlette.testclient import TestClient

from everloom.loom import open_loom
from everloom.surfaces.api import api_routes
from everloom.surfaces.mcp.tools import tools_of
from everloom.surfaces.web.entrance import Entrance
from everloom.surfaces.web.identity import Process
from everloom.surfaces.web.lazy import LazyLoom
from tests.hostile.cells import NAMES, Cell, Subject, cells_of, paired, subject_of
from tests.hostile.conftest import Making
from tests.hostile.ground import WITHOUT_COMMITS, World
from tests.hostile.health import complaints
from tests.surfaces.mcp.ground import serving, text_of

pytestmark = [pytest.mark.postgresql, pytest.mark.promise("hostile.surfaces")]

# Of the cells of a verb, one in so many: what the verb itself does with them is tried without a surface.
_SHARE = 16
_TOOLS_WORLD, _API_WORLD = "sqlite", "postgresql"
_JSON = {"content-type": "application/json"}


def test_every_call_of_the_api_takes_hostile_values(
    make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world(_API_WORLD, WITHOUT_COMMITS)
    opening = LazyLoom(lambda: open_loom(world.url, settings=world.settings))
    app = Starlette(routes=api_routes(Entrance(opening, Process(label=None, default_workspace="default"))))
    wrong, count = [], 0
    with closing(opening), TestClient(app, raise_server_exceptions=False) as client:
        for subject, cells in _chosen(world):
            given = {**_plain(subject.usual), **{each.parameter: each.hostile.value for each in cells}}
            answer = client.post(f"/api/v1/{subject.name.replace('.', '/')}", content=_written(given), headers=_JSON)
            count += len(cells)
            if (what := _fault(answer.status_code, answer.content)) is not None:
                wrong.append(f"api {subject.name}({', '.join(map(str, cells))}): {what}")
        for body in _BODIES:
            answer = client.post("/api/v1/semantic/remember", content=body, headers=_JSON)
            if answer.status_code not in {413, 422}:
                wrong.append(f"api body {body[:40]!r}: {answer.status_code}")
    record_property("hostile values over the JSON API", count + len(_BODIES))
    wrong = [*map(str, wrong), *complaints(world.place, world.url, world.folder)]
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


@pytest.mark.anyio
async def test_every_tool_of_mcp_takes_hostile_values(
    make_world: Making, record_property: Callable[[str, object], None]
) -> None:
    world = make_world(_TOOLS_WORLD, WITHOUT_COMMITS)
    tools = {f"{each.faculty.name}.{each.verb.name}": each.name for each in tools_of("all")}
    wrong, count = [], 0
    with serving(world.url, "all") as server:
        async with Client(server) as client:
            for subject, cells in _chosen(world):
                if subject.name not in tools:
                    continue
                given = {**_plain(subject.usual), **{each.parameter: each.hostile.value for each in cells}}
                answer = await client.call_tool(tools[subject.name], json.loads(_written(given)))
                count += len(cells)
                if answer.is_error and not text_of(answer).strip():
                    wrong.append(f"mcp {subject.name}({', '.join(map(str, cells))}): an error without a text")
                if answer.is_error and "internal error" in text_of(answer).lower():
                    wrong.append(f"mcp {subject.name}({', '.join(map(str, cells))}): {text_of(answer)[:200]}")
    record_property("hostile values over MCP", count)
    wrong = [*map(str, wrong), *complaints(world.place, world.url, world.folder)]
    assert not wrong, "\n".join([f"{len(wrong)} faults", *wrong])


_BODIES = [
    b"",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"content": "a", "content": ' + b"[" * 50_000,
    b'{"content": 1e999}',
    b'{"content": ' + b"9" * 10_000 + b"}",
    b'{"content": "\\ud800", "subject_names": ["\\udfff"]}',
    b'{"\\u0000": 1}',
    b"null",
    b"NaN",
    b'"' * 10_000,
]


def _chosen(world: World) -> Iterator[tuple[Subject, tuple[Cell, ...]]]:
    """List calls of every verb with values that JSON can hold, two in each."""
    for name in NAMES:
        subject = subject_of(name, world.original.held)
        cells = [each for each in cells_of(subject, is_long=False) if _is_json(each.hostile.value)]
        yield subject, ()
        yield from ((subject, pair) for pair in paired(cells, name)[::_SHARE])


def _is_json(value: Any) -> bool:
    try:
        json.loads(json.dumps(value))
    except (RecursionError, TypeError, ValueError):
        return False
    return True


def _plain(usual: dict[str, Any]) -> dict[str, Any]:
    """Write what a usual call gives as JSON has it."""
    written: dict[str, Any] = json.loads(json.dumps(usual, default=_as_json))
    return written


def _as_json(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return {each.name: found for each in fields(value) if (found := getattr(value, each.name)) is not None}


def _written(given: dict[str, Any]) -> bytes:
    return json.dumps(given).encode()


def _fault(status: int, body: bytes) -> str | None:
    """Say what is wrong with an answer: a status that blames the server, no JSON, or an error without a hint."""
    try:
        answer = json.loads(body)
    except ValueError:
        return f"{status}: not JSON: {body[:100]!r}"
    if status >= 500 and status != 503:
        return f"{status}: {str(answer)[:200]}"
    return (
        None
        if status < 400 or answer.get("hint") or status in {400, 413, 429}
        else f"{status} without a hint: {answer}"
    )
