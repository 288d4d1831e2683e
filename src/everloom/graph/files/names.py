"""File names that are safe whatever a title, an id or a link says. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

LONGEST_SLUG = 60
LONGEST_EDGE_SLUG = 40
UNSAFE = re.compile(r"[^a-z0-9]+")
CONFLICT = ".conflict-"


def slug(text: str, longest: int = LONGEST_SLUG) -> str:
    """Reduce a text to letters, digits and hyphens that every file system takes."""
    folded = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return UNSAFE.sub("-", folded.lower()).strip("-")[:longest].rstrip("-") or "memory"


def suffixes(identity: str) -> Iterator[str]:
    """Offer ever longer pieces of an id, six characters first, then counted ones."""
    letters = UNSAFE.sub("", identity.lower()) or "0"
    for length in (6, 8, 12, 16, 24, 32):
        yield letters[:length]
    for number in range(2, 10_000):
        yield f"{letters[:32]}-{number}"


def free_name(stem: str, identity: str, is_taken: Callable[[str], bool]) -> str:
    """Choose `stem-suffix.md` with the shortest suffix of the id that nobody has."""
    names = (f"{stem}-{suffix}.md" for suffix in suffixes(identity))
    return next(name for name in names if not is_taken(name))


def edge_stem(from_title: str, relation: str, to_title: str) -> str:
    """Name an edge by what it joins."""
    return f"{slug(from_title, LONGEST_EDGE_SLUG)}--{relation}--{slug(to_title, LONGEST_EDGE_SLUG)}"


def conflict_name(path: str, mark: str) -> str:
    """Name the copy that is kept beside a file that somebody else changed."""
    return f"{path.removesuffix('.md')}{CONFLICT}{mark}.md"
