"""The contract of a conversation with a model: turns made of blocks, tools it may use, text that arrives as it is said.

Knows no provider: a `TalkWire` carries one round. What is kept of a conversation, and where, is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

from everloom.models.llm import MESSAGE_OVERHEAD
from everloom.models.tokens import estimate
from everloom.models.usage import Usage

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Text:
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
class Folded:
    """A compaction: what is left of everything before it. `raw` is the provider's own block, sent back as it is."""

    text: str
    raw: Mapping[str, Any] | None = None


Block = Text | ToolUse | ToolResult | Thought | Folded


@dataclass(frozen=True, slots=True)
class Turn:
    """One side's part of a conversation."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Read its words alone."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """List the tools that it wants used."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model sees it; `schema` is the JSON schema of its input.

    `native` is the type under which a provider knows the tool by itself; every other one is told the schema.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    native: str | None = None


@dataclass(frozen=True, slots=True)
class Folding:
    """How a provider that compacts by itself shall do it: from how many input tokens on, and what to hold on to."""

    instructions: str
    trigger: int


class Folds(StrEnum):
    """What a provider can do about a conversation that grows too long."""

    ON_DEMAND = "on_demand"
    THRESHOLD = "threshold"
    NEVER = "never"


class Halt(StrEnum):
    """Why a model stopped speaking."""

    END = "end"
    CUT = "cut"
    TOOLS = "tools"
    FOLDED = "folded"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Talk:
    """One round of a conversation; `purpose` is what its cost is booked under.

    Tools that were used before must be told in every round; `may_use` says whether they may be used in this one.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    may_use: bool = True
    max_tokens: int = 4_096
    purpose: str = "conversation"
    folding: Folding | None = None

    def estimate(self) -> int:
        """Guess how many tokens the round takes in."""
        tools = (
            json.dumps([[tool.name, tool.description, dict(tool.schema)] for tool in self.tools]) if self.tools else ""
        )
        texts = (_readable(block) for turn in self.turns for block in turn.blocks)
        return estimate(self.system) + estimate(tools) + sum(estimate(text) + MESSAGE_OVERHEAD for text in texts)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said. `usage` is everything it took, compaction included; `context` is how full its window was."""

    turn: Turn
    usage: Usage
    model: str
    halt: Halt = Halt.END
    context: int = 0


def _readable(block: Block) -> str:
    match block:
        case ToolUse():
            return block.name + json.dumps(dict(block.input), ensure_ascii=False)
        case Thought():
            return json.dumps(dict(block.raw), ensure_ascii=False)
        case _:
            return block.text


class TalkWire(Protocol):
    """One provider's way of conversing."""

    @property
    def name(self) -> str:
        """Say `"kind:model"`."""
        ...

    @property
    def folds(self) -> Folds:
        """Say what it can do about a long conversation; may ask the provider once."""
        ...

    @property
    def window(self) -> int:
        """Say how many tokens its context holds."""
        ...

    def talk(self, talk: Talk, say: Say) -> Said:
        """Carry one round there and back; `say` hears words as they arrive. Nothing is said twice, also on a retry."""
        ...

    def fold(self, talk: Talk, instructions: str) -> Said:
        """Ask for a compaction of all turns; the answer's turn holds one `Folded`. Only where it folds on demand."""
        ...
