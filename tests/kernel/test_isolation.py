"""No verb ever returns or changes a row of another workspace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from everloom.clock import ManualClock
from everloom.errors import Conflict, EverloomError, NotFound
from everloom.kernel.journal import answered_before, keep_receipt, session_from
from everloom.kernel.search import Scope
from everloom.loom import Workspace
from everloom.store.contract import Numbers
from tests.store.ground import (
    NOW,
    asking,
    assert_agreement,
    cover,
    dump,
    fingerprint,
    insight,
    note,
    open_at,
    remove,
    retire,
    revise,
)

NAMES = ["james", "audrey", "malik"]
TEXTS = st.sampled_from(
    [
        "The tide is high.",
        "The tide is low.",
        "A gull on the mast.",
        "Fog over the harbour.",
        "満ち潮の港",
        "tide tide tide",
    ]
)
WHO = st.integers(0, len(NAMES) - 1)
PICK = st.integers(0, 60)


class Neighbours(RuleBasedStateMachine):
    """Three workspaces in one store; whatever one does, with its own ids or with others', the others stay."""

    lend: Callable[[], AbstractContextManager[str]]

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        self.owner: dict[int, int] = {}

    @initialize()
    def open(self) -> None:
        self.clock = ManualClock(NOW)
        self.url = self.held.enter_context(type(self).lend())
        loom = self.held.enter_context(open_at(self.url, self.clock))
        self.places = [loom.workspace(name, session="the same label") for name in NAMES]
        self.ask = self.held.enter_context(asking(self.url))
        for number, place in enumerate(self.places):
            # Workspaces may give the same ids; here each id tells whose it is.
            with loom.store.write(place.info.id) as unit:
                unit.count_on(Numbers(number * 10_000, 0))
            for item in place.add([note("The tide is high."), insight(f"{place.name} watches tides.")]):
                self.owner[item] = number

    def act(self, who: int, deed: Callable[[Workspace], Any]) -> Any:
        """Let one do something, and prove that the others have not changed by it."""
        before = self.others(who)
        self.clock.advance(timedelta(seconds=1))
        try:
            return deed(self.places[who])
        finally:
            assert self.others(who) == before

    def others(self, who: int) -> dict[str, Any]:
        """Sum up everything that belongs to the others."""
        places = (place.info.id for number, place in enumerate(self.places) if number != who)
        return fingerprint(self.url, self.ask, *places)

    def any_id(self, pick: int) -> int:
        return sorted(self.owner)[pick % len(self.owner)]

    def on_any(self, who: int, pick: int, deed: Callable[[Workspace, int], Any]) -> None:
        """Let one do something to any id at all; another's id is as good as none."""
        item = self.any_id(pick)
        if self.owner[item] == who:
            with suppress(NotFound):
                self.act(who, lambda place: deed(place, item))
        else:
            with pytest.raises((NotFound, Conflict)):
                self.act(who, lambda place: deed(place, item))

    @rule(who=WHO, texts=st.lists(TEXTS, min_size=1, max_size=2))
    def add(self, who: int, texts: list[str]) -> None:
        for item in self.act(who, lambda place: place.add([note(text) for text in texts])):
            assert item not in self.owner
            self.owner[item] = who

    @rule(who=WHO, cue=TEXTS, past=st.booleans(), kinds=st.none() | st.just(frozenset({"note"})))
    def search(self, who: int, cue: str, past: bool, kinds: frozenset[str] | None) -> None:
        within = Scope(kinds=kinds, as_of=self.clock.now() if past else None)
        for hit in self.act(who, lambda place: place.search(cue, limit=100, within=within)):
            assert {self.owner[item] for item in (hit.id, *hit.also)} == {who}

    @rule(who=WHO, pick=PICK)
    def show(self, who: int, pick: int) -> None:
        self.on_any(who, pick, lambda place, item: place.show(item))

    @rule(who=WHO, pick=PICK)
    def why(self, who: int, pick: int) -> None:
        self.on_any(who, pick, lambda place, item: place.why(item))

    @rule(who=WHO, pick=PICK, verdict=st.sampled_from(["useful", "questionable"]))
    def mark(self, who: int, pick: int, verdict: Any) -> None:
        self.on_any(who, pick, lambda place, item: place.mark(item, verdict))

    @rule(who=WHO, pick=PICK, pinned=st.booleans())
    def pin(self, who: int, pick: int, pinned: bool) -> None:
        self.on_any(who, pick, lambda place, item: place.pin(item, pinned))

    @rule(who=WHO, pick=PICK, text=TEXTS)
    def revise(self, who: int, pick: int, text: str) -> None:
        item = self.any_id(pick)
        with suppress(NotFound):
            self.act(who, lambda place: revise(place, item, note(text)))

    @rule(who=WHO, pick=PICK)
    def retire(self, who: int, pick: int) -> None:
        self.act(who, lambda place: retire(place, self.any_id(pick)))

    @rule(who=WHO, pick=PICK)
    def remove(self, who: int, pick: int) -> None:
        self.act(who, lambda place: remove(place, self.any_id(pick)))

    @rule(who=WHO, pick=PICK, other=PICK)
    def cover(self, who: int, pick: int, other: int) -> None:
        with suppress(Conflict):
            self.act(who, lambda place: cover(place, self.any_id(pick), self.any_id(other)))

    @rule(who=WHO)
    def events(self, who: int) -> None:
        place = self.places[who]
        rows = dump(self.url, place.info.id)["event"]
        assert len(self.act(who, lambda place: place.events(limit=1000))) == len(rows)

    @rule(who=WHO)
    def sessions(self, who: int) -> None:
        def recent(place: Workspace) -> list[int]:
            with place.loom.store.read(place.info.id) as unit:
                span = {"seen_from": 0, "seen_until": 2**62, "started_from": 0, "started_until": 2**62}
                return [session_from(row).id for row in unit.all("kernel.session_recent", limit=100, **span)]

        assert len(self.act(who, recent)) == 1

    @rule(who=WHO)
    def receipts(self, who: int) -> None:
        def answer(place: Workspace) -> Any:
            with place.loom.store.write(place.info.id) as unit:
                known = answered_before(unit, "the same key", "add", {"who": who})
                if known is None:
                    keep_receipt(unit, "the same key", "add", {"who": who}, {"who": who}, place.loom.clock.now())
                return known

        assert self.act(who, answer) in (None, {"who": who})

    @rule(who=WHO)
    def jobs_and_sleep(self, who: int) -> None:
        assert {job.workspace for job in self.act(who, lambda place: place.jobs())} == {NAMES[who]}
        assert {outcome.workspace for outcome in self.act(who, lambda place: place.sleep())} <= {NAMES[who]}

    @rule(who=WHO)
    def forget_vectors_and_catch_up(self, who: int) -> None:
        def again(place: Workspace) -> None:
            with place.loom.store.write(place.info.id) as unit:
                unit.run("vectors.forget")
            place.sleep()

        self.act(who, again)
        assert self.places[who].coverage().waiting == 0

    def teardown(self) -> None:
        if hasattr(self, "url"):
            assert_agreement(self.url)
        self.held.close()


