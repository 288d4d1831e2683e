"""A Being: one workspace's operation, with the policy, the soul, the party and the model that are bound to it.

Contains values only. Refuses to know other faculties except as ports, which the loom binds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from everloom.kernel.operation import Operation
from everloom.models.ask import Thinker


class SoulKeeper(Protocol):
    """The port to a workspace's only soul, which is prose with a history."""

    def read(self) -> str:
        """Read the prose; it is empty before the first write."""
        ...

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Replace the soul and keep the old one in its history; Conflict if it is no longer `instead_of`."""
        ...


class Party(Protocol):
    """The port to the other Beings of the same store."""

    def deliver(self, to: str, text: str, key: str) -> None:
        """Deliver a message to the Being called `to`, once for each key; Forbidden if no such Being takes it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodicPolicy:
    """The settings: when a patrol begins and who runs it, what is recalled, how scenes are sorted without a model."""

    patrol_at: int = 10
    patrol_hours: float = 24.0
    starts_here: bool = True
    recall_threshold: float | None = None
    cluster_threshold: float | None = None
    feeling_distance: float = 0.35
    extracts: bool = False
    business_prototypes: tuple[str, ...] = ()
    private_prototypes: tuple[str, ...] = ()
    # The kinds of documents that are the conversation itself. They belong to other faculties, so the wiring sets them.
    history_kinds: tuple[str, ...] = ("exchange", "message", "turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Being:
    """The one whose memory this is."""

    op: Operation
    soul: SoulKeeper
    party: Party | None = None
    policy: EpisodicPolicy = field(default_factory=EpisodicPolicy)
    thinker: Callable[[], Thinker | None] = lambda: None
    chance: random.Random = field(default_factory=random.Random)

    def told_by(self, origin: str | None) -> Being:
        """Return this Being for what comes from somewhere else."""
        return self if origin is None else replace(self, op=self.op.told_by(origin))
