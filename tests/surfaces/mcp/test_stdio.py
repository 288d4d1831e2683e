"""`everloom mcp` as a real child process, in both eras."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from everloom.loom import open_loom
from tests.forking import Popen
from tests.patience import finish, reading, run
from tests.surfaces.mcp.ground import PROGRAM, SETTINGS, call, environment, over_stdio, refusal
from tests.surfaces.mcp.journey import walk_core, walk_upkeep

pytestmark = pytest.mark.anyio


@pytest.mark.promise("mcp.stdio")
async def test_every_tool_works_over_stdio(tmp_path: Path, store: Path, mode: str) -> None:
    async with Client(over_stdio(tmp_path, store, "--tools", "semantic-full"), mode=mode) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert await walk_core(client) | await walk_upkeep(client) == listed


@pytest.mark.promise("mcp.session-order")
async def test_a_server_that_claude_code_started_knows_the_conversation(tmp_path: Path, store: Path, mode: str) -> None:
    claude = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c-1"}
    async with Client(over_stdio(tmp_path, store, "--workspace", "james", **claude), mode=mode) as client:
        await call(client, "remember", subject_names=["James"], content="James sails.")
        listed = await call(client, "sessions")
    assert [each["session_id"] for each in listed["result"]] == ["c-1"]
    with open_loom(store, settings=SETTINGS) as loom:
        assert [info.name for info in loom.workspaces.list()] == ["james"]


@pytest.mark.promise("mcp.read-only")
async def test_a_read_only_child_writes_nothing(tmp_path: Path, store: Path) -> None:
    with open_loom(store, settings=SETTINGS) as loom:
        loom.workspace("default")
    async with Client(over_stdio(tmp_path, store, "--read-only")) as client:
        await call(client, "orient")
        text = await refusal(client, "remember", subject_names=["James"], content="James sails.")
    assert text.startswith("forbidden:")


@pytest.mark.promise("mcp.stdio")
def test_nothing_but_the_protocol_is_written_to_stdout_and_the_end_of_input_ends_it(
    tmp_path: Path, store: Path
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    request["params"] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines = [json.dumps(request), '{"jsonrpc":"2.0","method":"notifications/initialized"}', "this is not JSON", "{}"]
    # The id of a request comes back as it was sent; for some readers these characters end a line.
    lines.append(json.dumps({"jsonrpc": "2.0", "id": "a\u2028b\u0085c", "method": "ping", "params": {}}))
    command = [*PROGRAM, "mcp", "--json", "--store", f"sqlite://{store}"]
    piped: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with Popen(command, text=True, env=environment(tmp_path), **piped) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        said = ""
        # The end of input also ends what is under way, and nobody waits for its answer any more.
        with reading(process, "the answer to the last request"):
            while "2028" not in said and (line := process.stdout.readline()):
                said += line
        rest, _ = finish(process)
    assert process.returncode == 0
    answers = [json.loads(line) for line in (said + rest).splitlines()]
    assert {"2.0"} == {each["jsonrpc"] for each in answers}
    assert "a\u2028b\u0085c" in [each.get("id") for each in answers]


def test_an_unknown_toolset_ends_the_command_with_a_hint(tmp_path: Path, store: Path) -> None:
    command = [*PROGRAM, "mcp", "--tools", "everything", "--store", f"sqlite://{store}"]
    done = run(command, start=Popen, env=environment(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "semantic-full" in done.stderr
