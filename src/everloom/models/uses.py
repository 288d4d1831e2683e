"""A wish to use a tool as it comes over a wire, and turns as OpenAI's and Ollama's wires write them.

Pure; knows no paths. An input that cannot be read is told as a fault, for the model to mend.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from secrets import token_hex
from typing import Any

from everloom.models.settled import settle
from everloom.models.talk import Talk, Text, Tool, ToolResult, ToolUse, Turn
from everloom.models.text import shortened, well_formed

Param = dict[str, Any]


def tool_use(identity: str, name: str, given: object) -> ToolUse:
    """Read a wish to use a tool; a server that gives no id is helped out."""
    identity = identity or f"call_{token_hex(8)}"
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return ToolUse(identity, name, {}, fault=f"the input is not JSON: {shortened(str(given), 200)}")
    if not isinstance(given, Mapping):
        return ToolUse(identity, name, {}, fault=f"the input is not an object: {shortened(str(given), 200)}")
    return ToolUse(identity, name, json.loads(well_formed(json.dumps(dict(given), ensure_ascii=False))))


def function(tool: Tool) -> Param:
    """Write a tool as a function."""
    described = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": described}


def messages(talk: Talk, call: Callable[[ToolUse], Param]) -> list[Param]:
    """Write a round as chat messages, the system's first; `call` writes one use of a tool."""
    names: dict[str, str] = {}
    written = [{"role": "system", "content": talk.system}] if talk.system.strip() else []
    for turn in settle(talk.turns):
        names |= {use.id: use.name for use in turn.uses}
        written += _assistant(turn, call) if turn.role == "assistant" else _user(turn, names)
    return written


def _assistant(turn: Turn, call: Callable[[ToolUse], Param]) -> Iterator[Param]:
    calls = [call(use) for use in turn.uses]
    yield {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}


def _user(turn: Turn, names: Mapping[str, str]) -> Iterator[Param]:
    for block in turn.blocks:
        if isinstance(block, ToolResult):
            text = f"Error: {block.text}" if block.is_error else block.text
            yield {"role": "tool", "tool_call_id": block.id, "tool_name": names.get(block.id, ""), "content": text}
    if any(isinstance(block, Text) for block in turn.blocks):
        yield {"role": "user", "content": turn.text}
