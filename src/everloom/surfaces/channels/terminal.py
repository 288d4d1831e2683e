"""The terminal as a channel: reads messages, streams replies, and collects messages that arrived in the meantime.

Reads and writes through the functions it is given, so that a pipe, a test and a person are alike. Knows no commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from everloom.errors import EverloomError, Rejected

if TYPE_CHECKING:
    from everloom.mind import Conversation, Exchange, IncomingFile, StreamMessage
    from everloom.mind.conversation.turn import Using

CHANNEL = "terminal"
_FENCE = '"""'
_MORE = "\\"
_LOOK_EVERY = 0.2
# The highest bound that attachments.file_mb can have.
_MOST_BYTES = 100_000_000
# How long to wait for a reply that another process is writing.
_LONGEST_WAIT = 600.0
# For how long a terminal counts as open after it last said so: one that is killed says nothing.
_PRESENT_SECONDS = 20.0

_Read = Callable[[str], str]
Say = Callable[[str], None]


def read_message(read: _Read, prompt: str, more: str) -> str | None:
    r"""Read one message: a line, lines that each end with a backslash, or a block between two lines of triple quotes.

    None at the end of the input; an unfinished block before it counts as a message.
    """
    lines: list[str] = []
    is_fenced = False
    while True:
        try:
            line = read(more if lines or is_fenced else prompt)
        except EOFError:
            return "\n".join(lines) or None
        if line.strip() == _FENCE and (is_fenced or not lines):
            if is_fenced:
                return "\n".join(lines)
            is_fenced = True
        elif is_fenced:
            lines.append(line)
        elif line.endswith(_MORE):
            lines.append(line.removesuffix(_MORE))
        else:
            return "\n".join([*lines, line])


def is_open_block(text: str) -> bool:
    """Say whether a text begins a block of lines that is not ended yet."""
    lines = text.split("\n")
    return lines[0].strip() == _FENCE and (len(lines) == 1 or lines[-1].strip() != _FENCE)


def message_in(text: str) -> str:
    """Return what a text says that was typed as a whole: without the quotes of a block, and a break at its end."""
    lines = text.split("\n")
    if len(lines) > 1 and lines[0].strip() == lines[-1].strip() == _FENCE:
        return "\n".join(lines[1:-1])
    return text.rstrip("\n")


def read_file(path: str) -> IncomingFile:
    """Read a file that the person wants to show; its name goes along, its place does not."""
    from everloom.mind import IncomingFile  # noqa: PLC0415  loads the mind

    file = Path(path).expanduser()
    try:
        # One byte more than anything that is kept shows that it is too large, without reading all of it.
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise Rejected(f"cannot read {path}: {error.strerror}", hint="give the path of a file") from None
    if not data:
        raise Rejected(f"{path} is empty", hint="give a file with content")
    return IncomingFile(name=file.name, data=data)


@dataclass(frozen=True, slots=True)
class Heard:
    """The result of a message: its reply, and the exchange if it took place here; or why there is none yet.

    `has_begun` is true if part of a reply was printed, even if it broke off.
    """

    message: StreamMessage
    reply: StreamMessage | None = None
    exchange: Exchange | None = None
    error: EverloomError | None = None
    has_begun: bool = False


class Terminal:
    """A person at a terminal, in the conversation of a workspace."""

    def __init__(
        self,
        conversation: Conversation,
        say: Say,
        using: Using = lambda _: None,
        attached: tuple[IncomingFile, ...] = (),
    ) -> None:
        self._conversation = conversation
        self._say = say
        self._using = using
        self._attached = attached
        self._present_until = 0.0

    def tell(self, text: str, key: str | None = None) -> StreamMessage:
        """Store a message with what is attached to it, before anything else happens."""
        from everloom.mind import IncomingMessage  # noqa: PLC0415  loads the mind

        given = IncomingMessage(text=text, channel=CHANNEL, key=key, is_whole=True, attachments=self._attached)
        told = self._conversation.take(given)
        # Not before: of a message that is refused, the files go along with the next one.
        self._attached = ()
        return told

    def attach(self, path: str) -> None:
        """Send a file along with the next message."""
        self._attached = (*self._attached, read_file(path))

    def hear(self, message: StreamMessage, seconds: float = _LONGEST_WAIT) -> Heard:
        """Answer a message here, or wait for the process that holds the turn; text is printed as it arrives."""
        deadline, exchange = time.monotonic() + seconds, None
        spoken: list[str] = []

        def say(words: str) -> None:
            spoken.append(words)
            self._say(words)

        while True:
            try:
                exchange = self._conversation.step(say, using=self._using) or exchange
            except EverloomError as error:
                return Heard(message, error=error, has_begun=any(spoken))
            if reply := self._conversation.reply_to(message.id):
                # Another process has answered, or the model did not stream: nothing of the reply was printed yet.
                if not any(spoken):
                    self._say(reply.text)
                self._conversation.fetched([reply])
                return Heard(message, reply, exchange, has_begun=True)
            if failure := self._failure(message):
                return Heard(message, error=failure)
            if time.monotonic() >= deadline:
                hint = "the message is stored and will be answered"
                return Heard(message, error=EverloomError("no reply has come yet", hint=hint))
            time.sleep(_LOOK_EVERY)

    def _failure(self, message: StreamMessage) -> EverloomError | None:
        """Return why a message was not answered, if another attempt has failed since it was read."""
        waiting = {each.id: each for each in self._conversation.waiting()}
        now = waiting.get(message.id)
        if now is None or now.attempts <= message.attempts:
            return None
        return EverloomError(now.last_error or "the turn failed", hint="the message is stored")

    def arrived(self) -> list[StreamMessage]:
        """Take the messages that the agent sent on its own initiative; whoever asks is reached here."""
        now = time.monotonic()
        if now >= self._present_until:
            self._conversation.reached(CHANNEL, [""], _PRESENT_SECONDS)
            self._present_until = now + _PRESENT_SECONDS / 3
        self._conversation.settle()
        found = self._conversation.outbox(CHANNEL)
        self._conversation.fetched(found)
        return found

    def leave(self) -> None:
        """Say that nobody is at the terminal any more."""
        self._present_until = 0.0
        self._conversation.left(CHANNEL)
