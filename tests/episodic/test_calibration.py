"""Calibration: thresholds of an embedder, found on real text and kept under its name."""

from __future__ import annotations

import random

import numpy as np
import pytest

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.episodic.calibration import CalibrationText, balance, shipped_thresholds, thresholds_of
from everloom.errors import Rejected
from everloom.loom import Loom, open_loom
from everloom.settings import Settings
from tests.episodic.ground import BILLING, SAILING, open_being, remember
from tests.episodic.year import TOPICS
from tests.scripted.server import ScriptedServer


def passages(cues: bool = True) -> list[CalibrationText]:
    """Tell of topics, each its own source, with a question for every fourth text."""
    chance = random.Random(3)
    found = []
    for topic, words in TOPICS.items():
        for number in range(24):
            chosen = chance.sample(words.split(), 4)
            asked = (f"What about the {chosen[0]} and the {chosen[1]}?",) if cues and number % 4 == 0 else ()
            found.append(CalibrationText(text=f"James at the {topic}: {' '.join(chosen)}", source=topic, cues=asked))
    return found


@pytest.mark.promise("episodic.calibration")
def test_a_balance_is_where_right_and_wrong_are_told_apart_best() -> None:
    right, wrong = np.array([0.5, 0.6, 0.7, 0.8], np.float32), np.array([0.1, 0.2, 0.3, 0.55], np.float32)
    found = balance(right, wrong)
    assert 0.3 <= found.threshold < 0.5
    assert (found.right, found.wrong) == (1.0, 0.25)
    assert balance(right[:0], wrong).worth == 0


@pytest.mark.promise("episodic.calibration")
@pytest.mark.parametrize("cues", [True, False])
def test_thresholds_are_found_kept_and_used(being: Episodic, loom: Loom, store_url: str, cues: bool) -> None:
    tried = being.calibrate(passages(cues), keep=False)
    assert not tried.kept
    found = being.calibrate(passages(cues))
    assert found.model == "static:multilingual-384"
    assert found.recall.right > 0.9
    assert found.recall.wrong < 0.4
    assert found.after.recall == found.recall.threshold == tried.recall.threshold
    with open_being(store_url, loom.clock) as again, again.store.read(0) as unit:
        kept = thresholds_of(again.being(again.workspace("james")), unit)
    assert (kept.recall, kept.cluster, kept.source) == (found.after.recall, found.after.cluster, "calibrated")


@pytest.mark.promise("episodic.calibration")
def test_a_setting_is_stronger_than_calibration(being: Episodic, loom: Loom, store_url: str) -> None:
    being.calibrate(passages())
    with open_being(store_url, loom.clock, recall_threshold=0.9) as strict, strict.store.read(0) as unit:
        assert thresholds_of(strict.being(strict.workspace("james")), unit).recall == 0.9


@pytest.mark.promise("episodic.calibration")
def test_too_little_text_is_refused(being: Episodic) -> None:
    with pytest.raises(Rejected, match="too few"):
        being.calibrate(passages()[:24])
    with pytest.raises(Rejected, match="too few"):
        being.calibrate()


@pytest.mark.promise("episodic.calibration")
def test_what_is_remembered_can_be_calibrated_on(being: Episodic) -> None:
    remember(being, *(passage.text for passage in passages()[:96]))
    found = being.calibrate()
    assert found.recall.worth > 0.5


@pytest.mark.promise("episodic.calibration")
def test_recall_with_the_shipped_thresholds_returns_neither_everything_nor_nothing(being: Episodic) -> None:
    assert "static:multilingual-384" in shipped_thresholds()
    remember(being, *SAILING, *BILLING)
    own = ["Who repaired the mast?", "Did we paint the boat?", "What was released?", "Was the billing service down?"]
    strange = ["What is the capital of Mongolia?", "How long do I boil an egg?", "Translate good morning into Finnish."]
    answered = [bool(being.recall(cue).node_ids) for cue in own]
    assert all(answered)
    assert not any(being.recall(cue).node_ids for cue in strange)
    assert len(being.recall("the billing service").node_ids) == 3


@pytest.mark.promise("episodic.calibration")
def test_thresholds_that_do_not_separate_are_refused_with_what_was_measured(store_url: str, clock: ManualClock) -> None:
    # The server's vectors are hashes of the texts: whatever separates them is an accident.
    with ScriptedServer() as server:
        settings = {"embed": {"models": ("ollama:hashes",)}, "provider": {"ollama_base": server.url}}
        with open_loom(store_url, settings=Settings.model_validate(settings), clock=clock) as loom:
            place = loom.workspace("james")
            for cues in (True, False):
                found = place.episodic.calibrate(passages(cues))
                assert found.refused == ("recall", "cluster")
                assert not found.kept
                assert (found.after.recall, found.after.cluster) == (found.before.recall, found.before.cluster)
                for name, stays, warning in zip(("recall", "cluster"), (0.35, 0.45), found.warnings, strict=True):
                    assert warning.startswith(f"no {name} threshold tells right from wrong on these texts: ")
                    assert warning.endswith(f"{stays:.2f} stays in force (uncalibrated)")
                assert "a difference of" in found.warnings[0]
                assert found.refusal is not None
            with loom.store.read(0) as unit:
                assert thresholds_of(loom.being(place), unit).source == "uncalibrated"


@pytest.mark.promise("episodic.calibration")
def test_what_is_drawn_by_lot_is_never_told_apart() -> None:
    accidents = 0
    for seed in range(100):
        drawn = np.random.default_rng(seed).uniform(size=(2, 60)).astype(np.float32)
        accidents += balance(drawn[0], drawn[1]).separates
    assert accidents <= 8
