"""A year of daily patrols over hundreds or thousands of scenes: the population is what the rules say it should be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.episodic.year import live, plot

MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_url(tmp_path: Path) -> Iterator[str]:
    """A SQLite file in memory where there is such a place: thousands of commits need not reach a disk here."""
    parent = MEMORY if MEMORY.is_dir() else tmp_path
    with TemporaryDirectory(dir=parent) as folder:
        yield f"sqlite:///{folder}/loom.db"


@pytest.mark.promise("episodic.year")
@pytest.mark.parametrize("scenes", [600, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_year_of_daily_patrols_leaves_a_plausible_population(
    scenes: int, quick_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    curve = live(quick_url, scenes=scenes)
    with capsys.disabled():
        sys.stdout.write(f"\n{plot(curve)}\nday 365: {curve[-1]}\n")
    assert len(curve) == 365
    for before, day in pairwise(curve):
        # A scene more or less than the day brought would mean one lost or doubled.
        assert day.active + day.dying + day.faded + day.absorbed == scenes * day.number // 365
        assert day.dying <= 0.05 * scenes
        assert day.clusters >= 2
        assert before.number + 1 == day.number
    early, middle, last = curve[29], curve[179], curve[-1]
    # At first nearly everything is remembered; then as much fades as comes, and the living level off.
    assert early.faded < 0.2 * scenes * 30 / 365
    assert 0.1 * scenes < last.active < 0.3 * scenes
    assert abs(last.active - middle.active) < 0.25 * middle.active
    assert last.faded > 0.6 * scenes
    # Eight topics and two roots: a few clusters more or less, but neither one heap nor a cluster for every handful.
    assert 6 <= last.clusters <= 16
