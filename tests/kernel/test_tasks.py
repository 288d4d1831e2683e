"""Background work follows from the state: one worker at a time, failures rest and stop nobody, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, ProviderBusy, ProviderError
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import register
from everloom.kernel.search import Finder, Index, Recipe
from everloom.kernel.work.lease import LEASE, Lease, Leases
from everloom.kernel.work.maintenance import BATCH, Backfill, Rewording
from everloom.kernel.work.tasks import FIRST_PAUSE, LONGEST_PAUSE, Progress, Report, Work, pause_after
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.loom import Loom, Workspace
from everloom.models.catalog import Traits
from everloom.models.embed import Embedder, EmbedderChain, EmbeddingTask, TextVectors, unit
from everloom.models.static import embed as static
from tests.patience import PATIENCE
from tests.store.ground import NOW, Child, assert_agreement, note, open_at, retire, revise, rows_of


@dataclass
class Chore:
    """A task that does what a test says."""

    name: str = "chore"
    waiting: int = 1
    deed: Callable[[WorkspaceInfo, Lease], None] = lambda _place, _lease: None
    runs: list[str] = field(default_factory=list)

    def due(self, workspace: WorkspaceInfo) -> int:
        return self.waiting

    def run(self, workspace: WorkspaceInfo, lease: Lease, progress: Progress) -> Report:
        self.runs.append(workspace.name)
        self.deed(workspace, lease)
        progress(self.waiting)
        return Report(self.waiting, {"swept": True})


def worker(loom: Loom, holder: str, *chores: Chore) -> Work:
    work = Work(loom.store, loom.clock, holder)
    for chore in chores:
        work.add(chore)
    return work


def states(work: Work, *places: Workspace) -> list[str]:
    return [outcome.state for outcome in work.run_due([place.info for place in places])]


@pytest.mark.promise("tasks.one-holder")
def test_one_worker_at_a_time_runs_a_task_in_a_workspace(loom: Loom) -> None:
    james, audrey = loom.workspace("james"), loom.workspace("audrey")
    second = worker(loom, "second", Chore())
    met: list[str] = []
    first = worker(loom, "first", Chore(deed=lambda _place, _lease: met.extend(states(second, james, audrey))))
    assert states(first, james) == ["done"]
    assert met == ["busy", "done"]


@pytest.mark.promise("tasks.one-holder")
def test_of_many_workers_that_ask_at_once_one_gets_the_lease(loom: Loom) -> None:
    james = loom.workspace("james")
    together, turned_away = threading.Barrier(6), threading.Event()

    def wait(_place: WorkspaceInfo, _lease: Lease) -> None:
        assert turned_away.wait(PATIENCE), "the others were not turned away"

    def ask(number: int) -> str:
        work = worker(loom, f"worker {number}", Chore(deed=wait))
        together.wait(PATIENCE)
        return states(work, james)[0]

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, number) for number in range(6)]
        done = as_completed(asked)
        first = [next(done).result() for _ in range(5)]
        turned_away.set()
    assert first == ["busy"] * 5
    assert sorted(each.result() for each in asked) == ["busy"] * 5 + ["done"]


@pytest.mark.promise("tasks.one-holder")
def test_nothing_is_run_that_is_not_due(loom: Loom) -> None:
    chore = Chore(waiting=0)
    assert states(worker(loom, "w", chore), loom.workspace("james")) == []
    assert chore.runs == []


@pytest.mark.promise("tasks.fencing")
def test_a_holder_whose_lease_was_taken_cannot_write(loom: Loom, clock: ManualClock, store_url: str) -> None:
    james = loom.workspace("james")

    def slow(place: WorkspaceInfo, lease: Lease) -> None:
        clock.advance(LEASE + timedelta(seconds=1))
        assert states(worker(loom, "second", Chore()), james) == ["done"]
        with loom.store.write(place.id) as step:
            register(step, "note", clock.now())
            lease.guard(step)

    work = worker(loom, "first", Chore(deed=slow))
    (outcome,) = work.run_due([james.info])
    assert outcome.state == "failed"
    assert "lease" in str(outcome.error)
    assert rows_of(store_url, "SELECT * FROM item WHERE kind = 'note'") == []
    (job,) = work.jobs(james.info)
    assert (job.failures, job.last_error, job.last_report) == (0, None, {"done": 1, "swept": True})


@pytest.mark.promise("tasks.fencing")
def test_a_former_holder_cannot_write_while_another_is_at_it(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")
    turned_away: list[str] = []

    def slow(place: WorkspaceInfo, late: Lease) -> None:
        def meanwhile(_place: WorkspaceInfo, _lease: Lease) -> None:
            with pytest.raises(Conflict) as refusal, loom.store.write(place.id) as step:
                late.guard(step)
            turned_away.append(refusal.value.message)

        clock.advance(LEASE + timedelta(seconds=1))
        assert states(worker(loom, "second", Chore(deed=meanwhile)), james) == ["done"]

    states(worker(loom, "first", Chore(deed=slow)), james)
    assert turned_away == ["the lease on chore has expired"]


@pytest.mark.promise("tasks.fencing")
def test_a_step_extends_the_lease(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")

    def steady(place: WorkspaceInfo, lease: Lease) -> None:
        for _ in range(5):
            clock.advance(LEASE - timedelta(seconds=1))
            with loom.store.write(place.id) as step:
                lease.guard(step)
            assert states(worker(loom, "second", Chore()), james) == ["busy"]

    assert states(worker(loom, "first", Chore(deed=steady)), james) == ["done"]


@pytest.mark.promise("tasks.expiry")
def test_the_work_of_a_dead_worker_is_taken_over_when_its_lease_ran_out(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")
    # It died without a word: nobody gives the lease back.
    assert Leases(loom.store, loom.clock, "dead").take(james.info.id, Chore.name) is not None
    heir = worker(loom, "heir", Chore())
    (job,) = heir.jobs(james.info)
    assert job.holder == "dead"
    assert states(heir, james) == ["busy"]
    clock.advance(LEASE)
    assert states(heir, james) == ["done"]
    (job,) = heir.jobs(james.info)
    assert job.holder is None


@pytest.mark.promise("tasks.failures-rest")
def test_a_failure_is_recorded_rests_and_stops_nobody(loom: Loom, clock: ManualClock) -> None:
    james, audrey = loom.workspace("james"), loom.workspace("audrey")

    def fail(place: WorkspaceInfo, _lease: Lease) -> None:
        if place.name == "james":
            raise ProviderError("the model is gone")

    bad, good = Chore("bad", deed=fail), Chore("good")
    work = worker(loom, "w", bad, good)
    assert states(work, james, audrey) == ["failed", "done", "done", "done"]
    assert states(work, james) == ["resting", "done"]
    job = next(job for job in work.jobs(james.info) if job.task == "bad")
    assert (job.failures, job.last_error, job.resting_until) == (1, "the model is gone", NOW + FIRST_PAUSE)
    clock.advance(FIRST_PAUSE)
    assert states(work, james)[0] == "failed"
    clock.advance(FIRST_PAUSE)
    assert states(work, james)[0] == "resting"
    work.retry_now(james.info, "bad")
    bad.deed = lambda _place, _lease: None
    assert states(work, james)[0] == "done"
    job = next(job for job in work.jobs(james.info) if job.task == "bad")
    assert (job.failures, job.last_error, job.resting_until, job.last_report["swept"]) == (0, None, None, True)


@pytest.mark.promise("tasks.failures-rest")
def test_each_failure_in_a_row_rests_longer_up_to_an_hour() -> None:
    pauses = [pause_after(count) for count in range(1, 40)]
    assert pauses[:3] == [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


def test_only_the_tasks_asked_for_run_and_progress_is_told(loom: Loom) -> None:
    james = loom.workspace("james")
    one, other = Chore("one", waiting=3), Chore("other")
    told: list[tuple[str, str, int, int]] = []
    work = worker(loom, "w", one, other)
    work.run_due([james.info], tasks=["one"], progress=lambda *told_now: told.append(told_now))
    assert told == [("james", "one", 3, 3)]
    assert other.runs == []
    assert work.run_due([james.info], seconds=0) == []


@dataclass
class Bags:
    """A small real embedder: a text is the bag of its letters. Refuses what it is told to refuse."""

    name: str = "test:bags"
    refuses: str = "\x00"
    dim: int = 64
    is_fast: bool = False
    seen: list[str] = field(default_factory=list)

    @property
    def traits(self) -> Traits:
        return Traits(self.name, self.dim, is_fast=self.is_fast)

    def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            if self.refuses in text:
                raise ProviderError(f"cannot embed {text!r}")
            self.seen.append(text)
            for char in text:
                row[ord(char) % self.dim] += 1
        return TextVectors(self.name, unit(rows))


def with_models(place: Workspace, *links: Embedder) -> tuple[Index, Finder, Work]:
    """Give a workspace other embedders."""
    loom = place.loom
    embedding = Embedding(loom.store, EmbedderChain(links, loom.clock))
    work = Work(loom.store, loom.clock, "worker")
    work.add(Backfill(loom.store, embedding, loom.clock))
    return Index(embedding), Finder(loom.store, embedding, loom.clock), work


@pytest.mark.promise("backfill.model-change")
def test_a_change_of_model_embeds_everything_again_newest_first(workspace: Workspace, store_url: str) -> None:
    texts = [f"Note number {number}." for number in range(5)]
    ids = workspace.add([note(text) for text in texts])
    retire(workspace, ids[1])
    bags = Bags()
    _, finder, work = with_models(workspace, bags)
    assert finder.search(workspace.info.id, "number").by_vectors is False  # its model has no vectors here yet
    (job,) = work.jobs(workspace.info)
    assert job.due == 5
    (outcome,) = work.run_due([workspace.info])
    assert outcome.report is not None
    assert outcome.report.detail == {"embedded": 5, "refused": 0}
    assert bags.seen == ["number", *texts[::-1]]
    assert work.run_due([workspace.info]) == []
    assert finder.search(workspace.info.id, "number").by_vectors is True
    assert_agreement(store_url)


@pytest.mark.promise("backfill.models-are-never-mixed")
def test_vectors_of_two_models_are_never_compared(workspace: Workspace) -> None:
    # Both models make vectors of one length, so that nothing but the name tells them apart.
    old, new = Bags("test:old", dim=32), Bags("test:new", dim=32)
    index, _, work = with_models(workspace, old)
    (first,) = put(workspace, index, "abc")
    work.run_due([workspace.info])
    index, finder, work = with_models(workspace, new)
    assert [hit.similarity for hit in finder.search(workspace.info.id, "abc").hits] == [None]
    (second,) = put(workspace, index, "abc abd")
    work.run_due([workspace.info])
    hits = {hit.id: hit.similarity for hit in finder.search(workspace.info.id, "abc").hits}
    assert hits.keys() == {first, second}
    assert hits[first] == pytest.approx(1.0, abs=0.01)


def put(place: Workspace, index: Index, *texts: str) -> Sequence[int]:
    prepared = index.prepare([note(text) for text in texts])
    with place.loom.store.write(place.info.id) as step:
        return index.add(step, prepared, place.loom.clock.now())


@pytest.mark.promise("backfill.refused-is-remembered")
def test_a_refused_text_is_remembered_and_the_rest_goes_on(workspace: Workspace) -> None:
    picky = Bags(refuses="poison")
    index, _, work = with_models(workspace, picky)
    put(workspace, index, "good morning", "poison apple", "good night")
    (outcome,) = work.run_due([workspace.info])
    assert outcome.report is not None
    assert outcome.report.detail == {"embedded": 2, "refused": 1}
    coverage = Embedding(workspace.loom.store, EmbedderChain([picky], workspace.loom.clock)).coverage(workspace.info.id)
    assert (coverage.embedded, coverage.refused, coverage.waiting) == (2, 1, 0)
    assert work.run_due([workspace.info]) == []
    other = Bags("test:other")
    _, _, work = with_models(workspace, other)
    work.run_due([workspace.info])
    assert "poison apple" in other.seen


@pytest.mark.promise("backfill.refused-is-remembered")
def test_a_refused_text_that_waits_alone_is_remembered_too(workspace: Workspace) -> None:
    picky = Bags(refuses="poison")
    index, _, work = with_models(workspace, picky)
    put(workspace, index, "poison apple")
    (outcome,) = work.run_due([workspace.info])
    assert outcome.state == "done"
    assert work.run_due([workspace.info]) == []


@pytest.mark.promise("backfill.refused-is-remembered")
def test_a_model_that_refuses_everything_is_a_failure(workspace: Workspace) -> None:
    index, _, work = with_models(workspace, Bags(refuses=""))
    put(workspace, index, "good morning", "good night")
    (outcome,) = work.run_due([workspace.info])
    assert outcome.state == "failed"
    (job,) = work.jobs(workspace.info)
    assert job.due == 2


@pytest.mark.promise("backfill.refused-is-remembered")
def test_a_revised_text_is_offered_again(workspace: Workspace) -> None:
    picky = Bags(refuses="poison")
    index, _, work = with_models(workspace, picky)
    ids = put(workspace, index, "good morning", "poison apple")
    work.run_due([workspace.info])
    prepared = index.prepare([note("sweet apple")])
    with workspace.loom.store.write(workspace.info.id) as step:
        index.revise(step, ids[1], prepared, NOW)
    work.run_due([workspace.info])
    assert picky.seen[-1] == "sweet apple"


@pytest.mark.promise("backfill.busy-loses-nothing")
def test_a_model_that_is_busy_loses_nothing(workspace: Workspace, clock: ManualClock) -> None:
    class Busy(Bags):
        def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
            raise ProviderBusy("too many requests", retry_after=5)

    index, _, work = with_models(workspace, Busy())
    put(workspace, index, "good morning")
    assert [outcome.state for outcome in work.run_due([workspace.info])] == ["failed"]
    clock.advance(FIRST_PAUSE)
    _, _, work = with_models(workspace, Bags())
    assert [outcome.state for outcome in work.run_due([workspace.info])] == ["done"]


@pytest.mark.promise("backfill.late-writers-win")
def test_a_document_that_changed_meanwhile_keeps_no_old_vector(workspace: Workspace, store_url: str) -> None:
    ids: list[int] = []

    class Interrupted(Bags):
        def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
            if not self.seen and ids:
                revise(workspace, ids[0], note("A canoe drifted."))
                retire(workspace, ids[1])
            return super().embed(texts, task)

    bags = Interrupted()
    index, _, work = with_models(workspace, bags)
    ids += put(workspace, index, "The parliament met.", "Snow fell.", "Bread rose.")
    work.run_due([workspace.info])
    assert_agreement(store_url)
    vectors = {row["item_id"]: row["live"] for row in rows_of(store_url, VECTORS, bags.name)}
    assert vectors[ids[1]] == 0
    assert vectors[ids[2]] == 1
    work.run_due([workspace.info])
    assert bags.seen[-1] == "A canoe drifted."


VECTORS = "SELECT e.item_id, e.live FROM embedding AS e JOIN model AS m ON m.id = e.model_id WHERE m.name = ?"


@pytest.mark.promise("backfill.fallback")
def test_the_preferred_model_catches_up_what_a_fallback_did(workspace: Workspace) -> None:
    class Sick(Bags):
        is_well = False

        def embed(self, texts: Sequence[str], task: EmbeddingTask) -> TextVectors:
            if not self.is_well:
                raise ProviderBusy("not now")
            return super().embed(texts, task)

    preferred, spare = Sick("test:preferred", is_fast=True), static.StaticEmbedder()
    index, finder, work = with_models(workspace, preferred, spare)
    put(workspace, index, "A canoe drifted downstream.")
    findings = finder.search(workspace.info.id, "kayak")
    assert findings.by_vectors
    assert findings.degraded is None
    preferred.is_well = True
    assert [outcome.state for outcome in work.run_due([workspace.info])] == ["done"]
    assert preferred.seen == ["A canoe drifted downstream."]


KILLED = """
import sys, os, signal
from everloom.errors import ProviderError
from tests.kernel.test_tasks import Bags, with_models
from tests.store.ground import open_at
class Deadly(Bags):
    def embed(self, texts, task):
        if self.seen:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts, task)
