"""Clusters without a model: scenes that belong together are found together, stay together, and have a readable name."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.clusters import information, live_through, purity, rand, read_scenes
from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.episodic.patrol.prototypes import shipped_prototypes
from everloom.episodic.scenes.geometry import Floats, unit_rows
from everloom.episodic.scenes.grouping import link_groups, match_groups
from everloom.episodic.scenes.naming import ClusterNames, words_in
from everloom.kernel.texts import language_of
from everloom.loom import Loom
from tests.episodic.ground import BILLING, SAILING, life_of, open_being, patrol, remember, scene, step


def slowly_linked(alike: Floats, cut: float) -> list[list[int]]:
    """Link groups by comparing all of them after every step."""
    groups = [[place] for place in range(len(alike))]
    while len(groups) > 1:
        pairs = [(a, b) for a in range(len(groups)) for b in range(a)]
        near = [float(alike[np.ix_(groups[a], groups[b])].mean()) for a, b in pairs]
        best = int(np.argmax(near))
        if near[best] < cut:
            break
        a, b = pairs[best]
        groups[b] += groups.pop(a)
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group[0]))


@pytest.mark.promise("episodic.clusters")
def test_linking_along_chains_finds_what_comparing_everything_finds() -> None:
    for seed in range(12):
        rows = unit_rows(np.random.default_rng(seed).normal(size=(3 + seed, 4)).astype(np.float32))
        for cut in (-1.5, 0.0, 0.3, 0.8, 1.5):
            assert link_groups(rows @ rows.T, cut) == slowly_linked(rows @ rows.T, cut)
    # Equals must not send a chain round in a circle.
    same = np.ones((9, 9), np.float32)
    assert link_groups(same, 1.0) == [list(range(9))]
    assert link_groups(same, 1.1) == [[place] for place in range(9)]
    assert link_groups(np.zeros((0, 0), np.float32), 0.5) == []


@pytest.mark.promise("episodic.clusters")
def test_a_group_continues_the_cluster_whose_scenes_it_holds_at_least_half_of() -> None:
    old = {7: [0, 1, 2, 3], 8: [4, 5, 6], 9: [7, 8, 9, 10]}
    assert match_groups([[0, 1, 2, 4], [5, 6, 11], [7, 8]], old) == {0: 7, 1: 8, 2: 9}
    assert match_groups([[0, 1, 2, 3, 4, 5, 6]], old) == {0: 7}
    assert match_groups([[0, 4, 7, 11]], old) == {}


@pytest.mark.promise("episodic.clusters")
def test_a_name_is_the_rarest_words_that_scenes_share_in_any_script_and_nobody_has_it_twice() -> None:
    told = [
        *("We walked the dog to the vet", "She saw the vet's dog", "The dogs barked, James laughed"),
        *("Die Oma war im Krankenhaus", "Wir brachten der Oma Blumen ins Krankenhaus"),
        *("決済サーバーが止まった", "サーバーの障害を直した", "犬と歩いた", "母が歌った"),
        *("Es regnet seit dem Morgen", "Wir haben die Tür gestrichen"),
        *("James slept", "Nothing in common", "James ran", "James sang"),
    ]
    names = ClusterNames([words_in([text]) for text in told], [language_of(text) or "en" for text in told], ["taken"])
    assert names.name([0, 1, 2], "?") == "dog, vet"
    assert set(names.name([3, 4], "?").split(", ")) == {"Oma", "Krankenhaus"}
    assert names.name([5, 6], "?") == "サーバー"
    assert names.name([11, 12], "taken") == "taken (2)"
    assert names.name([0, 1, 2], "another") == "another"


@pytest.mark.promise("episodic.clusters")
def test_measures_of_a_sorting_are_what_they_are_known_to_be() -> None:
    themes = ["a", "a", "b", "b"]
    assert (purity([1, 1, 2, 2], themes), information([1, 1, 2, 2], themes), rand([1, 1, 2, 2], themes)) == (1, 1, 1)
    assert (purity([1, 2, 1, 2], themes), information([1, 2, 1, 2], themes)) == (0.5, 0)
    assert rand([1, 2, 1, 2], themes) == pytest.approx(-0.5)


@pytest.mark.promise("episodic.clusters")
def test_scenes_in_three_languages_are_sorted_better_than_by_chance_and_stay_sorted(loom: Loom) -> None:
    scenes = read_scenes()
    assert len(scenes) >= 100
    assert len({each.language for each in scenes}) == 3
    found = live_through(loom, scenes)
    # With the smallest embedder. Before scenes were sorted by likeness: purity as by chance, Rand 0, roots .59.
    assert found.purity >= found.chance + 0.08
    assert found.rand >= 0.05
    assert found.roots >= 0.6
    assert found.kept >= 0.8
    assert 8 <= found.clusters <= 40


@pytest.mark.promise("episodic.clusters")
def test_a_patrol_with_nothing_new_changes_no_cluster(being: Episodic, store_url: str) -> None:
    homes = []
    for part in (SAILING, BILLING, [f"{each} again" for each in BILLING], []):
        remember(being, *part)
        homes.append({item: row["cluster_id"] for item, row in life_of(store_url).items()})
    assert homes[-1] == homes[-2]
    assert step(being, "split").counts["moved"] == 0
    names = [cluster.name for cluster in being.recall_memory().clusters]
    assert len(names) == len(set(names))
    patrol(being, 2)
    assert {item: row["cluster_id"] for item, row in life_of(store_url).items()} == homes[-1]


@pytest.mark.promise("episodic.clusters")
def test_clusters_that_drifted_are_sorted_anew_with_the_next_new_scene(being: Episodic, store_url: str) -> None:
    sailing = remember(being, *SAILING, *(f"{each} at dawn" for each in SAILING))
    billing = remember(being, *BILLING, *(f"{each} again" for each in BILLING))
    homes = {item: row["cluster_id"] for item, row in life_of(store_url).items()}
    boats, bills = (Counter(homes[item] for item in items).most_common(1)[0][0] for items in (sailing, billing))
    astray = {
        bills: [item for item in sailing if homes[item] == boats][::2],
        boats: [item for item in billing if homes[item] == bills][::2],
    }
    with being._being.op.write("test") as tx:
        for cluster, items in astray.items():
            tx.unit.run("episodic.move", ids=items, cluster=cluster)
    patrol(being)
    assert step(being, "split").counts.get("redone", 0) == 0, "time alone is no reason to sort anew"
    remember(being, "James scrubbed the deck of the boat")
    assert step(being, "split").counts["redone"] == 1
    lives = life_of(store_url)
    mixed = {lives[item]["cluster_id"] for item in sailing} & {lives[item]["cluster_id"] for item in billing}
    assert all(cluster not in mixed for cluster in (boats, bills))
    assert {boats, bills} & {row["cluster_id"] for row in lives.values()}, "what continues a cluster keeps it"


@pytest.mark.promise("episodic.clusters")
def test_new_scenes_join_their_cluster_and_pinned_ones_stay(being: Episodic, store_url: str) -> None:
    pinned = remember(being, "James varnished the deck of the boat")[0]
    being.pin_node(pinned)
    before = life_of(store_url)[pinned]["cluster_id"]
    sailing = remember(being, *SAILING, *BILLING, *(f"{each} again" for each in BILLING))[: len(SAILING)]
    home = life_of(store_url)[sailing[0]]["cluster_id"]
    (new,) = remember(being, "James painted the mast of the boat")
    lives = life_of(store_url)
    assert lives[new]["cluster_id"] == home
    assert lives[pinned]["cluster_id"] == before


@pytest.mark.promise("episodic.clusters")
def test_prototypes_tell_business_from_private_and_the_settings_can_replace_them(
    being: Episodic, store_url: str, clock: ManualClock
) -> None:
    for business, private in shipped_prototypes().values():
        assert len(business) == len(private)
    told = ["The customer signed the contract for the project", "Mother cooked dinner for the children at home"]
    items = remember(being, *told)
    roots = {cluster.id: cluster.name for cluster in being.recall_memory().clusters}
    assert [roots[life_of(store_url)[item]["cluster_id"]] for item in items] == ["Business", "Private"]
    swapped = {"business_prototypes": ["dinner with mother at home"], "private_prototypes": ["a contract, a customer"]}
    with open_being(store_url, clock, **swapped) as other:
        again = remember(other.workspace("james").episodic, *(scene(each) for each in told))
    assert [roots[life_of(store_url)[item]["cluster_id"]] for item in again] == ["Private", "Business"]


@pytest.mark.promise("episodic.clusters")
def test_many_scenes_are_linked_into_as_many_groups_as_there_are() -> None:
    chance = np.random.default_rng(3)
    centres = unit_rows(chance.normal(size=(40, 32)).astype(np.float32))
    noise = 0.05 * chance.normal(size=(1_500, 32)).astype(np.float32)
    rows = unit_rows(centres[chance.integers(40, size=1_500)] + noise)
    assert len(link_groups(rows @ rows.T, 0.7)) == 40


@pytest.mark.promise("episodic.6", "episodic.clusters")
def test_a_root_that_gives_birth_keeps_two_scenes_in_the_very_first_patrol(being: Episodic) -> None:
    remember(being, *BILLING, *(f"{each} again" for each in BILLING))
    clusters = being.recall_memory().clusters
    assert step(being, "split").counts["born"] == sum(not cluster.is_root for cluster in clusters) > 0
    assert all(cluster.active >= 2 for cluster in clusters if cluster.active)
    (crowded,) = (cluster for cluster in clusters if cluster.name == "Business")
    assert crowded.active >= 2
