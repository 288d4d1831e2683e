"""What a Being answers with: the scene that fits, however old and often merged, and nothing where nothing fits."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from everloom.episodic import Episodic
from everloom.episodic.scenes.node import scene_document
from everloom.loom import Loom
from tests.episodic.ground import BILLING, NOW, SAILING, life_of, remember, scene

ELBA = "We took the ferry to Elba and walked along the beaches for a week"
CUE = "Remember our trip to Elba?"
SIGHTS = "harbour fort market church mine castle lighthouse museum vineyard cave garden tower".split()
UNRELATED = [
    "Who is the prime minister of Japan?",
    "How long do I boil an egg?",
    "Translate good morning into Finnish",
    "quadratic formula derivation",
    "photosynthesis in desert cacti",
    "What is the capital of Mongolia?",
    "Beethoven's ninth symphony",
    "How do vaccines work?",
    "recursive descent parsing",
    "stock prices of copper mines",
]


def dated(action: str, number: int) -> dict[str, object]:
    """Tell a scene of a day of its own."""
    return scene(action, when=[str(date(2026, 3, 1) + timedelta(days=9 * number))])


@pytest.mark.promise("episodic.answers")
def test_a_trip_is_recalled_by_its_name_however_often_it_was_merged(being: Episodic) -> None:
    trip, *_ = remember(being, dated(ELBA, 0), *SAILING, *BILLING)
    days = remember(being, *(dated(f"We looked at the {sight}", 1 + at) for at, sight in enumerate(SIGHTS)))
    assert trip in being.recall(CUE).node_ids
    for each in days:
        trip = being.merge_nodes([trip, each], ELBA).node.id
        assert trip in being.recall(CUE).node_ids
        assert being.search_memory(CUE).hits[0].node.id == trip
    assert len(being.show(trip).scene.when) == 13


@pytest.mark.promise("episodic.dates")
def test_dates_are_found_by_words_and_by_time_and_are_no_part_of_the_vector(being: Episodic, loom: Loom) -> None:
    once, often = remember(
        being,
        scene(ELBA, when=["2026-03-14"]),
        scene(ELBA, when=[f"2026-{month:02}-01" for month in range(1, 10)]),
    )
    with loom.store.read(loom.workspace("james").info.id) as unit:
        vectors = loom.embedding.held(unit, [once, often])
    assert np.array_equal(vectors[once], vectors[often])
    assert [hit.node.id for hit in being.search_memory("2026-03-14", mode="and").hits] == [once]
    assert loom.workspace("james").search("2026 03 14")[0].id == once
    document = scene_document(being.show(once).content, NOW)
    assert ("2026" in document.details, document.happened_at.date()) == (True, date(2026, 3, 14))


@pytest.mark.promise("episodic.answers")
def test_what_does_not_fit_is_neither_recalled_nor_made_stronger(being: Episodic, store_url: str) -> None:
    remember(being, *SAILING, *BILLING, dated(ELBA, 0))
    before = life_of(store_url)
    for cue in UNRELATED:
        recalled, found = being.recall(cue), being.search_memory(cue)
        assert (recalled.text, recalled.node_ids, recalled.reason) == ("", (), "no scene fits")
        assert not found.fits
        assert not any(hit.fits for hit in found.hits)
        assert len(found.hits) <= 3
        assert found.text.startswith(("nothing fits well", "no related memory"))
    assert life_of(store_url) == before


@pytest.mark.promise("episodic.answers")
def test_only_what_is_shown_and_fits_is_made_stronger(being: Episodic) -> None:
    remember(being, *SAILING, *BILLING, dated(ELBA, 0))
    found = being.search_memory("the wrong invoice of a customer")
    assert found.fits
    assert found.hits[0].node.scene.action == "A customer reported a wrong invoice of the billing service"
    for hit in found.hits:
        assert being.show(hit.node.id).reactivation_count == int(hit.fits)
    assert [hit.fits for hit in found.hits] == sorted((hit.fits for hit in found.hits), reverse=True)
    assert all(0.0 <= hit.answers <= 1.0 for hit in found.hits if hit.answers is not None)


@pytest.mark.promise("episodic.answers")
def test_words_are_enough_while_no_embedder_answers(
    being: Episodic, loom: Loom, monkeypatch: pytest.MonkeyPatch
) -> None:
    trip, *_ = remember(being, dated(ELBA, 0), *SAILING, *BILLING)
    monkeypatch.setattr(loom.embedding, "probe", lambda *_: None)
    assert being.recall("the ferry to Elba").node_ids == (trip,)
    assert being.recall("What is the capital of Mongolia?").node_ids == ()
