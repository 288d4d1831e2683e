"""Changes some fields of front matter while every other line keeps its bytes.

Edits only the affected lines; if the YAML is too unusual for that, ruamel.yaml rewrites all of it, with comments and
quotes. Either way the result is parsed again before it is used, and must contain exactly the intended values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from everloom.graph.files.frontmatter import UnreadableFile
from everloom.graph.files.lenient import edit_blocks, load_any

FieldValue = str | Sequence[str] | Sequence[Mapping[str, str]]
_Edit = tuple[int, int, str]

# The contract's order of fields; a new field is inserted after the last one that precedes it here.
ORDER = (
    "id type from_id from_title to_id to_title title tags importance confidence origin steps preconditions "
    "postconditions strength created updated relations"
).split()
# The contract writes these fields without quotes, and a file that we change should look as if its own program wrote it.
_BARE = frozenset(
    {"id", "type", "importance", "confidence", "created", "updated", "strength"}
    | {"from_id", "to_id", "target", "direction", "edge_id"}
)
_BARE_TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+:-]*[A-Za-z0-9]|[A-Za-z0-9]")
_BARE_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# Words that YAML 1.1 or another reader converts to a boolean, a null or a number.
_WORDS = frozenset("true false yes no on off null none y n nan inf".split())
# Quotes, backslashes and characters that YAML does not allow in a file, or that editors drop or take for a line end.
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\xa0\xad\u2028\u2029\ufeff\ufffe\uffff]')


class _Unusual(Exception):
    """YAML that cannot be edited line by line."""


def rewrite(text: str, wanted: Mapping[str, FieldValue | None], newline: str) -> str:
    """Set fields to new values, or remove them with None; all others keep their bytes."""
    before, assumed = load_any(text)
    # A value that is equal when parsed is left as it is written, so that quotes and spacing do not change needlessly.
    changes = {key: value for key, value in wanted.items() if _plain(value) != before.get(key)}
    if not changes:
        return text
    after = {key: value for key, value in before.items() if key not in changes}
    after |= {key: _plain(value) for key, value in changes.items() if value is not None}
    # Each result is parsed again before it is used. YAML has more special cases than a line editor can know, and a
    # file with wrong values would be worse than an error.
    for way in (_edit_blocks,) if assumed else (edit_lines, _round_trip):
        try:
            result = way(text, before, changes, newline)
            if load_any(result)[0] == after:
                return result
        except (_Unusual, UnreadableFile, YAMLError, RecursionError):
            continue
    raise UnreadableFile("the front matter is too unusual to be changed safely", 1)


def _edit_blocks(text: str, _before: Mapping[str, Any], changes: Mapping[str, FieldValue | None], newline: str) -> str:
    """Edit front matter that YAML cannot read, field by field."""
    return edit_blocks(text, {key: field_text(key, value, newline) for key, value in changes.items()}, newline)


def _plain(value: Any) -> Any:
    """Convert a value to what parsing it again will return."""
    if isinstance(value, Mapping):
        return dict(value)
    return value if value is None or isinstance(value, str) else [_plain(item) for item in value]


def edit_lines(text: str, before: Mapping[str, Any], changes: Mapping[str, FieldValue | None], newline: str) -> str:
    """Edit the lines of the changed fields."""
    root = YAML(typ="rt", pure=True).compose(text) if text.strip() else None
    if root is not None and (not isinstance(root, MappingNode) or root.flow_style):
        raise _Unusual
    pairs = {} if root is None else {key.value: (key, value) for key, value in root.value}
    # Duplicate or merged keys (`<<`): the nodes do not correspond to the parsed fields.
    if len(pairs) != len(before):
        raise _Unusual
    editor = _LineEditor(text, newline)
    # Backwards, because of several new lines at one place the last that is inserted comes first.
    for key, value in sorted(changes.items(), key=lambda each: _rank(each[0]), reverse=True):
        if key not in pairs:
            editor.insert(_place_for(key, pairs, editor), field_text(key, value, newline))
        elif value is None:
            editor.cut_lines(*pairs[key])
        else:
            editor.change(key, pairs[key], before[key], value)
    return editor.result()


def _place_for(key: str, pairs: Mapping[str, tuple[Node, Node]], editor: _LineEditor) -> int:
    """Find where to insert a new field: after the last field that precedes it in the contract's order."""
    rank = _rank(key)
    earlier = [name for name in pairs if name in ORDER and ORDER.index(name) < rank]
    if not earlier:
        return 0
    nearest = max(earlier, key=ORDER.index)
    return max(editor.line_end(*pairs[nearest]), 0)


