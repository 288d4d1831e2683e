"""Anthropic's client-side memory tool on the notes: view, create, str_replace, insert, delete, rename.

A path below /memories is the name of a note. Replies and errors use the wording of that tool's documentation. Deleting
a note keeps its versions; the standard notes can be neither deleted nor renamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import PurePosixPath
from typing import Any

from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.once import Once
from everloom.kernel.operation import Operation
from everloom.mind.notes.files import KNOWN, problem_of
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import AgentTool
from everloom.models.talk import ToolSpec

_ROOT = "/memories"
_LISTED_LEVELS = 2
_NUMBER_WIDTH = 6
_AROUND = 2

_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_TEXT = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}
_MEMORY = ToolSpec(
    "memory",
    "Your notes as files under /memories.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": list(_COMMANDS)},
            "path": {**_TEXT, "description": "Such as /memories or /memories/projects/boat.md; not for rename."},
            "view_range": {**_NUMBERS, "description": "First and last line; -1: end."},
            "file_text": {**_TEXT, "description": "For create."},
            "old_str": {**_TEXT, "description": "For str_replace: a text that occurs exactly once."},
            "new_str": {**_TEXT, "description": "For str_replace."},
            "insert_line": {"type": "integer", "description": "For insert: after which line; 0 is the beginning."},
            "insert_text": {**_TEXT, "description": "For insert."},
            "old_path": {**_TEXT, "description": "For rename."},
            "new_path": {**_TEXT, "description": "For rename."},
        },
        "required": ["command"],
    },
    native="memory_20250818",
)


def memory_tool(notes: Notes, op: Operation) -> AgentTool:
    """Return the notes as a tool called memory."""
    tool = MemoryTool(notes, op)
    return AgentTool(_MEMORY, tool.call, acts=lambda given: given.get("command") != "view", use_once=tool.call)


class MemoryTool:
    """The memory tool on one workspace's notes."""

    def __init__(self, notes: Notes, op: Operation) -> None:
        self._notes = notes
        self._op = op

    def call(self, command: Mapping[str, Any], key: str | None = None) -> str:
        """Run one command, under a key only once, and reply as the memory tool does.

        Raises an EverloomError if it is refused.
        """
        asked = command.get("command")
        if asked not in _COMMANDS:
            raise Rejected(f"Unknown command: {asked}", hint=f"use one of {', '.join(_COMMANDS)}")
        act: Callable[[Mapping[str, Any], Once], str] = getattr(self, f"_{asked}")
        return act(command, Once(f"memory_{asked}", key, command))

    def _view(self, command: Mapping[str, Any], _: Once) -> str:
        path = _text_in(command, "path")
        name = name_of(path)
        if (body := self._body(name)) is not None:
            return _view_lines(path, body, command.get("view_range"))
        names = self._notes.names()
        below = [each for each in names if not name or each.startswith(f"{name}/")]
        if name and not below:
            raise NotFound(f"The path {path} does not exist. Please provide a valid path.")
        return self._listed(path, name, below)

    def _listed(self, path: str, folder: str, names: Sequence[str]) -> str:
        sizes: dict[str, int] = {}
        for name in names:
            size = self._notes.size(name)
            parts = PurePosixPath(name).relative_to(folder).parts if folder else PurePosixPath(name).parts
            for level in range(1, len(parts)):
                within = "/".join(parts[:level]) + "/"
                sizes[within] = sizes.get(within, 0) + size
            sizes["/".join(parts)] = size
        shown = {each: size for each, size in sizes.items() if each.rstrip("/").count("/") < _LISTED_LEVELS}
        total = sum(size for each, size in sizes.items() if not each.endswith("/"))
        top = path.rstrip("/")
        lines = [f"{_scale(total)}\t{top}", *(f"{_scale(shown[each])}\t{top}/{each}" for each in sorted(shown))]
        header = f"Here're the files and directories up to 2 levels deep in {top}, excluding hidden items:"
        return "\n".join([header, *lines])

    def _create(self, command: Mapping[str, Any], once: Once) -> str:
        path, text = _text_in(command, "path"), _text_in(command, "file_text")
        name = self._file_name(path)
        try:
            self._notes.create(name, text, once=once)
        except Conflict as error:
            raise Conflict(f"File {path} already exists", hint="change it with str_replace or insert") from error
        return f"File created successfully at: {path}"

    def _str_replace(self, command: Mapping[str, Any], once: Once) -> str:
        path, old = _text_in(command, "path"), _text_in(command, "old_str")
        new = "" if command.get("new_str") is None else _text_in(command, "new_str")
        at: int | None = None

        def edited(body: str) -> str:
            nonlocal at
            at = body[: max(0, body.find(old))].count("\n")
            return _replace_once(path, body, old, new)

        body = self._notes.edit(self._existing(path), edited, once=once).body
        if at is None:
            # It was edited by an earlier attempt.
            at = body[: max(0, body.find(new))].count("\n")
        lines = body.split("\n")
        first = max(0, at - _AROUND)
        snippet = _number_lines(lines[first : at + _AROUND + 1], first + 1)
        said = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([said, *snippet])

    def _insert(self, command: Mapping[str, Any], once: Once) -> str:
        path, text, line = _text_in(command, "path"), _text_in(command, "insert_text"), command.get("insert_line")
        self._notes.edit(self._existing(path), lambda body: _insert_after(body, line, text), once=once)
        return f"The file {path} has been edited."

    def _delete(self, command: Mapping[str, Any], once: Once) -> str:
        path = _text_in(command, "path")
        name = name_of(path)
        if not name:
            raise Rejected(f"Cannot delete the {_ROOT} directory itself")

        def remove(each: str, is_resumed: bool) -> None:
            # One that is gone was removed before the interruption.
            with suppress(NotFound) if is_resumed else nullcontext():
                self._notes.remove(each)

        return self._each(once, lambda: self._meant(path, name), remove, f"Successfully deleted {path}")

    def _rename(self, command: Mapping[str, Any], once: Once) -> str:
        old_path, new_path = _text_in(command, "old_path"), _text_in(command, "new_path")
        old, new = name_of(old_path), name_of(new_path)
        if not old:
            raise Rejected(f"Cannot rename the {_ROOT} directory itself")

        def chosen() -> list[str]:
            meant, names = self._meant(old_path, old), self._notes.names()
            if any(each == new or each.startswith(f"{new}/") for each in names) or not new:
                raise Conflict(f"The destination {new_path} already exists", hint="choose another path")
            return meant

        def rename(each: str, is_resumed: bool) -> None:
            with suppress(NotFound) if is_resumed else nullcontext():
                self._notes.rename(each, new + each[len(old) :], is_resumed=is_resumed)

        return self._each(once, chosen, rename, f"Successfully renamed {old_path} to {new_path}")

    def _each(self, once: Once, chosen: Callable[[], list[str]], act: Callable[[str, bool], None], answer: str) -> str:
        """Change the notes that are meant, one by one; one that was interrupted goes on with those it had chosen."""
        if (known := once.answered(self._op, str)) is not None:
            return known
        begun: list[str] | None = once.was_begun(self._op)
        meant = chosen() if begun is None else begun
        if begun is None:
            once.begin(self._op, meant)
        for each in meant:
            act(each, begun is not None)
        return once.settle(self._op, answer)

    def _meant(self, path: str, name: str) -> list[str]:
        """List the notes at a path: one note, or all notes below a folder. Standard notes are refused."""
        names = self._notes.names()
        meant = [each for each in names if each == name or each.startswith(f"{name}/")]
        if not meant:
            raise NotFound(f"The path {path} does not exist")
        if own := [each for each in meant if each in KNOWN]:
            raise Rejected(f"{own[0]} is a standard note and stays", hint="change its text with str_replace")
        return meant

    def _body(self, name: str) -> str | None:
        return None if problem_of(name) else self._notes.read(name)

    def _file_name(self, path: str) -> str:
        name = name_of(path)
        if not name:
            raise Rejected(f"The path {path} is not a file.", hint=f"name one, such as {_ROOT}/boat.md")
        return name

    def _existing(self, path: str) -> str:
        name = self._file_name(path)
        if self._body(name) is not None:
            return name
        if any(each.startswith(f"{name}/") for each in self._notes.names()):
            raise Rejected(f"The path {path} is not a file.")
        raise NotFound(f"The path {path} does not exist. Please provide a valid path.")