with open_at(sys.argv[1]) as loom:
    place = loom.workspace("james")
    _, _, work = with_models(place, Deadly())
    print("ready", flush=True)
    work.run_due([place.info])
"""


@pytest.mark.promise("backfill.killed-worker")
def test_the_work_of_a_killed_worker_is_still_due(store_url: str, clock: ManualClock) -> None:
    with open_at(store_url, clock) as loom:
        place = loom.workspace("james")
        index, _, work = with_models(place, Bags())
        put(place, index, *(f"Note number {number}." for number in range(BATCH + 10)))
        with Child(KILLED, store_url) as child:
            assert child.line() == "ready"
            child.wait_until_dead()
        (job,) = work.jobs(place.info)
        assert job.due == 10  # the first batch was committed
        assert [outcome.state for outcome in work.run_due([place.info])] == ["busy"]
        clock.advance(LEASE)
        assert [outcome.state for outcome in work.run_due([place.info])] == ["done"]
        (job,) = work.jobs(place.info)
        assert job.due == 0
    assert_agreement(store_url)


def test_the_guard_says_that_nothing_was_written(loom: Loom, clock: ManualClock) -> None:
    james = loom.workspace("james")
    with pytest.raises(Conflict, match="has expired"), loom.store.write(james.info.id) as step:
        Lease(Leases(loom.store, clock, "nobody"), james.info.id, "never", 7, LEASE).guard(step)


@pytest.mark.promise("words.reindexed")
def test_documents_with_words_by_older_rules_are_noticed_and_indexed_again(
    workspace: Workspace, store_url: str
) -> None:
    ids = workspace.add([note("Anna wohnt in Kiel."), note("Peter hat eine Katze.")])
    store, place = workspace.loom.store, workspace.info
    with store.write(place.id) as step:
        step.unindex_words(ids)
        step.many("words.document_reword", ({"id": item, "words": "old", "context_words": ""} for item in ids))
        step.index_words(ids)
        step.run("words.reword_done", through=max(ids))
    work = Work(store, workspace.loom.clock, "worker")
    work.add(Rewording(store, workspace.loom.index))
    (later,) = workspace.add([note("Wer wohnte hier?")])
    (job,) = work.jobs(place)
    assert job.due == 2, "what is added later has words by the present rules"
    (outcome,) = work.run_due([place])
    assert outcome.report is not None
    assert outcome.report.detail == {"indexed": 2}
    assert work.run_due([place]) == []
    found = workspace.search("Wo hat Anna gewohnt?", recipe=Recipe(vectors=0.0))
    assert {hit.id for hit in found} == {ids[0], later}
    assert_agreement(store_url)
