"""Read-only on every surface: each tool, resource and command reads or is refused, and nothing is left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client

from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.mcp.tools import tools_of
from tests.reads.ground import calls, furnished, tree, whole
from tests.surfaces.cli.conftest import Call, calling, environment, filled
from tests.surfaces.cli.furnishing import TALK
from tests.surfaces.cli.knowing import known
from tests.surfaces.cli.living import lived, woven
from tests.surfaces.cli.talking import talked
from tests.surfaces.cli.test_envelope import EXAMPLES, LEAVES
from tests.surfaces.mcp.ground import refusal, serving, text_of

__all__ = ["calling", "environment"]  # fixtures

# They write files that are no part of the memory: settings, copies, measurements.
ELSEWHERE = {"backup", "completion", "config set", "init", "people add", "people remove"}


@pytest.mark.anyio
@pytest.mark.promise("trust.read-only-writes-nothing")
async def test_every_tool_and_resource_of_a_read_only_server_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file = tmp_path / "data", tmp_path / "loom.db"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    with open_loom(file, settings=Settings()) as loom:
        held = furnished(loom)
    rows, files = whole(f"sqlite://{file}"), tree(folder)
    with serving(file, "all", read_only=True) as server:
        async with Client(server) as client:
            for tool in tools_of("all"):
                given = calls(held)[tool.faculty.name][tool.verb.name]
                if tool.verb.effect.writes:
                    assert "read-only" in await refusal(client, tool.name)
                    continue
                answer = await client.call_tool(tool.name, given)
                assert not answer.is_error, f"{tool.name}: {text_of(answer)}"
            for place in ("memory://orientation", "memory://subject/James", "memory://core"):
                assert (await client.read_resource(place)).contents
    assert whole(f"sqlite://{file}") == rows
    assert tree(folder) == files


@pytest.mark.promise("trust.read-only-writes-nothing")
def test_every_command_that_only_reads_leaves_nothing_behind(calling: Callable[[str], Call], tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/loom.db"
    call = calling(url)
    (item,) = filled(url, "James sails.")
    call("backup", f"{tmp_path}/kept.db")
    call("token", "create", "old")
    ids: dict[str, object] = {**known(url, tmp_path), **lived(call, tmp_path), **woven(call, tmp_path)}
    ids |= talked(url, tmp_path)
    ids |= {"held": call("remember", "Web.", "--about", "x", "--origin", "web", "--json").result["id"]}
    (tmp_path / "talk.json").write_text(json.dumps([TALK]))
    ids |= {"imported": call("import", f"{tmp_path}/talk.json", "--json").result["imports"][0]["id"]}
    ids |= {"job": call("jobs", "start", "embed", "--json").result["id"]}
    folder = tmp_path / "data"
    rows, files = whole(url), tree(folder)
    refused, failed = [], {}
    for path in LEAVES:
        if path in ELSEWHERE or path.startswith(("bench", "connect", "chat", "worker")):
            continue
        line = [*path.split(), *EXAMPLES[path].format(id=item, folder=tmp_path, **ids).split()]
        # Before the command: `token create` has an option of the same name that means the token.
        ended = call("--read-only", *line, "--json")
        if ended.code and ended.error["code"] == "forbidden":
            refused.append(path)
        elif ended.code:
            failed[path] = ended.error["message"]
    # Its tasks are refused one by one.
    assert set(failed) <= {"sleep"}
    assert {"semantic remember", "restore", "workspace remove", "token create", "correct"} <= set(refused)
    assert whole(url) == rows
    assert tree(folder) == files
