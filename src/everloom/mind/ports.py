"""What the mind depends on: its operation, its settings, and ports to the other faculties.

Semantic memory stores the facts, the soul is shared by all faculties, and other faculties provide tools; `wiring` binds
them. Holds values and protocols, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from everloom.kernel.operation import Operation, Transaction
from everloom.models.talk import ToolSpec
from everloom.store import Unit
from everloom.store.claims import Owner

if TYPE_CHECKING:
    from everloom.kernel.work.lease import Lease, Leases
    from everloom.mind.verbs import Mind
    from everloom.models.ask import Thinker
    from everloom.models.talk import Talker


@dataclass(frozen=True, slots=True)
class Fact:
    """A lasting fact that was learnt from the conversation; `fits` if it answers what it was searched by."""

    id: int
    text: str
    about: tuple[str, ...]
    learnt_at: datetime
    fits: bool = True


@dataclass(frozen=True, slots=True)
class FactChange:
    """One change of the facts: a new fact, the end of an old one, or a new one that replaces an old one."""

    text: str | None
    about: tuple[str, ...] = ()
    instead_of: int | None = None
    said_by: Literal["person", "agent"] = "agent"


class FactMemory(Protocol):
    """The store of facts: observations of kind `fact` in semantic memory."""

    def nearest(self, text: str, limit: int) -> Sequence[Fact]:
        """Find the current facts nearest to a text."""
        ...

    def learn(
        self,
        changes: Sequence[FactChange],
        *,
        exchange: int,
        also: Callable[[Transaction, Sequence[int | None]], None],
    ) -> Sequence[int | None]:
        """Apply the changes learnt from an exchange, all or none; old facts are superseded, never erased.

        `also` writes in the same transaction, and is given the ids of the new facts. Returns the id of the new fact for
        each change, or None. Raises Conflict if a fact was superseded in the meantime, and NotFound if it does not
        exist.
        """
        ...


class SharedSoul(Protocol):
    """The soul of a workspace, which SOUL.md mirrors."""

    def read(self) -> str:
        """Read the text."""
        ...

    def written_at(self) -> datetime | None:
        """Return when it was last written; None if it never was."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Replace the soul; Conflict if it is no longer the text in `instead_of`."""
        ...

    def versions(self, unit: Unit) -> Mapping[int, str]:
        """Read the texts of all its versions, by id."""
        ...


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool that the agent may use in conversation; it returns text, or raises an EverloomError."""

    tool: ToolSpec
    use: Callable[[Mapping[str, Any]], str]
    # Whether a call erases something that other tools may have shown earlier.
    erases: Callable[[Mapping[str, Any]], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class MindPolicy:
    """The settings of the mind."""

    # Messages that arrive within this many seconds of each other are answered in one turn.
    gather_seconds: float = 3.0
    compact_at: int = 100_000
    tool_rounds: int = 12
    reply_tokens: int = 4_096
    prompt_minutes: float = 10.0
    heartbeat_hours: float = 2.0
    quiet_from: int = 23
    quiet_until: int = 8
    self_awareness_hour: int = 21
    # Whether the agent may also use the notes through the provider's memory tool.
    memory_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MindSetup:
    """The operation of one workspace, and everything else that its mind depends on."""

    op: Operation
    # Grants the turn lease: only the process that holds it may answer or speak first.
    leases: Leases
    notes: Path
    soul: SharedSoul
    facts: FactMemory
    # By what the directory of the notes is known to be this workspace's; and where earlier versions put it.
    owner: Owner | None = None
    former_notes: Path | None = None
    policy: MindPolicy = field(default_factory=MindPolicy)
    # Both return None if no model is configured. They are called for each use, because the daily budget may choose
    # another model in between.
    talker: Callable[[], Talker | None] = lambda: None
    thinker: Callable[[], Thinker | None] = lambda: None
    # The agent's tools: the mind's own verbs, and those of other faculties that are enabled.
    tools: Callable[[Mind], Sequence[AgentTool]] = lambda _: ()

    def under(self, lease: Lease) -> MindSetup:
        """Return a copy whose writes are fenced by a task's lease: a worker that lost it cannot write."""
        return replace(self, op=self.op.under(lease))
