"""The mind's background work as tasks of the kernel: facts, scheduled messages, heartbeats, the nightly pass.

Each says what is due and does it step by step; everything that it writes is fenced by its lease. Holds no rule itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from everloom.clock import to_micros
from everloom.kernel.lease import Lease
from everloom.kernel.tasks import Progress, Report, Task
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.initiative.heartbeat import Heartbeats
from everloom.mind.initiative.schedule import Schedule
from everloom.mind.initiative.self_awareness import SelfAwareness
from everloom.mind.learning.facts import FactLearner
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import MindSetup
from everloom.store.contract import FOREVER

Setups = Callable[[WorkspaceInfo], MindSetup]


@dataclass(frozen=True, slots=True)
class FactTask:
    """Learning from exchanges."""

    setups: Setups
    name: str = field(default="facts", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the exchanges that wait; without a model they wait on, and none is due."""
        setup = self.setups(workspace)
        with setup.op.read() as unit:
            row = unit.one("archive.facts_due_count", now=to_micros(setup.op.now))
        count = 0 if row is None else int(row["count"])
        return count if count and setup.thinker() is not None else 0

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Learn from each, oldest first; one that fails does not hold up the others."""
        setup = self.setups(workspace).under(lease)
        thinker = setup.thinker()
        if thinker is None:
            return Report(0)
        with setup.op.read() as unit:
            rows = unit.all("archive.facts_due", now=to_micros(setup.op.now), limit=FOREVER)
        learner = FactLearner(setup, thinker)
        done = changed = failed = ignored = 0
        for row in rows:
            if not lease.has_time():
                break
            decision = learner.learn(row["id"])
            if decision is None:
                failed += 1
            else:
                done += 1
                changed += len(decision.changes)
                ignored += len(decision.ignored)
            progress(done + failed)
        return Report(done, {"changed": changed, "ignored": ignored, "failed": failed})


@dataclass(frozen=True, slots=True)
class ScheduleTask:
    """Sending the messages whose time has come."""

    setups: Setups
    name: str = field(default="schedule", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the messages whose time has come."""
        return Schedule(self.setups(workspace)).due_count()

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Send each once."""
        setup = self.setups(workspace).under(lease)
        schedule, conversation = Schedule(setup), Conversation(setup)
        done = 0
        for each in schedule.due():
            if not lease.has_time():
                break
            schedule.deliver(each, conversation)
            done += 1
            progress(done)
        return Report(done)


@dataclass(frozen=True, slots=True)
class HeartbeatTask:
    """Wondering now and then whether to speak first."""

    setups: Setups
    name: str = field(default="heartbeat", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Say whether a slot has passed without a heartbeat."""
        return int(Heartbeats(self.setups(workspace)).is_due())

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Wonder once, unless another worker just did."""
        setup = self.setups(workspace).under(lease)
        heartbeats = Heartbeats(setup)
        if not heartbeats.is_due():
            return Report(0)
        beat = heartbeats.beat(Conversation(setup), Notes(setup))
        progress(1)
        return Report(1, {"outcome": beat.outcome, "reason": beat.reason})


@dataclass(frozen=True, slots=True)
class SelfAwarenessTask:
    """The nightly pass."""

    setups: Setups
    name: str = field(default="self_awareness", init=False)

    def due(self, workspace: WorkspaceInfo) -> int:
        """Say whether the latest night's pass is still to be made."""
        setup = self.setups(workspace)
        return int(SelfAwareness(setup, Notes(setup)).is_due())

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Make it, unless another worker just did."""
        setup = self.setups(workspace).under(lease)
        awareness = SelfAwareness(setup, Notes(setup))
        if not awareness.is_due():
            return Report(0)
        outcome = awareness.run()
        progress(1)
        return Report(1, {"note": outcome})


def mind_tasks(setups: Setups) -> Sequence[Task]:
    """Make all tasks of the mind, in the order in which they run."""
    return [FactTask(setups), ScheduleTask(setups), HeartbeatTask(setups), SelfAwarenessTask(setups)]
