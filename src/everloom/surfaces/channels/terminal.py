"""The terminal as a channel: reads messages, streams replies, and collects messages that arrived in the meantime.

Reads and writes through the functions it is given, so that a pipe, a test and a person are alike. Knows no commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from everloom.errors import EverloomError

if TYPE_CHECKING:
    from everloom.mind import Conversation, Exchange, StreamMessage

CHANNEL = "terminal"
_FENCE = '"""'
_MORE = "\\"
_LOOK_EVERY = 0.2
# How long to wait for a reply that another process is writing.
_LONGEST_WAIT = 600.0

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

    def __init__(self, conversation: Conversation, say: Say) -> None:
        self._conversation = conversation
        self._say = say

    def tell(self, text: str, key: str | None = None) -> StreamMessage:
        """Store a message, before anything else happens."""
        return self._conversation.receive(text, channel=CHANNEL, key=key, is_whole=True)

    def hear(self, message: StreamMessage, seconds: float = _LONGEST_WAIT) -> Heard:
        """Answer a message here, or wait for the process that holds the turn; text is printed as it arrives."""
        deadline, exchange = time.monotonic() + seconds, None
        spoken: list[str] = []

        def say(words: str) -> None:
            spoken.append(words)
            self._say(words)

        while True:
            try:
                exchange = self._conversation.step(say) or exchange
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
        """Take the messages that the agent sent to the terminal on its own initiative."""
        found = self._conversation.outbox(CHANNEL)
        self._conversation.fetched(found)
        return found
