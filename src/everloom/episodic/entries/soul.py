"""The soul as six parts under headings of its prose. Pure.

The prose is authoritative. Parts are read from it and written into it, so that editing either edits the same soul.
"""

from __future__ import annotations

import re

PARTS = {
    "personality": "Personality",
    "voice": "Voice",
    "values": "Values",
    "backstory": "Backstory",
    "inner_world": "Inner world",
    "examples": "Examples",
}
_KEYS = {title.casefold(): key for key, title in PARTS.items()}
_TITLES = "|".join(map(re.escape, PARTS.values()))
# Headings of the first three levels count, because people and models write any of them; we write the second.
_HEADING = re.compile(rf"^#{{1,3}} ({_TITLES})[ \t]*$", re.MULTILINE | re.IGNORECASE)
# A line inside a part that looks like one of these headings gets a backslash, or it would begin another part when the
# prose is read again.
_ESCAPED = re.compile(rf"^\\(#{{1,3}} (?:{_TITLES})[ \t]*)$", re.MULTILINE | re.IGNORECASE)


def parts_of(prose: str) -> dict[str, str]:
    """Read the parts of a soul; prose before the first heading belongs to none."""
    return _join_sections(_sections(prose)[1])


def with_part(prose: str, key: str, text: str) -> str:
    """Replace one part and keep the rest of the prose; an empty text removes the part."""
    opening, sections = _sections(prose)
    parts = {**_join_sections(sections), key: text.strip()}
    written = [f"## {PARTS[each]}\n\n{_escape(part)}" for each, part in parts.items() if part]
    return "\n\n".join(part for part in [opening, *written] if part)


def _join_sections(sections: list[tuple[str, str]]) -> dict[str, str]:
    """Join the texts under a heading that occurs twice, so that none is lost when another part changes."""
    found: dict[str, str] = {}
    for key, text in sections:
        found[key] = f"{found[key]}\n\n{text}" if found.get(key) else text
    return found


def _sections(prose: str) -> tuple[str, list[tuple[str, str]]]:
    pieces = _HEADING.split(prose)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return pieces[0].strip(), [(_KEYS[title.casefold()], _ESCAPED.sub(r"\1", text.strip())) for title, text in pairs]


def _escape(text: str) -> str:
    return _HEADING.sub(lambda match: f"\\{match[0]}", text)
