"""A markdown file split into front matter and body without losing a byte, and the YAML of the front matter as values.

Values are mappings, lists and texts: no text is taken for a number, a date or an object, so no YAML can do harm. What
the graph itself writes is read by a quick reader of lines, everything else by ruamel.yaml, with the same answer: ten
thousand files are opened in seconds. Refuses to know what the fields mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from everloom.errors import Conflict

_FENCE = re.compile(r"---[ \t]*\r?\n")
_CODE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_MARKERS = (re.compile(r"^<{7}(?: |\r?$)", re.MULTILINE), re.compile(r"^>{7}(?: |\r?$)", re.MULTILINE))
BOM = "\ufeff"
# A front matter is a page, not a book; YAML takes its time with a book.
_LONGEST = 200_000

Fields = dict[str, Any]

# Only what means the same to every reader: no indicator, no colon before a space, nothing that YAML would fold.
_PLAIN = r"[A-Za-z0-9_/](?:[\w ./()+=~;,$^-]|:(?=[\w/.-]))*"
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|\\["\\])*"'
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_FIELD = re.compile(rf"({_NAME}):(?: +({_PLAIN}|{_QUOTED}|\[.*\]))? *\Z")
_ITEM = re.compile(rf"( *)- +(?:({_NAME}): +)?({_PLAIN}|{_QUOTED}) *\Z")
_INNER = re.compile(rf"( +)({_NAME}): +({_PLAIN}|{_QUOTED}) *\Z")
_FLOW_PART = re.compile(rf" *([A-Za-z0-9_][\w./+-]*|{_QUOTED}) *(?:,|\Z)")
_BRACKET = re.compile(r"[\[\]{}]")
_ALIAS = re.compile(r"(?:^|[\s,\[{])\*\w")
# Far more than any front matter has, and far less than keeps a YAML reader busy.
_DEEPEST, _MOST_ALIASES = 50, 8
_ESCAPE = re.compile(r"\\(.)")


class UnreadableFile(Conflict):
    """A file that is not in a state to be used; `line` says where it goes wrong. It is left as it is."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        where = "" if line is None else f" (line {line})"
        super().__init__(f"{reason}{where}", hint="fix the file by hand; nothing in it was changed")
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class MarkdownFile:
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

    def with_content(self, content: str) -> MarkdownFile:
        """Put another text in place of the body, in this file's line endings."""
        lines = content.strip("\r\n").replace("\r\n", "\n").split("\n")
        body = self.newline + self.newline.join(lines) + self.newline
        tail = self.tail if self.tail.endswith("\n") else self.tail + self.newline
        return MarkdownFile(self.head, self.yaml, tail, body)


def split_file(data: bytes) -> MarkdownFile:
    """Cut a file at its first two `---` lines."""
    text = _decode(data)
    _refuse_markers(text)
    start = len(BOM) if text.startswith(BOM) else 0
    opening = _FENCE.match(text, start)
    if opening is None:
        raise UnreadableFile("it has no front matter: the first line is not ---", 1)
    # Only the first fence after the head closes it: a body may have lines of its own that say ---.
    closing = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE).search(text, opening.end())
    if closing is None:
        raise UnreadableFile("the front matter does not end: there is no second ---", 1)
    yaml = text[opening.end() : closing.start()]
    if len(yaml) > _LONGEST:
        raise UnreadableFile(f"the front matter has {len(yaml):,} characters", 1)
    return MarkdownFile(text[: opening.end()], yaml, closing[0], text[closing.end() :])


def _decode(data: bytes) -> str:
    """Read UTF-8; say on which line it is something else."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFile("this is not UTF-8", 1 + data.count(b"\n", 0, error.start)) from None
    if "\x00" in text:
        raise UnreadableFile("there is a null character", 1 + text.count("\n", 0, text.index("\x00")))
    return text


def _refuse_markers(text: str) -> None:
    """Find what a merge left behind; in a block of code such lines are an example."""
    ours, theirs = (marker.search(text) for marker in _MARKERS)
    if ours and theirs and ours.start() < theirs.start() and len(_CODE.findall(text, 0, ours.start())) % 2 == 0:
        raise UnreadableFile("it contains a git merge conflict", 1 + text.count("\n", 0, ours.start()))


def load_fields(text: str) -> Fields:
    """Read front matter into fields."""
    quick = load_quickly(text.replace("\r\n", "\n"))
    return quick if quick is not None else load_thoroughly(text)


def load_thoroughly(text: str) -> Fields:
    """Read any YAML; trouble is reported with its line in the file."""
    _refuse_bombs(text)
    try:
        tree = YAML(typ="base", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else 2 + text.count("\n", 0, mark.index)
        raise UnreadableFile(f"the front matter is not YAML: {error.problem or error.context}", line) from None
    except (YAMLError, RecursionError, ValueError, NotImplementedError, AssertionError, LookupError) as error:
        raise UnreadableFile(f"the front matter is not YAML: {str(error).splitlines()[0][:120]}", 1) from None
    if tree is None:
        return {}
    if not isinstance(tree, dict) or not all(isinstance(key, str) for key in tree):
        raise UnreadableFile("the front matter is not a list of fields", 2)
    return tree


def _refuse_bombs(text: str) -> None:
    """Refuse what would keep a reader busy for minutes: deep nesting, and aliases that multiply."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest > _DEEPEST or len(_ALIAS.findall(text)) > _MOST_ALIASES:
        raise UnreadableFile("the front matter is nested too deeply", 2)


def load_quickly(text: str) -> Fields | None:
    """Read the form that the graph itself writes; None for anything else."""
    tree: Fields = {}
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line:
            continue
        found = _FIELD.match(line)
        if found is None or found[1] in tree:
            return None
        if found[2] is not None:
            value = _read_flow(found[2]) if found[2].startswith("[") else _unquote(found[2])
        else:
            value, position = _read_block(lines, position)
        if value is None:
            return None
        tree[found[1]] = value
    return tree


def _read_block(lines: list[str], position: int) -> tuple[list[Any] | None, int]:
    """Read the items of a list; a mapping's first field stands beside the dash, the others under it."""
    items: list[Any] = []
    indent: str | None = None
    while position < len(lines) and (found := _ITEM.match(lines[position])):
        if indent is None:
            indent = found[1]
        if found[1] != indent:
            return None, position
        position += 1
        if found[2] is None:
            items.append(_unquote(found[3]))
            continue
        column = len(found[0]) - len(found[0].lstrip(" -"))
        fields, position = _read_inner(lines, position, column, {found[2]: _unquote(found[3])})
        if fields is None:
            return None, position
        items.append(fields)
    return items or None, position


def _read_inner(lines: list[str], position: int, column: int, fields: Fields) -> tuple[Fields | None, int]:
    """Read the further fields of an item; all stand in one column."""
    while position < len(lines) and (found := _INNER.match(lines[position])):
        if len(found[1]) != column or found[2] in fields:
            return None, position
        fields[found[2]] = _unquote(found[3])
        position += 1
    return fields, position


def _read_flow(text: str) -> list[str] | None:
    """Read a list that stands on one line."""
    rest, items = text[1:-1], []
    if not rest.strip(" "):
        return []
    position = 0
    while position < len(rest):
        found = _FLOW_PART.match(rest, position)
        if found is None:
            return None
        items.append(_unquote(found[1]))
        position = found.end()
    return items if not rest.rstrip(" ").endswith(",") else None


def _unquote(text: str) -> str:
    """Take a text out of its quotes."""
    return _ESCAPE.sub(r"\1", text[1:-1]) if text.startswith('"') else text.rstrip(" ")
