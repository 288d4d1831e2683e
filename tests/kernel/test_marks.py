"""Work is found by its marks: whatever makes something due marks it, an idle look is one query, and no mark is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import ManualClock, to_micros
from everloom.kernel.forgetting import cleaning
from everloom.kernel.spending import Ledger
from everloom.kernel.work import maintenance, marks
from everloom.kernel.work.lease import Lease
from everloom.kernel.work.marks import Audit, MarkedWork
from everloom.kernel.work.tasks import FIRST_PAUSE, Progress, Report, Work
from everloom.kernel.workspaces import NOWHERE, WorkspaceInfo
from everloom.loom import Loom, Workspace, open_loom
from everloom.mind.hands.actions import Actions, NewAction
from everloom.models import TokenUsage, UsageRecord
from everloom.settings import Settings
from everloom.store.marks import AUDIT, DUE, LATER
from everloom.store.statements import statements
from everloom.store.transfer import restore
from tests.kernel.test_tasks import Chore
from tests.semantic.test_statements import counting
from tests.store.ground import NOW, open_at

SETTINGS = Settings.model_validate(
    {
        "workspace": {"time_zone": "UTC"},
        "llm": {"large": "scripted:echo"},
        "semantic": {"consolidate": "auto"},
        "episodic": {"patrol_at": 1},
        "mind": {"heartbeat_hours": 2, "dollars_a_day": 1.0},
    }
)
SCENE = {"action": "James sailed to Elba.", "feeling": "calm", "themes": ["sailing"]}


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock(NOW)


@pytest.fixture
def life(
    store_url: str, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Loom, Workspace]]:
    """A workspace in which every kind of work is chosen, and few documents are many."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(maintenance, "_FEWEST", 2)
    monkeypatch.setattr(cleaning, "_AT_ONCE_BYTES", 0)
    with open_loom(store_url, settings=SETTINGS, clock=clock) as loom:
        yield loom, loom.workspace("james", session="monday")


def moments(loom: Loom, place: Workspace) -> dict[str, int]:
    """Read the marks of a workspace."""
    with loom.store.read(place.info.id) as unit:
        return {row["task"]: row["at"] for row in unit.all("kernel.due_all")}


def due_unmarked(loom: Loom, place: Workspace, seen: set[str]) -> list[str]:
    """List the tasks that are due but will not be looked at soon; `seen` collects those that are due."""
    due = [task.name for task in loom.work.tasks if task.due(place.info)]
    seen.update(due)
    # Read after the queries, as the audit does: the graph's files are watched, and read at any moment.
    known, soon = moments(loom, place), to_micros(loom.clock.now() + LATER)
    return [name for name in due if name not in known or known[name] > soon]


def drain(loom: Loom) -> None:
    """Remove every mark whose task has nothing to do, as a worker does after its work."""
    for place in loom.workspaces.list():
        for task in loom.work.tasks:
            claim = marks._claim(loom.store, place.id, task.name)
            if not task.due(place):
                claim.settle(marks.next_look(task, place))


def forget_everything(place: Workspace) -> None:
    ids = [place.semantic.remember(["James"], "James fell overboard.").id]
    place.forgetting.forget(ids, confirm=place.forgetting.forget(ids).confirm)


def wish_for(place: Workspace) -> None:
    wish = NewAction(kind="tool", server="mail", tool="send", input="{}", question=lambda *_: "Send it?")
    Actions(place.mind.setup).ask(wish)


def spend(place: Workspace) -> None:
    record = UsageRecord(place.loom.clock.now(), "anthropic:claude-sonnet-5-5", "large", "x", TokenUsage(1, 1), 2.0, 1)
    Ledger(place.loom.store, place.info.id).record(record)


def keep_record(place: Workspace) -> None:
    with place.records("tests").write() as writer:
        writer.put(["n"], "k", 1, lifetime=timedelta(minutes=7))


def lose_vectors(place: Workspace) -> None:
    with place.loom.store.write(place.info.id) as unit:
        unit.run("vectors.forget")


STEPS: dict[str, Callable[[Workspace], object]] = {
    "a graph": lambda place: place.graphs.create("garden"),
    "an observation": lambda place: place.semantic.remember(["James", "Elba"], "James sails to Elba."),
    "a document": lambda place: place.semantic.remember(["Ann"], "Ann waits at the harbour."),
    "a scene": lambda place: place.episodic.update_notes(scenes=[SCENE]),
    "a message": lambda place: place.mind.say("Good morning!"),
    "an exchange": lambda place: place.mind.conversation.step(),
    "a scheduled message": lambda place: place.mind.schedule_message("Water the plants.", "10:30"),
    "a wish": wish_for,
    "an expense": spend,
    "a record": keep_record,
    "a forgetting": forget_everything,
    "vectors": lose_vectors,
}


# What a migration alone gives to do: the audit follows every one.
BY_MIGRATION = {"words", "fill"}


