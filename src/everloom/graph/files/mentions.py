"""What the text of a note mentions: other notes in double brackets, tags with a hash, and its first heading.

Code, comments and formulas mention nothing. Every pass is linear in the length of the text. Pure; refuses to know which
note a link leads to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# More than people write into one note; a generated list must not fill the index.
_MOST_LINKS, _MOST_TAGS = 1_000, 200
_LONGEST_TAG = 100

_FENCE = re.compile(r"(?:[ \t]|>)*(?:[-*+] |\d+[.)] )?[ \t]*(`{3,}|~{3,})")
# What hides text, and the blank line at which a code span ends at the latest.
_HIDING = re.compile(r"`+|%%|\$\$|<!--|-->|\n[ \t]*\n")
_CLOSING = {"%%": "%%", "$$": "$$", "<!--": "-->"}
_LINK = re.compile(r"\[\[([^\[\]\n]{1,400})\]\]")
_TAG = re.compile(r"(?:(?<=\s)|^)#([^\s!-,.:-@\[-^`{-~\u2000-\u206f\u3000-\u303f]+)", re.MULTILINE)
_COLOUR = re.compile(r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*\Z")
# Files that are shown or played, and are no notes.
_ATTACHMENTS = frozenset(
    "png jpg jpeg gif svg webp bmp avif pdf mp3 wav m4a ogg flac 3gp mp4 webm ogv mov mkv canvas base csv json txt "
    "docx xlsx pptx odt zip html css js py excalidraw".split()
)


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a text mentions: the insides of links, and tags without their hash; each once, in order."""

    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


NOTHING = Mentions()


def mentions_in(text: str) -> Mentions:
    """Find the links and tags of a text."""
    # Most texts of an agent have neither.
    if "[[" not in text and "#" not in text:
        return NOTHING
    shown = _without_code(text)
    links = dict.fromkeys(inner.strip() for inner in _LINK.findall(shown) if link_target(inner))
    # Without the links, whose headings begin with a hash.
    tags = dict.fromkeys(tag for found in _TAG.findall(_LINK.sub(" ", shown)) if (tag := _tag(found)))
    return Mentions(tuple(links)[:_MOST_LINKS], tuple(tags)[:_MOST_TAGS])


def link_target(inner: str) -> str:
    """Return the note that a link names, without heading, block and shown text; empty if it names none."""
    # In a table the bar is written with a backslash.
    target = re.split(r"[#^|]|\\\|", inner, maxsplit=1)[0].strip().removesuffix("\\").strip()
    if target.lower().endswith(".md"):
        target = target[:-3]
    suffix = target.rpartition(".")[2].lower() if "." in target else ""
    return "" if suffix in _ATTACHMENTS or not target.strip("/.") else target


def name_key(name: str) -> str:
    """Reduce a name to the key by which links find it: its last part, in any spelling of case and accents."""
    last = name.rstrip("/").rpartition("/")[2]
    return " ".join(unicodedata.normalize("NFC", last).casefold().split())


def with_parents(tag: str) -> Iterator[str]:
    """Yield a nested tag and those it lies in: a/b/c, a/b, a."""
    while tag:
        yield tag
        tag = tag.rpartition("/")[0]


def _tag(found: str) -> str:
    tag = found.strip("/-")
    # A number alone is an issue or a rank, and #ffaa00 a colour; #cafe is a word.
    if not tag or len(tag) > _LONGEST_TAG or not any(char.isalpha() or ord(char) > 0x2FFF for char in tag):
        return ""
    if _COLOUR.match(tag) and (any(char.isdigit() for char in tag) or not set(tag.lower()) & set("ae")):
        return ""
    return "" if _COLOUR.match(tag) and len(set(tag.lower())) == 1 else tag


def first_heading(text: str, *, deepest: int = 6) -> str:
    """Find the first heading of a text, down to a level; empty if there is none."""
    if "#" not in text:
        return ""
    for line in _open_lines(text):
        found = _HEADING.match(line.rstrip("\r\n"))
        if found is not None and len(found[1]) <= deepest:
            return " ".join(_LINK.sub(_shown, found[2]).split())
    return ""


def _shown(link: re.Match[str]) -> str:
    return link[1].rpartition("|")[2].strip()


def _open_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, with those of fenced code empty."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip("`~ \t\r\n"):
                fence = ""
            yield "\n"
        elif mark and not (mark[1].startswith("`") and "`" in line[mark.end() :]):
            fence = mark[1]
            yield "\n"
        else:
            yield line


def _without_code(text: str) -> str:
    """Return a text without fenced code, code spans, comments and formulas."""
    whole = "".join(_open_lines(text)) if "```" in text or "~~~" in text else text
    marks = list(_HIDING.finditer(whole))
    if not marks:
        return whole
    # For each mark, where the next one of its kind is; filled from the end, so that no part is looked at twice.
    later: dict[str, int] = {}
    ends: list[int | None] = [None] * len(marks)
    for place in range(len(marks) - 1, -1, -1):
        kind = marks[place][0]
        if kind[0] == "\n":
            later = {name: at for name, at in later.items() if name[0] != "`"}
            continue
        ends[place] = later.get(_CLOSING.get(kind, kind))
        later[kind] = place
    parts, position, place = [], 0, 0
    while place < len(marks):
        end = ends[place]
        if end is None or marks[place][0] == "-->":
            place += 1
            continue
        parts.append(whole[position : marks[place].start()])
        position, place = marks[end].end(), end + 1
    return " ".join([*parts, whole[position:]])
