"""The tools of the mind for other agents: its archive, its notes, its status, messages at a later time.

Each calls the operation of the same name. Talking is not among them: a conversation has channels for that. No `from
__future__ import annotations` here: the SDK reads the parameters' types, and only results are quoted.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from everloom.surfaces.mcp.toolset import ADDS, ADDS_ONCE, DESTROYS, READS, Toolset

if TYPE_CHECKING:
    from everloom.loom import Workspace

TOOLS = Toolset()

Note = Annotated[str, Field(description="such as MEMORY.md or daily/2026-11-16.md")]
# A string is taken as it is, to be refused: JSON inside a string is a mistake that must not be mended silently.
Updates = Annotated[dict[str, Any] | str, WithJsonSchema({"type": "object"})]


@TOOLS.verb("Search memory", READS)
def search_memory(
    ws: "Workspace", query: str, search_type: Literal["conversations", "facts", "both"] = "both"
) -> dict[str, str]:
    """Past exchanges of the conversation and facts learnt from it, with dates and ids."""
    return {"found": ws.mind.archive.search(query, search_type)}


@TOOLS.verb("Update status", ADDS_ONCE)
def update_status(ws: "Workspace", updates: Updates) -> dict[str, Any]:
    """Merge an object into status.json, deep; each changed field is stamped with the time. Answers the whole status."""
    return ws.mind.notes.update_status(updates)


@TOOLS.verb("List notes", READS)
def list_notes(ws: "Workspace") -> list[str]:
    """The names of all notes that the person and the agent share."""
    return ws.mind.notes.names()


@TOOLS.verb("Read a note", READS)
def read_note(ws: "Workspace", name: Note) -> dict[str, Any]:
    """One note whole; body is null when there is none."""
    return {"name": name, "body": ws.mind.notes.read(name)}


@TOOLS.verb("Write a note", DESTROYS)
def write_note(
    ws: "Workspace",
    name: Note,
    body: str,
    replace: Annotated[bool, Field(description="allow a cut of more than half")] = False,
) -> dict[str, Any]:
    """Write a note anew, whole. Every version is kept; an empty body is refused."""
    return told(ws.mind.notes.write(name, body, replace=replace))


@TOOLS.verb("Append to a note", ADDS)
def append_note(ws: "Workspace", name: Note, text: str) -> dict[str, Any]:
    """Add to the end of a note, making it on first use."""
    return told(ws.mind.notes.append(name, text))


@TOOLS.verb("Schedule a message", ADDS)
def schedule_message(
    ws: "Workspace",
    text: str,
    at: Annotated[str, Field(description="local: 2026-11-16T09:30, or 09:30 for the next time it is so")],
    every: Literal["daily", "weekdays", "weekly"] | None = None,
) -> dict[str, Any]:
    """Have the agent send a message at a time to come, where the person last wrote from."""
    return scheduled(ws.mind.schedule.add(text, at, every or ""))


@TOOLS.verb("List scheduled messages", READS)
def list_scheduled(ws: "Workspace") -> list[dict[str, Any]]:
    """What will be said, and when."""
    return [scheduled(each) for each in ws.mind.schedule.waiting()]


@TOOLS.verb("Cancel a scheduled message", DESTROYS)
def cancel_scheduled(ws: "Workspace", id: int) -> dict[str, Any]:  # noqa: A002  the contract's name
    """Take a scheduled message back."""
    ws.mind.schedule.cancel(id)
    return {"id": id, "state": "cancelled"}


def told(version: Any) -> dict[str, Any]:
    """Tell which version a note is at."""
    return {"name": version.name, "version": version.number, "at": version.at}


def scheduled(message: Any) -> dict[str, Any]:
    """Tell what is scheduled."""
    return {"id": message.id, "text": message.text, "due_at": message.due_at, "every": message.every}
