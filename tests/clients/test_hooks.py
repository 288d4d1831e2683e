"""Real clients with our hooks: told something, ended, started again, their first request already holds it.

Once with the hooks in the client's own file, once with its plugin; the models behind them are scripted.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import run, wait_until
from tests.scripted.claude import ClaudeServer
from tests.scripted.wire import Heard
from tests.surfaces.hooks.ground import Machine
from tests.surfaces.hooks.talkers import TalkServer

pytestmark = pytest.mark.clients

FOLDER = os.environ.get("EVERLOOM_TEST_CLIENTS", "")
TOLD = "Our deploy window is Thursday at 14:00, because Falmouth sleeps on Fridays."
ASKED = "Good morning. When may I deploy?"
CODEX = """
model = "gpt-5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""


@dataclass(frozen=True)
class Desk:
    """A client on a machine of its own, with a scripted model behind it."""

    machine: Machine
    heard: Callable[[], list[Heard]]
    ask: tuple[str, ...]
    connect: tuple[tuple[str, ...], ...]

    def say(self, prompt: str) -> str:
        """Let a person say something in a session of its own; give the first request that holds it."""
        before = len(self.heard())
        self.call(*self.ask, prompt)
        requests = [json.dumps(each.body, ensure_ascii=False) for each in self.heard()[before:]]
        return next(each for each in requests if prompt in each)

    def call(self, *words: str) -> str:
        """Run the client; skipped where npm has not installed it."""
        program = Path(FOLDER) / "node_modules/.bin" / words[0]
        if not FOLDER or not program.exists():
            pytest.skip(f"{words[0]} is not installed; `make test-clients` installs it")
        project = self.machine.home / "project"
        project.mkdir(exist_ok=True)
        # Our own program is found where the plugins look for it: on the PATH.
        path = os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        done = run([str(program), *words[1:]], env={**self.machine.environment, "PATH": path}, cwd=project)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextmanager
def claude_code(home: Path) -> Iterator[Desk]:
    with ClaudeServer() as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-none"}
        variables |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        yield Desk(
            machine(home, **variables),
            lambda: server.heard,
            ("claude", "--model", "claude-sonnet-4-5", "-p"),
            (
                ("claude", "plugin", "validate", "--strict", "{plugin}"),
                ("claude", "plugin", "marketplace", "add", "{plugin}"),
                ("claude", "plugin", "install", "everloom@everloom"),
            ),
        )


@contextmanager
def codex(home: Path) -> Iterator[Desk]:
    with TalkServer() as server:
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(CODEX.format(url=server.url))
        # Whoever starts Codex by hand is asked once; here nobody is there to answer.
        flags = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")
        yield Desk(
            machine(home, OPENAI_API_KEY="none"),
            lambda: server.heard,
            ("codex", "exec", *flags),
            (("codex", "plugin", "marketplace", "add", "{plugin}"), ("codex", "plugin", "add", "everloom@everloom")),
        )


@contextmanager
def gemini(home: Path) -> Iterator[Desk]:
    with TalkServer() as server:
        (home / ".gemini").mkdir()
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
        variables = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": server.url}
        yield Desk(
            machine(home, GEMINI_CLI_TRUST_WORKSPACE="true", **variables),
            lambda: server.heard,
            ("gemini", "-m", "gemini-2.5-flash", "-p"),
            (
                ("gemini", "extensions", "validate", "{plugin}"),
                ("gemini", "extensions", "install", "--consent", "{plugin}"),
            ),
        )


def machine(home: Path, **variables: str) -> Machine:
    return Machine(home, f"sqlite:///{home}/loom.db", variables)


def wait_for_transcripts(desk: Desk, number: int) -> None:
    """Wait until so many transcripts have been taken in, by processes that the client knows nothing about."""

    def are_taken() -> bool:
        found = desk.machine.command("hook", "status")["transcripts"]
        return [each["state"] for each in found] == ["taken in"] * number

    wait_until(are_taken, "the transcripts", output=lambda: str(desk.machine.command("hook", "status")), step=0.5)


@pytest.mark.promise("hooks.real-clients")
@pytest.mark.parametrize("sit_down", [claude_code, codex, gemini])
def test_a_client_that_was_told_something_knows_it_when_it_is_started_again(
    sit_down: Callable[[Path], AbstractContextManager[Desk]], tmp_path: Path
) -> None:
    client = sit_down.__name__.replace("_", "-")
    with sit_down(tmp_path) as desk:
        desk.machine.command("init")
        desk.machine.command("hook", "install", "--client", client)
        assert "<memory-recall>" not in desk.say(TOLD)
        wait_for_transcripts(desk, 1)
        first = desk.say(ASKED)
        assert f"User: {TOLD}" in first
        assert "memory-recall" in first
        wait_for_transcripts(desk, 2)
        desk.machine.command("hook", "install", "--client", client, "--remove")
        plugin = tmp_path / "plugin"
        desk.machine.command("hook", "install", "--client", client, "--plugin", str(plugin))
        for words in desk.connect:
            desk.call(*(each.format(plugin=plugin) for each in words))
        shutil.rmtree(desk.machine.record.directory / "last")
        assert f"User: {TOLD}" in desk.say("Once more: when?")
        wait_for_transcripts(desk, 3)
        events = {each["event"] for each in desk.machine.record.last() if each["client"] == client}
        assert {"session-start", "user-prompt", "stop", "session-end"} <= events
    # What the sessions were told came into no transcript that was taken in: each turn is there once.
    found = desk.machine.command("search", "deploy window Thursday", "--limit", "20")
    assert sum(TOLD in hit["text"] for hit in found["hits"]) == 1
    assert not any("memory-recall" in hit["text"] for hit in found["hits"])
