"""A request under a key happens once, also if it takes several steps and dies between two of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.errors import Conflict, EverloomError
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from everloom.wiring.faculties import FACULTIES
from tests.episodic.ground import Killed, killed_after
from tests.store.ground import assert_agreement, rows_of

# Every so many statements is a place to die; the verbs take dozens of them.
STRIDE = 3


@pytest.fixture
def loom(store_url: str, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loom]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with open_loom(store_url, settings=Settings(), clock=clock) as opened:
        yield opened


@pytest.fixture
def place(loom: Loom) -> Workspace:
    return loom.workspace("maya", session="monday")


def killed_everywhere(place: Workspace, prepare: Callable[[str], Callable[[Workspace], Any]]) -> int:
    """Kill a request at many statements, and repeat it each time; returns how often it was killed."""
    statements, ended = 0, False
    while not ended:
        act = prepare(f"attempt {statements}")
        try:
            with killed_after(statements):
                act(place)
            ended = True
        except (Killed, EverloomError):
            statements += STRIDE
        # Another process does not know what this one has read.
        fresh = Workspace(place.loom, place.info, "monday")
        assert act(fresh) == act(fresh)
    return statements // STRIDE


def test_every_verb_that_writes_takes_a_key() -> None:
    for faculty in FACULTIES.values():
        for verb in faculty.verbs:
            named = {each.name: each for each in verb.parameters}
            assert ("idempotency_key" in named) == verb.effect.writes, f"{faculty.name}.{verb.name}"
            assert not verb.effect.writes or named["idempotency_key"].says.is_plumbing


@pytest.mark.promise("api.keys")
def test_a_correction_that_is_repeated_after_a_crash_is_made_once(place: Workspace, store_url: str) -> None:
    def observation(name: str) -> Callable[[Workspace], Any]:
        item = place.semantic.remember(["Maya"], f"Maya lives in Lisbon, {name}.").id
        return lambda at: at.correct(item, f"Maya lives in Porto, {name}.", reason="Moved.", idempotency_key=name)

    def memory(name: str) -> Callable[[Workspace], Any]:
        item = place.graph.store(type="general", title=f"Home {name}", content="Lisbon.", connect=False).item
        return lambda at: at.correct(item, f"Porto, {name}.", idempotency_key=f"memory {name}")

    kills = killed_everywhere(place, observation)
    assert kills > 5
    new = [row for row in rows_of(store_url, "SELECT * FROM document") if "in Porto, attempt" in row["text"]]
    assert len(new) == kills + 1
    assert killed_everywhere(place, memory) > 5
    assert all(
        "Porto" in place.graph.get(each.id).content for each in place.graph.recent(limit=100, max_tokens=100_000)
    )
    assert_agreement(store_url)


@pytest.mark.promise("api.keys")
def test_an_approval_that_is_repeated_after_a_crash_makes_the_write_once(place: Workspace, store_url: str) -> None:
    def held(name: str) -> Callable[[Workspace], Any]:
        stored = place.graph.store(type="general", title=f"Found {name}", content=f"{name}.", origin="web:example.org")
        told = place.semantic.remember(["Web"], f"The web says {name}.", origin="web:example.org")
        return lambda at: at.review.approve([stored.item, told.id], idempotency_key=name)

    kills = killed_everywhere(place, held)
    assert kills > 5
    titles = [each.title for each in place.graph.recent(limit=100, max_tokens=100_000)]
    assert len(titles) == len(set(titles)) == kills + 1
    assert not place.review.list_held().held
    texts = [row["text"] for row in rows_of(store_url, "SELECT * FROM document") if "The web says" in row["text"]]
    assert len(texts) == len(set(texts)) == kills + 1
    assert_agreement(store_url)


def test_a_key_that_another_request_took_meanwhile_keeps_no_graph_from_going_on(place: Workspace) -> None:
    """The files of a killed write are completed all the same; only its receipt has no place any more."""
    item = place.graph.store(type="general", title="Boat", content="Blue.").id
    for statements in range(0, 40, 2):
        key, content = f"key {statements}", f"Fast {statements}."
        with contextlib.suppress(Killed), killed_after(statements):
            place.graph.append(item, content=content, idempotency_key=key)
        try:
            place.mind.append_note("Mine.", "boat.md", idempotency_key=key)
        except Conflict:
            assert content in place.graph.get(item).content
        place.graph.append(item, content="Sound.")
        assert place.graph.get(item).content.count(content) <= 1


@pytest.mark.promise("api.keys")
def test_a_held_write_that_is_repeated_after_the_decision_does_not_wait_again(place: Workspace) -> None:
    told: dict[str, Any] = {"origin": "web:example.org", "idempotency_key": "k"}
    held = place.semantic.remember(["Web"], "The web says so.", **told).id
    place.review.approve([held])
    assert place.semantic.remember(["Web"], "The web says so.", **told).id == held
    assert not place.review.list_held().held


@pytest.mark.promise("api.keys")
def test_equal_requests_at_the_same_moment_are_one(loom: Loom) -> None:
    place = loom.workspace("maya")
    item = place.graph.store(type="general", title="Boat", content="Blue.").id

    def each(number: int) -> tuple[Any, ...]:
        mine = loom.workspace("maya", session=f"session {number}")
        kept = mine.graph.append(item, content="Fast.", idempotency_key="graph")
        patrolled = mine.episodic.trigger_patrol(wait=True, idempotency_key="patrol")
        return kept, patrolled, mine.mind.append_note("Fast.", "boat.md", idempotency_key="note")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(each, range(8)))
    assert all(each == answers[0] for each in answers)
    assert len(place.episodic.patrol_report(limit=10)) == 1
    assert place.graph.get(item).content == "Blue.\nFast."
    assert place.mind.read_note("boat.md").body == "Fast.\n"


@pytest.mark.promise("api.keys")
def test_a_key_that_was_used_for_something_else_is_refused_and_nothing_is_written(place: Workspace) -> None:
    graph, mind = place.graph, place.mind
    one = graph.store(type="general", title="Boat", content="Blue.", idempotency_key="k").id
    other = graph.store(type="general", title="Sail", content="White.", connect=False).id
    graph.get(one)
    before = place.events(limit=1)[0].id
    for attempt in (
        lambda: graph.store(type="general", title="Boat", content="Red.", idempotency_key="k"),
        lambda: graph.procedure("Boat", "Blue.", steps=["Row"], idempotency_key="k"),
        lambda: graph.append(one, content="Fast.", idempotency_key="k"),
        lambda: graph.update(one, content="Fast.", idempotency_key="k"),
        lambda: graph.relate(one, other, "REQUIRES", idempotency_key="k"),
        lambda: graph.delete(one, idempotency_key="k"),
        lambda: graph.episode("Sailed", idempotency_key="k"),
        lambda: graph.core(idempotency_key="k"),
        lambda: mind.append_note("Blue.", "boat.md", idempotency_key="k"),
        lambda: mind.update_status({"mood": "blue"}, idempotency_key="k"),
        lambda: mind.schedule_message("Hello.", "09:30", idempotency_key="k"),
        lambda: place.episodic.update_relation("Audrey", idempotency_key="k"),
        lambda: place.episodic.trigger_patrol(wait=True, idempotency_key="k"),
        lambda: place.pin(1, idempotency_key="k"),
    ):
        with pytest.raises(Conflict, match="used for a different request"):
            attempt()
    written = [each.operation for each in place.events_after(before) if "write_note" not in each.operation]
    assert written == []
