"""What is known of an embedder's noise: the script of the question decides."""

from __future__ import annotations

import pytest

from everloom.models.catalog import Traits
from everloom.models.noise import Script, noise_of, script_of
from everloom.models.static.embed import StaticEmbedder


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Where does Maya live?", Script.ENGLISH),
        ("310", Script.ENGLISH),
        ("", Script.ENGLISH),
        ("Где живёт Майя?", Script.CYRILLIC),
        ("Mayaはどこに住んでいますか", Script.CJK),
        ("玛雅住在哪里?", Script.CJK),
        ("마야는 어디에 살아요?", Script.CJK),
        ("أين تعيش مايا؟", Script.ARABIC),
        ("माया कहाँ रहती है?", Script.DEVANAGARI),
        ("Πού μένει η Μάγια;", Script.OTHER),
    ],
)
def test_the_script_of_most_letters_is_that_of_the_text(text: str, script: Script) -> None:
    assert script_of(text) is script


def test_latin_letters_are_english_unless_the_caller_knows_better() -> None:
    assert script_of("Wo wohnt Maya?") is Script.ENGLISH
    assert script_of("Wo wohnt Maya?", is_english=False) is Script.LATIN
    assert script_of("Где живёт Майя?", is_english=False) is Script.CYRILLIC


@pytest.mark.promise("models.noise")
def test_noise_is_that_of_the_question_s_script() -> None:
    traits = StaticEmbedder.traits
    english, _ = noise_of(traits, "Where does Maya live?")
    german, _ = noise_of(traits, "Wo wohnt Maya?", is_english=False)
    arabic, _ = noise_of(traits, "أين تعيش مايا؟")
    assert english == traits.noise[0]
    assert english < german < arabic


def test_a_script_that_nobody_measured_counts_as_the_worst_that_was() -> None:
    traits = Traits(noise=(0.1, 0.1), noise_by_script={"arabic": (0.8, 0.1), "cjk": (0.5, 0.1)})
    assert noise_of(traits, "Πού μένει;") == (0.8, 0.1)
    assert noise_of(Traits(noise=(0.1, 0.1)), "Πού μένει;") == (0.1, 0.1)
