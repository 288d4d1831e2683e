"""Keys, the line that is typed, and prose that is wrapped: without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.surfaces.cli.commands.terminal.keys import KeyPress, KeyReader
from everloom.surfaces.cli.commands.terminal.line import EditedText
from everloom.surfaces.cli.commands.terminal.prose import Prose, ProseStyle
from everloom.surfaces.cli.commands.terminal.typed import TypedLines
from everloom.surfaces.cli.runtime.output import width

LETTERS = "ab `*#-\n\t日。e\u0301👩\u200d"
TEXTS = st.text(st.sampled_from(LETTERS), max_size=120)
STEPS = ("left", "right", "home", "end", "up", "down", "backspace", "delete", "word_before", "next_word", "cut_word")


def written(text: str, columns: int, pieces: int = 1) -> str:
    """Write a text in pieces of a length."""
    prose = Prose(lambda: columns)
    return "".join(prose.feed(text[at : at + pieces]) for at in range(0, len(text), pieces)) + prose.end()


@pytest.mark.promise("mind.chat-terminal")
@given(TEXTS, st.integers(8, 30), st.integers(1, 9))
def test_wrapping_loses_nothing_fits_and_does_not_depend_on_pieces(text: str, columns: int, pieces: int) -> None:
    whole = written(text, columns, len(text) or 1)
    assert whole == written(text, columns, pieces)
    assert "".join(whole.split()) == "".join(text.split())
    if "`" not in text:
        longest = max(map(width, text.replace("日", " 日 ").replace("👩", " 👩 ").split()), default=0)
        assert all(width(line.rstrip()) <= columns for line in whole.split("\n")) or longest > columns // 2 - 4


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("one two three", 8, "one two\nthree"),
        ("- one two three", 9, "- one two\n  three"),
        ("  10. one two three", 13, "  10. one two\n      three"),
        ("日本語日本語", 8, "日本語日\n本語"),
        ("日本語日。本", 8, "日本語\n日。本"),
        ("a https://example.org/very/long b", 12, "a\nhttps://example.org/very/long b"),
        ("```\nx = one two three\n```\none two three", 8, "```\nx = one two three\n```\none two\nthree"),
        ("e\u0301e\u0301e\u0301 e\u0301e\u0301", 6, "e\u0301e\u0301e\u0301 e\u0301e\u0301"),
    ],
)
def test_lines_are_broken_where_a_reader_would(text: str, columns: int, expected: str) -> None:
    assert written(text, columns, 3) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a **b c** d", "a <quiet>**<strong>b <strong>c<quiet>** d"),
        ("2 ** 3 and a*b", "2 ** 3 and a*b"),
        ("`x **y**` z", "<quiet>`<code>x <code>**<code>y<code>**<quiet>` z"),
        ("## Big news\nsmall", "<heading>## <heading>Big <heading>news\nsmall"),
        ("**open\nclosed", "<quiet>**<strong>open\nclosed"),
        ("#tag", "#tag"),
        ("```py\na **b**\n```\nc", "<quiet>```py\n<code>a <code>**b**\n<quiet>```\nc"),
    ],
)
def test_markdown_is_marked_and_nothing_of_it_is_left_out(text: str, expected: str) -> None:
    def paint(part: str, style: ProseStyle) -> str:
        return f"<{style}>{part}" if part else ""

    prose = Prose(lambda: 80, paint)
    assert "".join(prose.feed(char) for char in text) + prose.end() == expected


@pytest.mark.promise("mind.chat-paste")
def test_bytes_are_keys_in_whatever_pieces_they_come() -> None:
    sent = "aé日\x1b[200~one\r\n\x1b[Atwo\x03\x1b[201~\x1b[A\x1bOH\x1b\r\x1b[99;9X\x1b[1;5D\x07\r\n\x1bz!".encode()
    expected = [
        *(KeyPress("text", "aé日"), KeyPress("paste", "one\r\n\x1b[Atwo\x03"), KeyPress("up"), KeyPress("home")),
        *(KeyPress("new line"), KeyPress("word before"), KeyPress("enter"), KeyPress("text", "!")),
    ]
    assert KeyReader().feed(sent) == expected
    reader, found = KeyReader(), []
    for byte in sent.replace(b"\r\n\x1bz", b"\n\x1bz"):
        found += reader.feed(bytes([byte]))
    letters = "".join(key.text for key in found if key.name == "text")
    assert letters == "aé日!"
    assert [key for key in found if key.name != "text"] == [key for key in expected if key.name != "text"]


@given(TEXTS, st.lists(st.sampled_from(STEPS), max_size=30), st.integers(6, 40))
def test_an_edited_text_stays_whole_and_its_cursor_stands_in_its_rows(
    text: str, steps: list[str], columns: int
) -> None:
    line = EditedText()
    line.insert(text)
    assert line.text == text
    for step in steps:
        getattr(line, step)()
        assert 0 <= line.at <= len(line.text)
    rows = line.laid_out("> ", ". ", columns)
    assert all(len(each.prompt) + width(each.text) <= columns for each in rows.rows)
    assert 0 <= rows.row < len(rows.rows)
    assert rows.column < columns
    shown = "".join(each.text for each in rows.rows)
    assert shown.replace(" ", "") == line.text.replace("\n", "").replace("\t", "").replace(" ", "")


def test_a_letter_is_one_with_its_marks_and_what_was_cut_comes_back() -> None:
    line = EditedText()
    line.insert("cafe\u0301 👩\u200d👩 x\x1b[31m\x00")
    assert line.text == "cafe\u0301 👩\u200d👩 x[31m"
    for _ in range(6):
        line.backspace()
    line.backspace()
    assert line.text == "cafe\u0301 "
    line.backspace()
    line.backspace()
    assert line.text == "caf"
    line.insert(" one two")
    line.cut_word()
    line.home()
    line.put_back()
    assert line.text == "twocaf one "


def test_typed_lines_are_kept_for_their_owner_and_found_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "chat_history"
    first = TypedLines(file)
    for text in ("one", "two\nlines", "two\nlines", " "):
        first.add(text)
    assert file.stat().st_mode & 0o777 == 0o600
    again = TypedLines(file)
    assert [again.earlier("draft"), again.earlier("two\nlines"), again.earlier("one")] == ["two\nlines", "one", None]
    assert [again.later(), again.later(), again.later()] == ["two\nlines", "draft", None]
    assert again.holding("n") == "two\nlines"
    assert again.holding("n", 1) == "one"
    assert again.holding("nothing") is None
    file.write_text("".join(f"line {number}\n" for number in range(5_000)))
    TypedLines(file).shorten()
    assert file.read_text().split("\n")[0] == "line 4000"
    # A folder that cannot be made is no reason to stop talking.
    (tmp_path / "file").write_text("")
    TypedLines(tmp_path / "file" / "chat_history").add("still here")
