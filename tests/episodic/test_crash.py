"""A patrol that is killed anywhere and run again ends in the same state: nothing lost, nothing aged twice."""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.episodic.patrol.task import STEPS
from everloom.kernel.work.lease import LEASE
from everloom.loom import Loom
from tests.episodic.ground import (
    BILLING,
    SAILING,
    Killed,
    assert_clusters_agree,
    killed_after,
    life_of,
    open_being,
    remember,
    scene,
    tell,
)
from tests.store.ground import Child, assert_agreement, rows_of

pytestmark = pytest.mark.xdist_group("crash")

# How many patrols there were when the one that is killed is through.
PATROLS = 11
CODE = """
import sys
from datetime import datetime
from everloom.clock import ManualClock
from tests.episodic.ground import open_being
from tests.store.nursery import killing_at
with open_being(sys.argv[1], ManualClock(datetime.fromisoformat(sys.argv[2]))) as loom:
    being = loom.workspace("james").episodic
    with killing_at(int(sys.argv[3])):
        being.trigger_patrol(wait=True)
"""


def outcome(url: str) -> list[tuple[Any, ...]]:
    """Read what patrols made of the scenes, without ids and times."""
    clusters = {row["id"]: row["name"] for row in rows_of(url, "SELECT id, name FROM cluster")}
    actions = {row["id"]: row["action"] for row in rows_of(url, "SELECT id, action FROM scene")}
    return sorted(
        (
            actions[item],
            clusters[row["cluster_id"]],
            row["status"],
            row["session_count"],
            row["reactivation_count"],
            row["fresh"],
            row["death"] or "",
        )
        for item, row in life_of(url).items()
    )


def prepare(loom: Loom) -> None:
    """Leave a Being with everything that a patrol can change: new, dying, fading, coming back, crowded."""
    being = loom.workspace("james").episodic
    remember(being, scene("A forgotten lamp", importance=0.06), *(scene(each, importance=0.06) for each in SAILING))
    for _ in range(8):
        being.trigger_patrol(wait=True)
    being.search_memory("forgotten lamp", mode="and")
    remember(being, scene("A match was lit", importance=0.052), *SAILING)
    tell(being, *BILLING, *(f"{each} again" for each in BILLING))
    being.update_notes(scenes=["this is not JSON"])


def resume(loom: Loom, clock: ManualClock, allowed: int) -> bool:
    """Kill a patrol after so many statements and run it again; say whether it was killed."""
    being = loom.workspace("james").episodic
    try:
        with killed_after(allowed):
            being.trigger_patrol(wait=True)
    except Killed:
        clock.advance(LEASE + timedelta(seconds=1))
        if being.patrol_report()[0].number == PATROLS:
            # It was through, only nobody heard of it.
            if being.patrol_report()[0].ended_at is None:
                assert being.trigger_patrol(wait=True).status == "done"
        else:
            assert being.trigger_patrol(wait=True).status == "done"
        return True
    return False


def kill_everywhere(folder: Path, clock: ManualClock, stride: int) -> int:
    """Kill the same patrol at many places, each time from the same beginning; say how many statements it has."""
    first = folder / "first.db"
    with open_being(f"sqlite://{first}", clock) as loom:
        prepare(loom)
    shutil.copy(first, folder / "whole.db")
    with open_being(f"sqlite://{folder / 'whole.db'}", clock) as loom:
        assert loom.workspace("james").episodic.trigger_patrol(wait=True).status == "done"
    expected = outcome(f"sqlite://{folder / 'whole.db'}")
    for allowed in count(0, stride):
        url = f"sqlite://{shutil.copy(first, folder / 'killed.db')}"
        with open_being(url, clock) as loom:
            killed = resume(loom, clock, allowed)
            assert outcome(url) == expected, f"killed after {allowed} statements"
            assert loom.workspace("james").episodic.patrol_report()[0].number == PATROLS
            assert_clusters_agree(loom, "james", url)
            assert_agreement(url)
        for old in folder.glob("killed.db*"):
            old.unlink()
        if not killed:
            return allowed
    raise AssertionError("unreachable")


@pytest.mark.promise("episodic.4", "episodic.crash")
def test_a_patrol_killed_between_two_statements_and_run_again_ends_in_the_same_state(
    tmp_path: Path, clock: ManualClock
) -> None:
    assert kill_everywhere(tmp_path, clock, stride=5) > 60


@pytest.mark.long
@pytest.mark.promise("episodic.4", "episodic.crash")
def test_a_patrol_killed_between_any_two_statements_and_run_again_ends_in_the_same_state(
    tmp_path: Path, clock: ManualClock
) -> None:
    assert kill_everywhere(tmp_path, clock, stride=1) > 60


@pytest.mark.promise("episodic.4", "episodic.crash")
def test_a_patrol_killed_again_and_again_ends_in_the_same_state(lend_store_url: Any, clock: ManualClock) -> None:
    with lend_store_url() as url, open_being(url, clock) as loom:
        prepare(loom)
        assert loom.workspace("james").episodic.trigger_patrol(wait=True).status == "done"
        expected = outcome(url)
    with lend_store_url() as url, open_being(url, clock) as loom:
        prepare(loom)
        being = loom.workspace("james").episodic
        kills = 0
        for allowed in count(5, 6):
            if being.patrol_report()[0].number == PATROLS and being.patrol_report()[0].ended_at is not None:
                break
            with suppress(Killed), killed_after(allowed):
                being.trigger_patrol(wait=True)
            kills += 1
            clock.advance(LEASE + timedelta(seconds=1))
        assert kills > 3
        assert outcome(url) == expected
        assert_clusters_agree(loom, "james", url)
        taken = rows_of(url, "SELECT * FROM note WHERE kind = 'scene' AND scene_id IS NOT NULL")
        assert len(taken) == len(expected)
        assert_agreement(url)


@pytest.mark.promise("episodic.4", "episodic.crash")
def test_a_patrol_killed_after_each_step_goes_on_with_the_next(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock) as loom:
        being = loom.workspace("james").episodic
        tell(being, *SAILING, *BILLING)

        def killing(name: str) -> None:
            original = STEPS[name]

            def step(run: Any) -> Any:
                monkeypatch.setitem(STEPS, name, original)
                raise Killed

            monkeypatch.setitem(STEPS, name, step)

        for name in STEPS:
            killing(name)
            with pytest.raises(Killed):
                being.trigger_patrol(wait=True)
            clock.advance(LEASE + timedelta(seconds=1))
        assert being.trigger_patrol(wait=True).status == "done"
        assert {row["session_count"] for row in life_of(store_url).values()} == {1}
        assert len(life_of(store_url)) == len(SAILING) + len(BILLING)


@pytest.mark.promise("episodic.crash")
def test_two_processes_killed_in_mid_patrol_leave_one_correct_result(store_url: str, clock: ManualClock) -> None:
    with open_being(store_url, clock) as loom:
        tell(loom.workspace("james").episodic, *SAILING, *BILLING, *(f"{each} again" for each in BILLING))
    for statement in (25, 60):
        with Child(CODE, store_url, clock.now().isoformat(), str(statement)) as child:
            child.wait_until_dead()
        clock.advance(LEASE + timedelta(seconds=1))
    with open_being(store_url, clock) as loom:
        being = loom.workspace("james").episodic
        assert being.trigger_patrol(wait=True).status == "done"
        lives = life_of(store_url)
        assert len(lives) == len(SAILING) + 2 * len(BILLING)
        assert {row["session_count"] for row in lives.values()} == {1}
        assert len(being.patrol_report(limit=9)) == 1
        assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)
