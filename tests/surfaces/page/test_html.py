"""What stored text becomes in a page: nothing that runs, loads, hides or turns around what stands beside it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.surfaces.page.html import LONGEST_SHOWN, clean, cut, prose, templates

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)><style>@import url(//evil.example)</style></svg>",
    "[click](javascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "![picture](https://evil.example/spy.png)",
    "<iframe src=//evil.example></iframe>",
    "<a href='vbscript:x'>x</a>",
    "<p style='position:fixed'>x</p>",
    "<form action=//evil.example><input name=q></form>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<math><mtext><mglyph><style><img src=x onerror=alert(1)>",
)
_DEAD = frozenset(
    {"script", "style", "iframe", "img", "svg", "form", "input", "base", "meta", "link", "object", "math"}
)


class Reader(HTMLParser):
    """Collects the elements and attributes of a page, as a browser would find them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Reader()
    reader.feed(text)
    return reader.found


def check_harmless(rendered: str) -> None:
    for tag, attributes in elements(rendered):
        assert tag not in _DEAD
        assert not any(name.startswith("on") or name in {"style", "src", "srcset", "action"} for name in attributes)
        address = attributes.get("href") or ""
        assert address.startswith(("http://", "https://", "mailto:", "#", "/")) or ":" not in address


@pytest.mark.promise("page.stored-text-is-data")
@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_that_somebody_stored_runs_and_loads_nothing(text: str) -> None:
    check_harmless(prose(text))
    check_harmless(prose(f"# heading\n\n> quote\n\n| a |\n|---|\n| {text} |\n\n```\n{text}\n```"))


@pytest.mark.promise("page.stored-text-is-data")
@given(st.text(max_size=300))
def test_no_text_at_all_becomes_an_element_that_runs_or_loads(text: str) -> None:
    check_harmless(prose(text))


def test_markdown_keeps_what_people_write() -> None:
    shown = prose(
        "# Boat\n\n**bold**, `code`, [a link](https://example.org)\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    assert [tag for tag, _ in elements(shown)][:4] == ["h3", "p", "strong", "code"]
    assert 'href="https://example.org"' in shown
    assert "noopener" in shown
    assert "<table>" in shown


@pytest.mark.promise("page.stored-text-is-data")
def test_characters_that_hide_or_turn_text_are_shown_as_replaced() -> None:
    assert "\ufffd" in prose("half \ud800")
    assert clean("abc\u202edef\x1b[31m\x00") == "abc\ufffddef\ufffd[31m\ufffd"
    assert "\u202e" not in prose("abc\u202edef")


HIDING = "\u202e\u2066\u200b\u200d\u200e\u00ad\ufeff\u2060\U000e0041\x85\x1b\x00"
_NAMED = {"\u200b": "ZeroWidthSpace", "\u200d": "zwj", "\u200e": "lrm", "\u00ad": "shy", "\u2060": "NoBreak"}
# Where a text may be in Markdown; the last two are no Markdown.
PLACES = (
    "a {} b", "# {}", "[a](https://example.org/{} \"{}\")", "![{}](x \"{}\")", "`{}`", "```{}\n{}\n```", "    {}",
    "> {}", "| {} |\n|---|\n| {} |", "<b title='{}'>{}</b>", "[a]\n\n[a]: https://example.org '{}'", "<https://e.org/{}>",
    "~~{}~~", "{}", "\\{}",
)  # fmt: skip
written = st.sampled_from(HIDING).flatmap(
    lambda char: st.sampled_from(
        [
            char,
            f"&#{ord(char)};",
            f"&#{ord(char):07d};",
            f"&#x{ord(char):x};",
            f"&#X{ord(char):06X};",
            f"&#{ord(char)}",
            f"&amp;#{ord(char)};",
            f"&amp;amp;#x{ord(char):x};",
            f"&{_NAMED.get(char, 'ic')};",
        ]
    )
)


@pytest.mark.promise("page.stored-text-is-data")
@given(
    st.sampled_from(PLACES),
    st.lists(st.one_of(written, st.text(max_size=5)), min_size=1, max_size=6).map("".join),
)
def test_no_character_that_hides_or_turns_text_reaches_the_page_however_it_is_written(place: str, text: str) -> None:
    rendered = prose(place.replace("{}", text))
    shown = [rendered, *(value or "" for _, given in elements(rendered) for value in given.values())]
    assert not {char for char in HIDING.replace("\u200d", "") for each in shown if char in each}
    check_harmless(rendered)


@pytest.mark.parametrize("text", ["👩‍🚀 ❤️ 🏳️‍🌈", "می‌خواهم", "क्‍ष"])
def test_joiners_and_selectors_stay_where_a_script_or_an_emoji_needs_them(text: str) -> None:
    assert clean(text) == text
    assert prose(text) == f"<p>{text}</p>\n"
    assert "\u200d" not in prose("a&zwj;b &#8205;")


def test_a_text_of_a_megabyte_is_cut_quickly() -> None:
    long = "word " * 200_000
    assert len(cut(long, 100)) <= 100
    assert cut(long, 100).endswith("…")
    assert len(prose(long)) < LONGEST_SHOWN * 1.1


def test_templates_escape_what_they_write() -> None:
    made = templates().from_string("<p title='{{ text }}'>{{ text }}</p>").render(text="'><script>")
    assert [tag for tag, _ in elements(made)] == ["p"]


def test_no_template_switches_escaping_off() -> None:
    loader = templates().loader
    assert loader is not None
    names = loader.list_templates()
    assert names
    for name in names:
        source, _, _ = loader.get_source(templates(), name)
        assert "| safe" not in source, name
        assert "autoescape false" not in source, name
        assert "style=" not in source, name
        assert "<script>" not in source, name
