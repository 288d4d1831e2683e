"""Looking around: subjects page by page, regions, overlaps and versions, each within its bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everloom.errors import NotFound, Rejected
from everloom.loom import Workspace
from everloom.semantic import Semantic
from everloom.semantic.arguments import NewSubject
from everloom.semantic.recall import regions
from tests.conftest import Lend
from tests.store.ground import open_at


def pages(read: Callable[..., Any], field: str, **asked: Any) -> list[Any]:
    """Read all pages of a list."""
    found, cursor = [], None
    while True:
        page = read(**asked, cursor=cursor, max_tokens=20_000)
        found += getattr(page, field)
        if (cursor := page.cursor) is None:
            return found


@pytest.fixture
def semantic(workspace: Workspace) -> Semantic:
    return workspace.semantic


@pytest.mark.promise("page.subjects")
def test_subjects_are_listed_by_when_they_were_last_observed(semantic: Semantic) -> None:
    semantic.create_subjects([NewSubject(name=f"bare {number}") for number in range(5)])
    for name in ("Ann", "Bob", "Cleo"):
        semantic.remember([name, "crew"], f"{name} sails.")
    semantic.remember(["Ann"], "Ann rows.")
    names = [each.name for each in pages(semantic.list_subjects, "subjects", limit=2)]
    assert names == ["Ann", "Cleo", "crew", "Bob", *(f"bare {number}" for number in (4, 3, 2, 1, 0))]
    first = semantic.list_subjects(limit=1).subjects[0]
    assert (first.observation_count, first.is_waiting, first.has_understanding) == (2, True, False)
    semantic.create_understanding(["Ann"], "Ann is a sailor.", "a sailor")
    (ann,) = semantic.list_subjects(name="ann").subjects
    assert (ann.is_waiting, ann.has_understanding) == (False, True)


def test_subjects_are_found_by_the_beginning_of_a_name_and_of_a_word_in_it(semantic: Semantic) -> None:
    names = ["Boat", "boathouse", "The old boat", "a_boat", "Éclair", "100% sure", "Mary"]
    for number, name in enumerate(names):
        semantic.remember([name], f"Sentence {number}.")
    semantic.add_alias("Mary", "Boatswain")
    assert [each.name for each in semantic.list_subjects(name="BOAT").subjects] == [
        "Boat",
        "boathouse",
        "Mary",
        "a_boat",
        "The old boat",
    ]
    assert [each.name for each in semantic.list_subjects(name="éc").subjects] == ["Éclair"]
    assert [each.name for each in semantic.list_subjects(name="100%").subjects] == ["100% sure"]
    assert semantic.list_subjects(name="oat").subjects == ()
    every = pages(semantic.list_subjects, "subjects", name="boat", limit=1)
    assert [each.name for each in every] == ["Boat", "boathouse", "Mary", "a_boat"]


def test_subjects_are_found_by_their_tag(semantic: Semantic) -> None:
    for number in range(5):
        semantic.remember([f"s{number}"], f"Sentence {number}.")
        semantic.set_subject_tags(f"s{number}", ["Even" if number % 2 == 0 else "odd"])
    assert [each.name for each in pages(semantic.list_subjects, "subjects", tag="even", limit=2)] == ["s4", "s2", "s0"]
    assert semantic.list_subjects(tag="nobody").subjects == ()


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "a", "tag": "b"},
        {"cursor": "x"},
        {"cursor": "1"},
        {"cursor": "9" * 19 + ".1"},
        {"tag": "a", "cursor": "1.1"},
        {"name": "boat", "cursor": "ann"},
        {"limit": 0},
        {"limit": 201},
        {"name": ""},
    ],
)
def test_a_list_that_cannot_be_is_refused(semantic: Semantic, asked: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        semantic.list_subjects(**asked)


def test_a_region_is_about_all_of_some_subjects_and_none_of_others(semantic: Semantic) -> None:
    semantic.remember(["a"], "only a")
    semantic.remember(["a", "b"], "a and b")
    semantic.remember(["a", "b", "c"], "all three")
    semantic.remember(["b"], "only b")
    semantic.create_understanding(["a", "b"], "They belong together.", "together")
    semantic.create_understanding(["a"], "A is a letter.", "a letter")

    def texts(*inside: str, outside: tuple[str, ...] = ()) -> list[str]:
        return [each.content for each in semantic.open_region(inside, outside=outside).observations]

    assert texts("a") == ["all three", "a and b", "only a"]
    assert texts("a", outside=("b",)) == ["only a"]
    assert texts("a", "b", outside=("c",)) == ["a and b"]
    assert texts("b", outside=("a", "c")) == ["only b"]
    assert [each.summary for each in semantic.open_region(["a"]).understandings] == ["a letter", "together"]
    assert [each.summary for each in semantic.open_region(["a"], outside=["b"]).understandings] == ["a letter"]
    with pytest.raises(Rejected, match="inside and outside"):
        semantic.open_region(["a"], outside=["A"])
    with pytest.raises(NotFound):
        semantic.open_region(["a"], outside=["nobody"])
    with pytest.raises(Rejected, match="cursor"):
        semantic.open_region(["a"], cursor="1")


def test_looking_through_much_in_vain_goes_on_where_it_ended(
    semantic: Semantic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regions, "_WINDOW", 3)
    semantic.remember(["a"], "the one")
    for number in range(20):
        semantic.remember(["a", "b"], f"both {number}")
    first = semantic.open_region(["a"], outside=["b"])
    assert first.observations == ()
    assert first.cursor is not None
    assert [
        each.content for each in pages(semantic.open_region, "observations", subject_names=["a"], outside=["b"])
    ] == ["the one"]


SETS = st.lists(st.sets(st.sampled_from("abcd"), min_size=1), max_size=30)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tagged=SETS, limit=st.integers(1, 4))
def test_regions_and_overlaps_are_what_counting_by_hand_finds(
    lend_store_url: Lend, tagged: list[set[str]], limit: int
) -> None:
    with lend_store_url() as url, open_at(url) as loom:
        semantic = loom.workspace("james").semantic
        semantic.create_subjects([NewSubject(name=each) for each in "abc"])
        for number, names in enumerate(tagged):
            semantic.remember(sorted(names), f"Sentence {number}.")
        overlap = semantic.measure_overlap(list("abc"))
        assert [each.observation_count for each in overlap.subjects] == [
            sum(each in names for names in tagged) for each in "abc"
        ]
        assert [each.observation_count for each in overlap.pairs] == [
            sum(names >= set(pair) for names in tagged) for pair in combinations("abc", 2)
        ]
        assert (overlap.all_three, overlap.is_exact) == (sum(names >= set("abc") for names in tagged), True)
        for inside in ("a", "ab", "abc"):
            outside = [each for each in "abc" if each not in inside]
            found = pages(
                semantic.open_region, "observations", subject_names=list(inside), outside=outside, limit=limit
            )
            wanted = [
                f"Sentence {number}."
                for number, names in enumerate(tagged)
                if names >= set(inside) and not names & set(outside)
            ]
            assert [each.content for each in found] == wanted[::-1]


def test_what_three_large_subjects_share_is_estimated(semantic: Semantic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "_MOST_COUNTED", 5)
    for number in range(20):
        semantic.remember(["a", "b", "c"] if number % 2 else ["a", "b"], f"Sentence {number}.")
    exact = semantic.measure_overlap(["a", "b"])
    assert (exact.all_three, exact.is_exact) == (None, True)
    guessed = semantic.measure_overlap(["a", "b", "c"])
    assert not guessed.is_exact
    assert guessed.all_three == 10


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "Alias"], ["a", "b", "c", "d"], []])
def test_an_overlap_is_of_two_or_three_subjects(semantic: Semantic, names: list[str]) -> None:
    semantic.remember(["a"], "one")
    semantic.add_alias("a", "Alias")
    with pytest.raises(Rejected):
        semantic.measure_overlap(names)


def test_versions_are_listed_newest_first_and_as_many_as_asked(semantic: Semantic) -> None:
    semantic.create_subjects([NewSubject(name="a")])
    made = semantic.create_understanding(["a"], "text 1", "summary 1").id
    for number in range(2, 6):
        made = semantic.update_understanding(
            made, f"text {number}", f"summary {number}", reason=f"r{number}"
        ).new_understanding_id
    found = semantic.list_versions(made, limit=3)
    assert [(each.version, each.content, each.reason) for each in found] == [
        (5, "text 5", "r5"),
        (4, "text 4", "r4"),
        (3, "text 3", "r3"),
    ]
    assert [each.content for each in semantic.list_versions(found[-1].id)] == ["text 3", "text 2", "text 1"]
    observed = semantic.remember(["a"], "seen").id
    with pytest.raises(Rejected):
        semantic.list_versions(observed)
    with pytest.raises(NotFound):
        semantic.list_versions(10**9)
