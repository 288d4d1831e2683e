"""The geometry of pictures: circles that do not overlap, points that stay inside, the same picture each time."""

from __future__ import annotations

import math
import re
from datetime import date, timedelta
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everloom.episodic.scenes.geometry import project
from everloom.surfaces.page.pictures.clusters import ClusterDot, draw_clusters
from everloom.surfaces.page.pictures.emotions import FeltPoint, draw_bars, draw_lines
from everloom.surfaces.page.pictures.layout import pulled, spread
from everloom.surfaces.page.pictures.lifetime import Lifetime, draw_lifetime
from everloom.surfaces.page.pictures.memories import MemoryDot, MemoryLine, draw_memories

PLACE = st.floats(-1, 1)
CIRCLES = st.lists(st.tuples(st.tuples(PLACE, PLACE), st.floats(0.1, 300)), max_size=45)
AXES = ("valence", "arousal", "dominance", "safety", "novelty", "trust")


@given(CIRCLES)
def test_circles_neither_overlap_nor_leave_their_picture(wanted: list[tuple[tuple[float, float], float]]) -> None:
    placed = spread([place for place, _ in wanted], [size for _, size in wanted], (430, 340))
    for (x1, y1, r1), (x2, y2, r2) in combinations(placed, 2):
        assert math.hypot(x1 - x2, y1 - y2) > r1 + r2
    for x, y, radius in placed:
        assert radius <= x <= 430 - radius
        assert radius <= y <= 340 - radius


@given(st.integers(0, 60), st.data())
def test_points_stay_within_their_picture(count: int, data: st.DataObject) -> None:
    node = st.integers(0, max(0, count - 1))
    edges = data.draw(st.lists(st.tuples(node, node, st.floats(0.1, 1.5)), max_size=80)) if count else []
    placed = pulled(count, edges)
    assert len(placed) == count
    assert all(-1.0001 <= value <= 1.0001 for place in placed for value in place)
    assert placed == pulled(count, edges)


def test_what_is_connected_is_nearer_than_what_is_not() -> None:
    edges = [(one, one + 1, 1.0) for one in range(0, 20, 2)]
    placed = pulled(20, edges)
    near = [math.dist(placed[one], placed[other]) for one, other, _ in edges]
    far = [math.dist(placed[one], placed[other]) for one, other in combinations(range(20), 2) if other != one + 1]
    assert max(near) < sorted(far)[len(far) // 4]


def test_a_projection_keeps_the_plane_that_vectors_lie_in() -> None:
    chance = np.random.default_rng(7)
    plane = np.linalg.qr(chance.normal(size=(32, 2)))[0].T
    flat = chance.normal(size=(12, 2)) * (3.0, 1.0)
    placed = project((flat @ plane).astype(np.float32))
    ratios = [
        np.linalg.norm(placed[one] - placed[other]) / np.linalg.norm(flat[one] - flat[other])
        for one, other in combinations(range(12), 2)
    ]
    assert max(ratios) - min(ratios) < 1e-3
    assert np.abs(placed).max() == 1.0
    assert project(np.ones((3, 8), np.float32)).tolist() == [[0.0, 0.0]] * 3
    assert project(np.zeros((0, 8), np.float32)).shape == (0, 2)
    assert project(np.eye(1, 4, dtype=np.float32)).tolist() == [[0.0, 0.0]]


@given(st.text(max_size=80))
def test_no_name_gets_out_of_a_picture(name: str) -> None:
    hostile = f'{name}"><script>'
    days = [date(2026, 1, 1) + timedelta(days=7 * week) for week in range(3)]
    drawn = (
        draw_clusters("Business", [ClusterDot(hostile, 9, 3, 0.5, -0.5, "/w/1/scenes")], 1),
        draw_lines([FeltPoint(day, 2, dict.fromkeys(AXES, -0.5)) for day in days], AXES, str),
        draw_bars(dict.fromkeys(AXES, 1.0)),
        draw_lifetime(Lifetime(0.5, 7, 70, 73, 0.05, lambda age: 0.5 * math.exp(-age / 30))),
        draw_memories(
            [MemoryDot(hostile, "fix", "active", 0.5, "/a"), MemoryDot("b", "error", "archived", 1.0, "/b")],
            [MemoryLine(0, 1, hostile, 0.4)],
        ),
    )
    for each in drawn:
        assert "<script" not in each
        assert not re.search("[\x00-\x08\x0b-\x1f]", each)
        assert each.count("<svg") == each.count("<desc") == each.count("</svg>") == 1
        assert "style" not in each
