"""Characters that deceive: which a name may have, what a terminal gets, and which names look alike."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Rejected
from everloom.glyphs import HIDDEN, deceptive, drawn
from everloom.kernel.texts import checked_name
from everloom.surfaces.cli.runtime.output import json_text, printable

HARMFUL = [
    "\u202e", "\u202d", "\u2066", "\u2069", "\u200b", "\u200e", "\u200f", "\u2060", "\ufeff", "\u00ad", "\u3164",
    "\u2800", "\u034f", "\u061c", "\u2028", "\u2029", "\U000e0041", "\u180e", "\u206a", "\u115f",
]  # fmt: skip
NEEDED = [
    "👩‍👩‍👧",
    "می‌خواهم",
    "क्‍ष",
    "葛\U000e0100城",
    "❤️",
    "1️⃣",
    "🏳️‍🌈",
    "👨🏽‍💻",
    "שלום",
    "Ångström",
    "日本",
    "Ólafur O'Brien-Ré",
]


@pytest.mark.promise("trust.names-show-what-they-are")
@pytest.mark.parametrize("char", HARMFUL, ids=lambda char: f"U+{ord(char):04X}")
def test_a_name_with_an_invisible_character_is_refused_by_its_number_and_never_printed_raw(char: str) -> None:
    for name in (f"James{char}Bond", f"{char}James", f"James{char}"):
        with pytest.raises(Rejected, match=f"U\\+{ord(char):04X}"):
            checked_name(name, "the name")
        assert char not in printable(name)
        assert char not in json_text({"name": name})
        assert json.loads(json_text({"name": name})) == {"name": name}


@pytest.mark.parametrize("name", NEEDED)
def test_a_name_keeps_the_joiners_that_its_script_or_emoji_needs(name: str) -> None:
    assert checked_name(name, "the name") == unicodedata.normalize("NFC", name)
    assert printable(name) == name


@pytest.mark.parametrize(
    "name", ["Ja\u200dmes", "Ja\u200cmes", "\u200dJames", "James\ufe0f", "م\u200c", "👩\u200d\u200d👧"]
)
def test_a_joiner_where_nothing_is_joined_is_refused(name: str) -> None:
    with pytest.raises(Rejected, match="invisible"):
        checked_name(name, "the name")


@given(st.text(st.characters(categories=["Cf", "Zl", "Zp", "Cc"]), min_size=1))
def test_whatever_is_printed_has_no_format_character_but_joiners_and_visible_signs(text: str) -> None:
    # The signs above Arabic numbers and names are format characters that show something.
    allowed = {"\t", "\n", "\u200c", "\u200d", "\N{REPLACEMENT CHARACTER}"}
    left = [char for char in printable(text) if char not in allowed]
    assert [char for char in left if "ARABIC" not in unicodedata.name(char, "") and not _is_visible(char)] == []


def _is_visible(char: str) -> bool:
    return re.match(HIDDEN, char) is None and unicodedata.category(char) not in {"Cc", "Zl", "Zp"}


@pytest.mark.parametrize("other", ["Jаmes", "Jamеs", "ＪＡＭＥＳ", "𝐉ames", "JΑMES", "Ja\ufe0fmes"])
def test_names_of_another_alphabet_are_drawn_alike(other: str) -> None:
    assert other.casefold() != "james"
    assert drawn(other) == drawn("James")


@given(st.text(), st.text())
def test_what_is_drawn_is_drawn_the_same_again(one: str, other: str) -> None:
    assert drawn(one) == drawn(one)
    assert drawn(f"{one} {other}") == drawn(f"{one}_{other}")
    assert deceptive(one.encode("ascii", "ignore").decode()) is None
