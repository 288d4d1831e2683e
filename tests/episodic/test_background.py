"""A patrol runs in the background: nobody waits for it, everybody can look at it, and no kill or stop loses any."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from everloom.clock import Clock, ManualClock, SystemClock
from everloom.episodic.patrol.task import STEPS
from everloom.errors import ProviderError
from everloom.kernel.work import jobs as limits
from everloom.kernel.work.jobs import JobStatus
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from tests.episodic.ground import (
    BILLING,
    SAILING,
    assert_clusters_agree,
    life_of,
    open_being,
    scene,
    tell,
)
from tests.patience import PATIENCE
from tests.scripted.server import HeldServer
from tests.store.ground import Child, assert_agreement, rows_of


@pytest.fixture
def model() -> Iterator[HeldServer]:
    with HeldServer() as server:
        yield server
        server.may_answer.set()


def open_slow(url: str, model: str, clock: Clock | None = None) -> Loom:
    """Open a loom that patrols at three notes, with a model at an address."""
    chosen = {
        "workspace": {"time_zone": "UTC"},
        "episodic": {"patrol_at": 3, "patrol_hours": 0},
        "llm": {"large": "ollama:thinker"},
        "provider": {"ollama_base": model},
    }
    return open_loom(url, settings=Settings.model_validate(chosen), clock=clock or SystemClock())


def ended(place: Workspace, job: int | None) -> JobStatus:
    assert job is not None
    return place.background.wait(job, seconds=PATIENCE)


def assert_one_whole_patrol(url: str, scenes: int) -> None:
    """Prove that one patrol did each step once, lost no scene and aged none twice."""
    assert [(row["number"], row["ended_at"] is None) for row in rows_of(url, "SELECT * FROM patrol")] == [(1, False)]
    done = Counter(row["step"] for row in rows_of(url, "SELECT step FROM patrol_step"))
    # The page of a patrol stays due if the model answers nothing that can be used.
    assert done | Counter({"reflect": 1}) == Counter([*STEPS])
    lives = life_of(url)
    assert len(lives) == scenes
    assert {row["session_count"] for row in lives.values()} == {1}
    assert_agreement(url)


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold every patrol in one of its steps; gives when it got there, and what lets it go on."""
    inside, leave = threading.Event(), threading.Event()
    original = STEPS[name]

    def slow(run: Any) -> Any:
        inside.set()
        assert leave.wait(PATIENCE), "nobody let the patrol go on"
        return original(run)

    monkeypatch.setitem(STEPS, name, slow)
    try:
        yield inside, leave
    finally:
        leave.set()
        monkeypatch.setitem(STEPS, name, original)


@pytest.mark.promise("episodic.background")
def test_the_note_that_makes_a_patrol_due_does_not_wait_for_the_model(store_url: str, model: HeldServer) -> None:
    with open_slow(store_url, model.url) as loom:
        place = loom.workspace("james")
        kept = place.episodic.update_notes(scenes=[scene(each) for each in SAILING])
        # It has answered although the model has not.
        assert not model.may_answer.is_set()
        assert (kept.patrol, kept.pending_scenes) == ("started", len(SAILING))
        assert model.asked.wait(PATIENCE), "no patrol began"
        assert kept.job is not None
        known = place.background.status(kept.job)
        assert (known.work, known.state, known.due) == ("patrol", "running", len(STEPS))
        (report,) = place.episodic.patrol_report()
        assert (report.state, report.ended_at) == ("running", None)
        # What is written now is stored at once, too, and waits for the next.
        late = place.episodic.update_notes(scenes=[scene("Late")])
        assert (late.patrol, late.job) == ("already_running", kept.job)
        assert place.episodic.trigger_patrol().job == kept.job
        model.may_answer.set()
        done = ended(place, kept.job)
        assert (done.state, done.done) == ("done", len(STEPS))
        assert done.report["patrol"]["steps"]["take_in"]["taken_in"] == len(SAILING)
        assert all(each["milliseconds"] >= 0 for each in done.report["patrol"]["steps"].values())
        assert place.episodic.patrol_report()[0].state == "done"
        assert place.episodic.census()["pending"] == 1
    assert_one_whole_patrol(store_url, len(SAILING))


