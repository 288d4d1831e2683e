"""A line to a service: who is answered, what is kept and confirmed, and how a reply goes out, for every service alike.

A service adds how it receives, how it posts one part, and who its people are. Refuses to know any wire format.
"""

from __future__ import annotations

import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from everloom.clock import to_micros
from everloom.errors import Conflict, EverloomError, Forbidden, Rejected, StoreError
from everloom.kernel.texts import checked_name
from everloom.secrets import logger_of
from everloom.surfaces.channels.delivery import Undelivered, Unsure
from everloom.surfaces.channels.services.calls import ServiceBusy
from everloom.surfaces.channels.telegram.parts import split_reply

if TYPE_CHECKING:
    from everloom.mind import IncomingMessage, StreamMessage
    from everloom.surfaces.channels.contract import ChannelSetup

log = logger_of(__name__)

_GLANCE = 0.5
# After a token was refused: only a person can change that.
_FORBIDDEN_PAUSE = 30.0
_LONGEST_PAUSE = 60.0
# How long the second and later parts of a reply wait for a rate limit, while other channels wait too.
_LONGEST_WAIT = 60.0
_MOST_STRANGERS = 1_000


class ServiceLine(ABC):
    """One service as a channel. A message is confirmed to the service only after `keep` returned."""

    name: str
    # The longest part of a reply, in UTF-16 code units.
    most: ClassVar[int]
    # How long the service shows that somebody is typing; None if it cannot.
    typing_seconds: ClassVar[float | None] = None
    # Whether the service recognises a part that is posted again under its key, so that posting it again is safe.
    is_repeatable: ClassVar[bool] = False

    def __init__(self, setup: ChannelSetup, people: Collection[str], rooms: Collection[str] = ()) -> None:
        self.setup = setup
        # Whoever the settings name as a person or a group is answered, too.
        known, self._told = setup.inbox.admit(self.name, [*people, *rooms], lambda address: address in rooms)
        self.rooms = frozenset({*rooms, *setup.inbox.groups(self.name)})
        self.people = frozenset(known) - self.rooms
        self.own = ""
        self._strangers: set[str] = set()
        self._failures = 0

    @abstractmethod
    def introduce(self) -> str:
        """Ask the service who we are, set `own`, and return what to show."""

    @abstractmethod
    def receive(self) -> None:
        """Receive messages until the connection ends or everything stops; call `well` whenever it works."""

    @abstractmethod
    def post(self, address: str, part: str, key: str) -> None:
        """Send one part of a reply; `key` is the same whenever it is sent again."""

    @abstractmethod
    def reaches(self, address: str) -> bool:
        """Say whether somebody at an address may be written to."""

    @abstractmethod
    def close(self) -> None:
        """Close connections; whatever waits on one fails and ends."""

    def show_typing(self, address: str) -> None:  # noqa: B027  not every service can
        """Show for a few seconds that a reply is being written."""

    def stopped(self) -> bool:
        """Say whether everything is to end."""
        return self.setup.stop.is_set()

    @property
    def notices(self) -> Sequence[str]:
        """Say that nobody is answered, or who has a conversation of their own."""
        lists = f"{self.name}.people" if self.name == "email" else f"{self.name}.people and {self.name}.rooms"
        empty = f"{lists} {'is' if self.name == 'email' else 'are'} empty, so nobody is answered there: add ids"
        return self._told if self.people or self.rooms else (empty,)

    def greet(self) -> str:
        """Return who we are there; a wrong token is an error, an unreachable service is not."""
        try:
            return self.introduce()
        except (Forbidden, Rejected):
            raise
        except EverloomError as error:
            log.warning("%s: %s", self.name, error)
            return "not reached yet"

    def parts(self) -> Mapping[str, Callable[[], None]]:
        """Return the loops: one that receives and, where it can be shown, one that shows typing."""
        loops = {self.name: self.run}
        return loops if self.typing_seconds is None else {**loops, f"{self.name} typing": self.type_on}

    def run(self) -> None:
        """Receive until stopped, connecting again after every failure, with longer and longer pauses."""
        while not self.stopped():
            try:
                if not self.own:
                    self.introduce()
                self.receive()
                # A service that ends every connection at once must not be asked for the next one at once.
                self.setup.stop.wait(_GLANCE)
            except EverloomError as error:
                if self.stopped():
                    return
                self._failures += 1
                level = logging.ERROR if self._failures == 1 else logging.WARNING
                log.log(level, "%s: %s", self.name, error)
                self.setup.stop.wait(pause_after_failure(error, self._failures))

    def well(self) -> None:
        """Note that the service works, so that the next failure is a first one."""
        self._failures = 0

    def keep(self, message: IncomingMessage) -> bool:
        """Store a message; False if it cannot be stored, which its sender is told."""
        try:
            self.setup.inbox.take(message)
        except StoreError:
            # Not confirmed: the service sends it again, or it is read again, when the store is back.
            raise
        except EverloomError as error:
            log.warning("%s: a message was not accepted: %s", self.name, type(error).__name__)
            why = f"I could not take this message: {error.message}."
            self.attempt(self.post, message.address, why, f"refused-{message.key}")
            return False
        return True

    def ignore(self, who: str, setting: str = "people") -> None:
        """Note a stranger once: they must not fill the log, and get no answer that tells them somebody is here."""
        if who not in self._strangers and len(self._strangers) < _MOST_STRANGERS:
            self._strangers.add(who)
            shown = "".join(char if char.isprintable() else "?" for char in who[:200])
            log.warning("%s: %s is not listed in %s.%s and is ignored", self.name, shown, self.name, setting)

    def attempt(self, act: Callable[..., object], *given: object) -> Any:
        """Do something that nobody waits for; a failure is only logged, and gives None."""
        try:
            return act(*given)
        except StoreError:
            raise
        except EverloomError as error:
            log.info("%s: %s", self.name, error)
            return None

    def try_reading(self, act: Callable[[], None], what: str) -> None:
        """Read what may be closed to us; a failure that will pass is raised, so that nothing is missed."""
        try:
            act()
        except ServiceBusy:
            raise
        except (Forbidden, Undelivered) as error:
            log.warning("%s: %s cannot be read: %s", self.name, what, error)

    def mark(self, name: str) -> Any:
        """Read a mark of this account."""
        return self.setup.marks.get(self.name, self.own, name)

    def set_mark(self, name: str, value: Any) -> None:
        """Set a mark of this account; only after what it passes is stored."""
        self.setup.marks.put(self.name, self.own, name, value)

    def send(self, message: StreamMessage) -> None:
        """Send a reply, in parts if it is long; a part that may have arrived is not sent again, or recognised."""
        if not self.own:
            self._prepare()
        if not self.reaches(message.address):
            raise Undelivered(f"the address is not listed in {self.name}.people or {self.name}.rooms", is_final=True)
        stem = f"{message.id}-{to_micros(message.at)}"
        for number, part in enumerate(split_reply(message.text, self.most)):
            self._send_part(message.address, part, f"{stem}-{number}", begun=number > 0)

    def _prepare(self) -> None:
        try:
            self.introduce()
        except (Forbidden, Rejected, Unsure) as error:
            raise Undelivered(error.message) from None

    def _send_part(self, address: str, part: str, key: str, *, begun: bool) -> None:
        waited = 0.0
        while True:
            try:
                return self.post(address, part, key)
            except ServiceBusy as error:
                wait = error.retry_after
                waited += wait or 0.0
                # Before the first part nothing is lost by trying later; after it, the rest should follow soon.
                if not begun or wait is None or waited > _LONGEST_WAIT or self.setup.stop.wait(wait):
                    raise self._partly(error, begun=begun) from None
            except Undelivered as error:
                raise self._partly(error, begun=begun) from None
            except (Conflict, Forbidden, Rejected) as error:
                raise self._partly(Undelivered(error.message), begun=begun) from None
            except Unsure as error:
                if self.is_repeatable:
                    raise Undelivered(f"{error.message}; it is sent again under the same id") from None
                raise

    def _partly(self, error: Undelivered, *, begun: bool) -> EverloomError:
        if begun and not self.is_repeatable:
            return Unsure(f"only some parts were sent: {error.message}")
        return error

    def type_on(self) -> None:
        """Show at each address that is being answered that a reply is being written, until stopped."""
        shown: dict[str, float] = {}
        pause = self.typing_seconds or 0.0
        while not self.setup.stop.wait(_GLANCE):
            now = time.monotonic()
            for address in self._answering() if self.own else ():
                if now - shown.get(address, -pause) >= pause:
                    shown[address] = now
                    self.attempt(self.show_typing, address)

    def _answering(self) -> set[str]:
        # A message that waits for another attempt after a failure is not being answered right now.
        now = datetime.now(UTC)
        waiting = self.setup.inbox.waiting(self.name)
        return {each.address for each in waiting if each.not_before is None or each.not_before <= now}


def pause_after_failure(error: EverloomError, failures: int) -> float:
    """Return how long to wait: what the service asks for, long after a refusal, and longer after each failure."""
    if isinstance(error, ServiceBusy) and error.retry_after is not None:
        return error.retry_after
    if isinstance(error, Conflict | Forbidden | Rejected):
        return _FORBIDDEN_PAUSE
    # Not in step with every other client that lost its connection at the same moment.
    return min(float(1 << min(failures - 1, 6)), _LONGEST_PAUSE) * random.uniform(0.5, 1.0)


def speaker(*names: object) -> str:
    """Return the first name that can stand for a speaker; empty if there is none."""
    for name in names:
        if not isinstance(name, str):
            continue
        try:
            return checked_name("".join(char if char.isprintable() else " " for char in name)[:100], "the name")
        except Rejected:
            continue
    return ""


def with_left_out(text: str, left_out: Sequence[str]) -> str:
    """Add to a text what was sent with it and cannot be received, so that nothing is dropped without a word."""
    words = [f"({what} was sent; this channel cannot receive it yet)" for what in left_out]
    return "\n\n".join([text.strip(), *words]).strip()
