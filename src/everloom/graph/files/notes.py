"""Reads a memory from a note that people wrote for themselves: whatever is missing or unusual is assumed, and named.

Owns the assumptions: where a title comes from, which type a note has, how an importance on another scale is read. A
file in the graph's own format needs none of them. Refuses to change anything, and to give an id: `index/notes.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from everloom.clock import clamped, instant_in
from everloom.graph.files.fields import NOTHING, field_text, parse_list, parse_number
from everloom.graph.files.frontmatter import MarkdownFile, UnreadableFile
from everloom.graph.files.mentions import first_heading
from everloom.graph.kinds import DEFAULT_TYPE, KINDS, OWN_WEIGHT, folded_type
from everloom.graph.results import NO_ID, Assumption

# The contract uses uuids, but a person may choose any id; the store indexes it, so its length is limited.
_LONGEST_ID, _LONGEST_TITLE, _LONGEST_TYPE = 200, 1_000, 100
_MOST_ALIASES = 50
_WORDS = {
    **dict.fromkeys(("critical", "highest", "urgent", "kritisch", "критично", "最高"), 0.95),
    **dict.fromkeys(("high", "important", "hoch", "wichtig", "высокая", "высокий", "高"), 0.8),
    **dict.fromkeys(("medium", "normal", "standard", "mittel", "средняя", "средний", "中"), 0.5),
    **dict.fromkeys(("low", "minor", "niedrig", "gering", "низкая", "низкий", "低"), 0.3),
    **dict.fromkeys(("lowest", "trivial", "none"), 0.1),
}
_SHARE = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*(?:(?:/|of|von|из)\s*([0-9]+(?:[.,][0-9]+)?)|(%))?\Z")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_OTHER_DATES = ("%d.%m.%Y", "%Y/%m/%d", "%d.%m.%Y %H:%M", "%Y/%m/%d %H:%M", "%B %d, %Y", "%d %B %Y", "%Y%m%d%H%M")


class NoteReader:
    """The fields of one file while they are read, and what was assumed so far."""

    def __init__(self, file: MarkdownFile, path: str, fields: Mapping[str, Any], assumed: tuple[Assumption, ...]):
        self._file, self._path, self._fields = file, path, fields
        self._assumed = list(assumed)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """List what was assumed, each once."""
        return tuple(dict.fromkeys(self._assumed))

    @property
    def _stem(self) -> str:
        return self._path.rpartition("/")[2].removesuffix(".md")

    def _assume(self, field: str, reason: str) -> None:
        self._assumed.append(Assumption(field, reason))

    def identity(self) -> str:
        """Read the id; empty if the file has none."""
        value = field_text(self._file, self._fields, "id")
        if value in NOTHING:
            self._assumed.append(NO_ID)
            return ""
        if len(value) > _LONGEST_ID or not value.isprintable():
            raise UnreadableFile("id is not a valid id", self._file.line_of("id"))
        return value

    def type(self) -> str:
        """Read the type: one of the eleven, an own one as it is, or that of the folder."""
        written = self._words("type")
        if not written:
            kind = next((name for name, kind in KINDS.items() if self._path.startswith(f"{kind.directory}/")), None)
            self._assume("type", f"{kind or DEFAULT_TYPE}, {'by its folder' if kind else 'because none is given'}")
            return kind or DEFAULT_TYPE
        if (folded := folded_type(written)) in KINDS:
            return folded
        self._assume("type", f"{written!r} is kept as it is, with the weight {OWN_WEIGHT}")
        return written[:_LONGEST_TYPE]

    def title(self) -> str:
        """Read the title, or take the first heading, or the file's name."""
        written = self._words("title")
        if written:
            return written[:_LONGEST_TITLE]
        stem = self._stem
        # In a daily note the first heading is a section of every day; only the page's own heading is a title.
        heading = first_heading(self._file.body, deepest=1 if _DAY.match(stem) else 6)
        self._assume("title", "its first heading" if heading else "its file name")
        return heading[:_LONGEST_TITLE] or " ".join(stem.split()) or "untitled"

    def _words(self, key: str) -> str:
        """Read one line of text; anything else counts as not given."""
        value = self._fields.get(key, "")
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            self._assume(key, "it is a list: the first counts")
            value = value[0]
        if not isinstance(value, str):
            self._assume(key, "it is no text, and left out")
            return ""
        return "" if value.strip() in NOTHING else " ".join(value.split())

    def share(self, key: str, default: float) -> float:
        """Read a number from 0 to 1, or on another scale."""
        text = self._words(key)
        if not text:
            return default
        number = parse_number(text)
        if number is not None and 0.0 <= number <= 1.0:
            return number
        found = _scaled(text)
        if found is None:
            self._assume(key, f"{text[:40]!r} is no number that is known here: {default} is used")
            return default
        share, how = found
        self._assume(key, f"{text[:40]} is read as {how}: {share:g}")
        return share

    def instant(self, keys: tuple[str, ...], default: datetime, *, from_name: bool = False) -> datetime:
        """Read a time from the first of these fields that has one; without an offset it is UTC."""
        for key in keys:
            text = self._words(key)
            if not text:
                continue
            try:
                return instant_in(text)
            except ValueError:
                pass
            if (other := _other_date(text)) is not None:
                self._assume(key, f"{text[:40]} is read as {other:%Y-%m-%d}")
                return other
            self._assume(key, f"{text[:40]!r} is no date that is known here: the file's time is used")
            return default
        if from_name and (day := _day_of(self._stem)) is not None:
            return day
        return default

    def tags(self) -> tuple[str, ...]:
        """Read the tags, however they are written, without the hash that some put before them."""
        value = self._fields.get("tags", self._fields.get("tag"))
        if isinstance(value, Mapping):
            self._assume("tags", "it is a mapping: read as nested tags")
            value = [*_nested(value, "")]
        if isinstance(value, str) and (parts := value.split()) and all(part.startswith("#") for part in parts):
            value = parts
        found = (tag.lstrip("#").strip() for tag in parse_list(value))
        return tuple(dict.fromkeys(tag for tag in found if tag))

    def aliases(self) -> tuple[str, ...]:
        """Read the other names of a note."""
        value = self._fields.get("aliases", self._fields.get("alias"))
        found = (" ".join(each.split())[:_LONGEST_TITLE] for each in parse_list(value))
        return tuple(dict.fromkeys(name for name in found if name))[:_MOST_ALIASES]

    def relations(self) -> list[Mapping[str, Any]]:
        """Return the relations that the file lists; a field of that name with something else in it is left alone."""
        found = self._fields.get("relations")
        if found is None or (isinstance(found, str) and found.strip() in NOTHING):
            return []
        if is_relations(found):
            return list(found)
        if isinstance(found, list) and all(isinstance(item, dict) for item in found):
            raise UnreadableFile("a relation needs target, type and direction", self._file.line_of("relations"))
        self._assume("relations", "it is no list of relations, and left alone")
        return []


