"""Reads a note: front matter, title, tags, links, and its text in passages that end where a section does. Pure.

Refuses to know where notes come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from everloom.graph.files.frontmatter import UnreadableFile, load_fields, split_file
from everloom.imports.reading.dates import moment

# A passage is about as long as what somebody looks for; a section is kept whole up to it.
_PASSAGE = 1_500
_HEADING = re.compile(r"#{1,6}\s+\S")
_GAP = re.compile(r"\n{3,}")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TITLE = re.compile(r"^#\s+(\S.*?)\s*#*\s*$", re.MULTILINE)
_EMBEDDED = re.compile(r"!\[\[[^\]\n]*\]\]")
_LINK = re.compile(r"\[\[([^\]|#\n]+)(?:#[^\]|\n]*)?(?:\|([^\]\n]+))?\]\]")
_COMMENT = re.compile(r"%%.*?%%|<!--.*?-->", re.DOTALL)
_DATES = ("date", "created", "created_at", "created-at", "date created", "updated", "modified")
_LABELS = ("tags", "tag", "aliases", "alias", "keywords")
_MOST_LABELS = 20
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class MarkdownNote:
    """A note: its title, names under which it is known, what it links to, when it was written, and its text."""

    title: str
    labels: tuple[str, ...]
    links: tuple[str, ...]
    at: datetime | None
    body: str
    fields: Mapping[str, Any]
    problem: str | None = None


def read_note(text: str, name: str) -> MarkdownNote:
    """Read a note; `name` is its title if it has no other."""
    fields, body, problem = _fields(text)
    plain = _COMMENT.sub("", _EMBEDDED.sub("", body))
    links = tuple(dict.fromkeys(_tidy(match[1]) for match in _LINK.finditer(plain)))
    heading = _TITLE.search(plain)
    title = _tidy(fields.get("title")) or (_tidy(heading[1]) if heading else "") or name
    at = next((found for key in _DATES if (found := moment(fields.get(key))) is not None), None)
    labels = dict.fromkeys(label for key in _LABELS for label in _listed(fields.get(key)))
    return MarkdownNote(title, tuple(labels)[:_MOST_LABELS], links[:_MOST_LABELS], at, plain, fields, problem)


def without_links(text: str) -> str:
    """Write links as the words that a reader sees."""
    return _LINK.sub(lambda match: match[2] or match[1], text)


def passages(body: str) -> Iterator[str]:
    """Divide a text into passages: whole sections, several short ones together; long ones are divided elsewhere."""
    kept = ""
    for section in _sections(_GAP.sub("\n\n", body)):
        if kept and len(kept) + len(section) > _PASSAGE:
            yield kept.strip()
            kept = ""
        kept += section
    if kept.strip():
        yield kept.strip()


def _sections(body: str) -> Iterator[str]:
    """Divide a text before its headings; those in a block of code are none."""
    section: list[str] = []
    is_code = False
    for line in body.splitlines(keepends=True):
        if _FENCE.match(line):
            is_code = not is_code
        if not is_code and section and _HEADING.match(line):
            yield "".join(section)
            section = []
        section.append(line)
    yield "".join(section)


def _fields(text: str) -> tuple[Mapping[str, Any], str, str | None]:
    if not text.startswith("---"):
        return {}, text, None
    try:
        parts = split_file(text.encode("utf-8", "replace"))
        return load_fields(parts.yaml), parts.body, None
    except UnreadableFile as error:
        # A rule at the top of a text is no front matter.
        return {}, text, "front matter that cannot be read" if error.line != 1 else None


def _listed(value: object) -> list[str]:
    listed = value if isinstance(value, list) else str(value or "").split(",")
    return [label for each in listed if (label := _tidy(each).lstrip("#"))]


def _tidy(value: object) -> str:
    return " ".join(value.split())[:_LONGEST_NAME].strip() if isinstance(value, str) else ""
