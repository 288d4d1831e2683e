"""A Being against a simple model of it: random scenes, changes by hand, recalls, pins, patrols, kills and restarts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.episodic.scenes.scene import GRACE, lifespan
from everloom.errors import Conflict
from everloom.kernel.work.lease import LEASE
from everloom.loom import Loom
from tests.episodic.ground import NOW, Killed, assert_clusters_agree, killed_after, life_of, open_being, scene
from tests.store.ground import assert_agreement, rows_of

# Lives of 1, 2, 4 and 6 patrols, and one that outlives every example.
IMPORTANCES = [0.051, 0.053, 0.057, 0.06, 0.9]
WORDS = "tide harbour keel rope gull lamp fog chart mast anchor sail crew".split()

Lend = Callable[[], AbstractContextManager[str]]


@dataclass
class Life:
    """What the model knows of one scene."""

    importance: float
    status: str = "active"
    death: str | None = None
    patrols: int = 0
    recalls: int = 0
    dying_since: int | None = None
    pinned: bool = False
    # The cluster that somebody put it into, and how many of the changes since it is there still hold.
    home: int | None = None
    changes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it can be changed: it does not live on in others, nor was its making undone."""
        return self.death in (None, "faded")

    @property
    def is_spent(self) -> bool:
        return self.patrols - self.recalls >= lifespan(self.importance)

    def recall(self) -> None:
        self.recalls += 2 if self.status == "dead" else 1
        if self.status == "dying":
            self.status, self.dying_since = "active", None

    def weigh(self, importance: float) -> None:
        self.importance = importance
        if self.status == "dying" and not self.is_spent:
            self.status, self.dying_since = "active", None

    def end(self, death: str | None) -> None:
        self.status, self.death, self.dying_since = ("active" if death is None else "dead"), death, None

    def patrol(self, number: int) -> None:
        if self.status == "active" and not self.pinned:
            self.patrols += 1
            if self.is_spent:
                self.status, self.dying_since = "dying", number
        if (
            self.status == "dying"
            and not self.pinned
            and self.dying_since is not None
            and self.dying_since <= number - GRACE
        ):
            self.status, self.death, self.dying_since = "dead", "faded", None
        if self.death == "faded" and not self.is_spent:
            self.status, self.death, self.recalls = "active", None, self.recalls + 2


@dataclass(frozen=True)
class Split:
    """A split that holds: the change, the parts, and what the whole was."""

    change: int
    parts: tuple[int, ...]
    was: Life


