"""The mind's background work as tasks of the kernel: facts, scheduled messages, heartbeats, the nightly pass.

Each says what is due and does it step by step under its lease. Holds no rule itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from everloom.clock import to_micros
from everloom.kernel.tasks import Lease, Progress, Report, Task
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.ground import Ground
from everloom.mind.initiative.heartbeat import Heartbeats
from everloom.mind.initiative.schedule import Schedule
from everloom.mind.initiative.self_awareness import SelfAwareness
from everloom.mind.learning.facts import Extraction
from everloom.mind.notes.notes import Notes
from everloom.store.contract import FOREVER

Grounds = Callable[[WorkspaceInfo], Ground]


@dataclass(frozen=True, slots=True)
class FactTask:
    """Learning from exchanges."""

    ground: Grounds
    name: str = field(default="facts", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the exchanges that wait; without a model they wait on, and none is due."""
        ground = self.ground(workspace)
        with ground.store.read(workspace.id) as unit:
            row = unit.one("archive.facts_due_count", now=to_micros(ground.clock.now()))
        count = 0 if row is None else int(row["count"])
        return count if count and ground.thinker() is not None else 0

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Learn from each, oldest first; one that fails does not hold up the others."""
        ground = self.ground(workspace)
        thinker = ground.thinker()
        if thinker is None:
            return Report(0)
        with ground.store.read(workspace.id) as unit:
            now = to_micros(ground.clock.now())
            waiting = [row["id"] for row in unit.all("archive.facts_due", now=now, limit=FOREVER)]
        extraction = Extraction(ground, thinker, lease.guard)
        done = changed = failed = ignored = 0
        for exchange in waiting:
            if not lease.has_time():
                break
            decision = extraction.learn(exchange)
            failed += decision is None
            done += decision is not None
            changed += 0 if decision is None else len(decision.changes)
            ignored += 0 if decision is None else len(decision.ignored)
            progress(done + failed)
        return Report(done, {"changed": changed, "ignored": ignored, "failed": failed})


@dataclass(frozen=True, slots=True)
class ScheduleTask:
    """Sending the messages whose time has come."""

    ground: Grounds
    holder: str
    name: str = field(default="schedule", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the messages whose time has come."""
        return Schedule(self.ground(workspace)).due_count()

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Send each once."""
        ground = self.ground(workspace)
        schedule, voice = Schedule(ground), Conversation(ground, self.holder)
        done = 0
        for each in schedule.due():
            if not lease.has_time():
                break
            schedule.deliver(each, voice, lease.guard)
            done += 1
            progress(done)
        return Report(done)


@dataclass(frozen=True, slots=True)
class HeartbeatTask:
    """Wondering now and then whether to speak first."""

    ground: Grounds
    holder: str
    name: str = field(default="heartbeat", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Say whether a slot has passed without a heartbeat."""
        return int(Heartbeats(self.ground(workspace)).is_due())

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Wonder once, unless another worker just did."""
        ground = self.ground(workspace)
        heartbeats = Heartbeats(ground)
        if not heartbeats.is_due():
            return Report(0)
        beat = heartbeats.beat(Conversation(ground, self.holder), Notes(ground), lease.guard)
        progress(1)
        return Report(1, {"outcome": beat.outcome, "reason": beat.reason})


@dataclass(frozen=True, slots=True)
class SelfAwarenessTask:
    """The nightly pass."""

    ground: Grounds
    name: str = field(default="self_awareness", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Say whether the latest night's pass is still to be made."""
        ground = self.ground(workspace)
        return int(SelfAwareness(ground, Notes(ground)).is_due())

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Make it, unless another worker just did."""
        ground = self.ground(workspace)
        awareness = SelfAwareness(ground, Notes(ground))
        if not awareness.is_due():
            return Report(0)
        outcome = awareness.run(lease.guard)
        progress(1)
        return Report(1, {"note": outcome})


def mind_tasks(ground: Grounds, holder: str | None = None) -> Sequence[Task]:
    """Make all tasks of the mind, in the order in which they run."""
    who = holder or f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
    return [FactTask(ground), ScheduleTask(ground, who), HeartbeatTask(ground, who), SelfAwarenessTask(ground)]
