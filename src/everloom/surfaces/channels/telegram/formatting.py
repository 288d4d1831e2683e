"""Markdown as Telegram shows it: bold, italic, code, links, quotes and lists, in parts that are whole by themselves.

Reads the text into runs, each with its tags, cuts them by what is visible, and closes every tag in its part. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from everloom.surfaces.channels.telegram.parts import MOST_UNITS, places_of

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$")
_BULLET = re.compile(r"(\s*)[-*+]\s+(\S.*)$")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)$")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_LINKED = re.compile(r"(?:https?|tg|mailto):", re.IGNORECASE)
# Inside one line, and of a bounded length, so that no text takes long to read.
_INLINE = re.compile(
    r"\\(?P<literal>[\\`*_~{}\[\]()#+\-.!|>])"
    r"|(?P<ticks>`+)(?P<code>[^\n]{1,2000}?)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>[^\]\n]{1,500})\]\((?P<url>[^\s()]{1,2000}(?:\([^\s()]{0,200}\))?[^\s()]{0,200})\)"
    r"|(?P<strong>\*\*|(?<!\w)__)(?=\S)(?P<bold>[^\n]{1,2000}?)(?<=\S)(?P=strong)"
    r"|~~(?=\S)(?P<gone>[^\n]{1,2000}?)(?<=\S)~~"
    r"|(?P<mark>(?<!\*)\*|(?<!\w)_)(?=[^\s*_])(?P<slant>[^\n]{1,2000}?)(?<=[^\s*])(?P=mark)(?![\w*])"
)
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Run:
    """Visible text with the tags around it, the outermost first; each is a name and its attributes."""

    text: str
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FormattedPart:
    """One message: as plain text, and as Telegram's HTML if it has any formatting."""

    plain: str
    html: str | None


def formatted(markdown: str, most: int = MOST_UNITS) -> Iterator[FormattedPart]:
    """Write a reply as messages of at most `most` visible UTF-16 code units."""
    runs = list(_blocks(markdown))
    visible = "".join(run.text for run in runs)
    for begin, end in places_of(visible, most):
        chosen = list(_within(runs, begin, end))
        html = "".join(map(_html, chosen)) if any(run.tags for run in chosen) else None
        yield FormattedPart(visible[begin:end], html)


def _within(runs: list[Run], begin: int, end: int) -> Iterator[Run]:
    at = 0
    for run in runs:
        text = run.text[max(begin - at, 0) : max(end - at, 0)]
        at += len(run.text)
        if text:
            yield Run(text, run.tags)


def _html(run: Run) -> str:
    # Tags around nothing but space would be refused.
    if not run.text.strip():
        return escape(run.text, quote=False)
    opening = "".join(f"<{name}{more}>" for name, more in run.tags)
    closing = "".join(f"</{name}>" for name, _ in reversed(run.tags))
    return f"{opening}{escape(run.text, quote=False)}{closing}"


def _blocks(markdown: str) -> Iterator[Run]:
    """Read lines as blocks: fences, tables, headings, bullets, quotes and plain lines."""
    lines = markdown.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        if at:
            yield Run("\n")
        line, after = lines[at], at + 1
        if fence := _FENCE.match(line):
            after = _end_of_fence(lines, at, fence[1])
            yield _code("\n".join(lines[at + 1 : after]), fence[2])
            after += after < len(lines)
        elif _ROW.match(line):
            while after < len(lines) and _ROW.match(lines[after]):
                after += 1
            yield _code("\n".join(lines[at:after]), "")
        elif _QUOTE.match(line):
            while after < len(lines) and _QUOTE.match(lines[after]):
                after += 1
            said = [found[1] for each in lines[at:after] if (found := _QUOTE.match(each))]
            yield from _joined(said, (("blockquote", ""),))
        else:
            yield from _line(line)
        at = after


def _end_of_fence(lines: list[str], at: int, fence: str) -> int:
    """Find the line that closes a fence; one that is never closed lasts to the end."""
    closing = re.compile(rf"\s{{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    return next((place for place in range(at + 1, len(lines)) if closing.match(lines[place])), len(lines))


def _code(text: str, language: str) -> Run:
    name = f' class="language-{escape(language)}"' if language else ""
    return Run(text, (("pre", ""), ("code", name)) if name else (("pre", ""),))


def _joined(lines: list[str], tags: tuple[tuple[str, str], ...]) -> Iterator[Run]:
    for place, line in enumerate(lines):
        if place:
            yield Run("\n", tags)
        yield from _inline(line, tags)


def _line(line: str) -> Iterator[Run]:
    if _RULE.match(line):
        yield Run("———")
    elif heading := _HEADING.match(line):
        yield from _inline(heading[1], (("b", ""),))
    elif bullet := _BULLET.match(line):
        yield Run(f"{bullet[1]}• ")
        yield from _inline(bullet[2])
    else:
        yield from _inline(line)


def _inline(text: str, tags: tuple[tuple[str, str], ...] = (), depth: int = 0) -> Iterator[Run]:
    """Read the marks inside a line."""
    at = 0
    for found in _INLINE.finditer(text) if depth < _DEEPEST else ():
        if found.start() > at:
            yield Run(text[at : found.start()], tags)
        at = found.end()
        yield from _marked(found, tags, depth + 1)
    if at < len(text):
        yield Run(text[at:], tags)


def _marked(found: re.Match[str], tags: tuple[tuple[str, str], ...], depth: int) -> Iterator[Run]:
    known = found.groupdict()
    if known["literal"]:
        yield Run(known["literal"], tags)
    elif known["code"]:
        # Telegram allows nothing else around code.
        yield Run(known["code"], (*(tag for tag in tags if tag[0] == "blockquote"), ("code", "")))
    elif known["label"] and _LINKED.match(known["url"]):
        yield from _inline(known["label"], _with(tags, "a", f' href="{escape(known["url"])}"'), depth)
    elif known["label"]:
        yield Run(f"{known['label']} ({known['url']})", tags)
    else:
        name = "b" if known["bold"] else "s" if known["gone"] else "i"
        yield from _inline(known["bold"] or known["gone"] or known["slant"], _with(tags, name), depth)


def _with(tags: tuple[tuple[str, str], ...], name: str, more: str = "") -> tuple[tuple[str, str], ...]:
    return tags if any(each[0] == name for each in tags) else (*tags, (name, more))