def _rank(key: str) -> int:
    return ORDER.index(key) if key in ORDER else len(ORDER)


class _LineEditor:
    """Collects edits of one text, then applies them all."""

    def __init__(self, text: str, newline: str) -> None:
        self._text = text
        self._newline = newline
        self._edits: list[_Edit] = []

    def result(self) -> str:
        """Apply the edits."""
        text = self._text
        # From the end to the beginning, so that the positions of the remaining edits stay valid.
        for start, end, replacement in sorted(self._edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def insert(self, at: int, lines: str) -> None:
        """Insert whole lines at the beginning of a line."""
        # The last line of a front matter may lack its newline.
        broken = at > 0 and self._text[at - 1] != "\n"
        self._edits.append((at, at, (self._newline if broken else "") + lines))

    def replace(self, node: Node, text: str) -> None:
        """Replace the text of a value."""
        self._edits.append((node.start_mark.index, self._content_end(node), text))

    def cut_lines(self, key: Node, value: Node) -> None:
        """Remove the lines of a field."""
        start = self._line_start(key.start_mark.index)
        if self._text[start : key.start_mark.index].strip():
            raise _Unusual
        self._edits.append((start, self.line_end(key, value), ""))

    def change(self, key: str, pair: tuple[Node, Node], old: Any, new: FieldValue) -> None:
        """Change the value of an existing field."""
        name, node = pair
        if isinstance(node, SequenceNode) and not node.flow_style and not isinstance(new, str) and new:
            self._change_items(node, old, new)
        elif _is_block(node) or _is_block_list(key, new):
            self.cut_lines(name, node)
            self.insert(self._line_start(name.start_mark.index), field_text(key, new, self._newline))
        elif self._is_empty(node):
            colon = self._text.index(":", name.end_mark.index) + 1
            self._edits.append((colon, colon, " " + _value_text(key, new)))
        else:
            self.replace(node, _value_text(key, new))

    def _change_items(self, node: SequenceNode, old: Sequence[Any], new: Sequence[Any]) -> None:
        items = list(node.value)
        if len(items) != len(old):
            raise _Unusual
        dashes = [self._dash(item) for item in items]
        indent = " " * (dashes[0] - self._line_start(dashes[0]))
        keys = (
            [json.dumps(item, sort_keys=True) for item in old],
            [json.dumps(_plain(item), sort_keys=True) for item in new],
        )
        # Unchanged items keep their lines. An item that changed in place is edited field by field, so that its comments
        # and unknown fields survive. Everything else is removed and written again.
        for kind, i, j, k, m in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            if kind == "equal":
                continue
            if kind == "replace" and j - i == m - k and all(map(self._can_edit, items[i:j], new[k:m])):
                for item, was, now in zip(items[i:j], old[i:j], new[k:m], strict=True):
                    self._change_fields(item, was, now)
                continue
            for at in range(i, j):
                self._edits.append((self._line_start(dashes[at]), self.line_end(items[at], items[at]), ""))
            if kind != "delete":
                at = self._line_start(dashes[i]) if i < len(items) else self.line_end(items[-1], items[-1])
                lines = "".join(_item_text(item, indent, self._newline) for item in new[k:m])
                self.insert(at, lines)

    def _can_edit(self, item: Node, new: Any) -> bool:
        if not isinstance(item, MappingNode) or item.flow_style or not isinstance(new, Mapping):
            return False
        return bool(item.value) and item.value[0][0].value in new

    def _change_fields(self, item: MappingNode, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        pairs = {key.value: (key, value) for key, value in item.value}
        first = item.value[0][0].start_mark.index
        indent = " " * (first - self._line_start(first))
        for key, value in new.items():
            if key not in pairs:
                self.insert(self.line_end(item, item), f"{indent}{key}: {_value_text(key, value)}{self._newline}")
            elif old[key] != value:
                if not isinstance(pairs[key][1], ScalarNode) or self._is_empty(pairs[key][1]):
                    raise _Unusual
                self.replace(pairs[key][1], _value_text(key, value))
        for key in pairs.keys() - new.keys():
            self.cut_lines(*pairs[key])

    def _dash(self, item: Node) -> int:
        """Find the dash before an item, which must be on the item's first line."""
        start = self._line_start(item.start_mark.index)
        before = self._text[start : item.start_mark.index]
        if not re.fullmatch(r" *- +", before):
            raise _Unusual
        return start + before.index("-")

    def _is_empty(self, node: Node) -> bool:
        return isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index

    def _line_start(self, index: int) -> int:
        return self._text.rfind("\n", 0, index) + 1

    def line_end(self, key: Node, value: Node) -> int:
        """Find the end of the last line of a field."""
        index = key.end_mark.index if self._is_empty(value) else self._content_end(value)
        found = self._text.find("\n", index)
        return len(self._text) if found < 0 else found + 1

    def _content_end(self, node: Node) -> int:
        """Find where a value ends."""
        # ruamel's end mark of a block is where the next token starts, after any comments and blank lines that follow.
        if isinstance(node, ScalarNode):
            start, end = node.start_mark.index, node.end_mark.index
            return int(start + len(self._text[start:end].rstrip()) if node.style in ("|", ">") else end)
        if not _is_block(node) or not node.value:
            return int(node.end_mark.index)
        parts = [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]
        return max(self._content_end(part) for part in parts)


def _is_block(node: Node) -> bool:
    """Check whether a value is a list or mapping in block style, one item per line."""
    return isinstance(node, SequenceNode | MappingNode) and not node.flow_style


def _round_trip(text: str, _before: Mapping[str, Any], changes: Mapping[str, FieldValue | None], newline: str) -> str:
    """Rewrite the whole front matter with ruamel.yaml, which preserves comments, order and quotes."""
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    # The contract writes each value on one line, and ruamel.yaml would wrap at 80 characters.
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    tree = yaml.load(text)
    if not isinstance(tree, CommentedMap):
        raise _Unusual
    for key, value in changes.items():
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = _style(key, value)
    out = StringIO()
    yaml.dump(tree, out)
    result = out.getvalue()
    result = result if result.endswith("\n") else result + "\n"
    return result.replace("\n", newline) if newline != "\n" else result


def _style(key: str, value: FieldValue | Mapping[str, str]) -> Any:
    """Wrap a value so that ruamel.yaml writes it in the contract's style."""
    if isinstance(value, str):
        return DoubleQuotedScalarString(value)
    if isinstance(value, Mapping):
        return CommentedMap({name: _style(name, text) for name, text in value.items()})
    items = CommentedSeq(_style("", item) for item in value)
    if key == "tags":
        items.fa.set_flow_style()
    return items


def _is_block_list(key: str, value: FieldValue | None) -> bool:
    """Check whether a field is written with one item per line."""
    return key != "tags" and value is not None and not isinstance(value, str)


def field_text(key: str, value: FieldValue | None, newline: str) -> str:
    """Write a whole field as lines."""
    if value is None:
        return ""
    if isinstance(value, str) or not _is_block_list(key, value):
        return f"{key}: {_value_text(key, value)}{newline}"
    if not value:
        return f"{key}: []{newline}"
    return f"{key}:{newline}" + "".join(_item_text(item, "  ", newline) for item in value)


def _item_text(item: str | Mapping[str, str], indent: str, newline: str) -> str:
    """Write one item of a list as lines."""
    if isinstance(item, str):
        return f"{indent}- {quoted(item)}{newline}"
    lines = [f"{name}: {_value_text(name, text)}" for name, text in item.items()]
    return newline.join([f"{indent}- {lines[0]}", *(f"{indent}  {line}" for line in lines[1:]), ""])


def _value_text(key: str, value: FieldValue) -> str:
    """Write a value on one line, in the contract's style for its field."""
    if isinstance(value, str):
        return value if key in _BARE and _BARE_TEXT.fullmatch(value) and value.lower() not in _WORDS else quoted(value)
    return f"[{', '.join(tag_text(str(item)) for item in value)}]"


def tag_text(tag: str) -> str:
    """Write a tag without quotes if every reader takes it for a text."""
    return tag if _BARE_TAG.fullmatch(tag) and tag.lower() not in _WORDS else quoted(tag)


def quoted(text: str) -> str:
    """Write a text in double quotes, on one line."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    """Write one character as a YAML escape."""
    char = found[0]
    short = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return short or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
