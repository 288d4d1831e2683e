"""Servers as real processes, over pipes and HTTP, in both eras of the protocol: what goes wrong stays with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from everloom.errors import Conflict, Rejected
from everloom.mind.hands.servers import ListedTool, ServerFault, read_servers
from everloom.settings import from_environment, load
from everloom.wiring.hands.client import McpServers
from tests.mind.hands.sea import ROOT, Boat, harbour, settings_of
from tests.mind.runner import has_gone
from tests.patience import PATIENCE, wait_until

TOOLS = ["everything", "picture", "sail", "sleep", "weather"]
# A server of the era of handshakes, by hand: no SDK of ours speaks only that.
OLD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        info = {"name": "old", "version": "1"}
        answer = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        answer = {"tools": [{"name": "row", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        answer = {"content": [{"type": "text", "text": "rowed"}]}
    else:
        answer = None
    outcome = {"error": {"code": -32601, "message": "no"}} if answer is None else {"result": answer}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **outcome}) + "\\n")
    sys.stdout.flush()
"""


def anything(_: Sequence[ListedTool]) -> None:
    """Take the tools as they are."""


def use(servers: McpServers, tool: str, **given: Any) -> str:
    """Use a tool of the boat."""
    return servers.call("boat", tool, given, anything).text


def test_a_boat_over_pipes_tells_its_tools_and_answers_as_text(servers: McpServers, boat: Boat) -> None:
    assert sorted(each.name for each in servers.tools("boat")) == TOOLS
    assert {each.name for each in servers.tools("boat") if not each.is_read_only} == {"sail"}
    assert use(servers, "weather", place="Kiel").startswith("Calm in Kiel.")
    assert use(servers, "picture") == "(image, image/png, about 402 bytes; not shown)"
    assert len(use(servers, "everything")) == 1_000_000
    assert use(servers, "weather", place="secret") == "the key is sesame"
    for given in ({"place": "nowhere"}, {}):
        assert servers.call("boat", "weather", given, anything).is_error
    assert servers.call("boat", "no such tool", {}, anything).is_error
    # One process for all of it.
    assert len(boat.processes()) == 1

    def refuse(_: Sequence[ListedTool]) -> None:
        raise Conflict("it has changed")

    with pytest.raises(Conflict, match="it has changed"):
        servers.call("boat", "sail", {"where": "a changed tool"}, refuse)
    assert boat.lines("sail a changed tool") == []


def test_a_server_of_the_first_era_is_spoken_to_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(OLD)
    known = {"command": sys.executable, "args": [str(tmp_path / "old.py")], "tools": ["*"], "seconds": PATIENCE}
    servers = McpServers(settings_of(old=known), lambda _: None)
    assert [each.name for each in servers.tools("old")] == ["row"]
    assert servers.call("old", "row", {}, anything).text == "rowed"
    servers.close()


def test_a_boat_over_http_is_reached_with_a_header_from_the_environment(tmp_path: Path) -> None:
    boat = Boat(tmp_path / "log")
    with harbour(boat) as url:
        known = {"url": url, "headers": {"Authorization": "Bearer ${BOAT_KEY}"}, "tools": ["*"], "seconds": PATIENCE}
        servers = McpServers(settings_of(boat=known), boat.variable)
        assert sorted(each.name for each in servers.tools("boat")) == TOOLS
        assert use(servers, "weather", place="Kiel").startswith("Calm in Kiel.")
        with pytest.raises(ServerFault) as died:
            use(servers, "sail", where="storm")
        assert died.value.is_unsure
        began = time.monotonic()
        with pytest.raises(ServerFault) as gone:
            use(servers, "sail", where="nowhere")
        assert not gone.value.is_unsure, "it was not even reached"
        assert time.monotonic() - began < PATIENCE
        servers.close()
    without = McpServers(settings_of(boat=known), lambda _: None)
    with pytest.raises(ServerFault, match="BOAT_KEY is not set"):
        without.tools("boat")
    without.close()


def test_a_server_that_misbehaves_fails_with_a_reason_in_time_and_leaves_no_process(tmp_path: Path) -> None:
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "broken": ({}, "the mast is broken"),
        "silent": ({"seconds": 1}, "did not answer within 1 seconds"),
        "stubborn": ({"seconds": 1}, "did not answer within 1 seconds"),
        "calm": ({"command": "no-such-command-anywhere"}, "there is no command no-such-command-anywhere"),
    }
    opened = []
    for mood, (how, reason) in cases.items():
        boat = Boat(tmp_path / mood, mood)
        servers = boat.servers(**how)
        with pytest.raises(ServerFault, match=reason) as fault:
            servers.tools("boat")
        assert not fault.value.is_unsure
        opened.append((boat, servers))
    noisy = Boat(tmp_path / "noisy", "noisy")
    servers = noisy.servers()
    assert use(servers, "weather", place="Kiel").startswith("Calm in Kiel.")
    opened.append((noisy, servers))
    for boat, each in opened:
        each.close()
        for number in boat.processes():
            wait_until(partial(has_gone, number), "a server to be gone")
        with pytest.raises(ServerFault, match="closed"):
            each.tools("boat")


