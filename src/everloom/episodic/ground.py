"""What every verb and every patrol stands on: the store, the index, the models behind ports, the rules that can be set.

Holds values and hands them out. Decides nothing.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from importlib import resources

from everloom.clock import Clock
from everloom.episodic.ports import Party, Soul
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import append_event, attend
from everloom.kernel.search import Finder, Index
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.models.ask import Thinker
from everloom.store import Store, Unit

# What an embedder gets that nobody has calibrated: the contract's numbers.
SEED_RECALL, SEED_CLUSTER = 0.35, 0.45


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The cosines from which a scene is recalled and joins a cluster, and who says so."""

    recall: float
    cluster: float
    source: str


@dataclass(frozen=True, slots=True)
class Policy:
    """What can be set."""

    patrol_at: int = 10
    patrol_hours: float = 24.0
    starts_here: bool = True
    recall_threshold: float | None = None
    cluster_threshold: float | None = None
    # Kinds of documents that are the conversation itself; whoever composes knows them.
    history_kinds: tuple[str, ...] = ("exchange", "message", "turn")


@dataclass(frozen=True, slots=True)
class Ground:
    """One store and what is needed to remember scenes in it."""

    store: Store
    index: Index
    embedding: Embedding
    finder: Finder
    clock: Clock
    policy: Policy = field(default_factory=Policy)
    thinker: Callable[[WorkspaceInfo], Thinker | None] = lambda _: None
    soul_prose: Callable[[WorkspaceInfo], str] = lambda _: ""
    chance: random.Random = field(default_factory=random.Random)

    def thresholds(self, unit: Unit, model: str | None = None) -> Thresholds:
        """Find a model's thresholds: what was set, what calibration found, what is shipped, what it says itself."""
        name = model or self.embedding.preferred
        row = unit.one("episodic.calibration_get", model=name)
        if row is not None:
            known = Thresholds(row["recall"], row["cluster"], "calibrated")
        else:
            known = shipped().get(name) or self._told_by(name)
        policy = self.policy
        if policy.recall_threshold is None and policy.cluster_threshold is None:
            return known
        recall = known.recall if policy.recall_threshold is None else policy.recall_threshold
        cluster = known.cluster if policy.cluster_threshold is None else policy.cluster_threshold
        return Thresholds(recall, cluster, "settings")

    def _told_by(self, name: str) -> Thresholds:
        traits = next((each for each in self.embedding.chain.links if each.name == name), None)
        recall = SEED_RECALL if traits is None or traits.recall_threshold is None else traits.recall_threshold
        cluster = SEED_CLUSTER if traits is None or traits.cluster_threshold is None else traits.cluster_threshold
        return Thresholds(recall, cluster, "uncalibrated")


@dataclass(frozen=True, slots=True)
class Place:
    """One Being: a workspace, through which one session reads and writes, and what is bound to it alone."""

    ground: Ground
    info: WorkspaceInfo
    soul: Soul
    party: Party | None = None
    session: str | None = None
    model_tier: str | None = None

    @property
    def now(self) -> datetime:
        """Say what time it is."""
        return self.ground.clock.now()

    @property
    def today(self) -> date:
        """Say which day it is where the Being lives."""
        return self.now.astimezone(self.info.zone).date()

    @contextmanager
    def read(self) -> Iterator[Unit]:
        """Begin a unit of work that changes nothing."""
        with self.ground.store.read(self.info.id) as unit:
            yield unit

    @contextmanager
    def write(self) -> Iterator[Unit]:
        """Begin a unit of work that is kept whole or not at all."""
        with self.ground.store.write(self.info.id) as unit:
            yield unit

    def attend(self, unit: Unit) -> int | None:
        """Note that the session is active; None when there is none."""
        return None if self.session is None else attend(unit, self.session, self.now, self.model_tier).id

    def log(self, unit: Unit, operation: str, **detail: object) -> None:
        """Write an operation into the audit trail."""
        append_event(unit, operation, json.loads(json.dumps(detail, default=str)), self.now, self.attend(unit))


@cache
def shipped() -> dict[str, Thresholds]:
    """Read the thresholds that come with the program."""
    text = (resources.files("everloom.episodic") / "thresholds.toml").read_text(encoding="utf-8")
    return {name: Thresholds(each["recall"], each["cluster"], "shipped") for name, each in tomllib.loads(text).items()}
