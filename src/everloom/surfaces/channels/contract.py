"""What the gateway and its channels expect of each other. Values and protocols only; decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from everloom.mind import StreamMessage
    from everloom.settings import Settings
    from everloom.surfaces.channels.inbox import Inbox
    from everloom.surfaces.channels.marks import Marks


@dataclass(frozen=True, slots=True)
class ChannelSetup:
    """What a channel is made of: the settings, the inbox for what it receives, what ends it, and its marks."""

    settings: Settings
    inbox: Inbox
    stop: Event
    marks: Marks


class Channel(Protocol):
    """One service on which people are reached."""

    name: str

    @property
    def notices(self) -> Sequence[str]:
        """What the person who starts the gateway should know, such as a setting without which nobody is answered."""
        ...

    def greet(self) -> str:
        """Return what to show at the start; Forbidden or Rejected if the settings cannot work, and nothing runs then.

        A service that cannot be reached yet is not an error.
        """
        ...

    def parts(self) -> Mapping[str, Callable[[], None]]:
        """Return what runs in threads of its own until stopped, by name; a part that fails is started again."""
        ...

    def send(self, message: StreamMessage) -> None:
        """Send one message; Undelivered if it certainly did not arrive, Unsure if nobody can tell."""
        ...

    def reaches(self, address: str) -> bool:
        """Say whether somebody can be reached at an address now, as far as this channel knows."""
        ...

    def close(self) -> None:
        """Close connections; a part that waits on one fails and ends."""
        ...


# Makes a channel, or None if the settings do not ask for it.
ChannelMaker = Callable[[ChannelSetup], Channel | None]
