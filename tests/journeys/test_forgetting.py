"""Whatever is forgotten, in whatever company and however it ends, no surface and no file says it again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from everloom.kernel.answer.encode import as_data
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from tests.store.bytes import words_in_files
from tests.store.ground import asking, assert_agreement, dump, fingerprint, note, open_at, rows_of
from tests.store.nursery import Nursery

# Words that no stemmer changes, so that files hold them as they are or not at all.
WORDS = [f"zq{first}{second}x" for first in "bdfgk" for second in "amno"]


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    lent = Nursery()
    yield lent
    lent.close()


@pytest.fixture
def loom(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loom]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = Settings.model_validate(
        {"workspace": {"time_zone": "UTC"}, "episodic": {"patrol_at": 1_000_000, "patrol_hours": 0}}
    )
    with open_loom(store_url, settings=settings) as opened:
        yield opened


def observation(place: Workspace, word: str) -> int:
    return place.semantic.remember(["James", f"Topic {word}"], f"James wrote {word} down.", idempotency_key=word).id


def synthesis(place: Workspace, word: str) -> int:
    seen = place.semantic.remember(["James"], f"James said {word} once.").id
    place.semantic.create_understanding(["James"], f"He says {word}.", word, source_observation_ids=[seen])
    return seen


def told(place: Workspace, word: str) -> int:
    (item,) = place.episodic.update_notes(scenes=[{"action": f"James met {word}", "when": ["2026-11-14"]}]).scene_ids
    place.episodic.trigger_patrol(wait=True)
    return item


def entry(place: Workspace, word: str) -> int:
    place.episodic.update_memory("knowledge", "append", key=word, content=f"What {word} is.")
    return newest(place, "knowledge")


def memory(place: Workspace, word: str) -> int:
    stored = place.graph.store(type="solution", title=f"Use {word}", content=f"It is {word}.", tags=["common"])
    place.graph.core()
    return stored.item


def page(place: Workspace, word: str) -> int:
    place.mind.notes.write(f"{word}.md", f"A page on {word}.")
    return newest(place, "note")


def imported(place: Workspace, word: str) -> int:
    first, _ = place.add([note(f"They spoke of {word}."), note("And of rain.", context=f"They spoke of {word}.")])
    return first


MAKERS: list[Callable[[Workspace, str], int]] = [observation, synthesis, told, entry, memory, page, imported]


def newest(place: Workspace, kind: str) -> int:
    with place.op.read() as unit:
        (row,) = unit.all("semantic.clock")
        every = unit.all("kernel.item_kinds", ids=list(range(1, row["id"] + 1)))
    return max(int(each["id"]) for each in every if each["kind"] == kind)


@pytest.mark.promise("forget.everywhere")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))])
def test_a_forgotten_subset_is_said_by_nobody_and_the_rest_by_everybody(
    loom: Loom, store_url: str, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    place = loom.workspace("james", session="monday")
    items = {word: chance.choice(MAKERS)(place, word) for word in chance.sample(WORDS, 8)}
    gone = set(chance.sample(sorted(items), 5))
    chosen = [items[word] for word in gone]
    preview = place.forget(chosen)
    place.forget(chosen, confirm=preview.confirm)
    kept = items.keys() - gone
    assert words_in_files(store_url, items) == kept
    files = [each for each in (tmp_path / "data").rglob("*") if each.is_file() and each.suffix in {".md", ".json"}]
    assert {word for word in gone for each in files if word in f"{each.name} {each.read_text()}"} == set()
    assert loom.store.health(deep=True).problems == ()
    assert place.graph.follow().problems == ()
    assert place.mind.notes.sync() == []
    said = heard(place, items)
    assert {word for word in items if word in said} == kept


def heard(place: Workspace, words: dict[str, int]) -> str:
    """Ask every surface for every word, and give all that they say, without the words of the questions."""
    said: list[object] = [place.semantic.orient(), place.episodic.get_context(), place.events(limit=500)]
    said += [place.mind.notes.read(name) for name in place.mind.notes.names()]
    for word in words:
        said.append([(hit.text, hit.title, hit.labels) for hit in place.search(word)])
        said.append(as_data(place.semantic.recall(word)).get("best_answer"))
        said.append(place.graph.recall(word))
    return json.dumps([as_data(each) for each in said])


@pytest.mark.promise("forget.crash")
def test_a_process_killed_between_any_two_statements_has_forgotten_all_or_nothing(
    nursery: Nursery, store_url: str
) -> None:
    killed_between(nursery, store_url, apart=53)


@pytest.mark.long
@pytest.mark.promise("forget.crash")
def test_a_process_killed_before_every_single_statement_has_forgotten_all_or_nothing(
    nursery: Nursery, store_url: str
) -> None:
    killed_between(nursery, store_url, apart=1)


def killed_between(nursery: Nursery, url: str, apart: int) -> None:
    with open_at(url) as loom:
        place = loom.workspace("james")
        item = synthesis(place, "zqbax")
        place.semantic.remember(["James"], "James sails.")
    with asking(url) as ask:
        before, step = fingerprint(url, ask, place.info.id), 1
        while True:
            nursery.start("forget", url, item, step)
            if survivors := nursery.reap():
                assert survivors == [["survived"]]
                break
            if rows_of(url, "SELECT item_id FROM tombstone"):
                assert "zqbax" not in str(dump(url, place.info.id))
                break
            assert fingerprint(url, ask, place.info.id) == before, f"killed before statement {step}"
            step += apart
    assert step > 100
    with open_at(url) as loom:
        loom.workspace("james").sleep()
    assert words_in_files(url, ["zqbax"]) == set()
    assert_agreement(url)
