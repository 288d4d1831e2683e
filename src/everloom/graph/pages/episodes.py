"""The diary of a graph: one file a day, one entry a happening, only ever added to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

ENTRY = re.compile(r"^## ", re.MULTILINE)
MERGE = re.compile(r"\A\d\d:\d\d - merged?\b|^- \*\*Type:\*\* merge\b", re.IGNORECASE | re.MULTILINE)
HEADING = re.compile(r"^\s*#+", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Something that happened, to be written down."""

    title: str
    type: str = ""
    tags: Sequence[str] = ()
    summary: str = ""
    memory_path: str = ""


def path_of(day: datetime) -> str:
    """Name the file of a day."""
    return f"episodes/{day:%Y-%m-%d}.md"


def written(episode: Episode, at: datetime, *, is_first: bool) -> str:
    """Write an entry, and before the first of a day its heading."""
    facts = [
        ("Type", episode.type),
        ("Tags", ", ".join(episode.tags)),
        ("Memory", link_to(episode.memory_path) if episode.memory_path else ""),
        ("Summary", " ".join(HEADING.sub("", episode.summary).split())),
    ]
    lines = [f"## {at:%H:%M} - {' '.join(episode.title.split())}"]
    lines += [f"- **{name}:** {text}" for name, text in facts if text]
    head = f"# {at:%Y-%m-%d}\n\n" if is_first else "\n"
    return head + "\n".join(lines) + "\n"


def link_to(path: str) -> str:
    """Link from a day's file to a memory."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    name = stem.rsplit("-", 1)[0] if "-" in stem else stem
    return f"[{name}](../{quote(path, safe='/')})"


def merges_in(texts: Iterable[str]) -> int:
    """Count the entries that tell of a merge."""
    return sum(bool(MERGE.search(entry)) for text in texts for entry in ENTRY.split(text)[1:])