class Being(RuleBasedStateMachine):
    """The real Being and the model of it, side by side."""

    lend: Lend

    @initialize()
    def open(self) -> None:
        self.stack = ExitStack()
        self.url = self.stack.enter_context(self.lend())
        self.clock = ManualClock(NOW)
        self.lives: dict[int, Life] = {}
        self.waiting: dict[int, float] = {}
        self.splits: dict[int, Split] = {}
        self.number = 0
        self.count = 0
        self.start()

    def start(self) -> None:
        # What is killed here is a patrol that this thread runs; a note must not continue it in another.
        self.loom: Loom = open_being(self.url, self.clock, patrol="worker")
        self.being: Episodic = self.loom.workspace("james").episodic

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            assert_agreement(self.url)
            self.loom.close()
            self.stack.close()

    @rule(importances=st.lists(st.sampled_from(IMPORTANCES), min_size=1, max_size=5), word=st.sampled_from(WORDS))
    def tell(self, importances: list[float], word: str) -> None:
        scenes = []
        for importance in importances:
            self.count += 1
            scenes.append(scene(f"The {word} and mark{self.count:04}x", importance=importance))
        kept = self.being.update_notes(scenes=scenes)
        self.waiting |= dict(zip(kept.scene_ids, importances, strict=True))

    @rule()
    def tell_nonsense(self) -> None:
        assert len(self.being.update_notes(scenes=["nonsense"]).rejected) == 1

    @rule()
    def patrol(self) -> None:
        assert self.being.trigger_patrol(wait=True).status == "done"
        self.patrolled()

    @rule(kills=st.lists(st.integers(0, 90), min_size=1, max_size=4), tells=st.booleans(), restarts=st.booleans())
    def patrol_with_kills(self, kills: list[int], tells: bool, restarts: bool) -> None:
        for allowed in kills:
            try:
                with killed_after(allowed):
                    self.being.trigger_patrol(wait=True)
            except Killed:
                self.clock.advance(LEASE + timedelta(seconds=1))
                if self.is_through():
                    # Killed after the last step, before anybody heard of it.
                    self.patrolled()
                    return
                if tells:
                    self.tell([0.9], "storm")
                if restarts:
                    self.restart()
            else:
                self.patrolled()
                return
        assert self.being.trigger_patrol(wait=True).status == "done"
        self.patrolled()

    def is_through(self) -> bool:
        newest = self.being.patrol_report()
        return bool(newest) and newest[0].number > self.number and newest[0].ended_at is not None

    def patrolled(self) -> None:
        """Let the model go through the patrols that just ended: a second one follows for notes that the first left."""
        notes = {
            row["id"]: row["scene_id"]
            for row in rows_of(self.url, "SELECT id, scene_id FROM note WHERE kind = 'scene'")
        }
        reports = self.being.patrol_report(limit=20, max_tokens=100_000)
        ended = [each for each in reversed(reports) if each.number > self.number]
        assert ended
        for report in ended:
            self.number += 1
            assert (report.number, report.ended_at is not None) == (self.number, True)
            for note in [each for each in self.waiting if each < report.id]:
                self.lives[notes[note]] = Life(self.waiting.pop(note))
            for life in self.lives.values():
                life.patrol(self.number)
        for cluster in self.being.recall_memory().clusters:
            assert cluster.is_root or cluster.nodes

    def choose(self, data: st.DataObject) -> int:
        """Choose a scene that can be changed: there always is one, for a split leaves parts."""
        return data.draw(st.sampled_from(sorted(item for item, life in self.lives.items() if life.is_whole)))

    def mark(self) -> str:
        self.count += 1
        return f"mark{self.count:04}x"

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), importance=st.sampled_from(IMPORTANCES))
    def correct(self, data: st.DataObject, importance: float) -> None:
        item = self.choose(data)
        self.being.correct_node(item, action=f"Corrected: {self.mark()}", importance=importance)
        self.lives[item].weigh(importance)
        self.lives[item].changes += 1

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), importance=st.sampled_from(IMPORTANCES))
    def split(self, data: st.DataObject, importance: float) -> None:
        item = self.choose(data)
        whole = self.lives[item]
        told: list[Mapping[str, Any] | str] = [
            {"action": f"One part: {self.mark()}", "importance": importance},
            f"Another part: {self.mark()}",
        ]
        done = self.being.split_node(item, told)
        parts = tuple(each.id for each in done.nodes if each.id != item)
        assert done.change_id is not None
        self.splits[item] = Split(done.change_id, parts, replace(whole))
        for part in parts:
            self.lives[part] = replace(whole, changes=0)
        self.lives[parts[0]].weigh(importance)
        whole.end("split")
        whole.pinned, whole.changes = False, whole.changes + 1

    @precondition(lambda self: self.splits)
    @rule(data=st.data())
    def unsplit(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(sorted(self.splits)))
        split, whole = self.splits[item], self.lives[item]
        if any(self.lives[part].changes for part in split.parts):
            with pytest.raises(Conflict):
                self.being.undo_change(item, split.change)
            return
        self.being.undo_change(item, split.change)
        whole.end(split.was.death)
        whole.pinned, whole.changes = split.was.pinned, whole.changes - 1
        for part in split.parts:
            self.lives[part].end("undone")
            self.lives[part].pinned = False
        del self.splits[item]

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), name=st.sampled_from([None, "Repairs", "Kept"]))
    def move(self, data: st.DataObject, name: str | None) -> None:
        item = self.choose(data)
        done = self.being.move_node(item, name=name)
        self.lives[item].home = None if name is None else self.being.show(item).cluster_id
        self.lives[item].changes += done.change_id is not None

    @precondition(lambda self: self.lives)
    @rule(data=st.data())
    def search(self, data: st.DataObject) -> None:
        item = self.choose(data)
        word = self.being.show(item).scene.action.split()[-1]
        hits = self.being.search_memory(word, mode="and").hits
        assert [hit.node.id for hit in hits] == [item]
        self.lives[item].recall()

    @rule(word=st.sampled_from(WORDS))
    def recall(self, word: str) -> None:
        found = self.being.recall(f"The {word}").node_ids
        assert len(found) <= 3
        for item in found:
            assert self.lives[item].status != "dead"
            self.lives[item].recall()

    @precondition(lambda self: self.lives)
    @rule(data=st.data())
    def read_cluster(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(sorted(self.lives)))
        for node in self.being.recall_memory(self.being.show(item).cluster_id, limit=4).nodes:
            self.lives[node.id].recall()

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data: st.DataObject, pinned: bool) -> None:
        item = self.choose(data)
        life = self.lives[item]
        (self.being.pin_node if pinned else self.being.unpin_node)(item)
        life.pinned = pinned
        if pinned:
            life.status, life.death, life.dying_since = "active", None, None

    @rule()
    def restart(self) -> None:
        self.loom.close()
        self.start()

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "lives"):
            return
        rows = life_of(self.url)
        real = {
            item: (row["status"], row["death"], row["session_count"], row["reactivation_count"], row["dying_since"])
            for item, row in rows.items()
        }
        assert real == {
            item: (life.status, life.death, life.patrols, life.recalls, life.dying_since)
            for item, life in self.lives.items()
        }
        assert self.being.census()["pending"] == len(self.waiting)
        # Where somebody has put a scene, it stays.
        assert {
            item: row["cluster_id"] for item, row in rows.items() if row["placed"] and self.lives[item].is_whole
        } == {item: life.home for item, life in self.lives.items() if life.home is not None and life.is_whole}
        assert_clusters_agree(self.loom, "james", self.url)


def run(lend: Lend, examples: int, steps: int) -> None:
    machine = type("BeingOnEngine", (Being,), {"lend": staticmethod(lend)})
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.promise("episodic.machine")
def test_a_being_is_what_the_model_says_it_is(lend_store_url: Lend) -> None:
    run(lend_store_url, examples=5, steps=22)


@pytest.mark.long
@pytest.mark.promise("episodic.machine")
def test_a_being_is_what_the_model_says_it_is_for_long(lend_store_url: Lend) -> None:
    run(lend_store_url, examples=150, steps=60)
