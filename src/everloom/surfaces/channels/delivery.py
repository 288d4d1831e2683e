"""Delivers replies: what is recorded before and after a message is sent, whatever happens in between.

Knows no channel: it is given a function that sends. A message that may have arrived is never resent automatically.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from everloom.clock import pause_of
from everloom.errors import Conflict, EverloomError
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from everloom.clock import Clock
    from everloom.mind import Conversation, StreamMessage

log = logger_of(__name__)

# Pauses double from one second; twelve attempts span almost half an hour, after which a person has to decide.
_LONGEST_PAUSE = timedelta(minutes=10)
_MOST_ATTEMPTS = 12


class Undelivered(EverloomError):
    """A message certainly did not arrive; `is_final` if retrying cannot help."""

    def __init__(self, message: str, *, retry_after: float | None = None, is_final: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_final = is_final


class Unsure(EverloomError):
    """It is unknown whether a message arrived."""


class Outbox:
    """The replies waiting to be sent on one channel."""

    def __init__(
        self, conversation: Conversation, channel: str, send: Callable[[StreamMessage], None], clock: Clock
    ) -> None:
        self._conversation = conversation
        self._channel = channel
        self._send = send
        self._clock = clock

    def clear(self) -> int:
        """Send waiting replies, oldest first, up to one that must wait, so that none overtakes it. Returns how many."""
        done = 0
        for message in self._conversation.outbox(self._channel):
            if not self._deliver(message):
                break
            done += 1
        return done

    def _deliver(self, message: StreamMessage) -> bool:
        # Recorded before it is sent: if this process dies in between, the next one must not send it again. A message
        # that is lost can be asked for; one that arrives twice cannot be taken back.
        try:
            self._conversation.sending(message.id, self._channel)
        except Conflict:
            # Another process sends it, or it has gone to where somebody is.
            return True
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
            pause = pause_of(error.retry_after)
        return self._clock.now() + pause
