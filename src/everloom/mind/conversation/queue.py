"""The queue of turns: one thread that answers what waits, as soon as it is ripe, one turn after the other.

It is woken by messages of this process and looks now and then for those of others. What waits is in the store, so that
stopping it, in whatever way, loses nothing. Refuses to know channels.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event

from everloom.errors import EverloomError, ProviderError, Rejected
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.conversation import Conversation

log = logging.getLogger(__name__)

# Messages of other processes come without a word: so often they are looked for.
_GLANCE = 0.5
# After something that nobody expected: long enough not to fill a log.
_LONG_PAUSE = 5.0


class Queue:
    """Whoever runs the turns of one conversation in this process."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        answered: Callable[[Exchange], None] = lambda _: None,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._conversation = conversation
        self._answered = answered
        self._failed = failed
        self._news = Event()
        self._trouble = ""

    def wake(self) -> None:
        """Say that a message arrived."""
        self._news.set()

    def run(self, stop: Event) -> None:
        """Answer until told to stop; a turn in flight is given up between two rounds, and its messages wait."""
        while not stop.is_set():
            pause = self._pause(stop)
            if pause > 0:
                self._news.wait(pause)
                self._news.clear()

    def _pause(self, stop: Event) -> float:
        """Do what is ripe, and say how long nothing will be."""
        try:
            # The reply is announced before folding, which may take a model a while.
            exchange = self._conversation.step(is_stopping=stop.is_set)
            if exchange is not None:
                self._trouble = ""
                self._answered(exchange)
                self._conversation.compact()
                return 0.0
            return self._rest()
        except (ProviderError, Rejected) as error:
            self._tell(error)
        except EverloomError as error:
            log.warning("the turn failed", exc_info=True)
            self._tell(error)
        except Exception as error:
            # A defect must not end the conversation; the message waits, and the log tells.
            log.exception("the turn failed")
            self._tell(error)
            return _LONG_PAUSE
        return _GLANCE

    def _tell(self, error: Exception) -> None:
        """Report a failure, and the same one only once until something was answered."""
        if str(error) != self._trouble:
            log.warning("no answer yet: %s", error)
            self._failed(error)
        self._trouble = str(error)

    def _rest(self) -> float:
        ripe = self._conversation.ripe_in()
        return _GLANCE if ripe is None or ripe <= 0 else min(ripe, _GLANCE)
