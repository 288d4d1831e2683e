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
from everloom.mind.hands.servers import NoServers, ToolServer, ToolServers
from everloom.models.talk import CacheLife, ToolSpec
from everloom.store import Unit
from everloom.store.claims import Owner

if TYPE_CHECKING:
    from everloom.kernel.forgetting.results import Corrected, Forgotten
    from everloom.kernel.work.lease import Lease, Leases
    from everloom.mind.people import KnownPerson
    from everloom.mind.results import FactPruning
    from everloom.mind.verbs import Mind
    from everloom.models.ask import Thinker
    from everloom.models.hear import Transcriber
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
class FactRecord:
    """A fact with what it rests on: the exchanges it was learnt from, and the facts that it replaced, by id."""

    fact: Fact
    exchanges: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    superseded_at: datetime | None = None
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True)
class FactChange:
    """One change of the facts: a new fact, the end of an old one, or a new one that replaces an old one."""

    text: str | None
    about: tuple[str, ...] = ()
    instead_of: int | None = None
    said_by: Literal["person", "agent"] = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCard:
    """A current fact with everything that decides whether it may be set aside."""

    id: int
    text: str
    # Equal for facts about the same subjects.
    subjects: str
    learnt_at: datetime
    confidence: float | None = None
    # How often it was found or read, and whether anybody pinned it or called it useful.
    uses: int = 0
    is_kept: bool = False
    # Whether the agent learnt it in conversation; else a person wrote or edited it.
    is_learnt: bool = True
    said_by_person: bool = False


class FactMemory(Protocol):
    """The store of facts: observations of kind `fact` in semantic memory."""

    def nearest(self, text: str, limit: int, *, fits_only: bool = False) -> Sequence[Fact]:
        """Find the current facts nearest to a text, or only those that it is answered by."""
        ...

    def page(self, before: int, limit: int) -> Sequence[Fact]:
        """List the current facts with smaller ids, newest first."""
        ...

    def record(self, fact_id: int) -> FactRecord:
        """Read one fact, also one that no longer holds; NotFound if there is none."""
        ...

    def edit(self, fact_id: int, text: str, reason: str | None, key: str | None) -> Corrected:
        """Put a text in place of a fact; the old one is superseded, and under a key that happens once."""
        ...

    def forget(self, fact_id: int, confirm: str | None, key: str | None) -> Forgotten:
        """Show what would be forgotten with a fact or, with the token of that, forget it for good."""
        ...

    def count_use(self, fact_ids: Sequence[int]) -> None:
        """Count that facts answered what somebody asked, if that can be written now; no answer depends on it."""
        ...

    def cards(self) -> Sequence[FactCard]:
        """Read the current facts, oldest first, with what decides whether they may be set aside."""
        ...

    def names(self, fact_ids: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
        """Read whom and what facts are about."""
        ...

    def set_aside(
        self, pruning: FactPruning, is_still: Callable[[Sequence[FactCard]], bool], also: Callable[[Unit], None]
    ) -> bool:
        """Set a fact aside in one transaction, if it and the fact that stays for it still are as they were.

        `is_still` is given their cards as they are under the lock, and decides; `also` writes, or refuses, in the same
        transaction. Nothing is erased.
        """
        ...

    def pruned(self, before: int, limit: int) -> Sequence[FactPruning]:
        """List the facts that were set aside, with smaller ids, newest first."""
        ...

    def pruned_since(self, since: datetime) -> int:
        """Count the facts that were set aside since a moment."""
        ...

    def take_back(self, fact_id: int, key: str | None) -> FactRecord:
        """Let a fact that was set aside hold again, exactly as it was; under a key that happens once."""
        ...

    def learn(
        self,
        changes: Sequence[FactChange],
        *,
        exchange: int,
        also: Callable[[Transaction, Sequence[int | None]], None],
        name: str = "learn",
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
    """A tool that the agent may use in conversation; it returns text, or raises an EverloomError.

    A call that `acts` changes something, here or elsewhere, and happens once however often its turn is tried. If the
    tool can be used under an idempotency key (`use_once`), it is called again under the same key and does nothing it
    has done. If not, because it acts where nobody keeps keys, it is called once: a turn that is tried again is given
    what it answered, its errors too, or is told that nobody knows whether it was done.
    """

    tool: ToolSpec
    use: Callable[[Mapping[str, Any]], str]
    # Whether a call erases something that other tools may have shown earlier.
    erases: Callable[[Mapping[str, Any]], bool] = lambda _: False
    acts: Callable[[Mapping[str, Any]], bool] = lambda _: False
    use_once: Callable[[Mapping[str, Any], str], str] | None = None


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """From which costs on the person is told: a share of the day's budget, dollars a month, times a usual day."""

    budget_share: float = 0.8
    dollars_a_month: float | None = None
    rise: float = 3.0
    dollars_a_day: float | None = None

    @property
    def are_set(self) -> bool:
        """Whether there is anything to be told."""
        return bool(self.rise or self.dollars_a_day) or self.dollars_a_month is not None


@dataclass(frozen=True, slots=True)
class MindPolicy:
    """The settings of the mind."""

    # Messages that arrive within this many seconds of each other are answered in one turn.
    gather_seconds: float = 3.0
    compact_at: int = 100_000
    tool_rounds: int = 12
    reply_tokens: int = 4_096
    # For how long the provider is asked to keep the conversation in its cache: 5m or 1h, which costs more to write.
    cache_life: CacheLife = "5m"
    heartbeat_hours: float = 2.0
    quiet_from: int = 23
    quiet_until: int = 8
    self_awareness_hour: int = 21
    # Whether repeated and faded facts are set aside each night, and after how many days a fact has faded.
    prune_facts: bool = True
    prune_after_days: int = 180
    # Whether the agent may also use the notes through the provider's memory tool.
    memory_tool: bool = False
    alerts: AlertLimits = field(default_factory=AlertLimits)
    # The servers whose tools the agent may use, by name; and the notes that it changes only with approval.
    mcp: Mapping[str, ToolServer] = field(default_factory=dict)
    approve_notes: tuple[str, ...] = ()
    # How long the person has to approve something.
    action_hours: float = 24.0


@dataclass(frozen=True, slots=True)
class AttachmentBounds:
    """How much messages may bring: bytes of one file, of a message, of the workspace, and how many files."""

    file_bytes: int = 20_000_000
    message_bytes: int = 40_000_000
    workspace_bytes: int = 2_000_000_000
    files: int = 20


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
    # Where the files of messages are kept; None keeps none.
    attachments: Path | None = None
    bounds: AttachmentBounds = field(default_factory=AttachmentBounds)
    policy: MindPolicy = field(default_factory=MindPolicy)
    # Both return None if no model is configured. They are called for each use, because the daily budget may choose
    # another model in between.
    talker: Callable[[], Talker | None] = lambda: None
    thinker: Callable[[], Thinker | None] = lambda: None
    # Whose workspace it is, if that is known: where the person is reached, and where best.
    person: KnownPerson | None = None
    # Whoever listens to voice messages; None if nobody does.
    transcriber: Callable[[], Transcriber | None] = lambda: None
    # The agent's tools: the mind's own verbs, and those of other faculties that are enabled.
    tools: Callable[[Mind], Sequence[AgentTool]] = lambda _: ()
    # How the servers of `policy.mcp` are reached.
    servers: ToolServers = field(default_factory=NoServers)

    def under(self, lease: Lease) -> MindSetup:
        """Return a copy whose writes are fenced by a task's lease: a worker that lost it cannot write."""
        return replace(self, op=self.op.under(lease))
