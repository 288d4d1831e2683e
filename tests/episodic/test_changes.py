"""Scenes that are changed by hand once they were taken in: corrected, felt anew, split, moved, and put back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.errors import Conflict, NotFound, Rejected
from everloom.loom import Loom, Workspace, open_loom
from everloom.settings import Settings
from tests.episodic.ground import (
    ASKED,
    BILLING,
    DAY,
    SAILING,
    assert_clusters_agree,
    open_being,
    patrol,
    remember,
    scene,
    step,
    tell,
    write_script,
)
from tests.patience import PATIENCE
from tests.scripted.server import HeldServer
from tests.store.bytes import words_in_files
from tests.store.ground import assert_agreement, rows_of

EMOTION = {"valence": 0.5, "arousal": 0.1, "dominance": 0.0, "safety": 0.3, "novelty": 0.0, "trust": 0.2}
TOLD = scene(
    "James tuned the organ and baked a cake",
    actors=["James", "Ada"],
    feeling="calm",
    setting="the chapel",
    dialogue=["Listen!"],
    sensory=["flour"],
    themes=["music"],
    emotion=EMOTION,
)


def found(being: Episodic, query: str) -> int:
    return being.search_memory(query).hits[0].node.id


@pytest.mark.promise("episodic.correct-node")
def test_any_part_of_a_scene_is_corrected_and_everything_follows(being: Episodic, loom: Loom, store_url: str) -> None:
    (item, *_) = remember(being, TOLD, *SAILING, *BILLING)
    before = being.show(item)
    patches: list[dict[str, Any]] = [
        {"action": "James tuned the harpsichord"},
        {"actors": ["James", "Grace"]},
        {"when": ["2026-11-02", {"date": "2026-11-03", "action": "again"}]},
        {"setting": "the attic"},
        {"dialogue": []},
        {"sensory": ["dust", "varnish"]},
        {"feeling": "impatient"},
        {"importance": 0.9},
        {"themes": ["instruments"]},
        {"emotion": {"valence": -0.5}},
        {"emotion": "none"},
    ]
    for patch in patches:
        done = being.correct_node(item, **patch, reason="it was told wrong")
        (change,) = done.changes
        (name,) = patch
        assert [each.field for each in change.fields] == [name], "one field, and nothing else"
        assert (change.author, change.session, change.reason) == ("agent", "monday", "it was told wrong")
    now = being.show(item)
    assert (now.scene.action, now.scene.setting, now.scene.actors) == (
        "James tuned the harpsichord",
        "the attic",
        ("James", "Grace"),
    )
    assert [str(each) for each in now.scene.when] == ["2026-11-02", "2026-11-03（again）"]
    assert (now.scene.dialogue, now.scene.sensory, now.themes) == ((), ("dust", "varnish"), ("instruments",))
    assert (now.feeling, now.importance, now.emotion) == ("impatient", 0.9, None)
    assert (now.session_count, now.created_at, now.cluster_id) == (1, before.created_at, before.cluster_id)
    for words in ("harpsichord", "impatient", "attic", "varnish", "instruments", "Grace"):
        assert found(being, words) == item, words
    for words in ("cake", "chapel", "flour", "Ada"):
        assert not any(hit.matched for hit in being.search_memory(words).hits if hit.node.id == item), words
    assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)
    history = being.node_history(item, max_tokens=20_000).changes
    assert [each.fields[0].field for each in reversed(history)] == [name for patch in patches for name in patch]
    assert history[-1].fields[0].before == TOLD["action"]
    assert history[1].fields[0].before == EMOTION, "axes that were not named keep their number"
    assert history[1].fields[0].after == {**EMOTION, "valence": -0.5}


@pytest.mark.promise("episodic.correct-node")
def test_bad_corrections_are_refused_and_nothing_is_written(being: Episodic, store_url: str) -> None:
    item, other = remember(being, TOLD, "James slept")
    before = being.show(item)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "nothing to correct"),
        ({"action": " "}, "no action"),
        ({"when": []}, "without a date"),
        ({"when": ["2026-02-31"]}, "not a calendar date"),
        ({"importance": 7}, "clamped"),
        ({"feeling": "x" * 5_000}, "was cut"),
        ({"emotion": {"joy": 1}}, "no axis 'joy'"),
        ({"emotion": "valence=much"}, "not a number"),
        ({"emotion": [1, 2]}, "not a VADSNT"),
        ({"reason": "y" * 2_000, "feeling": "z"}, "reason"),
    ]
    for patch, said in cases:
        with pytest.raises(Rejected, match=said):
            being.correct_node(item, **patch)
    with pytest.raises(NotFound):
        being.correct_node(999_999, feeling="sad")
    with pytest.raises(Conflict, match=f"at version {before.version}, not 0000") as refused:
        being.correct_node(item, feeling="sad", expected_version="0000")
    assert refused.value.current == before
    assert being.show(item) == before
    assert rows_of(store_url, "SELECT * FROM scene_change") == []
    assert being.correct_node(item, feeling="calm").remarks == ("it says that already: nothing was changed",)
    merged = being.merge_nodes([item, other], "James had a day").node.id
    with pytest.raises(Conflict, match="absorbed") as gone:
        being.correct_node(item, feeling="sad")
    assert str(merged) in str(gone.value.hint)


@pytest.mark.promise("episodic.expected-version")
def test_of_two_who_saw_the_same_version_the_second_is_refused(being: Episodic) -> None:
    (item,) = remember(being, TOLD)
    seen = being.show(item).version
    patrol(being, 2)
    assert being.show(item).version == seen, "age is no change"
    being.correct_node(item, feeling="proud", expected_version=seen)
    acts: tuple[Callable[[], object], ...] = (
        lambda: being.correct_node(item, feeling="sad", expected_version=seen),
        lambda: being.move_node(item, name="Music", expected_version=seen),
        lambda: being.split_node(item, ["One", "Two"], expected_version=seen),
        lambda: being.undo_change(item, expected_version=seen),
    )
    for act in acts:
        with pytest.raises(Conflict, match="version"):
            act()
    assert being.show(item).feeling == "proud"


@pytest.mark.promise("episodic.split-node")
def test_a_scene_is_split_into_parts_that_are_as_old_as_it_was(being: Episodic, loom: Loom, store_url: str) -> None:
    (item, *_) = remember(being, {**TOLD, "importance": 0.8}, *SAILING)
    patrol(being, 3)
    being.pin_node(item)
    whole = being.show(item)
    parts: list[dict[str, Any] | str] = [
        "James tuned the organ",
        {"action": "Ada baked a cake", "actors": ["Ada"], "importance": 0.2, "themes": []},
    ]
    shown = being.split_node(item, parts, preview=True)
    assert (shown.is_preview, shown.changes, being.show(item)) == (True, (), whole)
    done = being.split_node(item, parts, idempotency_key="k", expected_version=whole.version)
    assert being.split_node(item, parts, idempotency_key="k", expected_version=whole.version) == done
    old, organ, cake = done.nodes
    assert (old.status, old.death, old.split_into, old.pinned) == ("dead", "split", (organ.id, cake.id), False)
    for part in (organ, cake):
        assert (part.session_count, part.status, part.fresh) == (whole.session_count, "active", False)
        assert (part.split_from, part.cluster_id, part.pinned) == (item, whole.cluster_id, True)
        assert (part.feeling, part.emotion, part.scene.when) == (whole.feeling, whole.emotion, whole.scene.when)
        assert part.patrol_id == whole.patrol_id
    assert (organ.importance, organ.themes, organ.scene.actors) == (0.8, ("music",), ("James", "Ada"))
    assert (cake.importance, cake.themes, cake.scene.actors) == (0.2, (), ("Ada",))
    assert found(being, "tuned the organ") == organ.id, "the whole ranks below its parts"
    for _ in range(9):
        being.search_memory("James tuned the organ and baked a cake")
    patrol(being, 2)
    assert being.show(item).death == "split", "only what has faded comes back"
    with pytest.raises(Conflict, match="was split") as refused:
        being.pin_node(item)
    assert f"{organ.id}, {cake.id}" in str(refused.value.hint)
    for wrong, said in ((["One"], "into 1"), (["Same", "Same"], "same action"), (["", "Two"], "no action")):
        with pytest.raises(Rejected, match=said):
            being.split_node(organ.id, wrong)
    assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)


@pytest.mark.promise("episodic.split-node")
def test_parts_of_a_dying_or_faded_scene_share_its_state_unless_they_matter_more(being: Episodic) -> None:
    (item,) = remember(being, scene("James slept and dreamt", importance=0.06))
    patrol(being, 6)
    assert being.show(item).status == "dying"
    _, slept, dreamt = being.split_node(item, ["James slept", {"action": "James dreamt", "importance": 1.0}]).nodes
    assert (slept.status, dreamt.status) == ("dying", "active")
    patrol(being, 4)
    assert (being.show(slept.id).death, being.show(dreamt.id).death) == ("faded", None)
    one, other = being.split_node(slept.id, ["James yawned", "James snored"]).nodes[1:]
    assert (one.death, other.death) == ("faded", "faded")
    assert being.correct_node(dreamt.id, importance=0.0).nodes[0].status == "active", "the next patrol finds it dying"
    patrol(being)
    assert being.show(dreamt.id).status == "dying"
    assert being.correct_node(dreamt.id, importance=0.9).nodes[0].status == "active"


@pytest.mark.promise("episodic.move-node")
def test_a_scene_stays_where_somebody_has_put_it(being: Episodic, loom: Loom, store_url: str) -> None:
    ids = remember(being, *SAILING, *BILLING)
    patrol(being, 2)
    homes = {each: being.show(each).cluster_id for each in ids}
    item, target = ids[0], homes[ids[-1]]
    moved = being.move_node(item, name="Repairs", root="Private").nodes[0]
    (cluster,) = [each.cluster for each in being.map_clusters().clusters if each.cluster.id == moved.cluster_id]
    roots = {each.cluster.name: each.cluster.id for each in being.map_clusters().clusters if each.cluster.is_root}
    assert (cluster.name, cluster.parent_id, cluster.nodes) == ("Repairs", roots["Private"], 1)
    assert cluster.digest == SAILING[0], "the digest follows"
    again = being.move_node(ids[1], name="  repairs ", root="Private").nodes[0]
    assert again.cluster_id == cluster.id, "one name, one cluster"
    assert_clusters_agree(loom, "james", store_url)
    more = [f"The billing service sent invoice number {number}" for number in range(12)]
    remember(being, *more)
    patrol(being, 3)
    assert {being.show(each).cluster_id for each in (item, ids[1])} == {cluster.id}, "no patrol folds or splits it off"
    assert being.move_node(item, target).nodes[0].cluster_id == target
    assert being.move_node(item, root="Business").nodes[0].cluster_id == roots["Business"]
    patrol(being)
    assert being.show(item).cluster_id == roots["Business"]
    assert being.move_node(item).nodes[0].placed is False, "given back to the patrols"
    assert being.move_node(item).changes == ()
    with pytest.raises(NotFound, match="no cluster"):
        being.move_node(item, 999_999)
    for wrong in ({"cluster_id": target, "name": "Both"}, {"name": "  "}):
        with pytest.raises(Rejected):
            being.move_node(item, **wrong)
    assert_clusters_agree(loom, "james", store_url)


@pytest.mark.promise("episodic.move-node")
def test_a_name_that_was_a_scenes_words_follows_the_scene(being: Episodic) -> None:
    # Without a model, a cluster is called after the most central of its scenes.
    first, second = remember(being, *SAILING)[:2]
    home = being.move_node(first, name=SAILING[0]).nodes[0].cluster_id
    being.move_node(second, home)

    def texts() -> tuple[str, str]:
        found = next(each.cluster for each in being.map_clusters().clusters if each.cluster.id == home)
        return found.name, found.digest

    being.correct_node(first, action="James lost the mast of the boat")
    assert SAILING[0] not in " ".join(texts())
    assert texts()[0] in (SAILING[1], "James lost the mast of the boat")
    being.move_node(first, root="Private")
    assert texts() == (SAILING[1], SAILING[1])


@pytest.mark.promise("episodic.undo")
def test_what_history_shows_is_put_back_step_by_step_and_again(being: Episodic, loom: Loom, store_url: str) -> None:
    (item, other, *_) = remember(being, TOLD, *SAILING)
    states = [being.show(item)]
    being.correct_node(item, feeling="grim", emotion="valence=-1")
    states.append(being.show(item))
    being.move_node(item, name="Music")
    states.append(being.show(item))
    parts = being.split_node(item, ["James tuned the organ", "James baked a cake"]).nodes[1:]
    assert len(being.undo_change(item, preview=True).remarks) == 4
    undone = being.undo_change(item, reason="one evening", idempotency_key="once")
    assert being.undo_change(item, reason="one evening", idempotency_key="once") == undone
    assert being.show(item) == states[2]
    assert [being.show(each.id).death for each in parts] == ["undone", "undone"]
    for expected in (states[1], states[0]):
        being.undo_change(item)
        assert being.show(item) == expected
    with pytest.raises(NotFound, match="nothing to undo"):
        being.undo_change(item)
    assert undone.change_id is not None
    being.undo_change(item, undone.change_id)
    assert [being.show(each.id).death for each in parts] == [None, None], "an undo can be undone"
    assert being.show(item).split_into == tuple(each.id for each in parts)
    being.undo_change(item)
    assert being.split_node(item, ["One", "Two"]).nodes[0].split_into[0] > parts[1].id, "only the parts of this split"
    merged = being.merge_nodes([parts_of(being, item)[0], other], "James did a lot").node.id
    being.undo_change(other)
    assert (being.show(other).death, being.show(merged).death) == (None, "undone")
    assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)


def parts_of(being: Episodic, item: int) -> tuple[int, ...]:
    return being.show(item).split_into


@pytest.mark.promise("episodic.undo")
def test_an_undo_never_overwrites_what_came_later(being: Episodic) -> None:
    item, other = remember(being, TOLD, "James slept")
    first = being.correct_node(item, feeling="grim").change_id
    second = being.correct_node(item, feeling="glad", setting="the attic").change_id
    with pytest.raises(Conflict, match=r"feeling .* was changed again") as refused:
        being.undo_change(item, first)
    assert f"undo change {second} first" in str(refused.value.hint)
    third = being.correct_node(item, importance=1.0).change_id
    being.undo_change(item, second)
    assert (being.show(item).feeling, being.show(item).importance) == ("grim", 1.0), "other fields are left alone"
    with pytest.raises(Conflict, match="was undone by"):
        being.undo_change(item, second)
    with pytest.raises(NotFound, match="no change"):
        being.undo_change(other, third)
    merged = being.merge_nodes([item, other], "James had a day")
    being.correct_node(merged.node.id, feeling="rested")
    with pytest.raises(Conflict, match="changed afterwards"):
        being.undo_change(item)
    being.undo_change(merged.node.id)
    being.undo_change(item)
    assert being.show(item).death is None
    moved = being.move_node(item, name="Gone").nodes[0].cluster_id
    being.move_node(item, name="Here")
    patrol(being)
    assert moved not in {each.cluster.id for each in being.map_clusters().clusters}, "an empty cluster is dropped"
    with pytest.raises(Conflict, match="no longer there"):
        being.undo_change(item)


@pytest.mark.promise("episodic.undo")
def test_scenes_come_back_where_somebody_had_put_them(being: Episodic) -> None:
    first, second = remember(being, "Ada swam in the lake", "Bo ran up the hill")
    homes = [being.move_node(item, name=name).nodes[0].cluster_id for item, name in ((first, "Lake"), (second, "Hill"))]
    merged = being.merge_nodes([first, second], "Ada swam, and Bo ran").node
    patrol(being)
    being.undo_change(merged.id)
    assert [(being.show(item).cluster_id, being.show(item).placed) for item in (first, second)] == [
        (home, True) for home in homes
    ]


@pytest.mark.promise("episodic.undo")
def test_a_merge_by_a_patrol_can_be_undone(store_url: str, clock: ManualClock, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    business: dict[str, Any] = {ASKED["classify"]: {"private_numbers": []}}
    write_script(script, business | {ASKED["consolidate"]: {"merges": [], "make_dead": []}})
    with open_being(store_url, clock, llm={"small": f"scripted:{script}"}) as loom:
        being = loom.workspace("james").episodic
        first, second = remember(being, "James painted the boat", scene("James painted the boat blue", feeling="proud"))
        merge = {"survivor_id": first, "absorbed_ids": [second], "merged_action": "James painted and painted"}
        write_script(script, business | {ASKED["consolidate"]: {"merges": [merge], "make_dead": []}})
        remember(being, "James painted the boat green")
        assert being.show(first).scene.action == "James painted and painted"
        (change,) = being.node_history(first).changes
        assert (change.act, change.author) == ("merge", "patrol")
        being.undo_change(first)
        assert (being.show(first).scene.action, being.show(first).importance) == ("James painted the boat", 0.5)
        assert (being.show(second).status, being.show(second).feeling) == ("active", "proud")
        assert found(being, "boat blue") == second
        parts = being.split_node(second, ["James painted", "The boat was blue"]).nodes[1:]
        merge = {"survivor_id": parts[0].id, "absorbed_ids": [parts[1].id], "merged_action": "All one"}
        write_script(script, business | {ASKED["consolidate"]: {"merges": [merge], "make_dead": []}})
        remember(being, "James painted the boat red")
        assert any("somebody has split them" in remark for remark in step(being, "consolidate").remarks)
        assert_clusters_agree(loom, "james", store_url)


@pytest.mark.promise("forget.words-gone")
def test_a_scene_that_was_changed_is_forgotten_with_all_that_it_ever_said(loom: Loom, store_url: str) -> None:
    place = loom.workspace("james", session="monday")
    being = place.episodic
    words = ("harpsichord", "clandestine", "melancholy", "zeppelin", "wistful", "marzipan")
    item, other = remember(being, scene("James met Ada at the harpsichord", feeling="clandestine"), "James slept")
    being.correct_node(item, feeling="melancholy", action="James met Ada in a zeppelin", reason="no harpsichord there")
    being.move_node(item, name="Zeppelin affairs")
    merged = being.merge_nodes([item, other], "A zeppelin and sleep").node.id
    being.undo_change(merged)
    told = [{"action": "James felt wistful"}, {"action": "Ada ate marzipan in the zeppelin", "feeling": ""}]
    split = being.split_node(item, told)
    first, second = split.nodes[1:]
    being.correct_node(second.id, setting="above the harpsichord")
    preview = place.forget([first.id])
    taken = {each.id: each.because for each in preview.items}
    assert taken[item] == "split into what goes"
    assert taken[merged] == f"made from {item}, and undone"
    assert second.id not in taken
    assert other not in taken
    assert [(each.id, each.change) for each in preview.spared] == [(second.id, "stays: another part of what was split")]
    place.forget([first.id], confirm=preview.confirm)
    assert words_in_files(store_url, ["clandestine", "melancholy", "wistful"]) == set()
    assert being.show(second.id).split_from is None
    assert all(each.is_lost for each in being.node_history(other).changes)
    with pytest.raises(Conflict, match="were forgotten"):
        being.undo_change(other, being.node_history(other).changes[0].id)
    preview = place.forget([second.id])
    place.forget([second.id], confirm=preview.confirm)
    assert words_in_files(store_url, words) == set()
    assert being.show(other).status == "active"
    patrol(being)
    assert_clusters_agree(loom, "james", store_url)
    assert_agreement(store_url)


@pytest.mark.promise("forget.words-gone")
def test_a_split_scene_is_forgotten_with_its_parts_and_old_words_go_when_they_shall(loom: Loom, store_url: str) -> None:
    place: Workspace = loom.workspace("james", session="monday")
    being = place.episodic
    item, other = remember(being, scene("James met Ada at the harpsichord", feeling="clandestine"), "James slept")
    parts = being.split_node(item, ["James was wistful", "Ada ate marzipan"]).nodes[1:]
    preview = place.forget([item])
    assert {each.id for each in preview.items} >= {item, *(each.id for each in parts)}
    place.forget([item], confirm=preview.confirm)
    assert words_in_files(store_url, ["harpsichord", "clandestine", "wistful", "marzipan"]) == set()
    being.correct_node(other, feeling="melancholy")
    being.correct_node(other, feeling="rested", reason="not melancholy at all")
    place.correct(other, "James dozed", forget_old=True)
    assert words_in_files(store_url, ["melancholy"]) == set()
    assert {each.is_lost for each in being.node_history(other).changes} == {True}
    assert being.show(other).scene.action == "James dozed"


def test_scenes_can_be_changed_while_a_patrol_runs(store_url: str, clock: ManualClock) -> None:
    """Nothing crashes, nothing is lost: a change in the middle of a patrol holds when it ends."""
    with open_being(store_url, clock) as loom:
        being = loom.workspace("james", session="monday").episodic
        ids = remember(being, *SAILING, *BILLING)
        tell(being, *(f"The billing service sent invoice number {number}" for number in range(40)))
        problems: list[BaseException] = []

        def walk() -> None:
            try:
                for _ in range(3):
                    patrol(loom.workspace("james").episodic)
            except BaseException as error:  # noqa: BLE001  shown below
                problems.append(error)

        thread = Thread(target=walk)
        thread.start()
        being.move_node(ids[0], name="Repairs")
        parts = being.split_node(ids[1], ["James bought sails", "The sails were new"]).nodes[1:]
        being.correct_node(ids[2], feeling="blue")
        being.undo_change(ids[1])
        being.move_node(ids[6], root="Private")
        thread.join()
        assert problems == []
        roots = {each.cluster.name: each.cluster.id for each in being.map_clusters().clusters if each.cluster.is_root}
        assert being.show(ids[0]).placed
        assert being.show(ids[2]).feeling == "blue"
        assert (being.show(ids[1]).death, being.show(parts[0].id).death) == (None, "undone")
        assert being.show(ids[6]).cluster_id == roots["Private"]
        clock.advance(DAY)
        patrol(being)
        assert_clusters_agree(loom, "james", store_url)
        assert_agreement(store_url)


@pytest.mark.parametrize("change", ["correct", "retell", "merge", "split"])
def test_a_scene_that_moves_while_it_is_told_anew_is_not_refused(
    store_url: str, clock: ManualClock, change: str
) -> None:
    """A patrol places scenes at any time; whoever corrects one has not seen where it is, and does not care."""
    with HeldServer() as model:
        model.may_answer.set()
        settings = {"embed": {"models": ("ollama:hashes",)}, "provider": {"ollama_base": model.url}}
        with open_loom(store_url, settings=Settings.model_validate(settings), clock=clock) as loom:
            being = loom.workspace("james", session="monday").episodic
            (item, other, *_) = remember(being, TOLD, *SAILING)
            changes: dict[str, Callable[[], object]] = {
                "correct": lambda: being.correct_node(item, feeling="blue"),
                "retell": lambda: loom.workspace("james").correct(item, "James tuned the harpsichord"),
                "merge": lambda: being.merge_nodes([item, other], "James tuned the organ before he sailed"),
                "split": lambda: being.split_node(item, ["James tuned the organ", "James baked a cake"]),
            }
            model.asked.clear()
            model.may_answer.clear()
            with ThreadPoolExecutor(1) as elsewhere:
                changing = elsewhere.submit(changes[change])
                assert model.asked.wait(PATIENCE)
                loom.workspace("james").episodic.move_node(item, name="Music")
                model.may_answer.set()
                changing.result()
            (music,) = [each for each in being.map_clusters().clusters if each.cluster.name == "Music"]
            assert music.cluster.id == being.show(item).cluster_id
            assert music.cluster.active == {"split": 2}.get(change, 1)
