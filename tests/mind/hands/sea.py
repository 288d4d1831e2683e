"""What the tests of hands stand on: servers as real processes, and a mind that may use their tools."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from everloom.clock import ManualClock
from everloom.loom import Loom
from everloom.mind import IncomingMessage, StreamMessage
from everloom.mind.hands.actions import Action
from everloom.mind.hands.running import count_due, run_actions
from everloom.mind.hands.servers import ToolServer, read_servers
from everloom.mind.ports import MindSetup
from everloom.mind.verbs import Mind
from everloom.wiring.hands.client import McpServers
from tests.forking import Popen
from tests.mind.worlds import setup_of
from tests.patience import PATIENCE, wait_until
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Body, says, uses

ROOT = Path(__file__).parents[3]
# What a chat is called where the person is asked.
HERE: dict[str, Any] = {"channel": "telegram", "address": "7"}


@dataclass
class Boat:
    """A server of tools for the settings; `mood` and `more` are the variables that it is given."""

    log: Path
    mood: str = ""
    more: dict[str, str] = field(default_factory=dict)

    def setting(self, **how: Any) -> dict[str, Any]:
        """Write it as a setting does; by default it may read unasked."""
        args = ["-m", "tests.mind.hands.boat", "stdio", str(self.log)]
        names = ["PYTHONPATH", "BOAT_MOOD", "BOAT_KEY", *self.more]
        known = {"command": sys.executable, "args": args, "env": names, "tools": ["*"], "trusted": True}
        return {**known, "seconds": PATIENCE, **how}

    def variable(self, name: str) -> str | None:
        """Read a variable of its environment."""
        known = {"PYTHONPATH": str(ROOT), "BOAT_MOOD": self.mood or "calm", "BOAT_KEY": "sesame", **self.more}
        return known.get(name)

    def servers(self, name: str = "boat", **how: Any) -> McpServers:
        """Reach it."""
        return McpServers(settings_of(**{name: self.setting(**how)}), self.variable)

    def forget_journeys(self) -> None:
        """Forget what it did so far, but not which process it is."""
        if self.log.exists():
            known = [line for line in self.log.read_text(encoding="utf-8").splitlines() if line.startswith("pid ")]
            self.log.write_text("".join(f"{line}\n" for line in known), encoding="utf-8")

    def lines(self, of: str) -> list[str]:
        """List what it has done."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return [line for line in text.splitlines() if line.startswith(of)]

    def processes(self) -> list[int]:
        """List the processes that it ever had."""
        return [int(line.split()[1]) for line in self.lines("pid ")]


def settings_of(**servers: dict[str, Any]) -> dict[str, ToolServer]:
    """Read servers as the setting `mind.mcp` does."""
    found = read_servers(servers)
    assert isinstance(found, dict)
    return found


@contextmanager
def harbour(boat: Boat, **environ: str) -> Iterator[str]:
    """Run a boat over HTTP; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.mind.hands.boat", "http", str(boat.log), str(port)]
    process = Popen(command, cwd=ROOT, env={**os.environ, **environ}, stderr=subprocess.DEVNULL)

    def is_up() -> bool:
        try:
            urlopen(f"http://127.0.0.1:{port}/mcp", timeout=1).close()
        except HTTPError:
            return True
        except (URLError, OSError):
            return False
        return True

    try:
        wait_until(is_up, "the boat to be in the harbour")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@dataclass
class Crew:
    """A mind with hands, a scripted model, and a person on Telegram."""

    loom: Loom
    setup: MindSetup
    claude: ClaudeServer
    mind: Mind

    @property
    def clock(self) -> ManualClock:
        """The clock that the test moves."""
        assert isinstance(self.setup.op.clock, ManualClock)
        return self.setup.op.clock

    def says(self, text: str, **more: Any) -> StreamMessage:
        """Let the person say something."""
        return self.mind.conversation.take(IncomingMessage(**{"text": text, "is_whole": True, **HERE, **more}))

    def asks_for(self, tool: str, given: Body, text: str = "Please do it.") -> str:
        """Let the person ask for something, and the agent use a tool for it; gives what the tool answered."""
        self.claude.script(uses((tool, given)), says("I have asked."))
        self.says(text)
        assert self.mind.conversation.step() is not None
        return self.answered()

    def answered(self) -> str:
        """Read the last result that the model was given."""
        blocks = [each for each in self.claude.talks[-1]["messages"][-1]["content"] if each["type"] == "tool_result"]
        content = blocks[-1]["content"]
        return content if isinstance(content, str) else "".join(each["text"] for each in content)

    def told(self, channel: str = "telegram") -> list[str]:
        """Take what the person is told."""
        found = self.mind.conversation.outbox(channel)
        self.mind.conversation.fetched(found)
        return [each.text for each in found]

    def action(self) -> Action:
        """Read the newest action."""
        return self.mind.list_actions(max_tokens=100_000).actions[0]

    def work(self) -> None:
        """Do what was approved, as a worker does."""
        while count_due(self.setup):
            lease = self.setup.leases.take(self.setup.op.workspace.id, "actions")
            assert lease is not None
            run_actions(self.setup.under(lease), lease, lambda _: None)
            lease.drop()

    def again(self, **policy: Any) -> Mind:
        """Begin anew with what the store holds, as another process would."""
        self.setup = replace(self.setup, policy=replace(self.setup.policy, **policy))
        self.mind = Mind(self.setup)
        return self.mind


def crew_in(loom: Loom, claude: ClaudeServer, setup: MindSetup, servers: McpServers | None = None) -> Crew:
    """Make a mind with these servers."""
    known = setup if servers is None else replace(setup, servers=servers)
    return Crew(loom, known, claude, Mind(known))


def crew_of(
    loom: Loom, claude: ClaudeServer, clock: ManualClock, notes: Path, servers: McpServers | None = None, **policy: Any
) -> Crew:
    """Make a mind in a workspace of its own."""
    known = {"mcp": servers.configured} if servers is not None else {}
    return crew_in(
        loom, claude, setup_of(loom, notes, claude.url, name=f"crew {notes}", clock=clock, **known, **policy), servers
    )
