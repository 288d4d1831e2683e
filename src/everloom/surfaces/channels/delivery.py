"""Carrying replies out: what is noted before a message leaves, and what after, whatever happens in between.

Knows no channel: it is given a way to send. A message that may have arrived is never sent again by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from everloom.errors import EverloomError

if TYPE_CHECKING:
    from everloom.clock import Clock
    from everloom.mind import Conversation, StreamMessage

log = logging.getLogger(__name__)

_LONGEST_PAUSE = timedelta(minutes=10)
_MOST_ATTEMPTS = 12


class Undelivered(EverloomError):
    """A message surely did not arrive; `is_final` when trying again cannot help."""

    def __init__(self, message: str, *, retry_after: float | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_final = is_final


class Unsure(EverloomError):
    """Nobody can tell whether a message arrived."""


class Outbox:
    """The replies that wait for one channel, and the way to send one."""

    def __init__(
        self, conversation: Conversation, channel: str, send: Callable[[StreamMessage], None], clock: Clock
    ) -> None:
        self._conversation = conversation
        self._channel = channel
        self._send = send
        self._clock = clock

    def clear(self) -> int:
        """Send what waits, oldest first; stops at one that has to wait, so that nothing overtakes it. Says how many."""
        done = 0
        for message in self._conversation.outbox(self._channel):
            if not self._deliver(message):
                break
            done += 1
        return done

    def _deliver(self, message: StreamMessage) -> bool:
        # Noted before it leaves: whoever dies in between must not send it a second time.
        self._conversation.sending(message.id)
        try:
            self._send(message)
        except Undelivered as error:
            retry_at = None if error.is_final else self._next_try(message, error)
            log.warning("%s: message %d was not sent: %s", self._channel, message.id, error.message)
            self._conversation.not_sent(message.id, error.message, retry_at)
            return retry_at is None
        except Unsure as error:
            log.warning("%s: message %d may not have arrived: %s", self._channel, message.id, error.message)
            self._conversation.uncertain(message.id, error.message)
            return True
        self._conversation.sent(message.id)
        return True

    def _next_try(self, message: StreamMessage, error: Undelivered) -> datetime | None:
        if message.attempts + 1 >= _MOST_ATTEMPTS:
            return None
        pause = min(timedelta(seconds=1 << min(message.attempts, 12)), _LONGEST_PAUSE)
        if error.retry_after is not None:
            pause = timedelta(seconds=error.retry_after)
        return self._clock.now() + pause
