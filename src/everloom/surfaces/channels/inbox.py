"""The inbox: where every channel puts what it received, and sees what is being answered.

Knows which conversation a message belongs to, so that no channel has to. This one has a single conversation; that of a
gateway (`rooms/room.py`) has one for each person. Refuses to know services and their formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from everloom.mind.wording import speaker_name

if TYPE_CHECKING:
    from everloom.mind import Conversation, IncomingMessage, StreamMessage


class Inbox:
    """The conversation of one workspace, as its channels see it."""

    def __init__(self, conversation: Conversation, wake: Callable[[], None] = lambda: None) -> None:
        self._conversation = conversation
        self._wake = wake

    def admit(
        self,
        channel: str,  # noqa: ARG002  one conversation takes everybody
        addresses: Iterable[str],
        is_group: Callable[[str], bool] = lambda _: False,  # noqa: ARG002
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Take up the addresses that a channel's settings list, the owner's first, before anything is received.

        Returns all addresses of this channel, with those of people that are known otherwise, and what whoever starts
        the channel should know. An address that was not taken up and is not known is a stranger's: ignore it.
        """
        return tuple(dict.fromkeys(addresses)), ()

    def groups(self, channel: str) -> Sequence[str]:  # noqa: ARG002  one conversation has no groups
        """List the addresses of a channel that are groups, where every speaker is named."""
        return ()

    def take(self, message: IncomingMessage) -> StreamMessage:
        """Store a message and have it answered; a channel confirms it to its service only after this returned."""
        # Services let people call themselves anything; a name that cannot be stored must not cost the message.
        taken = self._conversation.take(replace(message, sender=speaker_name(message.sender)))
        self._wake()
        return taken

    def amend(self, message: IncomingMessage) -> StreamMessage | None:
        """Take in an edited message, known by its key; None if nothing of it has changed."""
        amended = self._conversation.amend(replace(message, sender=speaker_name(message.sender)))
        self._wake()
        return amended

    def waiting(self, channel: str) -> list[StreamMessage]:
        """List the messages of a channel that are not answered yet, oldest first."""
        return [each for each in self._conversation.waiting() if each.channel == channel]
