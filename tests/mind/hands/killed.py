"""A process that approves an action and does it, and is killed before any step of that. Forked, to save the imports."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from mcp import Client  # noqa: F401  loaded once, before anybody is forked

from everloom.clock import Clock, SystemClock
from everloom.kernel.operation import Operation
from everloom.kernel.work.holder import this_holder
from everloom.loom import Loom
from everloom.mind.notes.files import NoteFiles
from everloom.models.embed import EmbeddingTask
from everloom.models.static.multilingual import MultilingualStaticEmbedder
from everloom.wiring.hands.client import McpServers
from tests.mind.hands.sea import Crew, crew_in, settings_of
from tests.mind.worlds import elsewhere, open_place, setup_of
from tests.patience import PATIENCE
from tests.scripted.claude import ClaudeServer
from tests.store.nursery import killing_at, say

CODE = "from tests.mind.hands.killed import main; main()"


def crew_at(loom: Loom, claude: ClaudeServer, folder: Path, boat_url: str, clock: Clock) -> Crew:
    """Make a crew whose boat is in a harbour; its note about the person waits for approval."""
    servers = McpServers(settings_of(boat={"url": boat_url, "tools": ["*"], "seconds": PATIENCE}), lambda _: None)
    policy = {"mcp": servers.configured, "approve_notes": ("USER.md",)}
    setup = setup_of(loom, folder / "notes", claude.url, name=folder.name, clock=clock, **policy)
    return crew_in(loom, claude, elsewhere(setup, this_holder()), servers)


def approve(url: str, folder: str, boat_url: str, action: str, step: str) -> None:
    """Approve an action on Telegram and do it, and kill this process before step number `step` of it."""
    with (
        open_place(url, SystemClock()) as loom,
        killing_at(int(step), (Operation, "write"), (McpServers, "call"), (NoteFiles, "put")),
    ):
        crew = crew_at(loom, ClaudeServer(), Path(folder), boat_url, SystemClock())
        crew.says(f"/approve {action}", key=f"approve {action}")
        crew.work()
        Path(folder, f"survived {action}").touch()


def main() -> None:
    """Fork a process for each command, and say when it has ended."""
    MultilingualStaticEmbedder().embed(["warm"], EmbeddingTask.DOCUMENT)
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            with suppress(BaseException):
                approve(*line.split())
                os._exit(0)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        say("killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else f"ended {status}")
