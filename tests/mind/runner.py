"""A process that forks conversing processes on demand, so that tests can kill many of them without paying for imports.

Reads commands from its input, one a line: the store, the scripted server, a file that stands for the person's screen;
or `act` and how one turn with tools is to be answered (`acting.py`).
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import NoReturn

from everloom.clock import SystemClock
from everloom.kernel.work.holder import this_holder
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.queue import Queue
from everloom.models.embed import EmbeddingTask
from everloom.models.static.multilingual import MultilingualStaticEmbedder
from tests.mind.acting import act
from tests.mind.worlds import conversation_in, elsewhere, open_place, setup_of
from tests.patience import wait_until
from tests.scripted.claude import ClaudeServer
from tests.store.ground import Child
from tests.store.nursery import say

CODE = "from tests.mind.runner import main; main()"
CHANNELS = ("terminal", "telegram", "web")
COMPACT_AT = 2_500


def converse(url: str, server_url: str, screen: str) -> None:
    """Answer and deliver until killed."""
    with open_place(url, SystemClock()) as loom:
        setup = setup_of(loom, Path(screen).parent, server_url, gather_seconds=0.02, compact_at=COMPACT_AT)
        talk = conversation_in(elsewhere(setup, this_holder()), [])
        deliver(talk, screen)
        Queue(talk, answered=lambda _: deliver(talk, screen)).run(Event())


def deliver(talk: Conversation, screen: str) -> None:
    """Show what is to be delivered, each message once."""
    file = os.open(screen, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for channel in CHANNELS:
        for message in talk.outbox(channel):
            talk.sending(message.id)
            os.write(file, f"{message.id}\n".encode())
            talk.sent(message.id)
    os.close(file)


def warm(server_url: str) -> None:
    """Have everything imported that a conversation needs."""
    with TemporaryDirectory() as folder, open_place(f"sqlite:///{folder}/loom.db", SystemClock()) as loom:
        talk = conversation_in(setup_of(loom, Path(folder), server_url), [])
        talk.receive("Is everything warm by now?", channel="terminal", is_whole=True)
        talk.step()


def main() -> None:
    """Fork a process for each command, and say its process id."""
    MultilingualStaticEmbedder().embed(["warm"], EmbeddingTask.DOCUMENT)
    warm(sys.argv[1])
    # Nobody asks how they ended, and the dead are to be seen as dead at once.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(line.split())
        say("forked", child)


def run(words: list[str]) -> NoReturn:
    """Converse, without anything of the parent's."""
    try:
        act(*words[1:]) if words[0] == "act" else converse(*words)
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  whatever it is, the test must hear of it
        say("error", repr(error))
        os._exit(1)


class Runners:
    """The test's end of that process."""

    def __init__(self) -> None:
        self._running: list[int] = []
        self.errors: list[str] = []
        with ClaudeServer() as server:
            self._child = Child(CODE, server.url)
            assert self._child.line() == "ready"

    def start(self, *words: object) -> None:
        """Have another process converse, or act."""
        self._child.tell(" ".join(map(str, words)))
        while not (said := self._child.line()).startswith("forked"):
            self.errors.append(said)
        self._running.append(int(said.split()[1]))

    def kill(self) -> None:
        """Kill them all, wherever they are, and see that they are gone."""
        for number in self._running:
            os.kill(number, signal.SIGKILL)
        for number in self._running:
            wait_until(partial(has_gone, number), "a killed process to be gone", step=0.005)
        self._running.clear()

    def wait(self) -> None:
        """Wait until all of them have ended by themselves."""
        for number in self._running:
            wait_until(partial(has_gone, number), "a process to end", step=0.005)
        self._running.clear()

    def close(self) -> None:
        """End everything."""
        self.kill()
        self._child.__exit__()


def has_gone(number: int) -> bool:
    """Say whether a process is there no more."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False
