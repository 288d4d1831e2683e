"""A long reply is cut where a reader would, counts as Telegram counts, and loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.surfaces.channels.telegram.parts import MOST_UNITS, split_reply

TEXTS = st.text(st.sampled_from("ab é\n 😀e\u0301"), max_size=200)


def units(text: str) -> int:
    """Count a text as Telegram does."""
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.promise("mind.telegram-parts")
@given(TEXTS, st.integers(2, 40))
def test_parts_fit_and_together_are_the_whole(text: str, most: int) -> None:
    found = list(split_reply(text, most))
    assert all(0 < units(part) <= most for part in found)
    assert all(part.strip() for part in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.promise("mind.telegram-parts")
def test_a_character_of_two_units_is_never_halved() -> None:
    first, second = split_reply("a" + "😀" * 2048)
    assert (units(first), second) == (4095, "😀")


@pytest.mark.promise("mind.telegram-parts")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x" * 3000 + "\n\n" + "y" * 3000, ["x" * 3000, "y" * 3000]),
        ("x" * 2000 + "\n\n" + "y" * 2000 + "\n" + "z" * 2000, ["x" * 2000, "y" * 2000 + "\n" + "z" * 2000]),
        ("x" * 3000 + "\n" + "y" * 3000, ["x" * 3000, "y" * 3000]),
        ("x" * 3000 + " " + "y" * 3000, ["x" * 3000, "y" * 3000]),
        ("x" * 5000, ["x" * 4096, "x" * 904]),
        ("x" * 4096, ["x" * 4096]),
        ("x" * 4096 + " y", ["x" * 4096, "y"]),
        # A border at the very beginning is no place to cut.
        ("a\n\n" + "x" * 5000, ["a\n\n" + "x" * 4093, "x" * 907]),
        ("   \n ", []),
    ],
)
def test_a_cut_falls_between_paragraphs_then_lines_then_words(text: str, expected: list[str]) -> None:
    assert list(split_reply(text)) == expected
    assert MOST_UNITS == 4096
