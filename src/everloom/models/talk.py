"""Conversations with a language model: turns made of blocks, tools that it may call, streamed text.

Refuses to know providers (a `TalkWire` handles one round) and where a conversation is stored.
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
# How long a provider is asked to keep what it has read of a conversation.
CacheLife = Literal["5m", "1h"]
# Reads the bytes of a picture or a document by their hash; None if they are not there.
ReadMedia = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call by the model; `fault` says why its input could not be parsed (`input` is then {}).

    A faulty call is not run: it is answered with a `ToolResult` that is an error.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call with the same id."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning as the provider sent it; sent back unchanged within a turn, and never stored."""

    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A summary that replaces everything before it. `raw` is the provider's own block, sent back unchanged."""

    text: str
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class MediaBlock:
    """A picture or a document of the user by the hash of its bytes, which are read when a request is written.

    `tokens` estimates what it takes of a window. `text` is what could be read of it, for a model that cannot see it.
    """

    hash: str
    media_type: str
    name: str
    size: int
    tokens: int
    text: str = ""


Block = TextBlock | ToolUse | ToolResult | Thought | Compacted | MediaBlock


@dataclass(frozen=True, slots=True)
class Turn:
    """One side's part of a conversation."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Its text without other blocks."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """Its tool calls."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `schema` is the JSON schema of its input.

    `native` is the type under which a provider has the tool built in; all other providers are sent the schema.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    native: str | None = None


class CompactionMode(StrEnum):
    """How a provider compacts a conversation that grows too long: on request, by itself, or not at all."""

    ON_DEMAND = "on_demand"
    THRESHOLD = "threshold"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class AutoCompaction:
    """For a provider that compacts by itself: the number of input tokens that triggers it, and what to preserve."""

    instructions: str
    trigger: int


@dataclass(frozen=True, slots=True)
class TalkRequest:
    """One round of a conversation; its cost is recorded under `purpose`.

    Tools that were used before must be sent in every round; `may_use` says whether they may be used in this one.
    `aside` is what the program adds to the newest message for this round alone: it stands behind that message, and
    behind everything that a provider caches for the next one. It must be the same in all rounds of a tool loop.
    `leaving` is how many of the oldest turns the next compaction would take, which is worth a place in the cache.
    `media` reads what its media blocks stand for.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    may_use: bool = True
    max_tokens: int = 4_096
    purpose: str = "conversation"
    compaction: AutoCompaction | None = None
    aside: str = ""
    leaving: int = 0
    cache_life: CacheLife = "5m"
    media: ReadMedia = lambda _: None

    def estimate(self) -> int:
        """Estimate the input tokens of the round."""
        tools = [[tool.name, tool.description, dict(tool.schema)] for tool in self.tools]
        told = estimate(self.system) + estimate(self.aside) + (estimate(json.dumps(tools)) if tools else 0)
        blocks = [block for turn in self.turns for block in turn.blocks]
        shown = sum(block.tokens for block in blocks if isinstance(block, MediaBlock))
        return told + shown + sum(estimate(_readable(block)) + MESSAGE_OVERHEAD for block in blocks)


def _readable(block: Block) -> str:
    match block:
        case MediaBlock():
            return block.name
        case ToolUse():
            return block.name + json.dumps(dict(block.input), ensure_ascii=False)
        case Thought():
            return json.dumps(dict(block.raw), ensure_ascii=False)
        case _:
            return block.text


@dataclass(frozen=True, slots=True)
class TalkReply:
    """The reply of a model. `usage` includes a compaction; `context` is the number of tokens in its window."""

    turn: Turn
    usage: TokenUsage
    model: str
    stop: StopReason = StopReason.END
    context: int = 0


class TalkWire(Protocol):
    """One provider's protocol for conversations; `name` is `"kind:model"`."""

    name: str

    @property
    def compacts(self) -> CompactionMode:
        """How it can compact a conversation; may ask the provider once."""

    @property
    def window(self) -> int:
        """The size of its context window in tokens."""

    def talk(self, request: TalkRequest, say: Say) -> TalkReply:
        """Run one round; `say` gets text as it arrives, and none of it twice, even after a retry."""

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:
        """Compact all turns into a reply with one `Compacted`; only for a provider that compacts on demand."""


class WithoutCompaction:
    """Base of the wires whose provider never compacts."""

    name: str
    compacts = CompactionMode.NEVER

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:  # noqa: ARG002 - it never does
        """Raise an error."""
        raise ProviderError(f"{self.name} does not compact")


class Talker(MeteredModel):
    """A conversational language model; its wire handles retries, its caller handles turns and tools."""

    def __init__(self, wire: TalkWire, *, role: str = "large", meter: Meter | None = None) -> None:
        super().__init__(wire.name, role, meter)
        self._calibration = Calibration()
        self._wire = wire

    @property
    def compacts(self) -> CompactionMode:
        """How the provider can compact a conversation."""
        return self._wire.compacts

    @property
    def window(self) -> int:
        """The size of its context window in tokens."""
        return self._wire.window

    def talk(self, request: TalkRequest, say: Say = lambda _: None) -> TalkReply:
        """Run one round; `say` gets text as it arrives."""
        reply = self._booked(request.purpose, lambda: self._wire.talk(request, say))
        # Compactions do not count: their input is not like that of an ordinary round.
        self._calibration.observe(request.estimate(), reply.usage.prompt)
        return reply

    def estimate(self, request: TalkRequest) -> int:
        """Estimate the input tokens of a round, corrected by what earlier rounds have reported."""
        return ceil(request.estimate() * self._calibration.factor)

    def compact(self, request: TalkRequest, instructions: str) -> TalkReply:
        """Let the provider compact all turns, if it does so on demand."""
        return self._booked("compaction", lambda: self._wire.compact(request, instructions))