_DYING = """
import os, signal, sys
from tests.episodic.ground import Killed, killed_after, open_being
from tests.store.ground import NOW
from everloom.clock import ManualClock
with open_being(sys.argv[1], ManualClock(NOW)) as loom, killed_after(60):
    try:
        loom.workspace("james").episodic.trigger_patrol(wait=True)
    except Killed:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_who_waits_for_a_patrol_leaves_no_note_waiting(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock) as loom:
        being = loom.workspace("james").episodic
        tell(being, *SAILING)
        # A process that is dead is seen at once; a thread that broke off would hold its lease to the end.
        with Child(_DYING, store_url) as dying:
            dying.wait_until_dead()
        # An interrupted patrol is older than this note.
        tell(being, "Audrey repaired the rudder")
        done = being.trigger_patrol(wait=True)
        assert (done.status, being.census()["pending"]) == ("done", 0)
        with held(monkeypatch, "take_in") as (inside, leave):
            tell(being, "We anchored at the island")
            assert being.trigger_patrol().status == "started"
            assert inside.wait(PATIENCE)
            tell(being, "We cooked on the beach")
            waiter = threading.Thread(target=lambda: being.trigger_patrol(wait=True))
            waiter.start()
            leave.set()
            waiter.join()
        assert being.census()["pending"] == 0


@pytest.mark.promise("episodic.background")
def test_a_second_call_is_told_which_job_is_at_it(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock) as first, open_being(store_url, clock) as second:
        one, two = first.workspace("james"), second.workspace("james")
        tell(one.episodic, *SAILING)
        with held(monkeypatch, "age") as (inside, leave):
            started = one.episodic.trigger_patrol()
            assert started.status == "started"
            assert inside.wait(PATIENCE)
            again = two.episodic.trigger_patrol()
            assert (again.status, again.job) == ("already_running", started.job)
            assert again.report is not None
            assert [each.step for each in again.report.steps] == ["take_in", "feel"]
            waiting = two.episodic.trigger_patrol(wait=True)
            assert (waiting.status, waiting.job) == ("already_running", started.job)
            leave.set()
            assert ended(two, started.job).state == "done"
        assert one.episodic.trigger_patrol(idempotency_key="k") == one.episodic.trigger_patrol(idempotency_key="k")


@pytest.mark.promise("episodic.background")
def test_scenes_that_come_during_a_patrol_get_one_of_their_own(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock, patrol_at=6) as loom:
        place = loom.workspace("james")
        with held(monkeypatch, "age") as (inside, leave):
            first = place.episodic.update_notes(scenes=[scene(each) for each in SAILING])
            assert inside.wait(PATIENCE)
            late = place.episodic.update_notes(scenes=[scene(each) for each in BILLING])
            assert (late.patrol, late.job) == ("already_running", first.job)
            leave.set()
            assert ended(place, first.job).state == "done"
        assert [each.number for each in place.episodic.patrol_report(limit=5)] == [2, 1]
        assert place.episodic.census()["pending"] == 0
    assert sorted(row["session_count"] for row in life_of(store_url).values()) == [1] * 6 + [2] * 6


@pytest.mark.promise("episodic.background")
def test_a_patrol_that_failed_says_so_rests_and_goes_on_when_somebody_asks(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_run: Any) -> Any:
        raise ProviderError("the model is ill")

    with open_being(store_url, clock, patrol_at=3) as loom:
        place = loom.workspace("james")
        with monkeypatch.context() as ill:
            ill.setitem(STEPS, "age", fail)
            kept = place.episodic.update_notes(scenes=[scene(each) for each in SAILING])
            assert ended(place, kept.job).state == "failed"
        (report,) = place.episodic.patrol_report()
        assert (report.state, report.error) == ("failed", "the model is ill")
        assert report.tries_again_at is not None
        assert report.tries_again_at > clock.now()
        assert place.episodic.update_notes(scenes=[scene("Late")]).patrol == "resting after a failure"
        assert ended(place, place.episodic.trigger_patrol().job).state == "done"
        assert place.episodic.patrol_report()[0].state == "done"
    assert_one_whole_patrol(store_url, len(SAILING))


@pytest.mark.promise("episodic.background", "episodic.4")
def test_a_patrol_that_was_interrupted_by_forgetting_goes_on(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock, patrol_at=3) as loom:
        place = loom.workspace("james")
        secret = place.semantic.remember(["James"], "James has a secret.").id
        with held(monkeypatch, "age") as (inside, leave):
            kept = place.episodic.update_notes(scenes=[scene(each) for each in SAILING])
            assert inside.wait(PATIENCE)
            # What has read anything by now may not write any more.
            place.forget([secret], confirm=place.forget([secret]).confirm)
            leave.set()
            assert ended(place, kept.job).state == "done"
    assert_one_whole_patrol(store_url, len(SAILING))


@pytest.mark.promise("episodic.background")
def test_notes_are_kept_also_when_no_patrol_can_be_started(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_being(store_url, clock, patrol_at=3) as loom:
        being = loom.workspace("james").episodic
        with monkeypatch.context() as full:
            full.setattr(limits, "MOST_RUNNING", 0)
            kept = being.update_notes(scenes=[scene(each) for each in SAILING])
        assert kept.patrol == "not started: too many jobs are running"
        assert (kept.job, kept.pending_scenes) == (None, len(SAILING))
        # The next note makes up for it.
        assert being.update_notes(scenes=[scene("Late")]).patrol == "started"


@pytest.mark.promise("episodic.background", "episodic.4")
def test_closing_ends_a_patrol_between_two_steps_and_the_next_process_goes_on(
    store_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_GRACE_SECONDS", 0.0)
    loom = open_being(store_url, clock, patrol_at=3)
    with held(monkeypatch, "age") as (inside, leave):
        kept = loom.workspace("james").episodic.update_notes(scenes=[scene(each) for each in SAILING])
        assert inside.wait(PATIENCE)
        assert kept.job is not None
        run, _ = loom.running._running[kept.job]
        closing = threading.Thread(target=loom.close)
        closing.start()
        assert run.stop.wait(PATIENCE), "closing does not stop its jobs"
        leave.set()
        closing.join(PATIENCE)
    with open_being(store_url, clock, patrol_at=3) as later:
        place = later.workspace("james")
        assert place.background.status(kept.job).state == "stopped"
        (report,) = place.episodic.patrol_report()
        assert (report.state, len(report.steps)) == ("interrupted", 3)
        # A single note is enough: what was begun is brought to its end.
        again = place.episodic.update_notes(scenes=[scene("Late")])
        assert again.patrol == "started"
        assert ended(place, again.job).state == "done"
        assert place.episodic.census()["pending"] == 1
    assert_one_whole_patrol(store_url, len(SAILING))


@pytest.mark.promise("episodic.background", "episodic.4")
def test_a_short_patrol_comes_to_its_end_although_the_process_ends_at_once(store_url: str, clock: ManualClock) -> None:
    with open_being(store_url, clock, patrol_at=3) as loom:
        assert loom.workspace("james").episodic.update_notes(scenes=[scene(each) for each in SAILING]).job
    assert_one_whole_patrol(store_url, len(SAILING))


@pytest.mark.promise("episodic.background")
def test_what_another_process_left_is_resumed_and_what_is_left_to_a_worker_is_not(
    store_url: str, clock: ManualClock
) -> None:
    with open_being(store_url, clock, patrol="worker", patrol_at=3) as loom:
        tell(loom.workspace("james").episodic, *SAILING)
        assert loom.resume_patrol(loom.workspace("james").info) is None
    with open_being(store_url, clock, patrol_at=3) as loom:
        place = loom.workspace("james")
        assert ended(place, loom.resume_patrol(place.info)).state == "done"
        assert loom.resume_patrol(place.info) is None
    assert_one_whole_patrol(store_url, len(SAILING))


_PATROLS = """
import sys
from tests.episodic.ground import SAILING, scene
from tests.episodic.test_background import open_slow
loom = open_slow(sys.argv[1], sys.argv[2])
kept = loom.workspace("james").episodic.update_notes(scenes=[scene(each) for each in SAILING])
print(kept.job, flush=True)
sys.stdin.readline()
"""


@pytest.mark.xdist_group("crash")
@pytest.mark.promise("episodic.background", "episodic.4", "episodic.crash")
def test_after_a_kill_in_mid_patrol_the_next_note_anywhere_starts_it_again_at_once(
    store_url: str, model: HeldServer
) -> None:
    with Child(_PATROLS, store_url, model.url) as first:
        job = int(first.line())
        assert model.asked.wait(PATIENCE), "no patrol began"
        os.kill(first._process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, first._process.pid, os.WEXITED | os.WNOWAIT)
        # Not buried yet: a client that started a server need not notice for long that it is gone.
        with open_slow(store_url, model.url) as loom:
            place = loom.workspace("james")
            assert place.episodic.patrol_report()[0].state == "interrupted"
            assert place.background.status(job).state == "gone"
            model.may_answer.set()
            kept = place.episodic.update_notes(scenes=[scene("Late")])
            assert kept.patrol == "started"
            assert kept.job != job
            assert ended(place, kept.job).state == "done"
            assert place.episodic.census()["pending"] == 1
            assert_clusters_agree(loom, "james", store_url)
    assert_one_whole_patrol(store_url, len(SAILING))
