"""Sets and removes one value in the text of a JSON file, and leaves every other byte as it is.

Comments and commas after the last entry, which some clients allow, are read and kept. Decides only: text in, text out.
Refuses to know what the file is for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# What may stand between two parts: space, and comments of both kinds.
_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
# The rest of a line, if there is nothing on it but comments.
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?(?=[\r\n])")
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,:\]\[}{\"/]+")
_DEEPEST = 100


class Unreadable(ValueError):
    """The text is no JSON, or holds what cannot be changed without guessing."""


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and where it stands; `members` are those of an object."""

    value: Any
    start: int
    end: int
    members: tuple[JsonMember, ...] = ()


@dataclass(frozen=True, slots=True)
class JsonMember:
    """One entry of an object; `comma` is where the comma after it stands, if there is one."""

    name: str
    start: int
    node: JsonNode
    comma: int | None

    @property
    def end(self) -> int:
        """Where it ends, with its comma."""
        return self.node.end if self.comma is None else self.comma + 1


def parsed(text: str) -> JsonNode:
    """Read a text; whatever is not JSON, apart from comments and last commas, is `Unreadable`."""
    reader = _Reader(text)
    root = reader.value(reader.skip(0), 0)
    if reader.skip(root.end) != len(text):
        raise Unreadable(f"there is something after the end of the JSON, at {_place(text, reader.skip(root.end))}")
    return root


def with_value(text: str, path: tuple[str, str], value: Any) -> str:
    """Set the value at a path of two names; objects on the way that are missing are made."""
    root = parsed(text)
    outer = _object(root, "the file")
    section = _member(outer, path[0])
    if section is None:
        return _checked(_appended(text, outer, path[0], {path[1]: value}, 0), text, path, value)
    inner = _object(section.node, path[0])
    known = _member(inner, path[1])
    if known is None:
        return _checked(_appended(text, inner, path[1], value, 1), text, path, value)
    if known.node.value == value:
        return text
    if _has_comments(text, known.node):
        raise Unreadable(f"the entry {path[1]} has comments, which would be lost")
    written = _written(value, _step(text), 2, _newline(text)) if "\n" in text else _written(value, None, 0, "")
    return _checked(text[: known.node.start] + written + text[known.node.end :], text, path, value)


def without_value(text: str, path: tuple[str, str]) -> str:
    """Remove the value at a path of two names, with its comma; the same text if it is not there."""
    section = _member(_object(parsed(text), "the file"), path[0])
    inner = section and _object(section.node, path[0])
    known = inner and _member(inner, path[1])
    if not inner or not known:
        return text
    return _checked(_cut(text, inner, known), text, path, None)


def without_empty(text: str, name: str) -> str:
    """Remove a member of the outer object if its value is an empty object; the same text otherwise."""
    outer = _object(parsed(text), "the file")
    known = _member(outer, name)
    if known is None or known.node.value != {} or _has_comments(text, known.node):
        return text
    new = _cut(text, outer, known)
    if parsed(new).value != {key: value for key, value in outer.value.items() if key != name}:
        raise Unreadable("it cannot be changed without changing something else")
    return new


def _cut(text: str, outer: JsonNode, known: JsonMember) -> str:
    """Cut a member out of the text of its object, with its comma."""
    place = outer.members.index(known)
    before = text[: known.start].rstrip(" \t\r\n")
    after = text[known.end :]
    if place == len(outer.members) - 1 and known.comma is None and place > 0:
        comma = outer.members[place - 1].comma or 0
        before = before[:comma] + before[comma + 1 :]
    if before.endswith("{") and _SPACE.match(after) and after.lstrip().startswith("}"):
        after = after.lstrip()
    return before + after


def _checked(new: str, old: str, path: tuple[str, str], value: Any) -> str:
    """Read the new text back: nothing but the value may be different."""
    wanted = json.loads(json.dumps(parsed(old).value))
    section = wanted.setdefault(path[0], {})
    if value is None:
        section.pop(path[1], None)
    else:
        section[path[1]] = value
    if parsed(new).value != wanted:
        raise Unreadable("it cannot be changed without changing something else")
    return new