def name_of(path: str) -> str:
    """Convert a path below /memories to a note's name; empty for the directory itself."""
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        raise Rejected(f"Path must start with {_ROOT}, got: {path}")
    parts = [part for part in path.removeprefix(_ROOT).split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Rejected(f"Path {path} would escape {_ROOT} directory")
    return "/".join(parts)


def _view_lines(path: str, body: str, view_range: object) -> str:
    """Format a note's lines with their numbers: all, or those in the range."""
    lines = body.split("\n")
    first, last = 1, len(lines)
    if isinstance(view_range, Sequence) and len(view_range) == 2 and all(type(each) is int for each in view_range):
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    elif view_range:
        raise Rejected("view_range must be two line numbers", hint="such as [1, 20], or [5, -1] to the end")
    return "\n".join(
        [f"Here's the content of {path} with line numbers:", *_number_lines(lines[first - 1 : max(0, last)], first)]
    )


def _number_lines(lines: Sequence[str], first: int) -> list[str]:
    """Format lines with their numbers."""
    return [f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _replace_once(path: str, body: str, old: str, new: str) -> str:
    """Replace a text that must occur exactly once."""
    count = body.count(old) if old else 0
    if count == 0:
        raise Rejected(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        # A lookahead consumes nothing, so that overlapping occurrences are counted as well.
        lines = [str(body[: each.start()].count("\n") + 1) for each in re.finditer(f"(?={re.escape(old)})", body)]
        raise Rejected(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {', '.join(lines)}. "
            "Please ensure it is unique"
        )
    return body.replace(old, new)


def _insert_after(body: str, line: object, text: str) -> str:
    """Insert a text after a line; 0 inserts it before the first."""
    lines = body.split("\n")
    if lines[-1] == "":
        lines.pop()
    if type(line) is not int or not 0 <= line <= len(lines):
        message = f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
        raise Rejected(message)
    lines.insert(line, text.rstrip("\n"))
    return "\n".join(lines) + "\n"


def _scale(size: int) -> str:
    """Format a size in bytes for people."""
    number, unit = float(size), "B"
    for larger in ("K", "M"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{int(number)}{unit}" if number == int(number) else f"{number:.1f}{unit}"


def _text_in(command: Mapping[str, Any], field: str) -> str:
    """Read a text argument of a command."""
    value = command.get(field)
    if not isinstance(value, str):
        raise Rejected(f"{command.get('command')} needs {field}", hint=f"give {field} as text")
    return value