@pytest.mark.promise("tasks.marked")
def test_whatever_makes_something_due_marks_it(life: tuple[Loom, Workspace], clock: ManualClock) -> None:
    loom, place = life
    seen: set[str] = set()
    for name, step in STEPS.items():
        step(place)
        assert due_unmarked(loom, place, seen) == [], name
        # Time passes, and things become due by themselves: their marks know when.
        for hours in (1, 24):
            drain(loom)
            clock.advance(timedelta(hours=hours))
            assert due_unmarked(loom, place, seen) == [], (name, hours)
    assert seen == {task.name for task in loom.work.tasks} - {*BY_MIGRATION, AUDIT}


def test_every_mark_belongs_to_a_statement_and_to_a_task(life: tuple[Loom, Workspace]) -> None:
    loom, _ = life
    assert set(DUE) == {task.name for task in loom.work.tasks} - BY_MIGRATION
    assert {name for each in DUE.values() for name in each} <= set(statements("sqlite"))


def chores(loom: Loom, *names: Chore) -> tuple[Work, MarkedWork]:
    """Make work of chores and the audit alone."""
    work = Work(loom.store, loom.clock, "a worker")
    for chore in names:
        work.add(chore)
    work.add(Audit(work, loom.store, loom.clock, lambda: "basis"))
    return work, MarkedWork(work, loom.store, loom.clock, "basis")


def mark(place: Workspace, task: str = "chore") -> int:
    """Mark a task as due now; returns how many rows that has changed."""
    with place.loom.store.write(place.info.id) as unit:
        return unit.run("kernel.due_mark", task=task, at=to_micros(place.loom.clock.now()))


def take(marked: MarkedWork, *tasks: str) -> list[tuple[str, str]]:
    """Look, give everything that was found one turn, and say what it was."""
    turns = marked.look(tasks or ("chore",))
    for place, task in turns:
        marked.run_due([place], seconds=60, tasks=[task])
    return [(place.name, task) for place, task in turns]


def statements_of_a_look(url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, *counts: int) -> list[int]:
    """Count the statements of an idle look, with so many workspaces each."""
    taken = []
    with counting(url, monkeypatch) as told, open_at(url, clock) as loom:
        _, marked = chores(loom, Chore(waiting=0))
        for count in counts:
            for number in range(count):
                mark(loom.workspace(f"place {number}"))
            marked._sweep_at = 0.0
            while take(marked, "chore", AUDIT):
                pass
            told.clear()
            assert take(marked, "chore", AUDIT) == []
            taken.append(len(told))
    return taken


