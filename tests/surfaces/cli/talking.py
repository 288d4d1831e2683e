"""A conversation for commands to be tried on, and how to call each command of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from everloom.loom import open_loom
from everloom.mind import IncomingFile, IncomingMessage
from everloom.settings import Settings
from tests.mind.hands.waiting import propose_note, wait_for_approval
from tests.mind.worlds import fact_set_aside

# {folder}: a place for files; {scheduled}: a message that waits for its time; {aside}: a fact that was set aside; the
# others are ids of what they say.
TALKING = {
    "chat": "--once Hello --config {folder}/talking.toml",
    "facts edit": "{fact} James-keeps-two-hives.",
    "facts forget": "{fact}",
    "facts list": "",
    "facts prune": "",
    "facts restore": "{aside}",
    "facts show": "{fact}",
    "mind actions approve": "{action}",
    "mind actions list": "",
    "mind actions refuse": "{refused}",
    "mind array": "",
    "mind attachment": "{shown}",
    "mind compactions": "",
    "mind heartbeats": "",
    "mind intentions add": "the-boat Ask-about-the-mooring.",
    "mind intentions drop": "{intention}",
    "mind intentions list": "",
    "mind log": "--search sails",
    "mind mcp allow": "boat sail",
    "mind mcp check": "",
    "mind mcp list": "",
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
    "models": "",
}


def talked(url: str, folder: Path) -> dict[str, str]:
    """Let a conversation have been held; give the id of a message that is scheduled."""
    known = {"llm": {"large": "scripted:echo"}, "mind": {"notes": folder / "data" / "everloom" / "notes" / "default"}}
    (folder / "talking.toml").write_text('[llm]\nlarge = "scripted:echo"\n')
    with open_loom(url, settings=Settings.model_validate(known)) as loom:
        mind = loom.workspace().mind
        mind.conversation.receive("James sails, doesn't he?", channel="terminal", is_whole=True)
        assert mind.conversation.step()
        photo = IncomingFile(name="boat.txt", data=b"a boat")
        shown = mind.conversation.take(IncomingMessage(text="my boat", channel="http", attachments=(photo,)))
        kept = loom.places.attachments(loom.workspace().info)
        # The command has another home than this process.
        there = folder / "data" / "everloom" / kept.relative_to(loom.places.home)
        if not there.is_dir():
            shutil.copytree(kept, there)
        mind.notes.write("MEMORY.md", "James sails on Sundays, and Audrey does too.")
        fact = loom.workspace().semantic.remember(["James"], "James keeps bees.", kind="fact").id
        intention = mind.set_intention("the garden", "Ask about the roses.").id
        scheduled = mind.schedule.add("Ahoy", "09:00").id
        action, refused = propose_note(mind), wait_for_approval(mind)[1]
        ids = {"scheduled": scheduled, "fact": fact, "intention": intention, "shown": shown.id}
        return {
            name: str(each)
            for name, each in (
                ids | {"action": action, "refused": refused, "aside": fact_set_aside(loom.workspace())}
            ).items()
        }
