"""Which tools of a server are offered, under which name and in which words, and which of them ask first.

Pure. What a server says of its tools is untrusted: it is cleaned, bounded, and known by its hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from everloom.mind.hands.servers import ListedTool, ToolServer
from everloom.models.talk import ToolSpec
from everloom.models.text import well_formed

# What every provider takes as the name of a tool.
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1_000
# Of one field inside a schema.
_LONGEST_TEXT = 500
_LONGEST_SCHEMA = 8_000
_DEEPEST = 12
MOST_TOOLS = 64
_ASKS = "The person is asked before it is used."
# Characters that draw nothing, or change how others are drawn: they could hide words from the person who reads them.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def is_wanted(server: ToolServer, tool: str) -> bool:
    """Say whether the settings list a tool."""
    return _matches(tool, server.tools)


def asks_first(server: ToolServer, tool: ListedTool) -> bool:
    """Say whether a tool waits for the person's approval."""
    if _matches(tool.name, server.acts):
        return True
    if _matches(tool.name, server.reads):
        return False
    return not (server.trusted and tool.is_read_only)


def is_held(note: str, patterns: Sequence[str]) -> bool:
    """Say whether changes of a note wait for the person's approval."""
    # A file system may take Soul.md for SOUL.md.
    return any(fnmatchcase(note.casefold(), each.casefold()) for each in patterns)


def exposed_name(server: str, tool: str) -> str:
    """Return the name under which the agent knows a tool: `server__tool`, in characters that every provider takes."""
    name = f"{server}__{tool}"
    if _PLAIN.fullmatch(name):
        return name
    mark = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', name)[: _LONGEST_NAME - 9]}_{mark}"


def fault_of(tool: ListedTool) -> str | None:
    """Return why a tool cannot be offered; None if it can."""
    if not tool.name or len(tool.name) > 200:
        return "its name is empty or too long"
    if tool.schema.get("type", "object") != "object":
        return "its input is not an object"
    if _is_deeper(tool.schema, _DEEPEST):
        return f"its schema is nested more than {_DEEPEST} deep"
    if len(_canonical(tool.schema)) > _LONGEST_SCHEMA:
        return f"its schema has more than {_LONGEST_SCHEMA:,} characters"
    return None


def spec_of(server: str, tool: ListedTool, *, asks: bool) -> ToolSpec:
    """Describe a tool for the model, the same bytes each time."""
    own = cleaned(tool.description, _LONGEST_DESCRIPTION)
    # Its origin stands first: whatever the description says, it is not ours.
    said = (
        f"A tool of the program {server}, which describes it so: {own}" if own else f"A tool of the program {server}."
    )
    schema = {"type": "object", "properties": {}, **_cleaned_values(tool.schema)}
    return ToolSpec(
        exposed_name(server, tool.name), f"{said}\n{_ASKS}" if asks else said, json.loads(_canonical(schema))
    )


def written_tool(tool: ListedTool) -> str:
    """Write a tool as the store keeps it; two texts are equal if and only if nothing has changed."""
    return _canonical(
        {
            "name": tool.name,
            "description": tool.description,
            "schema": tool.schema,
            "is_read_only": tool.is_read_only,
        }
    )


def read_tool(text: str) -> ListedTool:
    """Read a tool as the store keeps it."""
    return ListedTool(**json.loads(text))


def hash_of(tool: ListedTool) -> str:
    """Return by what a tool is known again."""
    return hashlib.sha256(written_tool(tool).encode()).hexdigest()[:16]


def cleaned(text: str, longest: int) -> str:
    """Take characters that nobody sees out of a text of others, and bound it."""
    kept = "".join(char if _is_seen(char) else " " for char in well_formed(text))
    kept = "\n".join(" ".join(line.split()) for line in kept.splitlines() if line.strip())
    return kept if len(kept) <= longest else f"{kept[: longest - 1]}…"


def visible(text: str) -> str:
    """Write the characters of a text that nobody sees as codes, so that whoever approves it sees all of it."""
    return "".join(char if _is_seen(char) else _code(char) for char in well_formed(text))


def _is_seen(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char) not in _UNSEEN


def _code(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _cleaned_values(value: Any) -> Any:
    match value:
        case str():
            return cleaned(value, _LONGEST_TEXT)
        case Mapping():
            return {cleaned(str(key), _LONGEST_TEXT): _cleaned_values(each) for key, each in value.items()}
        case list() | tuple():
            return [_cleaned_values(each) for each in value]
    return value


def _is_deeper(value: object, bound: int) -> bool:
    """Say whether a value is nested more deeply than a bound, looking no deeper than that."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(bound == 0 or _is_deeper(each, bound - 1) for each in inner)
