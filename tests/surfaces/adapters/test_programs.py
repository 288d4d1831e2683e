"""The program on each framework's page, run as it stands there: a process of its own, and a model over real HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import open_loom
from tests.docs.pages import ROOT, blocks
from tests.forking import Popen
from tests.patience import run
from tests.scripted.claude import ClaudeServer
from tests.scripted.gemini import GeminiServer, calls, speaks
from tests.scripted.server import ScriptedServer
from tests.scripted.server import says as answers
from tests.scripted.speech import Step, says, uses

PAGES = ROOT / "docs" / "frameworks"
BOAT = "My boat is called Marigold."
ASKED = "What is my boat called?"
# Runs a file as `python -W ignore` does.
PROGRAM = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def needs(package: str) -> pytest.MarkDecorator:
    """Skip a test where a framework is absent."""
    is_there = find_spec(package.partition(".")[0]) is not None and find_spec(package) is not None
    return pytest.mark.skipif(not is_there, reason=f"{package} is not installed here; make test-adapters has it")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the programs of a test run: a home, and what the environment tells them."""

    home: Path
    environment: dict[str, str]

    def run(self, page: str, *arguments: str, place: int = 0, **more: str) -> str:
        """Run the program of a page; return what it prints."""
        programs = [block.text for block in blocks(PAGES / page) if block.language == "python"]
        file = self.home / "talk.py"
        file.write_text(programs[place], encoding="utf-8")
        command = [sys.executable, "-c", PROGRAM, str(file), *arguments]
        done = run(command, start=Popen, env={**self.environment, **more}, cwd=self.home)
        assert done.returncode == 0, done.stderr[-3_000:]
        return done.stdout.strip()


@pytest.fixture
def desk(tmp_path: Path) -> Callable[..., Desk]:
    """Make a home for programs; nothing of this machine's configuration reaches them."""

    def made(**told: str) -> Desk:
        known = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "SYSTEMROOT") if name in os.environ}
        homes = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
        return Desk(tmp_path, {**known, **homes, "NO_PROXY": "127.0.0.1", **told})

    return made


class OwnClientServer(ClaudeServer):
    """Holds no rules against a client that Anthropic makes itself: it knows newer ones."""

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[Step, dict[str, Any]]:
        step = self._step(body)
        return step, self._message(step, body)


def claude(server: ClaudeServer) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "scripted"}


@needs("langgraph")
@pytest.mark.promise("adapters.programs")
def test_the_program_for_langgraph(desk: Callable[..., Desk]) -> None:
    with ClaudeServer() as server:
        server.script(says("Nice name."), says("Marigold."))
        place = desk(**claude(server))
        assert place.run("langgraph.md", "monday", BOAT) == "Nice name."
        assert place.run("langgraph.md", "tuesday", ASKED) == "Marigold."
    first, second = server.talks
    assert BOAT not in json.dumps(first["system"])
    assert [each["content"] for each in second["messages"]] == [ASKED]
    assert BOAT in json.dumps(second["system"])
    # The thread of monday goes on with what was said in it.
    file = next((place.home / "data").rglob("everloom.db"))
    with open_loom(f"sqlite:///{file}") as loom:
        from everloom.surfaces.adapters.langgraph import EverloomSaver

        kept: Any = EverloomSaver(loom.workspace("langgraph")).get({"configurable": {"thread_id": "monday"}})
    assert [each["content"] for each in kept["channel_values"]["messages"]] == [BOAT, "Nice name."]
    assert server.complaints == []


