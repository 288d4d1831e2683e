"""What the token estimator and its calibration promise."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from everloom.models.text import Calibration, estimate, trimmed

TEXTS = st.text(st.characters(), max_size=200)

TONGUES = {
    "English": "James went sailing on the lake with his brother last summer, and he loved it. ",
    "code": "def wait(self, tried: int) -> float:\n    return self.first * 2 ** (tried - 1)\n",
    "JSON": '{"kind": "scene", "tags": ["lake", "boat"], "note": "not yet read"}',
    "Russian": "Вчера мы с братом ходили на озеро кататься на лодке, и нам очень понравилось. ",
    "French": "L'été dernier, mon frère a été très déçu par la météo à la mer. ",
    "Japanese": "昨日は弟と湖でボートに乗りました。とても楽しかったです。",
}


@pytest.mark.parametrize("tongue", TONGUES)
def test_the_estimate_is_near_a_real_tokenizer(tongue: str) -> None:
    # The only one at hand is Llama 2's; its small vocabulary counts rather more than today's tokenizers do.
    found = find_spec("wordllama")
    assert found is not None
    assert found.origin is not None
    file = Path(found.origin).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
    text = TONGUES[tongue] * 10
    counted = len(Tokenizer.from_file(str(file)).encode(text, add_special_tokens=False).ids)
    assert 0.9 <= estimate(text) / counted <= 1.3


@pytest.mark.parametrize(
    ("text", "least"), [("昨天我和我弟弟去湖上划船", 12), ("🦊🎉😀", 6), ("12345678901234567890", 7)]
)
def test_dense_text_is_not_taken_for_english(text: str, least: int) -> None:
    assert estimate(text) >= least


@given(TEXTS)
def test_every_text_has_an_estimate_and_no_text_has_none(text: str) -> None:
    assert 0 <= estimate(text) <= 4 * len(text) + 1
    assert estimate("") == 0


@given(TEXTS, TEXTS)
def test_saying_more_never_costs_less(text: str, more: str) -> None:
    assert estimate(text + more) >= estimate(text)
    assert estimate(text + more) <= estimate(text) + estimate(more) + 1


@given(TEXTS, st.integers(0, 100))
def test_a_trimmed_text_is_a_beginning_that_fits(text: str, limit: int) -> None:
    short = trimmed(text, limit)
    assert text.startswith(short)
    assert estimate(short) <= limit
    assert short == text or estimate(text) > limit


def test_calibration_learns_what_replies_report() -> None:
    calibration = Calibration()
    assert calibration.factor == 1.0
    for _ in range(200):
        calibration.observe(1_000, 1_300)
    assert calibration.factor == pytest.approx(1.3, abs=0.02)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
def test_calibration_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in reports:
        assert Calibration.LOWEST <= calibration.observe(estimated, reported) <= Calibration.HIGHEST


def test_a_reply_without_counts_teaches_nothing() -> None:
    calibration = Calibration()
    assert calibration.observe(500, 0) == calibration.observe(0, 500) == 1.0
