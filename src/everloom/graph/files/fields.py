"""From YAML to plain values: mappings, lists and texts. No text is taken for a number, a date or an object.

What the graph itself writes is read by a quick reader of lines; everything else goes to ruamel.yaml, with the same
answer. Nothing is ever constructed, so no YAML can do harm.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from everloom.graph.files.frontmatter import Unreadable

Tree = dict[str, Any]

# Only what means the same to every reader: no indicator, no colon before a space, nothing that YAML would fold.
PLAIN = r"[A-Za-z0-9_/](?:[\w ./()+=~;,$^-]|:(?=[\w/.-]))*"
QUOTED = r'"(?:[^"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|\\["\\])*"'
NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
FIELD = re.compile(rf"({NAME}):(?: +({PLAIN}|{QUOTED}|\[.*\]))? *\Z")
ITEM = re.compile(rf"( *)- +(?:({NAME}): +)?({PLAIN}|{QUOTED}) *\Z")
INNER = re.compile(rf"( +)({NAME}): +({PLAIN}|{QUOTED}) *\Z")
FLOW_PART = re.compile(rf" *([A-Za-z0-9_][\w./+-]*|{QUOTED}) *(?:,|\Z)")
BRACKET = re.compile(r"[\[\]{}]")
ALIAS = re.compile(r"(?:^|[\s,\[{])\*\w")
DEEPEST, MOST_ALIASES = 50, 8
ESCAPE = re.compile(r"\\(.)")


def loaded(text: str) -> Tree:
    """Read front matter into fields."""
    quick = quickly(text.replace("\r\n", "\n"))
    return quick if quick is not None else thoroughly(text)


def thoroughly(text: str) -> Tree:
    """Read any YAML; trouble is told with its line in the file."""
    refuse_bombs(text)
    try:
        tree = YAML(typ="base", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else 2 + text.count("\n", 0, mark.index)
        raise Unreadable(f"the front matter is not YAML: {error.problem or error.context}", line) from None
    except (YAMLError, RecursionError, ValueError, NotImplementedError, AssertionError, LookupError) as error:
        raise Unreadable(f"the front matter is not YAML: {str(error).splitlines()[0][:120]}", 1) from None
    if tree is None:
        return {}
    if not isinstance(tree, dict) or not all(isinstance(key, str) for key in tree):
        raise Unreadable("the front matter is not a list of fields", 2)
    return tree


def refuse_bombs(text: str) -> None:
    """Refuse what would keep a reader busy for minutes: deep nesting, and aliases that multiply."""
    depth = deepest = 0
    for bracket in BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest > DEEPEST or len(ALIAS.findall(text)) > MOST_ALIASES:
        raise Unreadable("the front matter is not YAML that anybody needs: it is nested too deep", 2)


def quickly(text: str) -> Tree | None:
    """Read the form that the graph itself writes; None for anything else."""
    tree: Tree = {}
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line:
            continue
        found = FIELD.match(line)
        if found is None or found[1] in tree:
            return None
        if found[2] is not None:
            value = flow(found[2]) if found[2].startswith("[") else unquoted(found[2])
        else:
            value, position = block(lines, position)
        if value is None:
            return None
        tree[found[1]] = value
    return tree


def block(lines: list[str], position: int) -> tuple[list[Any] | None, int]:
    """Read the items of a list; a mapping's first field stands beside the dash, the others under it."""
    items: list[Any] = []
    indent: str | None = None
    while position < len(lines) and (found := ITEM.match(lines[position])):
        if indent is None:
            indent = found[1]
        if found[1] != indent:
            return None, position
        position += 1
        if found[2] is None:
            items.append(unquoted(found[3]))
            continue
        column = len(found[0]) - len(found[0].lstrip(" -"))
        fields, position = inner(lines, position, column, {found[2]: unquoted(found[3])})
        if fields is None:
            return None, position
        items.append(fields)
    return items or None, position


def inner(lines: list[str], position: int, column: int, fields: Tree) -> tuple[Tree | None, int]:
    """Read the further fields of an item; all stand in one column."""
    while position < len(lines) and (found := INNER.match(lines[position])):
        if len(found[1]) != column or found[2] in fields:
            return None, position
        fields[found[2]] = unquoted(found[3])
        position += 1
    return fields, position


def flow(text: str) -> list[str] | None:
    """Read a list that stands on one line."""
    rest, items = text[1:-1], []
    if not rest.strip(" "):
        return []
    position = 0
    while position < len(rest):
        found = FLOW_PART.match(rest, position)
        if found is None:
            return None
        items.append(unquoted(found[1]))
        position = found.end()
    return items if not rest.rstrip(" ").endswith(",") else None


def unquoted(text: str) -> str:
    """Take a text out of its quotes."""
    return ESCAPE.sub(r"\1", text[1:-1]) if text.startswith('"') else text.rstrip(" ")
