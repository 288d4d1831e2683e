"""Conversing with a language model: turns made of blocks, tools it may use, text that arrives as it is said.

Knows no provider: a `TalkWire` carries one round. What is kept of a conversation, and where, is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Any, Literal, Protocol

from everloom.errors import ProviderError
from everloom.models.ask import MESSAGE_OVERHEAD, StopReason
from everloom.models.text import Calibration, estimate
from everloom.models.usage import Meter, MeteredModel, TokenUsage

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The model's wish to use a tool; `fault` says what is wrong with an input that could not be read (it is then {}).

    Whoever uses tools answers a faulty one with a `ToolResult` that is an error, and uses nothing.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to the use with the same id."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning as the provider gave it; sent back unchanged within a turn, and never kept."""

    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The summary that stands for everything before it. `raw` is the provider's own block, sent back as it is."""

    text: str
    raw: Mapping[str, Any] | None = None


Block = TextBlock | ToolUse | ToolResult | Thought | Compacted


@dataclass(frozen=True, slots=True)
class Turn:
    """One side's part of a conversation."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Read its words alone."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """List the tools that it wants used."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `schema` is the JSON schema of its input.

    `native` is the type under which a provider knows the tool by itself; every other one is told the schema.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    native: str | None = None


class CompactionMode(StrEnum):
    """How a provider compacts a conversation that grows too long: when it is told to, by itself, or not at all."""

    ON_DEMAND = "on_demand"
    THRESHOLD = "threshold"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class AutoCompaction:
    """For a provider that compacts by itself: from how many input tokens on, and what to hold on to."""

    instructions: str
    trigger: int


@dataclass(frozen=True, slots=True)
class TalkRequest:
    """One round of a conversation; `purpose` is what its cost is booked under.

    Tools that were used before must be told in every round; `may_use` says whether they may be used in this one.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    may_use: bool = True
    max_tokens: int = 4_096
    purpose: str = "conversation"
    compaction: AutoCompaction | None = None

    def estimate(self) -> int:
        """Guess how many tokens the round takes in."""
        tools = [[tool.name, tool.description, dict(tool.schema)] for tool in self.tools]
        told = estimate(self.system) + (estimate(json.dumps(tools)) if tools else 0)
        texts = (_readable(block) for turn in self.turns for block in turn.blocks)
        return told + sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)


def _readable(block: Block) -> str:
    match block:
        case ToolUse():
            return block.name + json.dumps(dict(block.input), ensure_ascii=False)
        case Thought():
            return json.dumps(dict(block.raw), ensure_ascii=False)
        case _:
            return block.text


@dataclass(frozen=True, slots=True)
class TalkReply:
    """What a model said. `usage` is everything it took, compaction included; `context` is how full its window was."""

    turn: Turn
    usage: TokenUsage
    model: str
    stop: StopReason = StopReason.END
    context: int = 0


class TalkWire(Protocol):
    """One provider's way of conversing; `name` is `"kind:model"`."""

    name: str

    @property
    def compacts(self) -> CompactionMode:
        """Say what it can do about a long conversation; may ask the provider once."""

    @property
    def window(self) -> int:
        """Say how many tokens its context holds."""

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Carry one round there and back; `say` hears words as they arrive. Nothing is said twice, also on a retry."""

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:
        """Ask for a compaction of all turns; the reply's turn holds one `Compacted`. Only where it is on demand."""


class WithoutCompaction:
    """What a wire inherits whose provider never compacts."""

    name: str
    compacts = CompactionMode.NEVER

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:  # noqa: ARG002 - it never does
        """Refuse."""
        raise ProviderError(f"{self.name} does not compact")


class Talker(MeteredModel):
    """A language model that converses; retries belong to its wire, turns and tools to whoever converses."""

    def __init__(self, wire: TalkWire, *, role: str = "large", meter: Meter | None = None) -> None:
        super().__init__(wire.name, role, meter)
        self._calibration = Calibration()
        self._wire = wire

    @property
    def compacts(self) -> CompactionMode:
        """Say what the provider can do about a long conversation."""
        return self._wire.compacts

    @property
    def window(self) -> int:
        """Say how many tokens its context holds."""
        return self._wire.window

    def talk(self, request: TalkRequest, say: Say = lambda _: None) -> TalkReply:
        """Take one round; `say` hears words as they arrive."""
        reply = self._booked(request.purpose, lambda: self._wire.talk(request, say))
        # A compaction is not observed: what it took in is not what the next round will.
        self._calibration.observe(request.estimate(), reply.usage.prompt)
        return reply

    def estimate(self, request: TalkRequest) -> int:
        """Guess how many tokens a round takes in, from what earlier ones have reported."""
        return ceil(request.estimate() * self._calibration.factor)

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:
        """Have the provider compact all turns, where it does so on demand."""
        return self._booked("compaction", lambda: self._wire.compact(request, instructions))