def answers(servers: McpServers) -> bool:
    """Say whether the boat tells its tools within its time."""
    try:
        return bool(servers.tools("boat"))
    except ServerFault:
        return False


def test_a_call_that_takes_too_long_or_kills_its_server_is_unsure_and_the_next_has_a_new_process(
    tmp_path: Path,
) -> None:
    boat = Boat(tmp_path / "log")
    hasty = boat.servers(seconds=2.5)
    # A busy machine may take longer than that to start it.
    wait_until(partial(answers, hasty), "a server to answer in time")
    with pytest.raises(ServerFault, match="did not answer within") as slow:
        use(hasty, "sleep", seconds=60)
    assert slow.value.is_unsure
    hasty.close()
    servers = boat.servers()
    with pytest.raises(ServerFault) as died:
        use(servers, "sail", where="storm")
    assert died.value.is_unsure
    assert use(servers, "sail", where="Kiel").startswith("Sailed to Kiel")
    os.kill(boat.processes()[-1], signal.SIGKILL)
    wait_until(partial(has_gone, boat.processes()[-1]), "a killed server to be gone")
    # It died between two calls: a new one is started, and the tool is used once.
    assert use(servers, "sail", where="Oslo").startswith("Sailed to Oslo")
    assert (len(boat.lines("sail Kiel")), len(boat.lines("sail Oslo"))) == (1, 1)
    servers.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_server_ends_when_its_parent_is_killed_even_if_it_does_not_listen(tmp_path: Path) -> None:
    boat = Boat(tmp_path / "log", "stubborn")
    code = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.mind.hands.sea import Boat
        Boat(Path({str(boat.log)!r}), "stubborn").servers(seconds=60).tools("boat")
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    wait_until(lambda: bool(boat.processes()), "the server to start")
    parent.kill()
    parent.wait()
    wait_until(partial(has_gone, boat.processes()[0]), "the server to be gone")


WRONG: dict[str, object] = {
    "names of variables, and no values": {"boat": {"command": "x", "env": ["KEY=secret"]}},
    "must take its value from a variable": {"boat": {"url": "https://x", "headers": {"Authorization": "Bearer abc"}}},
    "needs a command or a url": {"boat": {"tools": ["*"]}},
    "and not both": {"boat": {"command": "x", "url": "https://x"}},
    "https:// or http://": {"boat": {"url": "ftp://x"}},
    "has no 'comand'": {"boat": {"comand": "x"}},
    "must be a list of texts": {"boat": {"command": "x", "args": "one two"}},
    "must be true or false": {"boat": {"command": "x", "trusted": "yes"}},
    "must be a number": {"boat": {"command": "x", "seconds": "soon"}},
    "seconds go up to": {"boat": {"command": "x", "seconds": 0}},
    "needs a name": {"my__boat": {"command": "x"}},
    "one JSON object": "boat",
}


def test_a_wrong_setting_says_what_is_wrong_with_which_server(tmp_path: Path) -> None:
    for reason, value in WRONG.items():
        with pytest.raises(ValueError, match=reason):
            read_servers(value)
    file = tmp_path / "everloom.toml"
    file.write_text(
        '[mind.mcp.boat]\ncommand = "boat"\ntools = ["sail"]\n[mind.mcp.sea]\nurl = "https://sea.example"\n'
    )
    known = load(file, environ={})[0].mind.mcp
    assert (list(known), known["boat"].tools, known["sea"].tools) == (["boat", "sea"], ("sail",), ())
    file.write_text('[mind.mcp.boat]\ncommand = "boat"\ntool = ["sail"]\n')
    with pytest.raises(Rejected, match=r"mind.mcp: the server 'boat' has no 'tool'"):
        load(file, environ={})
    text = '{"boat": {"command": "boat"}}'
    assert from_environment({"EVERLOOM_MIND_MCP": text}) == {"mind.mcp": text}


def test_without_the_extra_the_error_says_what_to_install(boat: Boat, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[[str], None] = lambda _: None  # noqa: E731  a name for the type
    monkeypatch.setattr("everloom.wiring.hands.client.find_spec", find)
    servers = boat.servers()
    with pytest.raises(ServerFault, match="needs the extra mcp") as fault:
        servers.tools("boat")
    assert "everloom[mcp]" in (fault.value.hint or "")