def _appended(text: str, into: JsonNode, name: str, value: Any, depth: int) -> str:
    """Add an entry at the end of an object, in the style of the text."""
    is_flat = bool(into.members) and "\n" not in text[into.start : into.end]
    step, newline = _step(text), _newline(text)
    if is_flat:
        last = into.members[-1]
        entry = f"{json.dumps(name, ensure_ascii=False)}: {_written(value, None, 0, '')}"
        return f"{text[: last.node.end]}, {entry}{text[last.node.end :]}"
    lead = newline + step * (depth + 1)
    entry = f"{lead}{json.dumps(name, ensure_ascii=False)}: {_written(value, step, depth + 1, newline)}"
    if not into.members:
        inside = text[into.start + 1 : into.end - 1].rstrip(" \t\r\n")
        return f"{text[: into.start + 1]}{inside}{entry}{newline}{step * depth}{text[into.end - 1 :]}"
    last = into.members[-1]
    # A remark on the line of the last entry stays with it.
    rest = _REST_OF_LINE.match(text, last.end)
    place = rest.end() if rest else last.end
    comma = "," if last.comma is None else ""
    mine = "," if last.comma is not None else ""
    return f"{text[: last.node.end]}{comma}{text[last.node.end : place]}{entry}{mine}{text[place:]}"


def _written(value: Any, step: str | None, depth: int, newline: str) -> str:
    """Write a value as JSON, its lines in as deep as its place."""
    if step is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
    return (newline + step * depth).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _step(text: str) -> str:
    """Find how far the text indents."""
    found = re.search(r"\{[^\"\n]*\n([ \t]+)\"", text)
    return found[1] if found else "  "


def _has_comments(text: str, node: JsonNode) -> bool:
    bare = re.sub(r'"(?:\\.|[^"\\])*"', '""', text[node.start : node.end])
    return "//" in bare or "/*" in bare


def _object(node: JsonNode, what: str) -> JsonNode:
    if not isinstance(node.value, dict):
        raise Unreadable(f"{what} is not an object")
    return node


def _member(node: JsonNode, name: str) -> JsonMember | None:
    """Find an entry; one that is there twice cannot be changed."""
    found = [each for each in node.members if each.name == name]
    if len(found) > 1:
        raise Unreadable(f"{name} is there {len(found)} times")
    return found[0] if found else None


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - (text.rfind(chr(10), 0, at))}"


class _Reader:
    """Reads values of one text, with their places."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()

    def skip(self, at: int) -> int:
        """Go past space and comments."""
        found = _GAP.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> JsonNode:
        """Read the value that begins here."""
        if depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        if self._text.startswith("{", at):
            return self._object(at, depth)
        if self._text.startswith("[", at):
            return self._array(at, depth)
        return self._scalar(at)

    def _scalar(self, at: int) -> JsonNode:
        is_text = self._text.startswith('"', at)
        word = None if is_text else _SCALAR.match(self._text, at)
        try:
            if word is not None:
                return JsonNode(json.loads(word[0]), at, word.end())
            found, end = self._decoder.raw_decode(self._text, at) if is_text else (None, at)
        except ValueError as error:
            raise Unreadable(f"there is no JSON value at {_place(self._text, at)}") from error
        if end == at:
            raise Unreadable(f"there is no JSON value at {_place(self._text, at)}")
        return JsonNode(found, at, end)

    def _array(self, start: int, depth: int) -> JsonNode:
        held: list[Any] = []
        at = self.skip(start + 1)
        while not self._text.startswith("]", at):
            node = self.value(at, depth + 1)
            held.append(node.value)
            at, _ = self._after(node.end, "]")
        return JsonNode(held, start, at + 1)

    def _object(self, start: int, depth: int) -> JsonNode:
        held: list[JsonMember] = []
        at = self.skip(start + 1)
        while not self._text.startswith("}", at):
            name = self._scalar(at)
            colon = self.skip(name.end)
            if not isinstance(name.value, str) or not self._text.startswith(":", colon):
                raise Unreadable(f"there is no name with a colon at {_place(self._text, at)}")
            node = self.value(self.skip(colon + 1), depth + 1)
            begun = at
            at, comma = self._after(node.end, "}")
            held.append(JsonMember(name.value, begun, node, comma))
        return JsonNode(_tree(held), start, at + 1, tuple(held))

    def _after(self, end: int, closing: str) -> tuple[int, int | None]:
        """Go past the comma after an entry, or to the end of what holds it."""
        at = self.skip(end)
        if self._text.startswith(",", at):
            return self.skip(at + 1), at
        if self._text.startswith(closing, at):
            return at, None
        raise Unreadable(f"a comma or {closing} is missing at {_place(self._text, at)}")


def _tree(members: Sequence[JsonMember]) -> dict[str, Any]:
    return {each.name: each.node.value for each in members}
