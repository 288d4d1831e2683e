"""What changed between two texts: line by line first, then word by word inside the lines that changed. Pure.

`changes_between` says what was kept, removed and added; `words_diff` shows it, with long stretches that did not change
folded. The effort is bounded whatever the texts are: where comparing would take long, a stretch is shown as removed and
added whole. Refuses to know what the texts are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from typing import Literal

from markupsafe import Markup

from everloom.surfaces.page.html import clean

# Comparing takes the square of these in the worst case.
_MOST_LINES = 800
_MOST_WORDS = 600
# Below this share of common words, two lines are two lines: a patchwork of single words is harder to read.
_LEAST_ALIKE = 0.35
# Of an unchanged stretch, so many lines beside a change are shown.
_BESIDE = 2
# What is shown of one stretch, and of all together; a browser lays out more only slowly.
_LONGEST_PIECE = 8_000
_LONGEST_SHOWN = 40_000
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")

Change = Literal["kept", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that is in both texts, only in the old one, or only in the new one."""

    change: Change
    text: str


def changes_between(old: str, new: str) -> tuple[Piece, ...]:
    """Compare two texts; kept and removed pieces make the old one, kept and added pieces the new one."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    first = _common(before, after)
    last = _common(before[first:][::-1], after[first:][::-1])
    middle = _compared(before[first : len(before) - last], after[first : len(after) - last])
    return tuple(_joined(chain(_kept(before[:first]), middle, _kept(before[len(before) - last :]))))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _kept(parts: Sequence[str]) -> Iterator[Piece]:
    if parts:
        yield Piece("kept", "".join(parts))


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    """Compare lines; those that changed are compared by words."""
    if len(before) > _MOST_LINES or len(after) > _MOST_LINES:
        yield from _replaced("".join(before), "".join(after))
        return
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Piece("kept", "".join(before[a:b]))
        else:
            yield from _by_words("".join(before[a:b]), "".join(after[c:d]))


def _by_words(old: str, new: str) -> Iterator[Piece]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if not before or not after or len(before) > _MOST_WORDS or len(after) > _MOST_WORDS:
        yield from _replaced(old, new)
        return
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    # Spaces do not count: any two lines share them.
    shared = sum(
        not before[place].isspace() for a, _, size in matcher.get_matching_blocks() for place in range(a, a + size)
    )
    if shared < _LEAST_ALIKE * max(sum(not word.isspace() for word in side) for side in (before, after)):
        yield from _replaced(old, new)
        return
    gone, come = "", ""
    for kind, a, b, c, d in matcher.get_opcodes():
        was, now = "".join(before[a:b]), "".join(after[c:d])
        # A space between two words that changed belongs to the change: word, gap, word would be hard to read.
        if kind == "equal" and not ((gone or come) and was.isspace() and "\n" not in was):
            yield from _replaced(gone, come)
            yield Piece("kept", was)
            gone, come = "", ""
        else:
            gone, come = gone + was, come + now
    yield from _replaced(gone, come)


def _replaced(old: str, new: str) -> Iterator[Piece]:
    if old:
        yield Piece("removed", old)
    if new:
        yield Piece("added", new)


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Join neighbours of one kind."""
    held: Piece | None = None
    for each in pieces:
        if held is not None and held.change == each.change:
            held = Piece(held.change, held.text + each.text)
            continue
        if held is not None:
            yield held
        held = each
    if held is not None:
        yield held


def words_diff(old: str, new: str) -> Markup:
    """Show what changed from one text to another, marked as removed and added."""
    pieces = changes_between(old, new)
    if all(each.change == "kept" for each in pieces):
        return Markup('<p class="note">Nothing changed.</p>')
    shown, written = [], 0
    for place, each in enumerate(pieces):
        if written > _LONGEST_SHOWN:
            shown.append(_left_out("more changes are not shown here"))
            break
        part = _shown(each, is_first=place == 0, is_last=place == len(pieces) - 1)
        written += len(part)
        shown.append(part)
    return Markup('<div class="stored diff" dir="auto">{}</div>').format(Markup("").join(shown))


def _shown(piece: Piece, *, is_first: bool, is_last: bool) -> Markup:
    if piece.change == "kept":
        return _folded(piece.text, is_first=is_first, is_last=is_last)
    text, tag = _cut(piece.text), "del" if piece.change == "removed" else "ins"
    # The tag is one of two words of ours; the text is escaped by `format`.
    return Markup(f"<{tag}>{{}}</{tag}>").format(text)


def _folded(text: str, *, is_first: bool, is_last: bool) -> Markup:
    """Show the lines of an unchanged stretch that stand beside a change, and count the others."""
    lines = text.splitlines(keepends=True)
    head = 0 if is_first else _BESIDE + 1
    tail = 0 if is_last else _BESIDE + 1
    hidden = len(lines) - head - tail
    if hidden < 2:
        return Markup("{}").format(_cut(text))
    begin, end = "".join(lines[:head]), "".join(lines[len(lines) - tail :])
    return Markup("{}{}{}").format(_cut(begin), _left_out(f"{hidden:,} lines that did not change"), _cut(end))


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_PIECE:
        return clean(text)
    return f"{clean(text[:_LONGEST_PIECE])}… ({len(text) - _LONGEST_PIECE:,} more characters)"


def _left_out(what: str) -> Markup:
    return Markup('<span class="folded">⋯ {}</span>\n').format(what)
