"""The set in nine languages is complete, and is measured as the page of benchmarks says."""

from __future__ import annotations

import json

import pytest

from benchmarks.crosslingual import FILE, lines, measure
from everloom.kernel.texts import language_of
from everloom.models.static.multilingual import MultilingualStaticEmbedder


def test_every_item_has_a_text_and_a_question_in_every_language() -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    assert data["languages"] == ["en", "de", "fr", "es", "ru", "ja", "zh", "ar", "hi"]
    assert {item["kind"] for item in data["items"]} == {"fact", "scene"}
    for item in data["items"]:
        for code in data["languages"]:
            assert language_of(item["text"][code]) == code, item["text"][code]
            assert item["question"][code] != item["text"][code]


@pytest.mark.promise("models.noise")
def test_the_known_noise_of_the_default_is_what_is_measured() -> None:
    found = measure(MultilingualStaticEmbedder())
    assert found.same["en"] == 1.0
    # By chance it would be .08 each.
    assert sum(found.same.values()) / len(found.same) > 0.7
    assert found.other > 0.4
    for script, (mean, _) in MultilingualStaticEmbedder.traits.noise_by_script.items():
        cosines = found.noise[script].unrelated
        assert sum(cosines) / len(cosines) == pytest.approx(mean, abs=0.01)
    first, second = lines("x", found)
    assert first.startswith("| x | 1.00 |")
    assert "±" in second
