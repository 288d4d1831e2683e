"""A conversation for commands to be tried on, and how to call each command of it."""

from __future__ import annotations

from pathlib import Path

from everloom.loom import open_loom
from everloom.settings import Settings

# {folder}: a place for files; {scheduled}: a message that waits for its time.
TALKING = {
    "chat": "--once Hello --config {folder}/talking.toml",
    "mind array": "",
    "mind compactions": "",
    "mind heartbeats": "",
    "mind log": "--search sails",
    "mind schedule add": "09:30 Good-morning. --every daily",
    "mind schedule cancel": "{scheduled}",
    "mind schedule list": "",
    "mind search": "who sails",
    "notes edit": "MEMORY.md --editor true",
    "notes history": "MEMORY.md",
    "notes list": "",
    "notes read": "MEMORY.md",
    "notes restore": "MEMORY.md 1",
    "notes status": "",
    "notes write": "MEMORY.md Audrey-sails. --append",
    "usage": "--days 2",
}


def talked(url: str, folder: Path) -> dict[str, str]:
    """Let a conversation have been held; give the id of a message that is scheduled."""
    known = {"llm": {"large": "scripted:echo"}, "mind": {"notes": folder / "data" / "everloom" / "notes" / "default"}}
    (folder / "talking.toml").write_text('[llm]\nlarge = "scripted:echo"\n')
    with open_loom(url, settings=Settings.model_validate(known)) as loom:
        mind = loom.workspace().mind
        mind.conversation.receive("James sails, doesn't he?", channel="terminal", is_whole=True)
        assert mind.conversation.step()
        mind.notes.write("MEMORY.md", "James sails on Sundays, and Audrey does too.")
        return {"scheduled": str(mind.schedule.add("Ahoy", "09:00").id)}
