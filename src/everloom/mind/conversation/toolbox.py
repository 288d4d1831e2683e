"""The tools of one turn: runs what the model asks for, and turns every failure into an answer that it can read.

Knows no tool by name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from everloom.errors import EverloomError
from everloom.mind.conversation.stream import printable
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolResult, ToolSpec, ToolUse, Turn

log = logging.getLogger(__name__)

# Longer answers would crowd out the conversation; a tool that has more says how to get it.
LONGEST_RESULT = 40_000


class Toolbox:
    """Tools by name, in a steady order (a provider's cache depends on it)."""

    def __init__(self, tools: Iterable[AgentTool]) -> None:
        self._tools = {each.tool.name: each for each in tools}

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """List the tools as a model sees them."""
        return tuple(each.tool for each in self._tools.values())

    def answer(self, turn: Turn) -> Turn:
        """Use every tool that a turn asks for, in order."""
        return Turn("user", tuple(self._use(use) for use in turn.uses))

    def _use(self, use: ToolUse) -> ToolResult:
        known = self._tools.get(use.name)
        if known is None:
            return ToolResult(
                use.id, f"there is no tool {use.name}; there are: {', '.join(self._tools)}", is_error=True
            )
        if fault := use.fault or fault_of(known.tool.schema, use.input):
            return ToolResult(use.id, fault, is_error=True)
        try:
            return ToolResult(use.id, shown(known.use(use.input)))
        except EverloomError as error:
            return ToolResult(use.id, shown(str(error)), is_error=True)
        except Exception as error:
            # A defect in one tool must not take the whole turn down; whoever runs this finds it in the log.
            log.exception("the tool %s failed", use.name)
            return ToolResult(use.id, f"the tool failed ({type(error).__name__}); do not rely on it", is_error=True)


def fault_of(schema: Mapping[str, Any], arguments: object) -> str | None:
    """Say what is wrong with the shape of a tool's input; None when its names fit the schema."""
    if not isinstance(arguments, Mapping):
        return "the input must be an object"
    known = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        return f"missing: {', '.join(missing)}"
    unknown = [name for name in arguments if name not in known]
    if unknown and schema.get("additionalProperties") is False:
        return f"unknown: {', '.join(map(str, unknown))}; there are: {', '.join(known)}"
    return None


def shown(text: str) -> str:
    """Bound what a tool says, and never leave it empty."""
    kept = printable(str(text))
    if len(kept) > LONGEST_RESULT:
        return f"{kept[:LONGEST_RESULT]}\n(cut here: {len(kept):,} characters in all)"
    return kept if kept.strip() else "(nothing)"
