"""A year of daily patrols over two thousand scenes: the population is what the rules say it should be."""

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
def test_a_year_of_daily_patrols_leaves_a_plausible_population(
    quick_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    curve = live(quick_url)
    with capsys.disabled():
        sys.stdout.write(f"\n{plot(curve)}\nday 365: {curve[-1]}\n")
    assert len(curve) == 365
    for before, day in pairwise(curve):
        # A scene more or less than the day brought would mean one lost or doubled.
        assert day.active + day.dying + day.faded + day.absorbed == 2_000 * day.number // 365
        assert day.dying <= 80
        assert day.clusters >= 2
        assert before.number + 1 == day.number
    early, middle, last = curve[29], curve[179], curve[-1]
    # At first nearly everything is remembered; then as much fades as comes, and the living level off.
    assert early.faded < 0.2 * 164
    assert 200 < last.active < 600
    assert abs(last.active - middle.active) < 0.25 * middle.active
    assert last.faded > 1_200
    # Eight topics and two roots: a few clusters more or less, but neither one heap nor a cluster for every handful.
    assert 6 <= last.clusters <= 16
