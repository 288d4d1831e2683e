"""Splits a markdown file into front matter and body without losing a byte, and reads the YAML of the front matter.

Values are mappings, lists and texts: no text is converted to a number, a date or an object, so no YAML can do harm. A
fast line reader handles the form that the graph itself writes, and ruamel.yaml everything else, with the same result:
ten thousand files load in seconds. Refuses to know the meaning of fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from everloom.errors import Conflict

_FENCE = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_MARKERS = (re.compile(r"^<{7}(?: |\r?$)", re.MULTILINE), re.compile(r"^>{7}(?: |\r?$)", re.MULTILINE))
BOM = "\ufeff"
# Far more than any memory needs. ruamel.yaml takes about a second for this much, and one file must not hold up the scan
# of a whole directory.
_LONGEST = 200_000

Fields = dict[str, Any]

# The fast reader accepts only values that every YAML reader understands in the same way: no indicators, no colon before
# a space, nothing that YAML would fold. A property test compares it with ruamel.yaml.
_PLAIN = r"[A-Za-z0-9_/](?:[\w ./()+=~;,$^-]|:(?=[\w/.-]))*"
_QUOTED = r'"(?:[^"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|\\["\\])*"'
_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_FIELD = re.compile(rf"({_NAME}):(?: +({_PLAIN}|{_QUOTED}|\[.*\]))? *\Z")
_ITEM = re.compile(rf"( *)- +(?:({_NAME}): +)?({_PLAIN}|{_QUOTED}) *\Z")
_INNER = re.compile(rf"( +)({_NAME}): +({_PLAIN}|{_QUOTED}) *\Z")
_FLOW_PART = re.compile(rf" *([A-Za-z0-9_][\w./+-]*|{_QUOTED}) *(?:,|\Z)")
_BRACKET = re.compile(r"[\[\]{}]")
_ALIAS = re.compile(r"(?:^|[\s,\[{])\*\w")
# Far more than any front matter contains, and few enough that nested aliases cannot multiply.
_DEEPEST, _MOST_ALIASES = 50, 8
_ESCAPE = re.compile(r"\\(.)")


class UnreadableFile(Conflict):
    """A file that cannot be read as a memory or an edge, with the line of the first problem. It is not changed."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        where = "" if line is None else f" (line {line})"
        super().__init__(f"{reason}{where}", hint="fix the file by hand; it was not changed")
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """The parts of a file: `head`, `yaml`, `tail` and `body` joined give its text, byte for byte."""

    head: str
    yaml: str
    tail: str
    body: str

    @property
    def data(self) -> bytes:
        """Join the parts and encode them."""
        return f"{self.head}{self.yaml}{self.tail}{self.body}".encode()

    @property
    def newline(self) -> str:
        """Return the line ending that this file uses."""
        if self.is_bare:
            first = self.body.find("\n")
            return "\r\n" if first > 0 and self.body[first - 1] == "\r" else "\n"
        return "\r\n" if self.head.endswith("\r\n") else "\n"

    @property
    def is_bare(self) -> bool:
        """Say whether the file has no front matter."""
        return not self.tail

    def with_fences(self) -> MarkdownFile:
        """Return the file with empty front matter, unless it has some; nothing else changes."""
        if not self.is_bare:
            return self
        fence = f"---{self.newline}"
        return MarkdownFile(self.head + fence, "", fence, self.body)

    def line_of(self, key: str) -> int:
        """Find the line number of a top-level field; 1 if it is missing."""
        found = re.search(rf"^{re.escape(key)}[ \t]*:", self.yaml, re.MULTILINE)
        return 1 if found is None else 2 + self.yaml.count("\n", 0, found.start())

    def with_content(self, content: str, before: str = "") -> MarkdownFile:
        """Replace the body, with this file's line endings; after what was there `before`, only the rest is added."""
        if before and content.startswith(before) and self.body.strip() == before:
            kept, added = self.body.rstrip(), content[len(before) :]
            return self._with_body(kept + self._in_lines(added) + (self.body[len(kept) :] or self.newline))
        # Blank lines at both ends are the person's layout.
        start = self.body[: len(self.body) - len(self.body.lstrip("\r\n"))] if before else self.newline
        end = self.body[len(self.body.rstrip("\r\n")) :] if before else ""
        return self._with_body(start + self._in_lines(content.strip("\r\n")) + (end or self.newline))

    def _in_lines(self, text: str) -> str:
        return self.newline.join(text.replace("\r\n", "\n").split("\n"))

    def _with_body(self, body: str) -> MarkdownFile:
        tail = self.tail if self.tail.endswith("\n") else self.tail + self.newline
        return MarkdownFile(self.head, self.yaml, tail, body)


