"""What a Being answers with: the scene that fits, however old and often merged, and nothing where nothing fits."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from everloom.episodic import Episodic
from everloom.episodic.scenes.node import scene_document
from everloom.loom import Loom
from tests.episodic.ground import NOW, remember, scene

ELBA = "We took the ferry to Elba and walked along the beaches for a week"


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
