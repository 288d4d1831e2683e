"""One sitting at a terminal: what was said last, the prompt, replies, and messages that arrive in the meantime.

Puts the parts together: the display, the prompt and the conversation. What a slash command does is not decided here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from everloom.errors import EverloomError
from everloom.kernel.texts import checked
from everloom.secrets import logger_of
from everloom.surfaces.channels.elsewhere import TerminalElsewhere
from everloom.surfaces.channels.terminal import CHANNEL, Terminal
from everloom.surfaces.cli.commands.terminal.choosing import Keeping, ModelChoice
from everloom.surfaces.cli.commands.terminal.editor import LineEditor, LineReader, Prompts
from everloom.surfaces.cli.commands.terminal.recent import MOST_MESSAGES, recent_lines
from everloom.surfaces.cli.commands.terminal.slash import SlashCommand, SlashCommands
from everloom.surfaces.cli.commands.terminal.typed import TypedLines

if TYPE_CHECKING:
    from everloom.loom import Loom, Workspace
    from everloom.mind import Mind, StreamMessage
    from everloom.remote.workspace import RemoteWorkspace
    from everloom.surfaces.channels.terminal import Heard
    from everloom.surfaces.cli.commands.terminal.display import Display
    from everloom.wiring.wire.anywhere import AnyWorkspace

log = logger_of(__name__)

_LEAVING = frozenset({"/quit", "/exit"})
_LOOK_SECONDS = 2.0
# The mind's own tasks, and the vectors of what was said. Heavier work is left to a worker.
_TASKS = ("actions", "facts", "schedule", "heartbeat", "self_awareness", "alerts", "embed")


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
    # None if the model is chosen elsewhere.
    models: ModelChoice | None = None


def seat_here(loom: Loom, place: Workspace, mind: Mind, display: Display, keep: Keeping) -> Seat:
    """Sit down at a conversation of this machine."""

    def attend() -> object:
        return loom.work.run_due([place.info], seconds=_LOOK_SECONDS, tasks=_TASKS)

    return Seat(
        Terminal(mind.conversation, display.say, display.use),
        loom.places.typed(place.info),
        attend,
        models=ModelChoice(loom, place.info, keep),
    )


def seat_elsewhere(place: RemoteWorkspace, display: Display) -> Seat:
    """Sit down at a conversation elsewhere."""
    from everloom.settings import data_directory  # noqa: PLC0415  loads pydantic

    file = data_directory() / "elsewhere" / "chat_history"
    goes_on = "(not waiting any longer; the server answers, and the reply is shown when it is there)"
    return Seat(TerminalElsewhere(place, display.say, display.use), file, lambda: None, _LOOK_SECONDS * 2, goes_on)


class TerminalChat:
    """One sitting at the terminal."""

    def __init__(self, place: AnyWorkspace, mind: Mind, seat: Seat, display: Display) -> None:
        self._place = place
        # Only its verbs are used, so that it may be elsewhere.
        self._mind = mind
        self._seat = seat
        self._terminal = seat.terminal
        self._display = display
        self._line = display.line
        self._turns = 0
        own = (
            SlashCommand("/attach FILE", "send a file with the next message", self._attach),
            SlashCommand("/retry", "ask again for a reply that did not arrive", self._retry),
            SlashCommand("/quit", "leave (so does Ctrl-D)", lambda _: None),
        )
        self._commands = SlashCommands(place, mind, display, seat.models, own)

    def run(self) -> int:
        """Talk until the input ends or /quit; returns the number of turns."""
        self._open()
        stop = Event()
        beside = Thread(target=self._attend, args=(stop,), name="beside the prompt", daemon=True)
        typed = TypedLines(self._seat.history)
        with self._display.taking_log(), self._prompt(typed) as read:
            beside.start()
            try:
                self._loop(read)
            finally:
                stop.set()
                # A task that is running may finish its step; the loom must not be closed under it.
                beside.join(timeout=10)
                with suppress(EverloomError):
                    self._terminal.leave()
                typed.shorten()
        return self._turns

    def _open(self) -> None:
        """Say where somebody is, and what was said last."""
        for line in recent_lines(self._mind.log(limit=MOST_MESSAGES).messages, self._place.info.zone, CHANNEL):
            self._line(line, "quiet")
        model = self._mind.talk_status().model
        self._line(f"{self._place.name}, with {model or 'no model'}. /help lists commands.")

    @contextmanager
    def _prompt(self, typed: TypedLines) -> Iterator[Callable[[], str | None]]:
        look = self._display.look
        prompts = Prompts("› ", "… ") if look.draws else Prompts("> ", ". ")
        if not look.edits:
            yield LineReader(self._display, typed, self._is_command, prompts).read
            return
        from everloom.surfaces.cli.commands.terminal.keyboard import Keyboard  # noqa: PLC0415  for POSIX alone

        keyboard = Keyboard()
        with keyboard.listening():
            yield LineEditor(self._display, keyboard, typed, self._is_command, prompts).read

    def _is_command(self, text: str) -> bool:
        return self._commands.is_one(text) or text.strip() in _LEAVING

    def _loop(self, read: Callable[[], str | None]) -> None:
        while True:
            try:
                self._show_arrived()
                text = read()
            except KeyboardInterrupt:
                if not self._display.look.edits:
                    self._display.write("\n")
                continue
            if text is None or text.strip() in _LEAVING:
                if text is None and not self._display.look.edits:
                    self._display.write("\n")
                return
            if not text.strip():
                continue
            try:
                # What has several lines was pasted: a path at its beginning is no command.
                is_command = text.startswith("/") and "\n" not in text
                self._commands.obey(text.strip()) if is_command else self._ask(text)
            except KeyboardInterrupt:
                self._line(self._seat.abandoned)
            except EverloomError as error:
                self._complain(error)

    def _ask(self, text: str) -> None:
        self._hear(self._terminal.tell(checked(text, "the message")))

    def _hear(self, message: StreamMessage) -> None:
        try:
            with self._display.thinking():
                heard = self._terminal.hear(message)
        finally:
            self._display.end()
        if heard.error is not None:
            self._complain(heard.error)
            self._line("(the message is kept; /retry asks again)")
            return
        self._turns += 1
        if footer := _footer(heard):
            self._line(footer, "quiet")

    def _attach(self, path: str) -> None:
        if not path:
            self._line("/attach FILE sends a file with your next message")
            return
        file = as_dropped(path)
        self._terminal.attach(file)
        self._line(f"{file} goes along with your next message", "quiet")

    def _retry(self, _: str) -> None:
        if not self._mind.talk_status(max_tokens=None).waiting:
            self._line("every message has been answered")
            return
        self._mind.retry_messages()
        # Read again: the retry has changed their state, and `hear` tells a new failure by the number of attempts.
        waiting = self._mind.talk_status(max_tokens=None).waiting
        if waiting:
            self._hear(waiting[-1])

    def _complain(self, error: EverloomError) -> None:
        self._display.labelled("Error:", error.message, "bad")
        if error.hint:
            self._display.labelled("Hint:", error.hint, "name")

    def _attend(self, stop: Event) -> None:
        """Run short tasks and show new messages while the person types."""
        while not stop.wait(self._seat.look_seconds):
            try:
                self._seat.attend()
                if self._display.typing is not None:
                    self._show_arrived()
            except EverloomError as error:
                log.info("beside the prompt: %s", error)

    def _show_arrived(self) -> None:
        """Show what the agent said on its own, above the line that is being typed."""
        for message in self._terminal.arrived():
            at = f"[{message.at.astimezone(self._place.info.zone):%H:%M}]"
            self._display.labelled(at, message.text, "waiting")


def as_dropped(path: str) -> str:
    """Return a path as it was meant: a file that is dropped on a terminal comes in quotes, or with backslashes."""
    with suppress(ValueError):
        words = shlex.split(path)
        if len(words) == 1 and not Path(path).expanduser().exists():
            return words[0]
    return path


def _footer(heard: Heard) -> str:
    """Summarise a turn on one line, if a person is watching."""
    turn = heard.exchange
    if turn is None or not sys.stdout.isatty():
        return ""
    cached = f" ({turn.usage.cached_read / turn.usage.prompt:.0%} cached)" if turn.usage.prompt else ""
    price = "" if turn.dollars is None else f", ${turn.dollars:.4f}"
    full = f", context {turn.context_tokens / turn.context_window:.0%}" if turn.context_window else ""
    return f"({turn.usage.prompt:,} tokens in{cached}, {turn.usage.output:,} out{price}{full})"
