"""What consolidation costs: what changed, not what there is. Measured in work done, not in seconds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom, open_loom
from everloom.semantic import NewObservation, Semantic, SemanticPolicy
from everloom.semantic.consolidation.report import consolidation_report
from everloom.settings import Settings
from everloom.store.statements import statements
from tests.semantic.conftest import NOW


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "loom.db"


@pytest.fixture
def sqlite_loom(file: Path) -> Iterator[Loom]:
    with open_loom(f"sqlite://{file}", settings=Settings(), clock=ManualClock(NOW)) as opened:
        yield opened


def grow(mind: Semantic, first: int, count: int) -> None:
    """Observe many pairs of subjects."""
    drafts = [
        NewObservation(subject_names=(f"subject {n}", f"place {n}"), content=f"Fact number {n}.")
        for n in range(first, first + count)
    ]
    for start in range(0, count, 500):
        mind.add_observations(drafts[start : start + 500])


def settle_everything(mind: Semantic) -> None:
    """Review all there is."""
    begun = mind.begin_consolidation()
    report = consolidation_report(mind._op, 10_000)
    names = [each.name for each in report.subjects_needing_understanding]
    pairs = [(each.subject_a, each.subject_b) for each in report.intersections_needing_synthesis]
    mind.finish_consolidation(begun.generation, "All.", names, reviewed_intersections=pairs)


@contextmanager
def steps_of(loom: Loom) -> Iterator[list[int]]:
    """Count, in thousands of steps of SQLite's machine, what every connection does meanwhile."""
    counted = [0]
    taken: list[sqlite3.Connection] = []
    original = loom.store._pool.take  # type: ignore[attr-defined]

    def take() -> sqlite3.Connection:
        connection: sqlite3.Connection = original()
        taken.append(connection)
        connection.set_progress_handler(lambda: counted.__setitem__(0, counted[0] + 1), 1_000)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loom.store._pool, "take", take)  # type: ignore[attr-defined]
        yield counted
    for connection in taken:
        connection.set_progress_handler(None, 0)


@pytest.mark.promise("semantic.cost")
def test_a_plan_costs_what_changed_and_not_what_there_is(sqlite_loom: Loom) -> None:
    costs = []
    for name, settled in (("small", 100), ("large", 2_000)):
        mind = sqlite_loom.workspace(name, session="s").semantic
        mind.orient()
        grow(mind, 0, settled)
        settle_everything(mind)
        assert mind.orient().pending_consolidation_count == 0
        grow(mind, 10**6, 50)
        with steps_of(sqlite_loom) as counted:
            assert len(mind.get_pending_consolidation(limit=1_000, max_tokens=100_000)) == 150
            mind.orient()
            mind.get_consolidation_report(limit=1_000)
        costs.append(counted[0])
    assert costs[1] < 1.5 * costs[0] + 20


@pytest.mark.promise("semantic.cost")
def test_a_subject_with_many_pairs_is_read_once_and_not_once_for_each(sqlite_loom: Loom) -> None:
    costs = []
    for size in (100, 400):
        mind = sqlite_loom.workspace(f"hub {size}", session="s").semantic
        for round_number in range(2):
            drafts = [
                NewObservation(subject_names=("Hub", f"spoke {n}"), content=f"Fact {round_number} about {n}.")
                for n in range(size)
            ]
            mind.add_observations(drafts)
            if not round_number:
                settle_everything(mind)
        with steps_of(sqlite_loom) as counted:
            report = mind.get_consolidation_report(limit=1_000, max_tokens=100_000)
        pairs = report.intersections_needing_synthesis
        assert {(each.new_generation_count, each.intersection_size) for each in pairs} == {(1, 2)}
        assert report.pending_count == 2 * size + 1
        costs.append(counted[0])
    assert costs[1] < 6 * costs[0] + 20


@pytest.mark.promise("semantic.cost")
@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("subject_waiting", "subject_waiting"),
        ("subject_waiting_count", "subject_waiting"),
        ("intersection_waiting", "intersection_waiting"),
        ("intersection_waiting_count", "intersection_waiting"),
        ("intersection_fresh", "intersection_waiting"),
        ("observation_unlinked", "observation_unplaced"),
        ("observation_unlinked_count", "observation_unplaced"),
        ("session_waiting", "session_state_waiting"),
        ("subject_observed_since", "subject_by_observed"),
    ],
)
def test_what_waits_is_read_from_its_own_index(sqlite_loom: Loom, file: Path, statement: str, index: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        sql = statements("sqlite")[f"semantic.{statement}"]
        params = {"workspace": 1, "limit": 10, "after": 0, "finished": 0}
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", params)]
    assert any(f"USING INDEX {index}" in step or f"USING COVERING INDEX {index}" in step for step in plan), plan
    assert not [step for step in plan if step.startswith("SCAN") and "USING" not in step and step.split()[-1] != "f"], (
        plan
    )


def test_the_seen_gap_can_be_set(sqlite_loom: Loom) -> None:
    op = sqlite_loom.workspace("james", session="s").op
    mind = Semantic(op, SemanticPolicy(seen_gap=timedelta(minutes=2)))
    token = mind.bring_to_mind("x").heartbeat_token
    sqlite_loom.clock.advance(timedelta(minutes=3))  # type: ignore[attr-defined]
    assert mind.bring_to_mind("x", last_token=token).compaction_reason == "time_gap"
