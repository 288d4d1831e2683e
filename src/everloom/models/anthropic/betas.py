"""What Claude models can do, and Anthropic's two ways of compacting: their betas and their request fields.

The place to update when a beta is renamed. Makes no requests; what a server reported is passed in.

On demand, a request contains `compaction`, and the reply is only a summary, in a signed block: we decide when, and keep
the last turns verbatim. At a threshold, a request says from how many tokens on the server may compact before it
answers, and the unsigned block comes with the answer. Each has its own header, and a request that contains blocks of
one kind under the header of the other is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from everloom.models.catalog import BUILT_IN
from everloom.models.talk import AutoCompaction, CompactionMode
from everloom.models.thinking import EFFORTS

HEADERS = {CompactionMode.ON_DEMAND: "compact-2026-09-04", CompactionMode.THRESHOLD: "compact-2026-01-12"}
NATIVE = frozenset({"memory_20250818"})  # types of tools that every Claude model has built in
LEAST_TRIGGER = 50_000  # input tokens; the API rejects a lower trigger
# By name, for servers that do not list their models: November 2026. A guess that promises too much fails in the middle
# of a conversation, so an unknown name never compacts and gets a small window.
_COMPACTS = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-5|claude-opus-4-[678]|claude-sonnet-4-6")
_LONG = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-5")
_THINKING: Mapping[str, frozenset[str]] = {
    "always": frozenset({"adaptive"}),
    "by itself": frozenset({"adaptive", "disabled", "between_tools"}),
    "if asked": frozenset({"adaptive", "disabled"}),
    "": frozenset(),
}
_LONG_WINDOW, _CLAUDE_WINDOW, _OTHER_WINDOW = 1_000_000, 200_000, 32_768


class _Support(BaseModel):
    supported: bool = False
    summarize: _Support | None = None
    compact_20260112: _Support | None = None


class _ThinkingSupport(BaseModel):
    types: dict[str, _Support] = Field(default_factory=dict)


class _Capabilities(BaseModel):
    compaction: _Support | None = None
    context_management: _Support | None = None
    thinking: _ThinkingSupport | None = None
    # Beside the levels, whether there are any.
    effort: dict[str, _Support | bool | None] | None = None


class Listing(BaseModel):
    """What a server reports about one of its models; compatible servers leave most of it out."""

    capabilities: _Capabilities | None = None
    max_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Ability:
    """How a model compacts conversations, the size of its context window, and how it can be told to think.

    `thinking` has the types of thinking that it takes, `efforts` the levels.
    """

    compacts: CompactionMode
    window: int
    thinking: frozenset[str] = frozenset()
    efforts: tuple[str, ...] = ()


def ability_by_name(model: str) -> Ability:
    """Derive a model's ability from its name alone; an unknown model never compacts."""
    window = _LONG_WINDOW if _LONG.match(model) else _CLAUDE_WINDOW if model.startswith("claude-") else _OTHER_WINDOW
    mode = CompactionMode.ON_DEMAND if _COMPACTS.match(model) else CompactionMode.NEVER
    facts = BUILT_IN.facts(f"anthropic:{model}")
    return Ability(mode, window, _THINKING[facts.thinks], facts.efforts)


def ability_by_listing(model: str, listing: Listing) -> Ability:
    """Derive a model's ability from what the server reports."""
    # On demand is preferred: we choose the moment, and the last turns stay verbatim.
    can = listing.capabilities or _Capabilities()
    demanded = can.compaction and can.compaction.summarize
    automatic = can.context_management and can.context_management.compact_20260112
    mode = CompactionMode.THRESHOLD if automatic and automatic.supported else CompactionMode.NEVER
    mode = CompactionMode.ON_DEMAND if demanded and demanded.supported else mode
    named = ability_by_name(model)
    return Ability(
        mode,
        listing.max_input_tokens or named.window,
        # A server that does not say what it takes is one that knows less than the model's name does.
        named.thinking if can.thinking is None else frozenset(_supported(can.thinking.types)),
        named.efforts if can.effort is None else tuple(each for each in EFFORTS if each in _supported(can.effort)),
    )


def _supported(kinds: Mapping[str, _Support | bool | None]) -> set[str]:
    return {name for name, each in kinds.items() if isinstance(each, _Support) and each.supported}


def on_demand(instructions: str) -> dict[str, Any]:
    """Make the part of a request that compacts everything now."""
    return {"compaction": {"type": "summarize", "instructions": instructions}}


def at_threshold(compaction: AutoCompaction) -> dict[str, Any]:
    """Make the part of a request that lets the server compact a long conversation before it answers."""
    trigger = {"type": "input_tokens", "value": max(compaction.trigger, LEAST_TRIGGER)}
    edit = {"type": "compact_20260112", "trigger": trigger, "instructions": compaction.instructions}
    return {"context_management": {"edits": [{**edit, "pause_after_compaction": False}]}}


def is_made_by(mode: CompactionMode, raw: Mapping[str, Any]) -> bool:
    """Check whether a compaction block was made in this mode: only blocks made on demand are signed."""
    return mode is not CompactionMode.NEVER and bool(raw.get("signature")) == (mode is CompactionMode.ON_DEMAND)