@pytest.mark.promise("tasks.idle-look")
def test_an_idle_look_costs_the_same_however_many_workspaces_there_are(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = statements_of_a_look(store_url, clock, monkeypatch, 3, 60)
    assert few == many


@pytest.mark.promise("tasks.idle-look")
@pytest.mark.one_node("it is told the settings of a transaction one by one, though in the same round trip")
def test_an_idle_look_is_a_few_statements(store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    assert statements_of_a_look(store_url, clock, monkeypatch, 3) <= [5]


def test_a_look_finds_what_waits_longest_first_and_not_what_is_not_yet_due(loom: Loom, clock: ManualClock) -> None:
    _, marked = chores(loom, Chore(waiting=0), Chore("second", waiting=0))
    james, audrey = loom.workspace("james"), loom.workspace("audrey")
    mark(audrey, "second")
    clock.advance(timedelta(seconds=1))
    mark(james)
    mark(audrey)
    with loom.store.write(james.info.id) as unit:
        unit.run("kernel.due_mark", task="second", at=to_micros(clock.now() + timedelta(hours=1)))
    assert take(marked, "chore", "second") == [("audrey", "chore"), ("audrey", "second"), ("james", "chore")]
    assert take(marked, "chore", "second") == []
    clock.advance(timedelta(hours=1))
    assert take(marked, "chore", "second") == [("james", "second")]


def test_a_mark_that_is_there_costs_no_write(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")
    assert mark(james) == 1
    clock.advance(timedelta(minutes=1))
    assert mark(james) == 0
    before = moments(loom, james)["chore"]
    clock.advance(timedelta(hours=-1))
    assert mark(james) == 1
    assert moments(loom, james)["chore"] < before


@pytest.mark.promise("tasks.marked")
def test_what_is_marked_while_a_task_looks_stays_marked(loom: Loom) -> None:
    james = loom.workspace("james")

    class Overtaken(Chore):
        def due(self, workspace: WorkspaceInfo) -> int:
            # Written after the query has answered, and before the mark would go.
            if self.waiting:
                mark(james)
            self.waiting = 0
            return 0

    _, marked = chores(loom, Overtaken())
    mark(james)
    assert take(marked) == [("james", "chore")]
    assert take(marked) == [("james", "chore")]
    assert take(marked) == []


def test_a_worker_that_dies_leaves_the_mark_to_others(loom: Loom) -> None:
    james = loom.workspace("james")
    mark(james)
    marks._claim(loom.store, james.info.id, "chore")
    _, marked = chores(loom, Chore(waiting=0))
    assert take(marked) == [("james", "chore")]
    assert take(marked) == []


def test_a_task_that_failed_is_not_looked_at_before_its_pause_is_over(loom: Loom, clock: ManualClock) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no")

    james, chore = loom.workspace("james"), Chore(deed=fail)
    work, marked = chores(loom, chore)
    mark(james)
    assert take(marked) == [("james", "chore")]
    assert take(marked) == []
    work.retry_now(james.info, "chore")
    assert take(marked) == [("james", "chore")]
    assert (len(chore.runs), take(marked)) == (2, [])
    clock.advance(FIRST_PAUSE * 2)
    assert take(marked) == [("james", "chore")]
    assert len(chore.runs) == 3


def test_a_task_that_gets_nothing_done_is_not_looked_at_all_the_time(loom: Loom, clock: ManualClock) -> None:
    class Stuck(Chore):
        def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
            super().run(workspace, lease, progress)
            return Report(0)

    james, chore = loom.workspace("james"), Stuck()
    _, marked = chores(loom, chore)
    mark(james)
    assert (take(marked), take(marked)) == ([("james", "chore")], [])
    clock.advance(timedelta(minutes=1))
    assert (take(marked), len(chore.runs)) == ([("james", "chore")], 2)


@pytest.mark.promise("tasks.audited")
def test_the_audit_marks_what_nobody_has_marked_and_counts_it(loom: Loom, clock: ManualClock) -> None:
    james, chore = loom.workspace("james"), Chore()
    work, marked = chores(loom, chore)
    # A store from before there were marks: everything is due, and nothing says so.
    assert take(marked, "chore", AUDIT) == [("james", AUDIT)]
    assert [job.last_report["missing"] for job in work.jobs(james.info) if job.task == AUDIT] == [["chore"]]
    assert take(marked, "chore", AUDIT) == [("james", "chore")]
    chore.waiting = 0
    while take(marked, "chore", AUDIT):
        pass
    # Once a day it looks again, and finds nothing to do.
    clock.advance(timedelta(days=1))
    assert take(marked, "chore", AUDIT) == [("james", AUDIT)]
    assert [job.last_report["missing"] for job in work.jobs(james.info) if job.task == AUDIT] == [[]]
    # What a write has forgotten to mark is told apart from what nobody could mark.
    chore.waiting = 1
    clock.advance(timedelta(days=1))
    take(marked, "chore", AUDIT)
    assert [job.last_report["forgotten"] for job in work.jobs(james.info) if job.task == AUDIT] == [["chore"]]
    chore.waiting = 0
    take(marked, "chore", AUDIT)
    # Other settings may make other things due, although nobody has written anything.
    other = MarkedWork(work, loom.store, clock, "other settings")
    assert take(other, "chore", AUDIT) == [("james", AUDIT)]


def test_a_workspace_that_is_removed_leaves_no_mark(loom: Loom) -> None:
    james = loom.workspace("james")
    james.semantic.remember(["James"], "James sails.")
    assert moments(loom, james)
    loom.remove_workspace("james")
    assert moments(loom, james) == {}


def test_a_workspace_in_another_time_zone_is_audited(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")
    assert AUDIT not in moments(loom, james)
    loom.change_workspace("james", time_zone="Asia/Tokyo")
    assert moments(loom, james)[AUDIT] == to_micros(clock.now())


@pytest.mark.promise("tasks.audited")
def test_a_restored_workspace_is_audited(store_url: str, clock: ManualClock, tmp_path: Path) -> None:
    with open_at(store_url, clock) as loom:
        loom.workspace("james").semantic.remember(["James"], "James sails.")
        loom.store.backup(tmp_path / "backup.db")
    target = f"sqlite:///{tmp_path}/restored.db"
    restore(tmp_path / "backup.db", target, clock)
    with open_at(target, clock) as loom:
        known = moments(loom, loom.workspace("james"))
        assert known[AUDIT] <= to_micros(clock.now())


@pytest.mark.promise("workspaces.isolation")
def test_only_the_store_itself_reads_the_marks_of_all_workspaces(postgres_url: str, clock: ManualClock) -> None:
    asked: dict[str, Any] = {"tasks": ["chore"], "now": to_micros(clock.now()), "limit": 9}
    with open_at(postgres_url, clock) as loom:
        james, audrey = loom.workspace("james"), loom.workspace("audrey")
        mark(james)
        mark(audrey)
        for place, names in ((NOWHERE, {"james", "audrey"}), (james.info.id, {"james"}), (audrey.info.id, {"audrey"})):
            with loom.store.read(place) as unit:
                assert {row["name"] for row in unit.all("kernel.due_look", **asked)} == names
        with loom.store.write(NOWHERE) as unit:
            assert unit.run("kernel.due_claim", task="chore", claim=1) == 0
