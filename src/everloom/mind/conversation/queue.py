"""The queue of turns: one thread that answers waiting messages when they are ripe, one turn after the other.

Messages of this process wake it, and it polls for those of other processes. The queue itself is in the store, so that
stopping the thread in any way loses nothing. Refuses to know channels.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from everloom.errors import EverloomError, ProviderError, Rejected
from everloom.mind.conversation.array import Exchange
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.turn import TurnWatch
from everloom.secrets import logger_of

log = logger_of(__name__)

# How often to check for messages of other processes, which do not wake this one.
_GLANCE = 0.5
# The pause after an unexpected error, long enough not to fill the log.
_LONG_PAUSE = 5.0


class Queue:
    """Runs the turns of one conversation in this process."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        answered: Callable[[Exchange], None] = lambda _: None,
        failed: Callable[[Exception], None] = lambda _: None,
        watch: TurnWatch | None = None,
    ) -> None:
        self._conversation = conversation
        self._answered = answered
        self._failed = failed
        self._watch = watch or TurnWatch()
        self._news = Event()
        self._trouble = ""

    def wake(self) -> None:
        """Wake the queue because a message arrived."""
        self._news.set()

    def run(self, stop: Event) -> None:
        """Answer messages until stopped; a running turn stops between two rounds, and its messages keep waiting."""
        while not stop.is_set():
            pause = self.look(stop)
            if pause > 0:
                self._news.wait(pause)
                self._news.clear()

    def look(self, stop: Event) -> float:
        """Run a turn if messages are ripe; returns how long to wait before the next check."""
        try:
            # The reply is announced before the compaction, for which a model may need a while.
            exchange = self._step(stop)
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
            # A defect must not end the thread: the message keeps waiting, and the log has the traceback.
            log.exception("the turn failed")
            self._tell(error)
            return _LONG_PAUSE
        return _GLANCE

    def _step(self, stop: Event) -> Exchange | None:
        try:
            return self._conversation.step(self._watch.say, is_stopping=stop.is_set, using=self._watch.using)
        finally:
            self._watch.over()

    def _tell(self, error: Exception) -> None:
        """Report a failure; the same failure is reported again only after a message was answered."""
        if str(error) != self._trouble:
            log.warning("no answer yet: %s", error)
            self._failed(error)
        self._trouble = str(error)

    def _rest(self) -> float:
        ripe = self._conversation.ripe_in()
        return _GLANCE if ripe is None or ripe <= 0 else min(ripe, _GLANCE)
