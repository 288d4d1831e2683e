"""What the mind asks of others: facts kept by semantic memory, the one soul, tools of other faculties.

Protocols only; `wiring` binds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from everloom.models.talk import ToolSpec
from everloom.store import Unit


@dataclass(frozen=True, slots=True)
class Fact:
    """A stable thing that was learnt from the conversation."""

    id: int
    text: str
    about: tuple[str, ...]
    learnt_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """What an exchange changed: a new fact, one that no longer holds, or the first in place of the second."""

    text: str | None
    about: tuple[str, ...] = ()
    instead_of: int | None = None


class Facts(Protocol):
    """Where facts are kept: observations of kind `fact`, in semantic memory."""

    def nearest(self, text: str, limit: int) -> Sequence[Fact]:
        """Find the present facts nearest to a text."""
        ...

    def learn(self, changes: Sequence[Change], *, exchange: int, also: Callable[[Unit], None]) -> Sequence[int | None]:
        """Keep and supersede what an exchange changed, all or none; nothing is erased.

        `also` writes into the same transaction. The answer is the id of each change's new fact. Fails with a Conflict
        or NotFound when a fact was superseded or is not there.
        """
        ...


class Voice(Protocol):
    """Whoever can speak first in the conversation: the same floor, array, log and outbox as an answer."""

    def speak(
        self,
        text: str,
        *,
        cause: Literal["heartbeat", "schedule"],
        channel: str,
        address: str = "",
        also: Callable[[Unit, int], None] = ...,
    ) -> object:
        """Say something; `also` is given the exchange's id and writes into the same transaction, or undoes it."""
        ...


class Soul(Protocol):
    """The one soul of a workspace."""

    def read(self) -> str:
        """Read the prose."""
        ...

    def written_at(self) -> datetime | None:
        """Say when it was last written; None before anybody did."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew, unless somebody else did since it was read."""
        ...


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool that the agent may use in conversation; it answers with text, or fails with a EverloomError."""

    tool: ToolSpec
    use: Callable[[Mapping[str, Any]], str]
