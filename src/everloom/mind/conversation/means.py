"""What a conversation is given by the rooms around it: the prompt, the tools, and whoever wants to hear of exchanges.

Holds values and hands them out. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from everloom.mind.conversation.exchange import Exchange
from everloom.mind.ports import AgentTool

# Only where no notes are kept; otherwise COMPACTION.md says it.
INSTRUCTIONS = "Hold on to the course of the conversation: its tone, what is open, and what was promised to whom."


def nothing_before(_: Sequence[Exchange]) -> None:
    """Let turns be folded without a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The system prompt, what a compaction holds on to, the tools; `before_folding` hears what leaves the array."""

    system: Callable[[], str] = str
    instructions: Callable[[], str] = lambda: INSTRUCTIONS
    tools: Callable[[], Sequence[AgentTool]] = tuple
    before_folding: Callable[[Sequence[Exchange]], None] = nothing_before