@needs("claude_agent_sdk")
@pytest.mark.promise("adapters.programs")
def test_the_program_for_the_claude_agent_sdk(desk: Callable[..., Desk], tmp_path: Path) -> None:
    with OwnClientServer() as server:
        server.reply = lambda body: says("Marigold." if ASKED in json.dumps(body["messages"][-1]) else "Nice name.")
        place = desk(
            **claude(server), DISABLE_TELEMETRY="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", IS_SANDBOX="1"
        )
        assert place.run("claude-agent.md", BOAT, CLAUDE_CONFIG_DIR=str(tmp_path / "one")) == "Nice name."
        # Another machine: nothing is left of the client's own files.
        assert place.run("claude-agent.md", ASKED, CLAUDE_CONFIG_DIR=str(tmp_path / "two")) == "Marigold."
    asked = [body for body in server.talks if ASKED in json.dumps(body["messages"])]
    assert any(BOAT in json.dumps(body["messages"]) for body in asked)


@needs("agents")
@pytest.mark.promise("adapters.programs")
def test_the_program_for_the_openai_agents_sdk(desk: Callable[..., Desk]) -> None:
    with ScriptedServer() as server:
        server.script(answers("Nice name."), answers("Marigold."))
        told = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "scripted"}
        place = desk(**told, OPENAI_AGENTS_DISABLE_TRACING="1")
        assert place.run("openai-agents.md", "one", BOAT) == "Nice name."
        assert place.run("openai-agents.md", "one", ASKED) == "Marigold."
    heard = [json.dumps(each.body["input"]) for each in server.heard if each.path == "/v1/responses"]
    assert [BOAT in each for each in heard] == [True, True]
    assert "Nice name." in heard[1]


@needs("anthropic")
@pytest.mark.promise("adapters.programs")
@pytest.mark.parametrize("place", [0, 1], ids=["synchronous", "asynchronous"])
def test_the_program_for_anthropics_memory_tool(desk: Callable[..., Desk], tmp_path: Path, place: int) -> None:
    path = "/memories/boat.md"
    with ClaudeServer() as server:
        server.script(
            uses(("memory", {"command": "create", "path": path, "file_text": f"{BOAT}\n"})),
            says("I wrote it down."),
            uses(("memory", {"command": "view", "path": path})),
            uses(("memory", {"command": "view", "path": "/memories/none.md"})),
            says("Marigold."),
        )
        home = desk(**claude(server))
        assert home.run("anthropic.md", BOAT, place=place) == "I wrote it down."
        assert home.run("anthropic.md", ASKED, place=place) == "Marigold."
    seen, missing = server.talks[3]["messages"][-1]["content"][0], server.talks[4]["messages"][-1]["content"][0]
    assert BOAT in json.dumps(seen)
    assert missing["is_error"]
    assert "does not exist" in json.dumps(missing)
    assert server.complaints == []


@needs("pydantic_ai")
@pytest.mark.promise("adapters.programs")
def test_the_program_for_pydantic_ai(desk: Callable[..., Desk]) -> None:
    with ClaudeServer() as server:
        server.script(says("Nice name."), says("Marigold."))
        place = desk(**claude(server))
        assert place.run("pydantic-ai.md", "one", BOAT) == "Nice name."
        assert place.run("pydantic-ai.md", "one", ASKED) == "Marigold."
    assert [BOAT in json.dumps(body["messages"]) for body in server.talks] == [True, True]


@needs("google.adk")
@pytest.mark.promise("adapters.programs")
def test_the_program_for_googles_adk(desk: Callable[..., Desk], tmp_path: Path) -> None:
    with GeminiServer() as server:
        server.script(speaks("Nice name."), calls("load_memory", query=ASKED), speaks("Marigold."))
        place = desk(GOOGLE_GEMINI_BASE_URL=server.url, GOOGLE_API_KEY="scripted")
        assert place.run("google-adk.md", BOAT) == "Nice name."
        assert place.run("google-adk.md", ASKED) == "Marigold."
    first, second, third = (json.dumps(each.body["contents"]) for each in server.heard)
    assert BOAT in first
    assert BOAT not in second
    assert BOAT in third
    file = next((tmp_path / "data").rglob("everloom.db"))
    with open_loom(f"sqlite:///{file}") as loom:
        assert any(BOAT in hit.text for hit in loom.workspace("adk").search(ASKED))