def split_file(data: bytes, *, looks_like_fields: Callable[[str], bool] | None = None) -> MarkdownFile:
    """Split a file at its first two `---` lines.

    With `looks_like_fields`, a file may be without front matter: then lines that it does not take for fields are text,
    and the `---` around them are horizontal rules.
    """
    text = _decode(data)
    _refuse_markers(text)
    start = len(BOM) if text.startswith(BOM) else 0
    bare = MarkdownFile(text[:start], "", "", text[start:])
    opening = _FENCE.match(text, start)
    if opening is None:
        if looks_like_fields is not None:
            return bare
        raise UnreadableFile("the file has no front matter: its first line is not ---", 1)
    # The next fence closes the front matter; any further --- is a horizontal rule in the body.
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        beginning = text[opening.end() :].lstrip().split("\n", 1)[0]
        if looks_like_fields is not None and not looks_like_fields(beginning):
            return bare
        raise UnreadableFile("the front matter does not end: there is no second ---", 1)
    yaml = text[opening.end() : closing.start()]
    if looks_like_fields is not None and yaml.strip() and not looks_like_fields(yaml):
        return bare
    if len(yaml) > _LONGEST:
        raise UnreadableFile(f"the front matter is too long: {len(yaml):,} characters", 1)
    return MarkdownFile(text[: opening.end()], yaml, closing[0], text[closing.end() :])


def _decode(data: bytes) -> str:
    """Decode UTF-8, or report the first line that is not."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFile("the file is not UTF-8", 1 + data.count(b"\n", 0, error.start)) from None
    if "\x00" in text:
        raise UnreadableFile("the file contains a null character", 1 + text.count("\n", 0, text.index("\x00")))
    return text


def _refuse_markers(text: str) -> None:
    """Refuse a file with git's conflict markers; inside a code block they are an example."""
    ours, theirs = (marker.search(text) for marker in _MARKERS)
    if ours and theirs and ours.start() < theirs.start() and len(_CODE.findall(text, 0, ours.start())) % 2 == 0:
        raise UnreadableFile("the file contains a git merge conflict", 1 + text.count("\n", 0, ours.start()))


def load_fields(text: str) -> Fields:
    """Read front matter as fields."""
    quick = load_quickly(text.replace("\r\n", "\n"))
    return quick if quick is not None else load_thoroughly(text)


def load_thoroughly(text: str) -> Fields:
    """Read any YAML; errors are reported with their line in the file."""
    refuse_bombs(text)
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


def refuse_bombs(text: str) -> None:
    """Refuse YAML that would take minutes to read: deep nesting, and aliases that multiply."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest > _DEEPEST or len(_ALIAS.findall(text)) > _MOST_ALIASES:
        raise UnreadableFile("the front matter is nested too deeply", 2)


def load_quickly(text: str) -> Fields | None:
    """Read the form that the graph itself writes; None if it is any other."""
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
    """Read the items of a list; the first field of a mapping is on the line of the dash, the others are below it."""
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
    """Read the remaining fields of an item, which must be in one column."""
    while position < len(lines) and (found := _INNER.match(lines[position])):
        if len(found[1]) != column or found[2] in fields:
            return None, position
        fields[found[2]] = _unquote(found[3])
        position += 1
    return fields, position


def _read_flow(text: str) -> list[str] | None:
    """Read a list that is written on one line."""
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
    # YAML allows a comma after the last item; the slow reader handles it.
    return items if not rest.rstrip(" ").endswith(",") else None


def _unquote(text: str) -> str:
    """Remove the quotes from a text, and resolve its escapes."""
    return _ESCAPE.sub(r"\1", text[1:-1]) if text.startswith('"') else text.rstrip(" ")
