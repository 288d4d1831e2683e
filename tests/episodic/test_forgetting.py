"""What is forgotten of what happened: scenes, notes, entries, and what patrols made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.loom import Loom, Workspace
from tests.episodic.ground import ASKED, assert_clusters_agree, open_being, patrol, remember, scene, tell, write_script
from tests.store.bytes import words_in_files
from tests.store.ground import assert_agreement, rows_of

WORDS = ("harpsichord", "clandestine", "wistful")
SECRET = scene("James met Ada at the harpsichord", feeling="clandestine and wistful", dialogue=["Tell nobody."])


@pytest.fixture
def workspace(loom: Loom) -> Workspace:
    return loom.workspace("james")


def agreed(place: Workspace, *ids: int) -> list[int]:
    preview = place.forget(ids)
    return [each.id for each in place.forget(ids, confirm=preview.confirm).items]


@pytest.mark.promise("forget.words-gone")
def test_a_scene_goes_with_its_note_and_leaves_no_words(workspace: Workspace, loom: Loom, store_url: str) -> None:
    being = workspace.episodic
    secret, other = remember(being, SECRET, "James repaired the mast with Malik")
    loom.workspace("james", session="one").episodic.get_context()
    with loom.store.write(workspace.info.id) as unit:
        unit.run("episodic.being_think", text="Think of the harpsichord.", at=1)
    preview = workspace.forget([secret])
    assert [(each.kind, each.because) for each in preview.items] == [
        ("scene", None),
        ("note", f"the note of scene {secret}"),
    ]
    agreed(workspace, secret)
    assert words_in_files(store_url, WORDS) == set()
    assert being.search_memory(query="mast").hits[0].node.id == other
    assert secret not in [hit.id for hit in workspace.search("harpsichord clandestine")]
    assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)
    patrol(being)


@pytest.mark.promise("forget.derivations")
def test_a_merged_scene_is_dissolved_and_the_other_originals_live_again(workspace: Workspace, store_url: str) -> None:
    being = workspace.episodic
    secret, other = remember(being, SECRET, "James played music all evening")
    merged = being.merge_nodes([secret, other], "James played the harpsichord all evening").node.id
    preview = workspace.forget([secret])
    assert {each.id: each.because for each in preview.items}[merged] == "merged from what goes"
    assert [(each.id, each.change) for each in preview.spared] == [(other, "lives again by itself")]
    gone = agreed(workspace, secret)
    assert merged in gone
    assert other not in gone
    (life,) = rows_of(store_url, "SELECT * FROM scene_life")
    assert (life["scene_id"], life["status"], life["absorbed_into"]) == (other, "active", None)
    assert words_in_files(store_url, WORDS) == set()


@pytest.mark.promise("forget.derivations")
def test_whoever_forgets_a_merged_scene_means_all_that_it_was_made_of(workspace: Workspace, store_url: str) -> None:
    being = workspace.episodic
    first, second = remember(being, SECRET, "James played music all evening")
    merged = being.merge_nodes([first, second], "An evening").node.id
    assert {merged, first, second} <= set(agreed(workspace, merged))
    assert rows_of(store_url, "SELECT * FROM scene") == []


@pytest.mark.promise("forget.derivations")
def test_a_survivor_of_a_patrol_is_taken_in_again_from_its_note(
    store_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    with open_being(store_url, clock) as loom:
        place = loom.workspace("james")
        secret, survivor = remember(place.episodic, SECRET, "James tuned the boat for winter")
        with loom.store.write(place.info.id) as unit:
            unit.run("episodic.absorb", id=secret, into=survivor)
        gone = agreed(place, secret)
        assert survivor in gone
        patrol(place.episodic)
        (row,) = rows_of(store_url, "SELECT * FROM scene")
        assert row["action"] == "James tuned the boat for winter"


@pytest.mark.promise("forget.derivations")
def test_the_page_of_the_diary_that_repeats_it_goes_along(store_url: str, clock: ManualClock, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    write_script(script, {ASKED["reflect"]: {"diary": "The harpsichord rang.", "think_md": ["Be wistful."]}})
    with open_being(store_url, clock, llm={"small": f"scripted:{script}"}) as loom:
        place = loom.workspace("james")
        (secret,) = remember(place.episodic, SECRET)
        page = next(row["id"] for row in rows_of(store_url, "SELECT * FROM entry"))
        preview = place.forget([secret])
        assert {each.id: each.because for each in preview.items}[page] == "a page of the diary that repeats its words"
        agreed(place, secret)
        assert words_in_files(store_url, WORDS) == set()


@pytest.mark.promise("forget.words-gone")
def test_entries_and_waiting_notes_go_by_their_id(workspace: Workspace, store_url: str) -> None:
    being = workspace.episodic
    being.update_memory("knowledge", "append", key="music", content="The harpsichord is clandestine.")
    being.update_memory("preferences", "append", key="tea", content="Tea without sugar.")
    (waiting,) = tell(being, SECRET)
    knowledge = next(row["id"] for row in rows_of(store_url, "SELECT * FROM entry WHERE target = 'knowledge'"))
    agreed(workspace, knowledge, waiting)
    assert words_in_files(store_url, WORDS) == set()
    assert [row["content"] for row in rows_of(store_url, "SELECT * FROM entry")] == ["Tea without sugar."]
