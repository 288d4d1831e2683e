"""The geometry of pictures where it is exact, and that whatever is drawn is well-formed and inert."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import date, timedelta
from itertools import combinations, pairwise
from math import pi

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from everloom.surfaces.page.pictures.circles import Circle, apart, area_within, edge_of, lens, placed, radius_of
from everloom.surfaces.page.pictures.lanes import Lane, Stretch, Tick, lanes
from everloom.surfaces.page.pictures.neighbourhood import Neighbour, neighbourhood
from everloom.surfaces.page.pictures.venn import Venn, VennRegion, draw, layout, path_of
from everloom.surfaces.page.pictures.year import YearDay, heat_strip, shade
from tests.surfaces.page.ground import HOSTILE, assert_harmless

SIZES = st.integers(1, 100_000)


@given(one=SIZES, other=SIZES, share=st.floats(0, 1))
@pytest.mark.promise("page.venn")
def test_two_circles_and_what_they_share_have_the_areas_of_their_numbers(one: int, other: int, share: float) -> None:
    shared = share * min(one, other)
    a, b = layout([one, other], [shared])
    assert pi * a.radius**2 == pytest.approx(one)
    assert pi * b.radius**2 == pytest.approx(other)
    assert lens(a.radius, b.radius, a.distance(b)) == pytest.approx(shared, rel=1e-6, abs=1e-6 * max(one, other))
    assert area_within(edge_of((a, b))) == pytest.approx(shared, rel=1e-5, abs=1e-5 * max(one, other))


@given(data=st.data())
def test_what_is_enclosed_is_what_chance_hits(data: st.DataObject) -> None:
    """The area of what circles share, measured by points of a grid."""
    place = st.floats(-2, 2)
    circles = [
        Circle(data.draw(place), data.draw(place), data.draw(st.floats(0.3, 2)))
        for _ in range(data.draw(st.integers(2, 3)))
    ]
    # Nearly touching circles share slivers that no grid of this size can see.
    assume(all(abs(a.distance(b) - abs(a.radius - b.radius)) > 1e-3 for a, b in combinations(circles, 2)))
    steps, side = 120, 8.0
    cell = side / steps
    hits = sum(
        all(each.holds(-4 + (column + 0.5) * cell, -4 + (row + 0.5) * cell) for each in circles)
        for column in range(steps)
        for row in range(steps)
    )
    assert area_within(edge_of(circles)) == pytest.approx(hits * cell**2, abs=0.35)


@given(sizes=st.tuples(SIZES, SIZES, SIZES), shares=st.tuples(*[st.floats(0, 0.4)] * 3))
def test_three_circles_have_their_areas_and_share_what_pairs_share_where_that_is_possible(
    sizes: tuple[int, int, int], shares: tuple[float, float, float]
) -> None:
    pairs = [share * min(sizes[a], sizes[b]) for share, (a, b) in zip(shares, combinations(range(3), 2), strict=True)]
    found = layout(sizes, pairs)
    assert [pi * each.radius**2 for each in found] == pytest.approx(list(sizes))
    wanted = {
        pair: apart(found[pair[0]].radius, found[pair[1]].radius, area)
        for pair, area in zip(combinations(range(3), 2), pairs, strict=True)
    }
    longest, *others = sorted(wanted.values(), reverse=True)
    # Only sides of a triangle can all be kept; circles that share nothing may be farther apart.
    if longest < 0.98 * sum(others) and all(pairs):
        for (a, b), area in zip(wanted, pairs, strict=True):
            shared = lens(found[a].radius, found[b].radius, found[a].distance(found[b]))
            assert shared == pytest.approx(area, rel=0.02, abs=0.01 * min(sizes))


def test_the_bounds_of_an_overlap() -> None:
    assert apart(2, 1, pi) == pytest.approx(1)
    assert apart(2, 1, 0) == pytest.approx(3)
    assert lens(2, 1, 0.5) == pytest.approx(pi)
    assert radius_of(0) == 0
    same = Circle(0, 0, 1)
    assert area_within(edge_of((same, same))) == pytest.approx(pi)
    assert area_within(edge_of((same, same, same))) == pytest.approx(pi)
    assert edge_of((same, Circle(5, 0, 1))) == ()
    inner = Circle(0.2, 0, 0.3)
    assert area_within(edge_of((same, inner))) == pytest.approx(pi * 0.09)
    assert path_of(edge_of((same, inner))).count("A") == 2
    assert [each.radius for each in placed([0, 0], {(0, 1): 0})] == [0, 0]


def regions(count: int, sizes: list[int]) -> tuple[VennRegion, ...]:
    inside = [chosen for size in range(1, count + 1) for chosen in combinations(range(count), size)]
    return tuple(VennRegion(each, f"region {each}", sizes[0], f"?region={each}") for each in inside)


@given(
    sizes=st.lists(st.integers(0, 10**6), min_size=2, max_size=3),
    shares=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    names=st.lists(st.one_of(st.text(max_size=300), st.sampled_from(HOSTILE)), min_size=3, max_size=3),
)
def test_a_venn_picture_of_anything_is_well_formed(sizes: list[int], shares: list[float], names: list[str]) -> None:
    count = len(sizes)
    pairs = tuple(
        int(share * min(sizes[a], sizes[b]))
        for share, (a, b) in zip(shares, combinations(range(count), 2), strict=False)
    )
    venn = Venn(tuple(names[:count]), tuple(sizes), pairs, min(pairs), regions(count, sizes))
    check(str(draw(venn).markup))


def check(markup: str) -> ET.Element:
    """Parse a picture: it is well-formed, has numbers for coordinates, and nothing stored got out of its place."""
    assert_harmless(markup)
    # As a whole value: a subject may be called Nan.
    assert not re.search(r'="[^"]*\b(?:nan|inf)\b[^"]*"', re.sub(r'aria-label="[^"]*"|href="[^"]*"', "", markup))
    root = ET.fromstring(markup)
    assert root.attrib["role"] == "group"
    assert root.attrib["aria-label"]
    for each in root.iter():
        assert "style" not in each.attrib
        for name in ("x", "y", "cx", "cy", "r", "width", "height", "x1", "y1", "x2", "y2"):
            if name in each.attrib:
                float(each.attrib[name])
    return root


@given(
    shared=st.lists(st.integers(1, 10**6), max_size=16),
    name=st.one_of(st.text(max_size=50), st.sampled_from(HOSTILE)),
)
def test_names_of_neighbours_never_overlap(shared: list[int], name: str) -> None:
    members = tuple(
        Neighbour(name, count, f"/n{place}", f"/s{place}") for place, count in enumerate(sorted(shared)[::-1])
    )
    root = check(str(neighbourhood(name, members)))
    height = float(root.attrib["height"])
    labels = [each.attrib for each in root.iter("text") if "text-anchor" in each.attrib][1:]
    for side in ("start", "end"):
        rows = sorted(float(each["y"]) for each in labels if each["text-anchor"] == side)
        assert all(below - above >= 14 for above, below in pairwise(rows))
        assert all(0 < each < height for each in rows)
    assert {each.attrib["href"] for each in root.iter("a")} == {
        f"/{kind}{place}" for place in range(len(members)) for kind in "ns"
    }


@given(year=st.integers(1, 9999), counts=st.lists(st.integers(0, 400), min_size=366, max_size=366))
def test_a_year_has_a_square_for_each_day_inside_its_frame(year: int, counts: list[int]) -> None:
    first = date(year, 1, 1)
    length = (date(year, 12, 31) - first).days + 1
    days = tuple(
        YearDay(first + timedelta(days=place), counts[place], counts[place] >= 50, f"?day={place}")
        for place in range(length)
    )
    root = check(str(heat_strip(year, days)))
    squares = list(root.iter("rect"))
    assert len(squares) == length
    assert len({(each.attrib["x"], each.attrib["y"]) for each in squares}) == length
    assert max(float(each.attrib["x"]) + 13 for each in squares) <= float(root.attrib["width"])
    reached = [each for each in root.iter("a") if each.attrib.get("tabindex") != "-1"]
    assert len(reached) == sum(bool(each.count) for each in days)


def test_shades_grow_with_what_happened() -> None:
    assert [shade(count) for count in (0, 1, 4, 5, 14, 15, 30, 49, 50, 1_000)] == [0, 1, 1, 2, 2, 3, 4, 4, 5, 5]


@given(begin=st.floats(-1, 2), end=st.floats(-1, 2), height=st.floats(0, 1), words=st.sampled_from(HOSTILE))
def test_what_lasts_longer_than_the_axis_ends_with_it(begin: float, end: float, height: float, words: str) -> None:
    given_lanes = (Lane(words, 1, (Stretch(begin, end, height, words, "/x"),)),)
    root = check(str(lanes(words, words, (Tick(0, words), Tick(0.5, words, "/y")), given_lanes)))
    (bar,) = root.iter("rect")
    assert float(bar.attrib["width"]) > 0
    assert float(bar.attrib["x"]) + float(bar.attrib["width"]) <= float(root.attrib["width"])
