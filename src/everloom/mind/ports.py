"""What the mind works with: the operation it runs in, what can be set, and ports to whoever lies outside it.

Facts are kept by semantic memory, the soul is one for all faculties, tools come from the others; `wiring` binds them.
Holds values and protocols, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from everloom.kernel.operation import Operation
from everloom.models.talk import ToolSpec
from everloom.store import Unit

if TYPE_CHECKING:
    from everloom.kernel.lease import Lease, Leases
    from everloom.mind.verbs import Mind
    from everloom.models.ask import Thinker
    from everloom.models.talk import Talker


@dataclass(frozen=True, slots=True)
class Fact:
    """A stable thing that was learnt from the conversation."""

    id: int
    text: str
    about: tuple[str, ...]
    learnt_at: datetime


@dataclass(frozen=True, slots=True)
class FactChange:
    """What an exchange taught: a new fact, one that no longer holds, or the first in place of the second."""

    text: str | None
    about: tuple[str, ...] = ()
    instead_of: int | None = None


class FactMemory(Protocol):
    """Where facts are kept: observations of kind `fact`, in semantic memory."""

    def nearest(self, text: str, limit: int) -> Sequence[Fact]:
        """Find the present facts nearest to a text."""
        ...

    def learn(
        self, changes: Sequence[FactChange], *, exchange: int, also: Callable[[Unit], None]
    ) -> Sequence[int | None]:
        """Keep and supersede what an exchange taught, all or none; nothing is erased.

        `also` writes into the same transaction. The answer is the id of each change's new fact. Fails with a Conflict
        or NotFound when a fact was superseded or is not there.
        """
        ...


class SharedSoul(Protocol):
    """The one soul of a workspace, which SOUL.md shows."""

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
    """A tool that the agent may use in conversation; it answers with text, or fails with an EverloomError."""

    tool: ToolSpec
    use: Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class MindPolicy:
    """What can be set."""

    # Messages that arrive within this pause become one turn.
    gather_seconds: float = 3.0
    compact_at: int = 100_000
    tool_rounds: int = 12
    reply_tokens: int = 4_096
    prompt_minutes: float = 10.0
    heartbeat_hours: float = 2.0
    quiet_from: int = 23
    quiet_until: int = 8
    self_awareness_hour: int = 21
    # Whether the agent has the notes also as the files of the memory tool.
    memory_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MindSetup:
    """The operation in which one workspace's mind runs, and what else it needs."""

    op: Operation
    # How this process comes by the right to speak.
    leases: Leases
    notes: Path
    soul: SharedSoul
    facts: FactMemory
    policy: MindPolicy = field(default_factory=MindPolicy)
    # None when no model is configured; both obey the day's budget.
    talker: Callable[[], Talker | None] = lambda: None
    thinker: Callable[[], Thinker | None] = lambda: None
    # The mind's own verbs for the agent, and those of other faculties that are switched on.
    tools: Callable[[Mind], Sequence[AgentTool]] = lambda _: ()

    def under(self, lease: Lease) -> MindSetup:
        """Have everything written under a task's lease: a worker that lost it writes nothing more."""
        return replace(self, op=self.op.under(lease))
