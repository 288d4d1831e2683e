"""What changed between two texts: both can be made from it again, and showing it is safe and bounded."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from everloom.surfaces.page.diff import changes_between, words_diff

TEXTS = st.text(alphabet="ab \n.é<", max_size=200)


def side(old: str, new: str, *changes: str) -> str:
    return "".join(each.text for each in changes_between(old, new) if each.change in changes)


@given(old=TEXTS, new=TEXTS)
def test_both_texts_can_be_made_from_what_changed(old: str, new: str) -> None:
    assert side(old, new, "kept", "removed") == old
    assert side(old, new, "kept", "added") == new


@given(text=TEXTS)
def test_the_same_text_has_no_changes(text: str) -> None:
    assert all(each.change == "kept" for each in changes_between(text, text))
    assert "Nothing changed" in words_diff(text, text)


def test_a_word_that_changed_is_marked_and_the_rest_of_its_line_is_not() -> None:
    shown = words_diff("James sails on Sundays.\n", "James sails on Saturdays.\n")
    assert "James sails on <del>Sundays</del><ins>Saturdays</ins>.\n" in shown


def test_lines_that_have_little_in_common_are_shown_whole() -> None:
    shown = words_diff("The boat is blue.\n", "Audrey lives in Oban now!\n")
    assert "<del>The boat is blue.\n</del><ins>Audrey lives in Oban now!\n</ins>" in shown


def test_long_stretches_that_did_not_change_are_folded() -> None:
    old = "".join(f"line {number}\n" for number in range(100))
    shown = words_diff(old, old.replace("line 50\n", "line fifty\n"))
    assert "48 lines that did not change" in shown
    assert "line 48\n" in shown
    assert "line 20\n" not in shown


def test_hostile_text_is_shown_as_text() -> None:
    shown = words_diff("<script>alert(1)</script>", "<img src=x onerror=alert(2)>\u202eevil\x1b[31m")
    assert "<script" not in shown
    assert "<img" not in shown
    assert "\u202e" not in shown
    assert "\x1b" not in shown


def test_very_long_texts_cost_little_and_show_little() -> None:
    began = time.process_time()
    for old, new in (
        ("a\n" * 400_000, "b\n" * 400_000),
        ("x " * 400_000, "y " * 400_000),
        ("a\nb\n" * 200_000, "b\na\n" * 200_000),
        ("z" * 1_000_000, "z" * 999_999),
    ):
        assert len(words_diff(old, new)) < 120_000
    assert time.process_time() - began < 10
