"""What every service of the tests can do, so that one test can put them all to the same trial."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Condition
from types import TracebackType
from typing import Any, ClassVar, Self

PATIENCE = 30.0


class ServiceStub(ABC):
    """One service with a friend, who is allowed, a stranger, and a room in which several people are."""

    name: ClassVar[str]
    # What must never be seen outside of the service.
    secrets: ClassVar[tuple[str, ...]]
    # Whether it recognises what is sent again, and for how long a reply that may have arrived can be sent again.
    is_repeatable: ClassVar[bool] = False
    longest: ClassVar[int]
    # Whether it has rooms in which several people are.
    rooms: ClassVar[bool] = True

    def __init__(self) -> None:
        # Everything that people see: where, and what.
        self.sent: list[tuple[str, str]] = []
        self.typed: list[str] = []
        # What a strict service complains of; a test ends with none.
        self.complaints: list[str] = []
        self.news = Condition()
        self.is_stopped = False

    @abstractmethod
    def settings(self) -> dict[str, dict[str, Any]]:
        """The settings with which a gateway talks to it, friend and room allowed."""

    @abstractmethod
    def is_connected(self) -> bool:
        """Say whether the agent is listening, so that it gets what is said from now on."""

    @abstractmethod
    def say(self, text: str) -> str:
        """Let the friend write to the agent alone; gives the address for an answer."""

    @abstractmethod
    def say_in_room(self, text: str) -> str:
        """Let somebody called Bo write in the room; gives the address for an answer."""

    @abstractmethod
    def say_strange(self, text: str) -> str:
        """Let a stranger write to the agent alone; gives the address for an answer."""

    @abstractmethod
    def waits_for(self, text: str) -> bool:
        """Say whether a message is not yet confirmed."""

    @abstractmethod
    def fail(self, how: str) -> None:
        """Let the next sending go wrong: `busy`, `lost` (it arrived, the answer did not) or `refused`."""

    @abstractmethod
    def cut(self) -> None:
        """Cut every connection."""

    @abstractmethod
    def start(self) -> None:
        """Begin to listen."""

    @abstractmethod
    def stop(self) -> None:
        """Stop listening."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.news:
            self.is_stopped = True
            self.news.notify_all()
        self.stop()
