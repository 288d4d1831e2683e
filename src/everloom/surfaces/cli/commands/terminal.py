"""A conversation at a terminal: the prompt, its history, slash commands, and messages that arrive in the meantime.

Talks through `channels.terminal`; each slash command calls one operation and prints its result.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from everloom.errors import EverloomError, StoreError
from everloom.kernel.texts import checked
from everloom.secrets import logger_of
from everloom.store.files import make_private
from everloom.surfaces.channels.elsewhere import TerminalElsewhere
from everloom.surfaces.channels.terminal import Terminal, read_message
from everloom.surfaces.cli.render.plot import can_draw
from everloom.surfaces.cli.runtime.output import printable

if TYPE_CHECKING:
    from everloom.loom import Loom, Workspace
    from everloom.mind import Mind, StreamMessage
    from everloom.remote.workspace import RemoteWorkspace
    from everloom.surfaces.channels.terminal import Heard, Say
    from everloom.wiring.wire.anywhere import AnyWorkspace

log = logger_of(__name__)
# Missing on Windows and in some builds of Python; the prompt then works without a history.
_readline: Any = import_module("readline") if find_spec("readline") else None

_HELP = """/help            this list
/status          show status.json, and how full the context is
/memory QUERY    search facts and past exchanges
/usage           show what was used today
/undo            undo the last exchange
/notes [NAME]    list the notes, or read one
/retry           ask again for a reply that did not arrive
/quit            leave (so does Ctrl-D)
A line that ends with \\ continues on the next; \"\"\" begins and ends a block of lines.
To send a message that begins with a slash, put a space before it. Ctrl-C abandons a reply."""
_MOST_LINES = 1_000
_MOST_TOKENS = 100_000
_LOOK_SECONDS = 2.0
# The mind's own tasks, and the vectors of what was said. Heavier work is left to a worker.
_TASKS = ("facts", "schedule", "heartbeat", "self_awareness", "embed")


@dataclass(frozen=True, slots=True)
class Seat:
    """Where somebody sits: how the conversation is reached, where typed lines are kept, and what is done beside."""

    terminal: Terminal | TerminalElsewhere
    history: Path
    # Short tasks that are done while the person types; a server does its own.
    attend: Callable[[], object]
    look_seconds: float = _LOOK_SECONDS
    # What is said when somebody does not wait for a reply.
    abandoned: str = "(abandoned; the message is kept, /retry asks again)"


def seat_here(loom: Loom, place: Workspace, mind: Mind, say: Say) -> Seat:
    """Sit down at a conversation of this machine."""

    def attend() -> object:
        return loom.work.run_due([place.info], seconds=_LOOK_SECONDS, tasks=_TASKS)

    return Seat(Terminal(mind.conversation, say), loom.places.of(place.info) / "chat_history", attend)


def seat_elsewhere(place: RemoteWorkspace, say: Say) -> Seat:
    """Sit down at a conversation elsewhere."""
    from everloom.settings import data_directory  # noqa: PLC0415  loads pydantic

    file = data_directory() / "elsewhere" / "chat_history"
    goes_on = "(not waiting any longer; the server answers, and the reply is shown when it is there)"
    return Seat(TerminalElsewhere(place, say), file, lambda: None, _LOOK_SECONDS * 2, goes_on)


class TerminalChat:
    """One session at the terminal."""

    def __init__(self, place: AnyWorkspace, mind: Mind, seat: Seat, say: Say) -> None:
        self._place = place
        self._say = say
        # Only its verbs are used, so that it may be elsewhere.
        self._mind = mind
        self._seat = seat
        self._terminal = seat.terminal
        self._turns = 0
        self._prompt = "› " if can_draw(sys.stdout.encoding) else "> "
        # Two threads print: the prompt's own and the one that shows what arrives.
        self._screen = Lock()
        self._is_asking = False
        self._commands: dict[str, Callable[[str], None]] = {
            "/help": lambda _: self._line(_HELP),
            "/status": self._status,
            "/memory": self._memory,
            "/usage": self._usage,
            "/undo": self._undo,
            "/notes": self._notes,
            "/retry": self._retry,
        }

    def run(self) -> int:
        """Talk until the input ends or /quit; returns the number of turns."""
        model = self._mind.talk_status().model
        self._line(f"{self._place.name}, with {model or 'no model'}. /help lists commands.")
        stop = Event()
        beside = Thread(target=self._attend, args=(stop,), name="beside the prompt", daemon=True)
        with _typed_lines(self._seat.history):
            beside.start()
            try:
                self._loop()
            finally:
                stop.set()
                # A task that is running may finish its step; the loom must not be closed under it.
                beside.join(timeout=10)
        return self._turns

    def _loop(self) -> None:
        while True:
            try:
                text = read_message(self._read, self._prompt, "… " if self._prompt == "› " else ". ")
            except KeyboardInterrupt:
                self._line("")
                continue
            if text is None or text.strip() in {"/quit", "/exit"}:
                self._line("" if text is None else None)
                return
            if not text.strip():
                continue
            try:
                self._obey(text.strip()) if text.startswith("/") else self._ask(text)
            except KeyboardInterrupt:
                self._line(f"\n{self._seat.abandoned}")
            except EverloomError as error:
                self._complain(error)

    def _read(self, prompt: str) -> str:
        self._show_arrived()
        self._is_asking = True
        try:
            return input(prompt)
        finally:
            self._is_asking = False

    def _obey(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        command = self._commands.get(name)
        if command is None:
            self._line(f"there is no command {name}; /help lists the commands")
        else:
            command(rest.strip())

    def _ask(self, text: str) -> None:
        self._hear(self._terminal.tell(checked(text, "the message")))

    def _hear(self, message: StreamMessage) -> None:
        heard = self._terminal.hear(message)
        self._line("" if heard.has_begun else None)
        if heard.error is not None:
            self._complain(heard.error)
            self._line("(the message is kept; /retry asks again)")
            return
        self._turns += 1
        if footer := _footer(heard):
            self._line(footer)

    def _retry(self, _: str) -> None:
        if not self._mind.talk_status(max_tokens=None).waiting:
            self._line("every message has been answered")
            return
        self._mind.retry_messages()
        # Read again: the retry has changed their state, and `hear` tells a new failure by the number of attempts.
        waiting = self._mind.talk_status(max_tokens=None).waiting
        if waiting:
            self._hear(waiting[-1])

    def _status(self, _: str) -> None:
        self._line(json.dumps(self._mind.read_status(), ensure_ascii=False, indent=2))
        talk = self._mind.talk_status(max_tokens=None)
        if talk.last is not None and talk.last.context_window:
            self._line(f"context {talk.last.context_tokens:,} of {talk.last.context_window:,} tokens")
        if talk.waiting:
            self._line(f"{len(talk.waiting)} unanswered: /retry asks again")

    def _memory(self, query: str) -> None:
        found = self._mind.search_memory(query).found if query else "nothing to search for: write /memory QUERY"
        self._line(found)

    def _usage(self, _: str) -> None:
        from everloom.surfaces.cli.commands.usage import summary  # noqa: PLC0415
        from everloom.wiring.faculties import FACULTIES  # noqa: PLC0415

        found = FACULTIES["workspace"].reach(self._place, {}).usage(days=1)
        self._line("\n".join(summary(found.total, found.today)).strip())

    def _undo(self, _: str) -> None:
        undone = self._mind.undo_exchange()
        self._line("there is nothing to undo" if undone is None else f"undone: {undone.heard or undone.reply}")

    def _notes(self, name: str) -> None:
        if not name:
            self._line("\n".join(self._mind.list_notes(max_tokens=_MOST_TOKENS)) or "there are no notes yet")
            return
        body = self._mind.read_note(name).body
        self._line(f"there is no note {name}" if body is None else body)

    def _complain(self, error: EverloomError) -> None:
        self._line(f"Error: {error.message}" + (f"\nHint: {error.hint}" if error.hint else ""))

    def _line(self, text: str | None) -> None:
        if text is not None:
            self._say(f"{text}\n")

    def _attend(self, stop: Event) -> None:
        """Run short tasks and show new messages while the person types."""
        while not stop.wait(self._seat.look_seconds):
            try:
                self._seat.attend()
                if self._is_asking:
                    self._show_arrived()
            except EverloomError as error:
                log.info("beside the prompt: %s", error)

    def _show_arrived(self) -> None:
        with self._screen:
            found = self._terminal.arrived()
            for message in found:
                at = f"{message.at.astimezone(self._place.info.zone):%H:%M}"
                # Overwrite the prompt, then write it again below with what was already typed.
                clear = "\r\x1b[K" if self._is_asking and sys.stdout.isatty() else ""
                sys.stdout.write(f"{clear}[{at}] {printable(message.text)}\n")
            if found and self._is_asking:
                sys.stdout.write(self._prompt + _typed())
            sys.stdout.flush()


def _footer(heard: Heard) -> str:
    """Summarise a turn on one line, if a person is watching."""
    turn = heard.exchange
    if turn is None or not sys.stdout.isatty():
        return ""
    cached = f" ({turn.usage.cached_read / turn.usage.prompt:.0%} cached)" if turn.usage.prompt else ""
    price = "" if turn.dollars is None else f", ${turn.dollars:.4f}"
    full = f", context {turn.context_tokens / turn.context_window:.0%}" if turn.context_window else ""
    return f"({turn.usage.prompt:,} tokens in{cached}, {turn.usage.output:,} out{price}{full})"


def _typed() -> str:
    """Return what has been typed at the prompt so far."""
    return _readline.get_line_buffer() if _readline else ""


@contextmanager
def _typed_lines(file: Path) -> Iterator[None]:
    """Keep the typed lines between sessions, in a file that only its owner can read."""
    if not _readline:
        yield
        return
    with suppress(OSError, StoreError):
        make_private(file.parent)
        # Created with its mode before readline writes to it: in between, others could read what was typed.
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
        file.chmod(0o600)
        _readline.read_history_file(file)
        _readline.set_history_length(_MOST_LINES)
    try:
        yield
    finally:
        with suppress(OSError):
            _readline.write_history_file(file)
            file.chmod(0o600)
