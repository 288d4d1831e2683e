"""A markdown file cut into front matter and body, so that joining the parts gives the same bytes.

Knows neither YAML nor what the fields mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from everloom.errors import Conflict

FENCE = re.compile(r"---[ \t]*\r?\n")
CODE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
MARKERS = (re.compile(r"^<{7}(?: |\r?$)", re.MULTILINE), re.compile(r"^>{7}(?: |\r?$)", re.MULTILINE))
BOM = "\ufeff"
# A front matter is a page, not a book; YAML takes its time with a book.
LONGEST = 200_000


class Unreadable(Conflict):
    """A file that is not in a state to be used; `line` says where it goes wrong. It is left as it is."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        where = "" if line is None else f" (line {line})"
        super().__init__(f"{reason}{where}", hint="mend the file by hand; nothing in it was changed")
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class Sheet:
    """The parts of a file; `head`, `yaml`, `tail` and `body` joined are its text, to the byte."""

    head: str
    yaml: str
    tail: str
    body: str

    @property
    def data(self) -> bytes:
        """Join the parts."""
        return f"{self.head}{self.yaml}{self.tail}{self.body}".encode()

    @property
    def newline(self) -> str:
        """Say how this file ends its lines."""
        return "\r\n" if self.head.endswith("\r\n") else "\n"

    def line_of(self, key: str) -> int:
        """Find the line on which a top-level field stands; the first line if it is missing."""
        found = re.search(rf"^{re.escape(key)}[ \t]*:", self.yaml, re.MULTILINE)
        return 1 if found is None else 2 + self.yaml.count("\n", 0, found.start())

    def with_content(self, content: str) -> Sheet:
        """Put another text in place of the body, in this file's line endings."""
        lines = content.strip("\r\n").replace("\r\n", "\n").split("\n")
        body = self.newline + self.newline.join(lines) + self.newline
        tail = self.tail if self.tail.endswith("\n") else self.tail + self.newline
        return Sheet(self.head, self.yaml, tail, body)

    def with_yaml(self, yaml: str) -> Sheet:
        """Put other front matter in place."""
        return Sheet(self.head, yaml, self.tail, self.body)


def cut(data: bytes) -> Sheet:
    """Cut a file at its first two `---` lines."""
    text = decoded(data)
    refuse_markers(text)
    start = len(BOM) if text.startswith(BOM) else 0
    opening = FENCE.match(text, start)
    if opening is None:
        raise Unreadable("there is no front matter: the first line is not ---", 1)
    closing = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE).search(text, opening.end())
    if closing is None:
        raise Unreadable("the front matter does not end: there is no second ---", 1)
    yaml = text[opening.end() : closing.start()]
    if len(yaml) > LONGEST:
        raise Unreadable(f"the front matter has {len(yaml):,} characters", 1)
    return Sheet(text[: opening.end()], yaml, closing[0], text[closing.end() :])


def decoded(data: bytes) -> str:
    """Read UTF-8; say on which line it is something else."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable("this is not UTF-8", 1 + data.count(b"\n", 0, error.start)) from None
    if "\x00" in text:
        raise Unreadable("there is a null character", 1 + text.count("\n", 0, text.index("\x00")))
    return text


def refuse_markers(text: str) -> None:
    """Find what a merge left behind; in a block of code such lines are an example."""
    ours, theirs = (marker.search(text) for marker in MARKERS)
    if ours and theirs and ours.start() < theirs.start() and len(CODE.findall(text, 0, ours.start())) % 2 == 0:
        raise Unreadable("git left a merge conflict", 1 + text.count("\n", 0, ours.start()))
