"""What the tests of the conversation stand on: a workspace, a strict scripted Claude, a clock, tools that misbehave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from everloom.clock import Clock, ManualClock
from everloom.errors import Rejected
from everloom.kernel.spending import Ledger
from everloom.kernel.work.holder import this_holder
from everloom.kernel.work.lease import Leases
from everloom.loom import Loom, open_loom
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.turn import Surroundings
from everloom.mind.ports import AgentTool, MindPolicy, MindSetup
from everloom.mind.results import FactPruning
from everloom.models.anthropic.talk import AnthropicTalk
from everloom.models.talk import Talker, ToolSpec
from everloom.models.transport import Endpoint, RetryPolicy
from everloom.models.usage import Meter
from everloom.settings import Settings
from everloom.workspace import Workspace
from tests.mind.validity import validity
from tests.patience import PATIENCE
from tests.scripted.claude import ClaudeServer
from tests.store.ground import rows_of

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
MODEL = "claude-sonnet-5-5"
# A failure is a failure at once: how often a wire tries again is tested with the wires.
ONCE = RetryPolicy(attempts=1, connect=PATIENCE, timeout=PATIENCE, deadline=PATIENCE)
HOLDER = this_holder()


@dataclass
class World:
    """One conversation with a scripted model; `left` holds the exchanges that were about to be folded."""

    loom: Loom
    setup: MindSetup
    server: ClaudeServer
    conversation: Conversation
    url: str = ""
    left: list[Exchange] = field(default_factory=list)

    @property
    def clock(self) -> ManualClock:
        """The clock that the test moves."""
        assert isinstance(self.setup.op.clock, ManualClock)
        return self.setup.op.clock

    def say(self, *texts: str, channel: str = "terminal", **more: Any) -> None:
        """Let the person say something, whole."""
        for text in texts:
            self.conversation.receive(text, channel=channel, is_whole=True, **more)

    def exchange(self, text: str) -> Exchange:
        """Say something and have it answered."""
        self.say(text)
        answered = self.conversation.step()
        assert answered is not None
        return answered

    def found(self, cue: str) -> list[int]:
        """Search, and say which items were found."""
        return [hit.id for hit in self.loom.workspace(self.setup.op.workspace.name).search(cue)]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Read this workspace's rows of a table, past every filter of the program."""
        rows = rows_of(self.url, f"SELECT * FROM {table}")
        return [row for row in rows if row["workspace_id"] == self.setup.op.workspace.id]

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.clock.advance(timedelta(**span))

    def again(self, **policy: Any) -> Conversation:
        """Begin anew with what the store holds, as another process would; from here on the world uses that."""
        self.conversation = conversation_in(replace(self.setup, policy=replace(self.setup.policy, **policy)), self.left)
        return self.conversation

    def assert_valid(self) -> None:
        """Prove that the array is one that the strictest model takes, and that the server never complained."""
        assert validity(self.conversation.turns()) == []
        assert self.server.complaints == []


def open_place(url: str, clock: Clock) -> Loom:
    """Open a loom with settings that depend on no machine."""
    return open_loom(url, settings=Settings.model_validate({"workspace": {"time_zone": "UTC"}}), clock=clock)


def talker_of(server_url: str, meter: Meter | None = None) -> Talker:
    """Make a model that talks to the scripted server and never tries twice."""
    endpoint = Endpoint("anthropic", server_url, "key", "ANTHROPIC_API_KEY", needs_key=True)
    return Talker(AnthropicTalk(endpoint, MODEL, ONCE), meter=meter)


def setup_of(
    loom: Loom, notes: Path, server_url: str | None, *, name: str = "james", clock: Clock | None = None, **policy: Any
) -> MindSetup:
    """Lay the setup of a conversation; without a server there is no model."""
    info, known = loom.workspace(name).info, clock or loom.clock
    meter = Meter(clock=known, recorder=Ledger(loom.store, info.id))
    talker = None if server_url is None else talker_of(server_url, meter)
    setup = replace(loom.mind_setup(info), notes=notes, policy=MindPolicy(**policy), talker=lambda: talker)
    return elsewhere(with_clock(setup, known), HOLDER)


def with_clock(setup: MindSetup, clock: Clock) -> MindSetup:
    """Let a mind go by another clock."""
    op = replace(setup.op, clock=clock)
    return replace(setup, op=op, leases=Leases(op.store, clock, setup.leases.holder))


def elsewhere(setup: MindSetup, holder: str = "elsewhere:1:x") -> MindSetup:
    """Have the same mind in another process."""
    return replace(setup, leases=Leases(setup.op.store, setup.op.clock, holder))


def conversation_in(setup: MindSetup, left: list[Exchange], tools: Sequence[AgentTool] = ()) -> Conversation:
    """Make a conversation with the tools of these tests; no notes are needed for it."""
    around = Surroundings(
        system=lambda: "You are the agent of these tests.",
        tools=lambda: (*TOOLS, *tools),
        before_folding=left.extend,
    )
    return Conversation(setup, around)


def fact_set_aside(place: Workspace) -> int:
    """Store a fact, and set it aside as a night would."""
    fact = place.semantic.remember(["James"], "James is tired today.", kind="fact").id
    gone = FactPruning(id=fact, text="James is tired today.", why="told how things were at one moment")
    assert place.mind.setup.facts.set_aside(gone, lambda _: True, lambda _: None)
    return fact


def tool(name: str, use: Callable[[Mapping[str, Any]], str], *required: str) -> AgentTool:
    """Make a tool."""
    schema = {
        "type": "object",
        "properties": {key: {"type": "string"} for key in required},
        "required": [*required],
        "additionalProperties": False,
    }
    return AgentTool(ToolSpec(name, f"The tool {name} of these tests.", schema), use)


def _reject(_: Mapping[str, Any]) -> str:
    raise Rejected("that cannot be looked up", hint="look up something else")


def _break(_: Mapping[str, Any]) -> str:
    raise ZeroDivisionError("a defect")


TOOLS = (
    tool("look_up", lambda given: f"found {given['what']}", "what"),
    tool("reject", _reject),
    tool("break_down", _break),
)
