"""Reads front matter that is no YAML but that a person can read: a colon in a title, tabs, a key given twice.

Field by field: what YAML can read is read by YAML, the rest is taken as the text that it is, and each such assumption
is named. Also changes such front matter, block by block. Refuses what could mean two things: a list that is not closed,
or a line that belongs to no field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everloom.graph.files.frontmatter import Fields, UnreadableFile, load_fields, refuse_bombs
from everloom.graph.results import Assumption

_KEY = re.compile(r"""([^\s#'"\[\]{}:|>&*!%@`,-][^:\n]{0,100}?)[ \t]*:(?=[ \t]|$)[ \t]*(.*)$""")
_ITEM = re.compile(r"\s*-\s+(.*)$")
_TABS = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FieldBlock:
    """The lines of one field: its name, its first line, and the line after its last."""

    key: str
    start: int
    end: int


def load_any(text: str) -> tuple[Fields, tuple[Assumption, ...]]:
    """Read front matter as YAML or, if it is none, field by field, with what was assumed."""
    try:
        return load_fields(text), ()
    except UnreadableFile as error:
        refuse_bombs(text)
        try:
            return _load_blocks(text, error)
        except UnreadableFile:
            raise error from None


def looks_like_fields(text: str) -> bool:
    """Check whether any line of a text begins a field; otherwise the lines around it are rules, not fences."""
    return any(_KEY.match(line) for line in text.splitlines()) or text.lstrip().startswith(("{", "- ", "["))


def blocks_of(text: str) -> list[FieldBlock]:
    """Divide front matter into its fields; UnreadableFile names a line that belongs to none."""
    found: list[FieldBlock] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (key := _KEY.match(line)) is not None:
            found.append(FieldBlock(key[1], number, number + 1))
        elif found and (line[0] in " \t" or _ITEM.match(line)):
            found[-1] = FieldBlock(found[-1].key, found[-1].start, number + 1)
        else:
            raise UnreadableFile("the front matter is not YAML: this line is no field", number + 2)
    return found


def _load_blocks(text: str, error: UnreadableFile) -> tuple[Fields, tuple[Assumption, ...]]:
    lines = text.splitlines()
    fields: Fields = {}
    assumed: list[Assumption] = []
    for block in blocks_of(text):
        if block.key in fields:
            assumed.append(Assumption(block.key, "it is given twice: the last one counts"))
        fields[block.key], reasons = _value_of(block.key, "\n".join(lines[block.start : block.end]), error)
        assumed += [Assumption(block.key, reason) for reason in reasons]
    return fields, tuple(assumed)


def _value_of(key: str, own: str, error: UnreadableFile) -> tuple[Any, list[str]]:
    """Read one field, with what was assumed about it; fail with the error of the whole if nobody could."""
    even = _TABS.sub(lambda tabs: tabs[0].expandtabs(2), own)
    reasons = [] if even == own else ["its tabs are read as spaces"]
    try:
        value = load_fields(even)[key]
    except (UnreadableFile, KeyError):
        value = _raw(even.split("\n"), error)
        return value, [*reasons, f"read as the text {_told(value)}"]
    # Tabs in a list of texts can mean only one thing, in anything deeper several.
    if reasons and not _is_simple(value):
        raise error
    return value, reasons


def _is_simple(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _told(value: Any) -> str:
    text = value if isinstance(value, str) else ", ".join(value)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def _raw(lines: Sequence[str], error: UnreadableFile) -> Any:
    """Take a value as the text that it is: on one line, or a list with one item on each."""
    found = _KEY.match(lines[0])
    first = "" if found is None else found[2].strip()
    rest = [line for line in lines[1:] if line.strip()]
    if not first:
        items = [_ITEM.match(line) for line in rest]
        if rest and all(items):
            return [_bare(item[1]) for item in items if item]
        raise error
    if rest:
        raise error
    if first.startswith("[") and first.endswith("]") and not first.startswith("[["):
        return [part for each in first[1:-1].split(",") if (part := _bare(each))]
    # A list or a mapping that goes on nowhere: whatever was meant, it is not this text.
    if first[0] in "[{" and not first.startswith("[["):
        raise error
    return _bare(first)


def _bare(text: str) -> str:
    """Take the quotes off a text."""
    whole = text.strip()
    if len(whole) > 1 and whole[0] in "\"'" and whole[-1] == whole[0]:
        return whole[1:-1].replace('\\"', '"')
    return whole


def edit_blocks(text: str, changes: Mapping[str, str], newline: str) -> str:
    """Replace the lines of some fields, or remove them with an empty text; a new field goes to the end, an id first."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    found = {block.key: block for block in blocks_of(text)}
    for block in sorted(blocks_of(text), key=lambda each: -each.start):
        if block.key in changes:
            # Of a key given twice the last one counts, and the others go with the change.
            new = changes[block.key] if found[block.key] == block else ""
            lines[block.start : block.end] = [new] if new else []
    fresh = [new for key, new in changes.items() if key not in found and key != "id"]
    first = [changes["id"]] if "id" in changes and "id" not in found else []
    return "".join([*first, *lines, *fresh])
