"""What every room of the mind stands on: the store, the index, one workspace, what can be set, models behind ports.

Holds values and hands them out. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from everloom.clock import Clock, zone_named
from everloom.kernel.search import Finder, Index
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.mind.ports import AgentTool, Facts, Soul
from everloom.models.ask import Thinker
from everloom.models.talk import Talker
from everloom.store import Store


@dataclass(frozen=True, slots=True)
class Policy:
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
    faculties: tuple[str, ...] = ()
    # Whether the agent has the notes also as the files of the memory tool.
    memory_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One workspace's conversation and what is needed to hold it."""

    store: Store
    index: Index
    finder: Finder
    clock: Clock
    workspace: WorkspaceInfo
    notes: Path
    soul: Soul
    facts: Facts
    policy: Policy = field(default_factory=Policy)
    # None when no model is configured; both obey the day's budget.
    talker: Callable[[], Talker | None] = lambda: None
    thinker: Callable[[], Thinker | None] = lambda: None
    # The verbs of other faculties that are switched on.
    tools: Callable[[], Sequence[AgentTool]] = tuple

    @property
    def zone(self) -> ZoneInfo:
        """Say in which zone "today" is meant."""
        return zone_named(self.workspace.time_zone)

    def local(self, at: datetime | None = None) -> datetime:
        """Read an instant, or now, on the workspace's own clock."""
        return (at or self.clock.now()).astimezone(self.zone)

    def today(self) -> date:
        """Say which day it is for the workspace."""
        return self.local().date()

    def yesterday(self) -> date:
        """Say which day it was before today."""
        return self.today() - timedelta(days=1)
