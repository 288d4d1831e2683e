"""The part of a note that is shown: its end if it is too long, a page of lines, or the lines that contain some words.

People and agents add to the end of a note, so its end is its newest part. Pure; refuses to know where notes are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from everloom.errors import Rejected
from everloom.kernel.answer.budget import cost, cut

_MOST_FOUND = 100
# Headings of the part that is not shown: the newest ones, each with the number of its line.
_MOST_HEADINGS, _LONGEST_HEADING = 30, 80
_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
# What the fields beside the text take of an answer.
_BESIDE = 60


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a note, from one number to another, of how many there are."""

    text: str
    first: int
    last: int
    lines: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the note is missing."""
        return self.first <= 1 and self.last >= self.lines


def end_of(body: str, longest: int) -> str:
    """Keep the end of a note that is too long, below a line that says what is missing; a long part by its headings."""
    if len(body) <= longest:
        return body
    at = len(body) - longest
    # From the beginning of a line, unless one line takes nearly all of the room.
    line = body.find("\n", at) + 1
    at = line if 0 < line <= at + longest // 2 else at
    hidden = body[:at]
    mark = f"[{len(hidden):,} characters before this are not shown; read_note with from_line or find shows them]"
    headings = outline(hidden) if len(hidden) > longest else []
    return "\n".join([*headings, mark, body[at:]])


def outline(body: str) -> list[str]:
    """List the last headings of a text with the numbers of their lines."""
    found = [f"[line {number}: {line.strip()[:_LONGEST_HEADING]}]" for number, line in _headings(body.split("\n"))]
    left = len(found) - _MOST_HEADINGS
    return found if left <= 0 else [f"[{left:,} headings before these]", *found[-_MOST_HEADINGS:]]


def _headings(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and _HEADING.match(line):
            yield number, line


def page_of(body: str, from_line: int | None, count: int | None, tokens: int | None) -> Excerpt:
    """Take a page of lines: from a number, which counts from the end if it is below 0, as many as asked for and fit."""
    lines = _lines_of(body)
    first = _first(from_line, len(lines))
    wanted = lines[first - 1 :] if count is None else lines[first - 1 : first - 1 + count]
    taken = _that_fit(wanted, tokens)
    return Excerpt("\n".join(taken), first, first + len(taken) - 1, len(lines))


def lines_with(body: str, words: str, from_line: int | None, tokens: int | None) -> Excerpt:
    """Find the lines that contain all of these words, each with its number, from a line on."""
    wanted = words.casefold().split()
    if not wanted:
        raise Rejected("find needs a word", hint="name words that the lines contain, such as find='boat'")
    lines = _lines_of(body)
    first = _first(from_line, len(lines))
    found = [
        (number, f"{number}: {line}")
        for number, line in enumerate(lines[first - 1 :], first)
        if all(word in line.casefold() for word in wanted)
    ]
    shown = _that_fit([line for _, line in found[:_MOST_FOUND]], tokens)
    # Where the search is to go on: behind the last line that is shown.
    last = len(lines) if len(shown) == len(found) else found[len(shown) - 1][0]
    return Excerpt("\n".join(shown), first, last, len(lines))


def _lines_of(body: str) -> list[str]:
    lines = body.split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def _first(from_line: int | None, count: int) -> int:
    if from_line is None:
        return 1
    if from_line == 0 or from_line > count:
        raise Rejected(
            f"there is no line {from_line}: the note has {count:,}", hint="1 is the first line, -1 the last one"
        )
    return from_line if from_line > 0 else max(1, count + from_line + 1)


def _that_fit(lines: Sequence[str], tokens: int | None) -> list[str]:
    """Take the first lines that fit into a budget, and at least one, which is cut if it alone does not fit."""
    if tokens is None:
        return list(lines)
    room = max(tokens // 2, tokens - _BESIDE)
    taken: list[str] = []
    for line in lines:
        room -= cost(line)
        if room < 0 and taken:
            break
        taken.append(line if room >= 0 else cut(line, max(1, room + cost(line))))
    return taken
