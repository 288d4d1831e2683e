"""Long notes: the prompt keeps their end, and `read_note` pages through them and finds lines in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Conflict, Rejected
from everloom.mind.notes.excerpts import end_of, outline, page_of
from everloom.mind.verbs import Mind
from tests.mind.notebook import Notebook


@given(st.text(st.sampled_from("ab \n#"), max_size=60), st.integers(1, 40))
def test_the_end_of_a_text_is_whole_or_says_how_much_is_missing(text: str, longest: int) -> None:
    shown = end_of(text, longest)
    if len(text) <= longest:
        assert shown == text
        return
    before, _, kept = shown.partition(
        " characters before this are not shown; read_note with from_line or find shows them]\n"
    )
    assert text.endswith(kept)
    assert longest // 2 - 1 <= len(kept) <= longest
    assert int(before.rpartition("[")[2]) == len(text) - len(kept)


def test_a_very_long_note_begins_with_the_headings_that_are_not_shown() -> None:
    body = "\n".join(f"## Week {week}\n```\n# no heading\n```\n" + "Rain.\n" * 20 for week in range(60))
    shown = end_of(body, 1_000).split("\n")
    assert shown[0] == "[24 headings before these]"
    assert shown[1] == "[line 601: ## Week 24]"
    assert shown[30].startswith("[line ")
    assert shown[31].endswith("shows them]")
    assert body.split("\n")[600] == "## Week 24"
    assert not any("no heading" in line for line in outline(body))


@given(st.lists(st.text("abc ü", max_size=30), min_size=1, max_size=40), st.integers(150, 300))
def test_pages_follow_each_other_without_a_gap(lines: list[str], tokens: int) -> None:
    body = "\n".join([*lines, "end"])
    read: list[str] = []
    while len(read) <= len(lines):
        part = page_of(body, len(read) + 1, None, tokens)
        assert part.first == len(read) + 1
        read += part.text.split("\n")
        assert part.last == len(read)
    assert read == [*lines, "end"]


def test_the_agent_reads_a_long_note_in_pages_and_finds_lines_in_it(book: Notebook) -> None:
    mind = Mind(book.setup)
    mind.append_note(
        "\n".join(f"Day {day}: the boat {'leaks' if day % 50 == 0 else 'floats'}." for day in range(1, 1_001)), "log.md"
    )
    whole = mind.read_note("log.md")
    assert (whole.lines, whole.from_line) == (None, None)
    first = mind.read_note("log.md", max_tokens=500)
    assert (first.from_line, first.lines) == (1, 1_000)
    assert first.to_line is not None
    assert str(first).endswith(f"(lines 1 to {first.to_line} of 1,000; from_line={first.to_line + 1} reads on)")
    after = mind.read_note("log.md", first.to_line + 1, 2)
    assert after.body == "\n".join((whole.body or "").split("\n")[first.to_line : first.to_line + 2])
    last = mind.read_note("log.md", -2)
    assert (last.body, last.from_line, last.to_line) == (
        "Day 999: the boat floats.\nDay 1000: the boat leaks.",
        999,
        1_000,
    )
    assert "reads on" not in str(last)
    found = mind.read_note("log.md", find="LEAKS boat", from_line=901)
    assert (found.body, found.to_line) == ("950: Day 950: the boat leaks.\n1000: Day 1000: the boat leaks.", 1_000)
    none = mind.read_note("log.md", find="sinks")
    assert none.body == ""
    assert str(none).startswith("(no line contains these words)")
    few = mind.read_note("log.md", find="floats", max_tokens=200)
    assert few.to_line is not None
    assert few.to_line < 30, "where a search goes on that did not fit"
    for line in (0, 1_001):
        with pytest.raises(Rejected, match=f"there is no line {line}: the note has 1,000"):
            mind.read_note("log.md", line)
    with pytest.raises(Rejected, match="find needs a word"):
        mind.read_note("log.md", find=" ")


@pytest.mark.promise("mind.part-is-not-seen")
def test_who_has_seen_a_part_of_a_note_does_not_replace_it(book: Notebook) -> None:
    mind = Mind(book.setup)
    book.edit("plan.md", "".join(f"Step {number}\n" for number in range(1, 400)))
    for how in ({"lines": 5}, {"find": "Step 7"}, {"max_tokens": 200}):
        part = mind.read_note("plan.md", **how)
        assert part.lines == 399
        with pytest.raises(Conflict, match="which you have not read"):
            mind.write_note("plan.md", "Step 1\n" * 300)
    version = mind.read_note("plan.md", lines=5).version
    mind.write_note("plan.md", "Step 1\n" * 300, expected_version=version)
