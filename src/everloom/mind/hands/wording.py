"""What people and the model are told about actions: questions, notices and results. Pure.

A question shows exactly what would be done, and nothing in the model's own words. What others wrote is quoted to the
model, and shown to the person with every character visible.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from everloom.mind.hands.rules import visible
from everloom.models.text import quoted

ASKED = (
    "Not done yet: the person was asked whether this may be done (action {}). Go on without it; what they decide, and "
    "what comes of it, will be told in this conversation. Do not ask for the same again."
)
UNSURE = "nobody knows whether it was done: {}"
LAPSED = "Action {} ({}) was not approved in time and has lapsed. Nothing was done."
REFUSED = "The person refused action {} ({}). Nothing was done."
_ANSWERS = "/approve {0} does it, /refuse {0} does not{1}; it lapses {2:%a %Y-%m-%d %H:%M}."
_ALWAYS = ", /approve {} always also lets this tool act unasked from now on"


def tool_question(action: int, name: str, given: Mapping[str, Any], until: datetime) -> str:
    """Ask whether a tool may be used: its name, and each of its arguments."""
    lines = [f"Action {action}: the agent wants to use {label(name)}", *_arguments(given)]
    return "\n".join([*(lines if given else [*lines, "  (without arguments)"]), _answers(action, until, always=True)])


def note_question(action: int, note: str, before: str, after: str, until: datetime) -> str:
    """Ask whether a note may be changed: the lines that go and the lines that come."""
    head = f"Action {action}: the agent wants to change {label(note)}"
    return "\n".join([head, *diff_lines(before, after), _answers(action, until)])


def change_question(action: int, name: str, before: str, after: str, until: datetime) -> str:
    """Ask whether a tool may be offered after its server has changed it."""
    head = f"Action {action}: the tool {label(name)} has changed since it was allowed, and is not offered any more"
    shown = diff_lines(_pretty(before), _pretty(after))
    return "\n".join([head, *shown, _answers(action, until).replace("does it", "allows it as it is now")])


def diff_lines(before: str, after: str) -> list[str]:
    """Show the lines that go and come, with one line around them."""
    found = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:]
    return [f"  {visible(line)}" for line in found] or ["  (only white space at its end)"]


def outcome_event(action: int, name: str, state: str, result: str) -> str:
    """Tell the model what came of an action; the words of the tool are quoted."""
    how = {
        "done": "was approved and done",
        "failed": "was approved, but failed",
        "unknown": "was approved and begun, and nobody knows whether it was done",
    }[state]
    told = f"Action {action} ({name}) {how}."
    return f"{told} The answer:\n{quoted(result, 'tool result')}" if result else told


def outcome_notice(action: int, name: str, state: str, result: str) -> str:
    """Tell the person what came of an action."""
    said = visible(" ".join(result.split())[:300])
    match state:
        case "done":
            return f"Action {action} ({label(name)}) is done."
        case "failed":
            return f"Action {action} ({label(name)}) failed: {said}\n/approve {action} tries it again."
    return (
        f"Action {action} ({label(name)}) was interrupted, and nobody knows whether it was done: {said}\n"
        f"Please look. It is not repeated unless you say so: /approve {action} does it again."
    )


def label(name: str) -> str:
    """Write a name of others on one line."""
    return visible(name).replace("\n", "\\n").replace("\t", "\\t")


def _arguments(given: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        # Each line is indented, so that no line of an argument reads like one of ours.
        first, *more = visible(text).split("\n") or [""]
        lines += [f"  {label(name)}: {first}", *(f"  | {each}" for each in more)]
    return lines


def _answers(action: int, until: datetime, *, always: bool = False) -> str:
    return _ANSWERS.format(action, _ALWAYS.format(action) if always else "", until)


def _pretty(tool: str) -> str:
    """Write a stored tool on many lines, its description as it is."""
    known = json.loads(tool)
    said = known.pop("description", "")
    return f"{said}\n{json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True)}"