def is_relations(value: Any) -> bool:
    """Check whether a field holds relations as the graph writes them."""
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("target"), str)
        and isinstance(item.get("type"), str)
        and item.get("direction", "outgoing") in ("outgoing", "incoming")
        for item in value
    )


def _scaled(text: str) -> tuple[float, str] | None:
    """Read a share on a scale of ten, of a hundred, in percent, as a fraction or as a word."""
    if (word := text.casefold()) in _WORDS:
        return _WORDS[word], "a word"
    found = _SHARE.match(text)
    if found is None:
        return None
    number = float(found[1].replace(",", "."))
    if found[2] or found[3]:
        whole = float(found[2].replace(",", ".")) if found[2] else 100.0
    else:
        whole = 1.0 if number <= 1 else 10.0 if number <= 10 else 100.0
    if not whole or number > whole:
        return None
    return round(number / whole, 4), f"{number:g} of {whole:g}"


def _other_date(text: str) -> datetime | None:
    for form in _OTHER_DATES:
        try:
            return clamped(datetime.strptime(text, form).replace(tzinfo=UTC))
        except ValueError:
            continue
    return _day_of(text)


def _day_of(text: str) -> datetime | None:
    """Read the day with which a text begins."""
    found = _DAY.match(text)
    try:
        return None if found is None else clamped(datetime(*(int(part) for part in found.groups()), tzinfo=UTC))  # type: ignore[arg-type, misc]
    except ValueError:
        return None


def _nested(value: Any, above: str) -> list[str]:
    """Flatten a mapping of tags: {a: [b, c]} is a/b and a/c."""
    if isinstance(value, Mapping):
        return [tag for key, below in value.items() for tag in _nested(below, f"{above}{key}/")]
    names = parse_list(value)
    return [f"{above}{name}" for name in names] or [above.rstrip("/")]
