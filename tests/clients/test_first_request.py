"""The first request of a conversation already has the memory: its tools, or what the client tells of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.conftest import ClientHome
from tests.scripted.claude import ClaudeServer
from tests.scripted.wire import Answer, Heard, Server, as_json
from tests.surfaces.mcp.test_tools import CORE

pytestmark = [pytest.mark.clients, pytest.mark.promise("clients.real")]
FIRST = "Call orient first"


class Listener(Server):
    """A server that keeps what it is asked, and knows no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Heard] = []

    def get(self, path: str) -> Answer:
        """Answer a question without a body."""
        return as_json({"error": {"message": path}}, 404)

    def post(self, heard: Heard) -> Answer:
        """Keep a request."""
        self.heard.append(heard)
        return as_json({"error": {"message": "there is no answer"}}, 400)


@pytest.mark.promise("clients.loaded-at-once")
def test_the_first_request_of_claude_code_has_every_tool_and_the_instructions(home: ClientHome) -> None:
    home.enter("claude-code")
    with ClaudeServer() as server:
        home.run("claude", "-p", "hello", **_scripted(server.url))
        first = next(each.body for each in server.heard if each.body.get("tools"))
    names = {tool["name"] for tool in first["tools"]}
    assert {f"mcp__everloom__{name}" for name in CORE} <= names
    assert FIRST in json.dumps(first)


@pytest.mark.promise("clients.loaded-at-once")
def test_the_first_request_of_codex_tells_of_the_memory(home: ClientHome) -> None:
    home.enter("codex")
    with Listener() as server:
        wire = f'{{name="s",base_url="{server.url}/v1",wire_api="responses",env_key="KEY",request_max_retries=0}}'
        flags = ("--skip-git-repo-check", "-c", 'model_provider="s"', "-c", f"model_providers.s={wire}")
        home.run("codex", "exec", *flags, "hello", KEY="none")
        first: dict[str, Any] = server.heard[0].body
    # To a model that can search for tools, Codex tells the beginning of the instructions, and gives the tools later.
    assert "mcp__everloom" in json.dumps(first)
    assert FIRST in json.dumps(first)


def _scripted(url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
