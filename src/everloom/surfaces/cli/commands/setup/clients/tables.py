"""Sets and removes one table in the text of a TOML file, and leaves every other line as it is.

Works by lines, which is a guess; reading the result back proves it right, and what cannot be proved is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

_HEADER = re.compile(r"\s*\[")


def written_table(path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Write a table; texts, lists of texts, numbers and switches are written alike in JSON and TOML."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join([f"[{path[0]}.{path[1]}]", *lines, ""])


def known_table(text: str, path: tuple[str, str]) -> dict[str, Any] | None:
    """Read a table; None if it is not there."""
    section = tomllib.loads(text).get(path[0], {})
    if not isinstance(section, dict):
        raise ValueError(f"{path[0]} is not a table")
    found = section.get(path[1])
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{path[0]}.{path[1]} is not a table")
    return found


def with_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Set values of a table and keep its others; a table that is missing is added at the end."""
    known = known_table(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    if known is None:
        gap = "" if not text or text.endswith("\n") else newline
        table = written_table(path, values).replace("\n", newline)
        return _checked(f"{text}{gap}{newline if text else ''}{table}", text, path, dict(values))
    lines = text.splitlines(keepends=True)
    for key, value in values.items():
        if known.get(key) != value or type(known.get(key)) is not type(value):
            _set_line(lines, path, f"{key} = {json.dumps(value, ensure_ascii=False)}{newline}", key)
    return _checked("".join(lines), text, path, {**known, **values})


def without_table(text: str, path: tuple[str, str]) -> str:
    """Remove a table with those inside it; the same text if it is not there."""
    if known_table(text, path) is None:
        return text
    lines = text.splitlines(keepends=True)
    while (place := _find(lines, path, inside=True)) is not None:
        start, end = place
        if start and not lines[start - 1].strip():
            start -= 1
        del lines[start:end]
    return _checked("".join(lines), text, path, None)


def _set_line(lines: list[str], path: tuple[str, str], line: str, key: str) -> None:
    """Write a line in place of the one that sets the same key, or at the start of the table."""
    place = _find(lines, path)
    if place is None:
        raise ValueError(f"{path[0]}.{path[1]} has no header of its own")
    start, end = place
    for number in range(start + 1, end):
        if re.match(rf"\s*\"?{key}\"?\s*=", lines[number]):
            remark = re.search(r"\s+#[^\"'\n]*$", lines[number].rstrip("\r\n"))
            if remark:
                line = line.rstrip("\r\n") + remark[0] + line[len(line.rstrip("\r\n")) :]
            lines[number : _end_of_value(lines, number, end)] = [line]
            return
    if not lines[start].endswith("\n"):
        lines[start] += "\n"
    lines.insert(start + 1, line)


def _end_of_value(lines: list[str], start: int, most: int) -> int:
    """Find where a value that may go over several lines ends."""
    for end in range(start + 1, most + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    raise ValueError("a value has no end")


def _find(lines: list[str], path: tuple[str, str], *, inside: bool = False) -> tuple[int, int] | None:
    """Find the lines of a table, with `inside` also those of a table inside it, without remarks on the next one."""
    name = r"\s*\.\s*".join(rf"[\"']?{re.escape(each)}[\"']?" for each in path)
    more = r"(?:\.[^]]*)?" if inside else ""
    header = re.compile(rf"\s*\[\[?\s*{name}\s*{more}\]")
    start = next((number for number, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        return None
    end = next((number for number in range(start + 1, len(lines)) if _HEADER.match(lines[number])), len(lines))
    if end < len(lines):
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
    return start, end


def _checked(new: str, old: str, path: tuple[str, str], wanted: dict[str, Any] | None) -> str:
    """Read the new text back: nothing but the table may be different."""
    tree = deepcopy(tomllib.loads(old))
    section = tree.setdefault(path[0], {})
    if wanted is None:
        section.pop(path[1], None)
    else:
        section[path[1]] = wanted
    read = tomllib.loads(new)
    # A section that holds nothing any more is not written at all.
    for each in (tree, read):
        if each.get(path[0]) == {}:
            del each[path[0]]
    if read != tree:
        raise ValueError("it cannot be changed without changing something else")
    return new
