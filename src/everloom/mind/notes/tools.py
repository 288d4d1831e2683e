"""The notes as tools of the agent: read, write, add to a page, and keep the status.

Reads a tool's input and words its answer; what may be written is decided by the notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from everloom.errors import NotFound, Rejected
from everloom.mind.notes.names import KNOWN
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolSpec

NAME = {"type": "string", "description": "Such as MEMORY.md, daily/2026-11-16.md or projects/boat.md."}


def note_tools(notes: Notes) -> list[AgentTool]:
    """Hand out the tools that reach the notes."""
    return [
        AgentTool(READ, lambda given: read_note(notes, given)),
        AgentTool(WRITE, lambda given: write_note(notes, given)),
        AgentTool(APPEND, lambda given: append_note(notes, given)),
        AgentTool(UPDATE, lambda given: update_status(notes, given)),
    ]


def schema(required: tuple[str, ...], **fields: Mapping[str, Any]) -> dict[str, Any]:
    """Write the schema of a tool's input."""
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


READ = ToolSpec("read_note", "Read one of your notes whole. Without a name, list the notes.", schema((), name=NAME))
WRITE = ToolSpec(
    "write_note",
    "Write a note anew, whole. Earlier versions are kept. A text less than half as long as the note is refused unless "
    "replace is true.",
    schema(
        ("name", "body"),
        name=NAME,
        body={"type": "string", "description": "The whole text of the note; never empty."},
        replace={"type": "boolean", "description": "True if most of what is there shall go."},
    ),
)
APPEND = ToolSpec(
    "append_note",
    "Add lines to the end of a note. Without a name, to today's page.",
    schema(("text",), name=NAME, text={"type": "string", "description": "What to add; never empty."}),
)
UPDATE = ToolSpec(
    "update_status",
    "Record what holds right now in status.json. Fields are merged, also inside fields; each change is stamped with "
    "its time; null removes a field.",
    schema(
        ("updates",),
        updates={
            "type": "object",
            "description": 'The fields to set, such as {"water": {"glasses": 3}, "mood": "tired"}.',
        },
    ),
)


def read_note(notes: Notes, given: Mapping[str, Any]) -> str:
    """Answer with a note's text, or with the names of all."""
    if not given.get("name"):
        return "\n".join(notes.names())
    name = text_in(given, "name")
    body = notes.read(name)
    if body is None:
        near = ", ".join(notes.names()) or "none yet"
        raise NotFound(f"there is no note {name}", hint=f"there are {near}")
    return body


def write_note(notes: Notes, given: Mapping[str, Any]) -> str:
    """Write a note and say which version it is."""
    replace = given.get("replace", False)
    if not isinstance(replace, bool):
        raise Rejected("replace must be true or false", hint="leave it out to be safe")
    version = notes.write(text_in(given, "name"), text_in(given, "body"), replace=replace)
    return f"{version.name} is written (version {version.number})."


def append_note(notes: Notes, given: Mapping[str, Any]) -> str:
    """Add to a note and say which version it is."""
    text = text_in(given, "text")
    version = notes.append(text_in(given, "name"), text) if given.get("name") else notes.append_today(text)
    return f"Added to {version.name} (version {version.number})."


def update_status(notes: Notes, given: Mapping[str, Any]) -> str:
    """Merge fields into the status and show it whole."""
    if "updates" not in given:
        raise Rejected("updates is missing", hint='give an object of fields, such as {"water": {"glasses": 3}}')
    return json.dumps(notes.update_status(given["updates"]), ensure_ascii=False, indent=2)


def text_in(given: Mapping[str, Any], field: str) -> str:
    """Take a text from a tool's input."""
    value = given.get(field)
    if not isinstance(value, str):
        known = f"; notes are called like {KNOWN[4]}" if field == "name" else ""
        message = f"{field} is missing" if value is None else f"{field} must be text, not {type(value).__name__}"
        raise Rejected(message, hint=f"give {field} as text{known}")
    return value
