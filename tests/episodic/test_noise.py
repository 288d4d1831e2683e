"""The noise of an embedder: measured on real texts, refused where it separates nothing, and used by search."""

from __future__ import annotations

import random

import numpy as np
import pytest

from everloom.episodic import Episodic
from everloom.episodic.calibration import CalibrationText
from everloom.episodic.noise import MOST, HalvedText, halves, measure_noise
from everloom.loom import Loom
from everloom.models.noise import Script
from tests.episodic.ground import remember
from tests.episodic.year import TOPICS

ASKED = "Who repaired the mast of the boat?"


def paragraphs() -> list[CalibrationText]:
    """Tell of topics, each its own source, in two sentences of the same words."""
    chance = random.Random(5)
    found = []
    for topic, words in TOPICS.items():
        for _ in range(12):
            one, two, three, four = chance.sample(words.split(), 4)
            text = f"James at the {topic} with {one} and {two}. Then came {three}, {four} and the {topic} again."
            found.append(CalibrationText(text=text, source=topic))
    return found


@pytest.mark.parametrize(
    ("text", "question", "rest"),
    [
        (
            "Hey! We sailed to Elba with the new mast. Good wind.",
            "Hey! We sailed to Elba with the new mast.",
            "Good wind.",
        ),
        (
            "マヤはリスボンに住んでいる。去年ポルトから引っ越した。",
            "マヤはリスボンに住んでいる。",
            "去年ポルトから引っ越した。",
        ),
        ("one sentence without an end in it", "one sentence without", "an end in it"),
    ],
)
def test_the_beginning_of_a_text_asks_and_the_rest_answers(text: str, question: str, rest: str) -> None:
    (half,) = halves([(text, "a", ())])
    assert (half.question, half.rest) == (question, rest)


def test_a_question_that_is_known_is_asked_instead() -> None:
    (half,) = halves([("We sailed to Elba. The wind was good.", "a", ("Where did we sail?",))])
    assert (half.question, half.rest) == ("Where did we sail?", "We sailed to Elba. The wind was good.")


def test_short_texts_are_left_out_and_long_memories_are_sampled_by_script() -> None:
    assert not halves([("Yes.", "a", ()), ("", "b", ())])
    many = [(f"We sailed on day {number} of the year. The wind was good.", "a", ()) for number in range(3 * MOST)]
    chosen = halves([*many, ("Мы плыли на Эльбу весь день. Ветер был хороший.", "b", ())])
    assert sum(each.script is Script.ENGLISH for each in chosen) == MOST
    assert sum(each.script is Script.CYRILLIC for each in chosen) == 1


def unrelated(count: int) -> list[HalvedText]:
    return [
        HalvedText(question=f"question{n}", rest=f"answer{n}", source=str(n % 2), script=Script.ENGLISH)
        for n in range(count)
    ]


@pytest.mark.promise("models.noise")
def test_what_does_not_separate_is_refused() -> None:
    texts, chance = unrelated(40), np.random.default_rng(1)
    rows = chance.normal(size=(40, 32)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    strange = np.roll(rows, 1, axis=0)
    (good,), (bad,) = measure_noise(texts, rows, rows), measure_noise(texts, rows, strange[::-1])
    assert good.refusal is None
    assert abs(good.mean) < 0.05
    assert good.answers_above == 1.0
    assert bad.refusal == "the embedder does not tell answers from unrelated texts"
    assert not measure_noise(texts[:10], rows[:10], rows[:10])


@pytest.mark.promise("models.noise")
def test_texts_on_one_thing_say_nothing_about_noise() -> None:
    alike = [HalvedText(question="the boat", rest="the boat", source=str(n), script=Script.ENGLISH) for n in range(30)]
    rows = np.ones((30, 1), np.float32)
    (found,) = measure_noise(alike, rows, rows)
    assert found.refusal == "too few of the texts are about different things"


def best(loom: Loom) -> float:
    """Ask without a word of the answer, and return how likely the first hit is taken to answer."""
    return loom.workspace("james").search(ASKED)[0].answers


@pytest.mark.promise("models.noise")
def test_search_uses_the_noise_that_a_calibration_measured(being: Episodic, loom: Loom) -> None:
    model = loom.embedding.preferred
    with loom.store.read(0) as unit:
        before = loom.embedding.ask_noise(unit, model, ASKED)()
    assert before == loom.embedding.chain.traits.noise
    being.calibrate(paragraphs(), keep=False)
    with loom.store.read(0) as unit:
        assert loom.embedding.ask_noise(unit, model, ASKED)() == before
    remember(being, "The carpenter mended the spar of the yacht.")
    believed = best(loom)
    (measured,) = being.calibrate(paragraphs()).noise
    assert measured.refusal is None
    # Where unrelated texts are further apart, the same cosine is more of a sign.
    assert measured.mean < before[0] - 0.05
    assert best(loom) > believed
    assert measured.answers_above > measured.unrelated_above + 0.3
    with loom.store.read(0) as unit:
        assert loom.embedding.ask_noise(unit, model, ASKED)() == (measured.mean, measured.spread)
        # Nothing was measured in Arabic, so what is known of the model stays.
        known = loom.embedding.chain.traits.noise_by_script
        assert loom.embedding.ask_noise(unit, model, "من أصلح سارية القارب؟")() == known["arabic"]
        assert loom.embedding.ask_noise(unit, model, "Wer hat den Mast vom Boot repariert?")() == known["latin"]
