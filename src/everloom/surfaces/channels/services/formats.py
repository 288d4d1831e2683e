"""Markdown as HTML for services that show HTML, and HTML as plain text. Pure; knows no service."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = frozenset("address article blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split())
_SILENT = frozenset(("head", "script", "style", "title"))
_RUNS = re.compile(r"[ \t\r\f\v\u00a0]+")
_GAPS = re.compile(r"\n{3,}")
# The parser of the standard library reads the rest of a page again for each tag or declaration that never ends.
_DECLARATIONS = re.compile(r"<[!?][^<>]*>")
_UNFINISHED = re.compile(r"<(?=[^<>]*(?:<|\Z))")


def as_html(markdown: str) -> str | None:
    """Render Markdown as HTML without what it contains of HTML itself; None if the package for it is not installed."""
    try:
        from markdown_it import MarkdownIt  # noqa: PLC0415  slow to import, and part of an extra
    except ModuleNotFoundError:
        return None
    return str(MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").render(markdown)).strip()


class _PlainText(HTMLParser):
    """Collects the words of a page; a quoted block is marked as such."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._silent = 0
        self._quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Begin a line at a block."""
        self._silent += tag in _SILENT
        if tag == "blockquote":
            self._quoted += 1
        if tag in _BLOCKS:
            self._break()
        if tag == "li":
            self.words.append("- ")

    def handle_endtag(self, tag: str) -> None:
        """End a line at a block."""
        self._silent = max(self._silent - (tag in _SILENT), 0)
        if tag == "blockquote":
            self._quoted = max(self._quoted - 1, 0)
        if tag in _BLOCKS - {"br", "hr"}:
            self._break()
        if tag == "p":
            self._break()

    def handle_data(self, data: str) -> None:
        """Keep the words that are shown."""
        if not self._silent:
            self.words.append(_RUNS.sub(" ", data.replace("\n", " ")))

    def _break(self) -> None:
        self.words.append("\n" + "> " * self._quoted)


def as_text(html: str) -> str:
    """Read HTML as plain text: one line a block, quoted blocks marked by `>`."""
    parser = _PlainText()
    parser.feed(_UNFINISHED.sub("&lt;", _DECLARATIONS.sub("", _without_comments(html))))
    parser.close()
    lines = [_RUNS.sub(" ", line).strip() for line in "".join(parser.words).split("\n")]
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()


def _without_comments(html: str) -> str:
    """Leave out comments; one that never ends is text."""
    kept, at = [], 0
    while (begin := html.find("<!--", at)) >= 0 and (end := html.find("-->", begin + 4)) >= 0:
        kept.append(html[at:begin])
        at = end + 3
    return "".join([*kept, html[at:]])
