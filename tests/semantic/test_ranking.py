"""The retrieval bias, end to end on real vectors: each test fails when its term is taken out of the one ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from everloom.clock import ManualClock, to_micros
from everloom.loom import Loom
from everloom.semantic import NewObservation, Semantic
from everloom.semantic.arguments import SearchMode
from everloom.semantic.recall import retrieval
from everloom.semantic.results import QuestionRecall

Later = Callable[..., datetime]
MODES = pytest.mark.parametrize("mode", ["embedding", "hybrid"])


def places(mind: Semantic, query: str, mode: SearchMode) -> dict[int, int]:
    """Say where each hit stands."""
    return {hit.id: place for place, hit in enumerate(mind.search(query, 50, mode))}


def scores(mind: Semantic, query: str) -> dict[int, float]:
    """Say how each hit scores by vectors alone."""
    return {hit.id: hit.score for hit in mind.search(query, 50, "embedding")}


def fill(mind: Semantic) -> None:
    """Write some other things, so that scores have something to stand out from."""
    texts = ["The oven burns bread.", "Rain fell on Lisbon.", "Taxes are due in May.", "A cat slept on the piano."]
    mind.add_observations([NewObservation(subject_names=("misc",), content=text) for text in texts])


@MODES
@pytest.mark.promise("semantic.5")
def test_a_covered_observation_ranks_below_its_understanding(
    mind: Semantic, later: Later, mode: SearchMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(mind)
    old = mind.remember(["James"], "James sails a wooden boat every Sunday morning.")
    later(days=60)
    text = "James sails a wooden boat, and he is fond of music and of long letters."
    cover = mind.create_understanding(["James"], text, "James, sailor").id
    # Both hold what is asked for and answer about equally well: only then does the bias decide.
    places_now = places(mind, "Who sails a wooden boat?", mode)
    assert places_now.get(old.id, 99) > places_now[cover]
    bare = {
        name: replace(recipe, bias=replace(recipe.bias, covered=1.0, synthesis=1.0, recency=0.0))
        for name, recipe in retrieval._RECIPES.items()
    }
    monkeypatch.setattr(retrieval, "_RECIPES", bare)
    without = places(mind, "Who sails a wooden boat?", mode)
    assert without[old.id] < without[cover], "it is the bias that puts the understanding first"


@MODES
@pytest.mark.promise("semantic.5")
def test_a_fresh_uncovered_observation_ranks_above_an_old_covered_one(
    mind: Semantic, later: Later, mode: SearchMode
) -> None:
    fill(mind)
    old = mind.remember(["James"], "James sails his boat to the island on Sundays.")
    mind.create_understanding(["James"], "James has hobbies at weekends.", "Hobbies")
    later(days=90)
    fresh = mind.remember(["James"], "James wants to sell his sailing boat soon.")
    found = places(mind, "James sails his boat", mode)
    assert found[fresh.id] < found.get(old.id, 99)
    recalled = mind.recall("what about James and his sailing boat?")
    assert isinstance(recalled, QuestionRecall)
    assert recalled.best_answer is not None
    assert recalled.best_answer.id == fresh.id


@pytest.mark.promise("semantic.5")
def test_time_lowers_what_is_not_used_and_use_holds_it_up(mind: Semantic, later: Later) -> None:
    fill(mind)
    left = mind.remember(["James"], "James plays the old cello in the evening.")
    used = mind.remember(["James"], "James plays the new cello at night.")
    fresh = scores(mind, "James plays the cello")
    later(days=200)
    aged = scores(mind, "James plays the cello")
    assert aged[left.id] < fresh[left.id]
    for _ in range(3):
        mind.recall("does James play the new cello at night?")
    after = scores(mind, "James plays the cello")
    assert after[used.id] > aged[used.id]


@pytest.mark.promise("semantic.5")
def test_verdicts_move_what_they_are_about(mind: Semantic) -> None:
    fill(mind)
    doubtful = mind.remember(["James"], "James was born in Bremen.")
    mind.remember(["Germany"], "Germany has a north.")
    good = mind.create_understanding(["Germany"], "James comes from the north of Germany.", "From the north").id
    before = scores(mind, "where was James born?")
    mind.mark_questionable(doubtful.id, "he said Hamburg")
    mind.mark_useful(good)
    after = scores(mind, "where was James born?")
    assert after.get(doubtful.id, 0.0) < before[doubtful.id]
    assert after[good] > before[good]
    (flagged,) = mind.get_consolidation_report().questionable_items
    assert (flagged.id, flagged.kind, flagged.reason) == (doubtful.id, "observation", "he said Hamburg")


@pytest.mark.promise("semantic.5")
def test_strong_provenance_softens_the_penalty_of_being_covered(loom: Loom, later: Later) -> None:
    strong = loom.workspace("james", session="a", model_tier="large").semantic
    weak = loom.workspace("james", session="b", model_tier="small").semantic
    fill(strong)
    trusted = strong.remember(["bikes"], "The red bicycle has nine gears.", confidence=1.0)
    doubted = weak.remember(["bikes"], "The blue bicycle has six gears.", confidence=0.0)
    read = strong.get_consolidation_report().as_of_id
    strong.create_understanding(["bikes"], "Bicycles are kept in the shed.", "In the shed", seen_through_id=read)
    later(days=60)
    found = loom.finder.search(loom.workspace("james").info.id, "gears of the red and of the blue bicycle").hits
    covered = {hit.id: hit.bias["covered"] for hit in found if hit.is_covered}
    assert covered.keys() == {trusted.id, doubted.id}
    assert covered[doubted.id] < covered[trusted.id] < 1.0


@pytest.mark.promise("semantic.5")
def test_what_covers_is_the_same_subjects_or_what_an_understanding_rests_on(mind: Semantic, loom: Loom) -> None:
    alone = mind.remember(["James"], "James alone at sea.")
    together = mind.remember(["James", "Audrey"], "James with Audrey at sea.")
    cited = mind.remember(["James", "sea"], "The sea that James loves.")
    mind.create_understanding(["James"], "James and water.", "Water", source_observation_ids=[cited.id])
    late = mind.remember(["James"], "James came home from sea.")

    def covered() -> set[int]:
        found = loom.finder.search(loom.workspace("james").info.id, "James sea", limit=50)
        unfolded = {hit.id for hit in found.hits if hit.is_covered}
        return unfolded | {item for hit in found.hits for item in hit.also}

    assert covered() == {alone.id, cited.id}
    mind.remember(["home"], "James alone at sea.")
    assert covered() == {cited.id}, "with another subject it says something that the understanding does not"
    assert together.id not in covered()
    assert late.id not in covered()


def test_documents_do_not_come_to_mind(mind: Semantic) -> None:
    mind.orient()
    mind.remember(["James"], "James names his boats after stars.")
    brought = mind.bring_to_mind(["naming subjects", "tagging an observation", "who you are"])
    assert [each.content for each in brought.results] == ["James names his boats after stars."]
    kinds = [hit.understanding_kind for hit in mind.search("naming subjects", max_tokens=10_000)]
    assert kinds[0] is None, "they do not crowd out what was observed"
    assert "protocol" in kinds


def test_every_topic_has_its_turn(mind: Semantic) -> None:
    mind.add_observations(
        [
            *(
                NewObservation(subject_names=("boat",), content=f"Boat part {n} needs varnish and rope.")
                for n in range(30)
            ),
            NewObservation(subject_names=("cello",), content="The cello lost a string."),
        ]
    )
    brought = mind.bring_to_mind(["varnish and rope for the boat", "cello string"])
    assert "The cello lost a string." in [each.content for each in brought.results]
    # Those that say the same are folded, and named inside the hit that stands for them.
    assert sum(1 + len(each.also) for each in brought.results) > 8
    assert brought.results == tuple(sorted(brought.results, key=lambda each: -each.relevance_score))


def test_as_of_an_earlier_date_evidence_is_covered_by_what_was_understood_then(
    mind: Semantic, loom: Loom, later: Later, clock: ManualClock
) -> None:
    kept = mind.remember(["James"], "James sails a wooden boat on Sundays.")
    first = mind.create_understanding(["James"], "James is a sailor.", "James, sailor")
    then = clock.now()
    later(days=2)
    mind.update_understanding(first.id, "James sold his boat.", "James, once a sailor")
    workspace = loom.workspace("james")
    with loom.store.read(workspace.info.id) as unit:
        covers = [row["cover_id"] for row in unit.all("words.cover_of", ids=[kept.id], as_of=to_micros(then))]
    assert covers == [first.id]


@pytest.mark.promise("search.context-at-question")
def test_what_one_pass_understands_lends_no_words_to_what_it_understands_next(loom: Loom, mind: Semantic) -> None:
    for name in ("Ivo", "Maya"):
        mind.remember([name], f"{name} works at the harbour.")
    mind.create_understanding(["Ivo"], "Ivo collects brass sextants.", "Ivo")
    mind.create_understanding(["Maya"], "Maya is shy of strangers.", "Maya")
    hits = loom.workspace("james").search("Who collects brass sextants?")
    assert hits[0].text == "Ivo collects brass sextants."
    assert all("sextants" not in hit.words_around for hit in hits if hit.kind == "understanding")
    assert all(hit.signals["context"] == 0.0 for hit in hits if hit.kind == "understanding")
