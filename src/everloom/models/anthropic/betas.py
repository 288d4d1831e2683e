"""Anthropic's two ways of compacting: the names of their betas, what a request says, and which models know them.

The one table to mend when a beta is renamed. Asks nobody; whoever does hands the answer in.

On demand, a request says `compaction` and the reply is a summary and nothing else, in a block that is signed: we decide
when, and keep a tail of turns word for word. At a threshold, a request says from how many tokens on the server may
compact before it answers, and the block comes with the answer, unsigned. Each has its own header, and a request that
carries blocks of one way under the header of the other is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from everloom.models.talk import AutoCompaction, CompactionMode

HEADERS = {CompactionMode.ON_DEMAND: "compact-2026-09-04", CompactionMode.THRESHOLD: "compact-2026-01-12"}
NATIVE = frozenset({"memory_20250818"})  # types of tools that every Claude knows
LEAST_TRIGGER = 50_000  # input tokens; a lower one is refused
# Known by name, for servers that do not list their models: November 2026. Whoever guesses too much is refused in the
# middle of a conversation, so an unknown name never compacts and gets a small window.
_COMPACTS = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-5|claude-opus-4-[678]|claude-sonnet-4-6")
_LONG = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-5")
_LONG_WINDOW, _CLAUDE_WINDOW, _OTHER_WINDOW = 1_000_000, 200_000, 32_768


class _Support(BaseModel):
    supported: bool = False
    summarize: _Support | None = None
    compact_20260112: _Support | None = None


class _Capabilities(BaseModel):
    compaction: _Support | None = None
    context_management: _Support | None = None


class Listing(BaseModel):
    """What a server says of one of its models; compatible ones leave most of it out."""

    capabilities: _Capabilities | None = None
    max_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Ability:
    """What a model can do about a long conversation, and how much of one it holds."""

    compacts: CompactionMode
    window: int


def ability_by_name(model: str) -> Ability:
    """Tell what is known of a model from its name alone; an unknown one never compacts."""
    window = _LONG_WINDOW if _LONG.match(model) else _CLAUDE_WINDOW if model.startswith("claude-") else _OTHER_WINDOW
    return Ability(CompactionMode.ON_DEMAND if _COMPACTS.match(model) else CompactionMode.NEVER, window)


def ability_by_listing(model: str, listing: Listing) -> Ability:
    """Tell what a server says of a model; compaction on demand is preferred."""
    can = listing.capabilities or _Capabilities()
    demanded = can.compaction and can.compaction.summarize
    automatic = can.context_management and can.context_management.compact_20260112
    mode = CompactionMode.THRESHOLD if automatic and automatic.supported else CompactionMode.NEVER
    mode = CompactionMode.ON_DEMAND if demanded and demanded.supported else mode
    return Ability(mode, listing.max_input_tokens or ability_by_name(model).window)


def on_demand(instructions: str) -> dict[str, Any]:
    """Write the part of a request that compacts all of it now."""
    return {"compaction": {"type": "summarize", "instructions": instructions}}


def at_threshold(compaction: AutoCompaction) -> dict[str, Any]:
    """Write the part of a request that compacts it when it is too long, and then answers all the same."""
    trigger = {"type": "input_tokens", "value": max(compaction.trigger, LEAST_TRIGGER)}
    edit = {"type": "compact_20260112", "trigger": trigger, "instructions": compaction.instructions}
    return {"context_management": {"edits": [{**edit, "pause_after_compaction": False}]}}


def is_made_by(mode: CompactionMode, raw: Mapping[str, Any]) -> bool:
    """Say whether a compaction block was made in this way: only those made on demand are signed."""
    return mode is not CompactionMode.NEVER and bool(raw.get("signature")) == (mode is CompactionMode.ON_DEMAND)
