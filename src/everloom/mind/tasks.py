"""The mind's background tasks: actions, facts, scheduled messages, heartbeats, the nightly passes and alerts.

Each reports how much is due, and does it step by step; its writes are fenced by its lease. Holds no rules itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.tasks import Progress, Report
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.mind.conversation import Conversation, CostWatch
from everloom.mind.hands.running import count_due, next_due, run_actions
from everloom.mind.initiative import Heartbeats, Schedule, SelfAwareness
from everloom.mind.initiative.timing import night_after, night_before
from everloom.mind.learning import FactLearner
from everloom.mind.learning.pruner import Pruner
from everloom.mind.notes import Notes
from everloom.mind.ports import MindSetup
from everloom.store.contract import FOREVER

_Setups = Callable[[WorkspaceInfo], MindSetup]


@dataclass(frozen=True, slots=True)
class MindTask:
    """One kind of background work."""

    name: str
    setups: _Setups
    count: Callable[[MindSetup], int]
    work: Callable[[MindSetup, Lease, Progress], Report]
    # When there will be something to do, if that is known.
    foresee: Callable[[MindSetup], datetime | None] = lambda _: None

    def due(self, workspace: WorkspaceInfo) -> int:
        """Count the pieces of work that are due."""
        return self.count(self.setups(workspace))

    def next_due(self, workspace: WorkspaceInfo) -> datetime | None:
        """Return when there will be something to do, if that is known."""
        return self.foresee(self.setups(workspace))

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        """Do the work; all writes are fenced by the lease."""
        return self.work(self.setups(workspace).under(lease), lease, progress)


def _count_facts(setup: MindSetup) -> int:
    """Count the exchanges whose facts are due; none without a model, and they keep waiting."""
    with setup.op.read() as unit:
        row = unit.one("archive.facts_due_count", now=to_micros(setup.op.now))
    count = 0 if row is None else int(row["count"])
    return count if count and setup.thinker() is not None else 0


def _next_facts(setup: MindSetup) -> datetime | None:
    """Return when the pause of an exchange ends that facts could not be learnt from."""
    with setup.op.read() as unit:
        row = unit.one("archive.facts_next")
    return None if row is None or row["at"] is None or setup.thinker() is None else from_micros(row["at"])


def _learn_facts(setup: MindSetup, lease: Lease, progress: Progress) -> Report:
    """Learn facts from each exchange, oldest first; a failure does not stop the others."""
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


def _next_scheduled(setup: MindSetup) -> datetime | None:
    return next((each.due_at for each in Schedule(setup).waiting()), None)


def _send_scheduled(setup: MindSetup, lease: Lease, progress: Progress) -> Report:
    """Send each message that is due, once."""
    schedule, conversation = Schedule(setup), Conversation(setup)
    done = 0
    for each in schedule.due():
        if not lease.has_time():
            break
        schedule.deliver(each, conversation)
        done += 1
        progress(done)
    return Report(done)


def _beat(setup: MindSetup, _: Lease, progress: Progress) -> Report:
    """Run one heartbeat, unless another worker just did."""
    # `due` was counted before this worker had the lease, so it is checked again.
    heartbeats = Heartbeats(setup)
    if not heartbeats.is_due():
        return Report(0)
    beat = heartbeats.beat(Conversation(setup), Notes(setup))
    progress(1)
    return Report(1, {"outcome": beat.outcome, "reason": beat.reason})


def _look_back(setup: MindSetup, _: Lease, progress: Progress) -> Report:
    """Run the nightly pass, unless another worker just did."""
    awareness = SelfAwareness(setup, Notes(setup))
    if not awareness.is_due():
        return Report(0)
    outcome = awareness.run()
    progress(1)
    return Report(1, {"note": outcome})


def _pruner(setup: MindSetup) -> Pruner:
    return Pruner(setup, night_before(setup.op.now, setup.policy.self_awareness_hour, setup.op.zone).moment)


def _next_pruning(setup: MindSetup) -> datetime | None:
    """Return when the next night's pass is due, if facts are set aside and anything was ever said."""
    with setup.op.read() as unit:
        if not setup.policy.prune_facts or unit.one("mind.exchange_last") is None:
            return None
    return night_after(setup.op.now, setup.policy.self_awareness_hour, setup.op.zone).moment


def _prune(setup: MindSetup, lease: Lease, progress: Progress) -> Report:
    """Set repeated and faded facts aside, unless another worker just did."""
    pruner = _pruner(setup)
    if not pruner.is_due():
        return Report(0)
    done = pruner.run(lease.has_time)
    progress(len(done.facts))
    return Report(len(done.facts), {"waiting": done.waiting})


def _alert(setup: MindSetup, _: Lease, progress: Progress) -> Report:
    """Tell the person about costs, each alert once."""
    told = CostWatch(setup).tell()
    progress(len(told))
    return Report(len(told), {"kinds": [each.kind for each in told]})


def mind_tasks(setups: _Setups) -> Sequence[MindTask]:
    """List the tasks of the mind in the order in which they run."""
    return [
        MindTask("actions", setups, count_due, run_actions, next_due),
        MindTask("facts", setups, _count_facts, _learn_facts, _next_facts),
        MindTask("schedule", setups, lambda setup: len(Schedule(setup).due()), _send_scheduled, _next_scheduled),
        MindTask(
            "heartbeat",
            setups,
            lambda setup: int(Heartbeats(setup).is_due()),
            _beat,
            lambda setup: Heartbeats(setup).next_due(),
        ),
        MindTask(
            "self_awareness",
            setups,
            lambda setup: int(SelfAwareness(setup, Notes(setup)).is_due()),
            _look_back,
            lambda setup: SelfAwareness(setup, Notes(setup)).next_due(),
        ),
        MindTask("pruning", setups, lambda setup: int(_pruner(setup).is_due()), _prune, _next_pruning),
        MindTask("alerts", setups, lambda setup: len(CostWatch(setup).waiting()), _alert),
    ]
