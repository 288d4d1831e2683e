"""Namespaces as the store writes them: one text for a path, of which every part ends with a slash. Pure.

With the slash at the end, the text of a path begins the texts of exactly those paths that are below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from everloom.errors import Rejected
from everloom.kernel.texts import storable

# An index of PostgreSQL takes entries of 2,700 bytes, in which both of them have to fit.
LONGEST_NAMESPACE = 1_500
LONGEST_KEY = 800
# After every text that a program would use.
LAST = "\U0010ffff"
_CODED = re.compile(r"%(25|2F)")


def written(parts: Sequence[str]) -> str:
    """Write a path; a slash inside a part is written so that it ends none."""
    for part in parts:
        if not isinstance(part, str):
            raise Rejected(f"a namespace is made of texts, not of {part!r}", hint="write each part as a text")
    text = "".join(f"{part.replace('%', '%25').replace('/', '%2F')}/" for part in parts)
    return _bounded(text, "the namespace", LONGEST_NAMESPACE)


def read(text: str) -> tuple[str, ...]:
    """Read a path as its parts."""
    return tuple(_CODED.sub(lambda code: "/" if code[1] == "2F" else "%", part) for part in text.split("/")[:-1])


def bounds(parts: Sequence[str]) -> dict[str, str]:
    """Return the texts between which all paths stand that begin with these parts."""
    low = written(parts)
    # A zero follows a slash, so that nothing else stands between.
    return {"low": low, "high": f"{low[:-1]}0" if low else LAST}


def checked_key(key: object) -> str:
    """Return a key; refuse one that cannot be stored."""
    if not isinstance(key, str):
        raise Rejected(f"a key is a text, not {key!r}", hint="write it as a text")
    return _bounded(key, "the key", LONGEST_KEY)


def _bounded(text: str, what: str, most: int) -> str:
    if len(storable(text, what).encode()) > most:
        raise Rejected(f"{what} is longer than {most:,} bytes", hint="use a shorter one, such as a hash of it")
    return text
