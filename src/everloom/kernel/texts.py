"""What counts as a text, and when two texts or two names are the same. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from everloom.errors import Rejected

# A memory is a statement, not a library: larger texts are to be split by whoever has them.
LONGEST_TEXT = 200_000
LONGEST_NAME = 200
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_NAME_BREAKS = re.compile(r"[\s_\-]+")


def checked(text: object, what: str, longest: int = LONGEST_TEXT) -> str:
    """Accept a text that can be kept, as it is; refuse one that is empty, too long or not storable."""
    if not isinstance(text, str):
        raise Rejected(f"{what} must be text, not {type(text).__name__}")
    if not text.strip():
        raise Rejected(f"{what} is empty", hint="give it some words")
    if len(text) > longest:
        raise Rejected(f"{what} has {len(text):,} characters", hint=f"split it: {longest:,} is the most")
    return storable(text, what)


def storable(text: str, what: str) -> str:
    """Accept a text that both engines can keep, even an empty one."""
    if found := UNSTORABLE.search(text):
        raise Rejected(f"{what} holds the character U+{ord(found[0]):04X}, which cannot be stored", hint="remove it")
    return text


def checked_name(name: object, what: str) -> str:
    """Accept a name: one line, trimmed, in composed form."""
    text = checked(name, what, LONGEST_NAME)
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise Rejected(f"{what} holds a control character", hint="write it on one line")
    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    if not name_key(folded):
        raise Rejected(f"{what} {text!r} has no letters", hint="give it a name that can be said")
    return folded


def name_key(name: str) -> str:
    """Fold a name to the key under which it is found: case, and runs of space, `_` and `-`, do not matter."""
    return _NAME_BREAKS.sub(" ", unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())).strip()


def content_hash(text: str) -> str:
    """Hash a text so that only composition and white space may differ between equals; case is kept."""
    folded = _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()
    return hashlib.sha256(folded.encode()).hexdigest()
