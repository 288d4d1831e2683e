"""The terminal as a channel of a conversation elsewhere: sends messages to a server, which answers them in a stream.

Has the methods of `Terminal`, so that whoever talks need not know where the conversation is. Knows no HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from everloom.errors import Rejected
from everloom.surfaces.channels.terminal import CHANNEL, Heard, Say

if TYPE_CHECKING:
    from everloom.mind import StreamMessage
    from everloom.mind.conversation.turn import Using
    from everloom.remote.workspace import RemoteWorkspace

_LONGEST_WAIT = 600.0


class TerminalElsewhere:
    """A person at a terminal here, in the conversation of a workspace elsewhere."""

    def __init__(self, place: RemoteWorkspace, say: Say, using: Using = lambda _: None) -> None:
        self._place = place
        self._say = say
        self._using = using

    def tell(self, text: str, key: str | None = None) -> StreamMessage:
        """Store a message there, before anything else happens."""
        return self._place.mind.say(text, channel=CHANNEL, idempotency_key=key)

    def attach(self, path: str) -> None:
        """Refuse a file: a server takes them through its gateway alone."""
        raise Rejected(f"{path} cannot be sent from here", hint="POST /messages of the server's gateway takes files")

    def hear(self, message: StreamMessage, seconds: float = _LONGEST_WAIT) -> Heard:
        """Have a message answered there; text is printed as it arrives."""
        spoken: list[str] = []

        def say(words: str) -> None:
            spoken.append(words)
            self._say(words)

        found = self._place.hear(message, say, seconds=seconds, using=self._using)
        if found.reply is None:
            return Heard(message, error=found.error, has_begun=any(spoken))
        # Another process has answered, or the model did not stream: nothing of the reply was printed yet.
        if not any(spoken):
            self._say(found.reply.text)
        self._place.mind.mark_delivered([found.reply.id])
        return Heard(message, found.reply, found.exchange, has_begun=True)

    def leave(self) -> None:
        """Go; a server does not know who sits at a terminal elsewhere."""

    def arrived(self) -> list[StreamMessage]:
        """Take the messages that the agent sent to the terminal on its own initiative."""
        found = list(self._place.mind.outbox(CHANNEL, max_tokens=None))
        if found:
            self._place.mind.mark_delivered([each.id for each in found])
        return found