@pytest.mark.promise("workspaces.isolation")
def test_whatever_a_workspace_does_the_others_stay_as_they_are(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    machine = type("LentNeighbours", (Neighbours,), {"lend": staticmethod(lend_store_url)})
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=6, stateful_step_count=25, deadline=None, suppress_health_check=[*HealthCheck]),
    )


@pytest.mark.long
@pytest.mark.promise("workspaces.isolation")
def test_whatever_a_workspace_does_for_long_the_others_stay_as_they_are(
    lend_store_url: Callable[[], AbstractContextManager[str]],
) -> None:
    machine = type("LentNeighbours", (Neighbours,), {"lend": staticmethod(lend_store_url)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=200, stateful_step_count=50, deadline=None, suppress_health_check=[*HealthCheck]
        ),
    )


@pytest.mark.promise("workspaces.isolation")
def test_removing_a_workspace_leaves_its_neighbours_alone(store_url: str) -> None:
    with open_at(store_url) as loom:
        james, audrey = loom.workspace("james"), loom.workspace("audrey")
        for place in (james, audrey):
            place.add([note("The tide is high."), note("Fog over the harbour.")])
        before = dump(store_url, audrey.info.id)
        loom.workspaces.remove("james")
        assert dump(store_url, audrey.info.id) == before
        assert not any(dump(store_url, james.info.id).values())
        assert_agreement(store_url)
        with pytest.raises(EverloomError):
            loom.workspaces.get("james")
        assert len(audrey.search("tide fog")) == 2


def test_names_of_workspaces_are_found_whatever_their_spelling(store_url: str) -> None:
    with open_at(store_url) as loom:
        first = loom.workspace("Wealth_Simulator").info
        assert loom.workspace(" wealth-simulator ").info == first
        assert [info.name for info in loom.workspaces.list()] == ["Wealth_Simulator"]
        with pytest.raises(Conflict):
            loom.workspaces.create("wealth simulator")
        loom.workspaces.create("other")
        with pytest.raises(Conflict):
            loom.workspaces.change("other", new_name="WEALTH SIMULATOR")
        changed = loom.workspaces.change("other", new_name="Garden", time_zone="Europe/Paris", description="of herbs")
        assert loom.workspaces.get("garden") == changed
        assert changed.zone.key == "Europe/Paris"
