"""A Being: one workspace's operation, with the policy, the soul, the party and the model that are bound to it.

Holds values and hands them out. What it needs of other faculties it knows only as ports, which the loom binds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from everloom.kernel.operation import Operation
from everloom.models.ask import Thinker


class SoulKeeper(Protocol):
    """Whoever keeps the one soul of a workspace, as prose, with its history."""

    def read(self) -> str:
        """Read the prose; empty before there is any."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew; the old one stays in its history. Conflict when it is no longer what was read."""
        ...


class Party(Protocol):
    """The other Beings of the same owner."""

    def deliver(self, to: str, sender: str, text: str, key: str) -> None:
        """Bring a message to the Being called `to`; the same key delivers once. NotFound when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicPolicy:
    """What can be set: when a patrol begins and who runs it, and thresholds that overrule the embedder's."""

    patrol_at: int = 10
    patrol_hours: float = 24.0
    starts_here: bool = True
    recall_threshold: float | None = None
    cluster_threshold: float | None = None
    # Kinds of documents that are the conversation itself; whoever composes knows them.
    history_kinds: tuple[str, ...] = ("exchange", "message", "turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Being:
    """One whose memory this is."""

    op: Operation
    soul: SoulKeeper
    party: Party | None = None
    policy: EpisodicPolicy = field(default_factory=EpisodicPolicy)
    thinker: Callable[[], Thinker | None] = lambda: None
    chance: random.Random = field(default_factory=random.Random)
