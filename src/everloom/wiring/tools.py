"""Verbs as tools of the agent in conversation: those of the mind itself, and a handful of each faculty switched on.

Read from the declarations, like the tools of other agents; what comes back is told in words of its own, or as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any
from zoneinfo import ZoneInfo

from everloom.errors import Rejected
from everloom.kernel.encode import as_data
from everloom.kernel.verbs import Verb, verbs_of
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolSpec
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import FACULTIES

# What `mind.faculties` may name.
SWITCHED = ("semantic", "episodic", "graph")
# A tool's answer is read by a model that pays for each word, and a score's fifth digit tells it nothing.
MOST_CHARACTERS = 12_000
_DIGITS = 4
# What the agent does not choose. A conversation that goes on for ever would soon have been shown everything once.
_FIXED: dict[str, dict[str, Any]] = {"bring_to_mind": {"include_seen": True, "last_token": None}}


def faculty_tools(names: Iterable[str], workspace: Any) -> list[AgentTool]:
    """Make the tools of the faculties that are named, in a workspace."""
    tools: list[AgentTool] = []
    for name in names:
        if name not in SWITCHED:
            raise Rejected(f"there is no faculty {name!r}", hint=f"mind.faculties takes {', '.join(SWITCHED)}")
        tools += verb_tools(FACULTIES[name].reach(workspace, {}), workspace.info.zone)
    return tools


def verb_tools(faculty: object, zone: ZoneInfo) -> list[AgentTool]:
    """Make the tools of a faculty from those of its verbs that the agent may use."""
    return [_tool_of(verb, faculty, zone) for verb in verbs_of(type(faculty)) if verb.is_agent_tool]


def _tool_of(verb: Verb, faculty: object, zone: ZoneInfo) -> AgentTool:
    fixed = _FIXED.get(verb.name, {})
    arguments = Arguments(verb.tool, [each for each in verb.parameters if each.name not in fixed])

    def use(given: Mapping[str, Any]) -> str:
        return write_answer(getattr(faculty, verb.name)(**arguments.read(given, zone), **fixed))

    return AgentTool(ToolSpec(verb.tool, verb.description, {**arguments.schema, "additionalProperties": False}), use)


def write_answer(value: object) -> str:
    """Write an answer in its own words, if it has any, else as JSON; cut where it becomes long."""
    if is_dataclass(value) and type(value).__str__ is not object.__str__:
        text = str(value)
    else:
        text = json.dumps(as_data(value, _DIGITS), ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… (cut; ask for less)"
